"""Requests, counters and workloads made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracestat.simulate.forms import END, TOOL, Counters, Requests, Workload

__all__ = ["counters", "requests", "workload"]

_INTS = ("session", "round", "slot", "before", "gpu_hit", "host_hit", "computed", "chunks")
_FLOATS = ("arrival", "queue_wait", "load_wait", "ttft", "deadline_before")


def requests(**given: Sequence[float]) -> Requests:
    """Make requests; those that are not told follow a tool, arrive in the window and wait for nothing."""
    n = max((len(values) for values in given.values()), default=0)
    if any(not len(values) for values in given.values()):
        n = 0
    usual: dict[str, Any] = {name: np.zeros(n, np.int64) for name in _INTS}
    usual |= {name: np.zeros(n) for name in _FLOATS}
    usual["arrival"] = np.full(n, 200.0)
    usual["before"] = np.full(n, TOOL, np.int8)
    usual["deadline_before"] = np.full(n, np.nan)
    told = {name: np.asarray(values, usual[name].dtype) for name, values in given.items()}
    return Requests(**(usual | told))


def counters(**given: float) -> Counters:
    """Make counters; those that are not told are 0."""
    usual: dict[str, Any] = dict.fromkeys(Counters.__dataclass_fields__, 0)
    return Counters(**(usual | given))


def workload(
    *, prefix: Sequence[int], append: Sequence[int], off: Sequence[int] | None = None, **given: Any
) -> Workload:
    """Make a workload of sessions that call one tool, each pause 1 s."""
    n = len(prefix)
    bounds = np.array([0, n] if off is None else off, np.int64)
    kind = np.full(n, TOOL, np.int8)
    kind[bounds[1:] - 1] = END
    usual: dict[str, Any] = {
        "out": np.ones(n, np.int64),
        "pause": np.where(kind == END, 0.0, 1.0),
        "kind": kind,
        "deadline": np.full(n, np.nan),
        "klass": np.zeros(n, np.int32),
        "tool": np.zeros(n, np.int32),
        "class_names": ("shell",),
        "tool_names": ("Bash",),
        "providers": ("claude",) * (bounds.size - 1),
    }
    return Workload(off=bounds, prefix=np.array(prefix, np.int64), append=np.array(append, np.int64), **(usual | given))
