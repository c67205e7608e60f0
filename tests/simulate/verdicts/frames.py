"""Tables of runs made by hand: what is not told is 1 s of wait, a stable queue, 20 GB on the default machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tracestat.hardware import DEFAULT_HARDWARE, load_hardware
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.runs import CONFIGURATION_COLUMNS, RUN_COLUMNS

__all__ = ["noisy", "row", "runs", "table"]

_POOL = {DEFAULT_HARDWARE: load_hardware().pool_tokens}
_TYPES = {str: pl.String, float: pl.Float64, int: pl.Int64, bool: pl.Boolean}
_WAITS = ("post_tool_p50", "post_tool_p95", "post_tool_p99", "post_tool_tail_mean", "deadline_p99")
# for the readers of tests: waits of one run, all the same
WAIT = "wait"


def row(policy: str, seed: int, **told: Any) -> dict[str, Any]:
    """Make a run; ``wait`` gives all waits."""
    usual = {name: getattr(Configuration(policy=policy), name) for name in CONFIGURATION_COLUMNS}
    wait = told.pop(WAIT, 1.0)
    made: dict[str, Any] = dict.fromkeys(RUN_COLUMNS) | usual
    made |= dict.fromkeys(_WAITS, wait)
    made |= {
        "seed": seed,
        "slo_sessions": 0.5,
        "waiting_ratio": 1.0,
        "origin_full_recompute": 0.1,
        "stored_tokens": 1000,
        "loaded_tokens": 500,
        "plan_pinned": 0.0,
        "kv_bytes_per_token": 131_072,
        "pool_tokens": int(_POOL[DEFAULT_HARDWARE] / told.get("shrink", 1.0)) // 16 * 16,
    }
    unknown = told.keys() - RUN_COLUMNS.keys()
    assert not unknown, unknown
    return made | told


def runs(policy: str, waits: Sequence[float | None], **told: Any) -> Iterator[dict[str, Any]]:
    """Make a run per seed, with these waits."""
    for seed, wait in enumerate(waits):
        yield row(policy, seed, **{WAIT: wait, **told})


def noisy(n: int, middle: float, spread: float = 0.3, seed: int = 0) -> list[float]:
    """Give waits of n seeds around a middle; the same seed gives the same noise, so that ratios are exact."""
    noise = np.random.default_rng(seed).normal(size=n)
    return [float(x) for x in middle * np.exp(spread * noise)]


def table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Make a table of runs."""
    schema = {name: _TYPES[kind] for name, kind in RUN_COLUMNS.items()}
    return pl.DataFrame([dict(item) for item in rows], schema=schema, orient="row")
