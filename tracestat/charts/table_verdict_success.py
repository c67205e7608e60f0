"""The tables of the rule of success: how often each policy passes, and each configuration."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import cut_line, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.table_simulation import ratio_words
from tracestat.charts.verdict_words import (
    captured_words,
    closing_notes,
    how_judged,
    key_label,
    pass_words,
    policy_words,
    reason_words,
)
from tracestat.charts.words import counted, plain
from tracestat.results.verdicts import (
    ArticleFigure,
    ConfigurationVerdict,
    CriterionCount,
    PolicyTotals,
    PolicyVerdict,
    SuccessVerdict,
)

__all__ = ["success_tables"]

_CONFIGURATIONS = 12
_CRITERIA = ("all", "deadline", "slo")


def success_tables(verdict: SuccessVerdict, top: int | None) -> list[Table]:
    """Give totals, then the first configurations.

    Parameters
    ----------
    verdict : SuccessVerdict
    top : int, optional
        How many configurations at most; default 12.
    """
    shown = verdict.each[: _CONFIGURATIONS if top is None else top]
    cut = cut_line(len(shown), len(verdict.each), "configurations")
    head = verdict.head
    tables = [_totals(verdict)]
    if shown:
        tables += [
            _against_p2(shown, titled("Each configuration over P2", head), cut),
            _against_p1(shown, titled("Each configuration over P1, and what of the oracle's gain", head)),
        ]
    return tables


def _totals(verdict: SuccessVerdict) -> Table:
    caption = (
        *how_judged(verdict),
        f"{counted(verdict.counted, 'configuration')} counted, {verdict.unstable} unstable and "
        f"{verdict.unknown} without a baseline not counted",
    )
    columns = (
        label_column("policy"),
        Column("p99 down\nover 10 %", "left"),
        Column("deadline p99\ndown over 10 %", "left"),
        Column("10 % more\nin 1 s", "left"),
        Column("p99 over P2,\nmedian (range)", "left"),
    )
    rows = tuple(_total(item) for item in verdict.totals)
    published = [figure for item in verdict.totals for count in item.counts.values() for figure in count.published]
    notes = [
        "over P2 (TTL rule): configurations in which a policy passes in the median over seeds, and of these (in "
        "brackets) in every seed; only stable ones are counted; in 1 s: sessions of which 95 % of waits are within 1 s",
    ]
    told = list(dict.fromkeys((*verdict.published, *published)))
    notes += [f"the article: {'; '.join(_said(figure) for figure in told)}"] if told else []
    return Table(
        titled("The rule of success, fixed beforehand", verdict.head),
        columns if rows else (),
        rows,
        caption,
        (*notes, *closing_notes(verdict)),
    )


def _said(figure: ArticleFigure) -> str:
    return f"{figure.says}: {figure.printed}"


def _total(item: PolicyTotals) -> tuple[str, ...]:
    counts = item.counts
    return (
        policy_words(item.policy, item.eta),
        *(_passes(counts[name]) for name in _CRITERIA),
        _range(counts["all"]),
    )


def _passes(count: CriterionCount) -> str:
    more = f" ({count.unknown} unknown)" if count.unknown else ""
    return pass_words(count.passed, count.of, count.every_seed) + more


def _range(count: CriterionCount) -> str:
    if count.median is None or count.least is None or count.most is None:
        return "-"
    return f"{count.median:.2f} ({count.least:.2f} to {count.most:.2f})"


def _lines(shown: Sequence[ConfigurationVerdict]) -> list[tuple[ConfigurationVerdict, PolicyVerdict]]:
    return [(cell, policy) for cell in shown for policy in cell.policies]


def _name(cell: ConfigurationVerdict) -> str:
    return f"{'' if cell.stable else '~' if cell.stable is False else '?'}{key_label(cell.key)}"


def _mark(policy: PolicyVerdict, criterion: str) -> str:
    return "**" if policy.every_seed.get(criterion) else "*" if policy.passes.get(criterion) else ""


def _against_p2(shown: Sequence[ConfigurationVerdict], title: str, cut: str | None) -> Table:
    columns = (
        Column("configuration", "left", "shorten"),
        label_column("policy"),
        Column("p99", "left"),
        Column("deadline p99", "left"),
        Column("in 1 s", "left"),
    )
    names = {"all": "p99", "deadline": "deadline_p99", "slo": "slo_sessions"}
    rows = [
        (
            _name(cell),
            policy_words(policy.policy, policy.eta),
            *(ratio_words(policy.over_p2[names[c]]) + _mark(policy, c) for c in _CRITERIA),
        )
        for cell, policy in _lines(shown)
        if policy.over_p2
    ]
    notes = [
        "* passes in the median, ** in every seed; in 1 s: sessions within the limit, above 1 is better; ~ not stable, "
        "? stability unknown"
    ]
    # a reason that many policies share is told once
    reasons: dict[str, list[str]] = {}
    for cell in shown:
        for text in (*cell.reasons, *(f"{plain(p.policy)}: {r}" for p in cell.policies for r in p.reasons)):
            reasons.setdefault(text, []).append(key_label(cell.key))
    notes += [f"{places[0]}{f' and {len(places) - 1} more' * (len(places) > 1)}: {t}" for t, places in reasons.items()]
    caption = (cut,) if cut else ()
    return Table(title, columns if rows else (), _once(rows), caption, tuple(notes))


def _against_p1(shown: Sequence[ConfigurationVerdict], title: str) -> Table:
    columns = (
        Column("configuration", "left", "shorten"),
        label_column("policy"),
        Column("p99", "left"),
        Column("of P5-B's gain", "left"),
        Column("of P5's gain", "left"),
        Column("seeds"),
    )
    rows = [
        (
            _name(cell),
            policy_words(policy.policy, policy.eta),
            ratio_words(policy.over_p1),
            captured_words(policy.captured),
            captured_words(policy.captured_p5),
            str(policy.over_p1.n),
        )
        for cell, policy in _lines(shown)
        if policy.policy != "P1"
    ]
    reasons = dict.fromkeys(
        reason_words(item.reason)
        for _, policy in _lines(shown)
        if policy.policy != "P1"
        for item in (policy.captured, policy.captured_p5)
        if item.reason
    )
    return Table(title, columns if rows else (), _once(rows), (), tuple(f"share: {reason}" for reason in reasons))


def _once(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Name a configuration on the first of its rows only."""
    return tuple(row if not i or rows[i - 1][0] != row[0] else ("", *row[1:]) for i, row in enumerate(rows))
