"""Sessions, prefix cache and shell commands: the figures of ``summary --section``, by TraceLab's rules or ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.api.answers.source import Answer, Command, Question, Source, missing
from tracestat.published import load_published
from tracestat.results import Interval

if TYPE_CHECKING:
    from tracestat.results.sections import SectionGroup, SectionResult

__all__ = ["figure"]

_SECONDS = {"hours": 3600.0}


def _asked_items() -> set[str]:
    """Give the executables and tools that published figures speak of."""
    asked = (figure.answer.parameters.get("item") for figure in load_published().figures if figure.answer)
    return {item for item in asked if item is not None}


def _group(source: Source, question: Question) -> SectionGroup | None:
    from tracestat.api.sections import summary_section

    section = question.get("section")

    def made() -> SectionResult:
        return summary_section(source.trace, section, items=_asked_items(), seed=source.seed)

    result = source.once("section", made, section=section)
    wanted = {"provider": question.one_provider} if question.one_provider else {}
    return next((group for group in result.groups if dict(group.key) == wanted), None)


def figure(source: Source, question: Question) -> Answer:
    """Give the number that a section calls by a name, of an item (a tool, an executable) where it has several."""
    name, rule = question.get("name"), question.get("rule")
    group = _group(source, question)
    nothing = missing(f"this trace has nothing that {name} is made of")
    if group is None:
        return nothing
    place = f"groups[provider={question.one_provider}]"
    found, at, times = None, "", 1.0
    if name.startswith("sweep."):
        found, at = _swept(group, name.removeprefix("sweep."), question)
    else:
        for known in group.figures:
            if known.name == name and known.item == question.get("item"):
                found = known.tracelab if rule == "tracelab" else known.tracestat
                at, times = f"figures[name={name},item={known.item}]/{rule}", _SECONDS.get(known.unit, 1.0)
    if found is None or found.value is None:
        return nothing
    command = Command(("summary", "--section", question.get("section")), f"{place}/{at}/value", times)
    return Answer(found.times(times), "", command)


def _swept(group: SectionGroup, name: str, question: Question) -> tuple[Interval | None, str]:
    """Give a number of the time-out sweep."""
    rule = question.get("rule")
    sweep = next((sweep for sweep in group.sweeps if sweep.rule == rule), None)
    if sweep is None:
        return None, ""
    if name == "effective_timeout":
        return sweep.effective_timeout, f"sweeps[rule={rule}]/{name}"
    seconds = float(question.get("seconds"))
    point = next((point for point in sweep.points if point.timeout_seconds == seconds), None)
    found: Interval | None = None if point is None else getattr(point, name)
    return found, f"sweeps[rule={rule}]/points[timeout_seconds={seconds}]/{name}"
