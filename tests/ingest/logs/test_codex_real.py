"""Thirteen real rollouts, against figures counted independently and against TraceLab's own extractor.

They are on few machines: without them these tests are skipped.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import corpus_folder, corpus_path
from tests.ingest.logs.codex_rollouts import chunk_of, kinds, log_of
from tracestat.ingest.logs.codex import rounds
from tracestat.ingest.logs.format import Log, LogRounds
from tracestat.ingest.logs.model import Call, Round


@pytest.fixture(scope="module")
def logs() -> list[Log]:
    with tarfile.open(corpus_path("raw_codex.tar.gz")) as archive:
        members = sorted((m for m in archive if m.isfile() and m.name.endswith(".jsonl")), key=lambda m: m.name)
        return [_log(archive, member) for member in members]


def _log(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Log:
    file = archive.extractfile(member)
    assert file is not None
    data = file.read()
    chunk = chunk_of(data)
    assert (chunk.lost, chunk.unknown, chunk.repaired) == ([], {}, 0)
    return log_of(data, member.name, member.name.split("/")[-2])


@pytest.fixture(scope="module")
def made(logs: list[Log]) -> list[LogRounds]:
    return list(rounds(logs))


@pytest.fixture(scope="module")
def all_rounds(made: list[LogRounds]) -> list[Round]:
    return [one for log in made for one in log.rounds]


@pytest.fixture(scope="module")
def calls(all_rounds: list[Round]) -> list[Call]:
    return [call for one in all_rounds for call in one.calls]


@pytest.fixture(scope="module")
def tracelab() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((corpus_folder() / "raw.expected.json").read_text())
    return found


def answered(calls: list[Call]) -> Iterator[tuple[Call, int]]:
    return ((call, call.result_us) for call in calls if call.result_us is not None)


def test_calls_by_distinct_id_and_their_summed_wall_time(made: list[LogRounds], calls: list[Call]) -> None:
    assert len(calls) == len({call.id for call in calls}) == 2_708
    walls = [ended - call.emitted_us for call, ended in answered(calls)]
    assert (len(walls), sum(walls)) == (2_701, 10_144_059_000)
    assert not any(log.left_out for log in made)


def test_rounds_are_tracelab_s_and_those_that_it_drops(all_rounds: list[Round], tracelab: dict[str, Any]) -> None:
    reported = [one for one in all_rounds if one.output_tokens is not None]
    # It drops a request that called nothing it knows (a search for tools) and so has only its usage ...
    bare = [one for one in reported if kinds(one.events) == ["usage_report"]]
    assert len(bare) == 1
    assert len(reported) - len(bare) == tracelab["by_provider"]["codex"]["rounds"] == 1_447
    # ... and what no report closes: four logs end within a round with calls, three responses were cut short.
    left = [one for one in all_rounds if one.output_tokens is None]
    assert Counter(bool(one.calls) for one in left) == {True: 4, False: 3}


def test_calls_are_tracelab_s_and_those_after_the_last_report(
    all_rounds: list[Round], calls: list[Call], tracelab: dict[str, Any]
) -> None:
    late = [call for one in all_rounds if one.output_tokens is None for call in one.calls]
    assert len(late) == 6
    assert len(calls) - len(late) == tracelab["by_provider"]["codex"]["tool_calls"] == 2_702
    # none of the six has a result, so that the calls with one are the same
    assert [call.result_us for call in late] == [None] * 6
    assert sum(1 for _ in answered(calls)) == tracelab["by_provider"]["codex"]["with_result"] == 2_701


def test_statuses_and_links_are_tracelab_s(calls: list[Call], tracelab: dict[str, Any]) -> None:
    statuses = Counter(call.status for call in calls if call.status is not None)
    assert statuses == tracelab["command_status"] == {"finished": 2_350, "running": 232}
    assert sum(call.continues is not None for call in calls) == tracelab["continuation_links"] == 223


def test_wall_times_differ_from_tracelab_s_by_end_events_alone(
    logs: list[Log], calls: list[Call], tracelab: dict[str, Any]
) -> None:
    """It takes the first of end event and output as the result; the model waits for the output."""
    first: dict[str, int] = {}
    for log in logs:
        for fact in log.facts():
            if type(fact).__name__ == "Ended" and fact.what in ("exec", "patch"):
                first.setdefault(fact.id, fact.time_us)
    ours = {call.id: ended - call.emitted_us for call, ended in answered(calls)}
    theirs = {call.id: min(ended, first.get(call.id, ended)) - call.emitted_us for call, ended in answered(calls)}
    assert sum(theirs.values()) == 1000 * tracelab["by_provider"]["codex"]["sum_wall_latency_ms"] == 10_127_697_000
    earlier = [id_ for id_ in ours if theirs[id_] < ours[id_]]
    assert 0 < len(earlier) <= len(first)


def test_yields_are_at_the_limits_that_were_asked_for(calls: list[Call]) -> None:
    polls = [call for call in calls if call.continues and call.status == "running"]
    assert Counter(call.asked_limit_seconds for call in polls)[30.0] > 100
    yielded = [call for call in calls if call.status == "running"]
    for call in yielded:
        assert call.asked_limit_seconds is not None
        assert call.reported_ms is not None
        assert -0.01 <= call.reported_ms / 1000 - call.asked_limit_seconds < 1.0


def test_no_limit_is_above_the_harness_s_caps(calls: list[Call]) -> None:
    polls = [call.asked_limit_seconds for call in calls if call.continues and call.asked_limit_seconds is not None]
    others = [call.asked_limit_seconds for call in calls if not call.continues and call.asked_limit_seconds is not None]
    assert max(polls) == 70.0
    assert max(others) == 30.0  # up to 100 s were asked for
    assert Counter(others)[10.0] > 1_000


def test_most_printed_times_are_zero_and_kept(calls: list[Call]) -> None:
    zero = [call for call in calls if call.reported_ms == 0]
    assert len(zero) > 1_000
    assert {call.start_kind for call in calls} == {"emission"}


def test_every_result_has_its_event_in_the_same_or_a_later_round(all_rounds: list[Round]) -> None:
    called: dict[str, int] = {}
    seen: set[str] = set()
    for place, one in enumerate(all_rounds):
        called.update((call.id, place) for call in one.calls)
        for event in one.events:
            if event.type == "tool_result":
                assert event.call_id is not None
                assert called[event.call_id] <= place
                seen.add(event.call_id)
    results = {call.id for one in all_rounds for call in one.calls if call.result_us is not None}
    # a log may end with results that no further request was made with
    assert len(results - seen) == 1


def test_tokens_add_up(all_rounds: list[Round]) -> None:
    for one in all_rounds:
        if one.input_tokens_total is not None:
            assert one.prefix_tokens is not None
            assert one.newly_append_tokens is not None
            assert one.input_tokens_total == one.prefix_tokens + one.newly_append_tokens


def test_nobody_is_a_subagent_and_every_call_has_a_permission_mode(calls: list[Call]) -> None:
    assert {call.is_subagent for call in calls} == {False}
    assert {call.permission_mode for call in calls} <= {"never", "on-request"}


def test_ends_of_processes_come_after_the_yields(calls: list[Call]) -> None:
    ended = [(call, call.job_ended_us) for call in calls if call.job_ended_us is not None]
    assert len(ended) > 100
    for call, end in ended:
        assert call.result_us is None or end >= call.result_us
