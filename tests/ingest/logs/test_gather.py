from __future__ import annotations

from collections.abc import Iterator

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.logs.rounds_from import seconds
from tracestat.ingest.logs.amounts import count_of, micros_of
from tracestat.ingest.logs.chain import hand_on, label_of, number, set_approvals
from tracestat.ingest.logs.format import Log
from tracestat.ingest.logs.gather import gather
from tracestat.ingest.logs.model import Call, Round


class Fact(msgspec.Struct, frozen=True):
    session: str
    number: int


def log_of(name: str, facts: list[Fact], read: list[str]) -> Log:
    def give() -> Iterator[Fact]:
        read.append(name)
        yield from facts

    return Log(name, f"dev-{name}", give)


def gathered(*files: list[str]) -> tuple[list[list[tuple[str, str | None, list[int]]]], list[str]]:
    read: list[str] = []
    logs = [
        log_of(str(i), [Fact(session, 10 * i + j) for j, session in enumerate(file)], read)
        for i, file in enumerate(files)
    ]
    given_ = gather(logs, lambda fact: fact.session)
    return [[(s.key, s.developer, [f.number for f in s.facts]) for s in of_log] for of_log in given_], read


def test_a_session_comes_with_its_last_log() -> None:
    got, read = gathered(["a", "b", "a"], ["b", "c"], ["d"])
    assert got == [
        [("a", "dev-0", [0, 2])],
        [("b", "dev-0", [1, 10]), ("c", "dev-1", [11])],
        [("d", "dev-2", [20])],
    ]
    assert read == ["0", "1", "2"] * 2


def test_facts_of_no_session_stay_with_their_log() -> None:
    got, _ = gathered(["", "a"], [""])
    assert got == [[("", "dev-0", [0]), ("a", "dev-0", [1])], [("", "dev-1", [10])]]


def test_one_log_is_read_once() -> None:
    assert gathered(["a"]) == ([[("a", "dev-0", [0])]], ["0"])
    assert gathered() == ([], [])


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=6), max_size=5))
def test_every_fact_comes_once_and_every_session_whole(files: list[list[str]]) -> None:
    got, _ = gathered(*files)
    assert len(got) == len(files)
    sessions = [session for of_log in got for session in of_log]
    assert len({key for key, _, _ in sessions}) == len(sessions)
    for key, _, numbers in sessions:
        assert numbers == [10 * i + j for i, file in enumerate(files) for j, of in enumerate(file) if of == key]
    assert sum(len(numbers) for _, _, numbers in sessions) == sum(map(len, files))


def made(*calls: Call) -> Round:
    return Round("p", "s", 0, "r", calls=list(calls))


def test_results_are_handed_to_the_next_round_by_time() -> None:
    first = made(Call("late", "t", 0, 9), Call("open", "t", 0), Call("early", "t", 0, 5, is_error=True, result_chars=3))
    second, third = made(), made()
    hand_on([first, second, third], "line")
    assert [(e.call_id, e.tool_index, e.time_us, e.is_error, e.result_chars) for e in second.events] == [
        ("early", 2, 5, True, 3),
        ("late", 0, 9, None, None),
    ]
    assert first.events == third.events == []


def test_rounds_are_counted_on() -> None:
    rounds = [made(), made()]
    number(rounds, 5)
    assert [r.round_index for r in rounds] == [5, 6]


def test_only_what_no_sibling_explains_is_a_wait_for_approval() -> None:
    alone, serial, beside = Call("a", "t", 0, 4_000_000), Call("b", "t", 0, 9_000_000), Call("c", "t", 0, 2_000_000)
    set_approvals([(alone, 1_500_000), (serial, 4_250_000), (beside, 1_000_000)])
    assert [call.approval_seconds for call in (alone, serial, beside)] == [1.5, 0.25, 1.0]
    assert seconds(serial) == 9.0


def test_a_sibling_that_ended_before_a_call_was_emitted_did_not_hold_it_up() -> None:
    first, second = Call("a", "t", 0, 1_000_000), Call("b", "t", 2_000_000, 9_000_000)
    set_approvals([(first, 0), (second, 3_000_000)])
    assert second.approval_seconds == 1.0


def test_amounts_that_no_table_can_hold_are_not_known() -> None:
    assert micros_of(1.5, per_second=1) == 1_500_000
    assert micros_of(1_780_000_000_123.4567, per_second=1000) == 1_780_000_000_123_457
    assert micros_of(1_780_000_000_123_456_499, per_second=10**9) == 1_780_000_000_123_456
    assert micros_of(2_500.0, per_second=10**9) == 2
    assert [micros_of(bad, per_second=1) for bad in (None, float("nan"), float("inf"), 1e12, -1e12, 10**40)] == [
        None
    ] * 6
    assert [count_of(n) for n in (None, -1, float("nan"), 2**63, 0, 7.0)] == [None, None, None, None, 0, 7]


def test_only_plain_names_are_shown() -> None:
    assert [label_of(kind) for kind in ("tool_start", "heartbeat")] == ["tool_start", "heartbeat"]
    for kind in ("", "two words", "x" * 41, "naïve", "/home/me", "ghp_1a2b3c", "my-project", "UPPER", "_", "a\n"):
        assert label_of(kind) == "other"
