"""Durations: shares of calls and of time, quantiles, means and hours, by provider, tool and TraceLab's categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.answers.counts import tool_counts
from tracestat.api.answers.source import Answer, Clusters, Command, Question, Source, cut_to, missing
from tracestat.api.curves import curves_of
from tracestat.durations import curve_counts, run_on
from tracestat.results import Interval
from tracestat.survival.curve import Curve, kaplan_meier_counts, quantile
from tracestat.survival.shares import share_of_time_curve

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "CATEGORIES",
    "category_share_of_calls",
    "hours",
    "mean",
    "quantile_of",
    "share_of_calls",
    "share_of_time",
    "tools_share_of_time",
]

Floats = NDArray[np.float64]
_EDGES = (1.0, 5.0, 10.0, 30.0, 60.0)
# TraceLab's own grouping of tool names, which is not tracestat's; * matches anything
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "execute": (
        *("Bash", "BashOutput", "KillBash", "KillShell", "exec", "exec_command", "write_stdin"),
        *("shell", "shell_command", "send_input", "mcp__ide__executeCode"),
    ),
    "edit": ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch"),
    "read": ("Read", "Grep", "Glob", "LS", "view_image", "SendUserFile", "mcp__filesystem__*"),
    "agent": (
        *("Task", "TaskCreate", "TaskOutput", "TaskStop", "TaskList", "TaskGet", "Agent"),
        *("spawn_agent", "wait_agent", "close_agent", "resume_agent"),
    ),
    "web": (
        *("WebFetch", "WebSearch", "ToolSearch", "Skill", "LSP", "_search_branches", "list_mcp_resources"),
        *("list_mcp_resource_templates", "read_mcp_resource", "mcp__ide__getDiagnostics"),
        *("mcp__sequential-thinking__*", "mcp__claude_ai_Notion__*", "mcp__codex_apps__github_*"),
    ),
    "planning": (
        *("TaskUpdate", "TodoWrite", "EnterPlanMode", "ExitPlanMode", "update_plan", "create_goal"),
        *("update_goal", "StructuredOutput"),
    ),
}


def _counts(source: Source, question: Question) -> pl.DataFrame:
    """Count ends and censorings per provider, tool and distinct duration."""
    return source.once(
        "curve_counts",
        # sorted whole, so that sums do not depend on the order in which threads gave the rows
        lambda: curve_counts(source.trace, source.select(question, by="provider,tool")).sort(
            "provider", "tool", "seconds"
        ),
        **question.selecting,
    )


def _bands(source: Source, question: Question) -> pl.DataFrame:
    """Count rows and sum time per provider, tool, session and band of seconds."""

    def made() -> pl.DataFrame:
        selection = source.select(question)
        return run_on(source.trace, "reproduce_bands", selection, edge=list(_EDGES), rows=selection.rows)

    return source.once("bands", made, **question.selecting)


def _names(frame: pl.DataFrame, question: Question) -> list[str] | None:
    """Give the tools that a question is about; None for all."""
    tool, category = question.get("tool"), question.get("category")
    if tool is not None:
        return [tool]
    if category is None:
        return None
    names = sorted(name for name in frame["tool"].unique().to_list() if name is not None)
    return [name for name in names if category_of(name) == category or _is(name, category)]


@cache
def _is(name: str, category: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in CATEGORIES.get(category, ()))


@cache
def category_of(name: str) -> str:
    """Give TraceLab's category of a tool, one of execute, edit, read, agent, web and other.

    Examples
    --------
    >>> category_of("exec_command"), category_of("TodoWrite"), category_of("custom_tool_3")
    ('execute', 'other', 'other')
    """
    found = next((c for c in ("execute", "edit", "read", "agent", "web") if _is(name, c)), None)
    return found or "other"


def _which(question: Question) -> dict[str, Any]:
    """Name what chooses rows among those of a selection."""
    return {"provider": question.one_provider, "tool": question.get("tool"), "category": question.get("category")}


def _own_bands(source: Source, question: Question) -> pl.DataFrame:
    """Give the bands of the question's provider and tools."""
    return source.once(
        "own bands", lambda: _of(_bands(source, question), question), **question.selecting, **_which(question)
    )


def _of(frame: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Keep the rows of the question's provider and tools."""
    import polars as pl

    if question.one_provider is not None:
        frame = frame.filter(pl.col("provider") == question.one_provider)
    names = _names(frame, question)
    return frame if names is None else frame.filter(pl.col("tool").is_in(names))


@dataclass(frozen=True, slots=True)
class _Ends:
    """Distinct durations of the rows of a question, and what happened at each."""

    seconds: Floats
    n: Floats
    curve: Curve

    @property
    def censored(self) -> bool:
        return bool(self.curve.n_censored.any())

    def at_least(self, x: float) -> float:
        """Give P(T >= x)."""
        before = np.nextafter(x, 0.0)
        return float(self.curve.survival_at(before)) if x > 0 else 1.0

    def beyond(self, x: float) -> float:
        """Give P(T > x)."""
        return float(self.curve.survival_at(x))


def _ends(source: Source, question: Question) -> _Ends | None:
    """Give the durations of a question, or None where it has no row."""

    def made() -> _Ends | None:
        import polars as pl

        frame = _of(_counts(source, question), question)
        if frame.is_empty():
            return None
        summed = frame.group_by("seconds").agg(pl.col("n_event", "n_censored").sum()).sort("seconds")
        seconds, event, censored = (
            summed[name].to_numpy().astype(np.float64) for name in ("seconds", "n_event", "n_censored")
        )
        return _Ends(seconds, event + censored, kaplan_meier_counts(seconds, event, censored))

    return source.once("ends", made, **question.selecting, **_which(question))


def _nothing(question: Question) -> Answer:
    who = {"claude": "Claude ", "codex": "Codex "}.get(question.one_provider or "", "")
    tool = question.get("tool")
    of_tool = f" of {tool}" if tool else f" of category {question.get('category')}" if question.get("category") else ""
    unit = "call" if question.choices.get("definition") else question.choices.get("unit", "row")
    return missing(f"this trace has no {who}{unit}s{of_tool}")


def _is_tracelab(question: Question) -> bool:
    return question.choices.get("definition") == "tracelab"


def _where(question: Question) -> str | None:
    tool = question.get("tool")
    return None if tool is None else f"tool = '{tool}'"


def _group(question: Question) -> tuple[str, str]:
    """Give the --by of a command, and the selector of its group, for a question about a provider or a tool."""
    unit = "call" if _is_tracelab(question) else question.choices["unit"]
    provider = question.one_provider
    if question.get("tool") is not None:
        who = f",provider={provider}" if provider else ""
        return ("provider,tool" if provider else "tool"), f"groups[unit={unit}{who},tool={question.get('tool')}]"
    return ("provider", f"groups[unit={unit},provider={provider}]") if provider else ("none", f"groups[unit={unit}]")


def _summary(question: Question, at: str, times: float = 1.0) -> Command | None:
    if question.get("category") is not None or question.get("tools") is not None:
        return None
    by, group = _group(question)
    return Command(("summary", *question.options, "--by", by), f"{group}/{at}", times)


def _tables(at: str, times: float = 1.0) -> Command:
    return Command(("summary", "--definition", "tracelab"), f"tracelab/{at}", times)


_LABELS = {(1, 10): "1-10s", (10, 60): "10s-1m"}


def _binned(question: Question, column: str) -> Command | None:
    """Name the bin of TraceLab's own table, where one bin is what is asked."""
    label = _LABELS.get((question.get("above"), question.get("below")))
    if label is None or question.one_provider or not _is_tracelab(question):
        return None
    return _tables(f"latency_bins[label={label}]/{column}")


def share_of_calls(source: Source, question: Question) -> Answer:
    """Give the share of rows within, under, over or from some seconds: ``within``, ``below``, ``over``, ``above``."""
    ends = _ends(source, question)
    if ends is None:
        return _nothing(question)
    within, over = question.get("within"), question.get("over")
    below, above = question.get("below"), question.get("above")
    if within is not None:
        value, command = 1 - ends.beyond(within), _summary(question, f"share_within/{within:g}/value")
    elif over is not None:
        value, command = ends.beyond(over), _summary(question, f"over/{over:g}/of_count/value")
    else:
        most = 0.0 if below is None else ends.at_least(below)
        value, command = ends.at_least(above or 0.0) - most, _binned(question, "call_share")
    if not question.interval:
        return Answer(Interval(value))
    if ends.censored and (within or over):
        selection = source.select(question, by=_group(question)[0], where=_where(question))
        curves = curves_of(source.trace, selection)
        curve = curves.get((question.one_provider or True,))
        if curve is not None:
            found = curve.within([within])[0] if within else curve.survival([over])[0]
            return Answer(found, "", command)
    return Answer(replace(_clusters(source, question, "n").share(), value=value), "", command)


def _clusters(source: Source, question: Question, column: str) -> Clusters:
    """Sum what is asked and all of it per session."""
    import polars as pl

    frame = _own_bands(source, question)
    low, high = 0, 2 * len(_EDGES)
    for name, value in (("within", "high"), ("below", "high"), ("over", "low"), ("above", "low")):
        edge = question.get(name)
        if edge is None:
            continue
        place = 2 * _EDGES.index(float(edge))  # below the edge; one more: on it
        if value == "high":
            high = place + (1 if name == "within" else 0)
        else:
            low = place + (2 if name == "over" else 1)
    inside = pl.col("band").is_between(low, high)
    table = frame.select("session_pk", "developer_id", whole=pl.col(column), part=pl.col(column) * inside)
    return Clusters.of(table, "whole", "part")


def share_of_time(source: Source, question: Question) -> Answer:
    """Give the share of the summed time that such rows hold."""
    ends = _ends(source, question)
    if ends is None:
        return _nothing(question)
    over, below, above = question.get("over"), question.get("below"), question.get("above")
    total = float(ends.seconds @ ends.n)
    if not total > 0:
        return missing("the durations add up to 0")
    inside = np.ones(ends.seconds.size, dtype=bool)
    if over is not None:
        inside &= ends.seconds > over
    if above is not None:
        inside &= ends.seconds >= above
    if below is not None:
        inside &= ends.seconds < below
    value = float(ends.seconds[inside] @ ends.n[inside]) / total
    last = float(ends.seconds[ends.curve.n_event > 0].max(initial=0.0))
    threshold = over if over is not None else above
    if ends.censored and threshold is not None and below is None and last > threshold:
        value = share_of_time_curve(ends.curve, threshold, last) or value
    if not question.interval:
        return Answer(Interval(value))
    command = _binned(question, "latency_share")
    if over is not None:
        command = _summary(question, f"over/{over:g}/of_time/value")
    return Answer(_at(_clusters(source, question, "seconds").ratio(at_most_one=True), value), "", command)


def _at(interval: Interval, value: float) -> Interval:
    """Move a share with its bounds to a better estimate of the same."""
    by = value - (interval.value or 0.0)
    if by == 0.0 or interval.value is None:
        return replace(interval, value=value)

    def moved(x: float | None) -> float | None:
        return None if x is None else x + by

    return cut_to(
        replace(
            interval,
            value=value,
            low=moved(interval.low),
            high=moved(interval.high),
            session=interval.session and (moved(interval.session[0]), moved(interval.session[1])),
            developer=interval.developer and (moved(interval.developer[0]), moved(interval.developer[1])),
        ),
        0.0,
        1.0,
    )


def tools_share_of_time(source: Source, question: Question) -> Answer:
    """Give the share of the summed time that some tools hold."""
    import polars as pl

    frame = _of(_counts(source, question), question)
    if frame.is_empty():
        return _nothing(question)
    tools = pl.col("tool").is_in(list(question.get("tools")))
    time = pl.col("seconds") * (pl.col("n_event") + pl.col("n_censored"))
    total, own = frame.select(total=time.sum(), own=(time * tools).sum()).row(0)
    if not total > 0:
        return missing("the durations add up to 0")
    value = own / total
    if not question.interval:
        return Answer(Interval(value))
    bands = _own_bands(source, question)
    table = bands.select("session_pk", "developer_id", whole=pl.col("seconds"), part=pl.col("seconds") * tools)
    return Answer(replace(Clusters.of(table, "whole", "part").ratio(at_most_one=True), value=value))


def mean(source: Source, question: Question) -> Answer:
    """Give the mean duration, of all rows or of a tool or category."""
    ends = _ends(source, question)
    if ends is None:
        return _nothing(question)
    value = float(ends.seconds @ ends.n) / float(ends.n.sum())
    if not question.interval:
        return Answer(Interval(value))
    table = _own_bands(source, question).select("session_pk", "developer_id", "n", "seconds")
    tool = question.get("tool")
    command = _tables(f"latency_summary[tool_name={tool}]/mean_ms", 1e-3) if tool and _is_tracelab(question) else None
    made = cut_to(Clusters.of(table, "n", "seconds").ratio(), 0.0, float("inf"))
    return Answer(replace(made, value=value), "", command)


def hours(source: Source, question: Question) -> Answer:
    """Give the summed time, of all rows or of a tool or category (in seconds, like all answers)."""
    ends = _ends(source, question)
    if ends is None:
        return _nothing(question)
    value = float(ends.seconds @ ends.n)
    if not question.interval:
        return Answer(Interval(value))
    table = _own_bands(source, question).select("session_pk", "developer_id", "n", "seconds")
    return Answer(
        replace(Clusters.of(table, "n", "seconds").total(), value=value), "", _summary(question, "total_seconds")
    )


def quantile_of(source: Source, question: Question) -> Answer:
    """Give a quantile of the duration: interpolated by TraceLab's definition, else where the curve reaches it."""
    ends = _ends(source, question)
    if ends is None:
        return _nothing(question)
    q, tool = float(question.get("q")), question.get("tool")
    value = _interpolated(ends, q) if _is_tracelab(question) else quantile(ends.curve, q)
    if value is None:
        return missing(f"the {100 * q:g} % quantile lies beyond the last observed time")
    if not question.interval:
        return Answer(Interval(value))
    command = None
    if _is_tracelab(question) and tool and q in (0.5, 0.9, 0.99):
        command = _tables(f"latency_summary[tool_name={tool}]/p{round(100 * q)}_ms", 1e-3)
    elif not _is_tracelab(question) and q in (0.5, 0.9, 0.95, 0.99):
        command = _summary(question, f"quantiles/{q:g}/value")
    return Answer(_quantile_interval(source, question, q, value), "", command)


def _interpolated(ends: _Ends, q: float) -> float:
    """Interpolate linearly between the ranks around q, as numpy's percentile and SQL's quantile_cont do."""
    below = np.cumsum(ends.n)
    place = q * (below[-1] - 1)
    low, high = (ends.seconds[np.searchsorted(below, rank, side="right")] for rank in (np.floor(place), np.ceil(place)))
    return float(low + (place - np.floor(place)) * (high - low))


def _quantile_interval(source: Source, question: Question, q: float, value: float) -> Interval:
    """Give a quantile with the clustered interval of the curve of the same rows."""
    names = _names(_counts(source, question), question)
    provider = question.one_provider
    parts = [] if provider is None else [f"provider = '{provider}'"]
    if names is not None:
        parts.append("tool IN (" + ", ".join("'" + name.replace("'", "''") + "'" for name in names) + ")")
    where = " AND ".join(parts) or None

    def made() -> Any:
        curves = curves_of(source.trace, source.select(question, by="none", where=where))
        return next(iter(curves.values()), None)

    curve = source.once("curve", made, where=where, **question.selecting)
    found = None if curve is None else curve.quantile(q)
    return Interval(value) if found is None else replace(found, value=value)


def category_share_of_calls(source: Source, question: Question) -> Answer:
    """Give the share of calls whose tool is of one of TraceLab's categories; calls without a result count too."""
    import polars as pl

    frame = tool_counts(source, question)
    if frame.is_empty():
        return missing("this trace has no calls")
    names = [name for name in frame["tool_name"].unique().to_list() if name is not None]
    own = [name for name in names if category_of(name) == question.get("category")]
    inside = pl.col("tool_name").is_in(own)
    table = frame.select("session_pk", "developer_id", whole=pl.col("calls"), part=pl.col("calls") * inside)
    if question.interval:
        return Answer(Clusters.of(table, "whole", "part").share())
    total, part = table.select(pl.col("whole").sum(), pl.col("part").sum()).row(0)
    return Answer(Interval(part / total))
