"""``simulate sweep`` and ``simulate verdict`` as a user calls them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("finished", [False, True])
def test_a_request_to_end_is_an_interrupt(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, finished: bool
) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]

    def stopped(*_: Any, **__: Any) -> None:
        (tmp_path / "r.parquet.parts").mkdir()
        if finished:
            (tmp_path / "r.parquet.parts" / "000000.parquet").touch()
        signal.raise_signal(number)

    monkeypatch.setattr(tracestat, "sweep", stopped)
    ran = run("simulate", "sweep", "eta", "--quiet", "-o", tmp_path / "r.parquet")
    assert (ran.code, ran.out, ran.err.count("\n")) == (130, "", 1)
    said = "finished runs are kept in r.parquet.parts; the same command goes on" if finished else "no run was finished"
    assert said in ran.err
    assert [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path, number: int) -> None:
    """Killed without a word, it leaves processes behind that end before their next run, and parts that are whole."""
    (tmp_path / "own.toml").write_text(OWN.replace("hours = 0.01", "hours = 0.2").replace("seeds = 1", "seeds = 2000"))
    tracestat.export_constants(None, tmp_path / "c.json")
    command = ("simulate", "sweep", "own.toml", "--constants", "c.json", "-o", "r.parquet")
    process = subprocess.Popen(
        [sys.executable, "-m", "tracestat", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )

    def living() -> list[str]:
        left = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in left.splitlines()]
        return [stat for group, stat in rows if int(group) == process.pid and not stat.startswith("Z")]

    end = time.monotonic() + 120
    while not list((tmp_path / "r.parquet.parts").glob("*.parquet")) and time.monotonic() < end:
        time.sleep(0.2)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGTERM else -number)
    assert (b"the same command goes on from there" in err) == (number == signal.SIGTERM)
    while living() and time.monotonic() < end + 60:
        time.sleep(0.2)
    assert not living()
    assert list((tmp_path / "r.parquet.parts").glob("*.parquet"))
