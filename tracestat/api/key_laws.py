"""The law of the durations of every key at every level: what the files of ``export`` are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.between import between_notes, cells_and_ends
from tracestat.api.common import Progress, TraceLike, as_trace, excluded_of, head_of, sorted_groups, split_by_key
from tracestat.api.curves import QUANTILES, curve_of, quantiles_of
from tracestat.api.hazard_plan import make_plan
from tracestat.api.key_curves import Shrunk, shrunk_curves
from tracestat.api.laws import counts_of, grid_of
from tracestat.api.residual import CURVE_AT, ELAPSED, ENOUGH_ROWS, WINDOW, points_of
from tracestat.durations import Clock, Rows, Selection, Unit, curve_counts, curve_influence, select
from tracestat.durations.deadlines import status_rows
from tracestat.durations.key_laws import key_atoms, key_rows
from tracestat.durations.laws import law_cells
from tracestat.durations.residual import residual_cells
from tracestat.errors import TracestatError, UsageError
from tracestat.resample import sum_by
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.results.key_laws import (
    LAW_GRID,
    LEVELS,
    KeyAtom,
    KeyHazard,
    KeyLaw,
    KeyLaws,
    KeyResidual,
    LawOfRange,
)
from tracestat.survival.clustered import VARIANCE_AT
from tracestat.survival.curve import Curve, kaplan_meier_counts
from tracestat.survival.hazard import Cells, bin_totals, session_cells
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS, headline
from tracestat.survival.landmark import landmark_edges
from tracestat.survival.law_fits import MIN_EVENTS, MIN_SESSIONS, REFERENCE, fit_group
from tracestat.survival.proportion import clustered_share
from tracestat.survival.threads import two_at_a_time

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["MIN_ROWS", "key_laws"]

MIN_ROWS = 20
_LAW_DRAWS = 2_000
_FEW_ROWS = "{rows}, {min_n} needed: counts and hazard bins only"
_NONE_ABOVE = "used: no key above to lean on, so that it is little more than a guess"
_FEW_AT_RISK = "residual life: from {elapsed:g} s on fewer than {rows} rows at risk"
_UNTOLD = "{providers}: no call says how it ended, so point masses at limits are not known"
_LATE = "curves, residual life and laws take them to last longer than they did"

Key = tuple[Any, ...]


def key_laws(
    trace: TraceLike,
    *,
    unit: Unit = "pause",
    clock: Clock = "wall",
    rows: Rows = "tool",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    min_n: int | None = None,
    laws: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> KeyLaws:
    """Give the law of the durations of every key: provider, tool class, tool and command skeleton, level by level.

    Parameters
    ----------
    trace, unit, clock, rows, where, since, until, tz
        As for :func:`tracestat.hazard`.
    min_n : int, optional
        Keys with fewer rows show counts and hazard bins, no estimates; default 20.
    laws : bool
        Whether to fit laws, which takes most of the time.
    seed : int
        Seed of the bands that say where laws hold.
    progress : callable, optional
        Called with (parts done, parts in all).

    Returns
    -------
    KeyLaws
        At every level each row that takes part belongs to one key. Of the same key, quantiles and curve are those of
        :func:`tracestat.survival_curve`, hazard bins those of :func:`tracestat.hazard`, residual life that of
        :func:`tracestat.residual`, laws those of :func:`tracestat.fit_laws`, and shares on deadlines those of
        :func:`tracestat.deadlines`.

    Raises
    ------
    UsageError
        A column or choice that does not exist.

    Examples
    --------
    >>> import tracestat
    >>> from tracestat.api.key_laws import key_laws
    >>> made = key_laws(tracestat.open(), laws=False)
    >>> [law.key["provider"] for law in made.laws if law.level == "provider"]
    ['claude', 'codex']
    """
    if min_n is not None and min_n < 1:
        raise UsageError(f"min_n {min_n}: give 1 or more")
    opened = as_trace(trace)
    selection = select(
        opened,
        unit=unit,
        clock=clock,
        rows=rows,
        by=LEVELS,
        where=where,
        since=since,
        until=until,
        tz=tz,
    )
    found = key_rows(opened, selection)
    shrunk = shrunk_curves(found, selection.unit)
    done: dict[Key, KeyLaw] = {}
    for depth in range(1, len(LEVELS) + 1):
        if progress is not None:
            progress(depth - 1, len(LEVELS))
        level = _Level(opened, replace(selection, keys=LEVELS[:depth]), min_n or MIN_ROWS, seed)
        done |= level.laws(found, shrunk, done, fits=laws)
    if progress is not None:
        progress(len(LEVELS), len(LEVELS))
    excluded = excluded_of(opened, selection)
    by_provider = replace(selection, keys=LEVELS[:1])
    notes = [*excluded.notes, *between_notes(opened, by_provider, _LATE), *_untold(opened, by_provider)]
    # files are made of this: without a question of time they are the same on machines in two zones
    stated = selection if tz is not None or selection.depends_on_zone else replace(selection, zone="UTC")
    head = head_of(opened, stated, "key_laws", seed=seed, excluded=excluded.counts, notes=notes)
    return KeyLaws(head, tuple(done.values()))


def _untold(trace: Trace, selection: Selection) -> list[str]:
    """Name the providers whose calls do not say that a limit ended them; a command outlives limits."""
    if selection.unit == "command":
        return []
    told = status_rows(trace, selection)
    silent = told.filter(~told["tells"])["provider_of"].unique().to_list()
    return [_UNTOLD.format(providers=", ".join(sorted(map(str, silent))))] if silent else []


@dataclass(frozen=True, slots=True)
class _Count:
    """What every key has: counts, and the curve as counts per distinct duration."""

    n: int
    n_sessions: int
    n_developers: int
    resolution_seconds: float
    steps: Curve


@dataclass(frozen=True, slots=True)
class _Level:
    """The keys of one level of one trace."""

    trace: Trace
    selection: Selection
    min_n: int
    seed: int

    def laws(
        self, rows: pl.DataFrame, shrunk: Mapping[Key, Shrunk], above: Mapping[Key, KeyLaw], *, fits: bool
    ) -> dict[Key, KeyLaw]:
        """Make the laws of the level, in the order of its keys; those of the levels above are there."""
        keys = self.selection.keys
        times = curve_counts(self.trace, self.selection)
        counts = self._counts(rows, times)
        # a key that holds all rows of the one above it has its numbers, too
        same = {key for key, one in counts.items() if len(key) > 1 and above[key[:-1]].n == one.n}
        own = {key: one for key, one in counts.items() if key not in same}
        enough = {key: one for key, one in own.items() if one.n >= self.min_n}
        hazards = self._hazards(own)
        quantiles = self._quantiles(enough, times)
        atoms = self._atoms(enough, rows)
        residual = self._residual(enough)
        fitted = self._fitted(enough) if fits else {}
        made = {}
        for key in sorted_groups(counts):
            named = dict.fromkeys(LEVELS) | dict(zip(keys, key, strict=True))
            if key in same:
                made[key] = replace(above[key[:-1]], key=named, level=keys[-1])
                continue
            one, lent = own[key], shrunk[key]
            steps = one.steps
            notes: list[str] = []
            if key not in enough:
                notes.append(_FEW_ROWS.format(rows="1 row" if one.n == 1 else f"{one.n:,} rows", min_n=self.min_n))
                notes += [_NONE_ABOVE] if len(key) == 1 else []
            found, more = quantiles.get(key, (dict.fromkeys((f"{q:g}" for q in QUANTILES), NOT_AVAILABLE), []))
            points, few = residual.get(key, ((), []))
            law, none = fitted.get(key, ((), []))
            notes += [*more, *few, *none]
            if key in enough and one.n_developers < ENOUGH_CLUSTERS:
                notes.append(FEW_DEVELOPERS.format(n=one.n_developers))
            n_events = int(steps.n_event.sum())
            last = float(steps.time[-1])
            within = [t for t in LAW_GRID if t <= last] if key in enough else []
            made[key] = KeyLaw(
                key=named,
                level=keys[-1],
                used=lent.curve,
                level_used=LEVELS[lent.level],
                weight=lent.weight,
                n=one.n,
                n_events=n_events,
                n_censored=one.n - n_events,
                n_sessions=one.n_sessions,
                n_developers=one.n_developers,
                total_seconds=float(steps.time @ (steps.n_event + steps.n_censored)),
                resolution_seconds=one.resolution_seconds,
                quantiles=found,
                survival=tuple(steps.survival_at(within).tolist()) if within else (),
                last_seconds=last,
                tail_alpha=lent.alpha,
                atoms=atoms.get(key, ()),
                hazard=hazards.get(key, ()),
                residual=points,
                laws=law,
                notes=tuple(notes),
            )
        return made

    def _counts(self, rows: pl.DataFrame, times: pl.DataFrame) -> dict[Key, _Count]:
        import polars as pl

        keys = list(self.selection.keys)
        clusters = rows.group_by(keys).agg(
            pl.col("session_pk", "developer_id").n_unique(), pl.col("resolution_seconds").max()
        )
        of = {row[: len(keys)]: row[len(keys) :] for row in clusters.iter_rows()}
        made = {}
        steps_of = times.group_by(keys, maintain_order=True).agg("seconds", "n_event", "n_censored")
        for row in steps_of.iter_rows():
            key, (seconds, event, censored) = row[: len(keys)], row[len(keys) :]
            sessions, developers, resolution = of[key]
            steps = kaplan_meier_counts(seconds, event, censored)
            made[key] = _Count(sum(event) + sum(censored), sessions, developers, resolution, steps)
        return made

    def _only(self, frame: pl.DataFrame, keys: Mapping[Key, object]) -> dict[Key, pl.DataFrame]:
        """Cut the rows of some keys out of a frame."""
        import polars as pl

        if not keys:
            return {}
        names = self.selection.keys
        schema = {name: frame.schema[name] for name in names}
        wanted = pl.DataFrame(list(keys), schema=schema, orient="row")
        some = frame.join(wanted, on=list(names), how="semi", nulls_equal=True, maintain_order="left")
        return split_by_key(some, self.selection)

    def _hazards(self, keys: Mapping[Key, object]) -> dict[Key, tuple[KeyHazard, ...]]:
        plan = make_plan(None, None, None)
        cells = cells_and_ends(self.trace, self.selection, plan.grid, plan.edges).cells
        upper = [*plan.edges[1:], None]
        made = {}
        for key, frame in self._only(cells, keys).items():
            session = np.cumsum(np.diff(frame["session_pk"].to_numpy(), prepend=-1) != 0) - 1
            values = (frame[name].to_numpy().astype(np.float64) for name in ("n_event", "n_net", "micros_net"))
            laid = session_cells(
                Cells(session, np.zeros_like(session), frame["cell"].to_numpy().astype(np.intp), *values), plan.grid
            )
            totals = bin_totals(laid, plan.grid, plan.edges)
            n_bins = max((j + 1 for j, (events, exposure) in enumerate(totals) if events or exposure), default=0)
            made[key] = tuple(KeyHazard(plan.edges[j], upper[j], *totals[j]) for j in range(n_bins))
        return made

    def _quantiles(
        self, keys: Mapping[Key, _Count], times: pl.DataFrame
    ) -> dict[Key, tuple[dict[str, Interval], list[str]]]:
        counts = self._only(times, keys)
        influence = self._only(curve_influence(self.trace, self.selection, VARIANCE_AT), keys)
        return {key: quantiles_of(curve_of(counts[key], influence[key])) for key in keys}

    def _atoms(self, keys: Mapping[Key, object], rows: pl.DataFrame) -> dict[Key, tuple[KeyAtom, ...]]:
        names = list(self.selection.keys)
        ended = self._only(key_atoms(self.trace, self.selection), keys)
        sessions = rows.group_by([*names, "session_pk", "developer_id"]).len("n").sort("session_pk")
        made = {}
        for key, frame in self._only(sessions, ended).items():
            place = {pk: i for i, pk in enumerate(frame["session_pk"].to_list())}
            developer = np.unique(frame["developer_id"].to_numpy(), return_inverse=True)[1]
            whole = frame["n"].to_numpy().astype(np.float64)
            found = []
            for (seconds, kind), part in ended[key].group_by("limit_seconds", "kind", maintain_order=True):
                did = np.zeros(whole.size)
                did[[place[pk] for pk in part["session_pk"].to_list()]] = part["n_ended"].to_numpy()
                found.append(KeyAtom(float(str(seconds)), _share(did, whole, developer), str(kind)))
            made[key] = tuple(sorted(found, key=lambda atom: (atom.seconds, atom.kind)))
        return made

    def _residual(self, keys: Mapping[Key, _Count]) -> dict[Key, tuple[tuple[KeyResidual, ...], list[str]]]:
        edges = landmark_edges({*ELAPSED, *CURVE_AT}, [t + WINDOW for t in ELAPSED])
        cells = self._only(residual_cells(self.trace, self.selection, edges), keys)

        def made(key: Key) -> tuple[tuple[KeyResidual, ...], list[str]]:
            points = points_of(keys[key].steps, cells[key], edges, ELAPSED, WINDOW)
            known = [points[t] for t in ELAPSED if points[t].n_at_risk >= ENOUGH_ROWS]
            few = [t for t in ELAPSED if points[t].n_at_risk < ENOUGH_ROWS]
            notes = [_FEW_AT_RISK.format(elapsed=few[0], rows=ENOUGH_ROWS)] if few else []
            return tuple(KeyResidual(p.elapsed, p.n_at_risk, p.mean, p.median) for p in known), notes

        return dict(zip(keys, two_at_a_time(made, keys), strict=True))

    def _fitted(self, keys: Mapping[Key, _Count]) -> dict[Key, tuple[tuple[LawOfRange, ...], list[str]]]:
        import polars as pl

        grid = grid_of(None)
        some = {k: c for k, c in keys.items() if c.steps.n_event.sum() >= MIN_EVENTS and c.n_sessions >= MIN_SESSIONS}
        parts = self._only(law_cells(self.trace, self.selection, grid.lower.tolist(), grid.edges), some)

        def fit(key: Key) -> tuple[tuple[LawOfRange, ...], list[str]]:
            within = parts[key].filter(pl.col("cell") >= 0)
            try:
                if within.is_empty():
                    raise TracestatError("nothing lasts longer than the first edge")
                made = fit_group(counts_of(within, grid), grid.edges, draws=_LAW_DRAWS, seed=self.seed, intervals=False)
            except TracestatError as error:
                return (), [f"no law: {error}"]
            laws = (
                LawOfRange(
                    law.family,
                    {name: p.value for name, p in law.parameters.items() if p.value is not None},
                    law.aic,
                    *(law.range or (None, None)),
                )
                for law in made.laws
                if law.family != REFERENCE
            )
            return tuple(laws), []

        short: dict[Key, tuple[tuple[LawOfRange, ...], list[str]]] = {
            key: ((), [_no_law(int(one.steps.n_event.sum()), one.n_sessions)])
            for key, one in keys.items()
            if key not in some
        }
        if not some:
            return short
        # imported before the threads start, so that they need not wait for each other in it
        import tracestat.survival.law_families  # noqa: F401  its fitters are found by name

        return short | dict(zip(some, two_at_a_time(fit, some), strict=True))


def _no_law(events: int, sessions: int) -> str:
    needed = ((events, MIN_EVENTS, "events"), (sessions, MIN_SESSIONS, "sessions"))
    return f"no law: {'; '.join(f'{n} {what}, {least} needed' for n, least, what in needed if n < least)}"


def _share(did: NDArray[np.float64], whole: NDArray[np.float64], developer: NDArray[np.intp]) -> Interval:
    n = int(developer.max(initial=-1)) + 1
    by_session = clustered_share(did, whole)
    by_developer = clustered_share(sum_by(did, developer, n), sum_by(whole, developer, n))
    return NOT_AVAILABLE if by_session is None or by_developer is None else headline(by_session, by_developer)
