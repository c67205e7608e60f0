"""What is found again on a damaged line, and what of it is counted as lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ingest.logs.test_growth import call, result
from tracestat.ingest.logs.claude import CLAUDE
from tracestat.ingest.logs.formats import FORMATS
from tracestat.ingest.logs.lines import read_chunk
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.state import Chunk

NAMES = Names(b"a key of the tests")


def read(data: bytes, *, complete: bool = True) -> Chunk:
    return read_chunk(CLAUDE, NAMES, data, 1, complete=complete)


def lost(chunk: Chunk) -> list[tuple[int, int, str]]:
    return [(piece.line, piece.place, piece.reason) for piece in chunk.lost]


def nested() -> bytes:
    """Make a line that holds a whole line of a sub-agent."""
    inner = json.loads(call(7, 3))
    del inner["sessionId"]
    outer: dict[str, Any] = {
        "type": "progress",
        "uuid": "p1",
        "sessionId": "s1",
        "timestamp": "2026-03-01T10:00:04.000Z",
        "parentToolUseID": "toolu_T",
        "data": {"type": "agent_progress", "agentId": "a7", "message": inner},
    }
    return json.dumps(outer).encode()


def test_two_objects_on_a_line_are_two_lines() -> None:
    chunk = read(call(1, 0).rstrip() + result(1, 2))
    assert (chunk.objects, chunk.lost) == (2, [])


def test_a_whole_record_behind_a_cut_one_is_found_and_the_loss_counted_once() -> None:
    chunk = read(call(1, 0)[:150] + result(1, 2))
    assert chunk.objects == 1
    assert lost(chunk) == [(1, 0, "not JSON")]


def test_what_stood_inside_a_cut_record_is_no_line_of_its_own() -> None:
    chunk = read(nested()[:-1] + b"\n")
    assert chunk.objects == 0
    assert lost(chunk) == [(1, 0, "not JSON")]


@pytest.mark.parametrize("cut", [1, 40, 120, 200, 260])
def test_a_last_line_that_is_still_being_written_is_no_loss(cut: int) -> None:
    chunk = read(call(1, 0) + nested()[:cut], complete=False)
    assert (chunk.objects, chunk.lost) == (1, [])


def test_text_that_is_no_unicode_is_replaced_and_counted() -> None:
    raw = call(1, 0).replace(b"make part1", b'echo \\ud83d \\"x\\"').replace(b"msg_s1_1", b"msg_\xff_1")
    chunk = read(raw)
    assert (chunk.objects, chunk.repaired, chunk.lost) == (1, 1, [])


@pytest.mark.parametrize("line", [b"[1, 2]\n", b"null\n", b'"text"\n', b"17\n"])
def test_what_is_no_object_is_lost_with_that_reason(line: bytes) -> None:
    assert lost(read(line)) == [(1, 0, "not an object")]


def test_a_type_that_is_no_word_is_not_repeated() -> None:
    line = json.dumps({"type": "/home/somebody/secret plan", "uuid": "u", "sessionId": "s"}).encode() + b"\n"
    assert read(line).unknown in ({"unnamed": 1}, {})
    assert read(line.replace(b"/home/somebody/secret plan", b"new-model-turn")).unknown == {"new-model-turn": 1}
    assert read(line.replace(b"/home/somebody/secret plan", b"acme-launch")).unknown == {"unnamed": 1}
    assert read(line.replace(b"/home/somebody/secret plan", b"sessionALICE")).unknown == {"unnamed": 1}


def test_a_type_that_does_not_belong_is_named_by_its_place_only() -> None:
    line = call(1, 0).replace(b'"message": {', b'"message": {"content": {"secret": 5}, "x": {', 1)
    reasons = " ".join(reason for _, _, reason in lost(read(line)))
    assert "secret" not in reasons


@pytest.mark.parametrize(
    "deep",
    [
        b'{"type": "user", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        b'{"type": "user", "message": ' + b'{"message": ' * 100_000 + b"1" + b"}" * 100_001 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"cut": ' + b'{"message": ' * 100_000 + b"\n",
    ],
)
def test_a_line_that_is_nested_too_deeply_is_lost_alone(deep: bytes) -> None:
    for form in FORMATS:
        chunk = read_chunk(form, NAMES, deep + call(1, 0), 1)
        assert [piece.line for piece in chunk.lost][:1] == [1]
    chunk = read(deep + call(1, 0))
    assert (chunk.objects, len(chunk.lost)) == (1, 1)
    assert chunk.lost[0].reason in ("nested too deeply", "not JSON")
