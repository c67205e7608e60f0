"""What every command that writes a file of a trace does, apart from what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.traces import round_, write
from tracestat.charts.tables import Column, Table
from tracestat.cli.exporting import export_head, exporting, files_of, licence_note, tell
from tracestat.cli.options import Located, Selected, Source, Whole
from tracestat.errors import TracestatError, UsageError
from tracestat.export.attribution import Attribution, write_about

ABOUT = Attribution("t", "sha256:0", synthetic=False, licence="CC-BY-4.0", attribution="Zhu et al.", changes="none")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.jsonl", [round_("s", 0, text=1)])


@pytest.mark.parametrize("kind", [Source, Whole, Located, Selected])
def test_any_way_to_name_a_trace_opens_it(tmp_path: Path, trace: Path, kind: type[Source] | type[Located]) -> None:
    with exporting(kind(trace=trace), tmp_path / "out.json", (".json",), json=False, quiet=True) as read:
        head = export_head(read, "export_x", notes=["a note"], seed=3)
    assert (head["schema"], head["seed"], head["notes"], head["synthetic"]) == (
        "tracestat.export_x/1",
        3,
        ["a note"],
        False,
    )


@pytest.mark.parametrize(
    ("name", "error", "what"),
    [
        ("out.csv", UsageError, "must end in .jsonl"),
        ("none/out.jsonl", TracestatError, "folder does not exist"),
        ("trace.jsonl", UsageError, "read by the command"),
        ("constants.jsonl", UsageError, "read by the command"),
        ("classes.jsonl", UsageError, "read by the command"),
    ],
)
def test_a_wrong_place_is_refused_before_anything_is_read(
    tmp_path: Path, trace: Path, name: str, error: type[Exception], what: str
) -> None:
    for other in ("constants.jsonl", "classes.jsonl"):
        (tmp_path / other).write_text("not read")
    chosen = Whole(trace, classes=tmp_path / "classes.jsonl")
    inputs = (tmp_path / "constants.jsonl", None)
    with (
        pytest.raises(error, match=what),
        exporting(chosen, tmp_path / name, (".jsonl",), json=False, quiet=True, inputs=inputs),
    ):
        raise AssertionError


def test_the_file_beside_may_not_replace_an_input_either(tmp_path: Path, trace: Path) -> None:
    read = trace.rename(tmp_path / "out.jsonl.about.json")
    with (
        pytest.raises(UsageError, match=r"out.jsonl.about.json: this file is read"),
        exporting(Source(read), tmp_path / "out.jsonl", (".jsonl",), json=False, quiet=True),
    ):
        raise AssertionError
    with exporting(Source(read), tmp_path / "out.jsonl", (".jsonl",), json=False, quiet=True, beside=False) as opened:
        assert opened.counts["rounds"] == 1


def test_files_and_notes_are_told_under_a_title_that_marks_invented_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("{}\n")
    write_about(path, ABOUT)
    with exporting(Source(), tmp_path / "new.jsonl", (".jsonl",), json=False, quiet=True) as sample:
        head = export_head(sample, "export_x", notes=[licence_note(ABOUT)])
    files = files_of(path, rows=1)
    assert [file["path"] for file in files] == ["out.jsonl", "out.jsonl.about.json"]
    assert len(files_of(path, rows=1, beside=False)) == 1
    tell(head, files, "1 row", json=False, tables=[Table("before", (Column("a"),), (("7",),))])
    out = capsys.readouterr().out
    assert out.index("before") < out.index("SYNTHETIC: 1 row") < out.index("out.jsonl") < out.index("licence CC-BY-4.0")
    tell(head, files, "1 row", json=True, keys=5)
    document = json.loads(capsys.readouterr().out)
    assert (document["files"], document["keys"], document["synthetic"]) == (files, 5, True)


def test_an_unknown_licence_is_said_with_what_to_do() -> None:
    about = Attribution("t", "sha256:0", synthetic=False, licence=None, attribution="ask", changes="none")
    assert licence_note(about) == "licence unknown (--licence TEXT if you know it): ask"
