"""Blocks of complete lines: every byte of the file, once, whatever the sizes are."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracestat.ingest.blocks import Block, LineFile


def blocks(path: Path, content: bytes, **options: int) -> list[Block]:
    path.write_bytes(content)
    return [
        Block(bytes(b.data), b.first_line, b.complete, b.too_long) for b in LineFile(path, block_bytes=16, **options)
    ]


@settings(deadline=None)
@given(content=st.lists(st.sampled_from([b"a", b"\n", b"bc\n", b"\r\n", b"x" * 20]), max_size=20).map(b"".join))
def test_every_byte_once(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    found = blocks(tmp_path_factory.getbasetemp() / "file", content)
    assert b"".join(bytes(b.data) for b in found) == content
    assert all(b.complete == bytes(b.data).endswith(b"\n") for b in found)
    line = 1
    for block in found:
        assert block.first_line == line
        line += bytes(block.data).count(b"\n")


def test_lines_end_at_the_byte_and_nowhere_else(tmp_path: Path) -> None:
    content = "a\u2028b\u2029c\x0bd\x0ce\x85f\r\n".encode()
    assert [bytes(b.data) for b in blocks(tmp_path / "f", content)] == [content]


def test_a_line_that_is_too_long_is_skipped_and_the_rest_read(tmp_path: Path) -> None:
    content = b"one\n" + b"x" * 500 + b"\nthree\n"
    found = blocks(tmp_path / "f", content, max_line_bytes=100)
    assert [(bytes(b.data), b.first_line, b.too_long) for b in found] == [
        (b"one\n", 1, False),
        (b"", 2, True),
        (b"three\n", 3, False),
    ]


def test_a_last_line_that_is_too_long(tmp_path: Path) -> None:
    found = blocks(tmp_path / "f", b"one\n" + b"x" * 5000, max_line_bytes=100)
    assert [(b.first_line, b.too_long, b.complete) for b in found] == [(1, False, True), (2, True, False)]


def test_a_long_line_below_the_limit(tmp_path: Path) -> None:
    content = b"one\n" + b"x" * 5000 + b"\nthree"
    assert b"".join(bytes(b.data) for b in blocks(tmp_path / "f", content)) == content


@pytest.mark.parametrize("kind", ["", "gzip", "zstd"])
def test_hash_size_and_progress_are_of_the_file(kind: str, tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % i for i in range(10_000))
    packed = {
        "": content,
        "gzip": gzip.compress(content),
        "zstd": pa.compress(content, "zstd", asbytes=True),
    }[kind]
    (tmp_path / "f").write_bytes(packed)
    told: list[int] = []
    file = LineFile(tmp_path / "f", kind, on_bytes=told.append)  # type: ignore[arg-type]
    assert b"".join(bytes(b.data) for b in file) == content
    assert file.sha256 == hashlib.sha256(packed).hexdigest()
    assert (file.size, sum(told), file.damage) == (len(packed), len(packed), None)


@pytest.mark.parametrize("cut", [20, 1000, 5000, 20_000])
@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_cut_or_damaged_stream_gives_a_prefix_and_says_so(kind: str, cut: int, tmp_path: Path) -> None:
    content = b"".join(hashlib.sha256(b"%d" % i).hexdigest().encode() + b"\n" for i in range(3000))
    packed = gzip.compress(content) if kind == "gzip" else pa.compress(content, "zstd", asbytes=True)
    for damaged in (packed[:cut], packed[:cut] + b"\xff" * 50 + packed[cut + 50 :]):
        (tmp_path / "f").write_bytes(damaged)
        file = LineFile(tmp_path / "f", kind)  # type: ignore[arg-type]
        found = b"".join(bytes(b.data) for b in file)
        assert file.damage or kind == "zstd"  # whose frames need not have a checksum
        assert file.sha256 == hashlib.sha256(damaged).hexdigest()
        # what lies between damage and where it is noticed may be wrong: only a cut is noticed at once
        assert len(damaged) > cut or content.startswith(found)


def test_gzip_gives_all_that_its_bytes_hold(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % i for i in range(100))
    packed = gzip.compress(content)
    (tmp_path / "f").write_bytes(packed[:-8])  # all data, no checksum
    file = LineFile(tmp_path / "f", "gzip")
    assert b"".join(bytes(b.data) for b in file) == content
    assert file.damage == "the gzip stream is cut off"
