"""Numbers of a log as the tables can hold them; what they cannot hold is not known."""

from __future__ import annotations

from typing import Final

__all__ = ["count_of", "micros_of"]

# The years 1 to 9999, which every reader of the store knows.
_FIRST_US: Final = -62_135_596_800_000_000
_LAST_US: Final = 253_402_300_799_999_999
_INT64: Final = 2**63
_MICROS: Final = 1_000_000


def micros_of(value: float | None, *, per_second: int) -> int | None:
    """Give a time or a duration in microseconds; None if it is none.

    Parameters
    ----------
    value : float or None
        In units of the log.
    per_second : int
        Units in a second: 1, 1000 (milliseconds) or 10**9 (nanoseconds, as an int: a float has too few digits).
    """
    if value is None or not abs(value) < _INT64:  # NaN is not smaller than anything
        return None
    coarse = per_second <= _MICROS
    micros = round(value * (_MICROS // per_second) if coarse else value / (per_second // _MICROS))
    return micros if _FIRST_US <= micros <= _LAST_US else None


def count_of(value: float | None) -> int | None:
    """Give a count of tokens, characters or the like; None if it is none."""
    return round(value) if value is not None and 0 <= value < _INT64 else None
