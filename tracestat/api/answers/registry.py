"""Which function answers which name of ``data/published.json``, and which parameters it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tracestat.api.answers import counts, forecast, latency, law, sections
from tracestat.api.answers.source import Answer, Question, Source
from tracestat.errors import TracestatError

__all__ = ["answer_of", "check_question"]

_BOUNDS = {"within", "below", "over", "above"}
_ROWS = {"tool", "category"}
# function, parameters it needs, parameters it may take
_ANSWERS: Mapping[str, tuple[Callable[[Source, Question], Answer], set[str], set[str]]] = {
    "counts.total": (counts.total, {"what"}, set()),
    "counts.share": (counts.share, {"what", "of"}, set()),
    "counts.calls_of": (counts.calls_of, {"tool"}, set()),
    "counts.top_tools": (counts.top_tools, {"tools"}, set()),
    "counts.command_classes": (counts.command_classes, {"classes"}, set()),
    "latency.share_of_calls": (latency.share_of_calls, set(), _BOUNDS | _ROWS),
    "latency.share_of_time": (latency.share_of_time, set(), _BOUNDS | _ROWS),
    "latency.tools_share_of_time": (latency.tools_share_of_time, {"tools"}, set()),
    "latency.mean": (latency.mean, set(), _ROWS),
    "latency.hours": (latency.hours, set(), _ROWS),
    "latency.quantile": (latency.quantile_of, {"q"}, _ROWS),
    "latency.category_share_of_calls": (latency.category_share_of_calls, {"category"}, set()),
    "forecast.error_cut": (forecast.error_cut, set(), set()),
    "sections.figure": (sections.figure, {"section", "name"}, {"item", "seconds"}),
    "law.residual_mean": (law.residual_mean, {"elapsed"}, set()),
    "law.residual_median": (law.residual_median, {"elapsed"}, set()),
    "law.deadline": (law.deadline, {"seconds"}, set()),
    "law.steepest_slope": (law.steepest_slope, set(), set()),
    "law.flattest_slope": (law.flattest_slope, set(), set()),
    "law.memoryfulness": (law.memoryfulness_of, set(), set()),
    "law.deadline_share": (law.deadline_share, set(), set()),
}


def check_question(name: str, question: Question) -> None:
    """Refuse a question that no function answers.

    Raises
    ------
    TracestatError
        An unknown name, or parameters that its function does not take.
    """
    if name not in _ANSWERS:
        raise TracestatError(f"published.json: nothing answers {name}; it is one of {', '.join(_ANSWERS)}")
    _, needed, optional = _ANSWERS[name]
    given = set(question.parameters)
    if not needed <= given <= needed | optional:
        raise TracestatError(f"published.json: {name} takes {sorted(needed | optional)}, got {sorted(given)}")


def answer_of(source: Source, name: str, question: Question) -> Answer:
    """Answer one question about a trace."""
    check_question(name, question)
    return _ANSWERS[name][0](source, question)
