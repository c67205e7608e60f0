"""An estimate with its uncertainty, the smallest piece of every answer.

Nothing here computes. ``None`` means "not available" and always comes with a note; a result never holds NaN or
infinity, so that it can be printed as JSON as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["NOT_AVAILABLE", "Bounds", "Interval", "Json"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | Mapping[str, Json] | None"
Bounds: TypeAlias = "tuple[float | None, float | None]"


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
