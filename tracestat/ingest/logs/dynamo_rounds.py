"""The rounds of one session of a Dynamo request trace: requests, with the tool events that belong to them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from tracestat.ingest.logs.chain import COPIES, NO_START, hand_on, number, set_approvals
from tracestat.ingest.logs.format import LogRounds
from tracestat.ingest.logs.gather import Gathered
from tracestat.ingest.logs.model import Call, CommandStatus, Event, Round, StartKind

__all__ = ["Asked", "Request", "Tool", "rounds_of"]

_PROVIDER: Final = "dynamo"
_REQUEST_END: Final = "request_end"
_NO_SESSION: Final = "calls of requests without a session"
# A call that was cancelled, or that still runs, neither failed nor worked.
_IS_ERROR: Final[dict[str, bool]] = {"finished": False, "failed": True, "timeout": True}

_Started: TypeAlias = tuple[Call, int]
"""A call and when it started."""


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A call that a request's finish metadata lists."""

    id: str
    tool: str | None


class Request(msgspec.Struct, frozen=True, array_like=True, tag="r"):
    """A ``request_end``; ``asked`` is None without finish metadata, ``session`` empty without session."""

    session: str
    id: str
    is_subagent: bool | None
    received_us: int | None
    ended_us: int | None
    model: str | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    asked: tuple[Asked, ...] | None

    @property
    def began_us(self) -> int:
        """When it arrived, else when it ended: one of them is known."""
        return self.received_us if self.received_us is not None else self.ended_us or 0


class Tool(msgspec.Struct, frozen=True, array_like=True, tag="t"):
    """A tool event of the harness."""

    session: str
    id: str
    is_subagent: bool | None
    tool: str | None
    is_end: bool
    at_us: int | None
    started_us: int | None
    ended_us: int | None
    took_us: int | None
    status: CommandStatus | None


@dataclass(frozen=True, slots=True)
class _Ran:
    """What the harness says of one call."""

    id: str
    is_subagent: bool | None
    tool: str | None
    start_us: int | None
    start_kind: StartKind
    end_us: int | None
    took_us: int | None
    status: CommandStatus | None


def rounds_of(session: Gathered[Request | Tool], made: LogRounds) -> None:
    """Make the rounds of a session.

    Parameters
    ----------
    session : Gathered
        All its rows, in any order.
    made : LogRounds
        Takes the rounds, and the counts of what was left out.
    """
    requests = _distinct([fact for fact in session.facts if isinstance(fact, Request)], made)
    ran = _ran([fact for fact in session.facts if isinstance(fact, Tool)], made)
    listed = sum(len(request.asked or ()) for request in requests)
    if not session.key:
        _count(made.counts, "requests without a session", len(requests))
        _count(made.left_out, _NO_SESSION, listed + len(ran))
        return
    rounds = _Session(session.key, session.developer, requests, ran, made).rounds()
    _count(made.counts, "calls", sum(len(r.calls) for r in rounds))
    _count(made.counts, "results", sum(call.result_us is not None for r in rounds for call in r.calls))
    made.rounds += rounds


def _count(counts: dict[str, int], what: str, n: int) -> None:
    if n:
        counts[what] = counts.get(what, 0) + n


def _distinct(requests: Sequence[Request], made: LogRounds) -> list[Request]:
    """Give each request once, by time; overlapping segments repeat rows."""
    kept: dict[str, Request] = {}
    for request in requests:
        if request.id in kept:
            _count(made.left_out, COPIES, len(request.asked or ()))
        else:
            kept[request.id] = request
    return sorted(kept.values(), key=lambda request: (request.began_us, request.id))


def _ran(events: Sequence[Tool], made: LogRounds) -> dict[str, _Ran]:
    """Put the start and the end of each call together."""
    starts: dict[str, Tool] = {}
    ends: dict[str, Tool] = {}
    for event in events:
        side = ends if event.is_end else starts
        if event.is_end and event.id in side:
            _count(made.left_out, COPIES, 1)
        side.setdefault(event.id, event)
    known = {**starts, **ends}
    return {key: _times(either, starts.get(key), ends.get(key)) for key, either in known.items()}


def _times(either: Tool, start: Tool | None, end: Tool | None) -> _Ran:
    """Find the interval of a call; the duration is measured on one clock and finer than the stamps, so it decides."""
    began: int | None = None
    kind: StartKind = "real"
    if end is not None and end.started_us is not None:
        began = end.started_us
    elif start is not None:
        began = start.started_us if start.started_us is not None else start.at_us
    ended = took = None
    if end is not None:
        took = end.took_us if end.took_us is not None and end.took_us >= 0 else None
        ended = end.ended_us if end.ended_us is not None else end.at_us
        if took is not None and began is not None:
            ended = began + took
        elif took is not None and ended is not None:
            began, kind = ended - took, "end-minus-reported"
    return _Ran(
        id=either.id,
        is_subagent=either.is_subagent,
        tool=either.tool,
        start_us=began,
        start_kind=kind,
        end_us=ended,
        took_us=took,
        status=end.status if end is not None else None,
    )


class _Session:
    """Gives the calls of one session to its requests."""

    def __init__(
        self, key: str, developer: str | None, requests: Sequence[Request], ran: dict[str, _Ran], made: LogRounds
    ) -> None:
        self._key = key
        self._developer = developer
        self._requests = requests
        self._ran = ran
        self._made = made
        self._arrivals = sorted((r.received_us, r.id) for r in requests if r.received_us is not None)

    def rounds(self) -> list[Round]:
        """Give the rounds in the order of their requests."""
        listed = {asked.id for request in self._requests for asked in request.asked or ()}
        free = [ran for key, ran in self._ran.items() if key not in listed]
        by_request, alone = self._place(free)
        placed = [(r.began_us, self._round(r, by_request.get(r.id, []))) for r in self._requests]
        placed += [(calls[0][1], self._alone(calls)) for calls in _batches(alone)]
        rounds = [made for _, made in sorted(placed, key=lambda pair: (pair[0], pair[1].round_id))]
        number(rounds)
        hand_on(rounds, "tool_end")
        return rounds

    def _place(self, free: Sequence[_Ran]) -> tuple[dict[str, list[_Ran]], list[_Started]]:
        """Give calls that no request lists to the request before them, if it has no list; else they stand alone."""
        ended = sorted((r.ended_us, place) for place, r in enumerate(self._requests) if r.ended_us is not None)
        by_request: dict[str, list[_Ran]] = {}
        alone: list[_Started] = []
        for ran in free:
            if ran.start_us is None:
                _count(self._made.left_out, NO_START, 1)
                continue
            before = bisect_right(ended, (ran.start_us, len(self._requests))) - 1
            owner = self._requests[ended[before][1]] if before >= 0 else None
            if owner is not None and owner.asked is None:
                by_request.setdefault(owner.id, []).append(ran)
            else:
                alone.append((_call(ran, ran.start_us, None), ran.start_us))
        return by_request, alone

    def _round(self, r: Request, free: Sequence[_Ran]) -> Round:
        calls: list[Call] = []
        started: list[_Started] = []
        # an id that a later request lists again is another call
        owned = [(asked, self._ran.pop(asked.id, None)) for asked in r.asked or ()]
        owned += [(Asked(ran.id, ran.tool), ran) for ran in free]
        for asked, ran in owned:
            call = self._inferred(r, asked) if ran is None else self._timed(r, asked, ran)
            if call is None:
                _count(self._made.left_out, NO_START, 1)
                continue
            calls.append(call)
            if ran is not None and ran.start_us is not None:
                started.append((call, ran.start_us))
        if r.ended_us is not None:
            set_approvals(started)
        return self._made_of(r, calls)

    def _inferred(self, r: Request, asked: Asked) -> Call | None:
        """Give a call that the harness says nothing of: it lasts until the next request arrives."""
        if r.ended_us is None:
            return None
        later = self._arrivals[bisect_left(self._arrivals, (r.ended_us, "")) :]
        arrived = next((at for at, other in later if other != r.id), None)
        return Call(asked.id, asked.tool, r.ended_us, arrived, parallel_group=0, is_subagent=r.is_subagent)

    @staticmethod
    def _timed(r: Request, asked: Asked, ran: _Ran) -> Call | None:
        start = ran.start_us if ran.start_us is not None else r.ended_us
        return None if start is None else _call(ran, start, r.ended_us, asked.tool)

    def _made_of(self, r: Request, calls: list[Call]) -> Round:
        fresh = None
        if r.input_tokens is not None and r.cached_tokens is not None and r.cached_tokens <= r.input_tokens:
            fresh = r.input_tokens - r.cached_tokens
        made = Round(
            provider=_PROVIDER,
            session_id=self._key,
            round_index=0,
            round_id=r.id,
            model=r.model,
            developer=self._developer,
            input_tokens_total=r.input_tokens,
            prefix_tokens=r.cached_tokens,
            newly_append_tokens=fresh,
            output_tokens=r.output_tokens,
            calls=calls,
        )
        if r.ended_us is not None:
            made.events = _outputs(calls, r.ended_us)
        return made

    def _alone(self, started: Sequence[_Started]) -> Round:
        """Make a round of calls whose request is not in the trace."""
        calls = [call for call, _ in started]
        return Round(_PROVIDER, self._key, 0, calls[0].id, developer=self._developer, calls=calls)


def _call(ran: _Ran, start_us: int, emitted_us: int | None, tool: str | None = None) -> Call:
    """Make a call of what the harness says; a tool may start before the answer that asked for it is complete."""
    return Call(
        id=ran.id,
        tool=tool or ran.tool,
        emitted_us=start_us if emitted_us is None else min(emitted_us, start_us),
        result_us=ran.end_us,
        start_kind=ran.start_kind if ran.start_us is not None else "emission",
        reported_ms=None if ran.took_us is None else round(ran.took_us / 1000),
        status=ran.status,
        is_error=_IS_ERROR.get(ran.status or "running"),
        parallel_group=0,
        is_subagent=ran.is_subagent,
    )


def _outputs(calls: Sequence[Call], ended_us: int) -> list[Event]:
    if not calls:
        return [Event("text", _REQUEST_END, ended_us)]
    return [
        Event("tool_call", _REQUEST_END, ended_us, call_id=call.id, tool_index=index, tool=call.tool)
        for index, call in enumerate(calls)
    ]


def _batches(started: list[_Started]) -> list[list[_Started]]:
    """Put calls that overlap together: one request asked for them. Calls one after the other are taken for several."""
    batches: list[list[_Started]] = []
    reach = None
    for call, start in sorted(started, key=lambda pair: (pair[1], pair[0].id)):
        if reach is not None and start < reach:
            batches[-1].append((call, start))
        else:
            batches.append([(call, start)])
            reach = None
        end = start if call.result_us is None else call.result_us
        reach = end if reach is None else max(reach, end)
    return batches
