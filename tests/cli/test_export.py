from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.export.trips import store_of_tables
from tests.traces import call, round_, write


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.jsonl", [round_("s", i, [call(f"c{i}", 1, 2)], text=0.5) for i in range(3)])


def test_document_describes_the_file(run: Run, trace: Path, tmp_path: Path) -> None:
    ran = run("export", "tracelab", trace, "-o", tmp_path / "out.jsonl.gz", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["schema"] == "tracestat.export_tracelab/1"
    assert (document["trace"]["rounds"], document["synthetic"]) == (3, False)
    (note,) = document["notes"]
    assert note.startswith("licence unknown (--licence TEXT")
    content = (tmp_path / "out.jsonl.gz").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    about = (tmp_path / "out.jsonl.gz.about.json").read_bytes()
    assert document["files"] == [
        {"path": "out.jsonl.gz", "rows": 3, "bytes": len(content), "sha256": digest},
        {
            "path": "out.jsonl.gz.about.json",
            "rows": None,
            "bytes": len(about),
            "sha256": hashlib.sha256(about).hexdigest(),
        },
    ]
    assert json.loads(about)["sha256"] == digest
    assert gzip.decompress(content).count(b"\n") == 3


def test_what_comes_back_is_the_same_trace(run: Run, trace: Path, tmp_path: Path) -> None:
    assert run("export", "tracelab", trace, "-o", tmp_path / "out.jsonl.zst", "--quiet").code == 0
    answers = [json.loads(run("calls", path, "--json").out)["calls"] for path in (trace, tmp_path / "out.jsonl.zst")]
    assert answers[0] == answers[1]
    assert len(answers[0]) == 3


def test_licence_and_attribution_travel_through_an_export_and_back(run: Run, trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    words = ("--licence", "CC-BY-4.0", "--attribution", "the Zürich group")
    ran = run("export", "tracelab", trace, "-o", folder / "out.jsonl.gz", *words)
    assert "licence CC-BY-4.0; attribution: the Zürich group" in " ".join(ran.out.split())
    ran = run("ingest", folder, "-o", tmp_path / "again.duckdb", "--json")
    assert (ran.code, ran.err) == (0, "")
    (source,) = json.loads(ran.out)["sources"]
    assert (source["path"], source["rejected"]) == ("out.jsonl.gz", 0)
    assert run("export", "tracelab", tmp_path / "again.duckdb", "-o", tmp_path / "second.jsonl.gz").code == 0
    about = json.loads((tmp_path / "second.jsonl.gz.about.json").read_text())
    assert (about["licence"], about["attribution"]) == ("CC-BY-4.0", "the Zürich group")
    assert str(tmp_path) not in (tmp_path / "second.jsonl.gz.about.json").read_text()


def test_table_counts_what_was_written(run: Run, trace: Path, tmp_path: Path) -> None:
    ran = run("export", "tracelab", trace, "-o", tmp_path / "out.jsonl")
    assert ran.out.startswith("3 rounds, 3 tool calls, 6 timing events\n")
    assert "out.jsonl" in ran.out
    assert ran.err == ""


@pytest.mark.full
def test_without_a_trace_the_sample_is_written_and_said_to_be_synthetic(run: Run, tmp_path: Path) -> None:
    ran = run("export", "tracelab", "-o", tmp_path / "out.jsonl")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: ")
    assert "bundled sample, which is synthetic" in ran.err
    assert json.loads(run("summary", tmp_path / "out.jsonl", "--json").out)["synthetic"] is True


def test_what_was_rejected_is_told(run: Run, trace: Path, tmp_path: Path) -> None:
    trace.write_text(trace.read_text() + "{}\n")
    arguments = ("export", "tracelab", trace, "-o", tmp_path / "out.jsonl")
    assert "1 row that could not be read from the sources" in " ".join(run(*arguments).out.split())
    note, licence = json.loads(run(*arguments, "--json").out)["notes"]
    assert note.startswith("1 row ")
    assert licence.startswith("licence ")
    assert json.loads((tmp_path / "out.jsonl.about.json").read_text())["notes"] == [note]


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (["-o", "out.csv"], 2, "must end in .jsonl"),
        (["-o", "none/out.jsonl"], 1, "folder does not exist"),
        (["-o", "trace.jsonl"], 2, "read by the command"),
        (["-o", "out.jsonl", "--mine"], 2, "--mine stands in place of a TRACE"),
        ([], 2, "Missing option"),
        (["-o", "out.jsonl", "--licence", " "], 2, "--licence: give one line"),
        (["-o", "out.jsonl", "--attribution", "a\nb"], 2, "--attribution: give one line"),
        (["-o", "out.jsonl", "--where", "tool = 'Bash'"], 2, "--where"),
    ],
    ids=str,
)
def test_wrong_requests_are_one_line(
    run: Run, trace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], code: int, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    (tmp_path / "projects").mkdir()
    before = trace.read_bytes()
    ran = run("export", "tracelab", trace.name, *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert what in ran.err
    assert trace.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["projects", "trace.jsonl"]


def test_a_trace_that_is_not_there_is_one_line(run: Run, tmp_path: Path) -> None:
    ran = run("export", "tracelab", tmp_path / "none.jsonl", "-o", tmp_path / "out.jsonl")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)


def test_help_of_the_group_lists_its_commands(run: Run) -> None:
    assert "\n  tracelab " in run("export", "--help").out
    assert "\n  export " in run("--help").out


def test_a_store_without_rounds_gives_an_empty_file_and_says_so(run: Run, tmp_path: Path) -> None:
    store = store_of_tables(tmp_path / "empty.duckdb", [])
    ran = run("export", "tracelab", store, "-o", tmp_path / "out.jsonl", "--json")
    assert (ran.code, json.loads(ran.out)["notes"][0]) == (0, "no rounds: the file is empty")
    assert (tmp_path / "out.jsonl").read_bytes() == b""
