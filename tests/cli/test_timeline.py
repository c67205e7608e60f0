"""``tracestat timeline``: what it prints, which files it writes, and what it refuses."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run
from tests.traces import call, event, round_, write


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    rows = [
        round_("s1", 0, [call("a", 5, 65, tool="Bash", command_skeleton="make"), call("b", 5.5, 7, "Read", index=1)],
               events=[event("user_message", 0)]),
        round_("s1", 1, text=70),
        round_("s2", 0, text=9000, events=[event("user_message", 8000)]),
    ]  # fmt: skip
    return write(tmp_path / "rows.jsonl", rows)


def test_it_prints_the_steps_and_nothing_on_stderr(run: Run, trace: Path) -> None:
    ran = run("timeline", "claude:s1", trace, "--tz", "UTC")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "Session claude:s1"
    assert max(map(len, lines)) <= 80
    steps = [line.split()[:2] for line in lines if re.match(r"\d\d:\d\d:\d\d ", line)]
    assert steps == [["12:00:00", "model"], ["12:00:05", "tool"], ["12:01:05", "model"]]


def test_the_sample_is_synthetic_and_long_tables_are_cut(run: Run) -> None:
    ran = run("timeline", "latest")
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: Session ")
    assert re.search(r"^30 of \d+ steps; --top \d+ shows all$", ran.out, re.MULTILINE)
    assert re.search(r"^2 of \d+ steps", run("timeline", "latest", "--top", "2").out, re.MULTILINE)


def test_all_files_are_written_at_once(run: Run, trace: Path, tmp_path: Path) -> None:
    chart, rows, perfetto = tmp_path / "s.svg", tmp_path / "s.parquet", tmp_path / "s.json"
    ran = run("timeline", "s1", trace, "--chart", chart, "-o", rows, "--perfetto", perfetto, "--json")
    assert ran.code == 0
    assert chart.read_text(encoding="utf-8").startswith("<svg")
    document = json.loads(ran.out)
    assert pl.read_parquet(rows).height == len(document["steps"]) + len(document["bars"])
    slices = [event for event in json.loads(perfetto.read_text(encoding="utf-8"))["traceEvents"] if event["ph"] == "X"]
    assert len(slices) == len(document["steps"]) + len(document["bars"])
    assert "wrote s.json; open it at ui.perfetto.dev" in ran.err


@pytest.mark.parametrize("session", ["longest", "latest"])
def test_no_slice_of_a_thread_overlaps_another(run: Run, session: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    assert run("timeline", session, "--perfetto", path, "--quiet").code == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    threads: dict[int, list[tuple[int, int]]] = {}
    for item in document["traceEvents"]:
        if item["ph"] == "X":
            threads.setdefault(item["tid"], []).append((item["ts"], item["ts"] + item["dur"]))
    assert len(threads) >= 3
    for parts in threads.values():
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(sorted(parts)))
    assert document["otherData"]["synthetic"] is True


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ("s", r"session s: 2 sessions begin so \(claude:s1, claude:s2\); write more of it; `tracestat keys` lists"),
        ("nowhere", r"session nowhere: not in this trace; `tracestat keys` lists sessions"),
        ("", r"session \(empty\): not in this trace"),
    ],
)
def test_a_session_that_is_not_one_is_a_usage_error(run: Run, trace: Path, session: str, said: str) -> None:
    ran = run("timeline", session, trace)
    assert (ran.code, ran.out) == (2, "")
    assert re.search(said, ran.err)
    assert ran.err.count("\n") == 1


def test_a_trace_in_place_of_a_session_is_named(run: Run, trace: Path) -> None:
    ran = run("timeline", trace)
    assert ran.code == 2
    assert "rows.jsonl is a trace, not a session: write tracestat timeline SESSION rows.jsonl" in ran.err


def test_files_that_cannot_be_are_refused_before_anything_is_read(run: Run, trace: Path, tmp_path: Path) -> None:
    for options, said in (
        (["--perfetto", tmp_path / "s.pftrace"], "--perfetto s.pftrace: the name must end in .json"),
        (["--perfetto", tmp_path / "none" / "s.json"], "its folder does not exist"),
        (["--perfetto", tmp_path / "s.json", "-o", tmp_path / "s.json"], "-o names the same file"),
    ):
        ran = run("timeline", "s1", trace, *options)
        assert ran.code in (1, 2)
        assert said in ran.err
        assert not (tmp_path / "s.json").exists()


def test_a_trace_is_never_written_over(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.json", [round_("s1", 0, text=7, events=[event("user_message", 0)])])
    before = path.read_bytes()
    ran = run("timeline", "s1", path, "--perfetto", path)
    assert ran.code == 2
    assert "is read by the command" in ran.err
    assert path.read_bytes() == before


def test_a_session_that_began_at_another_time_has_nothing_to_show(run: Run, trace: Path, tmp_path: Path) -> None:
    ran = run("timeline", "s1", trace, "--since", "2030-01-01", "--chart", tmp_path / "s.html")
    assert ran.code == 0
    assert "none began in this time; it began at 2026-03-02 12:00 UTC" in ran.out
    assert (tmp_path / "s.html").exists()
