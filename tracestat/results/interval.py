"""An estimate with its uncertainty, the smallest piece of every answer.

Nothing here computes. ``None`` means "not available" and always comes with a note; a result never holds NaN or
infinity, so that it can be printed as JSON as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

__all__ = ["NOT_AVAILABLE", "Bounds", "Interval", "Json"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | Mapping[str, Json] | None"
Bounds: TypeAlias = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its uncertainty.

    Attributes
    ----------
    value : float or None
        The estimate; None when it is not available (the reason stands in the notes of the result).
    low, high : float or None
        Bounds of the headline interval; None when a bound does not exist.
    level : float
        Nominal coverage.
    method : str
        How the headline interval was made, for example ``"developer CV3"``; empty when there is none.
    session, developer : tuple of (float or None), or None
        The bounds by each clustering, where both were computed.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""
    session: Bounds | None = None
    developer: Bounds | None = None

    def with_bounds(self, change: Callable[[float], float]) -> Interval:
        """Give the same estimate with each of its bounds changed.

        Examples
        --------
        >>> Interval(0.9, 0.7, 1.1, session=(0.8, None)).with_bounds(lambda bound: min(bound, 1.0))
        Interval(value=0.9, low=0.7, high=1.0, level=0.95, method='', session=(0.8, None), developer=None)
        """

        def one(bound: float | None) -> float | None:
            return None if bound is None else change(bound)

        def both(pair: Bounds | None) -> Bounds | None:
            return None if pair is None else (one(pair[0]), one(pair[1]))

        low, high = one(self.low), one(self.high)
        return replace(self, low=low, high=high, session=both(self.session), developer=both(self.developer))

    def times(self, size: float) -> Interval:
        """Give estimate and bounds in another unit: each times ``size``, which is above 0.

        Examples
        --------
        >>> Interval(2.0, 1.0, None).times(60.0)
        Interval(value=120.0, low=60.0, high=None, level=0.95, method='', session=None, developer=None)
        """
        value = None if self.value is None else self.value * size
        return replace(self.with_bounds(lambda bound: bound * size), value=value)

    def to_dict(self) -> dict[str, Json]:
        """Give the JSON form that the machine output promises."""
        out: dict[str, Json] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
        }
        if self.session is not None:
            out["session"] = list(self.session)
        if self.developer is not None:
            out["developer"] = list(self.developer)
        return out


NOT_AVAILABLE = Interval(None)
