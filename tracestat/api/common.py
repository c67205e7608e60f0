"""What every answer shares: opening a trace, and the head that says how the answer was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import tracestat
from tracestat.durations import Selection, excluded_rows
from tracestat.queries import data_path, query_text
from tracestat.results import Group, Head, TraceInfo, without_intervals
from tracestat.store import Trace, open_if_store, open_store

if TYPE_CHECKING:
    import polars as pl

    from tracestat.own_logs import LogFolder

__all__ = [
    "Excluded",
    "Progress",
    "TraceLike",
    "as_trace",
    "excluded_of",
    "group_keys",
    "head_of",
    "key_of",
    "open_trace",
    "plain_groups",
    "sorted_groups",
    "split_by_key",
]

GroupT = TypeVar("GroupT", bound=Group)
Progress = Callable[[int, int], None]
TraceLike = Trace | str | Path
# Reasons of the head, in the order of the machine output; others follow where they occur.
_REASONS = (
    "negative",
    "copies",
    "human",
    "background",
    "refused",
    "uninformative",
    "below_first_edge",
    "zero_inflated",
)


def open_trace(
    path: str | Path | None = None,
    *,
    mine: bool = False,
    classes: str | Path | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Open a trace of any kind for reading.

    Parameters
    ----------
    path : str or Path, optional
        A tracestat store, a TraceLab ``.duckdb``, ``.jsonl`` (plain, gzip, zstd) or Parquet folder, logs of agents, or
        a folder of such files. What is no store is read once into the cache; logs are read on when they have grown.
        Default: the bundled synthetic sample.
    mine : bool
        Read the logs of this user's Claude Code and Codex instead.
    classes : str or Path, optional
        A class file in place of the shipped ``tool_classes.toml``.
    progress : callable, optional
        Called with (bytes done, bytes in all) while a source is read.

    Returns
    -------
    Trace
        Read-only; close it, or use it as a context manager.

    Raises
    ------
    TracestatError
        There is no trace, it cannot be read, or it needs a newer tracestat.

    Examples
    --------
    >>> import tracestat
    >>> with tracestat.open() as trace:
    ...     trace.synthetic
    True
    """
    source = data_path("sample.jsonl.gz") if path is None else Path(path)
    trace = None if mine else open_if_store(source)
    if trace is None:
        from tracestat.ingest.cached import cached_store

        places = [folder.place for folder in _own_folders()] if mine else [source]
        trace = open_store(cached_store(places, progress=progress), shown=source.name)
        if trace.run(query_text("log_count"))["logs"].item():
            # the folder of a log can spell out what somebody works on; the cache lists the store by this name too
            trace.shown = f"logs/{trace.path.stem[:12]}"
    if classes is not None:
        from tracestat.ingest.reclass import reclass

        reclass(trace, Path(classes))
    return trace


def _own_folders() -> list[LogFolder]:
    from tracestat.own_logs import require_log_folders

    return require_log_folders()


def as_trace(trace: TraceLike) -> Trace:
    """Give the trace itself, or open the path."""
    return trace if isinstance(trace, Trace) else open_trace(trace)


def head_of(
    trace: Trace,
    selection: Selection,
    command: str,
    *,
    seed: int = 0,
    excluded: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Head:
    """Say how an answer was made: trace, choices, and how many rows were left out and why."""
    counted = dict.fromkeys(_REASONS, 0) | dict(excluded or {})
    return Head(
        schema=f"tracestat.{command}/1",
        tracestat=tracestat.__version__,
        trace=TraceInfo(
            path=trace.shown,
            fingerprint=trace.fingerprint,
            rounds=trace.counts["rounds"],
            tool_calls=trace.counts["tool_calls"],
            rejected=trace.counts["rejected"],
        ),
        unit=selection.unit,
        clock=selection.clock,
        by=selection.keys,
        where=selection.where.text,
        seed=seed,
        rows=selection.rows,
        synthetic=trace.synthetic,
        definition=selection.definition,
        since=selection.since,
        until=selection.until,
        zone=selection.zone,
        notes=tuple(notes),
        excluded=counted,
    )


@dataclass(frozen=True, slots=True)
class Excluded:
    """Rows left out over the whole answer, by reason, and rows whose small negative duration counts as zero."""

    counts: Mapping[str, int]
    skewed: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the rows that take part."""
        if not self.skewed:
            return ()
        return (f"{self.skewed:,} durations in [-0.1, 0) s count as zero (clock skew)",)


def excluded_of(trace: Trace, selection: Selection) -> Excluded:
    """Count the rows that take no part in an answer."""
    counts: dict[str, int] = {}
    skewed = 0
    for row in excluded_rows(trace, selection).iter_rows(named=True):
        reason = row["excluded"]
        if not reason and selection.rows != "all" and row["row_kind"] != selection.rows:
            reason = row["row_kind"]
        if reason:
            counts[reason] = counts.get(reason, 0) + int(row["rows"])
        else:
            skewed += int(row["skewed"])
    return Excluded(counts, skewed)


def plain_groups(groups: Iterable[GroupT]) -> list[GroupT]:
    """Leave out the intervals and what notes say of them, for a definition that states no uncertainty."""
    return [
        replace(without_intervals(group), notes=tuple(note for note in group.notes if "intervals" not in note))
        for group in groups
    ]


def group_keys(selection: Selection) -> list[str]:
    """Give the key columns that a query's frame has; the constant one when everything is pooled."""
    return list(selection.keys) or ["pooled"]


def split_by_key(frame: pl.DataFrame, selection: Selection) -> dict[tuple[Any, ...], pl.DataFrame]:
    """Cut a frame into groups, a frame per key."""
    keys = group_keys(selection)
    parts: dict[tuple[Any, ...], pl.DataFrame] = {}
    for part in frame.partition_by(keys, maintain_order=True):
        parts[part.select(keys).row(0)] = part
    return parts


def key_of(values: tuple[Any, ...], selection: Selection) -> dict[str, Any]:
    """Name the values of a group's key; empty when everything is pooled."""
    return dict(zip(selection.keys, values, strict=False)) if selection.keys else {}


def sorted_groups(keys: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Give the keys of groups in order, missing values last."""
    return sorted(keys, key=lambda key: tuple((value is None, str(value)) for value in key))
