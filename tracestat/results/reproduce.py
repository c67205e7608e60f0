"""What ``reproduce`` answers: each published figure beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tracestat.results.base import Result
from tracestat.results.interval import Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ReproduceResult", "ReproducedFigure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproducedFigure:
    """One published number beside ours, in the unit it was published in.

    Attributes
    ----------
    published : float or None
        The number; ``published_low`` and ``published_high`` are what its rounding stands for, ``printed`` how it
        stands in the source.
    ours : Interval
        Under ``definition``, the stated or most likely one, with its interval by clusters where it has one.
    range : tuple of float, or None
        Least and most over all definitions.
    nearest_definition, nearest : str and float, or None
        The definition whose number comes nearest to the published one, and that number.
    by_definition : tuple of (str, float or None)
        The number under each definition.
    verdict : str
        ``agrees`` or ``differs`` on the release that the figure speaks of; else ``higher``, ``lower`` or ``overlaps``;
        ``cannot tell`` where there is no number, and ``why``.
    command : str
        What prints our number; ``at`` says where in its JSON, ``times`` what to multiply the number there by.
    """

    id: str
    of: str
    origin: str
    theme: str
    statement: str
    provider: str | None
    corpus: str
    release: str | None
    unit: str
    printed: str
    published: float | None
    published_low: float | None
    published_high: float | None
    source: str
    definition: str | None
    ours: Interval
    range: tuple[float, float] | None
    nearest_definition: str | None
    nearest: float | None
    by_definition: tuple[tuple[str, float | None], ...]
    verdict: str
    why: str
    note: str
    command: str
    at: str
    times: float


@dataclass(frozen=True, slots=True, repr=False)
class ReproduceResult(Result):
    """Published figures beside ours.

    Attributes
    ----------
    release : str or None
        The TraceLab release that the trace is, known by its hash.
    rows : tuple of ReproducedFigure
    not_shown : mapping of str to int
        Figures of other kinds of source that were not asked for.
    """

    release: str | None
    rows: tuple[ReproducedFigure, ...]
    not_shown: Mapping[str, int]
    command: ClassVar[str] = "reproduce"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per published number."""
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "id": row.id,
                    "theme": row.theme,
                    "statement": row.statement,
                    "provider": row.provider,
                    "corpus": row.corpus,
                    "unit": row.unit,
                    "published": row.published,
                    "published_low": row.published_low,
                    "published_high": row.published_high,
                    "ours": row.ours.value,
                    "low": row.ours.low,
                    "high": row.ours.high,
                    "method": row.ours.method,
                    "definition": row.definition,
                    "range_low": row.range[0] if row.range else None,
                    "range_high": row.range[1] if row.range else None,
                    "nearest_definition": row.nearest_definition,
                    "nearest": row.nearest,
                    "verdict": row.verdict,
                    "why": row.why,
                    "command": row.command,
                    "at": row.at,
                    "times": row.times,
                    "source": row.source,
                    "synthetic": self.head.synthetic,
                }
                for row in self.rows
            ],
            schema_overrides=dict.fromkeys(_NUMBERS, pl.Float64),
            infer_schema_length=None,
        )


_NUMBERS = ("published", "published_low", "published_high", "ours", "low", "high", "range_low", "range_high", "nearest")
