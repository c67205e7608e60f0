"""``export constants``: a machine and the workload that it meets, in one file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import tracestat
from tracestat.api.common import Progress, TraceLike, as_trace, sorted_groups, split_by_key
from tracestat.api.curves import curves_of
from tracestat.api.deadlines import deadlines
from tracestat.api.forecasts import load_forecast
from tracestat.api.key_laws import key_laws
from tracestat.api.log_parts import share_of_sums
from tracestat.api.memoryfulness import memoryfulness
from tracestat.constants import (
    AskedLimits,
    Constants,
    ForecastFile,
    HumanPart,
    Origin,
    Programs,
    TurnPoint,
    Workload,
)
from tracestat.durations import select, summary_shares
from tracestat.durations.lateness import key_lateness
from tracestat.errors import UsageError
from tracestat.export.attribution import attribution_of
from tracestat.export.constants import Late, Values, constants_of_keys, values_of, with_returned, write_constants
from tracestat.hardware import DEFAULT_HARDWARE, Hardware, load_hardware
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.results.key_laws import LAW_GRID, LEVELS

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace
    from tracestat.survival.clustered import ClusteredCurve

__all__ = ["BENEFITS", "constants_before", "export_constants"]

BENEFITS = (0.5, 1.0, 2.0, 5.0, 10.0, 40.0)
_MIN_N = 20
_MOST_BENEFITS = 100
_CHANGES = "laws of pauses per key, shares, rounds per program and holds, computed from the trace"
_PARTS = 5


def export_constants(
    trace: TraceLike | None,
    path: str | Path,
    *,
    hardware: str | Path | Hardware = DEFAULT_HARDWARE,
    benefits: Sequence[float] = BENEFITS,
    forecast: str | Path | None = None,
    other_forecast: bool = False,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    min_n: int | None = None,
    seed: int = 0,
    licence: str | None = None,
    attribution: str | None = None,
    allow_synthetic: bool = False,
    progress: Progress | None = None,
) -> Constants:
    """Write the constants that a simulator or a serving engine loads: a machine, and the workload that it meets.

    Parameters
    ----------
    trace : Trace, str, Path or None
        What the workload is made of; None writes the hardware alone.
    path : str or Path
        ``.json``; a file that is there is replaced once the new one is complete.
    hardware : str, Path or Hardware
        As for :func:`tracestat.load_hardware`.
    benefits : sequence of float
        B, seconds of holding that a resident return is worth (T eta + R for Continuum): for each the best holds are
        given. Up to 100, above 0.
    forecast : str or Path, optional
        A file of ``tracestat forecast fit``, which is then named by its SHA-256.
    other_forecast : bool
        Whether the forecast may have been fitted on another trace.
    where, since, until, tz
        Which sessions: as for :func:`tracestat.memoryfulness`.
    min_n : int, optional
        Keys below the provider with fewer pauses are left out, and counted; default 20.
    seed : int
        Seed of the draws behind intervals.
    licence, attribution : str, optional
        What is known of the source beside what is found.
    allow_synthetic : bool
        Whether a synthetic trace may be written; the file says that it is one.
    progress : callable, optional
        Called with (parts done, parts in all).

    Returns
    -------
    Constants
        What :func:`tracestat.load_constants` reads from the file.

    Raises
    ------
    UsageError
        A synthetic trace without ``allow_synthetic``, a forecast of another trace without ``other_forecast``, a
        benefit that is none, or a choice that does not exist.
    TracestatError
        A file that cannot be read or written.

    Notes
    -----
    Keys are those of pauses by the wall clock, tool rows only: provider, tool class, tool and command skeleton, level
    by level. Rule ``continuum`` is Continuum's: the key's own durations once there are more than 100, else those of
    all tools of its provider, else its start without any; ``hazard`` charges only the time really held, on the same
    law. The same two rules with ``_shrunken`` use the key's shrunken law.

    References
    ----------
    .. [1] Continuum (2025), arXiv 2511.02230, v6.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = tracestat.export_constants(tracestat.open(), f"{folder}/c.json", allow_synthetic=True)
    ...     made.workload.origin.synthetic, made.workload.keys[0].key["provider"]
    (True, 'claude')
    """
    machine = hardware if isinstance(hardware, Hardware) else load_hardware(hardware)
    workload = None
    if trace is None:
        if forecast is not None:
            raise UsageError("--forecast: it belongs to a workload; give a trace, or leave it out")
    else:
        _check_benefits(benefits)
        if min_n is not None and min_n < 1:
            raise UsageError(f"--min-n {min_n}: give 1 or more")
        opened = as_trace(trace)
        if opened.synthetic and not allow_synthetic:
            raise UsageError(
                f"{opened.shown} is synthetic, and constants of it would look like measured ones: name a TRACE, or say "
                "--allow-synthetic"
            )
        about = attribution_of(opened, _CHANGES, licence=licence, attribution=attribution)
        named = None if forecast is None else _forecast(Path(forecast), opened, other_forecast)
        sessions: dict[str, Any] = {"where": where, "since": since, "until": until, "tz": tz}
        workload = _workload(
            opened,
            sessions,
            benefits=tuple(float(benefit) for benefit in benefits),
            min_n=min_n or _MIN_N,
            seed=seed,
            forecast=named,
            origin=Origin(**asdict(about)),
            progress=progress or _silent,
        )
    return write_constants(Constants(machine, workload, tracestat.__version__), Path(path))


def constants_before(
    trace: TraceLike,
    hardware: Hardware,
    *,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Constants:
    """Give the constants of what a trace holds before a moment, for policies that meet what comes after it.

    As `export_constants`, but no file is written, and a synthetic trace says so in ``origin`` alone.
    """
    opened = as_trace(trace)
    about = attribution_of(opened, _CHANGES, licence=None, attribution=None)
    workload = _workload(
        opened,
        {"where": where, "since": since, "until": until, "tz": tz},
        benefits=BENEFITS,
        min_n=_MIN_N,
        seed=seed,
        forecast=None,
        origin=Origin(**asdict(about)),
        progress=progress or _silent,
    )
    return Constants(hardware, workload, tracestat.__version__)


def _silent(done: int, whole: int) -> None:
    """Take progress and say nothing."""


def _check_benefits(benefits: Sequence[float]) -> None:
    if not 0 < len(benefits) <= _MOST_BENEFITS:
        raise UsageError(f"--benefit: give 1 to {_MOST_BENEFITS} numbers")
    for benefit in benefits:
        if not 0 < benefit < math.inf:
            raise UsageError(f"--benefit {benefit:g}: give seconds above 0 (at 0 or below no hold pays)")
    if any(not a < b for a, b in pairwise(benefits)):
        raise UsageError("--benefit: write the numbers rising, each once")


def _forecast(path: Path, trace: Trace, other: bool) -> ForecastFile:
    model = load_forecast(path)
    same = model.fingerprint == trace.fingerprint
    if not same and not other:
        raise UsageError(
            f"--forecast {path.name}: was fitted on another trace ({model.trace}, {model.fingerprint[:19]}); fit it on "
            "this one, or say --other-forecast"
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ForecastFile(name=path.name, sha256=digest, fingerprint=model.fingerprint, same_trace=same)


def _workload(
    trace: Trace,
    sessions: dict[str, Any],
    *,
    benefits: tuple[float, ...],
    min_n: int,
    seed: int,
    forecast: ForecastFile | None,
    origin: Origin,
    progress: Progress,
) -> Workload:
    progress(0, _PARTS)
    # first, since only keys of sessions are allowed there
    programs, notes = _programs(trace, sessions, seed)
    progress(1, _PARTS)
    laws = key_laws(trace, unit="pause", clock="wall", rows="tool", laws=False, seed=seed, **sessions)
    progress(2, _PARTS)
    curves = _curves(trace, sessions)
    at_zero = {key: float(curve.curve.survival_at([0.0])[0]) for key, curve in curves.items()}
    bare, left_out = constants_of_keys(laws.laws, benefits, _lateness(trace, sessions), min_n, at_zero)
    keys = tuple(with_returned(key, curves[values_of(key.key, key.level)].within) for key in bare)
    progress(3, _PARTS)
    human = _human(trace, sessions)
    progress(4, _PARTS)
    limits, more = _limits(trace, sessions, seed)
    progress(5, _PARTS)
    if forecast is not None and not forecast.same_trace:
        more += [f"the forecast {forecast.name} was fitted on another trace"]
    if not keys:
        more.append("no pause takes part: the file has no law and no hold")
    head = laws.head
    return Workload(
        origin=origin,
        unit="pause",
        clock="wall",
        definition="tracestat",
        rows="tool",
        where=head.where,
        since=head.since,
        until=head.until,
        zone=head.zone,
        seed=seed,
        excluded=dict(head.excluded),
        min_n=min_n,
        keys_left_out=left_out,
        grid=LAW_GRID,
        benefits=benefits,
        memoryfulness=programs,
        keys=keys,
        human=human,
        asked_limits=limits,
        forecast=forecast,
        notes=(*head.notes, *notes, *more),
    )


def _programs(trace: Trace, sessions: dict[str, Any], seed: int) -> tuple[tuple[Programs, ...], list[str]]:
    result = memoryfulness(trace, by="provider", seed=seed, **sessions)
    made = tuple(
        Programs(
            provider=group.key["provider"],
            unit=group.key["unit"],
            eta=group.value,
            n=group.n_programs,
            n_open=group.n_censored,
            n_sessions=group.n_sessions,
            n_developers=group.n_developers,
            mean=group.turns.mean,
            max=group.turns.max,
            turns=tuple(TurnPoint(point.turns, point.share, point.n) for point in group.law),
            notes=group.notes,
        )
        for group in result.groups
    )
    return made, list(result.head.notes)


def _lateness(trace: Trace, sessions: dict[str, Any]) -> Late:
    selection = select(trace, unit="pause", by="provider", **sessions)
    rows = key_lateness(trace, selection).iter_rows(named=True)
    return {(row["provider"], row["kind"], row["limit_seconds"]): row["late_seconds"] for row in rows}


def _curves(trace: Trace, sessions: dict[str, Any]) -> dict[Values, ClusteredCurve]:
    """Give the curve of each key's own pauses, with its clusters by session and developer."""
    made: dict[Values, ClusteredCurve] = {}
    for depth in range(1, len(LEVELS) + 1):
        selection = select(trace, unit="pause", by=LEVELS[:depth], **sessions)
        made |= cast("dict[Values, ClusteredCurve]", curves_of(trace, selection))
    return made


def _human(trace: Trace, sessions: dict[str, Any]) -> tuple[HumanPart, ...]:
    """Give what waits for a person of all pauses, by session and by developer."""

    def sums(rows: Any) -> dict[tuple[Any, ...], pl.DataFrame]:
        selection = select(trace, unit="pause", rows=rows, by="provider", **sessions)
        return split_by_key(summary_shares(trace, selection, 0.0), selection)

    everything, human = sums("all"), sums("human")
    return tuple(
        _human_part(key[0], everything[key], human.get(key, everything[key].clear()))
        for key in sorted_groups(everything)
    )


def _human_part(provider: str | None, whole: pl.DataFrame, some: pl.DataFrame) -> HumanPart:
    columns = ("n", "seconds", "token_seconds")
    both = whole.join(
        some.select("session_pk", *columns), on="session_pk", how="left", suffix="_human", maintain_order="left"
    ).fill_null(0)
    developer = np.unique(both["developer_id"].to_numpy(), return_inverse=True)[1].astype(np.intp)
    sums = {name: both[name].to_numpy().astype(np.float64) for name in (*columns, *(f"{c}_human" for c in columns))}

    def share(name: str) -> Interval:
        of, part = sums[name], sums[f"{name}_human"]
        if not of.sum() > 0:
            return NOT_AVAILABLE
        # of nothing no bound is known
        return share_of_sums(of, part, developer) if part.sum() > 0 else Interval(0.0)

    return HumanPart(
        provider=provider,
        n=int(sums["n"].sum()),
        n_human=int(sums["n_human"].sum()),
        of_count=share("n"),
        of_time=share("seconds"),
        of_token_seconds=share("token_seconds"),
    )


def _limits(trace: Trace, sessions: dict[str, Any], seed: int) -> tuple[tuple[AskedLimits, ...], list[str]]:
    result = deadlines(trace, mode="asked", by="provider", seed=seed, **sessions)
    made, notes = [], []
    for group in result.groups:
        provider = group.key["provider"]
        notes += [f"asked limits of {provider}: {note}" for note in group.notes if not group.atoms and "limit" in note]
        made += [
            AskedLimits(
                provider=provider,
                tool=atom.tool,
                seconds=atom.seconds,
                n_asked=atom.n_asked,
                n_ended=atom.events,
                ended=atom.of_asked or NOT_AVAILABLE,
            )
            for atom in group.atoms
            if atom.n_asked is not None
        ]
    return tuple(made), notes
