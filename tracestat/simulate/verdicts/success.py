"""The rule of success that the article fixed beforehand, per configuration and over the stable ones.

A policy passes with over 10 % less p99 than the TTL rule P2, on all requests after tools or on those whose pause ended
on a deadline, or with 10 % more sessions within the limit of 1 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tracestat.results import CapturedGain, SeedMedian
from tracestat.results.verdicts import (
    ConfigurationVerdict,
    CriterionCount,
    PolicyTotals,
    PolicyVerdict,
    SuccessVerdict,
)
from tracestat.simulate.across_seeds import gains_in_every_seed
from tracestat.simulate.verdicts.article import SUCCESS, TOTALS
from tracestat.simulate.verdicts.cells import Cell, Runs, Variant, common, keys_of, stable_under
from tracestat.simulate.verdicts.seeds import GAIN, captured, median, ratio, ratios_of

__all__ = ["CRITERIA", "success_of"]

# criterion -> its name among the ratios, and the column
CRITERIA: Final = {
    "all": ("p99", "post_tool_p99"),
    "deadline": ("deadline_p99", "deadline_p99"),
    "slo": ("slo_sessions", "slo_sessions"),
}
_MORE: Final = 1 + GAIN - 1e-9  # 0.33 over 0.3 is to count as 10 % more


def success_of(cells: Sequence[Cell], common_fields: Mapping[str, Any], draws: int) -> SuccessVerdict:
    """Judge each configuration, and count."""
    each = tuple(_configuration(cell, key, draws) for cell, key in zip(cells, keys_of(cells, ("load",)), strict=True))
    counted = [cell for cell in each if cell.counted]
    policies = sorted(
        {(p.policy, p.eta) for cell in each for p in cell.policies}, key=lambda v: (v[0], v[1] is not None, v[1] or 0.0)
    )
    return SuccessVerdict(
        **common_fields,
        counted=len(counted),
        unstable=sum(cell.stable is False for cell in each),
        unknown=sum(not cell.counted and cell.stable is not False for cell in each),
        totals=tuple(_totals(variant, counted) for variant in policies if variant != ("P2", None)),
        each=each,
        published=SUCCESS,
    )


def _configuration(cell: Cell, key: dict[str, Any], draws: int) -> ConfigurationVerdict:
    lru, ttl = cell.of("P1"), cell.of("P2")
    stable = stable_under(cell)
    reasons = tuple(
        text
        for missing, text in (
            (lru is None, "no P1: stability and gains over LRU are unknown"),
            (ttl is None, "no P2: the rule of success has no baseline"),
        )
        if missing
    )
    policies = tuple(_policy(variant, runs, cell, draws) for variant, runs in cell.runs.items())
    return ConfigurationVerdict(
        key=key,
        seeds=0 if lru is None else lru.seeds.size,
        stable=stable,
        waiting_ratio=SeedMedian() if lru is None else median(lru["waiting_ratio"], draws),
        counted=bool(stable) and ttl is not None,
        policies=policies,
        reasons=reasons,
    )


def _policy(variant: Variant, runs: Runs, cell: Cell, draws: int) -> PolicyVerdict:
    lru, ttl = cell.of("P1"), cell.of("P2")
    over_p2: dict[str, SeedMedian] = {}
    passes: dict[str, bool | None] = {}
    every: dict[str, bool | None] = {}
    reasons: list[str] = []
    seeds, left_out = 0, 0
    if ttl is not None and variant != ("P2", None):
        (ours, theirs), left_out = common(runs, ttl)
        seeds = ours.seeds.size
        for criterion, (name, column) in CRITERIA.items():
            found = over_p2[name] = ratio(ours, theirs, column, draws)
            passes[criterion], every[criterion] = _judged(criterion, found, ours, theirs, column)
            if found.value is None:
                reasons.append(f"{name}: no common seed has a ratio")
            elif found.n < seeds:
                reasons.append(f"{name}: {seeds - found.n} of {seeds} seeds have no ratio")
        if left_out:
            reasons.append(f"seeds that only one of it and P2 has, left out: {left_out}")
    itself = variant == ("P1", None)
    nothing = CapturedGain(reason="it is the baseline")
    return PolicyVerdict(
        policy=variant[0],
        eta=variant[1],
        seeds=seeds,
        left_out=left_out,
        over_p2=over_p2,
        over_p1=SeedMedian() if lru is None or itself else ratio(runs, lru, "post_tool_p99", draws),
        captured=nothing if itself else captured(runs, lru, cell.of("P5-B"), draws),
        captured_p5=nothing if itself else captured(runs, lru, cell.of("P5"), draws),
        passes=passes,
        every_seed=every,
        reasons=tuple(reasons),
    )


def _judged(
    criterion: str, found: SeedMedian, ours: Runs, theirs: Runs, column: str
) -> tuple[bool | None, bool | None]:
    """Say whether a criterion holds in the median and in every common seed; a seed without a ratio does not have it."""
    if found.value is None:
        return None, None
    if criterion == "slo":
        each = ratios_of(ours, theirs, column)
        return found.value >= _MORE, bool(np.all(each >= _MORE))
    return found.value < 1 - GAIN, gains_in_every_seed(ours[column], theirs[column], GAIN)


def _totals(variant: Variant, counted: Sequence[ConfigurationVerdict]) -> PolicyTotals:
    own = [p for cell in counted for p in cell.policies if (p.policy, p.eta) == variant]
    counts = {}
    for criterion, (name, _) in CRITERIA.items():
        told = [p for p in own if p.passes.get(criterion) is not None]
        medians = [p.over_p2[name].value for p in told]
        known = [value for value in medians if value is not None]
        passed = [p for p in told if p.passes[criterion]]
        counts[criterion] = CriterionCount(
            passed=len(passed),
            every_seed=sum(bool(p.every_seed[criterion]) for p in passed),
            of=len(told),
            unknown=len(own) - len(told),
            median=float(np.median(known)) if known else None,
            least=min(known, default=None),
            most=max(known, default=None),
            published=TOTALS.get((variant[0], criterion), ()) if variant[1] is None else (),
        )
    return PolicyTotals(policy=variant[0], eta=variant[1], counts=counts)
