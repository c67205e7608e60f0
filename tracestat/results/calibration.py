"""What ``simulate calibrate`` answers: how well the model of a machine meets the timings it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tracestat.results.base import Result

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CalibratedTiming", "CalibrationResult", "FittedConstant", "Ladder", "NotTold"]


@dataclass(frozen=True, slots=True)
class CalibratedTiming:
    """One timing beside the model; seconds.

    Attributes
    ----------
    kind : str
        ``cold``, or ``cold`` or ``reload`` with a store path.
    tokens : int
    measured, model : float
    off : float
        Model less measured.
    off_share : float
        Of what was measured.
    within : bool
        Off by at most 3 % or 4 ms.
    """

    kind: str
    tokens: int
    measured: float
    model: float
    off: float
    off_share: float
    within: bool


@dataclass(frozen=True, slots=True)
class FittedConstant:
    """A constant as the file has it and as least squares make it of the file's timings, in the unit of the file.

    Attributes
    ----------
    name, unit : str
    in_file : float
    fitted : float
    low, high : float or None
        Range of 95 % by the scatter of the timings; None where there are no more timings than constants.
    """

    name: str
    unit: str
    in_file: float
    fitted: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class NotTold:
    """A number that no timing tells.

    Attributes
    ----------
    name, unit : str
    value : float
        In the unit of the file.
    low, high : float or None
        Where it may lie.
    source : str
        ``public``, ``choice``, ``computed`` ...
    why : str
    """

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None
    source: str
    why: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """Seconds to the first token of one prompt on an idle machine; None where the pool cannot hold it.

    Attributes
    ----------
    tokens : int
    appended : int
        Of them new, where the rest is resident.
    resident, recompute : float or None
    reload : mapping of str to (float or None)
        By store path.
    ratio : mapping of str to (float or None)
        Recompute over reload.
    """

    tokens: int
    appended: int
    resident: float | None
    reload: Mapping[str, float | None]
    recompute: float | None
    ratio: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationResult(Result):
    """Residuals of a machine, what its timings tell and what they do not.

    Attributes
    ----------
    hardware, card, model : str
    estimate : bool
        From specifications, nothing measured.
    n_within : int
        Timings within 3 % or 4 ms.
    rms, largest : float or None
        Root mean square and largest of the relative differences; None without timings.
    timings : tuple of CalibratedTiming
    constants : tuple of FittedConstant
        Empty where a fit is not possible; the notes say why.
    not_told : tuple of NotTold
    ladder : Ladder
    """

    hardware: str
    card: str
    model: str
    estimate: bool
    n_within: int
    rms: float | None
    largest: float | None
    timings: tuple[CalibratedTiming, ...]
    constants: tuple[FittedConstant, ...]
    not_told: tuple[NotTold, ...]
    ladder: Ladder
    command: ClassVar[str] = "simulate_calibrate"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per timing."""
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "hardware": self.hardware,
                    "kind": timing.kind,
                    "tokens": timing.tokens,
                    "measured_s": timing.measured,
                    "model_s": timing.model,
                    "off_s": timing.off,
                    "off_share": timing.off_share,
                    "within": timing.within,
                }
                for timing in self.timings
            ],
            schema={
                "hardware": pl.String,
                "kind": pl.String,
                "tokens": pl.Int64,
                "measured_s": pl.Float64,
                "model_s": pl.Float64,
                "off_s": pl.Float64,
                "off_share": pl.Float64,
                "within": pl.Boolean,
            },
        )
