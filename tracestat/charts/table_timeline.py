"""The tables of ``timeline``: where the time of a session went, and its steps in order."""

from __future__ import annotations

import datetime as dt
import zoneinfo

from tracestat.charts.captions import cut_line, made, titled
from tracestat.charts.table import Column, Table
from tracestat.charts.words import MISSING, amount, count, counted, joined, percent, plain, seconds
from tracestat.results import Bar, Head, TimelineResult

__all__ = ["STATE_WORDS", "about", "local", "nothing", "timeline_tables", "what"]

STATE_WORDS = {
    "model": "model",
    "tool": "tool",
    "poll": "poll",
    "agent": "sub-agent",
    "background": "background",
    "human": "human",
    "refused": "refused",
}
_STEPS = 30
_MOST_MODELS = 3


def local(moment: dt.datetime, head: Head) -> dt.datetime:
    """Give a moment of the store (naive UTC) in the zone of the answer."""
    try:
        zone: dt.tzinfo = zoneinfo.ZoneInfo(head.zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        zone = dt.UTC
    return moment.replace(tzinfo=dt.UTC).astimezone(zone)


def about(result: TimelineResult) -> list[str]:
    """Say which session it is, when it was, and how the answer was made."""
    facts, head = result.session, result.head
    parts = [f"developer {plain(facts.developer)}"] if facts.developer is not None else []
    parts += [plain(facts.project)] if facts.project is not None else []
    parts += [joined([plain(model) for model in facts.models], _MOST_MODELS)] if facts.models else []
    parts += [counted(facts.rounds, "round"), counted(facts.calls, "call")]
    parts += ["a sub-agent"] if facts.is_subagent else []
    lines = ["; ".join([", ".join(parts)])]
    if facts.shown_from is not None and facts.shown_until is not None:
        begin, end = local(facts.shown_from, head), local(facts.shown_until, head)
        until = f"{end:%H:%M:%S}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
        lines.append(f"{begin:%Y-%m-%d %H:%M:%S} to {until} ({plain(head.zone)}): {seconds(facts.span_seconds)}")
    return [*lines, *made(head)]


def nothing(result: TimelineResult) -> str:
    """Say why there is nothing to show."""
    if result.session.started_at is None:
        return "no step to show: nothing of it has a time"
    return f"no step to show: none began in this time; it began at {result.session.started_at:%Y-%m-%d %H:%M} UTC"


def what(bar: Bar) -> str:
    """Name what ran: the tool with its command skeleton, and how many calls there were."""
    if bar.tool is None and bar.n_calls is None:
        return MISSING
    parts = [plain(bar.tool) if bar.tool else "(no name)"]
    if bar.command_skeleton:
        parts.append(f": {plain(bar.command_skeleton)}")
    if bar.n_calls is not None and bar.n_calls > 1:
        parts.append(f", {bar.n_calls} calls")
    return "".join(parts)


def timeline_tables(result: TimelineResult, top: int | None) -> list[Table]:
    """Give the time in each state, then the steps in order."""
    head = result.head
    title = titled(f"Session {plain(result.session.session)}", head)
    caption = tuple(about(result))
    if not result.steps:
        return [Table(title, caption=(*caption, nothing(result)), notes=head.notes)]
    return [_states(result, title, caption), _steps(result, top)]


def _states(result: TimelineResult, title: str, caption: tuple[str, ...]) -> Table:
    span = result.session.span_seconds
    rows = [
        (STATE_WORDS[total.state], count(total.n), seconds(total.seconds), percent(total.share))
        for total in result.totals
        if total.n
    ]
    rest = max(span - sum(total.seconds for total in result.totals), 0.0)
    if span > 0 and rest >= 5e-4:
        rows.append(("not known", MISSING, seconds(rest), percent(rest / span)))
    columns = (Column("state", "left"), Column("steps"), Column("time"), Column("share"))
    notes = ["human: a person's turn, or a tool that asks one; what looks like a message may be an injected line"]
    if any(total.n for total in result.totals if total.state == "refused"):
        notes.append("refused: the call did not run; a person or a rule said no")
    n_jobs, n_agents = (sum(bar.lane == lane for bar in result.bars) for lane in ("job", "agent"))
    if n_jobs:
        notes.append(
            f"beside the steps: {counted(n_jobs, 'job')} that outlived a call (in --chart, --perfetto, --json)"
        )
    if n_agents:
        notes.append(f"beside the steps: {counted(n_agents, 'session')} of sub-agents, found by time")
    return Table(title, columns, tuple(rows), caption, (*notes, *result.head.notes))


def _steps(result: TimelineResult, top: int | None) -> Table:
    head = result.head
    shown = result.steps[: _STEPS if top is None else top]
    days = {local(step.started_at, head).date() for step in shown}
    form = "%H:%M:%S" if len(days) == 1 else "%m-%d %H:%M:%S"
    columns = (
        Column("when", "left"),
        Column("state", "left"),
        Column("tool", "left", "shorten"),
        Column("lasted"),
        Column("end", "left"),
        Column("tokens\nin"),
        Column("\nout"),
    )
    rows = tuple(
        (
            f"{local(step.started_at, head):{form}}",
            STATE_WORDS[step.state],
            what(step),
            seconds(step.seconds) if step.start_known else MISSING,
            MISSING if step.end_kind is None else plain(step.end_kind),
            amount(step.input_tokens),
            amount(step.output_tokens),
        )
        for step in shown
    )
    line = cut_line(len(shown), len(result.steps), "steps")
    notes = []
    if any(not step.start_known for step in shown):
        notes.append("lasted -: no input before this answer has a time")
    if any(step.observed is False for step in shown):
        notes.append("end lost or open: no result came, it lasted at least as long")
    return Table(titled("Its steps", head), columns, rows, (line,) if line else (), tuple(notes))
