"""Counts: how many rounds, calls, sessions and developers a trace has, and shares of calls by tool and command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracestat.api.answers.source import Answer, Clusters, Command, Question, Source, missing
from tracestat.queries import query_text
from tracestat.results import Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["calls_of", "command_classes", "share", "tool_counts", "top_tools", "total"]

_LAUNCHES = ("Bash", "exec_command", "shell", "shell_command")
# what TraceLab's own table of counts holds too
_PUBLISHED = {"rounds": "rounds", "sessions": "sessions", "developers": "users"}
_PUBLISHED_IN_ALL = {**_PUBLISHED, "tool_calls": "tool_calls", "timing_events": "timing_events"}


def _copies(question: Question) -> bool:
    return question.choices.get("copies") != "dropped"


def _row(source: Source, question: Question) -> dict[str, Any] | None:
    """Give the counts of the question's provider, or of all."""
    copies = _copies(question)
    frame = source.once(
        "counts", lambda: source.trace.run(query_text("reproduce_counts"), {"copies": copies}), copies=copies
    )
    return next((row for row in frame.to_dicts() if row["provider"] == question.one_provider), None)


def tool_counts(source: Source, question: Question) -> pl.DataFrame:
    """Count the calls of the question's provider by tool, command class and session."""
    copies = _copies(question)
    frame = source.once(
        "tool_counts", lambda: source.trace.run(query_text("reproduce_tools"), {"copies": copies}), copies=copies
    )
    return frame if question.one_provider is None else frame.filter(frame["provider"] == question.one_provider)


def _nothing(question: Question, what: str) -> Answer:
    who = {"claude": " of Claude", "codex": " of Codex"}.get(question.one_provider or "", "")
    return missing(f"this trace has no {what}{who}")


def total(source: Source, question: Question) -> Answer:
    """Give a count (or, for ``months``, the seconds from the first event to the last); a count has no interval."""
    row, what = _row(source, question), question.get("what")
    if row is None or row[what] is None:
        return _nothing(question, what.replace("_", " "))
    known = _PUBLISHED if question.one_provider else _PUBLISHED_IN_ALL
    command = None
    if _copies(question) and what in known:
        place = f"by_provider/{question.one_provider}/" if question.one_provider else ""
        command = Command(("summary", "--definition", "tracelab"), f"tracelab/counts/{place}{known[what]}")
    return Answer(Interval(float(row[what])), "", command)


def share(source: Source, question: Question) -> Answer:
    """Give the share of calls that are errors, or of shell launches that have a skeleton or are parsed whole."""
    import polars as pl

    frame = tool_counts(source, question)
    if question.get("of") == "launches":
        frame = frame.filter(pl.col("tool_name").is_in(_LAUNCHES))
    if frame.is_empty():
        return _nothing(question, question.get("of").replace("_", " "))
    table = frame.select("session_pk", "developer_id", whole=pl.col("calls"), part=pl.col(question.get("what")))
    if question.interval:
        return Answer(Clusters.of(table, "whole", "part").share())
    return Answer(Interval(float(table["part"].sum()) / float(table["whole"].sum())))


def calls_of(source: Source, question: Question) -> Answer:
    """Give the number of calls of a tool, with and without a result."""
    import polars as pl

    frame, tool = tool_counts(source, question), question.get("tool")
    own = frame.filter(pl.col("tool_name") == tool)
    if own.is_empty():
        return _nothing(question, f"calls of {tool}")
    command = None
    if _copies(question) and frame.filter(pl.col("tool_name") == tool)["provider"].n_unique() == 1:
        command = Command(("summary", "--definition", "tracelab"), f"tracelab/latency_summary[tool_name={tool}]/calls")
    return Answer(Interval(float(own["calls"].sum())), "", command)


def top_tools(source: Source, question: Question) -> Answer:
    """Give the share of calls of the most used tools."""
    import polars as pl

    frame = tool_counts(source, question)
    if frame.is_empty():
        return _nothing(question, "calls")
    most = frame.group_by("tool_name").agg(pl.col("calls").sum()).sort(-pl.col("calls"), pl.col("tool_name"))
    names = most["tool_name"].head(question.get("tools")).to_list()
    return _share_of_calls(frame, pl.col("tool_name").is_in(names), question)


def command_classes(source: Source, question: Question) -> Answer:
    """Give the share of calls whose command is of some classes; of all calls, or of the shell's."""
    import polars as pl

    frame = tool_counts(source, question)
    if question.get("over") == "launches":
        frame = frame.filter(pl.col("command_class").is_not_null())
    if frame.is_empty():
        return _nothing(question, "calls")
    return _share_of_calls(frame, pl.col("command_class").is_in(list(question.get("classes"))), question)


def _share_of_calls(frame: pl.DataFrame, inside: pl.Expr, question: Question) -> Answer:
    import polars as pl

    table = frame.select(
        "session_pk", "developer_id", whole=pl.col("calls"), part=pl.col("calls") * inside.fill_null(False)
    )
    if question.interval:
        return Answer(Clusters.of(table, "whole", "part").share())
    whole, part = table.select(pl.col("whole").sum(), pl.col("part").sum()).row(0)
    return Answer(Interval(part / whole))
