"""A session laid out in time: its steps one after another, and everything that went on as bars on lanes."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracestat.api.steps import Span, Taken, answer_span, stack, wait_spans
from tracestat.queries import query_text
from tracestat.results.timeline import LANES, STATES, Bar, SessionFacts, StateTotal
from tracestat.store import Trace

__all__ = ["Layout", "state_of"]

Row = Mapping[str, Any]
Found = tuple[str, Span, dict[str, Any]]  # a state, when, and what a bar says about it
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_NOTICE = 1_000_000  # a message that comes so soon after the end of a job is its notice, not a person's
_OF_CALLS = (
    *("round_index", "model", "tool", "tool_class", "command_skeleton", "n_calls", "end_kind", "observed"),
    *("asked_limit_seconds", "approval_seconds"),
)
_OF_ANSWERS = ("round_index", "model", "input_tokens", "output_tokens")


def _micros(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _moment(micros: int) -> dt.datetime:
    return _EPOCH + micros * _MICROSECOND


def _span(started_at: dt.datetime, seconds: float) -> Span:
    begin = _micros(started_at)
    return Span(begin, begin + max(round(seconds * 1e6), 0))


def state_of(tool_class: str | None, end_kind: str | None) -> str:
    """Give the state of a session while a tool of this class runs.

    Examples
    --------
    >>> state_of("shell", "completed"), state_of("poll", "deadline"), state_of("shell", "refused")
    ('tool', 'poll', 'refused')
    """
    if end_kind == "refused":
        return "refused"
    if end_kind == "background":
        return "background"
    return tool_class if tool_class in STATES[2:] else "tool"


class Layout:
    """Everything that a session's result holds, laid out once.

    Parameters
    ----------
    trace : Trace
    found : mapping
        A row of ``queries/timeline_sessions.sql``.
    since, until : datetime or None
        Only what started at or after, and before, these times (naive UTC).
    """

    def __init__(self, trace: Trace, found: Row, since: dt.datetime | None, until: dt.datetime | None) -> None:
        who = {name: found[name] for name in ("provider", "developer", "session")}
        self._since, self._until = since, until
        self._excluded: Counter[str] = Counter()
        self.notes: list[str] = []
        rounds, inputs, all_calls, agents = (
            list(trace.run(query_text(f"timeline_{name}"), who).iter_rows(named=True))
            for name in ("rounds", "inputs", "calls", "agents")
        )
        calls = self._once(all_calls)
        jobs = _jobs(calls)
        stamps = [_micros(row[name]) for row in rounds for name in ("first_output", "last_output") if row[name]]
        stamps += [_micros(row["given_at"]) for row in inputs]
        stamps += [moment for row in calls for moment in _ends(row)]
        stamps += [span.end for span, _ in jobs]
        self._begin, self._end = (min(stamps), max(stamps)) if stamps else (0, 0)
        steps = self._lay_steps(rounds, inputs, calls)
        # a pause without a result may end with a stamp that is neither input nor output
        self._end = max([self._end, *(_micros(step.ended_at) for step in steps)])
        self.steps = self._shown(steps)
        self.bars = self._shown(self._lay_bars(calls, jobs, self._own(agents)))
        n_copies = sum(row["is_copy"] for row in rounds)
        if n_copies:
            self.notes.append(
                f"{n_copies:,} of its pauses are copies: this session goes on from another one, which has them too"
            )
        self.facts = self._facts(found, rounds, calls, bool(stamps))
        self.totals = self._totals()

    @property
    def excluded(self) -> dict[str, int]:
        """What takes no part, by reason."""
        return dict(self._excluded)

    def _once(self, calls: Sequence[Row]) -> list[Row]:
        kept = [row for row in calls if row["occurrence"] == 1]
        self._excluded["copies"] += len(calls) - len(kept)
        return kept

    def _bar(self, lane: str, state: str, span: Span, track: int = 0, **more: Any) -> Bar:
        return Bar(
            lane=lane,
            track=track,
            state=state,
            started_at=_moment(span.begin),
            ended_at=_moment(span.end),
            seconds=(span.end - span.begin) / 1e6,
            elapsed=(span.begin - self._begin) / 1e6,
            **more,
        )

    def _shown(self, bars: Iterable[Bar]) -> tuple[Bar, ...]:
        return tuple(
            bar
            for bar in bars
            if (self._since is None or bar.started_at >= self._since)
            and (self._until is None or bar.started_at < self._until)
        )

    def _lay_steps(self, rounds: Sequence[Row], inputs: Sequence[Row], calls: Sequence[Row]) -> list[Bar]:
        """Lay out answers, then pauses in what answers leave, then waits in what both leave."""
        answers = self._answers(rounds, inputs)
        pauses: list[Found] = []
        for row in rounds:
            if row["pause_at"] is None:
                continue
            if row["pause_seconds"] is None:
                self._excluded["untimed_pauses"] += 1
                continue
            state = state_of(row["tool_class"], row["end_kind"])
            span = _span(row["pause_at"], row["pause_seconds"])
            pauses.append((state, span, {name: row[name] for name in _OF_CALLS}))
        waits = self._waits(rounds, inputs, calls)
        taken = Taken()
        steps: list[Bar] = []
        for state, span, more in (*answers, *sorted(pauses, key=lambda item: item[1]), *waits):
            pieces = taken.claim(span)
            if not pieces and more:  # a wait says nothing but how long it was
                self._excluded["covered"] += 1
            steps += [self._bar("step", state, piece, **more) for piece in pieces]
        steps.sort(key=lambda bar: (bar.started_at, bar.ended_at))
        return steps

    def _answers(self, rounds: Sequence[Row], inputs: Sequence[Row]) -> list[Found]:
        given = [_micros(row["given_at"]) for row in inputs]
        timed = [row for row in rounds if row["first_output"] is not None]
        self._excluded["untimed_rounds"] += len(rounds) - len(timed)
        outputs = sorted(_micros(row["last_output"]) for row in timed)
        answers = []
        for row in timed:
            span, known = answer_span(_micros(row["first_output"]), _micros(row["last_output"]), given, outputs)
            answers.append(("model", span, {name: row[name] for name in _OF_ANSWERS} | {"start_known": known}))
        return sorted(answers, key=lambda item: item[1])

    def _waits(self, rounds: Sequence[Row], inputs: Sequence[Row], calls: Sequence[Row]) -> list[Found]:
        messages = [_micros(row["given_at"]) for row in inputs if row["is_user"]]
        seen = [_micros(row["given_at"]) for row in inputs if not row["is_user"]]
        seen += [_micros(row["last_output"]) for row in rounds if row["last_output"] is not None]
        notices = [_micros(row["job_ended_at"]) for row in calls if row["job_ended_at"] is not None]
        return [
            ("background" if any(abs(span.end - notice) <= _NOTICE for notice in notices) else "human", span, {})
            for span in wait_spans(messages, sorted(seen))
        ]

    def _lay_bars(self, calls: Sequence[Row], jobs: Sequence[tuple[Span, Row]], agents: Sequence[Row]) -> list[Bar]:
        """Lay out everything on its lane, each thing on the lowest track where it overlaps nothing."""
        found: list[tuple[str, str, Span, dict[str, Any]]] = []
        for step in self.steps:
            if step.state == "model" or (step.state in ("human", "background") and step.tool is None):
                more = {name: getattr(step, name) for name in (*_OF_ANSWERS, "start_known")}
                lane = "model" if step.state == "model" else "wait"
                found.append((lane, step.state, Span(_micros(step.started_at), _micros(step.ended_at)), more))
        for row in calls:
            if row["seconds"] is None:
                self._excluded["untimed_calls"] += 1
                continue
            state = state_of(row["tool_class"], row["end_kind"])
            span = _span(row["started_at"], row["seconds"])
            found.append(("wait" if state == "human" else "tool", state, span, {n: row[n] for n in _OF_CALLS}))
        for span, row in jobs:
            found.append(("job", "background", span, {n: row[n] for n in _OF_CALLS}))
        for row in agents:
            span = Span(_micros(row["started_at"]), _micros(row["ended_at"]))
            found.append(("agent", "agent", span, {"session": row["session"], "n_calls": row["calls"]}))
        bars: list[Bar] = []
        for lane in LANES:
            some = sorted((item for item in found if item[0] == lane), key=lambda item: item[2])
            tracks = stack([span for _, _, span, _ in some])
            bars += [
                self._bar(lane, state, span, track, **more)
                for (_, state, span, more), track in zip(some, tracks, strict=True)
            ]
        return bars

    def _own(self, agents: Sequence[Row]) -> list[Row]:
        """Keep the sub-agents that can belong to no other session."""
        own = [row for row in agents if row["parents"] == 1]
        if len(own) < len(agents):
            self.notes.append(
                f"{len(agents) - len(own):,} sessions of sub-agents are not shown: they may belong to another session"
            )
        return own

    def _facts(self, found: Row, rounds: Sequence[Row], calls: Sequence[Row], timed: bool) -> SessionFacts:
        begin, end = self._begin, self._end
        if self._since is not None:
            begin = max(begin, _micros(self._since))
        if self._until is not None:
            end = max([min(end, _micros(self._until)), *(_micros(bar.ended_at) for bar in self.steps)])
        shown = bool(self.steps or self.bars)
        end = max(begin, end) if shown else begin
        said = {row["is_subagent"] for row in calls} - {None}
        return SessionFacts(
            provider=found["provider"],
            developer=found["developer"],
            session=found["session"],
            project=found["project"],
            models=tuple(dict.fromkeys(row["model"] for row in rounds if row["model"] is not None)),
            rounds=len(rounds),
            calls=len(calls),
            is_subagent=True in said if said else None,
            started_at=_moment(self._begin) if timed else None,
            shown_from=_moment(begin) if shown else None,
            shown_until=_moment(end) if shown else None,
            span_seconds=(end - begin) / 1e6,
        )

    def _totals(self) -> tuple[StateTotal, ...]:
        span = self.facts.span_seconds
        totals = []
        for state in STATES:
            micros = [_micros(step.ended_at) - _micros(step.started_at) for step in self.steps if step.state == state]
            seconds = sum(micros) / 1e6
            totals.append(StateTotal(state, len(micros), seconds, seconds / span if span > 0 else None))
        return tuple(totals)


def _ends(row: Row) -> list[int]:
    """Give the begin and the end of a call, as far as they are known."""
    begin = [_micros(row["started_at"])] if row["started_at"] is not None else []
    return begin if row["seconds"] is None or not begin else list(_span(row["started_at"], row["seconds"]))


def _jobs(calls: Sequence[Row]) -> list[tuple[Span, Row]]:
    """Give the processes that outlived their calls: from the end of the call to their own, or to when they last ran."""
    jobs: list[tuple[Span, Row]] = []
    for row in calls:
        # the process that a poll asks for belongs to the call that launched it
        if row["seconds"] is None or not row["observed"] or row["tool_class"] == "poll":
            continue
        span = _span(row["started_at"], row["seconds"])
        ends = [(_micros(row["job_ended_at"]), "completed")] if row["job_ended_at"] is not None else []
        if row["command_seconds"] is not None:
            ends.append((_span(row["started_at"], row["command_seconds"]).end, row["command_end"]))
        end, kind = max(ends, default=(span.end, None))
        if end > span.end:
            jobs.append((Span(span.end, end), {**row, "end_kind": kind, "observed": kind == "completed"}))
    return jobs
