"""The tables of verdicts that are lists: memoryfulness, open questions, sensitivity, and none."""

from __future__ import annotations

from collections.abc import Iterable

from tracestat.charts.captions import cut_line, titled
from tracestat.charts.table import Column, Table
from tracestat.charts.table_simulation import ratio_words
from tracestat.charts.verdict_words import (
    captured_words,
    closing_notes,
    eta_words,
    how_judged,
    key_label,
    reason_words,
    value_words,
    yes_no,
)
from tracestat.charts.words import plain
from tracestat.results import SeedMedian
from tracestat.results.verdicts import (
    ArticleFigure,
    EtaVerdict,
    NoVerdict,
    OptionRow,
    QuestionsVerdict,
    SensitivityRow,
    SensitivityVerdict,
    Verdict,
)

__all__ = [
    "against_words",
    "change_words",
    "eta_tables",
    "flip_words",
    "no_tables",
    "option_words",
    "questions_tables",
    "sensitivity_tables",
]

_ROWS = 40


def _caption(verdict: Verdict, shown: int, total: int, what: str) -> tuple[str, ...]:
    cut = cut_line(shown, total, what)
    return (*how_judged(verdict), *([cut] if cut else []))


def _article(figures: Iterable[ArticleFigure]) -> str:
    return f"the article: {'; '.join(f'{figure.says} {figure.printed}' for figure in figures)}"


def eta_tables(verdict: EtaVerdict, top: int | None) -> list[Table]:
    """Give a row per configuration and memoryfulness."""
    rows = verdict.rows[: _ROWS if top is None else top]
    columns = (
        Column("configuration", "left", "shorten"),
        Column("eta", "left"),
        Column("pinned, %", "left"),
        Column("p99 over P1", "left"),
        Column("within\n10 %"),
        Column("of P5-B's gain", "left"),
    )
    cells = tuple(
        (
            ("~" if row.stable is False else "") + key_label(row.key),
            eta_words(row.eta),
            _pinned(row.pinned),
            ratio_words(row.over_p1.get("p99", SeedMedian())),
            yes_no(row.within),
            captured_words(row.captured),
        )
        for row in rows
    )
    reasons = dict.fromkeys(
        f"{key_label(row.key)}: {reason_words(text)}"
        for row in rows
        for text in (*row.reasons, row.captured.reason)
        if text
    )
    notes = (
        "pinned: share of tool pauses that the plan pins",
        _article(verdict.published),
        *reasons,
        *closing_notes(verdict),
    )
    title = titled("The TTL rule under each memoryfulness", verdict.head)
    caption = _caption(verdict, len(rows), len(verdict.rows), "rows")
    return [Table(title, columns if cells else (), cells, caption, notes)]


def _pinned(item: SeedMedian) -> str:
    if item.value is None:
        return "-"
    pair = "" if item.low is None or item.high is None else f" [{100 * item.low:.1f}, {100 * item.high:.1f}]"
    return f"{100 * item.value:.1f}{pair}"


def option_words(row: OptionRow) -> str:
    """Name an option, and whose runs they are where not LRU's."""
    policy = "" if row.policy == "P1" else f", {plain(row.policy)}"
    return f"{key_label(row.value)}{policy}"


def against_words(row: OptionRow) -> str:
    """Name what an option is compared with."""
    told = ["off" if v is False else "that of the path" if v is None else value_words(v) for v in row.base.values()]
    return f"not {', '.join(told)}"


def questions_tables(verdict: QuestionsVerdict, top: int | None) -> list[Table]:
    """Give waits, then shares and bytes, of each option over its base."""
    rows = verdict.rows[: _ROWS if top is None else top]
    title = titled("Open questions: the wait with the option over without", verdict.head)
    caption = _caption(verdict, len(rows), len(verdict.rows), "options")
    if not rows:
        return [Table(title, caption=caption, notes=(*closing_notes(verdict), "no option has a base to compare with"))]
    columns = (Column("option", "left", "wrap"), Column("at", "left", "shorten"))

    def waits(*names: str) -> tuple[tuple[str, ...], ...]:
        return tuple((*_named(row), *(ratio_words(row.ratios[name]) for name in names)) for row in rows)

    against = dict.fromkeys(f"{option_words(row)}: {against_words(row)}" for row in rows)
    first = Table(title, (*columns, Column("p50", "left"), Column("p95", "left")), waits("p50", "p95"), caption)
    tails = (*columns, Column("p99", "left"), Column("tail mean", "left"))
    second = Table(titled("The same, tail", verdict.head), tails, waits("p99", "tail_mean"), (), tuple(against))
    heads = ("recompute\nratio", "share,\n%", "stored\nratio", "reloaded\nratio", "reloaded,\nGB")
    cells = tuple(
        (
            *_named(row),
            ratio_words(row.ratios["recompute"]),
            _from_to(row.base_is["recompute"], row.option_is["recompute"], 100.0),
            ratio_words(row.ratios["stored"]),
            ratio_words(row.ratios["reloaded"]),
            _from_to(row.base_is["reloaded"], row.option_is["reloaded"], 1e-9),
        )
        for row in rows
    )
    reasons = dict.fromkeys(f"{' '.join(_named(row))}: {text}" for row in rows for text in row.reasons)
    lost = [
        f"{' '.join(_named(row))}: seeds that only one side has, left out: {row.left_out}"
        for row in rows
        if row.left_out
    ]
    notes = (
        "recompute: share of requests after a tool that recompute all, without and with; bytes per run; ~ not stable",
        _article(verdict.published),
    )
    third = Table(
        titled("Recomputes and bytes, with over without", verdict.head),
        (*columns, *(Column(text, "left") for text in heads)),
        cells,
        (),
        (*notes, *reasons, *lost, *closing_notes(verdict)),
    )
    return [first, second, third]


def _named(row: OptionRow) -> tuple[str, str]:
    return option_words(row), f"{'~' if row.stable is False else ''}{key_label(row.key)}"


def _from_to(base: SeedMedian, option: SeedMedian, times: float) -> str:
    """Write medians without and with an option."""
    told = ["-" if item.value is None else f"{times * item.value:,.3g}" for item in (base, option)]
    return " to ".join(told)


def change_words(row: SensitivityRow) -> str:
    """Name a change."""
    if row.what == "change":
        name, _, factor = row.value.partition("=")
        return f"{plain(name)} x{plain(factor)}"
    return key_label({row.what: row.value})


def sensitivity_tables(verdict: SensitivityVerdict, top: int | None) -> list[Table]:
    """Give a row per conclusion, configuration and change: what flips first, then what moves most."""
    ordered = sorted(verdict.rows, key=lambda r: (not r.flips_sign, not r.flips_size, -abs(r.difference.value or 0.0)))
    rows = ordered[: _ROWS if top is None else top]
    columns = (
        Column("p99 of", "left"),
        Column("configuration", "left", "shorten"),
        Column("change", "left", "shorten"),
        Column("from, to", "left"),
        Column("difference", "left"),
        Column("flips", "left"),
    )
    cells = tuple(
        (
            f"{row.policy}/{row.over}",
            ("~" if row.stable is False else "") + key_label(row.key),
            change_words(row),
            f"{_bare(row.base)} to {_bare(row.changed)}",
            ratio_words(row.difference),
            flip_words(row),
        )
        for row in rows
    )
    notes = [
        f"{verdict.flips_sign} of {len(verdict.rows)} change sides of 1 (sign), {verdict.flips_size} cross the gain of "
        "10 % (size); * with both whole intervals, others leave it open; ~ not stable",
        *closing_notes(verdict),
    ]
    left = sum(bool(row.left_out) for row in rows)
    notes += [f"in {left} rows seeds of some runs only are left out"] if left else []
    title = titled("How each conclusion moves with each constant and rule", verdict.head)
    caption = _caption(verdict, len(rows), len(ordered), "rows")
    return [Table(title, columns if cells else (), cells, caption, tuple(notes))]


def _bare(item: SeedMedian) -> str:
    return "-" if item.value is None else f"{item.value:.2f}"


def flip_words(row: SensitivityRow) -> str:
    """Say what flips; a star where whole intervals do."""
    parts = [name for name, flips in (("sign", row.flips_sign), ("size", row.flips_size)) if flips]
    return "-" if row.flips_sign is None else " ".join(parts) + ("*" if row.clear else "")


def no_tables(verdict: NoVerdict, _top: int | None) -> list[Table]:
    """Say that nothing was asked."""
    title = titled("Runs without a verdict", verdict.head)
    return [Table(title, caption=tuple(how_judged(verdict)), notes=closing_notes(verdict))]
