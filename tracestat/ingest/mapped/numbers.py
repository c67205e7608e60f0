"""Numbers of a column, exactly: whole part and billionths, so that no epoch loses digits before its unit is known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.types as pt

__all__ = ["MISSING", "Numbers", "numbers_of", "scaled"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# How programs write "nothing" into a column of numbers or times.
MISSING: Final = ("", "-", "null", "none", "nan", "nat", "na", "n/a", "\\n")
_PLAIN: Final = r"^[0-9]{1,19}(?:\.[0-9]*)?$"
_ANY: Final = r"^[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?$"
_BILLION: Final = 10**9
_LARGEST: Final = 2**63


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers, as whole + nanos / 1e9 with 0 <= nanos < 1e9.

    Attributes
    ----------
    whole, nanos : array of int64
        0 where there is no number.
    valid : array of bool
        Where there is one.
    missing : array of bool
        Where nothing is written. What is neither valid nor missing is something else.
    """

    whole: IntArray
    nanos: IntArray
    valid: BoolArray
    missing: BoolArray


def numbers_of(column: pa.Array) -> Numbers:
    """Read a column of numbers, or of texts that may be numbers.

    Digits behind the ninth decimal are cut.

    Raises
    ------
    TypeError
        No value of the column's type is a number.

    Examples
    --------
    >>> numbers = numbers_of(pa.array(["12.5", "1e3", "soon", ""]))
    >>> numbers.whole.tolist(), numbers.nanos.tolist(), numbers.valid.tolist(), numbers.missing.tolist()
    ([12, 1000, 0, 0], [500000000, 0, 0, 0], [True, True, False, False], [False, False, False, True])
    """
    kind = column.type
    if pt.is_null(kind):
        nothing = np.zeros(len(column), np.int64)
        return Numbers(nothing, nothing, np.zeros(len(column), bool), np.ones(len(column), bool))
    if pt.is_integer(kind):
        return _of_integers(column)
    if pt.is_floating(kind):
        return _of_floats(column)
    if pt.is_decimal(kind):
        return _of_texts(column.cast(pa.string()))
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _of_texts(column)
    raise TypeError


def scaled(numbers: Numbers, up: int, down: int = 1) -> tuple[IntArray, BoolArray]:
    """Give number * up / down as whole numbers, cut towards the past, and where they fit 64 bits."""
    most = _LARGEST // up - 1
    fits = (numbers.whole < most) & (numbers.whole > -most)
    whole = np.where(fits, numbers.whole, 0)
    return whole * up // down + numbers.nanos * up // (_BILLION * down), numbers.valid & fits


def _of_integers(column: pa.Array) -> Numbers:
    missing = np.asarray(column.is_null())
    fits = ~missing
    if pt.is_uint64(column.type):
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        fits &= values < _LARGEST
        whole = np.where(fits, values, 0).astype(np.int64)
    else:
        whole = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return Numbers(whole, np.zeros(len(column), np.int64), fits, missing)


def _of_floats(column: pa.Array) -> Numbers:
    values = column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    missing = np.isnan(values)
    valid = ~missing & (np.abs(values) < 1e18)
    values = np.where(valid, values, 0.0)
    floor = np.floor(values)
    nanos = np.rint((values - floor) * _BILLION)
    # below the distance to the next float the digits say nothing: 1767261600.123 is meant, not ...122999907
    distance = np.maximum(np.spacing(np.abs(values)) * _BILLION, 1.0)
    step = 10.0 ** np.ceil(np.log10(distance))
    nanos = (np.rint(nanos / step) * step).astype(np.int64)
    carry = nanos >= _BILLION
    return Numbers(floor.astype(np.int64) + carry, np.where(carry, 0, nanos), valid, missing)


def _of_texts(column: pa.Array) -> Numbers:
    texts = pl.Series(values=pl.from_arrow(column.cast(pa.large_string())), dtype=pl.String).str.strip_chars()
    missing = (texts.is_null() | texts.str.to_lowercase().is_in(MISSING)).to_numpy()
    plain = texts.str.contains(_PLAIN).fill_null(False)
    kept = pl.select(pl.when(plain).then(texts)).to_series()
    parts = kept.str.splitn(".", 2).struct.unnest()
    whole_parts = parts[:, 0].cast(pl.Int64, strict=False)
    plain &= whole_parts.is_not_null()  # 19 digits may be more than 64 bits hold
    whole = whole_parts.fill_null(0).to_numpy().copy()
    decimals = parts[:, 1].fill_null("").str.slice(0, 9).str.pad_end(9, "0")
    nanos = decimals.cast(pl.Int64).to_numpy().copy()
    valid = plain.to_numpy().copy()
    odd = texts.str.contains(_ANY).fill_null(False) & ~plain
    for row in odd.arg_true().to_list():  # signs and exponents
        number = _of_decimal(texts[row])
        if number is not None:
            whole[row], nanos[row] = number
            valid[row] = True
    return Numbers(np.where(valid, whole, 0), np.where(valid, nanos, 0), valid, missing & ~valid)


def _of_decimal(text: str) -> tuple[int, int] | None:
    try:
        value = Decimal(text)
    except InvalidOperation:  # pragma: no cover - the pattern lets none through
        return None
    if abs(value) >= _LARGEST:
        return None
    return divmod(int((value * _BILLION).to_integral_value(rounding="ROUND_FLOOR")), _BILLION)
