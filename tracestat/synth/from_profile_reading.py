"""Read a ``tracestat-profile``: what is damaged, contradicts itself or is of a later version is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from tracestat.errors import TracestatError
from tracestat.results.profile import SCHEMA, VERSION, Band, Chain, Grid, Profile, ProfileKey, ProviderSessions

__all__ = ["ReadProfile", "checked_profile", "read_profile"]

_MOST_BYTES: Final = 1 << 30
_SLACK: Final = 1e-6


class _Head(msgspec.Struct):
    """What must be known before the rest can be judged."""

    schema: object = None
    version: object = None


@dataclass(frozen=True, slots=True)
class ReadProfile:
    """A profile, and which file it was: base name and SHA-256."""

    profile: Profile
    file: str
    sha256: str


def read_profile(path: Path) -> ReadProfile:
    """Read and check a profile.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ReadProfile

    Raises
    ------
    TracestatError
        It cannot be read, is no profile, is of a later version, or contradicts itself: one line with what and where.
    """
    try:
        with path.open("rb") as file:  # what is no regular file has no size beforehand
            data = file.read(_MOST_BYTES + 1) if path.stat().st_size <= _MOST_BYTES else None
    except OSError as error:
        raise TracestatError(f"{path.name}: cannot be read ({error.strerror or 'unknown reason'})") from error
    if data is None or len(data) > _MOST_BYTES:
        raise TracestatError(f"{path.name}: larger than 1 GiB; no profile is")
    return ReadProfile(checked_profile(data, path.name), path.name, hashlib.sha256(data).hexdigest())


def checked_profile(data: bytes, name: str) -> Profile:
    """Decode and check the content of a profile.

    Parameters
    ----------
    data : bytes
    name : str
        Base name, for the message.

    Raises
    ------
    TracestatError
    """
    data = data.removeprefix(b"\xef\xbb\xbf")  # as some editors write
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.schema != SCHEMA:
            raise TracestatError(f"{name}: no {SCHEMA}; tracestat export profile writes one")
        if isinstance(head.version, int) and head.version > VERSION:
            raise TracestatError(
                f"{name}: version {head.version} of {SCHEMA}, this tracestat reads {VERSION}; update tracestat"
            )
        profile = msgspec.json.decode(data, type=Profile)
    except msgspec.ValidationError as error:
        raise TracestatError(f"{name}: {str(error)[:1].lower()}{str(error)[1:]}") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise TracestatError(f"{name}: damaged, or no JSON; export the profile again") from error
    for place, what in _contradictions(profile):
        raise TracestatError(f"{name}: {what} - at `{place}`")
    return profile


def _contradictions(profile: Profile) -> Iterator[tuple[str, str]]:
    seen: set[tuple[str | None, ...]] = set()
    for i, key in enumerate(profile.keys):
        yield from _in_key(key, f"$.keys[{i}]")
        who = (key.level, *(key.key[name] for name in sorted(key.key)))
        if who in seen:
            yield f"$.keys[{i}].key", "the same key twice"
        seen.add(who)
    levels = profile.sessions.levels
    if any(a >= b for a, b in pairwise(levels)) or not levels or levels[0] != 0.0 or levels[-1] != 1.0:
        yield "$.sessions.levels", "levels must rise from 0 to 1"
    names = [part.provider for part in profile.sessions.providers]
    if len(set(names)) != len(names):
        yield "$.sessions.providers", "the same provider twice"
    for i, part in enumerate(profile.sessions.providers):
        yield from _in_provider(part, len(levels), f"$.sessions.providers[{i}]")


def _in_key(key: ProfileKey, place: str) -> Iterator[tuple[str, str]]:
    for name in ("survival", "own_survival"):
        curve: Sequence[tuple[float, float]] = getattr(key, name)
        for j, ((t, s), (later, less)) in enumerate(pairwise(curve), start=1):
            if later <= t:
                yield f"{place}.{name}[{j}]", "times must rise"
            if less > s:
                yield f"{place}.{name}[{j}]", "survival rises"
    mass = sum(atom[1] for atom in key.atoms)
    if mass > 1.0 + _SLACK:
        yield f"{place}.atoms", f"the masses add up to {mass:.6g}, more than 1"
    if key.n_censored > key.n:
        yield f"{place}.n_censored", "more censored rows than rows"


def _in_provider(part: ProviderSessions, levels: int, place: str) -> Iterator[tuple[str, str]]:
    for name, grid in _grids(part):
        if len(grid.values) != (levels if grid.n else 0):
            yield f"{place}.{name}.values", f"{len(grid.values)} quantiles for {levels} levels"
        if any(a > b for a, b in pairwise(grid.values)):
            yield f"{place}.{name}.values", "quantiles must not fall"
    for name, ends in (
        *((name, [band.to for band in bands]) for name, bands in _banded(part)),
        ("compactions", [band.to for band in part.compactions]),
    ):
        if any(a is None or (b is not None and b <= a) for a, b in pairwise(ends)):
            yield f"{place}.{name}", "the ends of bands must rise, and only the last be open"
    yield from _in_chain(part.chain, f"{place}.chain")
    for state, table in part.calls_per_round.items():
        if not sum(n for _, n in table):
            yield f"{place}.calls_per_round.{state}", "no rounds"
    if not part.n_sessions:
        yield f"{place}.n_sessions", "no sessions"
    for name, needed in (("rounds_per_session", part.rounds_per_session), ("first_prompt", part.first_prompt)):
        if not needed.n:
            yield f"{place}.{name}", "empty: there is nothing to draw from"


def _in_chain(chain: Chain, place: str) -> Iterator[tuple[str, str]]:
    n = len(chain.states)
    if len(chain.counts) != n or any(len(row) != n for row in chain.counts):
        yield f"{place}.counts", f"not {n} rows of {n}"
        return
    if len(set(chain.states)) != n or not {"start", "message", "end"} <= set(chain.states) or n == 3:
        yield f"{place}.states", "needs start, message, end and a state between them, each once"
    elif not sum(chain.counts[chain.states.index("start")]):
        yield f"{place}.counts", "nothing follows start"


def _grids(part: ProviderSessions) -> Iterator[tuple[str, Grid]]:
    for name in ("rounds_per_session", "first_prompt", "first_cached", "after_compaction"):
        yield name, getattr(part, name)
    for name in ("message", "asked", "after_call"):
        yield f"human.{name}", getattr(part.human, name)
    for key, grid in part.output_tokens.items():
        yield f"output_tokens.{key}", grid
    for name, bands in _banded(part):
        for i, band in enumerate(bands):
            yield f"{name}[{i}].grid", band.grid


def _banded(part: ProviderSessions) -> Iterator[tuple[str, Sequence[Band]]]:
    for name in ("requests_per_session", "rounds_per_request", "cached", "generation"):
        yield name, getattr(part, name)
    for key, bands in part.growth.items():
        yield f"growth.{key}", bands
