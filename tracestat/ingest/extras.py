"""What a TraceLab row says about the columns that only raw logs know: its start kind, and the limit of a yield."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracestat.ingest.columns import CALL_EXTRAS

__all__ = ["YIELD_LIMITS", "asked_limit_seconds", "call_extras"]

# The yields of unified exec, in seconds; a yield is reported up to 0.15 s after its limit.
YIELD_LIMITS: Final = (1, 3, 5, 10, 15, 30, 60, 120)
_SLACK_MS: Final = 150


def asked_limit_seconds(status: pa.Array, internal_ms: pa.Array) -> pa.Array:
    """Find the limit at which a still running command was handed back.

    Parameters
    ----------
    status : pyarrow.Array of string
        TraceLab's ``command_status``.
    internal_ms : pyarrow.Array of int64
        The duration that the tool runner reported, in milliseconds.

    Returns
    -------
    pyarrow.Array of float64
        The largest of ``YIELD_LIMITS`` at most 0.15 s below the reported duration, where the status is
        ``running``; null elsewhere.

    Examples
    --------
    >>> asked_limit_seconds(pa.array(["running", "running", "finished"]), pa.array([10_002, 7_000, 10_002])).to_pylist()
    [10.0, None, None]
    """
    found = np.full(len(status), np.nan)
    running = np.flatnonzero(pc.fill_null(pc.equal(status, "running"), False).to_numpy(zero_copy_only=False))
    if running.size:
        reported = pc.fill_null(internal_ms.take(pa.array(running)), -1).to_numpy(zero_copy_only=False)
        for limit in YIELD_LIMITS:
            # int64 may be as large as it likes: compare without subtracting
            hit = (reported >= limit * 1000) & (reported <= limit * 1000 + _SLACK_MS)
            found[running[hit]] = limit
    return pa.array(found, mask=np.isnan(found))


def call_extras(status: pa.Array, internal_ms: pa.Array) -> list[pa.Array]:
    """Give the columns of ``CALL_EXTRAS`` for calls of TraceLab, whose start is the emission of the call."""
    n = len(status)
    columns = {
        "start_kind": pa.repeat(pa.scalar("emission"), n),
        "asked_limit_seconds": asked_limit_seconds(status, internal_ms),
    }
    return [columns.get(name, pa.nulls(n, kind)) for name, kind in CALL_EXTRAS.items()]
