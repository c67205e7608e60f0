from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_tables_fit_80_columns_and_say_what_holds_means(run: Run) -> None:
    ran = run("fit", "--quiet", "--where", "tool_class = 'shell'")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    text = " ".join(ran.out.split())
    assert "SYNTHETIC: Laws of pauses, by provider" in text
    assert "holds: widest row of 5 or more of them" in text
    assert "generalised gamma" in text
    assert "best" in text


@pytest.mark.full
def test_many_groups_have_one_line_each(run: Run) -> None:
    ran = run("fit", "--quiet", "--by", "tool_class")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "The law that fits best" in ran.out


def test_json_and_files(run: Run, tmp_path: Path) -> None:
    frame, chart = tmp_path / "laws.csv", tmp_path / "laws.svg"
    chosen = ("--by", "none", "--where", "tool_class = 'edit'", "--above", "0.02")
    ran = run("fit", "--json", "--quiet", *chosen, "-o", frame, "--chart", chart)
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["schema"] == "tracestat.fit/1"
    assert {group["above"] for group in document["groups"]} == {0.02}
    assert "family" in frame.read_text(encoding="utf-8")
    assert "quantile of the law" in chart.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--above", "0.001"], "--above 0.001: give 0.0055 to 10000 seconds"),
        (["--by", "nonsense"], "nonsense"),
        (["--definition", "tracelab", "--unit", "pause"], "fixes unit call"),
    ],
)
def test_wrong_choices_are_one_line(run: Run, arguments: list[str], words: str) -> None:
    ran = run("fit", "--quiet", *arguments)
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_an_empty_choice_is_an_answer(run: Run) -> None:
    ran = run("fit", "--quiet", "--where", "tool = 'none such'")
    assert ran.code == 0
    assert "nothing is left to count" in ran.out


def test_the_real_trace(run: Run, real_trace: Path) -> None:
    ran = run("fit", real_trace, "--quiet")
    assert ran.code == 0
    assert "Where laws hold, claude" in ran.out
    assert "codex: " in ran.out
    assert "fewer than 20 developers" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
