"""The TTL rule P2 under each memoryfulness: how much it pins, and what that does to the wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracestat.results import SeedMedian
from tracestat.results.verdicts import EtaRow, EtaVerdict
from tracestat.simulate.verdicts.article import ETA
from tracestat.simulate.verdicts.cells import Cell, Runs, common, keys_of, stable_under
from tracestat.simulate.verdicts.seeds import GAIN, captured, median, ratio

__all__ = ["eta_of"]

_MEASURES: Final = ("p99", "tail_mean", "p95", "p50")


def eta_of(cells: Sequence[Cell], common_fields: Mapping[str, Any], draws: int) -> EtaVerdict:
    """Give a row per configuration and memoryfulness."""
    rows = [
        _row(cell, key, eta, runs, draws)
        for cell, key in zip(cells, keys_of(cells, ("load",)), strict=True)
        for (policy, eta), runs in cell.runs.items()
        if policy == "P2"
    ]
    return EtaVerdict(**common_fields, rows=tuple(rows), published=ETA)


def _row(cell: Cell, key: dict[str, Any], eta: float | None, runs: Runs, draws: int) -> EtaRow:
    base, oracle = cell.of("P1"), cell.of("P5-B")
    over: dict[str, SeedMedian] = {}
    seeds, left = runs.seeds.size, 0
    reasons = []
    if base is None:
        reasons.append("no P1: there is nothing to compare with")
    else:
        (ours, theirs), left = common(runs, base)
        seeds = ours.seeds.size
        over = {name: ratio(ours, theirs, f"post_tool_{name}", draws) for name in _MEASURES}
    share = captured(runs, base, oracle, draws)
    wait = over.get("p99", SeedMedian()).value
    if base is not None and wait is None:
        reasons.append("no common seed has a ratio of p99")
    return EtaRow(
        key=key,
        eta=eta,
        stable=stable_under(cell),
        seeds=seeds,
        left_out=left,
        pinned=median(runs["plan_pinned"], draws),
        over_p1=over,
        captured=share,
        within=None if wait is None else abs(wait - 1) <= GAIN,
        reasons=tuple(reasons),
    )
