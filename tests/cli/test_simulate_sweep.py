"""``simulate sweep`` and ``simulate verdict`` as a user calls them."""

from __future__ import annotations

from pathlib import Path

import tracestat
from tests.cli.conftest import Run

OWN = """
name = "own"
about = ""
seeds = 1
verdict = "none"
[[runs]]
policy = ["P0", "P1"]
load = 1
hours = 0.01
warmup_s = 5
"""


def test_a_grid_of_ones_own_and_its_verdict(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    tracestat.export_constants(None, tmp_path / "c.json")
    table = tmp_path / "r.parquet"
    made = run("simulate", "sweep", tmp_path / "own.toml", "--constants", tmp_path / "c.json", "-o", table)
    assert made.code == 0, made.err
    assert "wrote r.parquet, 2 runs" in made.err
    told = run("simulate", "verdict", table)
    assert (told.code, told.out) == (0, made.out)


def test_wrong_use_is_one_line(run: Run, tmp_path: Path) -> None:
    wrong = run("simulate", "sweep", "nothing", "--quiet", "-o", tmp_path / "x.parquet")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "grid nothing: not known" in wrong.err
    wrong = run("simulate", "sweep", "eta", "--quiet", "-o", tmp_path / "x.csv")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    wrong = run("simulate", "verdict", tmp_path / "x.parquet", "--quiet")
    assert (wrong.code, wrong.err.count("\n")) == (1, 1)
