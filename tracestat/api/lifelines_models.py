"""``to_lifelines``: fitted lifelines objects, for people who go on in a notebook."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tracestat.api.between import between_notes
from tracestat.api.common import TraceLike, as_trace, excluded_of, sorted_groups, split_by_key
from tracestat.api.hazards import CUT_AT
from tracestat.api.laws import below_of, counts_of, grid_of
from tracestat.durations import Clock, Rows, Selection, Unit, select
from tracestat.durations.laws import law_covariates, law_times
from tracestat.errors import TracestatError, UsageError
from tracestat.resample import sum_by
from tracestat.survival.bins import DEFAULT_EDGES, Window, deadline_window
from tracestat.survival.blocks import support
from tracestat.survival.law_ranges import LawGrid

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from tracestat.store import Trace

__all__ = ["LifelinesModels", "Model", "to_lifelines"]

Model = Literal[
    "weibull",
    "lognormal",
    "loglogistic",
    "gengamma",
    "power_law",
    "smooth_atoms",
    "kaplan_meier",
    "nelson_aalen",
    "coxph",
    "weibull_aft",
]
Floats = NDArray[np.float64]
Counts: TypeAlias = "tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]"
_LAWS = ("weibull", "lognormal", "loglogistic", "gengamma")
_REGRESSIONS = ("coxph", "weibull_aft")
_COVARIATES = (("tool_class", "class_of"), ("provider", "provider_of"))
_RARE = 10
_COARSER = 4
_TIMES = 200


class LifelinesModels(dict[Any, Any]):
    """Fitted lifelines objects by group, with how they were made.

    The key of a group is its value, a tuple of values where there are several keys, ``"all"`` where everything is
    pooled.

    Attributes
    ----------
    model, unit, clock, rows : str
    by : tuple of str
    synthetic : bool
        Whether the trace was made by ``tracestat synth``; the labels say so too.
    excluded : dict of str to int
        Rows left out, by reason.
    notes : tuple of str
        What a reader must know, and which groups could not be fitted.
    """

    def __init__(
        self,
        fitted: Mapping[Any, Any],
        *,
        model: str,
        selection: Selection,
        synthetic: bool,
        excluded: Mapping[str, int],
        notes: Sequence[str],
    ) -> None:
        super().__init__(fitted)
        self.model = model
        self.unit, self.clock, self.rows, self.by = selection.unit, selection.clock, selection.rows, selection.keys
        self.synthetic = synthetic
        self.excluded = dict(excluded)
        self.notes = tuple(notes)


def to_lifelines(
    trace: TraceLike,
    *,
    model: Model = "weibull",
    by: str | Sequence[str] | None = "default",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows = "tool",
    above: float | None = None,
    between: tuple[float, float] | None = None,
    cut_at: Sequence[float] | None = None,
) -> LifelinesModels:
    """Hand out fitted lifelines objects, a group per key.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    model : str
        ``weibull``, ``lognormal``, ``loglogistic``, ``gengamma``: on counts over a 1 % log grid, of what lasts longer
        than ``above``. ``power_law``: a hazard t^slope on ``between``. ``smooth_atoms``: a hazard constant within the
        hazard bins, and a point mass at each deadline. ``kaplan_meier``, ``nelson_aalen`` (ties as one jump): exact
        durations, zeros kept. ``coxph``: proportional hazards over tool class and provider on aggregated cells,
        clustered by developer. ``weibull_aft``: accelerated failure over the same.
    by : str or sequence of str, optional
        Keys to group by; default provider, and none for the two regressions.
    where, since, until, tz, unit, clock, rows
        As for :func:`tracestat.hazard`.
    above : float, optional
        For laws and regressions: rows enter at this time (seconds, 0.0055 by default); what ended before, zeros among
        them, is left out and counted.
    between : (float, float), optional
        Range of the power law, seconds; default the hazard bins with support.
    cut_at : sequence of float, optional
        Deadlines of ``smooth_atoms`` in seconds; default those known of each provider in the group.

    Returns
    -------
    LifelinesModels
        A dict of fitted objects; each has all methods of its kind in lifelines. Groups that cannot be fitted are named
        in ``notes``.

    Raises
    ------
    UsageError
        A model, key, column or choice that does not exist.
    TracestatError
        No group can be fitted.

    Notes
    -----
    Apart from ``coxph``, lifelines' own standard errors take rows as independent, which they are not: intervals that
    know sessions and developers are those of :func:`tracestat.fit_laws` and :func:`tracestat.survival_curve`. The point
    estimates agree.

    Examples
    --------
    >>> import tracestat
    >>> fitted = tracestat.to_lifelines(tracestat.open(), model="lognormal")
    >>> sorted(fitted)
    ['claude', 'codex']
    >>> bool(0 < fitted["claude"].predict(1.0) < 1)
    True
    """
    if model not in get_args(Model):
        raise UsageError(f"model {model}: not known; it is one of {', '.join(get_args(Model))}")
    for option, value, models in (
        ("above", above, (*_LAWS, *_REGRESSIONS)),
        ("between", between, ("power_law",)),
        ("cut_at", cut_at, ("smooth_atoms",)),
    ):
        if value is not None and model not in models:
            raise UsageError(f"{option}: model {model} does not use it; it belongs to {', '.join(models)}")
    if between is not None and not (len(between) == 2 and 0 < between[0] < between[1] < np.inf):
        raise UsageError("between: give two times in seconds, the first above 0 and below the second")
    if cut_at is not None and any(not tau > 0 for tau in cut_at):
        raise UsageError("cut_at: deadlines are seconds above 0")
    grid = grid_of(above)
    opened = as_trace(trace)
    if isinstance(by, str) and by == "default":
        by = None if model in _REGRESSIONS else "provider"
    selection = select(opened, unit=unit, clock=clock, rows=rows, by=by, where=where, since=since, until=until, tz=tz)
    rows_read = _read(opened, selection, model, grid)
    below = below_of(rows_read, grid) if "cell" in rows_read.columns else {}
    parts = split_by_key(rows_read, selection)
    fitted: dict[Any, Any] = {}
    excluded = excluded_of(opened, selection)
    notes = [*excluded.notes, *between_notes(opened, selection, "the models take them to last longer than they did")]
    for key in sorted_groups(parts):
        name = key[0] if len(selection.keys) == 1 else key if selection.keys else "all"
        label = ", ".join(str(value) for value in key) if selection.keys else "all"
        frame = parts[key]
        if "cell" in frame.columns:
            frame = frame.filter(frame["cell"] >= 0)
        try:
            fitted[name], said = _fit(
                model, frame, grid, key, selection, f"SYNTHETIC {label}" if opened.synthetic else label, between, cut_at
            )
            notes += [f"{label}: {note}" for note in said]
        except TracestatError as error:
            notes.append(f"{label}: {error}")
    if not fitted:
        raise TracestatError(f"{model}: no group can be fitted ({notes[-1] if notes else 'nothing is left to count'})")
    counted = {reason: n for reason, n in {**excluded.counts, **below}.items() if n}
    return LifelinesModels(
        fitted, model=model, selection=selection, synthetic=opened.synthetic, excluded=counted, notes=notes
    )


def _read(trace: Trace, selection: Selection, model: str, grid: LawGrid) -> pl.DataFrame:
    if model in (*_LAWS, *_REGRESSIONS):
        # fewer rows than per session, which make no difference to lifelines
        return law_covariates(trace, selection, grid.lower.tolist(), grid.edges)
    return law_times(trace, selection)


def _fit(
    model: str,
    frame: pl.DataFrame,
    grid: LawGrid,
    key: tuple[Any, ...],
    selection: Selection,
    label: str,
    between: tuple[float, float] | None,
    cut_at: Sequence[float] | None,
) -> tuple[Any, list[str]]:
    """Fit one group; what lifelines warns of is an error or a note here."""
    if not frame.height:
        raise TracestatError("nothing is left to count")
    if model in _REGRESSIONS:
        return _regression(model, frame, grid)
    if model in _LAWS:
        from tracestat.survival.law_families import fit_family

        counts = counts_of(_summed(frame), grid)
        timeline = np.geomspace(grid.edges[0], counts.times[-1], _TIMES)
        return fit_family(model, counts, timeline=timeline, label=label), []
    from lifelines import KaplanMeierFitter, NelsonAalenFitter

    if model in ("kaplan_meier", "nelson_aalen"):
        times, seen, n, entry = _exact(frame, coarse=False)
        kind = KaplanMeierFitter() if model == "kaplan_meier" else NelsonAalenFitter(nelson_aalen_smoothing=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            late = entry if np.any(entry > 0) else None
            return kind.fit(times, seen, weights=n, entry=late, label=label), []
    counts_at = _exact(frame, coarse=True)
    if model == "power_law":
        return _power_law(counts_at, between, label)
    providers = [key[selection.keys.index("provider")]] if "provider" in selection.keys else list(CUT_AT)
    return _smooth_atoms(counts_at, _windows(providers, cut_at), label)


def _summed(frame: pl.DataFrame) -> pl.DataFrame:
    """Add up the rows of a group, for laws without clusters."""
    import polars as pl

    summed = frame.group_by("enters_at", "cell").agg(pl.col("n_event").sum(), pl.col("n_censored").sum())
    return summed.sort("enters_at", "cell").with_columns(session_pk=pl.lit(0), developer_id=pl.lit(0))


def _exact(frame: pl.DataFrame, *, coarse: bool) -> Counts:
    """Give durations, whether their end was seen, rows and entries; a coarse clock enters where it can tell."""
    seconds, entry = (frame[name].to_numpy().astype(np.float64) for name in ("seconds", "entry_seconds"))
    if coarse:
        edges = np.array(DEFAULT_EDGES)
        told = 5 * frame["resolution_seconds"].to_numpy().astype(np.float64)
        at = np.minimum(np.searchsorted(edges, told), edges.size - 1)
        entry = np.maximum(entry, edges[at])
    times, seen, n, starts = [], [], [], []
    for name, flag in (("n_event", 1), ("n_censored", 0)):
        rows = frame[name].to_numpy().astype(np.int64)
        use = (rows > 0) & ((seconds > entry) | (entry <= 0))
        times.append(seconds[use])
        seen.append(np.full(int(use.sum()), flag, dtype=np.int64))
        n.append(rows[use])
        starts.append(entry[use])
    made = (np.concatenate(times), np.concatenate(seen), np.concatenate(n), np.concatenate(starts))
    if not made[0].size:
        raise TracestatError(f"nothing lasts longer than {DEFAULT_EDGES[0]:g} s")
    return made


def _events_per_bin(counts: Counts, windows: Sequence[Window] = ()) -> Floats:
    times, seen, n, _ = counts
    use = seen == 1
    for a, b in windows:
        use &= ~((times >= a) & (times < b))
    place = np.searchsorted(DEFAULT_EDGES, times[use], side="right") - 1
    inside = (place >= 0) & (place < len(DEFAULT_EDGES) - 1)
    return sum_by(n[use][inside], place[inside], len(DEFAULT_EDGES) - 1)


def _power_law(counts: Counts, between: tuple[float, float] | None, label: str) -> tuple[Any, list[str]]:
    from tracestat.survival.law_own_families import PowerLawFitter

    times, seen, n, entry = counts
    if between is None:
        n_bins = support(_events_per_bin(counts))
        if not n_bins:
            raise TracestatError(
                f"power law: fewer than 30 events above {DEFAULT_EDGES[0]:g} s; give the range between"
            )
        between = (max(DEFAULT_EDGES[0], float(entry.min())), DEFAULT_EDGES[n_bins])
    fitter = PowerLawFitter(*between, label=label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitter.fit(times, seen, weights=n, entry=entry), []


def _windows(providers: Sequence[Any], cut_at: Sequence[float] | None) -> list[Window]:
    """Give the windows of the deadlines, joined where they overlap."""
    found: list[Window] = []
    for provider in providers:
        known, more = CUT_AT.get(provider, ((), 0.0))
        found += [deadline_window(tau, more) for tau in (known if cut_at is None else cut_at)]
    joined: list[Window] = []
    for low, high in sorted(found):
        if joined and low < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _smooth_atoms(counts: Counts, windows: Sequence[Window], label: str) -> tuple[Any, list[str]]:
    from tracestat.survival.law_own_families import SmoothAtomsFitter

    times, seen, n, entry = counts
    D = _events_per_bin(counts, windows)
    n_bins = support(D)
    if not n_bins:
        raise TracestatError(f"smooth hazard with atoms: fewer than 30 events above {DEFAULT_EDGES[0]:g} s")
    first = int(np.searchsorted(DEFAULT_EDGES, float(entry.min())))
    # a bin without events joins the one before it, and the first the one after
    edges = [DEFAULT_EDGES[first], *(DEFAULT_EDGES[j] for j in range(first + 1, n_bins) if D[j] > 0)]
    edges.append(DEFAULT_EDGES[n_bins])
    if len(edges) > 2 and D[first] == 0:
        del edges[1]
    atoms = [window for window in windows if edges[0] <= window[0] and window[1] <= edges[-1]]
    notes = []
    if len(edges) - 1 < n_bins - first:
        notes.append("bins without an event outside the windows joined with a neighbour")
    if len(atoms) < len(windows):
        notes.append(f"{len(windows) - len(atoms)} deadlines lie outside {edges[0]:g} to {edges[-1]:g} s")
    fitter = SmoothAtomsFitter(edges, atoms, label=label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitter.fit(times, seen, weights=n, entry=entry), notes


def _regression(model: str, frame: pl.DataFrame, grid: LawGrid) -> tuple[Any, list[str]]:
    """Fit a regression on tool class and provider, of the values that occur often enough."""
    import lifelines
    import polars as pl

    from tracestat.survival.law_regressions import CoxPHFitter

    notes: list[str] = []
    for word, column in _COVARIATES:
        events = frame.group_by(column).agg(pl.col("n_event").sum(), pl.col("n_censored").sum())
        rare = events.filter(pl.col("n_event") < _RARE)
        if rare.height:
            values = ", ".join(sorted(str(value) for value in rare[column].to_list()))
            n = int((rare["n_event"] + rare["n_censored"]).sum())
            notes.append(f"left out: {n} rows of {word} {values}, with fewer than {_RARE} events each")
            frame = frame.filter(~pl.col(column).is_in(rare[column].to_list(), nulls_equal=True))
    if not frame.height:
        raise TracestatError(f"no tool class and provider with {_RARE} events")
    table, names, reference = _design(frame, grid, clustered=model == "coxph")
    if not names:
        raise TracestatError("one tool class and one provider: nothing to compare")
    notes.append(f"against {', '.join(reference)}")
    options: dict[str, Any] = {"duration_col": "seconds", "event_col": "observed", "weights_col": "rows"}
    entries = table["enters_at"].nunique()
    if model == "weibull_aft" or entries > 1:
        options["entry_col"] = "enters_at"
    else:
        # everybody enters before the first end: the partial likelihood is the same without
        table = table.drop(columns="enters_at")
    if model == "coxph":
        options["cluster_col"] = "developer"
    fitter = CoxPHFitter() if model == "coxph" else lifelines.WeibullAFTFitter()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", lifelines.exceptions.ConvergenceWarning)
            fitter.fit(table, **options)
    except (lifelines.exceptions.ConvergenceError, Warning, ValueError, np.linalg.LinAlgError) as error:
        raise TracestatError(f"{model} does not converge: is a tool class found with one provider only?") from error
    if not np.all(np.isfinite(fitter.params_.to_numpy())):
        raise TracestatError(f"{model} does not converge on these rows")
    return fitter, notes


def _design(frame: pl.DataFrame, grid: LawGrid, *, clustered: bool) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Give the table of aggregated cells, its covariates, and the values that they are compared with."""
    import polars as pl

    cell = frame["cell"].to_numpy()
    if clustered:
        # Cox's likelihood knows order only: 4 % do, and cost a quarter
        cell = np.minimum(cell // _COARSER * _COARSER + _COARSER // 2, grid.centres.size - 1)
    times = pl.Series(grid.centres[cell], dtype=pl.Float64)
    frame = frame.with_columns(seconds=pl.max_horizontal(times, frame["enters_at"] * (1 + 1e-6)))
    keep = ["developer_of"] if clustered else []
    grouped = ["class_of", "provider_of", "seconds", "enters_at", *keep]
    sums = frame.group_by(grouped, maintain_order=True).agg(pl.col("n_event").sum(), pl.col("n_censored").sum())
    long = pl.concat(
        [
            sums.select(*grouped, rows=pl.col(name), observed=pl.lit(flag, dtype=pl.Int64)).filter(pl.col("rows") > 0)
            for name, flag in (("n_event", 1), ("n_censored", 0))
        ]
    )
    names, reference = [], []
    for word, column in _COVARIATES:
        counted = long.group_by(column).agg(pl.col("rows").sum()).sort(["rows", column], descending=[True, False])
        values = counted[column].to_list()
        if len(values) < 2:
            continue
        reference.append(f"{word} {values[0]}")
        for value in sorted(values[1:], key=str):
            name = f"{word}={value}"
            long = long.with_columns(pl.col(column).eq_missing(pl.lit(value)).cast(pl.Float64).alias(name))
            names.append(name)
    if clustered:
        long = long.rename({"developer_of": "developer"})
    return long.drop("class_of", "provider_of").to_pandas(), names, reference
