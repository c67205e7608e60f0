"""The answers of ``simulate run`` and ``simulate calibrate``: sums by hand, what is written, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import tracestat
from tests.simulate.policies.rounds import constants
from tests.simulate.sessions import agents
from tests.test_schemas import wrong
from tests.traces import write
from tracestat.api import simulation_runs
from tracestat.charts.tables import tables_of, to_text
from tracestat.durations.sequence import session_sequence
from tracestat.errors import TracestatError, UsageError
from tracestat.hardware import hardware_to_toml, load_hardware
from tracestat.results import SimulationResult
from tracestat.simulate.runs import RUN_COLUMNS
from tracestat.store import Trace, open_store

SMALL: dict[str, Any] = {
    "load": 0.5,
    "host_gb": 1.0,
    "hours": 0.05,
    "warmup_s": 20,
    "scale_context": None,
    "change": "pool_tokens=0.1",
}
ASKED = ("P0", "P2", "P3")
USUAL = "developer LIKE 'user_%'"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    """Usual sessions, and odd ones: prompts that no pool holds, answers without tokens, no tools."""
    from tracestat.ingest import ingest

    large = [row | {"user": "large"} for row in agents(4, 3, name="a", append=30_000)]
    mute = [row | {"user": "mute", "output_tokens": 0} for row in agents(4, 3, name="b")]
    alone = [row | {"user": "alone", "tools": []} for row in agents(4, 3, name="c")]
    for row in alone:
        row["timing_events"] = [e for e in row["timing_events"] if e["event_type"] == "user_message"]
    folder = tmp_path_factory.mktemp("simulation")
    ingest([write(folder / "rows.jsonl", [*agents(), *large, *mute, *alone])], folder / "rows.duckdb")
    with open_store(folder / "rows.duckdb") as opened:
        yield opened


def play(trace: Trace, *policies: str, seeds: int = 1, **changes: Any) -> SimulationResult:
    given = {"constants": constants(), "jobs": 1, "where": USUAL, **SMALL, **changes}
    return tracestat.run_simulation(trace, policies or ("P1",), seeds=seeds, **given)


@pytest.fixture(scope="module")
def written(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> tuple[SimulationResult, Path]:
    path = tmp_path_factory.mktemp("requests") / "r.parquet"
    return play(trace, *ASKED, seeds=5, requests=path, licence="CC0-1.0", attribution="nobody"), path


def column(result: SimulationResult, policy: str, name: str) -> np.ndarray:
    rows = result.runs.filter(pl.col("policy") == policy).sort("seed")
    return rows[name].cast(float).to_numpy()


def test_each_policy_is_beside_lru_and_the_oracle(written: tuple[SimulationResult, Path]) -> None:
    result, _ = written
    assert [group.policy for group in result.groups] == ["P1", *ASKED, "P5-B"]
    assert result.runs.columns == list(RUN_COLUMNS)
    assert result.runs.height == 5 * 5
    assert (result.sessions, result.seeds, result.load, result.pool_tokens) == (4, 5, 0.5, 8_128)
    assert result.groups[1].host_bytes == 0
    assert {group.host_bytes for group in result.groups[2:]} == {10**9}
    assert (result.groups[0].ratio, result.groups[0].captured, result.groups[0].gain) == ({}, {}, None)
    assert result.groups[0].n_developers == 3
    assert wrong("simulate_run", json.loads(json.dumps(result.to_dict()))) == []
    assert "runs" not in result.to_dict()


def test_the_numbers_are_those_of_the_runs(written: tuple[SimulationResult, Path]) -> None:
    result, _ = written
    for group in result.groups:
        p99, base, best = (column(result, name, "post_tool_p99") for name in (group.policy, "P1", "P5-B"))
        found = group.ttft["p99"]
        assert (found.value, found.least, found.most) == (np.median(p99), p99.min(), p99.max())
        assert found.low is not None and found.least <= found.low <= found.value <= found.high <= found.most  # noqa: PT018
        assert found.method == "seed bootstrap"
        assert group.n == column(result, group.policy, "post_tool_n").sum() + group.n_censored
        assert sum(group.shares.values()) == pytest.approx(1)
        assert group.stored_bytes == pytest.approx(131_072 * column(result, group.policy, "stored_tokens").mean())
        if group.policy == "P1":
            continue
        assert group.ratio["p99"].value == pytest.approx(np.median(p99 / base))
        assert group.ratio["p99"].least == pytest.approx((p99 / base).min())
        share = group.captured["p99"].share.value
        if (base - best).mean() > 0:
            assert share == pytest.approx((base - p99).mean() / (base - best).mean())
        else:
            assert (share, group.captured["p99"].reason) == (None, "not defined: the oracle gains nothing")
        gain = group.gain
        assert gain is not None
        assert gain.reload + gain.queueing + gain.compute == pytest.approx(gain.total)
        means = column(result, "P1", "post_tool_mean") - column(result, group.policy, "post_tool_mean")
        assert gain.total == pytest.approx(means.mean())
    assert result.groups[-1].captured["mean"].share.value == pytest.approx(1)
    read = {group.policy: group.queueing_seconds for group in result.groups}
    assert [name for name, seconds in read.items() if seconds is not None] == ["P2"]


def test_requests_say_what_the_summary_counts(written: tuple[SimulationResult, Path], trace: Trace) -> None:
    result, path = written
    frame = pl.read_parquet(path)
    for group in result.groups:
        mine = frame.filter(pl.col("policy") == group.policy, pl.col("in_window"), pl.col("before") == "tool")
        assert mine.height == group.n
        assert mine["ttft_s"].null_count() == group.n_censored
        waits = np.sort(mine.filter(pl.col("seed") == 3)["ttft_s"].drop_nulls().to_numpy())
        assert column(result, group.policy, "post_tool_p99")[3] == waits[int(np.ceil(0.99 * waits.size - 1e-9)) - 1]
    assert frame.filter(pl.col("before") == "tool")["tool_class"].null_count() == 0
    assert frame.filter(pl.col("before") != "tool")["tool_class"].drop_nulls().is_empty()
    # rounds of the store: their tokens are in the prompts, and the tool of the round before was waited for
    steps, _ = session_sequence(trace, by=None)
    before = pl.col("tool_class").shift(1).over("session_pk").alias("class_before")
    prompt = (pl.col("prefix_tokens") + pl.col("append_tokens")).alias("prompt")
    both = frame.join(steps.select("round_pk", "session_pk", before, prompt), on=["round_pk", "session_pk"])
    assert both.height == frame.height
    served = both.filter(pl.col("ttft_s").is_not_null())
    assert served.select((pl.col("gpu_hit") + pl.col("host_hit") + pl.col("computed") == pl.col("prompt")).all()).item()
    assert both.filter(pl.col("before") == "tool").select((pl.col("tool_class") == pl.col("class_before")).all()).item()
    metadata = json.loads(pq.read_schema(path).metadata[b"tracestat"])
    assert metadata["attribution"]["licence"] == "CC0-1.0"
    assert metadata["columns"]["ttft_s"]["unit"] == "seconds"
    assert metadata["made"]["configuration"]["load"] == 0.5
    assert set(metadata["columns"]) == set(frame.columns)


def test_few_seeds_have_no_interval_and_say_so(trace: Trace) -> None:
    result = play(trace, seeds=2)
    oracle = result.groups[1]
    assert [group.policy for group in result.groups] == ["P1", "P5-B"]
    assert oracle.ratio["p99"].value is not None
    assert oracle.ratio["p99"].low is None
    assert oracle.captured["mean"].reason == "no interval: 2 seeds, 5 needed"
    assert any("2 seeds: the p99 of few seeds decides nothing" in note for note in result.head.notes)
    text = to_text(tables_of(result))
    assert "below 5 seeds there are no intervals" in text
    assert max(map(len, text.splitlines())) <= 80


def test_processes_change_nothing(trace: Trace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alone = play(trace, seeds=2, hours=0.02, requests=tmp_path / "1.parquet")
    monkeypatch.setattr(simulation_runs, "_PATIENCE_SECONDS", 0.0)
    told: list[tuple[int, int]] = []
    beside = play(
        trace, seeds=2, hours=0.02, requests=tmp_path / "2.parquet", jobs=2, progress=lambda *x: told.append(x)
    )
    assert beside.to_dict() == alone.to_dict()
    assert beside.runs.equals(alone.runs)
    assert pl.read_parquet(tmp_path / "1.parquet").equals(pl.read_parquet(tmp_path / "2.parquet"))
    assert told[-1] == (4, 4)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_without_constants_policies_learn_from_earlier_sessions(trace: Trace) -> None:
    result = play(trace, "P3", constants=None, hours=0.02)
    assert result.counts["sessions"] == 4
    assert result.head.notes[0].startswith("policies learn from what this trace holds before 2026-03-02 12:26 UTC")
    assert not result.same_trace
    assert any("4 at once" in note for note in result.head.notes) is False


def test_what_cannot_run_and_what_says_nothing_is_counted(trace: Trace) -> None:
    small = {"hours": 0.01, "warmup_s": 5, "change": "", "load": 1}
    large = play(trace, where="developer = 'large'", **small)
    assert large.counts["over_pool_sessions"] == 4
    assert any("4 sessions of 4 with a prompt larger than the pool" in note for note in large.head.notes)
    assert any("4 sessions for 8 at once" in note for note in large.head.notes)
    assert large.groups[0].too_large > 0
    mute = play(trace, where="developer = 'mute'", **small)
    assert any("12 outputs of less than one token counted as one" in note for note in mute.head.notes)
    assert mute.groups[0].n > 0
    silent = play(trace, where="developer = 'alone'", **small)
    assert silent.groups[0].n == 0
    assert (silent.groups[1].gain, silent.groups[1].captured_share.value) == (None, None)
    assert any("no request after a tool" in note for note in silent.groups[0].notes)
    assert wrong("simulate_run", json.loads(json.dumps(silent.to_dict()))) == []
    assert "nothing to draw" in json.dumps(silent.chart().to_dict())
    assert "not defined" in to_text(tables_of(silent))


def test_nothing_to_play_is_an_error_of_one_line(trace: Trace) -> None:
    nobody = {"where": "provider = 'none such'"}
    with pytest.raises(TracestatError, match="0 sessions, none with the tokens of all its rounds: nothing to simulate"):
        play(trace, **nobody)
    with pytest.raises(TracestatError, match="0 sessions with a time, too few to part"):
        play(trace, constants=None, **nobody)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policies": "P77"}, "policy P77: no such policy; there are P0, P1"),
        ({"policies": "P2,,P3"}, "--policy: an empty name"),
        ({"policies": []}, "--policy: an empty name"),
        ({"policies": "none.py:f"}, "policy none.py: there is no such file"),
        ({"policies": ["a/x.py:f", "b/x.py:f"]}, "--policy x.py:f: two files of this name"),
        ({"seeds": 0}, "--seeds 0: give 1 to 10,000"),
        ({"seeds": True}, "--seeds True"),
        ({"jobs": 0}, "--jobs 0"),
        ({"load": 0}, "load 0: give a number above 0"),
        ({"load": float("nan")}, "load nan: give a number above 0"),
        ({"load": 0.01}, "load 0.01: that is 0 sessions at once"),
        ({"host_gb": -1.0}, "host-gb -1: give 0 (no host tier) or more"),
        ({"host_gb": 1e12}, "host-gb 1e+12: give at most 1,000,000"),
        ({"host_gb": "20"}, "host_gb 20: give a number"),
        ({"warmup_s": 180}, "warmup 180 s: give less than the 180 s that are simulated"),
        ({"hours": 0}, "hours 0"),
        ({"eta": 3.0}, "eta 3: give a correlation, -1 to 1"),
        ({"scale_context": 1.5}, "scale_context 1.5: give a whole number or none"),
        ({"link": "fast"}, "link fast: give shared or duplex or none"),
        ({"chunk_tokens": 17}, "chunk_tokens: a multiple of the block of 16 tokens"),
        ({"change": "step.q=2"}, "change step.q=2: no such constant"),
        ({"change": "step.base=-1"}, "change step.base=-1: write NAME=FACTOR"),
        ({"human_gap": "cap:0"}, "--human-gap cap:0"),
        ({"hardware": "none-such"}, "hardware none-such: not known"),
        ({"colour": "red"}, "colour: no such setting of a simulation; there are load, host_gb"),
        ({"requests": "r.csv"}, "r.csv: the name must end in .parquet"),
        ({"where": "tool = 'Bash'"}, "--where"),
    ],
)
def test_bad_input_is_one_line(trace: Trace, changes: dict[str, Any], said: str) -> None:
    given = {"policies": ("P1",), "constants": constants(), "jobs": 1, **SMALL, **changes}
    with pytest.raises(UsageError) as caught:
        tracestat.run_simulation(trace, given.pop("policies"), **given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_are_named_without_their_folders(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(hardware_to_toml(load_hardware()), encoding="utf-8")
    code = "from tracestat.simulate.policies import p1\ndef none(view, constants):\n    return p1(view, constants)\n"
    (tmp_path / "x.py").write_text(code, encoding="utf-8")
    result = play(trace, f"{tmp_path / 'x.py'}:none", hardware=str(tmp_path / "mine.toml"), hours=0.02)
    document = json.dumps(result.to_dict()) + repr(result) + json.dumps(result.chart().to_dict())
    assert str(tmp_path) not in document
    assert (result.hardware, result.groups[1].policy) == ("mine", "x.py:none")
    assert result.groups[1].ratio["p99"].value == 1
    assert str(tmp_path) not in result.to_frame().write_csv()


def test_a_policy_that_fails_is_one_line(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("def bad(view, constants):\n    return 1 / 0\n", encoding="utf-8")
    with pytest.raises(
        TracestatError, match=r"policy .*x\.py:bad: fails \(ZeroDivisionError: division by zero\)"
    ) as caught:
        play(trace, f"{tmp_path / 'x.py'}:bad", hours=0.02)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    ("hardware", "n", "within", "rms", "ratio"),
    [
        ("rtx4090-llama3.1-8b-fp8", 15, 15, 0.023, 17.4),
        ("rtx4090-llama3.1-8b-fp8-roofline", 15, 13, 0.037, 17.5),
        ("h100like-llama3.1-8b-fp8", 0, 0, None, 11.6),
    ],
)
def test_calibration(hardware: str, n: int, within: int, rms: float | None, ratio: float) -> None:
    result = tracestat.calibrate(hardware)
    assert (len(result.timings), result.n_within) == (n, within)
    assert (rms is None and result.rms is None) or result.rms == pytest.approx(rms, abs=5e-4)
    assert result.ladder.ratio["lmcache"] == pytest.approx(ratio, abs=0.05)
    assert wrong("simulate_calibrate", json.loads(json.dumps(result.to_dict()))) == []
    assert result.to_frame().height == n
    assert max(map(len, repr(result).splitlines())) <= 80
    assert result.chart().to_dict()
    fitted = {constant.name: constant for constant in result.constants}
    if hardware == "rtx4090-llama3.1-8b-fp8":
        # the table of residuals of the specification
        off = {(t.kind, t.tokens): 100 * t.off_share for t in result.timings}
        assert off["cold", 1024] == pytest.approx(-2.0, abs=0.05)
        assert off["cold_lmcache", 1024] == pytest.approx(4.4, abs=0.05)
        assert off["reload_native", 32768] == pytest.approx(2.4, abs=0.05)
        b = fitted["step.b_us"]
        assert b.low < b.in_file == 51.5 < b.high  # type: ignore[operator]
        assert fitted["store.lmcache.us_per_token"].fitted == pytest.approx(8.27, abs=0.01)
        assert {"step.s_ms", "step.r_us", "max_batched_tokens"} <= {item.name for item in result.not_told}
    else:
        assert not fitted
        assert any("no fit here" in note or "no timings" in note for note in result.head.notes)


def test_calibration_of_a_pool_that_is_smaller_than_the_ladder() -> None:
    from dataclasses import replace

    result = tracestat.calibrate(replace(load_hardware(), pool_tokens=16_000))
    assert (result.ladder.resident, result.ladder.recompute, result.ladder.ratio["lmcache"]) == (None, None, None)
    assert any("larger than the pool of 16,000" in note for note in result.head.notes)
    with pytest.raises(UsageError, match="none-such"):
        tracestat.calibrate("none-such")
