"""``tracestat hazard --unit command``: ends between two polls on screen, in JSON and in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.full
def test_tables_say_what_is_known_of_ends_between_polls(run: Run) -> None:
    ran = run("hazard", "--unit", "command", "--where", "provider = 'codex'")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    words = " ".join(ran.out.split())
    assert "commands ended between two polls; their end is known to an interval" in words
    assert "that ended between two polls, those expected in the bin, rounded" in words
    document = json.loads(run("hazard", "--unit", "command", "--json", "--quiet").out)
    by = {group["key"]["provider"]: group for group in document["groups"]}
    assert by["claude"]["n_between"] == 0
    assert f"{by['codex']['n_between']:,} of {by['codex']['n']:,} commands" in words


@pytest.mark.parametrize("ending", ["csv", "svg"])
@pytest.mark.first_case
def test_files(run: Run, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"commands.{ending}"
    option = "--chart" if ending == "svg" else "-o"
    assert run("hazard", "--unit", "command", option, out, "--quiet").code == 0
    text = out.read_text(encoding="utf-8")
    assert "hazard" in text if ending == "csv" else "ended between two polls" in text


@pytest.mark.parametrize("command", ["survival", "residual", "summary"])
@pytest.mark.first_case
def test_other_commands_say_in_which_direction_they_err(run: Run, command: str) -> None:
    words = " ".join(run(command, "--unit", "command").out.split())
    assert "ended between two polls, and are timed at the later one:" in words
    assert "ended between two polls" not in run(command, "--unit", "pause").out
