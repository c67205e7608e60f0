"""TraceLab's ``session_runner``: a CSV, ``tool_wait_after_ms`` after the round it stands with.

Written from uw-syfi/TraceLab ``web/ai_infra/session_runner/src/main.rs`` @f95b69f (SessionStep: the columns, ``id`` is
another name of ``session_id``, ``arrival_time`` in ms is 0 where absent; ``build_prompt``: a prompt is ``prefix_len``
tokens of the session's context and ``input_len`` new ones; the wait follows the round) and
``artifacts/trace_facts/csv_export/convert.py`` @b889eb7 (the columns of header B; rounds from 0; nothing after the
last).
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from tests.export.replay_readers.model import ReplayError, Session, Step, text, waits_after

HEADER_A = ("session_id", "round_idx", "prefix_len", "input_len", "output_len", "tool_wait_after_ms")
HEADER_B = ("id", "input_len", "output_len", "arrival_time", "round_idx", "tool_wait_after_ms", "prefix_len")


def _float(value: str) -> float:
    number = float(value) if value and not value.isspace() else math.nan
    if not math.isfinite(number) or number < 0:
        raise ReplayError(f"{value!r} is no duration")
    return number


def _count(value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise ReplayError(f"{value!r} is no count")
    return int(value)


def read(path: Path) -> list[Session]:
    """Read a file."""
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file, strict=True)) or [[]]
    if tuple(names) not in (HEADER_A, HEADER_B):
        raise ReplayError(f"neither header A nor header B: {names}")
    sessions: dict[str, list[dict[str, str]]] = {}
    for values in rows:
        if len(values) != len(names):
            raise ReplayError(f"{len(values)} values for {len(names)} columns")
        row = dict(zip(names, values, strict=True))
        sessions.setdefault(text(row.get("session_id", row.get("id"))), []).append(row)
    return [_session(name, rows_) for name, rows_ in sessions.items()]


def _session(name: str, rows: list[dict[str, str]]) -> Session:
    if [_count(row["round_idx"]) for row in rows] != list(range(len(rows))):
        raise ReplayError(f"{name}: rounds are not 0, 1, 2 ... in order")
    steps: list[Step] = []
    pairs = waits_after([_float(row["tool_wait_after_ms"]) / 1e3 for row in rows])
    for row, (before, after) in zip(rows, pairs, strict=True):
        prefix, new, output = _count(row["prefix_len"]), _count(row["input_len"]), _count(row["output_len"])
        if steps and prefix > steps[-1].prompt + steps[-1].output:
            raise ReplayError(f"{name}: a prefix of {prefix} of a context of {steps[-1].prompt + steps[-1].output}")
        if prefix + new < 1 or output < 1:
            raise ReplayError(f"{name}: a prompt of {prefix + new} or an output of {output} tokens")
        steps.append(Step(prefix + new, output, before, after, new=new))
    return Session(name, tuple(steps), _float(rows[0].get("arrival_time", "0")) / 1e3)
