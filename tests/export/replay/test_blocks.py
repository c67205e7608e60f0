"""Properties of block ids and of what an accumulating consumer is to add, on any tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.export.replay.made import replay_session
from tracestat.export.replay.hash_ids import BlockIds
from tracestat.export.replay.model import ReplaySession


@st.composite
def sessions(draw: st.DrawFn, number: int = 1) -> ReplaySession:
    """Make any session that keeps the rule: no more is reusable than the context before held, nor than the prompt."""
    steps = draw(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 500), st.integers(1, 90)), min_size=1))
    context, prefixes = 0, []
    for prompt, wish, output in steps:
        prefixes.append(min(wish, prompt, context))
        context = prompt + output
    return replay_session([s[0] for s in steps], prefixes, [s[2] for s in steps], number)


@given(st.lists(sessions(), min_size=1, max_size=3), st.integers(1, 70), st.booleans())
def test_ids_say_what_is_shared(many: list[ReplaySession], block: int, partial: bool) -> None:
    ids = BlockIds(block, partial=partial)
    seen: set[int] = set()
    for session in many:
        chain = list(ids.chain(session))
        own = {i for blocks in chain for i in blocks}
        assert not own & seen, "two sessions share nothing"
        seen |= own
        before: list[int] = []
        whole = 0
        ever: set[int] = set()
        for blocks, prompt, prefix in zip(chain, session.prompt.tolist(), session.prefix.tolist(), strict=True):
            assert len(blocks) == (-(-prompt // block) if partial else prompt // block)
            assert len(set(blocks)) == len(blocks)
            kept = min(prefix // block, whole)
            assert blocks[:kept] == before[:kept]
            assert not set(blocks[kept:]) & ever, "what was dropped never comes back"
            ever |= set(blocks)
            before, whole = blocks, prompt // block


@given(sessions(), st.booleans())
def test_what_is_added_makes_at_least_the_recorded_prompts(session: ReplaySession, resets: bool) -> None:
    added = session.added(resets=resets)
    context = 0
    for step in range(session.steps):
        if added.whole[step]:
            assert resets
            assert added.tokens[step] == 0
            context = int(added.whole[step])
        else:
            assert added.tokens[step] >= 1
            context += int(added.tokens[step])
        assert context == added.sent[step] >= session.prompt[step]
        if resets:
            # 1: the least that a step adds
            assert context - session.prompt[step] <= session.prefix[step] + 1
        context += int(session.output[step])
    assert added.tokens[0] == session.prompt[0]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1))
def test_contexts_that_only_grow_are_said_exactly(steps: list[tuple[int, int]]) -> None:
    prompts, outputs, context = [], [], 0
    for new, output in steps:
        prompts.append(context + new)
        outputs.append(output)
        context += new + output
    prefixes = [0, *(p + o for p, o in zip(prompts[:-1], outputs[:-1], strict=True))]
    added = replay_session(prompts, prefixes, outputs).added()
    assert added.sent.tolist() == prompts
    assert added.tokens.tolist() == [new for new, _ in steps]


@pytest.mark.parametrize("after", [[], [5], [5, 7, 0]])
def test_what_comes_after_a_step_comes_before_the_next(after: list[int]) -> None:
    before = ReplaySession.before(np.array(after, dtype=np.int64))
    assert before.tolist() == [0, *after][: len(after)]
