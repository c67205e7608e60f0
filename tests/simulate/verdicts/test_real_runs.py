"""A small table of real runs on the bundled sample says what its rows say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tracestat
from tests.simulate.policies.rounds import constants
from tests.simulate.verdicts.frames import table
from tracestat.api.simulate_workload import simulation_workload
from tracestat.charts.tables import tables_of, to_text
from tracestat.hardware import load_hardware
from tracestat.results.verdicts import EtaVerdict, SuccessVerdict
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.runs import Inputs, run_once
from tracestat.simulate.start import canonical_order
from tracestat.simulate.verdicts import verdict_of


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Three policies, two seeds, two minutes each."""
    configurations = [
        Configuration(policy=policy, load=1.0, hours=0.03, warmup_s=10.0) for policy in ("P1", "P2", "P5-B")
    ]
    played = simulation_workload(tracestat.open(), scale_context=32_768)
    inputs = Inputs(
        asked=played.workload,
        exact=played.with_exact_deadlines,
        order=canonical_order(played.workload),
        constants=constants(),
    )
    machine = load_hardware()
    return table(run_once(c, seed, inputs, machine).row for c in configurations for seed in range(2))


def test_success_on_real_runs(frame: pl.DataFrame) -> None:
    found = verdict_of("success", frame)
    assert isinstance(found, SuccessVerdict)
    assert (found.runs, found.seeds, found.configurations) == (6, 2, 1)
    assert found.fixed == {"load": 1.0, "hours": 0.03, "warmup_s": 10.0}
    assert "2 seeds: no interval below 5, and a p99 of so few seeds decides nothing" in found.remarks
    waits = {(r["policy"], r["load"], r["seed"]): r["post_tool_p99"] for r in frame.rows(named=True)}
    for cell in found.each:
        load = cell.key["load"]
        for policy in cell.policies:
            if policy.policy == "P2":
                continue
            ratios = [waits[policy.policy, load, seed] / waits["P2", load, seed] for seed in range(2)]
            assert policy.over_p2["p99"].value == pytest.approx(np.median(ratios))
            assert policy.over_p2["p99"].low is None
    assert "P5-B" in to_text(tables_of(found))


def test_eta_on_real_runs(frame: pl.DataFrame) -> None:
    found = verdict_of("eta", frame)
    assert isinstance(found, EtaVerdict)
    pinned = frame.filter(pl.col("policy") == "P2")["plan_pinned"].median()
    assert found.rows[0].pinned.value == pytest.approx(pinned)
