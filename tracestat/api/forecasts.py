"""``forecast fit``: everything that a forecast needs of every provider, and the file that keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tracestat
from tracestat.api.common import Progress, TraceLike, as_trace, excluded_of, head_of
from tracestat.api.forecast_dependence import dependence_of
from tracestat.api.forecast_rows import provider_grid, rows_by_provider
from tracestat.durations import Rows, Selection, select
from tracestat.durations.forecast_limits import forecast_limits
from tracestat.errors import TracestatError, UsageError
from tracestat.forecast.grid import Grid
from tracestat.forecast.keys import PATHS, POOL_BASE, check_path
from tracestat.forecast.model import (
    AskedLimit,
    Dependence,
    ForecastModel,
    PathModel,
    PooledPaths,
    ProviderModel,
    path_model,
)
from tracestat.forecast.pool import fit_pool
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.storage import read_model, write_model
from tracestat.forecast.storage_table import compacted
from tracestat.forecast.tree import ForecastTree, fit_tree
from tracestat.results import (
    ForecastDependence,
    ForecastFit,
    ForecastLevel,
    ForecastLimit,
    ForecastPath,
    ForecastPool,
    ForecastProvider,
    PoolWeight,
)
from tracestat.survival.threads import two_at_a_time

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["fit_forecast", "fitted_forecast", "load_forecast", "save_forecast"]

_FEW_ROWS, _FEW_SESSIONS = 100, 20
_LOWEST, _HIGHEST = 0.01, 19_000.0
_MOST_ATOMS = 100
_SOME = (10, 100)


def fit_forecast(
    trace: TraceLike,
    *,
    keys: str | Sequence[str] | None = None,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    rows: Rows = "tool",
    atoms: Sequence[float] | None = None,
) -> ForecastModel:
    """Fit how long a pause still lasts, given what it runs, whose it is and how long it has lasted.

    Parameters
    ----------
    trace, where, since, until, tz, rows
        As for :func:`tracestat.hazard`; the unit is the pause.
    keys : str or sequence of str, optional
        Keys known when a pause starts, from the top. Default: the hierarchies of `tracestat.forecast.keys.PATHS`, and
        how far each of them is believed where they are asked together (`tracestat.forecast.pool`).
    atoms : sequence of float, optional
        Deadlines (seconds) with bins of their own, in place of those known of each provider.

    Returns
    -------
    ForecastModel
        For each provider a hierarchy per path of keys and their pool, one of the rounds with a single call, what became
        of asked limits, and how far the calls of one round end together.

    Raises
    ------
    UsageError
        A key that is not known when a pause starts, a column or choice that does not exist, or atoms that are none.
    TracestatError
        No pause is left to fit.

    References
    ----------
    .. [1] Hjort (1990), Nonparametric Bayes estimators based on beta processes in models for life history data.

    Examples
    --------
    >>> import tracestat
    >>> model = tracestat.fit_forecast(tracestat.open(), keys="tool_class", where="provider = 'codex'")
    >>> model.providers["codex"].paths[0].keys
    ('tool_class',)
    """
    return fitted_forecast(trace, keys=keys, where=where, since=since, until=until, tz=tz, rows=rows, atoms=atoms)[0]


def fitted_forecast(
    trace: TraceLike,
    *,
    keys: str | Sequence[str] | None = None,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    rows: Rows = "tool",
    atoms: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> tuple[ForecastModel, ForecastFit]:
    """Fit a forecast as :func:`fit_forecast` does, and say beside it how the fit went.

    Parameters
    ----------
    progress : callable, optional
        Called with (hierarchies done, hierarchies in all); a pool counts as one.
    """
    paths = PATHS if keys is None else (check_path(keys),)
    times = None if atoms is None else _checked(atoms)
    opened = as_trace(trace)
    selection = select(opened, rows=rows, where=where, since=since, until=until, tz=tz)
    needed = [*(key for path in paths for key in path), "n_calls"]
    parts = rows_by_provider(opened, selection, needed)
    if not parts:
        raise TracestatError(
            f"{opened.shown}: no pauses to fit a forecast on; widen --where, --since, --until or --rows"
        )
    limits, untold = _limits(opened, selection)
    providers = {}
    done, total = 0, len(parts) * (len(paths) + 1 + (keys is None))

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    def fitted(some: tuple[PauseRows, Sequence[str], Grid]) -> ForecastTree:
        made = fit_tree(*some)
        step()
        return made

    for name, part in parts.items():
        grid = provider_grid(name, times)
        alone = part.take(part.codes["n_calls"] == _code(part, "n_calls", "1"))
        wanted = [(part, path, grid) for path in paths] + ([(alone, paths[0], grid)] if alone.size else [])
        every = two_at_a_time(fitted, wanted)
        trees = every[: len(paths)]
        pool = None
        if keys is None:
            pool = _pool(part, grid, trees)
            step()
        providers[name] = ProviderModel(
            paths=tuple(_kept(tree, part) for tree in trees),
            single=_kept(every[-1], alone) if alone.size else None,
            limits=limits.get(name, ()),
            notes=_notes(part, alone, paths, pool, untold.get(name, 0)),
            pool=pool,
        )
    single = {name: provider.single for name, provider in providers.items() if provider.single is not None}
    dependence = dependence_of(opened, selection, single)
    model = ForecastModel(
        providers={name: replace(each, dependence=dependence.get(name)) for name, each in providers.items()},
        trace=opened.shown,
        fingerprint=opened.fingerprint,
        synthetic=opened.synthetic,
        tracestat=tracestat.__version__,
        rounds=opened.counts["rounds"],
        tool_calls=opened.counts["tool_calls"],
        rejected=opened.counts["rejected"],
        where=selection.where.text,
        since=selection.since,
        until=selection.until,
        rows=selection.rows,
        zone=selection.zone,
    )
    excluded = excluded_of(opened, selection)
    head = head_of(opened, selection, "forecast_fit", excluded=excluded.counts, notes=excluded.notes)
    return model, ForecastFit(head, tuple(_told(name, provider) for name, provider in model.providers.items()))


def save_forecast(model: ForecastModel, path: str | Path) -> int:
    """Write a fitted forecast to a Parquet file.

    Parameters
    ----------
    model : ForecastModel
    path : str or Path
        ``.parquet``; a file that is there is replaced once the new one is complete.

    Returns
    -------
    int
        Rows of the file: one per key and bin that its rows reach.

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> model = tracestat.fit_forecast(tracestat.open(), keys="tool_class", where="provider = 'codex'")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = tracestat.save_forecast(model, f"{folder}/model.parquet")
    ...     tracestat.load_forecast(f"{folder}/model.parquet").fingerprint == model.fingerprint
    True
    """
    return write_model(model, Path(path))


def load_forecast(path: str | Path) -> ForecastModel:
    """Read a fitted forecast from a file that :func:`save_forecast` or ``tracestat forecast fit`` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    ForecastModel
        Equal to the one that was fitted.

    Raises
    ------
    TracestatError
        There is no such file, it holds no forecast, it is damaged, or its form is of another version.

    Notes
    -----
    The file may come from anyone: nothing in it is executed, and its size is bounded.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> model = tracestat.fit_forecast(tracestat.open(), keys="tool_class", where="provider = 'codex'")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = tracestat.save_forecast(model, f"{folder}/model.parquet")
    ...     found = tracestat.load_forecast(f"{folder}/model.parquet")
    >>> found
    ForecastModel(codex 5,520 pauses; sample.jsonl.gz, SYNTHETIC)
    """
    return read_model(Path(path))


def _checked(atoms: Sequence[float]) -> tuple[float, ...]:
    times = tuple(sorted({float(t) for t in atoms}))
    if len(times) > _MOST_ATOMS or not all(_LOWEST <= t <= _HIGHEST for t in times):
        raise UsageError(
            f"--atoms: give up to {_MOST_ATOMS} deadlines from {_LOWEST:g} to {_HIGHEST:g} s, as 5,120, or none"
        )
    return times


def _kept(tree: ForecastTree, rows: PauseRows) -> PathModel:
    return compacted(path_model(tree, rows))


def _pool(rows: PauseRows, grid: Grid, trees: Sequence[ForecastTree]) -> PooledPaths:
    """Find how far each of the fitted hierarchies is to be believed."""
    pool = fit_pool(rows, POOL_BASE, [tree.keys for tree in trees], grid, trees=trees)
    return PooledPaths(_kept(pool.base, rows), pool.seen, pool.unseen, pool.held_out)


def _code(rows: PauseRows, key: str, value: str) -> int:
    """Give the code of a value; -1 where no row has it."""
    return rows.names[key].index(value) if value in rows.names[key] else -1


def _limits(trace: Trace, selection: Selection) -> tuple[dict[str, tuple[AskedLimit, ...]], Mapping[str, int]]:
    """Give for each provider what became of asked limits, and how many pauses cannot tell."""
    found: dict[str, list[tuple[str | None, int, int]]] = {}
    untold: dict[str, int] = {}
    for row in forecast_limits(trace, selection).iter_rows(named=True):
        name = row["provider"] or ""
        untold[name] = untold.get(name, 0) + int(row["n_untold"])
        if row["n_reached"]:
            found.setdefault(name, []).append((row["tool_class"], int(row["n_ended"]), int(row["n_reached"])))
    limits = {
        name: (
            _limit(None, sum(e for _, e, _ in some), sum(r for _, _, r in some)),
            *(_limit(kind, ended, reached) for kind, ended, reached in some if kind is not None),
        )
        for name, some in found.items()
    }
    return limits, untold


def _limit(tool_class: str | None, ended: int, reached: int) -> AskedLimit:
    return AskedLimit(tool_class, ended, reached, (ended + 0.5) / (reached + 1))


def _notes(
    rows: PauseRows, alone: PauseRows, paths: Sequence[Sequence[str]], pool: PooledPaths | None, untold: int
) -> tuple[str, ...]:
    """Say what a reader must know of a provider's fit."""
    from tracestat.charts.words import counted

    notes = []
    if rows.size < _FEW_ROWS:
        notes.append(f"{counted(rows.size, 'row')}, {_FEW_ROWS} needed for a forecast that can be relied on")
    sessions = len(set(rows.session.tolist()))
    if sessions < _FEW_SESSIONS:
        notes.append(f"{counted(sessions, 'session')}, {_FEW_SESSIONS} needed to tell keys from sessions")
    empty = [key for key in dict.fromkeys(k for path in paths for k in path) if rows.names[key] == (None,)]
    if empty:
        notes.append(f"no value of {', '.join(empty)} is known here: no difference by it")
    if pool is not None and not pool.held_out[0]:
        notes.append("too few sessions to weigh the hierarchies by held-out rows: they share the weight equally")
    elif pool is not None and pool.held_out[0] < _FEW_ROWS:
        held_out = counted(pool.held_out[0], "held-out row")
        notes.append(f"the hierarchies are weighed by {held_out}, {_FEW_ROWS} needed for weights that can be relied on")
    if not alone.size:
        notes.append("no round with a single call: nothing can be said of several calls side by side")
    if untold:
        notes.append(f"asked limits known only of calls that ended on them ({untold:,}): no share that ends there")
    return tuple(notes)


def _told(name: str, model: ProviderModel) -> ForecastProvider:
    """Say how the fit of a provider went."""
    return ForecastProvider(
        provider=name or None,
        n_rows=model.paths[0].n_rows,
        paths=(
            *(_told_path(path, "all") for path in model.paths),
            *([] if model.single is None else [_told_path(model.single, "single")]),
        ),
        pool=None if model.pool is None else _told_pool(model.paths, model.pool),
        limits=tuple(ForecastLimit(**_fields(limit)) for limit in model.limits),
        dependence=None if model.dependence is None else ForecastDependence(**_fields(model.dependence)),
        notes=model.notes,
    )


def _told_pool(paths: Sequence[PathModel], pool: PooledPaths) -> ForecastPool:
    """Say how far each hierarchy is believed, the base last."""
    every = [path.keys for path in paths] + [pool.base.keys]
    weights = [(*some, 1 - sum(some)) for some in (pool.seen, pool.unseen)]
    return ForecastPool(
        weights=tuple(PoolWeight(keys=keys, seen=s, unseen=u) for keys, s, u in zip(every, *weights, strict=True)),
        rows_seen=pool.held_out[0],
        rows_unseen=pool.held_out[1],
    )


def _fields(value: AskedLimit | Dependence) -> dict[str, Any]:
    return {item.name: getattr(value, item.name) for item in fields(value)}


def _told_path(path: PathModel, rounds: str) -> ForecastPath:
    sizes = [*(level.size for level in path.nesting.levels), path.n_groups]
    return ForecastPath(
        keys=path.keys,
        rounds=rounds,
        n_rows=path.n_rows,
        alpha=path.alpha,
        last_seen=path.last_seen,
        windows=path.grid.windows,
        levels=tuple(
            ForecastLevel(
                key=key,
                n_keys=size,
                kappa=fit.kappa,
                weight_10=_SOME[0] / (_SOME[0] + fit.kappa),
                weight_100=_SOME[1] / (_SOME[1] + fit.kappa),
                log_likelihood=fit.log_likelihood,
                profile=fit.profile,
                note=fit.note,
            )
            for key, size, fit in zip((*path.keys, "session"), sizes, path.kappas, strict=True)
        ),
    )
