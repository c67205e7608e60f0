"""Text to time, the same way for the fast reader and for the exact one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tracestat.ingest.columns import TEXT, TIME

__all__ = ["time_of", "times_of"]

_ZONED: Final = pa.timestamp("us", "UTC")
_FIRST: Final = pa.scalar(datetime.min, TIME)
_LAST: Final = pa.scalar(datetime.max, TIME)


def times_of(texts: pa.Array) -> pa.Array | None:
    """Read a whole column of ISO 8601 times as naive UTC; None if any of them cannot be read this way.

    A column has either an offset (``Z`` or ``+02:00``) in every value or in none; without one it is UTC. Times
    outside the years 1 to 9999 are no times.
    """
    for kind in (_ZONED, TIME):
        try:
            times = pc.cast(pc.cast(texts, kind), TIME)
        except pa.ArrowInvalid:
            continue
        ends = pc.min_max(times)
        if ends["min"].is_valid and (pc.less(ends["min"], _FIRST).as_py() or pc.greater(ends["max"], _LAST).as_py()):
            return None
        return times
    return None


def time_of(text: str) -> datetime | None:
    """Read one ISO 8601 time as naive UTC; None when it is none.

    Accepts what :func:`times_of` accepts, with the same value, and what Python's ISO reader adds to it (more digits,
    the basic format).

    Examples
    --------
    >>> time_of("2026-03-01T10:00:06.500+01:00")
    datetime.datetime(2026, 3, 1, 9, 0, 6, 500000)
    >>> time_of("yesterday") is None
    True
    """
    try:
        read = datetime.fromisoformat(text)
        return read.astimezone(UTC).replace(tzinfo=None) if read.tzinfo else read
    except (ValueError, OverflowError):
        pass
    try:
        column = times_of(pa.array([text], TEXT))
    except UnicodeEncodeError:  # lone surrogates
        return None
    value: datetime | None = column[0].as_py() if column is not None else None
    return value
