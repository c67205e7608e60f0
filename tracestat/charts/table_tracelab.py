"""The tables of TraceLab's published analyses, by its own rules: no intervals, positive effective latencies only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracestat.charts.captions import titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, count, counted, percent, plain, seconds
from tracestat.results import Head

__all__ = ["tracelab_tables"]

_LATENCY = ("mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")
_COUNTS = ("calls", "latency_count", "missing_latency", "nonpositive_latency", "error_calls")


def tracelab_tables(figures: Mapping[str, Any], head: Head, caption: Sequence[str]) -> list[Table]:
    """Give the latency tables per tool, the latency bins, the command chains and the wall clock per provider.

    Parameters
    ----------
    figures : mapping
        ``counts``, ``latency_summary``, ``latency_bins``, ``command_chains``, ``wall_clock_by_provider_ms``.
    head : Head
    caption : sequence of str
        How they were made, for the first table.
    """
    tools = list(figures.get("latency_summary") or [])
    tables = [
        Table(
            titled("TraceLab: calls per tool", head),
            (
                label_column("tool"),
                Column("calls"),
                Column("with\nlatency"),
                Column("missing"),
                Column("zero or\nnegative"),
                Column("errors"),
            ),
            tuple((_name(row.get("tool_name")), *(_count(row.get(name)) for name in _COUNTS)) for row in tools),
            (*caption, _totals(figures.get("counts") or {})),
        ),
        Table(
            titled("TraceLab: latency per tool", head),
            (
                label_column("tool"),
                Column("mean"),
                Column("median"),
                Column("p90"),
                Column("p99"),
                Column("max"),
            ),
            tuple((_name(row.get("tool_name")), *(_ms(row.get(name)) for name in _LATENCY)) for row in tools),
            (),
            ("effective latency (reported by the tool runner, else wall), positive ones only; - : no such call",),
        ),
        Table(
            titled("TraceLab: where calls and time lie", head),
            (Column("latency", "left"), Column("calls"), Column("of calls"), Column("time"), Column("of time")),
            tuple(
                (
                    plain(row.get("label")),
                    _count(row.get("tool_calls")),
                    percent(_number(row.get("call_share"))),
                    _ms(row.get("total_latency_ms")),
                    percent(_number(row.get("latency_share"))),
                )
                for row in figures.get("latency_bins") or []
            ),
        ),
    ]
    chains = figures.get("command_chains") or {}
    if chains:
        tables.append(_chains(chains, titled("TraceLab: Codex commands over launch and polls", head)))
    walls = figures.get("wall_clock_by_provider_ms") or {}
    if walls:
        tables.append(_walls(walls, titled("TraceLab: wall clock per provider", head)))
    return tables


def _chains(chains: Mapping[str, Any], title: str) -> Table:
    wall = chains.get("wall_until_finished_ms") or {}
    columns = (
        Column("commands"),
        Column("finished"),
        Column("with polls"),
        Column("lower median"),
        Column("max"),
        Column("total"),
    )
    row = (
        *(_count(chains.get(name)) for name in ("commands", "finished", "with_continuation")),
        *(_ms(wall.get(name)) for name in ("p50_lower", "max", "sum")),
    )
    return Table(title, columns, (row,), (), ("wall clock from the launch to the first result that says finished",))


def _walls(walls: Mapping[str, Any], title: str) -> Table:
    columns = (
        label_column("provider"),
        Column("calls"),
        Column("median"),
        Column("p90"),
        Column("p99"),
        Column("total"),
    )
    rows = tuple(
        (plain(provider), _count(row.get("n")), *(_ms(row.get(name)) for name in ("p50", "p90", "p99", "sum")))
        for provider, row in walls.items()
    )
    return Table(title, columns, rows, (), ("zeros and copies kept",))


def _totals(counts: Mapping[str, Any]) -> str:
    numbers = [(_number(counts.get(name)), one, many) for name, one, many in _TOTALS]
    parts = [counted(round(number), one, many) for number, one, many in numbers if number is not None]
    return "; ".join(parts) or "no counts"


_TOTALS = (
    ("rounds", "round", "rounds"),
    ("tool_calls", "call", "calls"),
    ("sessions", "session", "sessions"),
    ("users", "developer", "developers"),
    ("tool_calls_without_result", "call without a result", "calls without a result"),
)


def _name(value: object) -> str:
    return "(none)" if value is None else plain(value)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _count(value: object) -> str:
    number = _number(value)
    return MISSING if number is None else count(round(number))


def _ms(value: object) -> str:
    number = _number(value)
    return MISSING if number is None else seconds(number / 1000)
