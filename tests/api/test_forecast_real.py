"""What ``evaluate_forecast`` gives on the real trace: small and uneven, so the numbers are pinned, not proven."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracestat
from tracestat.results import ForecastEvaluation


@pytest.fixture(scope="module")
def trace(real_trace: Path) -> Iterator[tracestat.Trace]:
    with tracestat.open(real_trace) as opened:
        yield opened


@pytest.fixture(scope="module")
def first_path(trace: tracestat.Trace) -> ForecastEvaluation:
    """Judge the hierarchy that the design gives numbers for."""
    keys = ("tool_class", "command_skeleton", "developer")
    return tracestat.evaluate_forecast(trace, split="time", keys=keys, where="provider = 'claude'")


@pytest.mark.full
def test_the_design_s_numbers_come_out(first_path: ForecastEvaluation) -> None:
    """They were made before the rules of the rows were final, so they agree to a point or two, not to the digit."""
    by_name = {m.name: m.landmarks[0] for m in first_path.methods}
    scores = {"global": -3.311, "tool": -2.864, "raw counts": -2.546, "mixing k=20": -2.563, "ours": -2.496}
    for name, score in scores.items():
        assert by_name[name].log_score == pytest.approx(score, abs=0.08), name
    cuts = {"ours": (37, 34, 28), "raw counts": (36, 34, 26), "continuum-paper": (25, 22, 18), "tool": (27, 24, 19)}
    for name, three in cuts.items():
        for p, share in zip(("0.9", "0.95", "0.99"), three, strict=True):
            assert by_name[name].skill[p].value == pytest.approx(share, abs=2), (name, p)
    cut = first_path.headline.upper_quantile_cut["provider"]["claude"]
    assert cut.value == pytest.approx(18.4, abs=2)
    assert cut.method.startswith("developer")


def test_it_lies_below_the_published_cut_unless_the_pause_has_just_begun(first_path: ForecastEvaluation) -> None:
    cuts = {(c.loss, c.quantile, len(c.landmarks)): c.cut.value or 0.0 for c in first_path.headline.table}
    assert cuts["log", 0.9, 4] < 27 < cuts["log", 0.9, 1] < 40
    assert cuts["seconds", 0.9, 4] < 27


@pytest.mark.full
def test_ours_is_never_significantly_worse_when_the_pause_starts(trace: tracestat.Trace) -> None:
    result = tracestat.evaluate_forecast(trace)
    assert {(c.provider, c.split) for c in result.counts} == {
        (provider, split) for provider in ("claude", "codex") for split in ("time", "developer")
    }
    worse = [item for item in result.against if item.elapsed == 0 and item.verdict_alone == "worse"]
    assert worse == []
    scores = [item for item in result.against if item.measure == "log_score" and item.elapsed == 0]
    assert all((item.gain.value or 0.0) > 0 for item in scores)
