"""The context of a session: what is read from the cache, what is new, when it falls."""

from __future__ import annotations

import pytest

from tracestat.synth.catalogue import CLAUDE, CODEX, Provider
from tracestat.synth.life import Event
from tracestat.synth.tokens import Context

MINUTE = 60_000


def message(chars: int) -> list[Event]:
    return [Event("user_message", 0, chars)]


def total(turn: tuple[int, int, int, int]) -> int:
    return sum(turn[:3])


def test_a_warm_round_reads_all_that_was_sent_before() -> None:
    context = Context(CLAUDE, 0)
    first = context.turn(0, message(3600), True, 500, 0.0)
    assert first[0] == CLAUDE.context[0]
    assert total(first) == CLAUDE.context[0] + 1000 + 12 + 1500
    second = context.turn(MINUTE, message(360), False, 80, 0.99)
    assert second[0] == total(first)
    # new: what the round before wrote, the message, and a few tokens around it
    assert total(second) == total(first) + 500 + 100 + 12
    assert second[1:] == (8, 604, 80)


def test_a_cold_round_reads_only_the_system_prompt() -> None:
    context = Context(CLAUDE, 50_000)
    context.turn(0, [], False, 10, 0.5)
    late = context.turn(61 * MINUTE, [], False, 10, 0.5)
    assert late[0] == CLAUDE.context[0]
    assert total(late) == 50_000 + 12 + 10 + 12


def test_codex_reads_whole_blocks() -> None:
    context = Context(CODEX, 30_001)
    context.turn(0, [], False, 10, 0.5)
    turn = context.turn(MINUTE, [], False, 10, 0.5)
    assert turn[0] == 30_013 // 128 * 128
    assert total(turn) == 30_013 + 22


@pytest.mark.parametrize("provider", [CLAUDE, CODEX])
def test_a_full_context_falls_back(provider: Provider) -> None:
    system, ceiling = provider.context
    context = Context(provider, ceiling - 100)
    turn = context.turn(0, message(3600), False, 10, 0.5)
    assert turn[0] <= system
    assert system < total(turn) < ceiling / 4
