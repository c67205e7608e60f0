"""Times of a column: ISO 8601, or an epoch whose unit all values of the column tell together.

An epoch between the years 2000 and 2100 has 9 or 10 digits in seconds, 12 or 13 in milliseconds and so on: the ranges
of the four units do not touch, so a number speaks for at most one of them. A column is in the unit that most of its
numbers speak for, if none of them speaks for another; what lies outside the range is then no time. Where fewer than
half speak, or two units are spoken for, the unit has to be said.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.types as pt

from tracestat.errors import UsageError
from tracestat.ingest.columns import TEXT, TIME
from tracestat.ingest.conform import conform
from tracestat.ingest.mapped.mapping import UNITS, Served, Unit
from tracestat.ingest.mapped.numbers import Numbers, numbers_of

__all__ = ["PER_SECOND", "UNIT_NAMES", "Instants", "TimeColumn", "Window", "instants_of"]

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

PER_SECOND: Final[dict[Unit, int]] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
UNIT_NAMES: Final[dict[Unit, str]] = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_MICRO: Final = 10**6
_FROM: Final = 946_684_800  # 2000-01-01
_TO: Final = 4_102_444_800  # 2100-01-01
_FIRST_US: Final = -62_135_596_800 * _MICRO  # year 1
# The time of a program in Go that has none is the first moment of the year 1.
_SECOND_YEAR_US: Final = -62_104_060_800 * _MICRO
_LAST_US: Final = 253_402_300_800 * _MICRO - 1  # year 9999
_ZONE: Final = r"[T ].*(?:[zZ]|[+-][0-9]{2}(?::?[0-9]{2})?)$"


@dataclass(frozen=True, slots=True)
class Instants:
    """Some values of a column of times.

    Attributes
    ----------
    iso_us : array of int64
        Microseconds since 1970 of what is written as a date.
    is_iso : array of bool
        Where that is so.
    numbers : Numbers
        What is written as a number.
    zoned : int
        How many dates name a zone, or have a type that is UTC.
    typed : bool
        The column has a type of its own for times.
    """

    iso_us: IntArray
    is_iso: BoolArray
    numbers: Numbers
    zoned: int
    typed: bool = False

    @property
    def bad(self) -> BoolArray:
        """Where something is written that is neither."""
        bad: BoolArray = ~(self.is_iso | self.numbers.valid | self.numbers.missing)
        return bad


@dataclass(frozen=True, slots=True)
class Window:
    """How numbers become microseconds, and between which of these a number is a time.

    Attributes
    ----------
    up, down : int
        Microseconds = number * up / down.
    first_us, last_us : int
        Both are times.
    """

    up: int
    down: int
    first_us: int
    last_us: int


def instants_of(column: pa.Array) -> Instants:
    """Read a column of times of any type.

    Raises
    ------
    TypeError
        No value of the column's type is a time.
    """
    n = len(column)
    if pt.is_date(column.type):
        column = column.cast(TIME)
    if pt.is_timestamp(column.type):
        times, bad = conform(column, TIME)
        is_iso = np.asarray(times.is_valid())
        gone = np.asarray(times.is_null()) if bad is None else np.asarray(times.is_null()) & ~bad
        none = np.zeros(n, np.int64)
        numbers = Numbers(none, none, np.zeros(n, bool), gone)
        return Instants(_micros(times), is_iso, numbers, int(is_iso.sum()) if column.type.tz else 0, typed=True)
    numbers = numbers_of(column)
    iso_us = np.zeros(n, np.int64)
    is_iso = np.zeros(n, bool)
    missing = numbers.missing.copy()
    zoned = 0
    others = np.flatnonzero(~(numbers.valid | numbers.missing))
    if others.size:
        texts = pl.Series(values=pl.from_arrow(column.take(pa.array(others)).cast(pa.large_string())), dtype=pl.String)
        # BigQuery and ClickHouse write the zone as a word
        texts = texts.str.strip_chars().str.replace(r"(?i) (?:utc|gmt)$", "Z")
        times, _ = conform(texts.to_arrow().cast(TEXT), TIME)
        is_iso[others] = np.asarray(times.is_valid())
        iso_us[others] = _micros(times)
        missing |= is_iso & (iso_us < _SECOND_YEAR_US)
        is_iso &= ~missing
        zoned = int((texts.str.contains(_ZONE) & pl.Series(is_iso[others])).sum())
    return Instants(iso_us, is_iso, replace(numbers, missing=missing), zoned)


def _micros(times: pa.Array) -> IntArray:
    values: IntArray = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return values


@dataclass(slots=True)
class TimeColumn:
    """What is known of a whole column of times, as its values go by.

    Attributes
    ----------
    served : Served
        The column, and its unit if that was said.
    dates, zoned, numbers : int
        Values written as dates, those of them with a zone, and values written as numbers.
    votes : dict of str to int
        Numbers that speak for each unit.
    first_lines : dict of str to int
        Line of the first of these.
    typed : bool
        The column has a type of its own for times.
    """

    served: Served
    dates: int = 0
    zoned: int = 0
    numbers: int = 0
    votes: dict[Unit, int] = field(default_factory=dict)
    first_lines: dict[Unit, int] = field(default_factory=dict)
    typed: bool = False

    def see(self, instants: Instants, lines: IntArray) -> None:
        """Take in some values and the lines they stand on."""
        self.dates += int(instants.is_iso.sum())
        self.zoned += instants.zoned
        self.typed |= instants.typed
        self.numbers += int(instants.numbers.valid.sum())
        for unit in UNITS:
            scale = PER_SECOND[unit]
            whole = instants.numbers.whole
            # 2100 is more than 64 bits hold for no unit: 4.1e18
            speaks = instants.numbers.valid & (whole >= _FROM * scale) & (whole < _TO * scale)
            count = int(speaks.sum())
            if count:
                self.votes[unit] = self.votes.get(unit, 0) + count
                self.first_lines.setdefault(unit, int(lines[speaks.argmax()]))

    def unit(self, shown: str) -> Unit | None:
        """Give the unit of the numbers of the column; None if it has none.

        Raises
        ------
        UsageError
            The numbers do not tell.
        """
        if self.served.unit or not self.numbers:
            return self.served.unit
        name = f"{shown}: {self.served.field} (column {self.served.column})"
        say = f"say the unit with `--map {self.served.field}:ms={self.served.column}` (s, ms, us or ns)"
        if len(self.votes) > 1:
            (a, b) = list(self.votes)[:2]
            raise UsageError(
                f"{name} holds what looks like epoch {UNIT_NAMES[a]} (line {self.first_lines[a]:,}) and "
                f"{UNIT_NAMES[b]} (line {self.first_lines[b]:,}): {say}"
            )
        if 2 * sum(self.votes.values()) <= self.numbers:
            raise UsageError(f"{name} holds numbers that are no epoch between 2000 and 2100 in any unit: {say}")
        return next(iter(self.votes))

    def window(self, shown: str) -> Window:
        """Give how the numbers become microseconds; a unit that was said may mean any time, one detected may not."""
        unit = self.unit(shown) or "us"
        up, down = max(1, _MICRO // PER_SECOND[unit]), max(1, PER_SECOND[unit] // _MICRO)
        if self.served.unit:
            return Window(up, down, _FIRST_US, _LAST_US)
        return Window(up, down, _FROM * _MICRO, _TO * _MICRO - 1)

    def told(self, shown: str) -> str:
        """Say in words how the column is read."""
        unit = self.unit(shown)
        said = []
        if self.dates:
            partly = "partly " if self.zoned else ""
            form = "timestamps" if self.typed else "ISO 8601"
            said.append(form if self.zoned == self.dates else f"{form}, {partly}without a zone: UTC")
        if self.numbers and unit:
            how = "as said" if self.served.unit else "detected"
            said.append(f"epoch {UNIT_NAMES[unit]} ({how})")
        return " and ".join(said) or "no times"
