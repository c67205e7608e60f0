"""A path is only ever a path: whatever is in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.ingest.helpers import lines, sample, tables, tracelab_database, tracelab_parquet
from tests.traces import call, round_
from tracestat.errors import TracestatError
from tracestat.ingest import ingest
from tracestat.ingest.cached import cached_store
from tracestat.store import open_store

NAMES = [
    "it's",
    "a; DROP TABLE rounds; --",
    'say "x"',
    "two  spaces ",
    "über-日本-\U0001f600",
    "$path",
    "{keys} {where}",
    "%s %d",
    "*",
    "a[0-9]?",
    "-o",
    "back\\slash",
    "new\nline",
    ":memory:",
    "md:x",
    "x" * 200,
]


def made_in(folder: Path, name: str) -> tuple[Path, Path]:
    """Give a source and the store made of it, both of that name."""
    folder.mkdir()
    source, out = folder / name, folder / f"{name}.duckdb"
    source.write_bytes(lines(sample()))
    report = ingest([source], out)
    assert report.sources[0].path == name
    assert len(tables(out)["rounds"]) == 4
    return source, out


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_any_name(name: str, tmp_path: Path) -> None:
    made_in(tmp_path / name, name)


def test_any_names_at_once(tmp_path: Path) -> None:
    rows = {name: [round_(f"s{n}", 0, [call(f"c{n}", 0, 1)], text=0)] for n, name in enumerate(NAMES)}
    for name, own in rows.items():
        (tmp_path / name).write_bytes(lines(own))
    report = ingest([tmp_path / name for name in NAMES], tmp_path / "out.duckdb")
    assert [(source.path, source.kept) for source in report.sources] == [(name, 1) for name in NAMES]
    for name in NAMES:
        with open_store(shutil.copyfile(tmp_path / "out.duckdb", tmp_path / f"{name}.duckdb")) as trace:
            assert trace.counts["rounds"] == len(NAMES)


@pytest.mark.parametrize("name", ["a; DROP 'TABLE' rounds; --", "*\\[0-9]?{where}$path", "new\nline"])
@pytest.mark.first_case
def test_any_name_of_any_form(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    source, out = made_in(folder, name)
    database = tracelab_database(tmp_path / "released", sample())  # DuckDB itself cannot make every one of these
    ingest([database.rename(folder / f"{name} released")], folder / "out.duckdb")
    assert tables(folder / "out.duckdb") == tables(out)
    parquet = tracelab_parquet(tmp_path / "parquet", sample()).rename(folder / "parquet")
    ingest([parquet], folder / "out2.duckdb")
    assert tables(folder / "out2.duckdb") == tables(out)
    assert tables(cached_store(source)) == tables(out)


def test_a_path_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(lines(sample()))
    ingest(["a.jsonl"], "out.duckdb")
    with open_store("out.duckdb") as trace:
        assert trace.counts["rounds"] == 4
    assert ingest([tmp_path / "a.jsonl"], tmp_path / "out.duckdb").changed is False


def test_a_message_names_the_file_and_not_the_folder(tmp_path: Path) -> None:
    source = tmp_path / "client-x" / "a.jsonl"
    source.parent.mkdir()
    source.write_bytes(b"hello")
    with pytest.raises(TracestatError) as caught:
        ingest([source], tmp_path / "out.duckdb")
    assert "client-x" not in str(caught.value)
