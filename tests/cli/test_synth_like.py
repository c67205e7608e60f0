from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_says_what_was_asked_and_written(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    ran = run("synth", "-o", out, "--like", "tracelab", "--sessions", "60", "--shift", "article.lt1s=0.9", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["synthetic"] is True
    notes = "\n".join(document["notes"])
    assert "made like TraceLab v0.0.2" in notes
    assert "article.lt1s: shifted from 0.7 by 0.9, 0.63 asked" in notes
    truth = json.loads((tmp_path / "a.truth.json").read_text(encoding="utf-8"))
    figure = next(f for f in truth["figures"] if f["id"] == "article.lt1s")
    assert (figure["shift"], figure["asked"], figure["met"]) == (0.9, 0.63, True)


def test_remarks_go_to_stderr(run: Run, tmp_path: Path) -> None:
    arguments = ("synth", "-o", tmp_path / "a.jsonl", "--like", "tracelab", "--sessions", "40")
    ran = run(*arguments)
    assert ran.out.startswith("SYNTHETIC: 40 sessions, ")
    assert "figures are as asked" in ran.err
    assert run(*arguments, "--quiet").err == ""


def test_wrong_requests_are_one_line(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    for arguments in (
        ["--like", "other"],
        ["--shift", "article.lt1s=0.9"],
        ["--like", "tracelab", "--shift", "article.none=2"],
        ["--like", "tracelab", "--shift", "article.lt1s"],
        ["--like", "tracelab", "--shift", "article.gt1m.time=2"],
        ["--like", "tracelab", "--shift", "article.eta=0.9", "--shift", "article.eta=0.8"],
        ["--like", "tracelab", "--developers", "30"],
        ["--like", "tracelab", "--sessions", "5"],
    ):
        ran = run("synth", "-o", out, *arguments)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), arguments
    assert not out.exists()
