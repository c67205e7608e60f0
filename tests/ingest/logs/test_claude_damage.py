"""Whatever a line of a Claude Code log holds, reading it ends in facts or in a reason, and rounds can be made."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.logs.claude_driver import (
    KEY,
    answers,
    asks,
    base,
    calls,
    file_of,
    nested,
    notice,
    queued,
    read,
    running,
    says,
)
from tracestat.ingest.logs.batching import batch_of
from tracestat.ingest.logs.claude import CLAUDE
from tracestat.ingest.logs.claude_read import facts_of
from tracestat.ingest.logs.format import UnreadableError
from tracestat.ingest.logs.names import Names

LINES = [
    asks(0, [{"type": "text", "text": "plant"}], permissionMode="plan", origin={"kind": "human"}),
    says(1, "m1", {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a pear"}),
    calls(2, "m1", "c1", "Bash", {"command": "sleep 5", "timeout": 9000, "run_in_background": False}),
    running(4, "c1", 2),
    answers(5, "c1", [{"type": "text", "text": "Exit code 1"}], error=True, toolUseResult={"backgroundTaskId": "b7"}),
    nested(6, calls(6, "n1", "k1", "Read")),
    base("attachment", 7, attachment={"type": "queued_command", "prompt": notice("b7")}),
    queued(8, notice("b7", call="c1")),
    base("system", 9, subtype="compact_boundary"),
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the way to every value within a line."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in inner for place in [(*path, key), *places(part, (*path, key))]]


def replaced(line: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Give a line with another value at a place."""
    if not path:
        return value
    made = dict(line) if isinstance(line, dict) else list(line)
    made[path[0]] = replaced(line[path[0]], path[1:], value)
    return made


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_any_value_in_any_place(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LINES) - 1))
    path = data.draw(st.sampled_from(places(LINES[at])))
    odd = replaced(LINES[at], path, data.draw(VALUES))
    text = json.dumps(odd).encode()
    try:
        said = facts_of(text, Names(KEY))
    except (msgspec.DecodeError, UnreadableError):
        pass
    else:
        kept = msgspec.msgpack.decode(msgspec.msgpack.encode(said.facts), type=list[CLAUDE.fact])
        assert kept == said.facts
    made = read(file_of(LINES[:at]) + text + b"\n" + file_of(LINES[at + 1 :]))
    assert batch_of(made.rounds).calls.num_rows == len(made.calls)
    assert len(made.chunks[0].lost) <= 1


@settings(deadline=None, max_examples=50)
@given(st.integers(0, len(file_of(LINES))), st.binary(max_size=12))
def test_any_bytes_at_any_place(at: int, noise: bytes) -> None:
    whole = file_of(LINES)
    made = read(whole[:at] + noise + whole[at:])
    damaged = 1 + noise.count(b"\n")
    assert len({lost.line for lost in made.chunks[0].lost}) <= damaged
    assert batch_of(made.rounds).rounds.num_rows == len(made.rounds)


@settings(deadline=None, max_examples=33)
@given(st.integers(0, len(file_of(LINES))))
def test_a_file_that_ends_anywhere_keeps_what_was_before(end: int) -> None:
    whole = file_of(LINES)
    made = read(whole[:end])
    complete = read(whole[: whole.rfind(b"\n", 0, end) + 1])
    assert {call.id for call in complete.calls} <= {call.id for call in made.calls}
    assert len(made.calls) <= len(complete.calls) + 1
