"""Makes the rounds of a session out of its pauses: when the model writes, when each call starts and returns."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tracestat.synth.commands import Skeleton
from tracestat.synth.life import Call, Event, Plan, Round, sized
from tracestat.synth.like_pauses import Pauses
from tracestat.synth.tokens import Context

__all__ = ["PauseReader", "like_session"]

MOST_OUTPUT = 32_000  # tokens of one round


class PauseReader:
    """Hands out the pauses of one provider one by one, as plain numbers.

    Parameters
    ----------
    pauses : Pauses
    table : tuple of Skeleton
        Of the provider.
    """

    def __init__(self, pauses: Pauses, table: tuple[Skeleton, ...]) -> None:
        self.pauses, self.table = pauses, table
        self.at = 0
        self._beside = np.concatenate([[0], np.cumsum(pauses.beside)])
        self._ids: dict[int, str] = {}

    def next_calls(self, plan: Plan, emitted: int) -> list[Call]:
        """Make the calls of the next pause; the last one is the one waited for.

        Parameters
        ----------
        plan : Plan
        emitted : int
            When the first call is written, Unix milliseconds.

        Returns
        -------
        list of Call
        """
        p, i, u = self.pauses, self.at, plan.u
        self.at += 1
        tool, ms, limit = p.tools[int(p.tool[i])], int(p.ms[i]), float(p.limit[i])
        place = int(p.skeleton[i])
        skeleton = self.table[place] if place >= 0 else None
        claude = plan.provider.name == "claude"
        calls = []
        for short in p.beside_ms[self._beside[i] : self._beside[i + 1]].tolist():
            call = Call(tool.name, tool.tool_class, plan.call_id(), emitted, sized(tool.input_chars, 0.9, u()))
            call.custom, call.skeleton = tool.custom, skeleton
            # Claude writes its calls one after the other: the short one is back before the last is out
            self._return(call, tool.internal, min(short, ms) if not claude else short, math.nan, tool.result_chars, u())
            calls.append(call)
            emitted += 300 + int(900 * u()) if claude else int(2 * u())
        key = Call(tool.name, tool.tool_class, plan.call_id(), emitted, sized(tool.input_chars, 0.9, u()))
        key.custom, key.skeleton = tool.custom, skeleton
        self._return(key, tool.internal, ms, limit, tool.result_chars, u())
        if key.limit is None and tool.error > u() and key.status is None:
            key.is_error = True
        launch = int(p.launch[i])
        if launch >= 0:
            key.root = self._ids[launch]
        elif key.status == "running":
            self._ids = {i: key.call_id}  # of one command at a time
        calls.append(key)
        return calls

    def _return(self, call: Call, internal: str, ms: int, limit: float, chars: int, u: float) -> None:
        call.result, call.result_chars = call.emitted + ms, sized(chars, 1.4, u)
        polled = call.tool in ("exec_command", "write_stdin")
        if not math.isnan(limit):
            call.limit = limit
            if polled:
                call.status, call.internal_ms, call.is_error = "running", int(limit * 1000), None
            return
        call.is_error = False
        if polled:
            call.status, call.exit_code = "finished", 0
            # gone before collection began, some 0.4 s after the launch
            call.internal_ms = 0 if ms < 400 else ms - 170
        elif internal == "ms":
            call.internal_ms = max(ms - 3 - int(5 * u), 1)
        elif internal == "tenths":
            call.internal_ms = ms // 100 * 100
        if call.custom:
            call.is_error = None


def like_session(plan: Plan, rounds: int, calling: int, reader: PauseReader) -> Iterator[Round]:
    """Live one session.

    Parameters
    ----------
    plan : Plan
        Its requests are not used: the rounds that answer are placed here.
    rounds, calling : int
        Rounds, and how many of them call; the last one answers.
    reader : PauseReader

    Yields
    ------
    Round
        In file order.
    """
    provider, u = plan.provider, plan.u
    claude = provider.name == "claude"
    context = Context(provider, plan.context_tokens)
    ready, number = plan.start_ms, 0
    waiting: list[Event] = []
    message: Event | None = Event("user_message", ready, sized(130, 1.6, u()))
    left, step = calling, 0
    for index in range(rounds):
        open_rounds = rounds - 1 - index
        # exactly `calling` of the rounds before the last, all choices alike
        calls_now = open_rounds > 0 and u() * open_rounds < left
        left -= calls_now
        gap_ms = int(provider.generation.draw(u()) * 1000) + 300
        called_at = ready + gap_ms
        outputs: list[Event] = []
        if u() < provider.reasoning:
            outputs.append(Event("reasoning", ready + gap_ms * 5 // 10, sized(150, 1.5, u())))
        if u() < provider.text or not calls_now:
            outputs.append(Event("text", ready + gap_ms * 8 // 10, sized(101, 1.4, u())))
        calls = reader.next_calls(plan, called_at) if calls_now else []
        outputs += [Event("tool_call", call.emitted, 0, call, i) for i, call in enumerate(calls)]
        first, last = outputs[0].at, outputs[-1].at
        shown = ([message] if message else []) + waiting
        shown.sort(key=_at)
        prefix, uncached, created, output = context.turn(
            called_at, shown, message is not None, min(sized(180, 1.3, u()), MOST_OUTPUT), u()
        )
        back = [Event("tool_result", c.result or 0, c.result_chars or 0, c) for c in calls]
        back.sort(key=_at)
        ready = max([last, *(e.at for e in back)])
        reported = None if claude else ready + 2
        # Claude lists what a round was given, Codex what its own calls returned
        inputs = shown if claude else ([message] if message else []) + back
        turn = None if claude else _turn_id(plan, number)
        yield Round(
            index=index, round_id=f"round_{plan.key}{index:06x}" if claude else f"{turn}:{step}", turn_id=turn,
            prefix=prefix, uncached=uncached, created=created, output=output, reasoning=0,
            inputs=inputs, outputs=outputs, calls=calls,
            first_output=first, last_output=last, reported=reported, ending="" if calls_now else "answer",
        )  # fmt: skip
        waiting, message = back, None
        ready = max(ready, reported or 0)
        step += 1
        if not calls_now:
            ready += int(provider.user_gap.draw(u()) * 1000)
            message = Event("user_message", ready, sized(130, 1.6, u()))
            number, step = number + 1, 0


def _at(event: Event) -> int:
    return event.at


def _turn_id(plan: Plan, number: int) -> str:
    """Give an id in the form of a uuid, unique by the key of the session and the number of the request."""
    k, tail = plan.key, plan.session_id[-12:]
    return f"{k[:8]}-{k[8:]}{number >> 8 & 0xFF:02x}-7{number & 0xFF:02x}b-9{tail[:3]}-{tail}"
