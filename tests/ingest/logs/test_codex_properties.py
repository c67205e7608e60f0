"""What holds for any rollout: nothing is lost, nothing is counted twice, and no cut, copy or order changes a number."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.logs.codex_rollouts import Rollout, calls_of, exited, named, read, rounds_of, us
from tracestat.ingest.logs.batching import batch_of


@dataclass(frozen=True)
class Made:
    """A rollout and what it was made to say."""

    log: Rollout
    emitted: dict[str, float]
    answered: dict[str, float]
    batches: list[list[str]]


@st.composite
def rollouts(draw: st.DrawFn, session: str = "thread-a") -> Made:
    """Write rounds of batches whose outputs come in any order, before or after the report."""
    log = Rollout(session)
    emitted: dict[str, float] = {}
    answered: dict[str, float] = {}
    batches: list[list[str]] = []
    at = 1.0
    for place in range(draw(st.integers(0, 5))):
        if place == 0 or draw(st.booleans()):
            log.turn(at, f"{session} turn {place}").prompt(at + 0.1)
        batch = [f"{session} {place} {i}" for i in range(draw(st.integers(0, 3)))]
        batches.append(batch)
        log.says(at + 0.2)
        for call in batch:
            at = round(at + draw(st.integers(3, 3000)) / 1000, 3)
            emitted[call] = at
            log.call(at, call, cmd="x")
        late = draw(st.booleans())
        if not late:
            log.used(at + 0.001)
        for call in draw(st.permutations(batch)):
            if draw(st.integers(0, 9)):
                at = round(at + draw(st.integers(3, 60_000)) / 1000, 3)
                answered[call] = at
                log.out(at, call, exited(1.0))
        if late:
            log.used(at + 0.001)
        at += 1
    return Made(log, emitted, answered, batches)


@given(rollouts())
def test_every_call_is_in_its_round_with_its_own_result(made: Made) -> None:
    rounds = rounds_of(made.log)
    assert [[call.id for call in one.calls] for one in rounds] == [
        [named(call) for call in batch] for batch in made.batches
    ]
    by_id = {call.id: call for one in rounds for call in one.calls}
    for call, at in made.emitted.items():
        held = by_id[named(call)]
        ended = made.answered.get(call)
        assert (held.emitted_us, held.result_us) == (us(at), None if ended is None else us(ended))
    assert {call.parallel_group for one in rounds for call in one.calls} <= {0}


@given(rollouts())
def test_every_result_of_a_followed_round_has_one_event(made: Made) -> None:
    (log,) = read(made.log)
    events = Counter(e.call_id for one in log.rounds for e in one.events if e.type == "tool_result")
    assert set(events.values()) <= {1}
    assert len(events) + log.counts.get("inputs that no round follows", 0) == len(made.answered)


@given(rollouts(), st.data())
def test_no_cut_changes_a_number(made: Made, data: st.DataObject) -> None:
    lines = made.log.data.splitlines(keepends=True)
    cut = data.draw(st.integers(0, len(lines)))
    assert read([b"".join(lines[:cut]), b"".join(lines[cut:])]) == read(made.log)


@given(rollouts(), rollouts("thread-b"), st.data())
def test_copies_and_parts_of_logs_add_nothing_in_any_order(one: Made, two: Made, data: st.DataObject) -> None:
    lines = one.log.data.splitlines(keepends=True)
    part = b"".join(lines[: data.draw(st.integers(0, len(lines)))])
    logs = [one.log.data, two.log.data, part, two.log.data]
    order = data.draw(st.permutations(range(4)))
    found = calls_of(*[logs[place] for place in order])
    assert len({call.id for call in found}) == len(found) == len(one.emitted) + len(two.emitted)
    assert sum(call.result_us is not None for call in found) == len(one.answered) + len(two.answered)


@given(rollouts(), st.data())
def test_lost_lines_lose_only_themselves(made: Made, data: st.DataObject) -> None:
    lines = made.log.data.splitlines(keepends=True)
    lost = data.draw(st.sets(st.integers(0, max(0, len(lines) - 1))))
    left = [line for place, line in enumerate(lines) if place not in lost]
    (log,) = read(b"".join(left))
    n_calls = sum(b'"function_call"' in line for line in left)
    assert sum(len(one.calls) for one in log.rounds) == log.counts["calls"] == n_calls
    outputs = sum(b'"function_call_output"' in line for line in left)
    found = sum(call.result_us is not None for one in log.rounds for call in one.calls)
    assert found + log.counts.get("results without a call", 0) == outputs


@given(st.lists(rollouts(), max_size=2))
def test_tables_can_be_made_of_any_rounds(made: list[Made]) -> None:
    rounds = rounds_of(*[one.log for one in made])
    batch = batch_of(rounds)
    assert batch.calls.num_rows == sum(len(one.calls) for one in rounds)
