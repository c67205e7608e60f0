"""The tables of the map of the oracle's gain: a map per card and load, the border, and the share inside it."""

from __future__ import annotations

from tracestat.charts.captions import cut_line, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.verdict_words import (
    captured_words,
    closing_notes,
    how_judged,
    key_label,
    reason_words,
    short_hardware,
    whole_percent,
)
from tracestat.results.verdicts import WhereCell, WhereMap, WhereVerdict

__all__ = ["gain_words", "tier_words", "where_tables"]

_MAPS = 8


def where_tables(verdict: WhereVerdict, top: int | None) -> list[Table]:
    """Give the first maps, the shares inside the border, and the machines.

    Parameters
    ----------
    verdict : WhereVerdict
    top : int, optional
        How many maps at most; default 8.
    """
    head = verdict.head
    shown = verdict.maps[: _MAPS if top is None else top]
    title = titled("The oracle's gain over LRU in p99, %", head)
    cut = cut_line(len(shown), len(verdict.maps), "maps")
    caption = (*how_judged(verdict), *([cut] if cut else []))
    if not shown:
        return [Table(title, caption=caption, notes=closing_notes(verdict))]
    tables = [
        _map(drawn, title if not i else titled(key_label(drawn.key), head), caption if not i else ())
        for i, drawn in enumerate(shown)
    ]
    return [*tables, _inside(verdict), _machines(verdict)]


def tier_words(times: float) -> str:
    """Name a tier by the pool.

    Examples
    --------
    >>> tier_words(0.0), tier_words(1.875)
    ('none', '1.9x')
    """
    return f"{times:.2g}x" if times else "none"


def gain_words(cell: WhereCell) -> str:
    """Write a gain in percent, with marks for the border and for what is not stable."""
    if cell.gain.value is None:
        return "-"
    mark = "~" if cell.stable is False else ""
    low, high = cell.gain.low, cell.gain.high
    pair = "" if low is None or high is None else f" [{whole_percent(low)}, {whole_percent(high)}]"
    return f"{mark}{whole_percent(cell.gain.value)}{'*' if cell.inside else ''}{pair}"


def _map(drawn: WhereMap, title: str, caption: tuple[str, ...]) -> Table:
    tiers = sorted({cell.times_pool for cell in drawn.cells})
    ratios = sorted({cell.reload_ratio for cell in drawn.cells if cell.reload_ratio is not None})
    place = {(cell.reload_ratio, cell.times_pool): cell for cell in drawn.cells}
    columns = (Column("reload /\ncompute"), *(Column(f"tier\n{tier_words(t)}", "left") for t in tiers))
    rows = []
    lines: list[float | None] = [*ratios] or [None]
    for ratio in lines:
        cells = [place.get((ratio, t)) or place.get((None, t)) for t in tiers]
        told = "" if ratio is None else f"{ratio:.3g}"
        rows.append((told, *("" if cell is None else gain_words(cell) for cell in cells)))
    notes = [
        f"{drawn.n_inside} of {drawn.n_known} places gain over 10 % (*), {drawn.n_stable_inside} of them stable; "
        "~ not stable"
    ]
    if 0.0 in tiers:
        notes.append("without a tier nothing is reloaded: its column is one place")
    notes += [
        f"tier {tier_words(point.times_pool)}: 10 % are crossed at {point.reload_ratio:.2g}, more to the "
        f"{'dearer' if point.above == 'right' else 'cheaper'} reload"
        for point in drawn.border
    ]
    notes += dict.fromkeys(cell.reason for cell in drawn.cells if cell.reason)
    said = f"{key_label(drawn.key)}: p99 of P5-B over P1, 1 less the median ratio"
    return Table(title, columns, tuple(rows), (*caption, said) if caption else (), tuple(notes))


def _inside(verdict: WhereVerdict) -> Table:
    columns = (
        Column("map", "left", "shorten"),
        label_column("policy"),
        Column("of P5-B's gain", "left"),
        Column("places"),
    )
    rows = tuple(
        (key_label(drawn.key), item.policy, captured_words(item.captured), str(item.places))
        for drawn in verdict.maps
        for item in drawn.inside
    )
    empty = [key_label(drawn.key) for drawn in verdict.maps if not drawn.inside]
    notes = [f"no stable place with another policy gains over 10 %: {', '.join(empty)}"] if empty else []
    notes += dict.fromkeys(
        reason_words(item.captured.reason) for drawn in verdict.maps for item in drawn.inside if item.captured.reason
    )
    title = titled("Share of the oracle's gain inside the 10 % border, stable places", verdict.head)
    return Table(title, columns if rows else (), rows, (), tuple(notes))


def _machines(verdict: WhereVerdict) -> Table:
    columns = (label_column("machine"), Column("reload /\ncompute"), Column("pool,\ntokens"))
    rows = tuple(
        (f"{short_hardware(p.name)}{' (yours)' if p.yours else ''}", f"{p.reload_ratio:.3f}", f"{p.pool_tokens:,}")
        for p in verdict.machines
    )
    title = titled("Where machines lie: 32,768 tokens", verdict.head)
    return Table(title, columns if rows else (), rows, (), closing_notes(verdict))
