"""Sweeps: one table whatever the processes and interruptions, and what stands beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracestat
from tracestat.api import sweep as module
from tracestat.api.simulation_inputs import prepare
from tracestat.api.sweep_parts import RUN_SCHEMA, Batch, Parts, batches_of
from tracestat.constants import Constants
from tracestat.errors import TracestatError, UsageError
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.grids import Grid
from tracestat.simulate.runs import Row, run_once

NOTHING = Constants(tracestat.load_hardware(), None)
GRID = Grid("small", "", 20, "none", (Configuration(load=1), Configuration(load=1, policy="P5-B")))
OPTIONS: dict[str, Any] = {"hours": 0.01, "constants": NOTHING}


@pytest.fixture(scope="module")
def trace() -> Iterator[tracestat.Trace]:
    with tracestat.open() as opened:
        yield opened


@pytest.fixture(scope="module")
def whole(trace: tracestat.Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that nobody interrupted."""
    path = tmp_path_factory.mktemp("sweep") / "runs.parquet"
    told: list[tuple[int, int]] = []
    verdict = tracestat.sweep(trace, GRID, path, jobs=1, progress=lambda *at: told.append(at), **OPTIONS)
    assert (verdict.runs, verdict.seeds, verdict.configurations) == (40, 20, 1)
    assert told == [(0, 40), (16, 40), (32, 40), (40, 40)]
    assert [file.name for file in path.parent.iterdir()] == ["runs.parquet"]
    return path


def test_a_row_is_the_run_alone(trace: tracestat.Trace, whole: Path) -> None:
    frame = pl.read_parquet(whole)
    assert dict(frame.schema) == dict(RUN_SCHEMA)
    one = Configuration(load=1, policy="P5-B", hours=0.01, warmup_s=6.0)
    prepared = prepare(trace, [one], constants=NOTHING)
    alone = run_once(one, 7, prepared.inputs(one), prepared.machines[one.hardware]).row
    (row,) = frame.filter(pl.col("seed") == 7, pl.col("policy") == "P5-B").to_dicts()
    assert row == alone
    assert frame["post_tool_n"].sum() > 0


def test_it_says_whose_data_it_is_and_how_it_was_made(whole: Path) -> None:
    told = json.loads(pl.read_parquet_metadata(whole)["tracestat"])
    assert (told["schema"], told["synthetic"], told["grid"]["name"]) == ("tracestat.runs/1", True, "small")
    assert told["attribution"]["attribution"]
    assert any("policies know" in note or "given" in told["constants_from"] for note in [*told["head"]["notes"], ""])


def test_what_was_interrupted_goes_on_and_gives_the_same_bytes(
    trace: tracestat.Trace, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.parquet"
    run_batches = module.run_batches

    def stopped(*given: Any, **more: Any) -> Iterator[Any]:
        yield next(iter(run_batches(*given, **more)))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_batches", stopped)
        with pytest.raises(KeyboardInterrupt):
            tracestat.sweep(trace, GRID, path, jobs=1, **OPTIONS)
    kept = sorted(file.name for file in (tmp_path / "runs.parquet.parts").iterdir())
    assert kept == ["000000.parquet", "plan.json"]
    with pytest.raises(TracestatError, match=r"runs\.parquet\.parts: holds finished runs of another grid"):
        tracestat.sweep(trace, GRID, path, jobs=1, seeds=3, **OPTIONS)
    told: list[tuple[int, int]] = []
    tracestat.sweep(trace, GRID, path, jobs=1, progress=lambda *at: told.append(at), **OPTIONS)
    assert told[0] == (16, 40)
    assert path.read_bytes() == whole.read_bytes()


def test_finished_runs_are_not_those_of_other_sessions_machines_or_policies(
    trace: tracestat.Trace, tmp_path: Path
) -> None:
    rule = tmp_path / "mine.py"
    rule.write_text("def plan(view, constants):\n    return None\n")
    grid = Grid("own", "", 1, "none", (Configuration(policy=f"{rule}:plan"),))
    prepared = prepare(trace, grid.configurations, constants=NOTHING)
    first = module.digest_of(prepared, grid)
    assert module.digest_of(prepare(trace, grid.configurations, constants=NOTHING), grid) == first
    ((key, made),) = prepared.workloads.items()
    names = made.workload.class_names
    others = [
        # calls put in other classes: the trace is the same
        replace(made, workload=replace(made.workload, class_names=(names[1], names[0], *names[2:]))),
        replace(made, workload=replace(made.workload, pause=made.workload.pause * 2)),
        replace(made, exact_deadline=made.exact_deadline + 1),
    ]
    told = [module.digest_of(replace(prepared, workloads={key: other}), grid) for other in others]
    (name,) = prepared.machines
    slower = replace(prepared.machines[name], client=1.0)
    told.append(module.digest_of(replace(prepared, machines={name: slower}), grid))
    rule.write_text("def plan(view, constants):\n    return 1\n")
    told.append(module.digest_of(prepared, grid))
    assert len({first, *told}) == 6


@pytest.mark.full
def test_two_processes_give_the_same_bytes(trace: tracestat.Trace, whole: Path, tmp_path: Path) -> None:
    tracestat.sweep(trace, GRID, tmp_path / "runs.parquet", jobs=2, **OPTIONS)
    assert (tmp_path / "runs.parquet").read_bytes() == whole.read_bytes()


def test_a_part_that_is_damaged_is_run_again(
    trace: tracestat.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    grid = Grid("one", "", 1, "none", GRID.configurations[:1])
    (batch,) = batches_of(grid.configurations, 1)
    assert len(batch.runs) == 1
    tracestat.sweep(trace, grid, path, **OPTIONS)
    first = path.read_bytes()
    parts: list[Path] = []
    write = Parts.write

    def damaged(self: Parts, done: Batch, rows: list[Row]) -> None:
        write(self, done, rows)
        if not parts:
            parts.append(self.path(done))
            parts[0].write_bytes(b"PAR1")

    with monkeypatch.context() as patch:
        patch.setattr(Parts, "write", damaged)
        with pytest.raises(TracestatError, match="finished runs are missing; run the same command again"):
            tracestat.sweep(trace, grid, path, **OPTIONS)
    tracestat.sweep(trace, grid, path, **OPTIONS)
    assert path.read_bytes() == first


def test_tables_that_are_none(tmp_path: Path, whole: Path) -> None:
    with pytest.raises(TracestatError, match=r"none\.parquet: cannot be read"):
        tracestat.read_sweep(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("text")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    for name in ("text", "other"):
        with pytest.raises(TracestatError, match="is no table of runs"):
            tracestat.read_sweep(tmp_path / f"{name}.parquet")
    with pytest.raises(UsageError, match="verdict maybe"):
        tracestat.read_sweep(whole, verdict="maybe")
    assert tracestat.read_sweep(whole).runs == 40


def test_wrong_requests(trace: tracestat.Trace, tmp_path: Path) -> None:
    for change, words in (
        ({"seeds": 0}, "--seeds 0"),
        ({"hours": 0.0}, "--hours 0"),
        ({"jobs": 0}, "--jobs 0"),
    ):
        with pytest.raises(UsageError, match=words):
            tracestat.sweep(trace, GRID, tmp_path / "a.parquet", **{**OPTIONS, **change})
    with pytest.raises(UsageError, match=r"must end in \.parquet"):
        tracestat.sweep(trace, GRID, tmp_path / "a.csv", **OPTIONS)
