"""The file of constants as data and back: nothing that is missing, unknown, impossible or from a newer version passes.

What is read is written again and compared with the file, so that a key that nobody knows cannot be overlooked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tracestat.constants.checks import find_bad_number, find_impossible
from tracestat.constants.forms import Constants, Workload
from tracestat.errors import TracestatError
from tracestat.hardware import hardware_from_dict, hardware_to_dict
from tracestat.results import Json, as_json

__all__ = ["SCHEMA", "constants_from_dict", "constants_to_dict", "load_constants"]

_NAME: Final = "tracestat.constants"
_VERSION: Final = 1
SCHEMA: Final = f"{_NAME}/{_VERSION}"
_LARGEST: Final = 1 << 30  # bytes; that of a full-size trace has some ten millions
_AGAIN: Final = "make it with `tracestat export constants`"
_SHOWN: Final = 60  # characters of a name that nobody knows


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
        content = place.read_bytes()
        data = msgspec.json.decode(content)
        name = _twice(content)
    except OSError as error:
        raise TracestatError(f"{where}: cannot be read ({error.strerror}); check the name") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TracestatError(f"{where}: is no valid JSON ({reason}); {_AGAIN}") from None
    if name is not None:
        raise TracestatError(f"{where}: {_shown(name)} stands twice in one table, so readers may differ; {_AGAIN}")
    return constants_from_dict(data, where=where)


def _twice(content: bytes) -> str | None:
    """Give a name that a table of a document has twice; None where there is none. Readers keep one of them silently."""
    found: list[str] = []

    def table(pairs: list[tuple[str, object]]) -> None:
        if len({name for name, _ in pairs}) < len(pairs):
            names = [name for name, _ in pairs]
            found.append(next(name for name in names if names.count(name) > 1))

    json.loads(content, object_pairs_hook=table)
    return found[0] if found else None


def _shown(place: str) -> str:
    """Give a place of a file, whose names may be anything, as part of a line."""
    short = place if len(place) <= 2 * _SHOWN else f"{place[:_SHOWN]}...{place[-_SHOWN:]}"
    return short if short.isprintable() else ascii(short)[1:-1]


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
    if constants.workload is not None:
        problem = find_bad_number(known["workload"], "") or find_impossible(constants.workload)
        if problem:
            raise TracestatError(f"{where}: workload.{_shown(problem)}; {_AGAIN}")
    different = _difference(data, known, "")
    if different:
        raise TracestatError(f"{where}: {_shown(different)}; {_AGAIN}")
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
        raise TracestatError(f"{where}: workload{_shown(place.rstrip('`'))}: {_shown(reason)}; {_AGAIN}") from None


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
