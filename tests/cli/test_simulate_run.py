"""``tracestat simulate run`` and ``simulate calibrate`` as a user meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run
from tests.simulate.sessions import agents, constants_file
from tests.traces import write

SMALL = (
    *("--load", "0.5", "--host-gb", "1", "--hours", "0.02", "--warmup", "10"),
    *("--scale", "none", "--seeds", "1", "--jobs", "1"),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give a store and constants for its tools."""
    from tracestat.ingest import ingest

    folder = tmp_path_factory.mktemp("simulate")
    ingest([write(folder / "rows.jsonl", agents())], folder / "rows.duckdb")
    return folder / "rows.duckdb", constants_file(folder / "c.json")


def given(files: tuple[Path, Path]) -> tuple[str | Path, ...]:
    return (files[0], "--constants", files[1], *SMALL)


def test_help_states_what_it_takes(run: Run) -> None:
    ran = run("simulate", "run", "--help")
    assert ran.code == 0
    assert max(map(len, ran.out.partition("Example:")[0].splitlines())) <= 80
    text = " ".join(ran.out.split())
    for option in (
        *("--policy", "--load", "--host-gb", "--hardware", "--constants", "--hours", "--warmup", "--seeds"),
        *("--human-gap", "--scale", "--eta", "--requests", "--store-path", "--prefill-threshold", "--cap-memory"),
        *("--link", "--host-evict", "--store-when", "--store-holds-blocks", "--load-order", "--chunk-tokens", "--end"),
        *("--granularity", "--max-num-seqs", "--cache-misses", "--reload-ratio", "--change", "--where", "--jobs"),
    ):
        assert option in text
    assert "\n  simulate " in run("--help").out
    listed = run("simulate", "--help").out
    assert "\n  run " in listed
    assert "\n  calibrate " in listed


def test_tables_and_files(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    ran = run(
        *("simulate", "run", *given(files), "--policy", "P2-R,P0", "--store-path", "native", "--link", "duplex"),
        *("-o", tmp_path / "o.parquet", "--chart", tmp_path / "o.svg", "--requests", tmp_path / "r.parquet"),
    )
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Wait for the first token after a tool, s\nload x0.5: 4 sessions at once, 4 x mean")
    assert "store\npath native" in ran.out or "store path native" in ran.out
    assert "set: link duplex" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    runs = pl.read_parquet(tmp_path / "o.parquet")
    assert runs["policy"].to_list() == ["P1", "P2-R", "P0", "P5-B"]
    assert runs["link"].unique().to_list() == ["duplex"]
    assert pl.read_parquet(tmp_path / "r.parquet")["policy"].unique(maintain_order=True).to_list() == [
        *("P1", "P2-R", "P0", "P5-B"),
    ]
    assert "over that under LRU" in (tmp_path / "o.svg").read_text()
    assert "wrote r.parquet" in ran.err


def test_json_is_one_document(run: Run, files: tuple[Path, Path]) -> None:
    ran = run("simulate", "run", *given(files), "--policy", "P3", "--json", "--quiet", "--eta", "-0.35")
    document = json.loads(ran.out)
    assert ran.err == ""
    assert [group["policy"] for group in document["groups"]] == ["P1", "P3", "P5-B"]
    assert (document["configuration"]["eta"], document["configuration"]["scale_context"]) == (-0.35, None)
    assert document["constants_from"] == "c.json"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--policy", "P77"), 2, "policy P77: no such policy"),
        (("--policy", "x.py:f"), 2, "policy x.py: there is no such file"),
        (("--seeds", "0"), 2, "--seeds 0: give 1 to 10,000"),
        (("--load", "0"), 2, "load 0: give a number above 0"),
        (("--host-gb", "-1"), 2, "host-gb -1: give 0"),
        (("--hours", "0.1", "--warmup", "600"), 2, "warmup 600 s: give less than the 360 s"),
        (("--scale", "0"), 2, "--scale 0: give a whole number of tokens above 0, or none"),
        (("--scale", "big"), 2, "--scale big"),
        (("--store-path", "fast"), 2, "'--store-path'"),
        (("--human-gap", "cap"), 2, "--human-gap cap: give cap:SECONDS"),
        (("--requests", "r.csv"), 2, "--requests r.csv: the name must end in .parquet"),
        (("--requests", "r.parquet", "-o", "r.parquet"), 2, "--requests r.parquet: -o names the same file"),
        (("--where", "provider = 'none such'"), 1, "0 sessions, none with the tokens of all its rounds"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, files: tuple[Path, Path], arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = run("simulate", "run", *given(files), *arguments, "--quiet")
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (None, "constants c.json: cannot be read (No such file or directory)"),
        (lambda text: text[:1000], "constants c.json: is no valid JSON"),
        (lambda text: text.replace('"b_us": 51.5', '"b_us": -51.5'), "c.json: step.b_us is -51.5"),
        (lambda text: text.replace('"last_seconds": 30', '"last_seconds": -30'), "constants c.json: workload."),
    ],
)
def test_a_damaged_file_of_constants_is_one_line(
    run: Run, files: tuple[Path, Path], tmp_path: Path, spoil: object, said: str
) -> None:
    path = tmp_path / "c.json"
    if callable(spoil):
        text = files[1].read_text(encoding="utf-8")
        path.write_text(spoil(text), encoding="utf-8")
        assert path.read_text(encoding="utf-8") != text
    ran = run("simulate", "run", files[0], "--constants", path, *SMALL, "--quiet")
    assert ran.code == 1
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_file_that_is_read_is_not_overwritten(run: Run, files: tuple[Path, Path]) -> None:
    ran = run("simulate", "run", *given(files), "-o", files[1])
    assert ran.code == 2
    assert "-o c.json: this file is read by the command" in ran.err


@pytest.mark.full
def test_an_interrupt_ends_all_processes_without_a_traceback(files: tuple[Path, Path], tmp_path: Path) -> None:
    many = ("--jobs", "2", "--seeds", "400", "--hours", "1", "--warmup", "60", "--requests", tmp_path / "r.parquet")
    process = subprocess.Popen(
        [sys.executable, "-m", "tracestat", "simulate", "run", *map(str, (*given(files), *many))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(12)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err.startswith(b"tracestat: interrupted: no run is kept")
    assert err.count(b"\n") == 1
    assert not list(tmp_path.iterdir())
    left = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    living = [line.split() for line in left.splitlines() if not line.split()[1].startswith("Z")]
    assert str(process.pid) not in {group for group, _ in living}


def test_calibrate(run: Run, tmp_path: Path) -> None:
    ran = run("simulate", "calibrate", "--chart", tmp_path / "c.svg", "-o", tmp_path / "c.csv")
    assert ran.code == 0
    assert ran.out.startswith("Calibration of rtx4090-llama3.1-8b-fp8\n")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "15 of 15 timings within 3 % or 4 ms" in ran.out
    assert pl.read_csv(tmp_path / "c.csv").height == 15
    assert "against its timings" in (tmp_path / "c.svg").read_text()
    document = json.loads(run("simulate", "calibrate", "--hardware", "h100like-llama3.1-8b-fp8", "--json").out)
    assert (document["timings"], document["rms"], document["trace"]) == ([], None, None)
    assert document["ladder"]["ratio"]["lmcache"] == pytest.approx(11.6, abs=0.05)
    bad = run("simulate", "calibrate", "--hardware", "none-such")
    assert (bad.code, bad.out) == (2, "")
    assert "hardware none-such: not known" in bad.err
