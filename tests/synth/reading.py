"""Reads a synthetic trace with nothing but `json` and numpy: the tests must not believe the code they test."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]


def rows_of(path: Path) -> Iterator[Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def ms(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp).timestamp() * 1000)


def sessions_of(path: Path) -> Iterator[list[Row]]:
    rows: list[Row] = []
    for row in rows_of(path):
        if rows and row["session_id"] != rows[0]["session_id"]:
            yield rows
            rows = []
        rows.append(row)
    yield rows


@dataclass(frozen=True)
class Calls:
    """Columns of all calls with a result, copies left out."""

    tool: np.ndarray
    skeleton: np.ndarray
    user: np.ndarray
    seconds: np.ndarray
    status: np.ndarray
    n_calls: np.ndarray

    def where(self, mask: np.ndarray) -> Calls:
        return Calls(*(getattr(self, name)[mask] for name in self.__dataclass_fields__))


def calls_of(path: Path) -> Calls:
    seen: set[str] = set()
    columns: list[tuple[str, str, str, float, str, int]] = []
    for row in rows_of(path):
        if row["round_id"] in seen:
            continue
        seen.add(row["round_id"])
        columns += [
            (
                call["tool_name"],
                call.get("command_skeleton", ""),
                row["user"],
                call["tool_wall_latency_ms"] / 1000,
                call.get("command_status", ""),
                len(row["tools"]),
            )
            for call in row["tools"]
            if call["result_at"] is not None
        ]
    tool, skeleton, user, seconds, status, n = zip(*columns, strict=True)
    return Calls(*map(np.array, (tool, skeleton, user, seconds, status, n)))
