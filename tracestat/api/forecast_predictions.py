"""``forecast predict``: how much longer a pause lasts, given its keys and how long it has lasted already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from math import exp, inf
from pathlib import Path

import tracestat
from tracestat.api.prediction_notes import far_notes, history_notes, level_notes, unused_notes
from tracestat.errors import UsageError
from tracestat.forecast.asking import (
    PathAnswer,
    PathLevel,
    Value,
    answer_path,
    band_code,
    law_of_round,
    limit_mass,
)
from tracestat.forecast.asking_pool import PooledAnswer, answer_pool, missing_history, serving_pool
from tracestat.forecast.atoms import Atom, atoms_ahead
from tracestat.forecast.grid import Grid
from tracestat.forecast.keys import BANDED, HISTORY_KEYS
from tracestat.forecast.model import ForecastModel, ProviderModel
from tracestat.forecast.remaining import RemainingLaw
from tracestat.results import (
    AtomAhead,
    CallForecast,
    ForecastPrediction,
    Head,
    LevelAnswer,
    LevelCurve,
    LimitCut,
    PoolAnswer,
    PoolMember,
    RemainingTime,
    RoundDependence,
    TraceInfo,
)
from tracestat.results.forecast_prediction import BASE, FIRST, POOL, QUANTILES

__all__ = [
    "LONGEST",
    "WINDOW",
    "as_model",
    "check_keys",
    "check_seconds",
    "known_keys",
    "predict_remaining",
    "provider_of",
]

WINDOW = 3600.0
LONGEST = 1e8
_MOST_CALLS = 1000
# a mean leans on what was never seen if so much of it comes from there
_MUCH = 0.01
# times from now: six a decade in round numbers, and those that people say
_DECADES = (round(m * 10.0**k, 6) for k in range(-2, 4) for m in (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
_AHEAD = (*_DECADES, 60.0, 600.0, 1800.0, 3600.0, 1e4, 1.5e4, 2e4)
_FAR_AHEAD = tuple(m * 10.0**k for k in range(4, 8) for m in (3.0, 5.0, 7.0, 10.0, 15.0, 20.0))


def predict_remaining(
    model: ForecastModel | str | Path,
    keys: Mapping[str, Value] | None = None,
    *,
    elapsed: float = 0.0,
    provider: str | None = None,
    asked_limit: float | None = None,
    calls: Sequence[Mapping[str, Value]] = (),
) -> ForecastPrediction:
    """Forecast the remaining time of one pause.

    Parameters
    ----------
    model : ForecastModel, str or Path
        From :func:`tracestat.fit_forecast`, or the file that ``tracestat forecast fit`` wrote.
    keys : mapping of str to (str, float or None)
        What is known of the pause. ``command_skeleton`` is the tool's name for a call that runs no command. The history
        keys are seconds that pauses took which had ended before this one started, None where there was none:
        ``previous`` of this developer's last one of the same command, ``recent`` the mean of the last five
        (:func:`tracestat.recent_of`), ``previous_in_class`` of the last one of the tool class, ``previous_in_session``
        of this session's last one of the tool. A key left out, and a value that was never seen, leave the answer to the
        level above.
    elapsed : float, default 0
        Seconds that the pause has lasted.
    provider : str, optional
        Needed where the model knows several.
    asked_limit : float, optional
        Limit that the call asked for, seconds from its start: of what still runs then, the share that the model
        found ends there.
    calls : sequence of mappings, optional
        Keys of two or more calls of one round, each beside ``keys``, which hold for all: the round lasts until the
        last result. What is known is that the round has not come back, not which of its calls have.

    Returns
    -------
    ForecastPrediction

    Raises
    ------
    UsageError
        A key or provider that the model does not have, a time that is none, or a limit beside calls.

    Notes
    -----
    ``Q_p(s) = inf{t : S(t) <= (1 - p) S(s)}``, S from discrete hazards. Where all history keys of the model are given
    its hierarchies answer together (``pool``, see :mod:`tracestat.forecast.pool`), else the first one alone, which
    knows nothing of earlier pauses; a note says what is missing.

    Examples
    --------
    >>> import tracestat
    >>> model = tracestat.fit_forecast(tracestat.open(), where="provider = 'claude'")
    >>> answer = tracestat.predict_remaining(model, {"tool_class": "shell"}, elapsed=20)
    >>> answer.level_used, 0 < answer.remaining.q50 < answer.remaining.q90
    ('tool_class', True)
    """
    opened = as_model(model)
    name, chosen = provider_of(opened, provider)
    asked = dict(keys or {})
    for some in (asked, *calls):
        check_keys(chosen, some)
    check_seconds("--elapsed", elapsed)
    elapsed = float(elapsed)
    if calls:
        if asked_limit is not None:
            raise UsageError("--asked-limit: a limit belongs to one call; leave it out beside --call")
        return _of_round(opened, name, chosen, asked, calls, elapsed)
    path = chosen.paths[0]
    answer = answer_path(path, asked)
    levels = answer.levels(asked, elapsed)
    pool = serving_pool(chosen, asked)
    together = None if pool is None else answer_pool(chosen, pool, asked)
    ahead = any(end > elapsed for _, end in path.grid.windows)
    limit, limit_notes = _limit(chosen, asked.get("tool_class"), asked_limit, elapsed, windows=ahead)

    def cut(law: RemainingLaw) -> RemainingLaw:
        return law if limit is None else law.cut(limit.seconds, limit.mass)

    laws = {of: cut(law) for of, law in _laws(answer, together).items()}
    *above, (_, law) = laws.items()
    times = _times(law, path.grid, elapsed)
    told = _told(law, elapsed, path.last_seen)
    # where all answer together, what is said of levels is true of the first hierarchy only
    of = "" if together is None else "first hierarchy: "
    notes = [*(f"{of}{note}" for note in level_notes(levels)), *_lacking(chosen, asked), *limit_notes]
    return ForecastPrediction(
        head=_head(opened, chosen),
        provider=name,
        key=asked,
        path=path.keys,
        level_used=answer.level_used,
        weights=_levels(levels),
        elapsed=elapsed,
        limit=limit,
        remaining=told,
        survival=_curve(law, times, elapsed),
        atoms=_atoms(atoms_ahead(law, path.grid, elapsed), elapsed),
        parents=tuple(LevelCurve(name=of, survival=_curve(each, times, elapsed)) for of, each in above),
        pool=None if together is None else _pool(together, asked, elapsed, cut),
        calls=(),
        dependence=None,
        n_rows=path.n_rows,
        last_seen=path.last_seen,
        notes=(*notes, *far_notes(told, elapsed, path.last_seen)),
    )


def _laws(answer: PathAnswer, together: PooledAnswer | None) -> dict[str, RemainingLaw]:
    """Give the law that answers, and before it those that it is compared with, the broadest first."""
    if together is not None:
        return {BASE: together.base.law(), FIRST: answer.law(), POOL: together.law()}
    names = ("provider", *answer.path.keys)
    return {names[level]: answer.law(level) for level in range(len(answer.nodes) + 1)}


def _lacking(provider: ProviderModel, keys: Mapping[str, Value]) -> list[str]:
    """Say what was given in vain, and what would have helped."""
    if serving_pool(provider, keys) is not None:
        more = [key for path in provider.paths[1:] for key in path.keys if key not in keys]
        return [f"sharper with --key {', '.join(dict.fromkeys(more))}"] if more else []
    missing = missing_history(provider, keys)
    rest = [key for key in keys if not (missing and key in HISTORY_KEYS)]
    return [*unused_notes(provider.paths[0].keys, rest), *history_notes(missing, keys)]


def _pool(
    together: PooledAnswer, keys: Mapping[str, Value], elapsed: float, cut: Callable[[RemainingLaw], RemainingLaw]
) -> PoolAnswer:
    def member(answer: PathAnswer, weight: float) -> PoolMember:
        return PoolMember(
            keys=answer.path.keys,
            weight=weight,
            level_used=answer.level_used,
            levels=_levels(answer.levels(keys, elapsed)),
            q50=cut(answer.law()).quantile(0.5, elapsed) - elapsed,
        )

    return PoolAnswer(
        developer_seen=together.developer_seen,
        base=member(together.base, 1 - sum(together.weights)),
        members=tuple(map(member, together.members, together.weights)),
    )


def as_model(model: ForecastModel | str | Path) -> ForecastModel:
    """Give the model itself, or read it from its file."""
    if isinstance(model, ForecastModel):
        return model
    from tracestat.api.forecasts import load_forecast

    return load_forecast(model)


def provider_of(model: ForecastModel, provider: str | None) -> tuple[str, ProviderModel]:
    """Give the provider that was named, or the only one."""
    names = list(model.providers)
    if provider is None and len(names) == 1:
        return names[0], model.providers[names[0]]
    if provider is None or provider not in names:
        known = ", ".join(name or '""' for name in names)
        asked = "" if provider is None else f" {provider}"
        raise UsageError(f"--provider{asked}: this model is of {known}; name one of them")
    return provider, model.providers[provider]


def check_keys(provider: ProviderModel, keys: Iterable[str]) -> None:
    """Refuse keys that none of a provider's hierarchies has, and in a mapping lengths that are none."""
    known = known_keys(provider)
    for key in keys:
        if key == "provider":
            raise UsageError("--key provider: say it with --provider")
        if key not in known:
            raise UsageError(f"--key {key}: this model does not have it; it has {', '.join(known)}")
        if isinstance(keys, Mapping) and key in BANDED:
            band_code(key, keys[key])


def known_keys(provider: ProviderModel) -> tuple[str, ...]:
    """Give the keys of a provider's hierarchies, each once."""
    others = [provider.single, None if provider.pool is None else provider.pool.base]
    paths = [*provider.paths, *(path for path in others if path is not None)]
    return tuple(dict.fromkeys(key for path in paths for key in path.keys))


def check_seconds(option: str, value: float, *, above: bool = False) -> None:
    """Refuse what is no time."""
    if not (value > 0 or (value == 0 and not above)) or not value <= LONGEST:
        raise UsageError(f"{option} {value:g}: give seconds {'above' if above else 'from'} 0, at most {LONGEST:g}")


def _of_round(
    model: ForecastModel,
    name: str,
    provider: ProviderModel,
    shared: Mapping[str, Value],
    calls: Sequence[Mapping[str, Value]],
    elapsed: float,
) -> ForecastPrediction:
    """Forecast a round of several calls."""
    if not 2 <= len(calls) <= _MOST_CALLS:
        raise UsageError(f"--call: name 2 to {_MOST_CALLS} calls of one round, or say one call with --key")
    path, found = provider.single, provider.dependence
    if path is None:
        raise UsageError("--call: the model has no rounds of one call to make a round of several from; use --key")
    keys = [{**shared, **call} for call in calls]
    answers = [answer_path(path, each) for each in keys]
    theta = 1.0 if found is None else found.theta
    law, alone = law_of_round(answers, theta), law_of_round(answers, 1.0)
    times = _times(law, path.grid, elapsed)
    told = _told(law, elapsed, path.last_seen)
    independent = _told(alone, elapsed, path.last_seen)
    notes = [
        "known is that the round has not come back, not which of its calls have; all are taken to have begun with it"
    ]
    if found is None:
        notes.append("the model has no rounds of several calls: they are taken as independent")
    elif found.note:
        notes.append(f"dependence: {found.note}")
    notes += unused_notes(path.keys, dict.fromkeys(key for each in keys for key in each))
    return ForecastPrediction(
        head=_head(model, provider),
        provider=name,
        key=dict(shared),
        path=path.keys,
        level_used="calls",
        weights=(),
        elapsed=elapsed,
        limit=None,
        remaining=told,
        survival=_curve(law, times, elapsed),
        atoms=_atoms(atoms_ahead(law, path.grid, elapsed), elapsed),
        parents=(LevelCurve(name="independent calls", survival=_curve(alone, times, elapsed)),),
        pool=None,
        calls=tuple(_call(answer, each, elapsed) for answer, each in zip(answers, keys, strict=True)),
        dependence=RoundDependence(
            theta=theta,
            interval=None if found is None else found.interval,
            n_rounds=0 if found is None else found.n_rounds,
            independent=independent,
        ),
        n_rows=path.n_rows,
        last_seen=path.last_seen,
        notes=(*notes, *far_notes(told, elapsed, path.last_seen)),
    )


def _call(answer: PathAnswer, keys: Mapping[str, Value], elapsed: float) -> CallForecast:
    return CallForecast(
        key=keys,
        level_used=answer.level_used,
        weights=_levels(answer.levels(keys, elapsed)),
        remaining=_told(answer.law(), elapsed, answer.path.last_seen),
    )


def _head(model: ForecastModel, provider: ProviderModel) -> Head:
    return Head(
        schema="tracestat.forecast_predict/1",
        tracestat=tracestat.__version__,
        trace=TraceInfo(model.trace, model.fingerprint, model.rounds, model.tool_calls, model.rejected),
        unit="pause",
        clock="wall",
        by=(),
        where=model.where,
        seed=0,
        rows=model.rows,
        synthetic=model.synthetic,
        since=model.since,
        until=model.until,
        zone=model.zone,
        notes=provider.notes,
    )


def _told(law: RemainingLaw, elapsed: float, last_seen: float) -> RemainingTime:
    ends = {name: law.quantile(p, elapsed) for name, p in QUANTILES.items()}
    far = [name for name, t in ends.items() if t > last_seen and t != law.limit]
    mean = law.mean(elapsed, WINDOW)
    if mean - law.mean(elapsed, min(max(last_seen - elapsed, 0.0), WINDOW)) > _MUCH * mean:
        far.append("mean_restricted")
    return RemainingTime(
        **{name: t - elapsed for name, t in ends.items()},
        mean_restricted=mean,
        window=WINDOW,
        extrapolated=tuple(far),
    )


def _times(law: RemainingLaw, grid: Grid, elapsed: float) -> tuple[float, ...]:
    """Give the times from now at which curves are told: round numbers, and the edges of what lies ahead.

    A curve is drawn straight between them, so they go on for as long as has been waited already, and to the limit.
    """
    edges = [edge - elapsed for window in grid.windows for edge in window if edge > elapsed]
    limit = [law.limit - elapsed] if elapsed < law.limit < inf else []
    far = [t for t in _FAR_AHEAD if t <= max([elapsed, *limit])]
    return tuple(sorted({0.0, *_AHEAD, *far, *edges, *limit}))


def _curve(law: RemainingLaw, times: Sequence[float], elapsed: float) -> tuple[tuple[float, float], ...]:
    jump = law.limit - elapsed
    points: list[tuple[float, float]] = []
    for ahead in times:
        if ahead == jump:
            gone = law.fallen_at(law.limit) - law.fallen_at(elapsed)
            points.append((ahead, exp(-gone)))
            points.append((ahead, exp(-gone - law.drop)))
        else:
            points.append((ahead, law.survival(ahead, elapsed)))
    return tuple(points)


def _levels(levels: Sequence[PathLevel]) -> tuple[LevelAnswer, ...]:
    return tuple(
        LevelAnswer(
            key=each.key,
            value=each.value,
            given=each.given,
            seen=each.seen,
            reached=each.reached,
            weight=each.weight,
            share=each.share,
        )
        for each in levels
    )


def _atoms(atoms: Sequence[Atom], elapsed: float) -> tuple[AtomAhead, ...]:
    made = []
    for atom in atoms:
        told = asdict(atom)
        start, end = told.pop("start"), told.pop("end")
        made.append(
            AtomAhead(window=(start, end), from_now=(start - elapsed, end - elapsed), excess=atom.excess, **told)
        )
    return tuple(made)


def _limit(
    provider: ProviderModel, tool_class: Value, asked: float | None, elapsed: float, *, windows: bool
) -> tuple[LimitCut | None, list[str]]:
    """Give the cut at the limit that was asked for, and what there is to say of it."""
    if asked is None:
        return None, []
    check_seconds("--asked-limit", asked, above=True)
    if asked <= elapsed:
        return None, [f"the asked limit of {asked:g} s is over: the law is not cut"]
    mass, whose, known = limit_mass(provider, tool_class)
    notes = ["deadlines ahead are those of all calls, whatever limit they asked for"] if windows else []
    if not known:
        notes.append("the model does not know what share ends at an asked limit: all is taken to end there")
    if known and whose is None and tool_class is not None:
        notes.append(f"limits of tool_class {tool_class} were never reached: all classes together tell the mass")
    return LimitCut(seconds=asked, mass=mass, tool_class=whose, known=known), notes
