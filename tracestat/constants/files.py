"""The file of constants as data and back: nothing that is missing, unknown, impossible or from a newer version passes.

What is read is written again and compared with the file, so that a key that nobody knows cannot be overlooked.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tracestat.constants.forms import Constants, KeyConstants, Programs, Workload
from tracestat.errors import TracestatError
from tracestat.hardware import hardware_from_dict, hardware_to_dict
from tracestat.results import Interval, Json, as_json
from tracestat.results.key_laws import LEVELS

__all__ = ["SCHEMA", "constants_from_dict", "constants_to_dict", "load_constants"]

_NAME: Final = "tracestat.constants"
_VERSION: Final = 1
SCHEMA: Final = f"{_NAME}/{_VERSION}"
_LARGEST: Final = 1 << 30  # bytes; that of a full-size trace has some ten millions
_AGAIN: Final = "make it with `tracestat export constants`"
_SHORTEST_ETA: Final = -0.5
_ROUNDING: Final = 1e-9
_ENDLESS: Final = float("inf")
# estimates and their bounds, of which some may lie below 0, and are checked where they may not
_ANY_SIGN: Final = {"worth", "value", "low", "high", "session", "developer"}


def constants_to_dict(constants: Constants) -> dict[str, Json]:
    """Give the content of a file of constants as JSON data.

    Parameters
    ----------
    constants : Constants

    Returns
    -------
    dict
        ``schema, tracestat, hardware`` (ms, us and ns, as in hardware files), ``derived`` (what follows from it) and
        ``workload`` (seconds and tokens; null where there is none).

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> constants_to_dict(Constants(load_hardware(), None))["schema"]
    'tracestat.constants/1'
    """
    return {
        "schema": SCHEMA,
        "tracestat": constants.tracestat,
        "hardware": hardware_to_dict(constants.hardware),
        "derived": as_json(constants.derived),
        "workload": as_json(constants.workload),
    }


def load_constants(path: str | Path) -> Constants:
    """Read a file that ``tracestat export constants`` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Constants
        ``hardware``, ``workload`` (None in a file of the hardware alone) and what follows from the hardware,
        ``derived``; in seconds, tokens and bytes.

    Raises
    ------
    TracestatError
        The file cannot be read, is another one or of a newer version, or holds something impossible: one line that
        names the place.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = tracestat.export_constants(None, f"{folder}/c.json", hardware="rtx4090-llama3.1-8b-fp8")
    ...     tracestat.load_constants(f"{folder}/c.json") == made
    True
    """
    import msgspec

    place = Path(path)
    where = f"constants {place.name}"
    try:
        if place.stat().st_size > _LARGEST:
            raise TracestatError(f"{where}: over 1 GiB, which no such file is; {_AGAIN}")
        data = msgspec.json.decode(place.read_bytes())
    except OSError as error:
        raise TracestatError(f"{where}: cannot be read ({error.strerror}); check the name") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TracestatError(f"{where}: is no valid JSON ({reason}); {_AGAIN}") from None
    return constants_from_dict(data, where=where)


def constants_from_dict(data: Any, *, where: str = "constants") -> Constants:
    """Make the constants of the content of a file; errors as `load_constants`, which begin with ``where``.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> made = Constants(load_hardware(), None, "0.1.0")
    >>> constants_from_dict(constants_to_dict(made)) == made
    True
    """
    _check_schema(data, where)
    for name in ("tracestat", "hardware", "derived", "workload"):
        if name not in data:
            raise TracestatError(f"{where}: {name} is missing; {_AGAIN}")
    if not isinstance(data["tracestat"], str):
        raise TracestatError(f"{where}: tracestat is no text; {_AGAIN}")
    if not isinstance(data["hardware"], Mapping):
        raise TracestatError(f"{where}: hardware is no table; {_AGAIN}")
    hardware = hardware_from_dict(data["hardware"], where=where.removeprefix("constants "))
    constants = Constants(hardware, _workload(data["workload"], where), data["tracestat"])
    # the half of the hardware was checked by its own reader
    known = constants_to_dict(constants) | {"hardware": data["hardware"]}
    problem = (
        None if constants.workload is None else _negative(known["workload"], "") or _impossible(constants.workload)
    )
    if problem:
        raise TracestatError(f"{where}: workload.{problem}; {_AGAIN}")
    different = _difference(data, known, "")
    if different:
        raise TracestatError(f"{where}: {different}; {_AGAIN}")
    return constants


def _check_schema(data: Any, where: str) -> None:
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if schema == SCHEMA:
        return
    name, _, version = schema.partition("/") if isinstance(schema, str) else ("", "", "")
    if name == _NAME and version.isascii() and version.isdigit() and int(version[:9]) > _VERSION:
        raise TracestatError(f"{where}: is of version {version[:9]}, and {_VERSION} is known; use a newer tracestat")
    raise TracestatError(f"{where}: its schema is not {SCHEMA}; {_AGAIN}")


def _workload(data: Any, where: str) -> Workload | None:
    import msgspec

    if data is None:
        return None
    try:
        return msgspec.convert(data, Workload)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).splitlines()[0].partition(" - at `$")
        raise TracestatError(f"{where}: workload{place.rstrip('`')}: {reason}; {_AGAIN}") from None


def _difference(given: Any, known: Any, place: str) -> str | None:
    """Say where what the file holds is not what is known of it; None where they agree."""
    if isinstance(given, Mapping) and isinstance(known, Mapping):
        for key in sorted(given.keys() | known.keys(), key=str):
            at = f"{place}.{key}" if place else str(key)
            if key not in known:
                return f"{at} is not known"
            if key not in given:
                return f"{at} is missing"
            found = _difference(given[key], known[key], at)
            if found:
                return found
        return None
    if isinstance(given, list) and isinstance(known, list) and len(given) == len(known):
        if given == known:
            return None
        return next(
            found
            for i, pair in enumerate(zip(given, known, strict=True))
            if (found := _difference(*pair, f"{place}[{i}]"))
        )
    if given == known and isinstance(given, bool) == isinstance(known, bool):
        return None
    follows = " what follows from hardware" if place.startswith("derived") else " what it should be"
    return f"{place} is not{follows}"


def _negative(value: Json, place: str) -> str | None:
    """Say which number below 0 may not be; None where there is none. Curves are looked at by themselves."""
    if isinstance(value, dict):
        items = [(f"{place}.{name}" if place else name, item) for name, item in value.items() if name not in _ANY_SIGN]
    elif isinstance(value, list) and not (value and isinstance(value[0], float)):
        items = [(f"{place}[{i}]", item) for i, item in enumerate(value)]
    else:
        return f"{place} is negative" if isinstance(value, int | float) and value < 0 else None
    return next((found for at, item in items if (found := _negative(item, at))), None)


def _impossible(workload: Workload) -> str | None:
    """Say what cannot be; None where nothing is wrong."""
    times = workload.grid
    if not times or times[0] <= 0 or any(not a < b for a, b in pairwise(times)) or not _finite(times):
        return "grid does not rise from above 0"
    if any(not 0 < b < _ENDLESS for b in workload.benefits) or any(not a < b for a, b in pairwise(workload.benefits)):
        return "benefits do not rise from above 0"
    for i, key in enumerate(workload.keys):
        found = _wrong_key(key, len(times), workload.benefits)
        if found:
            return f"keys[{i}].{found}"
    for i, programs in enumerate(workload.memoryfulness):
        found = _wrong_programs(programs)
        if found:
            return f"memoryfulness[{i}].{found}"
    for i, human in enumerate(workload.human):
        if not 0 <= human.n_human <= human.n:
            return f"human[{i}] has more rows that wait for a person than rows, or fewer than none"
        for name in ("of_count", "of_time", "of_token_seconds"):
            if not _share(getattr(human, name)):
                return f"human[{i}].{name} lies outside 0 to 1"
    for i, limit in enumerate(workload.asked_limits):
        if not 0 < limit.seconds < _ENDLESS or not 0 <= limit.n_ended <= limit.n_asked or not _share(limit.ended):
            return f"asked_limits[{i}] holds a limit of no time, or more ends than calls"
    return None


def _finite(values: tuple[float, ...]) -> bool:
    return all(-_ENDLESS < value < _ENDLESS for value in values)


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


def _wrong_key(key: KeyConstants, n_times: int, benefits: tuple[float, ...]) -> str | None:
    if tuple(key.key) != LEVELS or key.level not in LEVELS:
        return "key does not have the levels " + ", ".join(LEVELS)
    if key.n_events + key.n_censored != key.n:
        return "n is not the sum of n_events and n_censored"
    for name in ("total_seconds", "resolution_seconds", "last_seconds"):
        if not 0 <= getattr(key, name) < _ENDLESS:
            return f"{name} is negative or not finite"
    for name, most in (("survival", n_times), ("used", n_times)):
        values = getattr(key, name)
        problem = _curve(values)
        if problem:
            return f"{name} {problem}"
        if len(values) > most or (name == "used" and len(values) != most):
            return f"{name} does not fit the grid"
    if not 0 <= key.weight <= 1 or (key.tail_alpha is not None and not 0 < key.tail_alpha < _ENDLESS):
        return "weight or tail_alpha is not possible"
    for i, atom in enumerate(key.atoms):
        if not 0 < atom.seconds < _ENDLESS or not 0 <= atom.late < _ENDLESS or not _share(atom.mass):
            return f"atoms[{i}] has no time, or a mass outside 0 to 1"
    rules = [(hold.rule, hold.benefit) for hold in key.holds]
    if len(set(rules)) != len(rules) or any(benefit not in benefits for _, benefit in rules):
        return "holds are for other benefits than those of the file, or twice for one"
    for i, hold in enumerate(key.holds):
        if not _finite((hold.worth,)) or not 0 <= hold.mean_hold <= hold.tau + _ROUNDING or not hold.tau < _ENDLESS:
            return f"holds[{i}] lasts longer than it may, or less than 0 s"
        if not 0 <= hold.pin_share <= 1:
            return f"holds[{i}].pin_share lies outside 0 to 1"
        if not _share(hold.returned):
            return f"holds[{i}].returned lies outside 0 to 1"
    if key.pays_from is not None and not 0 <= key.pays_from < _ENDLESS:
        return "pays_from is negative or not finite"
    return None


def _wrong_programs(programs: Programs) -> str | None:
    eta = programs.eta.value
    if eta is not None and not _SHORTEST_ETA - _ROUNDING <= eta <= 1 + _ROUNDING:
        return "eta lies outside -0.5 to 1"
    if any(a.turns >= b.turns for a, b in pairwise(programs.turns)):
        return "turns do not rise"
    problem = _curve(tuple(point.share.value or 0.0 for point in programs.turns))
    return f"turns: the share {problem}" if problem else None
