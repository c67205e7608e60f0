"""The tables of ``reproduce``: a table per theme, and below each row's definition the command that re-makes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracestat.charts.captions import headline_method, titled
from tracestat.charts.published_words import measured, ours_words, printed_words, range_words
from tracestat.charts.table import Column, Table
from tracestat.charts.words import MISSING, counted
from tracestat.results import ReproducedFigure, ReproduceResult

__all__ = ["THEMES", "reproduce_tables"]

THEMES = {
    "counts": "What the trace holds",
    "durations": "How long calls and pauses take",
    "hours": "Where tool time goes",
    "law": "Hazard and remaining time",
    "deadlines": "Deadlines",
    "memoryfulness": "Memoryfulness",
    "codex": "Commands and clocks",
    "sessions": "Sessions and requests",
    "cache": "Prefix cache",
    "forecast": "Forecast",
    "simulator": "Simulator",
    "engine": "Engine",
    "validation": "Simulator against engine",
    "others": "Other corpora",
}
_ORIGINS = {"article": "the article", "tracelab": "TraceLab", "others": "others"}
_WHO = {"claude": "Claude: ", "codex": "Codex: "}


def reproduce_tables(result: ReproduceResult, top: int | None) -> list[Table]:
    """Give the tables of the rows to show.

    Parameters
    ----------
    result : ReproduceResult
    top : int, optional
        How many rows at most.
    """
    head = result.head
    rows = result.rows
    answered = [row for row in rows if row.ours.value is not None or row.definition is not None]
    kept = answered if top is None else answered[:top]
    trace = f"trace {head.trace.path}: {head.trace.rounds:,} rounds, {head.trace.tool_calls:,} tool calls"
    caption = (trace, *head.notes, _verdicts(rows))
    title = titled("Published figures beside ours", head)
    tables = [Table(title, caption=caption, notes=_others(result))]
    number = 0
    for theme, words in THEMES.items():
        part = [row for row in kept if row.theme == theme]
        if part:
            tables.append(_table(titled(words, head), part, number))
            number += len(part)
    notes = [] if len(kept) == len(answered) else [f"{len(kept)} of {len(answered)} rows; --top {len(answered)}: all"]
    notes += _unanswered([row for row in rows if row.definition is None])
    if notes:
        tables.append(Table(titled("Left out here", head), notes=tuple(notes)))
    return tables


def _verdicts(rows: Sequence[ReproducedFigure]) -> str:
    counts = Counter(row.verdict for row in rows)
    order = ("agrees", "differs", "overlaps", "higher", "lower", "cannot tell")
    return f"{counted(len(rows), 'figure')}: " + ", ".join(f"{counts[v]} {v}" for v in order if counts[v])


def _others(result: ReproduceResult) -> tuple[str, ...]:
    lines = [
        "ours: under the stated or most likely definition; range: over all definitions; a published number counts as "
        "the interval that its rounding stands for",
    ]
    parts = [f"{n} of {_ORIGINS.get(o, o)} (--source {o})" for o, n in result.not_shown.items()]
    if parts:
        lines.append(f"not here: {', '.join(parts)}; all: --source all")
    return tuple(lines)


def _table(title: str, rows: Sequence[ReproducedFigure], before: int) -> Table:
    columns = (
        Column("#"),
        Column("figure", "left", "wrap"),
        Column("published"),
        Column("ours", "left", "wrap"),
        Column("range", "left", "wrap"),
        Column("verdict", "left", "wrap"),
    )
    numbered = list(enumerate(rows, start=before + 1))
    cells = tuple(
        (
            str(number),
            f"{_WHO.get(row.provider or '', '')}{row.statement}",
            printed_words(row),
            ours_words(row.ours, row.unit),
            range_words(row.range, row.unit),
            row.verdict,
        )
        for number, row in numbered
    )
    method = headline_method([row.ours for row in rows])
    notes = (*_made(numbered), *_nearest(numbered), *_told(numbered), *([method] if method else []))
    return Table(title, columns, cells, (), notes)


Numbered = Sequence[tuple[int, ReproducedFigure]]


def _made(numbered: Numbered) -> list[str]:
    """Name the definition of each row, and below it the commands that print them."""
    groups: dict[str | None, dict[str, list[str]]] = {}
    for number, row in numbered:
        commands = groups.setdefault(row.definition, {})
        commands.setdefault(row.command, []).append(f"#{number} {row.id}")
    lines = []
    for definition, commands in groups.items():
        lines.append(f"{definition or MISSING}:")
        for command, whose in commands.items():
            lines += [f"  {', '.join(whose)}:", f"    {command}"]
    return lines


def _nearest(numbered: Numbered) -> list[str]:
    """Name the definition that comes nearest to the published number, where it is another one."""
    found: dict[str, list[str]] = {}
    for number, row in numbered:
        if row.nearest_definition not in (None, row.definition) and row.nearest is not None:
            words = f"#{number} {measured(row.nearest, row.unit)}"
            found.setdefault(str(row.nearest_definition), []).append(words)
    return [f"nearest: {', '.join(whose)}: {definition}" for definition, whose in found.items()]


def _told(numbered: Numbered) -> list[str]:
    """Say what else a reader must know of single rows, and why a number is missing."""
    found: dict[str, list[str]] = {}
    for number, row in numbered:
        for words in (row.note, row.why):
            if words:
                found.setdefault(words, []).append(f"#{number}")
    return [f"{', '.join(whose)}: {words}" for words, whose in found.items()]


def _unanswered(rows: Sequence[ReproducedFigure]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row.why, []).append(row.of)
    lines = []
    for why, ids in reasons.items():
        names = list(dict.fromkeys(ids))
        lines.append(f"{counted(len(ids), 'number')}, {why}: {', '.join(names)}")
    return lines
