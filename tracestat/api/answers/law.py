"""The law of pauses: slopes of the hazard, remaining time, deadlines, memoryfulness."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tracestat.api.answers.source import Answer, Clusters, Command, Question, Source, cut_to, missing
from tracestat.durations import run_on
from tracestat.results import Interval

if TYPE_CHECKING:
    import polars as pl

    from tracestat.results import (
        DeadlinesGroup,
        HazardGroup,
        HazardResult,
        MemoryfulnessResult,
        ResidualPoint,
        ResidualResult,
    )

__all__ = [
    "ELAPSED",
    "deadline",
    "deadline_share",
    "flattest_slope",
    "memoryfulness_of",
    "residual_mean",
    "residual_median",
    "steepest_slope",
]

_LEVEL = 0.05
# the times that published figures speak of
ELAPSED = (0.0, 4.0, 10.0, 25.0, 60.0, 146.0, 300.0)


def _hazards(source: Source, by: str) -> HazardResult:
    from tracestat.api.hazards import hazard

    def made() -> HazardResult:
        # the slopes of groups need neither the rise test nor those within keys
        return hazard(source.trace, by=by, tz="UTC", draws=0, within=False, seed=source.seed)

    return source.once("hazards", made, by=by)


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


def _at(source: Source, question: Question) -> tuple[ResidualPoint | None, str]:
    """Give the remaining time after some seconds, and the group of the document that has it."""
    from tracestat.api.residual import residual

    by = "none" if question.one_provider is None else "provider"

    def made() -> ResidualResult:
        return residual(source.trace, elapsed=ELAPSED, by=by, tz="UTC", curve=False, seed=source.seed)

    result = source.once("residual", made, by=by)
    who = f"provider={question.one_provider}," if question.one_provider else ""
    selector = f"groups[{who}rows={question.get('rows')}]"
    for group in result.groups:
        if group.key["rows"] == question.get("rows") and group.key.get("provider") == question.one_provider:
            elapsed = float(question.get("elapsed"))
            point = next((point for point in group.at if point.elapsed == elapsed), None)
            return point, f"{selector}/at[elapsed={elapsed}]"
    return None, selector


def _residual(source: Source, question: Question, name: str) -> Answer:
    point, at = _at(source, question)
    elapsed = question.get("elapsed")
    found = Interval(None) if point is None else getattr(point, name)
    value = found if isinstance(found, Interval) else _plain(source, question, found)
    if value.value is None:
        return missing(f"too few rows last longer than {elapsed:g} s")
    by = "none" if question.one_provider is None else "provider"
    command = Command(
        ("residual", "--elapsed", f"{elapsed:g}", "--by", by),
        f"{at}/{name}" + ("/value" if isinstance(found, Interval) else ""),
    )
    return Answer(value, "" if point is None else f"{point.n_at_risk:,} rows last longer", command)


def _plain(source: Source, question: Question, value: float | None) -> Interval:
    """Give a mean without a window the interval of a ratio of sums by cluster."""
    if value is None or not question.interval:
        return Interval(value)
    selection = replace(source.select(question), rows=question.get("rows"))

    def made() -> pl.DataFrame:
        return run_on(source.trace, "reproduce_remaining", selection, elapsed=list(ELAPSED), rows=selection.rows)

    frame = source.once("remaining", made, rows=selection.rows)
    frame = frame.filter(frame["elapsed"] == float(question.get("elapsed")))
    if question.one_provider is not None:
        frame = frame.filter(frame["provider"] == question.one_provider)
    table = frame.select("session_pk", "developer_id", "n", "seconds")
    return replace(cut_to(Clusters.of(table, "n", "seconds").ratio(), 0.0, float("inf")), value=value)


def residual_mean(source: Source, question: Question) -> Answer:
    """Give the mean remaining time after some seconds, within a window or without one."""
    return _residual(source, question, "unrestricted" if question.get("window") is None else "mean")


def residual_median(source: Source, question: Question) -> Answer:
    """Give the median remaining time after some seconds."""
    return _residual(source, question, "median")


def memoryfulness_of(source: Source, question: Question) -> Answer:
    """Give the memoryfulness over sessions or over requests."""
    from tracestat.api.memoryfulness import memoryfulness

    by = "none" if question.one_provider is None else "provider"
    draws = 1_000 if by == "none" else 0  # the first definition pools

    def made() -> MemoryfulnessResult:
        return memoryfulness(source.trace, by=by, tz="UTC", draws=draws, seed=source.seed)

    result = source.once("memoryfulness", made, by=by)
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


def _deadlines(source: Source, question: Question) -> DeadlinesGroup | None:
    """Give the deadlines of the question's provider by its mode."""
    from tracestat.api.deadlines import deadlines

    result = source.once("deadlines", lambda: deadlines(source.trace, tz="UTC", seed=source.seed))
    for group in result.groups:
        if group.key.get("provider") == question.one_provider and group.mode == question.get("mode"):
            return group
    return None


def deadline(source: Source, question: Question) -> Answer:
    """Give where pauses pile up near a deadline: the place, less what the tool adds where that is known."""
    seconds, mode = float(question.get("seconds")), question.get("mode")
    group = _deadlines(source, question)
    if group is None:
        return missing("this trace has no pauses to look at" if mode == "scan" else "no result says running")
    atom = next((atom for atom in group.atoms if atom.known_limit == seconds), None)
    place = f"groups[provider={question.one_provider},mode={mode}]/atoms[known_limit={seconds}]"
    arguments = ("deadlines", "--mode", mode, "--by", "provider")
    if atom is not None:
        name = "seconds" if atom.nominal_seconds is None else "nominal_seconds"
        value = atom.seconds if atom.nominal_seconds is None else atom.nominal_seconds
        return Answer(Interval(value), f"{atom.events:,} ends there", Command(arguments, f"{place}/{name}"))
    named = next((named for named in group.named if named.seconds == seconds), None)
    if named is None or named.p_adjusted is None or named.expected is None:
        return missing(f"too few pauses end near {seconds:g} s")
    told = f"{named.events:,} ended there against {named.expected:.1f} expected, p = {named.p_adjusted:.2g}"
    if named.p_adjusted > _LEVEL:
        return missing(f"no spike at {seconds:g} s: {told}")
    place = f"groups[provider={question.one_provider},mode={mode}]/named[seconds={seconds}]/seconds"
    return Answer(Interval(seconds), f"not in the scan, but by a test of this limit: {told}", Command(arguments, place))


def deadline_share(source: Source, question: Question) -> Answer:
    """Give the share of pauses (or calls) whose result says that the command goes on; or of pauses in spikes."""
    if question.get("mode") == "scan":
        group = _deadlines(source, question)
        return missing("this trace has no pauses to look at") if group is None else Answer(group.share_on_deadline)

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
        command = None
        if question.selecting == {"unit": "pause", "rows": "tool"} and question.one_provider is not None:
            at = f"groups[provider={question.one_provider},mode=status]/share_on_deadline/value"
            command = Command(("deadlines", "--mode", "status", "--by", "provider"), at)
        return Answer(Clusters.of(table, "n", "n_deadline").share(), "", command)
    return Answer(Interval(float(frame["n_deadline"].sum()) / float(frame["n"].sum())))
