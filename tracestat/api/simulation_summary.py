"""Runs of many seeds as what each policy comes to: medians, paired ratios, the share of the oracle's gain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from tracestat.charts.words import counted
from tracestat.results import CapturedGain, GainOverP1, Interval, SeedMedian, SimulatedPolicy
from tracestat.simulate.across_seeds import OverSeeds, captured_share, median_over_seeds, paired_ratio
from tracestat.simulate.metrics import is_stable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BASE", "ORACLE", "Shared", "simulated_policies", "waiting_ratio"]

BASE: Final = "P1"
ORACLE: Final = "P5-B"
MEASURES: Final = ("p50", "p95", "p99", "tail_mean", "mean")
CAPTURED: Final = ("p99", "tail_mean", "mean")
_SHARES: Final = {
    "resident": "origin_resident",
    "reload": "origin_reload",
    "partial": "origin_partial",
    "recompute": "origin_full_recompute",
    "nothing": "origin_nothing",
}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shared:
    """What all policies of a simulation have in common."""

    load: float
    host_bytes: int
    seeds: int
    n_sessions: int
    n_developers: int


def waiting_ratio(runs: pl.DataFrame) -> tuple[SeedMedian, bool]:
    """Say how the queue grows under P1, and whether that counts as stable."""
    ratios = _values(_of(runs, BASE), "waiting_ratio")
    return _told(median_over_seeds(ratios)), is_stable(ratios)


def simulated_policies(runs: pl.DataFrame, policies: Iterable[str], shared: Shared) -> tuple[SimulatedPolicy, ...]:
    """Summarise the runs of each policy.

    Parameters
    ----------
    runs : polars.DataFrame
        With the columns of `RUN_COLUMNS`; P1 and P5-B are among the policies, and each has the same seeds.
    policies : iterable of str
        In the order of the answer.
    shared : Shared
    """
    _, stable = waiting_ratio(runs)
    base, oracle = _of(runs, BASE), _of(runs, ORACLE)
    return tuple(_policy(name, _of(runs, name), base, oracle, shared, stable=stable) for name in policies)


def _of(runs: pl.DataFrame, policy: str) -> pl.DataFrame:
    import polars as pl

    return runs.filter(pl.col("policy") == policy).sort("seed")


def _values(runs: pl.DataFrame, name: str) -> Floats:
    """Give a column, NaN where a run has no value."""
    return runs[name].cast(float).fill_null(float("nan")).to_numpy()


def _told(found: OverSeeds) -> SeedMedian:
    item = found.median
    return SeedMedian(item.value, item.low, item.high, item.level, item.method, found.low, found.high, found.n)


def _median(runs: pl.DataFrame, name: str) -> SeedMedian:
    return _told(median_over_seeds(_values(runs, name)))


def _mean(runs: pl.DataFrame, name: str) -> float | None:
    """Give the mean over the seeds that have a value."""
    known = _values(runs, name)
    known = known[np.isfinite(known)]
    return float(known.mean()) if known.size else None


def _total(runs: pl.DataFrame, name: str) -> float:
    return float(np.nansum(_values(runs, name)))


def _policy(
    name: str, own: pl.DataFrame, base: pl.DataFrame, oracle: pl.DataFrame, shared: Shared, *, stable: bool
) -> SimulatedPolicy:
    is_base = name == BASE
    captured = {} if is_base else {m: _captured(own, base, oracle, f"post_tool_{m}") for m in CAPTURED}
    n_events, n_censored = int(_total(own, "post_tool_n")), int(_total(own, "post_tool_n_censored"))
    per_token = float(own["kv_bytes_per_token"][0])
    n_deadline = int(_total(own, "deadline_n") + _total(own, "deadline_n_censored"))
    return SimulatedPolicy(
        key={"policy": name},
        n=n_events + n_censored,
        n_events=n_events,
        n_censored=n_censored,
        n_sessions=shared.n_sessions,
        n_developers=shared.n_developers,
        total_seconds=float(np.nansum(_values(own, "post_tool_n") * _values(own, "post_tool_mean"))),
        notes=tuple(_notes(n_events, n_censored, captured)),
        policy=name,
        load=shared.load,
        host_bytes=0 if name == "P0" else shared.host_bytes,
        seeds=shared.seeds,
        ttft={m: _median(own, f"post_tool_{m}") for m in MEASURES},
        ratio={} if is_base else {m: _ratio(own, base, f"post_tool_{m}") for m in MEASURES},
        captured_share=captured["p99"].share if captured else Interval(None),
        captured=captured,
        gain=None if is_base else _gain(own, base),
        shares=_shares(own),
        slowest_recompute=_median(own, "slowest_recompute"),
        requests_within_slo=_median(own, "slo_post_tool"),
        sessions_within_slo=_median(own, "slo_sessions"),
        deadline_subset={"p99": _median(own, "deadline_p99")},
        n_deadline=n_deadline,
        pinned_share=_mean(own, "plan_pinned"),
        prefetched_share=_mean(own, "plan_prefetched"),
        queueing_seconds=_mean(own, "queueing_s"),
        link_utilisation=_mean(own, "use_link_busy") or 0.0,
        link_wait={c: _mean(own, f"link_wait_{c}_s") or 0.0 for c in ("load", "store", "prefetch")},
        pool={part: _mean(own, f"use_pool_{part}") or 0.0 for part in ("used", "cached")},
        host_used=_mean(own, "use_host_used"),
        busy=_mean(own, "use_busy") or 0.0,
        stored_bytes=per_token * (_mean(own, "stored_tokens") or 0.0),
        loaded_bytes=per_token * (_mean(own, "loaded_tokens") or 0.0),
        prefetched_bytes=per_token * (_mean(own, "prefetched_tokens") or 0.0),
        preemptions=_mean(own, "preemptions") or 0.0,
        blocked={f"{c}_seconds": _mean(own, f"{c}_blocked_s") or 0.0 for c in ("memory", "store", "load")},
        pins_broken=_mean(own, "pin_broken") or 0.0,
        too_large=int(_total(own, "too_large")),
        stable=stable,
    )


def _ratio(own: pl.DataFrame, base: pl.DataFrame, name: str) -> SeedMedian:
    return _told(paired_ratio(_values(own, name), _values(base, name)))


def _captured(own: pl.DataFrame, base: pl.DataFrame, oracle: pl.DataFrame, name: str) -> CapturedGain:
    found = captured_share(_values(own, name), _values(base, name), _values(oracle, name))
    return CapturedGain(found.share, found.n, found.reason)


def _gain(own: pl.DataFrame, base: pl.DataFrame) -> GainOverP1 | None:
    """Split the gain seed by seed, and give the means: the parts add up."""
    parts = [_values(base, name) - _values(own, name) for name in ("mean_load", "mean_queue", "mean_compute")]
    known = np.isfinite(parts).all(axis=0)
    if not known.any():
        return None
    means = [float(part[known].mean()) for part in parts]
    return GainOverP1(sum(means), *means)


def _shares(own: pl.DataFrame) -> Mapping[str, float]:
    found = {share: _mean(own, name) for share, name in _SHARES.items()}
    return {share: value for share, value in found.items() if value is not None}


def _notes(n_events: int, n_censored: int, captured: Mapping[str, CapturedGain]) -> Sequence[str]:
    notes = []
    if not n_events:
        notes.append("no request after a tool has a first token in the window: nothing to measure")
    elif n_censored:
        notes.append(f"{counted(n_censored, 'request')} of {n_events + n_censored:,} without a first token at the end")
    reasons: dict[str, list[str]] = {}
    for measure, found in captured.items():
        if found.reason and n_events:
            reasons.setdefault(found.reason, []).append(measure.replace("_", " "))
    notes += [f"share of the oracle's gain in {', '.join(which)}: {reason}" for reason, which in reasons.items()]
    return notes
