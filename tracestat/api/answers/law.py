"""The law of pauses: slopes of the hazard, remaining time, deadlines, memoryfulness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.api.answers.source import Answer, Clusters, Command, Question, Source, missing
from tracestat.durations import run_on
from tracestat.results import Interval

if TYPE_CHECKING:
    import polars as pl

    from tracestat.results import HazardGroup, HazardResult, MemoryfulnessResult

__all__ = ["deadline_share", "flattest_slope", "memoryfulness_of", "steepest_slope"]


def _hazards(source: Source, by: str) -> HazardResult:
    from tracestat.api.hazards import hazard

    # slopes need no draws of the rise test
    return source.once("hazards", lambda: hazard(source.trace, by=by, tz="UTC", draws=0, seed=source.seed), by=by)


def _slope(group: HazardGroup, question: Question) -> tuple[Interval, str]:
    """Give the slope of one class, and where the document has it."""
    part, fit = question.get("part"), question.get("fit")
    whole, at = (group.upper_range, "upper_range/") if question.get("range") == "upper" else (group, "")
    if whole is None:
        return Interval(None), at
    slope = whole.deadlines_cut.slope if part == "cut" else whole.slope
    return getattr(slope, fit), f"{at}{'deadlines_cut/' if part == 'cut' else ''}slope/{fit}/value"


def _extreme(source: Source, question: Question, *, steepest: bool) -> Answer:
    by = question.get("by")
    found = []
    for group in _hazards(source, by).groups:
        if question.one_provider and group.key.get("provider", question.one_provider) != question.one_provider:
            continue
        slope, at = _slope(group, question)
        if slope.value is not None:
            found.append((slope.value, slope, group, at))
    if not found:
        return missing("no tool class has the events, bins and sessions that a slope needs")
    _, slope, group, at = (min if steepest else max)(found, key=lambda item: item[0])
    selector = ",".join(f"{key}={value}" for key, value in group.key.items())
    note = f"{group.label}; {len(found)} classes have a slope"
    return Answer(slope, note, Command(("hazard", "--by", by), f"groups[{selector}]/{at}"))


def steepest_slope(source: Source, question: Question) -> Answer:
    """Give the most negative log-log slope among the tool classes that have one."""
    return _extreme(source, question, steepest=True)


def flattest_slope(source: Source, question: Question) -> Answer:
    """Give the least negative (or most positive) log-log slope among the tool classes that have one."""
    return _extreme(source, question, steepest=False)


def memoryfulness_of(source: Source, question: Question) -> Answer:
    """Give the memoryfulness over sessions or over requests."""
    from tracestat.api.memoryfulness import memoryfulness

    by = "none" if question.one_provider is None else "provider"
    draws = 1_000 if question.interval else 0

    def made() -> MemoryfulnessResult:
        return memoryfulness(source.trace, by=by, tz="UTC", draws=draws, seed=source.seed)

    result = source.once("memoryfulness", made, by=by, draws=draws)
    unit = question.get("unit")
    for group in result.groups:
        if group.key.get("unit") == unit and group.key.get("provider") == question.one_provider:
            if group.value.value is None:
                return missing("; ".join(group.notes) or "too few programs")
            who = f",provider={question.one_provider}" if question.one_provider else ""
            return Answer(
                group.value, "", Command(("memoryfulness", "--by", by), f"groups[unit={unit}{who}]/value/value")
            )
    return missing("this trace has no finished sessions of that kind")


def deadline_share(source: Source, question: Question) -> Answer:
    """Give the share of pauses (or calls) whose result says that the command goes on."""

    def made() -> pl.DataFrame:
        selection = source.select(question)
        return run_on(source.trace, "reproduce_ends", selection, rows=selection.rows)

    frame = source.once("ends by kind", made, **question.selecting)
    if question.one_provider is not None:
        frame = frame.filter(frame["provider"] == question.one_provider)
    if frame.is_empty():
        return missing(f"this trace has no {question.get('unit')}s of that provider")
    table = frame.select("session_pk", "developer_id", "n", "n_deadline")
    if question.interval:
        return Answer(Clusters.of(table, "n", "n_deadline").share())
    return Answer(Interval(frame["n_deadline"].sum() / frame["n"].sum()))
