"""The life of one synthetic Codex session: a round lists its own results, and long commands yield and are polled.

The form is that of Codex 0.130 and later: the token count closes a round after the outputs of its own calls. A
command that still runs at the limit asked for returns ``running``; later rounds poll it with ``write_stdin``, whose
link names the launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tracestat.synth.catalogue import Tool
from tracestat.synth.life import Call, Event, Plan, Round, Shop, sized
from tracestat.synth.tokens import Context

__all__ = ["codex_session"]

POLL_CHANCE = 0.9  # a round after a yield polls; otherwise the model does something else first


@dataclass(slots=True)
class _Process:
    """A command that has yielded and runs on."""

    root: str
    ends: int  # Unix milliseconds


def codex_session(plan: Plan, shop: Shop) -> Iterator[Round]:
    """Live one session, round by round.

    Parameters
    ----------
    plan : Plan
    shop : Shop
        Codex'.

    Yields
    ------
    Round
        In file order.
    """
    provider, u = plan.provider, plan.u
    context = Context(provider, plan.context_tokens)
    index = plan.first_round
    ready = plan.start_ms
    process: _Process | None = None
    previous: list[Event] = []  # results that the next request to the model adds to the context
    for number, request in enumerate(plan.requests):
        turn_id = _turn_id(plan, number)
        message: Event | None = Event("user_message", ready, sized(87, 1.3, u()))
        for step in range(request.rounds):
            final = step == request.rounds - 1
            ending = request.ending if final else ""
            polls = process is not None and ending == "" and u() < POLL_CHANCE
            gap_ms = int(provider.generation.draw(u()) * (400 if polls else 1000)) + 300
            called_at = ready + gap_ms
            outputs: list[Event] = []
            if u() < provider.reasoning:
                outputs.append(Event("reasoning", ready + gap_ms * 5 // 10))
            if u() < provider.text or ending == "answer":
                outputs.append(Event("text", ready + gap_ms * 9 // 10, sized(230, 0.9, u())))
            calls: list[Call] = []
            if polls and process is not None:
                poll = _poll(plan, shop, process, called_at)
                calls, process = [poll], process if poll.status == "running" else None
            elif ending != "answer":
                calls, started = _batch(plan, shop, called_at)
                process = started or process
            outputs += [Event("tool_call", call.emitted, 0, call, i) for i, call in enumerate(calls)]
            first, last = outputs[0].at, outputs[-1].at
            prefix, uncached, created, output = context.turn(
                called_at, ([message] if message else []) + previous, message is not None, sized(322, 0.9, u()), u()
            )
            reported, next_ready = last + 2 + int(14 * u()), last
            if calls:
                next_ready = max(last, *(c.result or 0 for c in calls))
                if ending == "interrupted":
                    next_ready = _interrupt(calls, last, u)
                    if any(c.status == "aborted" or c.result is None for c in calls):
                        process = None
                back = [c.result for c in calls if c.result is not None]
                # with a result missing, the count closes the round when the user cuts in
                reported = 2 + (max(last, *back) if len(back) == len(calls) else next_ready)
            returned = sorted((c for c in calls if c.result is not None), key=_result)
            previous = [Event("tool_result", c.result or 0, c.result_chars or 0, c) for c in returned]
            yield Round(
                index=index, round_id=f"{turn_id}:{step}", turn_id=turn_id,
                prefix=prefix, uncached=uncached, created=created, output=output, reasoning=int(output * 0.4 * u()),
                inputs=([message] if message else []) + previous, outputs=outputs, calls=calls,
                first_output=first, last_output=last, reported=reported, ending=ending,
            )  # fmt: skip
            message = None
            ready = max(next_ready, reported)
            index += 1
        if request.ending == "answer":
            ready += int(provider.user_gap.draw(u()) * 1000)


def _turn_id(plan: Plan, number: int) -> str:
    """Give a uuid-like id, unique by the key of the session."""
    k, tail = plan.key, plan.session_id[-7:]
    return f"{k[:8]}-{k[8:]}{number >> 8 & 0xFF:02x}-7{number & 0xFF:02x}f-8{tail[:3]}-{k}{tail[-2:]}"


def _batch(plan: Plan, shop: Shop, at: int) -> tuple[list[Call], _Process | None]:
    """Emit the calls of one round within milliseconds; give the first command that yields."""
    calls: list[Call] = []
    started: _Process | None = None
    for tool in shop.batch(plan.u):
        call, ends = _call(plan, shop, tool, at)
        calls.append(call)
        if call.status == "running" and started is None:
            started = _Process(call.call_id, ends)
        at += int(4 * plan.u())
    return calls, started


def _call(plan: Plan, shop: Shop, tool: Tool, at: int) -> tuple[Call, int]:
    """Make one call that is no poll; give it with the end of its process."""
    u, z = plan.u, plan.developer.z
    call = Call(tool.name, tool.tool_class, plan.call_id(), at, sized(tool.input_chars, 0.8, u()), custom=tool.custom)
    if tool.keyed:
        call.skeleton, effect = shop.skeleton(u)
        z *= effect
    wall = int(shop.duration(tool.name, z, u()) * 1000 + 0.5)
    ends = at + wall
    call.result, call.result_chars = ends, sized(tool.result_chars, 1.5, u())
    failed = u() < tool.error
    if tool.internal == "exec":
        limit = shop.limit(tool.name, u()) or 0.0
        start_up = int(shop.overhead(tool.name, u()) * 1000)
        if wall > int(limit * 1000) + start_up:
            _yield(call, at, limit, start_up, u)
        else:
            _finish(call, failed)
            # "0.0000": the process was gone before collection began, some 0.4 s after the launch
            call.internal_ms = 0 if wall < start_up + 400 * -math.log1p(-u()) else wall - start_up
    elif tool.internal == "tenths":
        call.internal_ms, call.is_error = wall // 100 * 100, failed
    elif tool.internal == "ms":
        call.internal_ms = max(wall - 2 - int(5 * u()), 0)
    elif failed:
        call.is_error = True
    return call, ends


def _poll(plan: Plan, shop: Shop, process: _Process, at: int) -> Call:
    """Ask a running process for its output: it has ended, ends while we wait, or runs past the limit."""
    u = plan.u
    call = Call("write_stdin", "poll", plan.call_id(), at, 70 + int(15 * u()), root=process.root)
    limit = shop.limit("write_stdin", u()) or 0.0
    delay = int(shop.overhead("write_stdin", u()) * 1000)
    call.result_chars = sized(160, 1.8, u())
    failed = u() < 0.12
    if process.ends > at + int(limit * 1000) + delay:
        _yield(call, at, limit, delay, u)
    else:
        _finish(call, failed)
        call.result = max(process.ends, at + delay)
        call.internal_ms = max(call.result - at - delay, 0)
    return call


def _yield(call: Call, at: int, limit: float, overhead_ms: int, u: Callable[[], float]) -> None:
    call.status, call.limit, call.is_error = "running", limit, None
    call.result = at + int(limit * 1000) + overhead_ms
    call.internal_ms = int(limit * 1000) + int(4 * u())


def _finish(call: Call, failed: bool) -> None:
    call.status, call.exit_code, call.is_error = "finished", int(failed), failed


def _interrupt(calls: list[Call], last: int, u: Callable[[], float]) -> int:
    """Let the user cut in: what has no result by then is aborted or lost. Give the moment.

    The moment does not depend on how long the calls take, so that this censors them independently.
    """
    at = last + int(500 * math.exp(math.log(120.0) * u()))
    aborted = u() < 0.7
    for call in calls:
        if call.result is None or call.result <= at:
            continue
        call.internal_ms = call.exit_code = call.limit = call.status = None
        if aborted:
            call.result, call.result_chars, call.is_error = at, 30, True
            if call.tool_class == "shell" and call.tool == "exec_command":
                call.status = "aborted"
        else:
            call.result = call.result_chars = call.is_error = None
    return at


def _result(call: Call) -> int:
    return call.result or 0
