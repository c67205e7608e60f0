"""The fast reader and the exact one give the same rows and the same rejects, whatever the bytes are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.helpers import lines, sample
from tests.traces import call, event, round_
from tracestat.ingest import tracelab_json
from tracestat.ingest.batch import Batch
from tracestat.ingest.blocks import Block, LineFile
from tracestat.ingest.tracelab_json import read_block, read_block_exactly

ROWS = lines(sample() * 8)


def same(content: bytes, *, complete: bool = True) -> Batch:
    """Read with both, compare, and check that nothing is lost."""
    block = Block(content, 1, complete=complete)
    fast, exact = read_block(block), read_block_exactly(block)
    assert fast.rounds.equals(exact.rounds)
    assert fast.calls.equals(exact.calls)
    assert fast.events.equals(exact.events)
    assert fast.rejects == exact.rejects
    assert fast.repaired == exact.repaired
    for table in (fast.rounds, fast.calls, fast.events):
        table.validate(full=True)
    return fast


def test_the_fast_reader_takes_good_rows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracelab_json, "read_lines", lambda _: pytest.fail("not fast"))
    block = Block(ROWS, 1, complete=True)
    assert read_block(block).rounds.num_rows == 32


def test_one_bad_line_does_not_make_the_others_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = []
    monkeypatch.setattr(tracelab_json, "read_lines", lambda ls: slow.extend(ls) or _EMPTY)
    content = ROWS * 10 + b"bad\n" + ROWS * 10
    batch = read_block(Block(content, 1, complete=True))
    assert 0 < len(slow) <= 16
    assert batch.rounds.num_rows == 640 + 1 - len(slow)


_EMPTY = read_block_exactly(Block(b"", 1, complete=True))


@pytest.mark.full
def test_on_the_real_trace(real_trace: Path) -> None:
    rows = 0
    for block in LineFile(real_trace, "gzip"):
        rows += same(bytes(block.data)).rounds.num_rows
    assert rows == 29_916


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_damaged_bytes(data: st.DataObject) -> None:
    content = bytearray(lines(sample()))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        what = data.draw(st.sampled_from(["flip", "cut", "insert", "double"]))
        if what == "flip":
            content[at] = data.draw(st.integers(0, 255))
        elif what == "cut":
            del content[at : at + data.draw(st.integers(1, 40))]
        elif what == "insert":
            content[at:at] = data.draw(st.sampled_from(INSERTS))
        else:
            content[at:at] = content[at : at + data.draw(st.integers(1, 200))]
        if not content:
            content = bytearray(b"{")
    same(bytes(content), complete=data.draw(st.booleans()))


INSERTS = [
    b"null",
    b"\nnull\n",
    b"\n",
    b"\r",
    b" ",
    b"\0",
    b"\xff",
    b"\\ud800",
    b"\\u0000",
    b"NaN",
    b"-Infinity",
    b":NaN,",
    b"}{",
    b"},{",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"1.0",
    b"1e3",
    b"-",
    b"99999999999999999999",
    b"true",
    b"{}",
    b"[null]",
    b"\xc2\xa0",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"//",
    b"'",
]

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-5, 5).map(float),
    st.text(max_size=5),
    st.sampled_from(["2026-03-01T10:00:00Z", "2026-03-01T10:00:00.123456+01:00", "2026-03-01", "", "NaN", "x" * 30]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from(["a", "model"]), SCALARS))


@settings(max_examples=66, deadline=None)
@given(st.data())
def test_values_of_any_type_in_any_place(data: st.DataObject) -> None:
    rows = [round_("s", i, [call("a", 1, 2), call("b", 1, None)], text=1, events=[event("text", 1)]) for i in range(3)]
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.sampled_from(rows))
        target = data.draw(st.sampled_from([row, *row["tools"], *row["timing_events"]]))
        keys = [*target, "unknown", "executables", "turn_id", "content_chars"]
        target[data.draw(st.sampled_from(keys))] = data.draw(VALUES)
        if not isinstance(row["tools"], list) or not isinstance(row["timing_events"], list):
            break
        row["tools"] = [t for t in row["tools"] if isinstance(t, dict)]
        row["timing_events"] = [t for t in row["timing_events"] if isinstance(t, dict)]
    ascii_only = data.draw(st.booleans())
    content = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    batch = same(content.encode("utf-8", "surrogatepass"))
    assert batch.read == 3


@settings(max_examples=33, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_at_all(content: bytes, complete: bool) -> None:
    same(content, complete=complete)


@pytest.mark.parametrize("first", [b"null\n", b" {}\n", b"[]\n", b"\x00\n", b"{}\n", b"\n"])
def test_what_the_parser_of_arrow_does_not_survive(first: bytes) -> None:
    same(first + ROWS)
    same(ROWS + first)
    same(ROWS.replace(b"}\n", b"} " + first.strip() + b"\n", 1))


def test_gzip_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(ROWS))
    (block,) = LineFile(tmp_path / "a", "gzip")
    assert bytes(block.data) == ROWS
