"""Sessions, prefix cache and shell commands: the figures of ``summary --section``, by TraceLab's rules or ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.api.answers.source import Answer, Question, Source, missing
from tracestat.durations.tracelab import choose_sessions, named_numbers
from tracestat.results import Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["figure"]

_SECONDS = {"hours": 3600.0}


def figure(source: Source, question: Question) -> Answer:
    """Give the number that a section calls by a name, of an item (a tool, an executable) where it has several."""
    import polars as pl

    section, name = question.get("section"), question.get("name")

    def made() -> pl.DataFrame:
        return named_numbers(source.trace, section, choose_sessions(by="provider"))

    frame = source.once("section", made, section=section)
    found = frame.filter(
        pl.col("name").eq(name)
        & pl.col("rule").eq(question.get("rule"))
        & pl.col("provider").eq_missing(pl.lit(question.one_provider, dtype=pl.String))
        & pl.col("item").eq_missing(pl.lit(question.get("item"), dtype=pl.String))
    )
    if found.is_empty() or found["value"][0] is None:
        return missing(f"this trace has nothing that {name} is made of")
    return Answer(Interval(float(found["value"][0]) * _SECONDS.get(found["unit"][0], 1.0)))
