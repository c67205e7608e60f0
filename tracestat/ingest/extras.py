"""What a TraceLab row says about the columns that only raw logs know.

One of TraceLab's own implies its start kind, and the limit of a yield. A store that knows more can be written in
TraceLab's form all the same: more keys in an entry of ``tools`` then say what the row does not imply, and TraceLab's
tools pass over them. The rule and its inverse stand here together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracestat.ingest.columns import CALL_EXTRAS

__all__ = ["UNKNOWN", "YIELD_LIMITS", "asked_limit_seconds", "call_extras", "extras_to_say"]

# The start kind of a row that does not know it: a missing key would mean TraceLab's.
UNKNOWN: Final = "unknown"

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


def call_extras(status: pa.Array, internal_ms: pa.Array, said: Mapping[str, pa.Array] | None = None) -> list[pa.Array]:
    """Give the columns of ``CALL_EXTRAS`` for calls of TraceLab.

    Parameters
    ----------
    status, internal_ms : pyarrow.Array
        As for :func:`asked_limit_seconds`.
    said : mapping of str to pyarrow.Array, optional
        What the rows themselves say of these columns. TraceLab's own say nothing: their start is the emission of the
        call. A row that names its start kind says all of them, so what it leaves out is not known.

    Returns
    -------
    list of pyarrow.Array
        In the order of ``CALL_EXTRAS``.

    Examples
    --------
    >>> nulls = {name: pa.nulls(3, kind) for name, kind in CALL_EXTRAS.items()}
    >>> said = nulls | {"start_kind": pa.array([None, "real", UNKNOWN])}
    >>> columns = call_extras(pa.array(["running"] * 3), pa.array([10_002] * 3), said)
    >>> [column.to_pylist() for column in columns[:2]]
    [['emission', 'real', None], [10.0, None, None]]
    """
    n = len(status)
    columns = _implied(status, internal_ms)
    for name in CALL_EXTRAS:  # the start kind first
        values = said[name] if said else None
        if values is None or values.null_count == n:
            continue
        if name == "start_kind":
            kinds = pc.fill_null(values, columns[name][0])
            columns[name] = pc.if_else(pc.equal(kinds, UNKNOWN), pa.scalar(None, pa.string()), kinds)
            columns["asked_limit_seconds"] = _where(values.is_null(), columns["asked_limit_seconds"])
        else:
            columns[name] = pc.coalesce(values, columns[name]) if name in columns else values
    return [columns.get(name, pa.nulls(n, kind)) for name, kind in CALL_EXTRAS.items()]


def extras_to_say(status: pa.Array, internal_ms: pa.Array, extras: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Give what rows of TraceLab's form must say, so that :func:`call_extras` finds these columns again.

    Parameters
    ----------
    status, internal_ms : pyarrow.Array
        As for :func:`asked_limit_seconds`.
    extras : mapping of str to pyarrow.Array
        The columns of ``CALL_EXTRAS``.

    Returns
    -------
    dict of str to pyarrow.Array
        The same columns, null where nothing is to be said: everywhere in rows that are as TraceLab's.

    Examples
    --------
    >>> nulls = {name: pa.nulls(2, kind) for name, kind in CALL_EXTRAS.items()}
    >>> extras = nulls | {"start_kind": pa.array(["emission", None])}
    >>> extras_to_say(pa.nulls(2, pa.string()), pa.nulls(2, pa.int64()), extras)["start_kind"].to_pylist()
    [None, 'unknown']
    """
    implied = _implied(status, internal_ms)
    differs = pa.repeat(pa.scalar(False), len(status))
    for name, values in extras.items():
        same = values.is_null()
        if name in implied:
            same = pc.and_(same, implied[name].is_null())
            same = pc.or_(same, pc.fill_null(pc.equal(values, implied[name]), False))
        differs = pc.or_(differs, pc.invert(same))
    kinds = pc.fill_null(extras["start_kind"], UNKNOWN)
    said = {**extras, "start_kind": kinds}
    return {name: _where(differs, said[name]) for name in CALL_EXTRAS}


def _implied(status: pa.Array, internal_ms: pa.Array) -> dict[str, pa.Array]:
    """Give the columns that follow from TraceLab's own."""
    return {
        "start_kind": pa.repeat(pa.scalar("emission"), len(status)),
        "asked_limit_seconds": asked_limit_seconds(status, internal_ms),
    }


def _where(mask: pa.Array, values: pa.Array) -> pa.Array:
    """Make values null but where the mask holds."""
    return pc.if_else(mask, values, pa.scalar(None, values.type))
