"""What the file of a forecast says of itself: JSON in its key-value metadata, checked on the way in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta

from tracestat.errors import TracestatError, UsageError
from tracestat.forecast.grid import Grid
from tracestat.forecast.kappa import KappaFit
from tracestat.forecast.keys import check_path
from tracestat.forecast.model import AskedLimit, Dependence, ForecastModel, PathModel, ProviderModel

__all__ = [
    "FORMAT",
    "VERSION",
    "Head",
    "PathHead",
    "PoolHead",
    "ProviderHead",
    "decode_head",
    "encode_head",
    "head_of",
    "hierarchies",
    "kappas_of",
]

FORMAT: Final = "tracestat.forecast"
VERSION: Final = 1
# of untrusted input: far above what a fit gives
_MOST_PROVIDERS, _MOST_PATHS, _MOST_KEYS, _MOST_EDGES, _MOST_PROFILE = 64, 16, 32, 1024, 1024
_MOST_WEIGHT = 1.5
_MOST_THETA = 1e6

Count = Annotated[int, Meta(ge=0, le=2**53)]
Pair = tuple[float, float]
Weight = Annotated[float, Meta(ge=0, le=_MOST_WEIGHT)]
# a hierarchy of all rounds, the base of the pool of those, or a hierarchy of the rounds of one call; in this order
Role: TypeAlias = Literal["path", "base", "single"]
_ROLES: Final[tuple[Role, ...]] = ("path", "base", "single")


class _KappaHead(msgspec.Struct, forbid_unknown_fields=True):
    kappa: Annotated[float, Meta(gt=0)]
    log_likelihood: float
    profile: Annotated[tuple[Pair, ...], Meta(max_length=_MOST_PROFILE)]
    note: str | None


class PathHead(msgspec.Struct, forbid_unknown_fields=True):
    """One hierarchy; ``sizes`` are the groups of each level of its keys."""

    keys: Annotated[tuple[str, ...], Meta(min_length=1, max_length=_MOST_KEYS)]
    role: Role
    sizes: Annotated[tuple[Count, ...], Meta(max_length=_MOST_KEYS)]
    edges: Annotated[tuple[float, ...], Meta(min_length=2, max_length=_MOST_EDGES)]
    windows: Annotated[tuple[Pair, ...], Meta(max_length=_MOST_EDGES)]
    alpha: Annotated[float, Meta(gt=0)]
    last_seen: Annotated[float, Meta(ge=0)]
    n_rows: Count
    n_groups: Count
    kappas: Annotated[tuple[_KappaHead, ...], Meta(max_length=_MOST_KEYS + 1)]

    def grid(self) -> Grid:
        """Give the bins; a UsageError says what is wrong with them."""
        grid = Grid(np.array(self.edges), self.windows)
        known = set(self.edges)
        if any(not a < b or {a, b} - known for a, b in self.windows):
            raise UsageError("a deadline's window does not lie on the edges of the bins")
        if any(b > c for (_, b), (c, _) in pairwise(self.windows)):
            raise UsageError("the windows of deadlines overlap")
        return grid


class _LimitHead(msgspec.Struct, forbid_unknown_fields=True):
    tool_class: str | None
    ended: Count
    reached: Count
    mass: Annotated[float, Meta(ge=0, le=1)]


class _DependenceHead(msgspec.Struct, forbid_unknown_fields=True):
    theta: Annotated[float, Meta(ge=1, le=_MOST_THETA)]
    log_likelihood: float
    independent: float
    n_rounds: Count
    interval: Pair | None
    note: str | None


class PoolHead(msgspec.Struct, forbid_unknown_fields=True):
    """How the hierarchies are pooled; the base is one of them by itself."""

    seen: Annotated[tuple[Weight, ...], Meta(max_length=_MOST_PATHS)]
    unseen: Annotated[tuple[Weight, ...], Meta(max_length=_MOST_PATHS)]
    held_out: tuple[Count, Count]


class ProviderHead(msgspec.Struct, forbid_unknown_fields=True):
    """What is known of a provider beside its counts."""

    provider: str
    paths: Annotated[tuple[PathHead, ...], Meta(min_length=1, max_length=_MOST_PATHS)]
    pool: PoolHead | None
    limits: Annotated[tuple[_LimitHead, ...], Meta(max_length=10_000)]
    dependence: _DependenceHead | None
    notes: tuple[str, ...]

    def asked_limits(self) -> tuple[AskedLimit, ...]:
        """Give what became of asked limits."""
        return tuple(AskedLimit(each.tool_class, each.ended, each.reached, each.mass) for each in self.limits)

    def calls_together(self) -> Dependence | None:
        """Give how far the calls of one round end together."""
        d = self.dependence
        if d is None:
            return None
        return Dependence(d.theta, d.log_likelihood, d.independent, d.n_rounds, d.interval, d.note)


class Head(msgspec.Struct, forbid_unknown_fields=True):
    """Everything but the counts; ``sha256`` is over the counts and over this head without it."""

    format: str
    version: int
    tracestat: str
    trace: str
    fingerprint: str
    synthetic: bool
    rounds: Count
    tool_calls: Count
    rejected: Count
    where: str | None
    since: str | None
    until: str | None
    rows: str
    zone: str
    providers: Annotated[tuple[ProviderHead, ...], Meta(min_length=1, max_length=_MOST_PROVIDERS)]
    sha256: str = ""


class _Start(msgspec.Struct):
    """What every version of the form has."""

    format: str
    version: int
    tracestat: str


def head_of(model: ForecastModel) -> Head:
    """Give the head of a model's file."""
    named = {
        name: getattr(model, name)
        for name in ("tracestat", "trace", "fingerprint", "synthetic", "rounds", "tool_calls", "rejected")
    } | {name: getattr(model, name) for name in ("where", "since", "until", "rows", "zone")}
    providers = []
    for name, each in model.providers.items():
        d, pool = each.dependence, each.pool
        providers.append(
            ProviderHead(
                provider=name,
                paths=tuple(_path_head(path, role) for role, path in hierarchies(each)),
                pool=None if pool is None else PoolHead(pool.seen, pool.unseen, pool.held_out),
                limits=tuple(_LimitHead(x.tool_class, x.ended, x.reached, x.mass) for x in each.limits),
                dependence=None
                if d is None
                else _DependenceHead(d.theta, d.log_likelihood, d.independent, d.n_rounds, d.interval, d.note),
                notes=each.notes,
            )
        )
    return Head(format=FORMAT, version=VERSION, providers=tuple(providers), **named)


def hierarchies(provider: ProviderModel) -> list[tuple[Role, PathModel]]:
    """Give every hierarchy of a provider, in the order of the file."""
    found: list[tuple[Role, PathModel]] = [("path", path) for path in provider.paths]
    if provider.pool is not None:
        found.append(("base", provider.pool.base))
    if provider.single is not None:
        found.append(("single", provider.single))
    return found


def _path_head(path: PathModel, role: Role) -> PathHead:
    return PathHead(
        keys=path.keys,
        role=role,
        sizes=tuple(level.size for level in path.nesting.levels),
        edges=tuple(path.grid.edges.tolist()),
        windows=path.grid.windows,
        alpha=path.alpha,
        last_seen=path.last_seen,
        n_rows=path.n_rows,
        n_groups=path.n_groups,
        kappas=tuple(_KappaHead(k.kappa, k.log_likelihood, k.profile, k.note) for k in path.kappas),
    )


def kappas_of(path: PathHead) -> tuple[KappaFit, ...]:
    """Give the precisions of a hierarchy."""
    return tuple(KappaFit(k.kappa, k.log_likelihood, k.profile, k.note) for k in path.kappas)


def encode_head(head: Head) -> bytes:
    """Write a head as JSON."""
    return msgspec.json.encode(head, enc_hook=float)  # numbers of numpy, too


def decode_head(text: bytes) -> Head:
    """Read a head and check all that can be checked without the counts.

    Parameters
    ----------
    text : bytes

    Raises
    ------
    TracestatError
        Another version of the form; the message goes on after the name of the file.
    ValueError
        Something is missing or cannot be.
    """
    start = msgspec.json.decode(text, type=_Start)
    if start.format != FORMAT:
        raise ValueError("another format")
    if start.version > VERSION:
        raise TracestatError(f"needs tracestat >= {_plain(start.tracestat)}: upgrade tracestat")
    if start.version < VERSION:
        raise TracestatError(
            f"was fitted by an older tracestat ({_plain(start.tracestat)}): fit it again with `tracestat forecast fit`"
        )
    head = msgspec.json.decode(text, type=Head)
    names = [each.provider for each in head.providers]
    if len(set(names)) < len(names):
        raise ValueError("a provider stands there twice")
    for each in head.providers:
        _check_roles(each)
        if any(limit.ended > limit.reached for limit in each.limits):
            raise ValueError("more asked limits ended a pause than were reached")
        for path in each.paths:
            if len(path.sizes) != len(path.keys) or len(path.kappas) != len(path.keys) + 1:
                raise ValueError("a hierarchy has not a size and a kappa for each of its keys")
            try:
                check_path(path.keys)
                path.grid()
            except UsageError:
                raise ValueError("keys or bins that no forecast has") from None
        if not all(map(math.isfinite, _numbers(each))):
            raise ValueError("a number is not finite")
    return head


def _check_roles(provider: ProviderHead) -> None:
    """Refuse a provider whose hierarchies are not those of a fit, or whose pool is not one of them."""
    roles = [path.role for path in provider.paths]
    n = roles.count("path")
    if not n or roles != sorted(roles, key=_ROLES.index) or roles.count("single") > 1:
        raise ValueError("hierarchies are missing, or out of order")
    pool = provider.pool
    if roles.count("base") != (pool is not None):
        raise ValueError("a pool without a base, or a base without a pool")
    if pool is not None:
        if not len(pool.seen) == len(pool.unseen) == n:
            raise ValueError("a pool has not a weight for each of its hierarchies")
        # hazards are added up bin by bin
        if any(path.edges != provider.paths[0].edges for path in provider.paths[1 : n + 1]):
            raise ValueError("the hierarchies of a pool have not the same bins")


def _numbers(provider: ProviderHead) -> Iterable[float]:
    for path in provider.paths:
        yield from (path.alpha, path.last_seen)
        for kappa in path.kappas:
            yield from (kappa.kappa, kappa.log_likelihood)
            yield from (x for pair in kappa.profile for x in pair)
    d = provider.dependence
    if d is not None:
        yield from (d.theta, d.log_likelihood, d.independent, *(d.interval or ()))


def _plain(text: str) -> str:
    """Give a version for a message: a file may come from anyone."""
    return "".join(c for c in text[:20] if c.isascii() and (c.isalnum() or c in ".+-")) or "unknown"
