"""How a published number and ours are written beside each other: in the unit it was published in."""

from __future__ import annotations

from tracestat.charts.words import MISSING, percent
from tracestat.results import Interval, ReproducedFigure

__all__ = ["measured", "ours_words", "printed_words", "range_words"]

_SIGNS = {"s": "s", "ms": "ms", "min": "min", "h": "h", "months": "months", "GB": "GB", "GiB": "GiB", "TiB": "TiB"}


def _number(value: float, *, timed: bool) -> str:
    """Write three digits that count, or a whole number whole where it is no time."""
    if value == 0 or (abs(value) >= 100 and abs(value) < 1e15) or (not timed and float(value).is_integer()):
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.1 else 3
    return f"{value:.{digits}f}" if abs(value) >= 0.001 else f"{value:.2g}"


def _bare(value: float, unit: str) -> str:
    if unit == "fraction":
        return percent(value).removesuffix(" %")
    # slopes and coefficients are told apart in the second digit, large or small
    return f"{value:.2f}" if unit in ("slope", "coefficient") else _number(value, timed=unit in _SIGNS)


def _sign(unit: str) -> str:
    sign = "%" if unit == "fraction" else _SIGNS.get(unit, "")
    return f" {sign}" if sign else ""


def measured(value: float | None, unit: str) -> str:
    """Write a number with its unit.

    Examples
    --------
    >>> measured(0.7, "fraction"), measured(361.2, "s"), measured(743819, "calls"), measured(None, "s")
    ('70.0 %', '361 s', '743,819', '-')
    """
    return MISSING if value is None else f"{_bare(value, unit)}{_sign(unit)}"


def ours_words(item: Interval, unit: str) -> str:
    """Write our number with its interval.

    Examples
    --------
    >>> ours_words(Interval(59.6, 26.2, 136), "s"), ours_words(Interval(37.0), "developers")
    ('59.6 s [26.2, 136]', '37')
    """
    if item.value is None or (item.low is None and item.high is None):
        return measured(item.value, unit)
    low, high = (MISSING if bound is None else _bare(_tidy(bound), unit) for bound in (item.low, item.high))
    return f"{measured(item.value, unit)} [{low}, {high}]"


def _tidy(bound: float) -> float:
    """Give 0 for what is 0 but for rounding."""
    return 0.0 if abs(bound) < 1e-12 else bound


def range_words(pair: tuple[float, float] | None, unit: str) -> str:
    """Write the range over all definitions.

    Examples
    --------
    >>> range_words((0.53, 0.6756), "fraction"), range_words((37.0, 37.0), "developers")
    ('53.0 to 67.6 %', '37')
    """
    if pair is None:
        return MISSING
    low, high = (_bare(value, unit) for value in pair)
    return f"{low}{_sign(unit)}" if low == high else f"{low} to {high}{_sign(unit)}"


def printed_words(row: ReproducedFigure) -> str:
    """Write a published number as its source prints it, with its unit."""
    text = row.printed.partition("±")[0]
    sign = _sign(row.unit)
    known = row.unit == "words" or any(text.endswith(end) for end in (" %", " ms", " s", " min", " h"))
    return text if known else f"{text}{sign}"
