"""``fit``: which law (Weibull, lognormal ...) holds where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracestat.api.between import between_notes
from tracestat.api.common import (
    TraceLike,
    as_trace,
    excluded_of,
    head_of,
    key_of,
    plain_groups,
    sorted_groups,
    split_by_key,
)
from tracestat.durations import Clock, Definition, Rows, Selection, Unit, select
from tracestat.durations.laws import law_cells
from tracestat.errors import TracestatError, UsageError
from tracestat.results import FitGroup, FitResult
from tracestat.results.fit import FAMILY_WORDS
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS
from tracestat.survival.law_fits import REFERENCE, GroupLaws, fit_group
from tracestat.survival.law_ranges import LawGrid, law_grid
from tracestat.survival.laws import LawCounts, law_counts
from tracestat.survival.threads import two_at_a_time

if TYPE_CHECKING:
    import polars as pl

__all__ = ["below_of", "counts_of", "fit_laws", "grid_of"]

_ABOVE_FIRST_CLOCK = 0.0055
_LARGEST_START = 10_000.0
_COARSE = "{rows} timed by a clock too coarse for the first edge, counted from {begin:g} s on"


def grid_of(above: float | None) -> LawGrid:
    """Make the grid from a first edge on.

    Raises
    ------
    UsageError
        It lies below what a clock of milliseconds can tell, or where next to nothing lasts.
    """
    if above is not None and not _ABOVE_FIRST_CLOCK <= above <= _LARGEST_START:
        raise UsageError(f"--above {above:g}: give {_ABOVE_FIRST_CLOCK:g} to {_LARGEST_START:g} seconds")
    return law_grid(above)


def counts_of(frame: pl.DataFrame, grid: LawGrid) -> LawCounts:
    """Lay out the rows of one group that end above their entry; each cell's centre stands for its durations."""
    cell = frame["cell"].to_numpy()
    entry = frame["enters_at"].to_numpy()
    # a row that enters and ends in one cell ends after it entered
    time = np.maximum(grid.centres[cell], entry * (1 + 1e-6))
    return law_counts(
        time,
        frame["n_event"].to_numpy(),
        frame["n_censored"].to_numpy(),
        entry,
        frame["session_pk"].to_numpy(),
        frame["developer_id"].to_numpy(),
    )


def below_of(cells: pl.DataFrame, grid: LawGrid) -> dict[str, int]:
    """Count the rows that ended before they would have entered, apart those of a clock too coarse for the edge."""
    below = cells.filter(cells["cell"] < 0)
    rows, coarse = below["n_event"] + below["n_censored"], below["enters_at"] > grid.edges[0]
    counted = {"below_first_edge": int(rows.filter(~coarse).sum())}
    # named only where there are any, as in the other commands
    return counted | ({"below_resolution": int(rows.filter(coarse).sum())} if coarse.any() else {})


def fit_laws(
    trace: TraceLike,
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows = "tool",
    definition: Definition = "tracestat",
    above: float | None = None,
    draws: int = 2_000,
    min_n: int | None = None,
    seed: int = 0,
) -> FitResult:
    """Fit laws of durations, and say which fits best and where each holds.

    Weibull, lognormal, log-logistic and generalised gamma are fitted by lifelines to counts on a 1 % log grid; the
    reference is a hazard that is constant within bins of ratio 1.9. All are laws of the durations **above** a first
    edge, 5.5 ms by default: rows enter there (left truncation), and what ended before, zeros among them, is left out
    and counted, since a clock of milliseconds says nothing about it.

    Parameters
    ----------
    trace, by, where, since, until, tz, unit, clock, rows, definition, min_n
        As for :func:`tracestat.hazard`.
    above : float, optional
        First edge in seconds, 0.0055 to 10000: the laws of what lasts longer.
    draws : int
        Draws of the simultaneous bands.
    seed : int
        Seed of the draws.

    Returns
    -------
    FitResult
        Per group and law: parameters with intervals by session and by developer (jackknife), AIC, AIC less that of the
        best law with a clustered interval, and the range in which it holds: the widest row of at least 5 neighbouring
        bins in each of which the events seen, over those that the law expects of the rows at risk, differ from 1 by
        no more than the clustered simultaneous 95 % band.

    Raises
    ------
    UsageError
        A key, column or choice that does not exist.

    Notes
    -----
    AIC takes rows as independent, as its name says; ``aic_clustered`` replaces the number of parameters by the trace
    of (variance of the score by clusters times inverse information) [2]_.

    References
    ----------
    .. [1] Vuong (1989), Likelihood ratio tests for model selection and non-nested hypotheses.
    .. [2] Varin and Vidoni (2005), A note on composite likelihood inference and model selection.
    .. [3] Prentice (1974), A log gamma model and its maximum likelihood estimation.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.fit_laws(tracestat.open(), draws=200)
    >>> [law.family for law in result.groups[0].laws]
    ['weibull', 'lognormal', 'loglogistic', 'gengamma', 'piecewise']
    """
    if draws < 0:
        raise UsageError(f"draws {draws}: give 0 or more")
    grid = grid_of(above)
    opened = as_trace(trace)
    selection = select(
        opened,
        unit=unit,
        clock=clock,
        rows=rows,
        definition=definition,
        by=by,
        where=where,
        since=since,
        until=until,
        tz=tz,
    )
    cells = law_cells(opened, selection, grid.lower.tolist(), grid.edges)
    parts = split_by_key(cells, selection)

    def made(key: tuple[Any, ...]) -> FitGroup:
        return _group(key, parts[key], grid, selection, min_n or 0, draws, seed)

    groups: list[FitGroup] = []
    if parts:
        # imported before the threads start, so that they need not wait for each other in it
        import tracestat.survival.law_families  # noqa: F401  its fitters are found by name

        groups = two_at_a_time(made, sorted_groups(parts))
    if selection.definition == "tracelab":
        groups = plain_groups(groups)
    excluded = excluded_of(opened, selection)
    counted = {**excluded.counts, **below_of(cells, grid)}
    late = between_notes(opened, selection, "laws take them to last longer than they did")
    head = head_of(opened, selection, "fit", seed=seed, excluded=counted, notes=(*excluded.notes, *late))
    return FitResult(head, tuple(groups))


def _group(
    key: tuple[Any, ...],
    frame: pl.DataFrame,
    grid: LawGrid,
    selection: Selection,
    min_n: int,
    draws: int,
    seed: int,
) -> FitGroup:
    import polars as pl

    n_event, n_censored = int(frame["n_event"].sum()), int(frame["n_censored"].sum())
    n = n_event + n_censored
    within = frame.filter(pl.col("cell") >= 0)
    rows = within["n_event"] + within["n_censored"]
    n_fitted = int(rows.sum())
    developers = frame["developer_id"].n_unique()
    notes: list[str] = []
    begin = float(frame["enters_at"].max() or grid.edges[0])  # type: ignore[arg-type]  # a column of floats
    late = frame.filter(pl.col("enters_at") > grid.edges[0])
    if late.height:
        n_late = int((late["n_event"] + late["n_censored"]).sum())
        notes.append(_COARSE.format(rows=f"{n_late:,} rows are" if n_late > 1 else "1 row is", begin=begin))
    made = GroupLaws((), (), None, "session")
    if n < min_n:
        notes.append(f"{n} rows, {min_n} asked for")
    else:
        try:
            if not n_fitted:
                raise TracestatError(f"nothing lasts longer than {begin:g} s")
            made = fit_group(counts_of(within, grid), grid.edges, draws=draws, seed=seed)
        except TracestatError as error:
            notes.append(f"no law: {error}")
    for law in made.laws:
        words = FAMILY_WORDS[law.family]
        notes += [note if note.startswith(words) else f"{words}: {note}" for note in law.notes]
    notes += _second_opinion(made)
    if made.laws and within["developer_id"].n_unique() < ENOUGH_CLUSTERS:
        notes.append(FEW_DEVELOPERS.format(n=within["developer_id"].n_unique()))
    return FitGroup(
        key=key_of(key, selection),
        n=n,
        n_events=n_event,
        n_censored=n_censored,
        n_sessions=frame["session_pk"].n_unique(),
        n_developers=developers,
        total_seconds=float(grid.centres[within["cell"].to_numpy()] @ rows.to_numpy()) if n_fitted else 0.0,
        notes=tuple(notes),
        laws=made.laws,
        above=float(grid.edges[0]),
        n_fitted=n_fitted,
        tested=made.tested,
        clusters=made.clusters,
        quantiles=made.quantiles,
    )


def _second_opinion(made: GroupLaws) -> list[str]:
    """Say where counting clusters, or bins without enough events, changes what AIC and ranges tell."""
    notes = []
    smooth = [law for law in made.laws if law.aic_clustered is not None and law.family != REFERENCE]
    if smooth:
        other = min(smooth, key=lambda law: law.aic_clustered or 0.0)
        if not other.best:
            notes.append(f"with clusters counted in its penalty, AIC prefers the {FAMILY_WORDS[other.family]} law")
    if made.laws and made.tested is None:
        notes.append("no bin has 30 events: where laws hold cannot be told")
    return notes
