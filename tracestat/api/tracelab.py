"""TraceLab's own figures, by its own rules: effective latency, positive only, copies kept, no intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracestat.queries import query_text
from tracestat.results import Json

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["tracelab_figures"]

# label, lower end (ms); a bin ends where the next begins
_BINS = (
    ("<10ms", 0),
    ("10-100ms", 10),
    ("100ms-1s", 100),
    ("1-10s", 1_000),
    ("10s-1m", 10_000),
    ("1-10m", 60_000),
    ("10m-1h", 600_000),
    (">=1h", 3_600_000),
)


def tracelab_figures(trace: Trace) -> dict[str, Json]:
    """Compute the tables that TraceLab publishes, over the whole trace.

    Returns
    -------
    dict
        ``counts``, ``latency_summary`` (a row per tool, milliseconds), ``latency_bins``, ``command_chains``,
        ``wall_clock_by_provider_ms``.
    """
    return {
        "counts": _counts(trace),
        "latency_summary": [_plain(row) for row in _rows(trace, "tracelab_latency")],
        "latency_bins": [
            _plain(row)
            for row in _rows(
                trace,
                "tracelab_bins",
                label=[label for label, _ in _BINS],
                lo=[lo for _, lo in _BINS],
                hi=[*(lo for _, lo in _BINS[1:]), None],
            )
        ],
        "command_chains": _chains(trace),
        "wall_clock_by_provider_ms": {row.pop("provider"): _plain(row) for row in _rows(trace, "tracelab_wall")},
    }


def _rows(trace: Trace, name: str, **parameters: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = trace.run(query_text(name), parameters).to_dicts()
    return rows


def _plain(row: dict[str, Any]) -> dict[str, Json]:
    """Make whole sums whole numbers again: DuckDB adds up integers as decimals or floats."""
    return {key: int(v) if key in _WHOLE and v is not None else v for key, v in row.items()}


_WHOLE = {"total_latency_ms", "sum", "max_ms", "lo_ms", "hi_ms", "max", "p50_lower", "n", "commands", "finished"}


def _counts(trace: Trace) -> dict[str, Json]:
    per_provider = _rows(trace, "tracelab_counts")
    total = next(row for row in per_provider if row["provider"] is None)
    (sums,) = _rows(trace, "tracelab_totals")
    return {
        "rounds": total["rounds"],
        "tool_calls": sums["tool_calls"],
        "timing_events": sums["timing_events"],
        "sessions": total["sessions"],
        "users": total["users"],
        "by_provider": {
            row["provider"]: {key: row[key] for key in ("rounds", "sessions", "users")}
            for row in per_provider
            if row["provider"] is not None
        },
        "tool_calls_without_result": sums["tool_calls_without_result"],
    }


def _chains(trace: Trace) -> dict[str, Json]:
    (row,) = _rows(trace, "tracelab_chains")
    row = _plain(row)
    return {
        **{key: row[key] for key in ("commands", "finished", "with_continuation")},
        "wall_until_finished_ms": {key: row[key] for key in ("n", "p50_lower", "max", "sum")},
    }
