"""A file that says whose data another one is: no trace, no damage, and nobody else's file is taken for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.traces import round_, write
from tracestat.errors import TracestatError
from tracestat.export.attribution import Attribution, write_about
from tracestat.ingest import ingest
from tracestat.ingest.about import about_note, is_about, licence_in

ABOUT = Attribution("x", "sha256:0", synthetic=False, licence="CC-BY-4.0", attribution="the Zürich group", changes="c")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "traces"
    place.mkdir()
    write_about(write(place / "t.jsonl", [round_("s", 0, text=1)]), ABOUT)
    return place


def test_a_folder_is_read_without_it(folder: Path, recwarn: pytest.WarningsRecorder) -> None:
    report = ingest([folder], folder.parent / "t.duckdb")
    assert [(one.path, one.kept, one.rejected) for one in report.sources] == [("t.jsonl", 1, 0)]
    assert not recwarn.list


def test_it_may_be_named_beside_its_file(folder: Path) -> None:
    report = ingest(sorted(folder.iterdir()), folder.parent / "t.duckdb")
    assert [one.path for one in report.sources] == ["t.jsonl"]


def test_named_alone_it_says_what_to_name(folder: Path) -> None:
    with pytest.raises(
        TracestatError, match=r"^t.jsonl.about.json: this only says whose data t.jsonl is: name t.jsonl$"
    ):
        ingest([folder / "t.jsonl.about.json"], folder.parent / "t.duckdb")


def test_a_folder_with_nothing_else_holds_no_trace(folder: Path) -> None:
    (folder / "t.jsonl").unlink()
    with pytest.raises(TracestatError, match="no trace in it"):
        ingest([folder], folder.parent / "t.duckdb")


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b'{"schema": "other/1"}',
        b'{"schema": 5}',
        b"[]",
        b"{",
        b"\xff\xfe{",
        b"[" * 200_000,
        b" " * (1 << 21) + b"{}",
    ],
    ids=lambda content: repr(content[:20]),
)
def test_somebodys_own_file_of_that_name_is_no_such_file(folder: Path, content: bytes) -> None:
    own = folder / "own.jsonl.about.json"
    own.write_bytes(content)
    assert not is_about(own)
    assert about_note(folder / "own.jsonl", "0") is None
    with pytest.raises(TracestatError, match=r"^own.jsonl.about.json: "):
        ingest([own], folder.parent / "t.duckdb")


def test_somebodys_own_file_of_that_name_is_told_in_a_folder(folder: Path) -> None:
    (folder / "own.jsonl.about.json").write_text('{"mine": 1}')
    with pytest.warns(UserWarning, match="1 .jsonl files in traces are no logs that are known"):
        ingest([folder], folder.parent / "t.duckdb")


def test_another_ending_is_no_such_file(folder: Path) -> None:
    other = (folder / "t.jsonl.about.json").rename(folder / "about.json")
    assert not is_about(other)


def test_a_note_tells_its_licence_beside_what_else_it_says(folder: Path) -> None:
    (source,) = ingest([folder], folder.parent / "t.duckdb").sources
    assert source.note == 'about {"licence": "CC-BY-4.0", "attribution": "the Zürich group"}'
    assert (
        licence_in(f"the file ends early; {source.note}")
        == licence_in(source.note)
        == ("CC-BY-4.0", "the Zürich group")
    )


@pytest.mark.parametrize("note", [None, "", "about", "about {", "about []", 'about {"attribution": 5}', "all about {}"])
def test_other_notes_tell_none(note: str | None) -> None:
    assert licence_in(note) is None


def test_nothing_in_it_reaches_a_note_but_these_two(folder: Path) -> None:
    place = folder / "t.jsonl.about.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"secret": "/home/x", "notes": ["/home/y"]}))
    (source,) = ingest([folder], folder.parent / "t.duckdb").sources
    assert "/home" not in str(source.note)
