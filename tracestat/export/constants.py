"""The file of constants: laws of keys become holds, and both halves one JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tracestat.constants import (
    AtomConstants,
    Constants,
    KeyConstants,
    constants_from_dict,
    constants_to_dict,
    holds_of,
    least_of,
)
from tracestat.errors import UsageError
from tracestat.policy import paper_source
from tracestat.replacing import replacing
from tracestat.results import NOT_AVAILABLE, Interval, Json
from tracestat.results.key_laws import LAW_GRID, LEVELS, KeyLaw

__all__ = [
    "ENDINGS",
    "Late",
    "Values",
    "constants_of_keys",
    "constants_text",
    "values_of",
    "with_returned",
    "write_constants",
]

ENDINGS: Final = (".json",)
# of a key, from the top down to its level
Values = tuple[str | None, ...]
# lateness per (provider, kind, limit)
Late = Mapping[tuple[str | None, str, float], float]
_LINE = 118
# notes of a law about what is not in this file
_ABOUT_OTHERS = ("residual life:", "laws:")


def constants_of_keys(
    laws: Sequence[KeyLaw], benefits: Sequence[float], late: Late, min_n: int, at_zero: Mapping[Values, float]
) -> tuple[tuple[KeyConstants, ...], int]:
    """Turn laws of keys into what a simulator loads: curves, point masses, and the holds for each benefit.

    Parameters
    ----------
    laws : sequence of KeyLaw
        Of all levels; those of the top one are "all tools" of Continuum's rule for the keys below.
    benefits : sequence of float
        Seconds of holding, rising from above 0.
    late : mapping of (provider, kind, seconds) to float
        How late nine tenths of the ends on a limit come.
    min_n : int
        Keys below the top with fewer pauses are left out.
    at_zero : mapping of values to float
        P(T > 0) of each key, by the values down to its level; 1 where it has none.

    Returns
    -------
    keys : tuple of KeyConstants
        In the order of ``laws``.
    n_left_out : int
    """
    n_all = {law.key[LEVELS[0]]: law.n_events for law in laws if law.level == LEVELS[0]}
    kept = [law for law in laws if law.level == LEVELS[0] or law.n >= min_n]
    bare = [_key(law, n_all[law.key[LEVELS[0]]], late, at_zero) for law in kept]
    top = {key.key[LEVELS[0]]: key for key in bare if key.level == LEVELS[0]}
    made = tuple(_with_holds(key, top[key.key[LEVELS[0]]], benefits) for key in bare)
    return made, len(laws) - len(kept)


def values_of(key: Mapping[str, str | None], level: str) -> Values:
    """Give the values of a key down to its level."""
    return tuple(key[name] for name in LEVELS[: LEVELS.index(level) + 1])


def _key(law: KeyLaw, n_all: int, late: Late, at_zero: Mapping[Values, float]) -> KeyConstants:
    provider = law.key[LEVELS[0]]
    return KeyConstants(
        key=dict(law.key),
        level=law.level,
        n=law.n,
        n_events=law.n_events,
        n_censored=law.n_censored,
        n_sessions=law.n_sessions,
        n_developers=law.n_developers,
        total_seconds=law.total_seconds,
        resolution_seconds=law.resolution_seconds,
        last_seconds=law.last_seconds,
        tail_alpha=law.tail_alpha,
        at_zero=at_zero.get(values_of(law.key, law.level), 1.0),
        survival=law.survival,
        used=law.used,
        level_used=law.level_used,
        weight=law.weight,
        atoms=tuple(
            AtomConstants(
                seconds=a.seconds,
                mass=a.mass,
                kind=a.kind,  # type: ignore[arg-type]
                late=late.get((provider, a.kind, a.seconds), 0.0),
            )
            for a in law.atoms
        ),
        law_from=paper_source(law.n_events, n_all),
        pays_from=None,
        holds=(),
        notes=tuple(note for note in law.notes if not note.startswith(_ABOUT_OTHERS)),
    )


def _with_holds(key: KeyConstants, everything: KeyConstants, benefits: Sequence[float]) -> KeyConstants:
    return replace(
        key,
        pays_from=least_of(key, everything, LAW_GRID),
        holds=holds_of(key, everything, LAW_GRID, benefits),
    )


def with_returned(key: KeyConstants, within: Callable[[list[float]], list[Interval]]) -> KeyConstants:
    """Say of each hold of a key what share of its own pauses ends within it.

    Parameters
    ----------
    key : KeyConstants
    within : callable
        Gives P(T <= t) with its bounds for times above 0.
    """
    times = sorted({hold.tau for hold in key.holds if hold.tau > 0})
    found = dict(zip(times, within(times), strict=True)) if times else {}
    return replace(key, holds=tuple(replace(hold, returned=found.get(hold.tau, NOT_AVAILABLE)) for hold in key.holds))


def write_constants(constants: Constants, path: Path) -> Constants:
    """Write a file of constants, and give what a reader of it will have.

    Parameters
    ----------
    constants : Constants
    path : Path
        ``.json``; a file that is there is replaced.

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The constants hold something that a reader would refuse, or the file cannot be written.
    """
    if not path.name.lower().endswith(ENDINGS):
        raise UsageError(f"{path.name}: the name must end in {' or '.join(ENDINGS)}")
    text = constants_text(constants)
    read = constants_from_dict(json.loads(text), where=f"constants {path.name}")
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return read


def constants_text(constants: Constants) -> str:
    """Give the document: a table or list to a line where it fits, and curves on one.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> text = constants_text(Constants(load_hardware(), None, "0.1.0"))
    >>> text.splitlines()[:3]
    ['{', ' "schema": "tracestat.constants/1",', ' "tracestat": "0.1.0",']
    """
    return "".join(_pieces(constants_to_dict(constants), 0)) + "\n"


def _pieces(value: Json, depth: int) -> Iterator[str]:
    inline = json.dumps(value, ensure_ascii=False, allow_nan=False)
    nested = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    if not value or not (isinstance(value, dict) or nested) or (depth and len(inline) <= _LINE):
        yield inline
        return
    outer, inner = " " * depth, " " * (depth + 1)
    if isinstance(value, dict):
        yield "{\n"
        for i, (key, item) in enumerate(value.items()):
            yield f"{',' + chr(10) if i else ''}{inner}{json.dumps(key, ensure_ascii=False)}: "
            yield from _pieces(item, depth + 1)
        yield f"\n{outer}}}"
    elif isinstance(value, list):
        yield "[\n"
        for i, item in enumerate(value):
            yield f"{',' + chr(10) if i else ''}{inner}"
            yield from _pieces(item, depth + 1)
        yield f"\n{outer}]"
