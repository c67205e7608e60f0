"""What cannot be in a workload: numbers without sense, curves that rise, holds that do not follow from their law."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from tracestat.constants.forms import ForecastFile, KeyConstants, Programs, Workload
from tracestat.constants.holds import find_difference
from tracestat.policy import paper_source
from tracestat.results import Interval, Json
from tracestat.results.key_laws import LAW_GRID, LEVELS

__all__ = ["find_bad_number", "find_impossible"]

_SHORTEST_ETA: Final = -0.5
_ROUNDING: Final = 1e-9
_ENDLESS: Final = float("inf")
_MOST: Final = 1 << 53  # beyond that JSON readers that know only floating point lose digits
# estimates and their bounds, of which some may lie below 0, and are checked where they may not
_ANY_SIGN: Final = {"worth", "value", "low", "high", "session", "developer"}
_DIGEST: Final = re.compile("[0-9a-f]{64}")


def find_bad_number(value: Json, place: str) -> str | None:
    """Say which number of JSON data is below 0 and may not be, or of what interval the bounds are none; else None.

    Curves are looked at by themselves.
    """
    if isinstance(value, Mapping):
        if {"low", "high", "level"} <= value.keys() and not _ordered(value):
            return f"{place} has bounds that do not rise, or a level outside 0 to 1"
        items = [(f"{place}.{name}" if place else name, item) for name, item in value.items() if name not in _ANY_SIGN]
    elif isinstance(value, list) and not (value and isinstance(value[0], float)):
        items = [(f"{place}[{i}]", item) for i, item in enumerate(value)]
    elif isinstance(value, int | float) and not 0 <= value < _ENDLESS:
        return f"{place} is negative or not finite"
    else:
        return f"{place} is too large" if isinstance(value, int) and value >= _MOST else None
    return next((found for at, item in items if (found := find_bad_number(item, at))), None)


def _ordered(interval: Mapping[str, Json]) -> bool:
    level = interval["level"]
    pairs = [(interval["low"], interval["high"]), interval.get("session"), interval.get("developer")]
    return (
        isinstance(level, float)
        and 0 < level < 1
        and all(
            not (isinstance(pair, list | tuple) and isinstance(pair[0], float) and isinstance(pair[1], float))
            or pair[0] <= pair[1]
            for pair in pairs
        )
    )


def find_impossible(workload: Workload) -> str | None:
    """Say what cannot be, as a place within the workload; None where nothing is wrong."""
    times = workload.grid
    if any(not a < b for a, b in pairwise(times)):
        return "grid does not rise"
    if times != LAW_GRID:
        return f"grid is not that of these files, {LAW_GRID[0]:g} to {LAW_GRID[-1]:g} s"
    if any(not 0 < b < _ENDLESS for b in workload.benefits) or any(not a < b for a, b in pairwise(workload.benefits)):
        return "benefits do not rise from above 0"
    problem = _wrong_keys(workload)
    if problem:
        return problem
    for i, programs in enumerate(workload.memoryfulness):
        problem = _wrong_programs(programs)
        if problem:
            return f"memoryfulness[{i}].{problem}"
    for i, human in enumerate(workload.human):
        if not 0 <= human.n_human <= human.n:
            return f"human[{i}] has more rows that wait for a person than rows, or fewer than none"
        for name in ("of_count", "of_time", "of_token_seconds"):
            if not _share(getattr(human, name)):
                return f"human[{i}].{name} lies outside 0 to 1"
    for i, limit in enumerate(workload.asked_limits):
        if not 0 < limit.seconds < _ENDLESS or not 0 <= limit.n_ended <= limit.n_asked or not _share(limit.ended):
            return f"asked_limits[{i}] holds a limit of no time, or more ends than calls"
    return None if workload.forecast is None else _wrong_forecast(workload.forecast)


def _wrong_keys(workload: Workload) -> str | None:
    top = {key.key.get(LEVELS[0]): key for key in workload.keys if key.level == LEVELS[0]}
    seen = set()
    for i, key in enumerate(workload.keys):
        everything = top.get(key.key.get(LEVELS[0]))
        if everything is None:
            return f"keys[{i}] has no key of all tools of its provider"
        found = _wrong_key(key, workload.grid)
        if found is None and key.law_from != paper_source(key.n_events, everything.n_events):
            found = "law_from is not what follows from the counts"
        if found is None:
            found = find_difference(key, everything, workload.grid, workload.benefits)
        if found:
            return f"keys[{i}].{found}"
        name = (key.level, *key.key.values())
        if name in seen:
            return f"keys[{i}] is there twice"
        seen.add(name)
    return None


def _share(interval: Interval) -> bool:
    pairs = [(interval.low, interval.high), interval.session or (None, None), interval.developer or (None, None)]
    values = [interval.value, *(bound for pair in pairs for bound in pair)]
    return all(value is None or -_ROUNDING <= value <= 1 + _ROUNDING for value in values)


def _curve(values: tuple[float, ...]) -> str | None:
    if any(not 0 <= value <= 1 for value in values):
        return "lies outside 0 to 1"
    if any(a < b for a, b in pairwise(values)):
        return "rises"
    return None


def _wrong_key(key: KeyConstants, times: tuple[float, ...]) -> str | None:
    if tuple(key.key) != LEVELS or key.level not in LEVELS or key.level_used not in LEVELS:
        return "key does not have the levels " + ", ".join(LEVELS)
    depth = LEVELS.index(key.level)
    if any(key.key[below] is not None for below in LEVELS[depth + 1 :]) or LEVELS.index(key.level_used) > depth:
        return "key has values below its level"
    if key.n_events + key.n_censored != key.n:
        return "n is not the sum of n_events and n_censored"
    if not key.n_developers <= key.n_sessions <= key.n:
        return "n_sessions and n_developers do not fit n"
    for name, values in (("survival", (key.at_zero, *key.survival)), ("used", key.used)):
        problem = _curve(values)
        if problem:
            return f"{name} {problem}"
    n = len(key.survival)
    if n > len(times) or len(key.used) != len(times):
        return f"{'survival' if n > len(times) else 'used'} does not fit the grid"
    if n and key.last_seconds < times[n - 1]:
        return "survival goes on after last_seconds"
    if not key.weight <= 1 or key.tail_alpha == 0:
        return "weight or tail_alpha is not possible"
    return _wrong_atoms(key) or _wrong_holds(key)


def _wrong_atoms(key: KeyConstants) -> str | None:
    for i, atom in enumerate(key.atoms):
        if atom.seconds == 0 or atom.mass.value is None or not _share(atom.mass):
            return f"atoms[{i}] has no time, or a mass outside 0 to 1"
    if len({(atom.seconds, atom.kind) for atom in key.atoms}) < len(key.atoms):
        return "atoms: one is there twice"
    if sum(atom.mass.value or 0.0 for atom in key.atoms) > 1 + _ROUNDING:
        return "atoms: their masses add up to more than 1"
    return None


def _wrong_holds(key: KeyConstants) -> str | None:
    for i, hold in enumerate(key.holds):
        if not _share(hold.returned):
            return f"holds[{i}].returned lies outside 0 to 1"
    return None


def _wrong_programs(programs: Programs) -> str | None:
    eta = programs.eta
    if any(
        value is not None and not _SHORTEST_ETA - _ROUNDING <= value <= 1 + _ROUNDING
        for value in (eta.value, eta.low, eta.high)
    ):
        return "eta lies outside -0.5 to 1"
    if any(a.turns >= b.turns for a, b in pairwise(programs.turns)):
        return "turns do not rise"
    if programs.turns and (programs.max is None or programs.turns[-1].turns > programs.max):
        return "turns go beyond max"
    problem = _curve(tuple(point.share.value or 0.0 for point in programs.turns))
    return f"turns: the share {problem}" if problem else None


def _wrong_forecast(forecast: ForecastFile) -> str | None:
    name = forecast.name
    if not name or not name.isprintable() or "/" in name or "\\" in name:
        return "forecast.name is no name of a file"
    return None if _DIGEST.fullmatch(forecast.sha256) else "forecast.sha256 is no SHA-256"
