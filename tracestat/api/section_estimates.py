"""Figures of one group with their intervals: ratios of sums per session, means and quantiles of single values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.durations.section_figures import RATIOS, RULES, TIMEOUTS, TOTALS, VALUES, Rule, Section, Values
from tracestat.durations.tracelab import quantile_of_counts
from tracestat.results import NOT_AVAILABLE, Bounds, Interval
from tracestat.results.sections import SectionFigure, TimeoutPoint, TimeoutSweep
from tracestat.survival.clustered import clustered_curve
from tracestat.survival.curve import kaplan_meier_counts
from tracestat.survival.sweep import SweepSums, clustered_ratio, effective_timeout, sweep_at
from tracestat.survival.uncensored import uncensored_curve

if TYPE_CHECKING:
    import polars as pl

    from tracestat.survival.clustered import ClusteredCurve

__all__ = [
    "AT",
    "GRID",
    "codes_of",
    "curve_of_values",
    "grouped",
    "ratio_figures",
    "residual_figures",
    "sweep_of",
    "value_figures",
]

# where the variance of a curve is known: 12 a decade, from a millisecond to four months (or as many tokens)
AT: tuple[float, ...] = tuple(np.geomspace(1e-3, 1e7, 121).round(9).tolist())
# as TraceLab's sweep: 260 time-outs a logarithmic step apart from 1 s to 4 h, and the round ones
GRID: tuple[float, ...] = tuple(sorted({*np.geomspace(1.0, 14_400.0, 260).round(6).tolist(), *TIMEOUTS}))
Frames = Mapping[Rule, "pl.DataFrame"]


def codes_of(frame: pl.DataFrame) -> NDArray[np.intp]:
    """Give each row the number of its developer, from 0."""
    return np.unique(frame["developer_id"].to_numpy(), return_inverse=True)[1].astype(np.intp)


def _figure(
    name: str, unit: str, what: str, both: Mapping[Rule, tuple[Interval, int]], item: str | None = None
) -> SectionFigure:
    missing = (NOT_AVAILABLE, 0)
    (lab, n_lab), (own, n_own) = (both.get(rule, missing) for rule in RULES)
    return SectionFigure(
        name=name, item=item, unit=unit, what=what, tracelab=lab, tracestat=own, n_tracelab=n_lab, n_tracestat=n_own
    )


def ratio_figures(section: Section, frames: Frames) -> list[SectionFigure]:
    """Make the ratios and totals of a section from its sums per session, by each set of rules."""
    figures = []
    # those of the sessions that count, by the column that says so
    used = {
        (rule, only): frame if only is None else frame.filter(frame[only] == 1)
        for rule, frame in frames.items()
        for only in {*(one.only for one in RATIOS[section]), *(one.only for one in TOTALS[section])}
    }
    developer = {key: codes_of(frame) for key, frame in used.items()}
    for ratio in RATIOS[section]:
        both: dict[Rule, tuple[Interval, int]] = {}
        for rule in frames:
            if rule in ratio.rules:
                key = (rule, ratio.only)
                part, whole = used[key][ratio.part].to_numpy(), used[key][ratio.whole].to_numpy()
                found = clustered_ratio(part, whole, developer[key], share=ratio.unit == "share")
                both[rule] = (found, used[key].height)
        figures.append(_figure(ratio.name, ratio.unit, ratio.words, both))
    for total in TOTALS[section]:
        sums: dict[Rule, tuple[Interval, int]] = {}
        for rule in frames:
            chosen = used[rule, total.only]
            value = float(chosen[total.column].sum())
            sums[rule] = (Interval(value / 3600 if total.unit == "hours" else value), chosen.height)
        figures.append(_figure(total.name, total.unit, total.words, sums))
    return figures


def residual_figures(frames: Mapping[str, Frames]) -> list[SectionFigure]:
    """Make the times of calls that have both clocks, by tool (``all`` first)."""
    figures = []
    for item in sorted(frames, key=lambda name: (name != "all", name)):
        whose = "" if item == "all" else item
        share: dict[Rule, tuple[Interval, int]] = {}
        hours: dict[str, dict[Rule, tuple[Interval, int]]] = {"wall": {}, "internal": {}, "residual": {}}
        for rule, frame in frames[item].items():
            n = int(frame["n"].sum())
            part, whole = frame["residual_seconds"].to_numpy(), frame["wall_seconds"].to_numpy()
            share[rule] = (clustered_ratio(part, whole, codes_of(frame), share=True), n)
            for name, both in hours.items():
                both[rule] = (Interval(float(frame[f"{name}_seconds"].sum()) / 3600), n)
        counts = {rule: (Interval(float(n)), n) for rule, (_, n) in share.items()}
        figures.append(_figure("residual.calls", "count", "calls with both clocks", counts, whose or "all"))
        for name, words in (
            ("wall", "by the wall clock"),
            ("internal", "as reported"),
            ("residual", "wall less reported"),
        ):
            figures.append(_figure(f"residual.{name}_hours", "hours", words, hours[name], whose or "all"))
        figures.append(_figure("residual.share", "share", "of the wall clock not reported", share, whose or "all"))
    return figures


def _sessions_of(frame: pl.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give each row the number of its session, and each session the number of its developer, from 0."""
    ids, session = np.unique(frame["session_pk"].to_numpy(), return_inverse=True)
    developer = np.zeros(ids.size, dtype=np.intp)
    developer[session] = codes_of(frame)
    return session.astype(np.intp), developer


def curve_of_values(counts: pl.DataFrame, cells: pl.DataFrame) -> ClusteredCurve:
    """Make the curve of one statistic from its two frames; cells that have a score may hold censored values."""
    session, developer = _sessions_of(cells)
    place = (session, cells["step"].to_numpy())

    def table(name: str) -> NDArray[np.float64]:
        out = np.zeros((developer.size, len(AT) + 1))
        np.add.at(out, place, cells[name].to_numpy())
        return out

    curve = kaplan_meier_counts(*(counts[name].to_numpy() for name in ("value", "n_event", "n_censored")))
    if "score" in cells.columns:
        return clustered_curve(curve, table("n"), table("score"), developer, AT)
    return uncensored_curve(curve, table("n"), developer, AT)


def value_figures(
    section: Section,
    counts: Mapping[tuple[str, str | None], Frames],
    cells: Mapping[tuple[str, str | None], Frames],
) -> list[SectionFigure]:
    """Make means and quantiles of single values, by statistic and item, by each set of rules."""
    figures = []
    for spec in VALUES[section]:
        for statistic, item in sorted(counts, key=lambda key: (_order(counts[key]), key[1] or "")):
            if statistic == spec.statistic:
                key = (statistic, item)
                figures += _of_values(spec, item, counts[key], cells[key])
    return figures


def _order(frames: Frames) -> int:
    return -sum(int(frame["n_event"].sum()) for frame in frames.values())


def _of_values(spec: Values, item: str | None, counts: Frames, cells: Frames) -> list[SectionFigure]:
    mean: dict[Rule, tuple[Interval, int]] = {}
    quantiles: dict[float, dict[Rule, tuple[Interval, int]]] = {q: {} for q in spec.quantiles}
    for rule, frame in counts.items():
        count = frame["n_event"] + frame["n_censored"]
        n = int(count.sum())
        if spec.mean:
            session, developer = _sessions_of(cells[rule])
            total, rows = (
                np.bincount(session, weights=cells[rule][name].to_numpy(), minlength=developer.size)
                for name in ("total", "n")
            )
            mean[rule] = (clustered_ratio(total, rows, developer), n)
        if spec.quantiles:
            curve = curve_of_values(frame, cells[rule])
            for q, both in quantiles.items():
                found = curve.quantile(q)
                if found is not None and rule == "tracelab":
                    found = _moved(found, quantile_of_counts(frame["value"], count, q, interpolated=True))
                both[rule] = (found or NOT_AVAILABLE, n)
    figures = [_figure(f"{spec.statistic}.mean", spec.unit, f"{spec.words}, mean", mean, item)] if spec.mean else []
    for q, both in quantiles.items():
        words = "half" if q == 0.5 else f"{100 * q:g} %"
        figures.append(_figure(f"{spec.statistic}.p{100 * q:g}", spec.unit, f"{spec.words}, {words}", both, item))
    return figures


def _moved(found: Interval, value: float) -> Interval:
    """Put an interpolated quantile in the place of the product limit's; its bounds stay, unless it passes one."""

    def around(bounds: Bounds) -> Bounds:
        low, high = bounds
        return (None if low is None else min(low, value), None if high is None else max(high, value))

    low, high = around((found.low, found.high))
    session, developer = (None if pair is None else around(pair) for pair in (found.session, found.developer))
    return replace(found, value=value, low=low, high=high, session=session, developer=developer)


def sweep_of(rule: Rule, frame: pl.DataFrame, seed: int) -> tuple[TimeoutSweep, list[str]]:
    """Make the time-out sweep of one group, and say what it lacks."""
    notes: list[str] = []
    session, developer = _sessions_of(frame)
    step = frame["step"].to_numpy()
    cells = step >= 0

    def table(name: str) -> NDArray[np.float64]:
        out = np.zeros((developer.size, len(GRID) + 1))
        np.add.at(out, (session[cells], step[cells]), frame[name].to_numpy()[cells])
        return out

    def column(name: str) -> NDArray[np.float64]:
        return np.bincount(session, weights=frame[name].to_numpy(), minlength=developer.size).astype(np.float64)

    sums = SweepSums(
        timeouts=np.asarray(GRID),
        n=table("n"),
        idle_seconds=table("idle_seconds"),
        cacheable=table("cacheable_tokens"),
        active_idle=table("active_idle_seconds"),
        prefix=column("prefix_tokens"),
        append=column("append_tokens"),
        fresh=column("fresh_tokens"),
        tokens=column("tokens"),
        generation=column("generation_seconds"),
        developer=developer,
    )
    timeout = effective_timeout(sums, seed=seed)
    n_steps = int(sums.n.sum())
    if timeout is None and n_steps:
        notes.append(f"{rule}: no time-out from 1 s to 4 h makes an ideal cache hit as often as the deployed one")
    points = tuple(_point(sums, one) for one in TIMEOUTS)
    return TimeoutSweep(
        rule=rule,
        n_steps=n_steps,
        deployed_hit_rate=clustered_ratio(sums.prefix, sums.tokens, developer, share=True),
        deployed_amplification=clustered_ratio(sums.append, sums.fresh, developer),
        optimal_hit_rate=clustered_ratio(sums.cacheable.sum(axis=1), sums.tokens, developer, share=True),
        effective_timeout=timeout or NOT_AVAILABLE,
        points=points,
    ), notes


def _point(sums: SweepSums, timeout: float) -> TimeoutPoint:
    point = sweep_at(sums, timeout)
    return TimeoutPoint(timeout, point.hit_rate, point.storage_ratio, point.amplification, point.active_ratio)


def grouped(frame: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[Any, ...], dict[Rule, pl.DataFrame]]:
    """Cut a frame by keys, and each part by rule."""
    parts: dict[tuple[Any, ...], dict[Rule, Any]] = {}
    cut = frame.partition_by([*keys, "rule"], maintain_order=True, as_dict=True)
    for (*key, rule), part in cut.items():
        parts.setdefault(tuple(key), {})[rule] = part
    return parts
