"""The tables of a profile and of what was drawn from one: recorded beside drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, amount, counted, seconds, slope

if TYPE_CHECKING:
    from tracestat.results.profile import Profile
    from tracestat.synth.from_profile_truth import ComparedQuantile

__all__ = ["comparison_tables", "profile_tables"]

_NAMES = {
    "tool_pause": "tool pause",
    "human_wait": "wait for a person",
    "rounds_per_session": "rounds/session",
    "rounds_per_request": "rounds/request",
    "context": "context, tokens",
    "output": "output, tokens",
    "tool_paused_per_session": "tool time/session",
    "paused_per_session": "paused/session",
}
_QUANTILES = ("p50", "p95", "p99")


def profile_tables(profile: Profile) -> list[Table]:
    """Give what a profile recorded, and how many keys it has.

    Parameters
    ----------
    profile : Profile
    """
    mark = "SYNTHETIC: " if profile.synthetic else ""
    levels: dict[str, list[bool]] = {}
    for key in profile.keys:
        levels.setdefault(key.level, []).append(bool(key.own_survival))
    keys = Table(
        f"{mark}keys of tool pauses",
        (Column("level", "left"), Column("keys"), Column("with a curve of their own")),
        tuple((level, f"{len(own):,}", f"{sum(own):,}") for level, own in levels.items()),
    )
    columns = (label_column(""), Column("n"), *(Column(name) for name in _QUANTILES))
    tables = [keys]
    for part in profile.sessions.providers:
        rows = [row for row in profile.recorded if row.provider == part.provider]
        title = f"{mark}{part.provider}: recorded, {counted(part.n_sessions, 'session')}"
        cells = tuple(
            (_NAMES[row.quantity], f"{row.n:,}", *(_write(row.quantity, getattr(row, q)) for q in _QUANTILES))
            for row in rows
        )
        tables.append(Table(title, columns, cells, notes=tuple(part.notes)))
    return tables


def comparison_tables(compared: Sequence[ComparedQuantile]) -> list[Table]:
    """Give recorded beside drawn quantiles, a table per provider, with the reason of every larger difference.

    Parameters
    ----------
    compared : sequence of ComparedQuantile
    """
    columns = (
        label_column("recorded | drawn"),
        *(Column(name) for quantile in _QUANTILES for name in (quantile, "drawn")),
        Column("drawn / recorded"),
    )
    tables = []
    for provider in dict.fromkeys(row.provider for row in compared):
        own = [row for row in compared if row.provider == provider]
        cells = tuple(
            _row(name, {row.quantile: row for row in own if row.quantity == name})
            for name in _NAMES
            if any(row.quantity == name for row in own)
        )
        etas = [row for row in own if row.quantity.startswith("eta_")]
        said = tuple(
            f"memoryfulness by {row.quantity.removeprefix('eta_')}: {slope(row.recorded)} recorded, "
            f"{slope(row.drawn)} drawn"
            for row in etas
        )
        tables.append(Table(f"SYNTHETIC: {provider}", columns, cells, notes=(*said, *_reasons(own))))
    return tables


def _row(name: str, of: dict[str, ComparedQuantile]) -> tuple[str, ...]:
    numbers = [_write(name, value) for q in _QUANTILES for value in (of[q].recorded, of[q].drawn)]
    ratios = [of[q].ratio for q in _QUANTILES]
    return (_NAMES[name], *numbers, " ".join(MISSING if ratio is None else f"{ratio:.2f}" for ratio in ratios))


def _reasons(rows: Sequence[ComparedQuantile]) -> list[str]:
    from tracestat.synth.from_profile_truth import ONE_SIDED

    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.reason and (row.recorded is not None or row.drawn is not None):
            name = _NAMES.get(row.quantity, row.quantity.replace("_", " by ")).split(",")[0]
            by_reason.setdefault(row.reason, []).append(f"{name} {row.quantile}".removesuffix(" value"))
    return [
        f"{'' if reason in ONE_SIDED else 'more than 10 % apart: '}{', '.join(what)}: {reason}"
        for reason, what in by_reason.items()
    ]


def _write(quantity: str, value: float | None) -> str:
    if value is None:
        return MISSING
    if quantity in ("tool_pause", "human_wait") or quantity.endswith("paused_per_session"):
        return seconds(value / 1000)
    return amount(value) if quantity in ("context", "output") else f"{value:,.0f}"
