"""Bringing a column of some table to the type that ours has, value by value where it must be."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tracestat.ingest.columns import BOOLEAN, INTEGER, TEXT, TEXTS, TIME
from tracestat.ingest.times import time_of, times_of

__all__ = ["conform", "repair", "without_extension"]

_FIRST: Final = pa.scalar(datetime.min, TIME)
_LAST: Final = pa.scalar(datetime.max, TIME)


def conform(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, np.ndarray | None]:
    """Cast a column to one of our types.

    Parameters
    ----------
    column : pyarrow.Array
        Of any type.
    kind : pyarrow.DataType
        One of ours.

    Returns
    -------
    tuple of (pyarrow.Array, numpy.ndarray or None)
        The column, null where a value does not fit, and a mask of those; None when all fit.

    Raises
    ------
    TypeError
        No value of the column's type is one of ours.

    Examples
    --------
    >>> values, bad = conform(pa.array([1.0, 1.5]), INTEGER)
    >>> values.to_pylist(), bad.tolist()
    ([1, None], [False, True])
    """
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    column = without_extension(column)
    if not (pt.is_null(column.type) or _fits(column.type, kind)):
        raise TypeError
    if kind is TIME:
        return _times(column)
    try:
        return column.cast(kind), None
    except pa.ArrowInvalid:
        return _one_by_one(column, kind)


def without_extension(column: pa.Array) -> pa.Array:
    """Give a column as what it is stored as; UUIDs as text, which Arrow stores as 16 bytes and does not cast.

    Examples
    --------
    >>> column = pa.array([b"0123456789abcdef"], pa.uuid())
    >>> without_extension(column).to_pylist()
    ['30313233-3435-3637-3839-616263646566']
    """
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    if column.type.extension_name != "arrow.uuid":
        return column.storage
    values = column.storage.to_pylist()
    return pa.array([None if value is None else str(UUID(bytes=value)) for value in values], TEXT)


def _fits(given: pa.DataType, kind: pa.DataType) -> bool:
    if kind is TEXT:
        return bool(pt.is_string(given) or pt.is_large_string(given) or pt.is_string_view(given))
    if kind is INTEGER:
        return bool(pt.is_integer(given) or pt.is_floating(given) or pt.is_decimal(given))
    if kind is BOOLEAN:
        return bool(pt.is_boolean(given))
    if kind is TIME:
        return bool(pt.is_timestamp(given) or _fits(given, TEXT))
    if kind is TEXTS:
        return bool(
            (pt.is_list(given) or pt.is_large_list(given))
            and (pt.is_null(given.value_type) or _fits(given.value_type, TEXT))
        )
    return False


def _times(column: pa.Array) -> tuple[pa.Array, np.ndarray | None]:
    if not (pt.is_timestamp(column.type) or pt.is_null(column.type)):
        texts = column.cast(TEXT)
        times = times_of(texts)
        if times is not None:
            return times, None
        values = [None if text is None else time_of(text) for text in texts.to_pylist()]
        times = pa.array(values, TIME)
        return times, np.asarray(times.is_null()) & np.asarray(column.is_valid())
    times = column.cast(TIME, safe=False)  # nanoseconds are cut, time zones become UTC
    bad = np.asarray(pc.fill_null(pc.or_(pc.less(times, _FIRST), pc.greater(times, _LAST)), False))
    if not bad.any():
        return times, None
    return pc.if_else(pa.array(bad), pa.scalar(None, TIME), times), bad


def _one_by_one(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, np.ndarray]:
    """Cast what can be cast; slow, for batches with a value that does not fit."""
    values: list[Any] = []
    bad = np.zeros(len(column), bool)
    for row in range(len(column)):
        try:
            values.append(column[row : row + 1].cast(kind)[0].as_py())
        except pa.ArrowInvalid:
            values.append(None)
            bad[row] = True
    return pa.array(values, kind), bad


def repair(texts: pa.Array) -> tuple[pa.Array, np.ndarray]:
    r"""Replace what is no UTF-8 in a column of texts; give a mask of the rows that had any.

    Examples
    --------
    >>> texts, repaired = repair(pa.array([b"a", b"\xff"]).view(pa.string()))
    >>> texts.to_pylist(), repaired.tolist()
    (['a', '�'], [False, True])
    """
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        pass
    else:
        return texts, np.zeros(len(texts), bool)
    binary = pa.list_(pa.binary()) if texts.type == TEXTS else pa.binary()
    repaired = [_repaired(value) for value in texts.cast(binary).to_pylist()]
    return pa.array([value for value, _ in repaired], texts.type), np.array([changed for _, changed in repaired])


def _repaired(raw: Any) -> tuple[Any, bool]:
    """Decode bytes, or a list of them, and tell whether anything had to be replaced."""
    if raw is None:
        return None, False
    if isinstance(raw, list):
        items = [_repaired(item) for item in raw]
        return [item for item, _ in items], any(changed for _, changed in items)
    text = raw.decode("utf-8", "replace")
    return text, text.encode() != raw
