"""LLMServingSim's agentic workloads: sessions of model requests with the tool time after each, one session per line.

``{"session_id", "arrival_time_ns", "sub_requests": [{"input_toks", "output_toks", "tool_duration_ns"}]}``, as the
simulator documents it; AgentServeSim adds the name of the ``tool``. A workload has durations and no stamps: how long a
request takes is what the simulator is there to find. Rounds are put on a clock on which requests take no time, which
begins at the arrival and in 1970: durations are the file's, dates are nobody's.

The tool time of the last request is ignored, as in the simulator. One of zero elsewhere is a call of no length.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from tracestat.ingest.logs.amounts import count_of, micros_of
from tracestat.ingest.logs.chain import COPIES, hand_on
from tracestat.ingest.logs.format import Facts, Format, Log, LogRounds, UnreadableError
from tracestat.ingest.logs.model import Call, Event, Round
from tracestat.ingest.logs.names import Names

__all__ = ["LLMSERVINGSIM"]

_PROVIDER: Final = "llmservingsim"
_SOURCE: Final = "sub_request"
_UNKNOWN: Final = "tool waits of unknown length"
_LAST: Final = "tool waits after the last request of a session"


class _SubRequest(msgspec.Struct):
    input_toks: float | None = None
    output_toks: float | None = None
    tool_duration_ns: float | int | None = None
    tool: str | None = None


class _Line(msgspec.Struct):
    session_id: str | int | None = None
    arrival_time_ns: float | int | None = None
    sub_requests: list[_SubRequest] | None = None
    input_toks: float | None = None


class _Request(msgspec.Struct, frozen=True, array_like=True):
    input_tokens: int | None
    output_tokens: int | None
    wait_us: int | None
    tool: str | None


class _Session(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """A session; ids of its rounds are made of its own."""

    id: str
    arrival_us: int
    requests: tuple[_Request, ...]


class _Single(msgspec.Struct, frozen=True, array_like=True, tag="f"):
    """A request of no session, which such a file may hold as well."""


_Fact = _Session | _Single
_LINE: Final = msgspec.json.Decoder(_Line)


def _recognises(value: dict[str, Any]) -> bool:
    requests = value.get("sub_requests")
    if not isinstance(requests, list) or not {"session_id", "arrival_time_ns"} <= value.keys():
        return False
    return all(isinstance(request, dict) and "input_toks" in request for request in requests[:1])


def _facts(content: bytes, names: Names) -> Facts:
    line = _LINE.decode(content)
    if line.sub_requests is None:
        if line.input_toks is None:
            raise UnreadableError("neither a session nor a request")
        return Facts([_Single()])
    if line.session_id is None:
        raise UnreadableError("a session without an id")
    # An id like `task-0` is used by every workload: the same session has the same requests as well. It may arrive
    # at another time where a workload was made again for another rate.
    requests = [(r.input_toks, r.output_toks, r.tool_duration_ns) for r in line.sub_requests]
    digest = hashlib.sha256(repr(requests).encode()).hexdigest()
    session = _Session(
        id=names.id("session", f"{line.session_id}\0{digest}"),
        arrival_us=micros_of(line.arrival_time_ns, per_second=1_000_000_000) or 0,
        requests=tuple(
            _Request(
                input_tokens=count_of(r.input_toks),
                output_tokens=count_of(r.output_toks),
                wait_us=_wait(r.tool_duration_ns),
                tool=names.tool(r.tool) if r.tool else None,
            )
            for r in line.sub_requests
        ),
    )
    return Facts([session])


def _wait(nanos: float | int | None) -> int | None:
    return micros_of(nanos, per_second=1_000_000_000) if nanos is not None and nanos >= 0 else None


def _rounds(logs: Sequence[Log]) -> Iterator[LogRounds]:
    known: set[str] = set()
    for log in logs:
        made = LogRounds()
        counts: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        for fact in log.facts():
            if isinstance(fact, _Single):
                counts["requests without a session"] += 1
                continue
            rounds = _session(fact, log.developer, left_out)
            calls = sum(len(r.calls) for r in rounds)
            counts.update(calls=calls, results=calls)
            if fact.id in known:
                left_out[COPIES] += calls
            else:
                made.rounds += rounds
            known.add(fact.id)
        made.counts, made.left_out = dict(counts), dict(+left_out)
        yield made


def _session(session: _Session, developer: str | None, left_out: Counter[str]) -> list[Round]:
    rounds: list[Round] = []
    clock_us = session.arrival_us
    last = len(session.requests) - 1
    for index, request in enumerate(session.requests):
        round_id = f"{session.id}:{index}"
        made = Round(
            provider=_PROVIDER,
            session_id=session.id,
            round_index=index,
            round_id=round_id,
            developer=developer,
            input_tokens_total=request.input_tokens,
            output_tokens=request.output_tokens,
        )
        if index == last:
            left_out[_LAST] += bool(request.wait_us)
            made.events.append(Event("text", _SOURCE, clock_us))
        elif request.wait_us is None:
            left_out[_UNKNOWN] += 1
        else:
            ended_us = clock_us + request.wait_us
            made.events.append(Event("tool_call", _SOURCE, clock_us, round_id, tool_index=0, tool=request.tool))
            made.calls.append(Call(round_id, request.tool, clock_us, ended_us))
            clock_us = ended_us
        rounds.append(made)
    hand_on(rounds, _SOURCE)
    return rounds


LLMSERVINGSIM: Final = Format(
    kind="LLMServingSim workload",
    slug="llmservingsim",
    document=False,
    fact=_Fact,
    recognises=_recognises,
    facts=_facts,
    rounds=_rounds,
)
