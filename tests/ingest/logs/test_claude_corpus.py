"""Real Claude Code logs: the figures that are known of them, from this project's count and from TraceLab's extractor.

Where the two differ, and why:

- TraceLab keeps the copies of a call that stand in other files, tracestat one of them; each file read by itself, as
  TraceLab does, gives TraceLab's figures.
- TraceLab pairs a result only with a call that stands above it in the file: two calls (51 and 6 ms) are without a
  result there.
- TraceLab drops a line that holds two objects; none of those in this sample holds a call or the only line of a message,
  so that no figure differs.
- TraceLab does not see the steps of sub-agents that only progress lines carry, and joins no result to a call in another
  file.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import corpus_path
from tests.ingest.logs.claude_driver import KEY, Read
from tracestat.ingest.logs.claude import CLAUDE
from tracestat.ingest.logs.claude_facts import Said
from tracestat.ingest.logs.claude_rounds import ELSEWHERE, HERE, NESTED
from tracestat.ingest.logs.format import Log
from tracestat.ingest.logs.lines import read_chunk
from tracestat.ingest.logs.model import Call
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.state import LogState, StoredLog


def files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Give the developer and content of each file."""
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.name.endswith(".jsonl") else None
            if content is not None:
                yield Path(member.name).parent.name, content.read()


@pytest.fixture(scope="module")
def archive() -> Path:
    return corpus_path("raw_claude_code.tar.gz")


@pytest.fixture(scope="module")
def logs(archive: Path) -> tuple[list[Log], Read]:
    names = Names(KEY)
    made, chunks = [], []
    for index, (developer, data) in enumerate(files(archive)):
        chunk = read_chunk(CLAUDE, names, data, 1, complete=data.endswith(b"\n"))
        stored = StoredLog(LogState(CLAUDE.slug), pieces=(chunk.facts,))
        made.append(Log(f"log{index:04}", developer, partial(stored.facts, CLAUDE.fact)))
        chunks.append(chunk)
    return made, Read(list(CLAUDE.rounds(made)), chunks)


@pytest.fixture(scope="module")
def made(logs: tuple[list[Log], Read]) -> Read:
    return logs[1]


def figures(calls: list[Call]) -> tuple[int, int, int]:
    """Count calls and those with a result, and add up milliseconds."""
    walls = [(call.result_us - call.emitted_us) // 1000 for call in calls if call.result_us is not None]
    return len(calls), len(walls), sum(walls)


def test_calls_of_top_level_lines(made: Read) -> None:
    calls = [call for call in made.calls if not call.is_subagent]
    assert figures(calls) == (20_192, 20_163, 367_620_922)
    assert len({call.id for call in calls}) == 20_192


def test_nested_calls_are_those_of_sub_agents(made: Read) -> None:
    calls = [call for call in made.calls if call.is_subagent]
    assert figures(calls) == (3_269, 3_267, 23_856_411)
    assert len({call.id for call in calls}) == 3_269


def test_copies_are_left_out_and_counted(made: Read) -> None:
    assert made.left_out[ELSEWHERE] + made.left_out[HERE] == 1_294
    nested = made.left_out[NESTED]
    assert made.counts["calls"] == 21_486 + 3_269 + nested
    assert len({made_round.round_id for made_round in made.rounds}) == len(made.rounds)


@pytest.mark.full
def test_tracelab_agrees_file_by_file(logs: tuple[list[Log], Read], archive: Path) -> None:
    expected: dict[str, Any] = json.loads((archive.parent / "raw.expected.json").read_text())
    main = {
        f"claude:{fact.stream.session}"
        for log in logs[0]
        for fact in log.facts()
        if isinstance(fact, Said) and fact.stream.agent is None
    }
    alone = [kept for log in logs[0] for one in CLAUDE.rounds([log]) for kept in one.rounds]
    rounds = [kept for kept in alone if kept.session_id in main]
    calls, answered, milliseconds = figures([call for kept in rounds for call in kept.calls])
    theirs = expected["by_provider"]["claude"]
    assert (len(rounds), calls) == (theirs["rounds"], theirs["tool_calls"])
    assert answered == theirs["with_result"] + 2
    assert milliseconds == theirs["sum_wall_latency_ms"] + 51 + 6
    repeated = Counter(call.id for kept in rounds for call in kept.calls)
    assert sum(repeated.values()) - len(repeated) == expected["repeated_tool_call_ids"]


def test_every_line_is_understood(made: Read, archive: Path) -> None:
    assert [lost for chunk in made.chunks for lost in chunk.lost] == []
    objects = sum(chunk.objects for chunk in made.chunks)
    lines = sum(sum(map(bool, data.split(b"\n"))) for _, data in files(archive))
    assert objects == lines + 3  # three lines hold two objects
    unknown = Counter[str]()
    for chunk in made.chunks:
        unknown.update(chunk.unknown)
    assert set(unknown) == {"pr-link", "frame-link"}


def test_results_in_other_files_are_joined(made: Read) -> None:
    assert made.counts["results of calls in another log"] == 3
    assert made.counts["results without a call"] == 3


@pytest.mark.full
def test_the_order_of_logs_changes_no_call(logs: tuple[list[Log], Read]) -> None:
    def facts(read: Read) -> set[tuple[str, int, int | None, str | None]]:
        return {(call.id, call.emitted_us, call.result_us, call.status) for call in read.calls}

    other = Read(list(CLAUDE.rounds(logs[0][::-1])))
    assert facts(other) == facts(logs[1])
    assert other.left_out == logs[1].left_out


def test_rounds_are_whole(made: Read) -> None:
    places: dict[str, int] = {}
    for kept in made.rounds:
        assert kept.round_index == places.get(kept.session_id, 0)
        places[kept.session_id] = kept.round_index + 1
        assert kept.project is not None
        assert kept.events
        assert kept.input_tokens_total == (kept.prefix_tokens or 0) + (kept.newly_append_tokens or 0)
        assert [e.call_id for e in kept.events if e.type == "tool_call"] == [call.id for call in kept.calls]


def test_limits_show_where_they_were_reached(made: Read) -> None:
    """A command moved to the background, or killed, had run for the limit that it asked for."""
    over = [
        (call.start_kind, (call.result_us - call.emitted_us) / 1e6 - (call.approval_seconds or 0) - limit)
        for call in made.calls
        if call.status in ("running", "timeout") and call.result_us is not None
        if (limit := call.asked_limit_seconds) is not None
    ]
    known = [seconds for kind, seconds in over if kind == "rebuilt"]
    assert len(known) >= 10
    assert all(0 <= seconds < 1 for seconds in known)
    assert all(seconds >= 0 for _, seconds in over)  # where the start is not known, the wait before it is in there


def test_waits_before_the_start_are_as_published(made: Read) -> None:
    """The published figures are of a larger collection that holds this one: p50 0.12, p95 27 s, none negative."""
    waits = sorted(call.approval_seconds for call in made.calls if call.approval_seconds is not None)
    assert len(waits) > 900
    assert waits[0] >= 0
    assert waits[len(waits) // 2] == pytest.approx(0.12, abs=0.08)
    assert waits[int(len(waits) * 0.95)] == pytest.approx(27, rel=0.25)
    assert {call.start_kind for call in made.calls if call.approval_seconds is not None} == {"rebuilt"}


def test_background_jobs_have_ends(made: Read) -> None:
    """Of the starts in the background, nearly all have a notice of their end, after their result."""
    started = [call for call in made.calls if call.status == "background"]
    ended = [call for call in started if call.job_ended_us is not None]
    assert len(ended) > 0.8 * len(started) > 0
    assert all(call.job_ended_us >= call.emitted_us for call in ended if call.job_ended_us is not None)
    assert [call for call in made.calls if call.job_ended_us is not None and call.status is None] == []
