"""The tables of engine settings: ratios on over off, the article's values in them, scaling, and cap by pool."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import cut_line, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.table_simulation import ratio_words, seconds_words
from tracestat.charts.verdict_words import (
    closing_notes,
    how_judged,
    key_label,
    yes_no,
)
from tracestat.results.verdicts import CapMap, LeverEffect, LeversVerdict, ScalingCheck, SeedSpread

__all__ = ["effect_label", "levers_tables", "size_words"]

_EFFECTS = 24


def levers_tables(verdict: LeversVerdict, top: int | None) -> list[Table]:
    """Give the effects, the published values, absolute times, scaling, and the maps.

    Parameters
    ----------
    verdict : LeversVerdict
    top : int, optional
        How many effects at most; default 24.
    """
    head = verdict.head
    shown = verdict.effects[: _EFFECTS if top is None else top]
    cut = cut_line(len(shown), len(verdict.effects), "effects")
    title = titled("Levers: the wait with over that without", head)
    caption = (*how_judged(verdict), *([cut] if cut else []))
    if not shown:
        return [Table(title, caption=caption, notes=(*closing_notes(verdict), "no two runs differ in one lever alone"))]
    lever = Column("lever", "left", "shorten")
    rows = tuple(
        (effect_label(item), *(ratio_words(item.ratios[name].median) for name in ("tail_mean", "p95")))
        for item in shown
    )
    spreads = tuple(
        (
            effect_label(item),
            ratio_words(item.ratios["p50"].median),
            *(_middle(item.ratios[name]) for name in ("tail_mean", "p95")),
        )
        for item in shown
    )
    notes = [f"{effect_label(e)}: seeds that only one side has, left out: {e.left_out}" for e in shown if e.left_out]
    notes += [f"{effect_label(e)}: not stable without the lever" for e in shown if e.stable is False]
    heads = ("p50", "tail mean,\n10-90 %", "p95,\n10-90 %")
    tables = [
        Table(title, (lever, Column("tail mean", "left"), Column("p95", "left")), rows, caption, tuple(notes)),
        Table(titled("The same, and what the seeds span", head), (lever, *(Column(h, "left") for h in heads)), spreads),
        _published(verdict, shown),
    ]
    if verdict.scaling:
        tables.append(_scaling(verdict.scaling, titled("Scaled down less full scale, difference of ratios", head)))
    tables += [
        _map(drawn, titled(f"Prefill cap by pool, tail mean over that without: {_place(drawn)}", head))
        for drawn in verdict.maps
    ]
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *closing_notes(verdict)))
    return tables


def size_words(shrink: float) -> str:
    """Say whether a workload is scaled down."""
    return "full" if shrink == 1 else f"1/{shrink:g}"


def effect_label(item: LeverEffect | ScalingCheck) -> str:
    """Name a lever with its load and scale."""
    rest = f", {key_label(item.key)}" if item.key else ""
    place = f"x{item.load:g}, {size_words(item.shrink)}"
    if item.lever == "tier":
        return f"tier {item.off}-{item.on}, {place}{rest}"
    name = f"cap {item.on}" if item.lever == "cap" else item.on
    return f"{name}, {place}, tier {item.times_pool:.1f}x{rest}"


def _middle(item: SeedSpread) -> str:
    if not item.quantiles:
        return "-"
    return f"{item.quantiles['0.1']:.2f} to {item.quantiles['0.9']:.2f}"


def _published(verdict: LeversVerdict, shown: Sequence[LeverEffect]) -> Table:
    columns = (
        Column("setting", "left", "shorten"),
        Column("published", "left"),
        Column("ratio"),
        Column("our\nmedian"),
        Column("quan-\ntile"),
        Column("inside"),
        Column("in\nband"),
        Column("right\nside"),
        Column("pass"),
    )
    rows = []
    for effect in shown:
        for check in effect.checks:
            ours = effect.ratios[check.measure].median.value
            rows.append(
                (
                    effect_label(effect),
                    f"{check.measure.replace('_', ' ')} {check.figure.printed}",
                    f"{check.ratio:.2f}",
                    "-" if ours is None else f"{ours:.2f}",
                    "-" if check.quantile is None else f"{check.quantile:.2f}",
                    yes_no(check.inside),
                    yes_no(check.in_band),
                    yes_no(check.direction),
                    yes_no(check.passes),
                )
            )
    notes = [
        "quantile: share of our seeds below the published ratio; band: our median within 0.15 of it, on p95 and tail "
        "mean; side: the same side of 1, told where we predict over 15 %",
        f"{verdict.passed} of {verdict.checks} published values in settings like theirs pass, and "
        f"{verdict.figures_passed} of {verdict.figures} in some setting: how the engine was set is not printed in full",
    ]
    notes += [
        f"{item.figure.says}: {item.figure.printed} s; ours at {key_label(item.key)} {seconds_words(item.ours)} s, "
        f"quantile {'-' if item.quantile is None else f'{item.quantile:.2f}'}, within 15 %: {yes_no(item.passes)}"
        for item in verdict.absolute
    ]
    notes += [f"the article: {f.says} {f.printed}" for f in verdict.published]
    title = titled("The article's engine in our seeds, by its own rule", verdict.head)
    return Table(title, columns if rows else (), tuple(rows), (), tuple(notes))


def _scaling(checks: tuple[ScalingCheck, ...], title: str) -> Table:
    columns = (
        Column("lever", "left", "shorten"),
        Column("tail mean", "left"),
        Column("p95", "left"),
    )
    rows = tuple(
        (
            effect_label(c),
            *(ratio_words(c.difference[n]) + ("*" if c.differs[n] else "") for n in ("tail_mean", "p95")),
        )
        for c in checks
    )
    return Table(
        title,
        columns,
        rows,
        (),
        ("* the interval leaves out 0: scaling does not leave the ratio alone; p50 is in --json and -o",),
    )


def _place(drawn: CapMap) -> str:
    return f"x{drawn.load:g}, {size_words(drawn.shrink)}, {key_label(drawn.key)}"


def _map(drawn: CapMap, title: str) -> Table:
    factors = sorted({cell.pool_factor for cell in drawn.cells})
    caps = sorted({cell.threshold for cell in drawn.cells})
    place = {(cell.threshold, cell.pool_factor): cell for cell in drawn.cells}
    columns = (label_column("cap"), *(Column(f"pool\nx{f:g}", "left") for f in factors), Column("turns at", "left"))
    rows = []
    for cap in caps:
        cells = [place.get((cap, f)) for f in factors]
        turns = ", ".join(f"x{x:.2f}" for x in drawn.turns[str(cap)]) or "nowhere"
        told = ["" if c is None else ratio_words(c.ratio) + ("~" if c.stable is False else "") for c in cells]
        rows.append((str(cap), *told, turns))
    return Table(
        title,
        columns,
        tuple(rows),
        (),
        ("below 1 the cap helps; turns at: pool at which the ratio crosses 1; ~ not stable",),
    )
