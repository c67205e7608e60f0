"""The life of one synthetic Claude Code session: results are shown to the next round, calls stream out one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from tracestat.synth.catalogue import Tool
from tracestat.synth.life import Call, Event, Plan, Round, Shop, sized
from tracestat.synth.tokens import Context

__all__ = ["claude_session"]


def claude_session(plan: Plan, shop: Shop) -> Iterator[Round]:
    """Live one session, round by round.

    Parameters
    ----------
    plan : Plan
    shop : Shop
        Claude's.

    Yields
    ------
    Round
        In file order.
    """
    provider, u = plan.provider, plan.u
    context = Context(provider, plan.context_tokens)
    waiting: list[Call] = []  # calls whose result no round has been given yet
    index = plan.first_round
    ready = plan.start_ms
    for request in plan.requests:
        message: Event | None = Event("user_message", ready, sized(130, 1.6, u()))
        for step in range(request.rounds):
            final = step == request.rounds - 1
            ending = request.ending if final else ""
            gap_ms = int(provider.generation.draw(u()) * 1000)
            called_at = ready + gap_ms
            outputs: list[Event] = []
            if u() < provider.reasoning:
                outputs.append(Event("reasoning", ready + gap_ms * 5 // 10, sized(150, 1.5, u())))
            if u() < provider.text or ending == "answer":
                outputs.append(Event("text", ready + gap_ms * 8 // 10, sized(101, 1.4, u())))
            calls = [] if ending == "answer" else _batch(plan, shop, called_at)
            outputs += [Event("tool_call", call.emitted, 0, call, i) for i, call in enumerate(calls)]
            first, last = outputs[0].at, outputs[-1].at
            shown = sorted((c for c in waiting if c.result is not None and c.result < first), key=_result)
            waiting = [c for c in waiting if c.result is not None and c.result >= first]
            inputs = [Event("tool_result", c.result or 0, c.result_chars or 0, c) for c in shown]
            if message is not None:
                inputs.append(message)
                inputs.sort(key=_at)
            prefix, uncached, created, output = context.turn(
                called_at, inputs, message is not None, sized(180, 1.3, u()), u()
            )
            message = None
            ready = last
            if calls and ending != "open":
                results = [c.result for c in calls if c.result is not None]
                ready = max(last, *results)
                if ending == "interrupted":
                    ready = _interrupt(calls, last, u)
                waiting += [c for c in calls if c.result is not None]
            elif ending == "open":
                for call in calls:
                    _drop_result(call)
            yield Round(
                index=index, round_id=f"round_{plan.key}{index:06x}", turn_id=None,
                prefix=prefix, uncached=uncached, created=created, output=output, reasoning=0,
                inputs=inputs, outputs=outputs, calls=calls,
                first_output=first, last_output=last, ending=ending,
            )  # fmt: skip
            index += 1
        if request.ending == "answer":
            ready += int(provider.user_gap.draw(u()) * 1000)


def _batch(plan: Plan, shop: Shop, at: int) -> list[Call]:
    """Emit the calls of one round: each starts when its block has streamed in, and runs beside the others."""
    calls = []
    for tool in shop.batch(plan.u):
        calls.append(_call(plan, shop, tool, at))
        at += 300 + int(900 * plan.u())
    return calls


def _call(plan: Plan, shop: Shop, tool: Tool, at: int) -> Call:
    u = plan.u
    z = plan.developer.z
    call = Call(tool.name, tool.tool_class, plan.call_id(), at, sized(tool.input_chars, 0.9, u()))
    if tool.keyed:
        call.skeleton, effect = shop.skeleton(u)
        z *= effect
    seconds = shop.duration(tool.name, z, u())
    limit = shop.limit(tool.name, u())
    if limit is not None:
        cut = limit + shop.overhead(tool.name, u())
        if seconds > cut:
            seconds, call.limit = cut, limit
    wall_ms = int(seconds * 1000 + 0.5)
    call.result = at + wall_ms
    call.is_error = call.limit is None and u() < tool.error
    call.result_chars = sized(tool.result_chars, 1.4, u())
    if tool.internal and not call.is_error:
        call.internal_ms = max(wall_ms - 3 - int(20 * u()), 0)
    return call


def _interrupt(calls: list[Call], last: int, u: Callable[[], float]) -> int:
    """Let the user cut in: what has no result by then is lost, or comes too late. Give the time of the message.

    The moment does not depend on how long the calls take, so that this censors them independently.
    """
    at = last + int(1000 * math.exp(math.log(300.0) * u()))
    lost = u() < 0.7
    for call in calls:
        if call.result is not None and call.result > at and lost:
            _drop_result(call)
    return at


def _drop_result(call: Call) -> None:
    call.result = call.internal_ms = call.is_error = call.result_chars = call.limit = None


def _result(call: Call) -> int:
    return call.result or 0


def _at(event: Event) -> int:
    return event.at
