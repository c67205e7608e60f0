"""The file of constants: laws of keys become holds, and both halves one JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tracestat.constants import (
    AtomConstants,
    Constants,
    HoldFor,
    KeyConstants,
    constants_from_dict,
    constants_to_dict,
)
from tracestat.errors import UsageError
from tracestat.policy import (
    Hold,
    PauseLaw,
    continuum_hold,
    exponential_hold,
    hazard_hold,
    hold_of,
    law_of_curve,
    least_benefit,
    paper_source,
)
from tracestat.replacing import replacing
from tracestat.results import NOT_AVAILABLE, Interval, Json
from tracestat.results.key_laws import LAW_GRID, LEVELS, KeyLaw

__all__ = ["ENDINGS", "Late", "constants_of_keys", "constants_text", "with_returned", "write_constants"]

ENDINGS: Final = (".json",)
# lateness per (provider, kind, limit)
Late = Mapping[tuple[str | None, str, float], float]
_LINE = 118
# notes of a law about what is not in this file
_ABOUT_OTHERS = ("residual life:", "laws:")


def constants_of_keys(
    laws: Sequence[KeyLaw], benefits: Sequence[float], late: Late, min_n: int
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

    Returns
    -------
    keys : tuple of KeyConstants
        In the order of ``laws``.
    n_left_out : int
    """
    top = {law.key[LEVELS[0]]: law for law in laws if law.level == LEVELS[0]}
    kept = [law for law in laws if law.level == LEVELS[0] or law.n >= min_n]
    made = tuple(_key(law, top[law.key[LEVELS[0]]], benefits, late) for law in kept)
    return made, len(laws) - len(kept)


def _key(law: KeyLaw, everything: KeyLaw, benefits: Sequence[float], late: Late) -> KeyConstants:
    provider = law.key[LEVELS[0]]
    atoms = tuple(
        AtomConstants(seconds=a.seconds, mass=a.mass, kind=a.kind, late=late.get((provider, a.kind, a.seconds), 0.0))  # type: ignore[arg-type]
        for a in law.atoms
    )
    shrunken = law_of_curve(LAW_GRID, law.used, _places(law, late))
    source = paper_source(law.n_events, everything.n_events)
    paper = _own(law, late) if source == "own" else _own(everything, late) if source == "all" else None
    hazard = paper or shrunken
    holds = [
        *(_row("continuum", benefit, _paper(paper, shrunken, benefit)) for benefit in benefits),
        *(_row("hazard", benefit, hazard_hold(hazard, benefit)) for benefit in benefits),
    ]
    if law.level == LEVELS[-1]:
        # above it the shrunken curve is that of a key below, not seen before
        holds += [_row("continuum_shrunken", benefit, continuum_hold(shrunken, benefit)) for benefit in benefits]
        holds += [_row("hazard_shrunken", benefit, hazard_hold(shrunken, benefit)) for benefit in benefits]
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
        survival=law.survival,
        used=law.used,
        level_used=law.level_used,
        weight=law.weight,
        atoms=atoms,
        law_from=source,
        pays_from=least_benefit(hazard, whole=False),
        holds=tuple(holds),
        notes=tuple(note for note in law.notes if not note.startswith(_ABOUT_OTHERS)),
    )


def _places(law: KeyLaw, late: Late) -> list[tuple[float, float]]:
    """Give where the pauses of each point mass are back, and its mass."""
    provider = law.key[LEVELS[0]]
    return [(a.seconds + late.get((provider, a.kind, a.seconds), 0.0), a.mass.value or 0.0) for a in law.atoms]


def _own(law: KeyLaw, late: Late) -> PauseLaw | None:
    """Give the law of a key's own durations; None where too few were seen for a curve."""
    n = len(law.survival)
    if not n:
        return None
    times, survival = LAW_GRID[:n], law.survival
    if not law.n_censored and survival[-1] > 0 and law.last_seconds > times[-1]:
        # the curve stops at the grid, but the last pause is known to end
        times, survival = (*times, law.last_seconds), (*survival, 0.0)
    return law_of_curve(times, survival, _places(law, late))


def _paper(law: PauseLaw | None, shrunken: PauseLaw, benefit: float) -> Hold:
    """Give Continuum's hold: by the durations it would use, else by its cold start, judged by the law that we have."""
    if law is not None:
        return continuum_hold(law, benefit)
    return hold_of(shrunken, exponential_hold(1.0, benefit), benefit=benefit, whole=True)


def _row(rule: Any, benefit: float, hold: Hold) -> HoldFor:
    return HoldFor(
        rule=rule,
        benefit=float(benefit),
        tau=hold.tau,
        pin_share=hold.pin_share,
        mean_hold=min(hold.mean_hold, hold.tau),
        worth=hold.value,
        returned=NOT_AVAILABLE,
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
