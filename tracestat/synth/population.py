"""Who takes part, and what is settled about each session before it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from tracestat.synth.catalogue import DEVELOPER_THETA, Provider
from tracestat.synth.laws import WaitLaw, gamma_strata
from tracestat.synth.life import Developer, Plan, Request, stream

__all__ = ["members", "people", "plans"]

FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
DAYS = 130
ACTIVITY = WaitLaw(1.0, 0.8, 0.2, 8.0)
# odd multipliers: i -> i * odd + offset is one-to-one modulo a power of two, so no two ids are equal
ODD_40, ODD_32 = 0x9E3779B97F, 0x9E3779B1


def people(seed: int, count: int) -> tuple[Developer, ...]:
    """Make the developers.

    Parameters
    ----------
    seed, count : int

    Returns
    -------
    tuple of Developer
        Their effects are the means of `count` equal strata of the gamma law, in random order.

    Examples
    --------
    >>> [d.user for d in people(0, 2)] == [d.user for d in people(0, 2)]
    True
    """
    u = stream(np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 7]))))
    effects = gamma_strata(DEVELOPER_THETA, np.full(count, 1.0 / count))
    order = np.argsort([u() for _ in range(count)])
    offset = _hash(seed, "user", 0)
    out = []
    for i in range(count):
        projects = tuple(f"project_{_hash(seed, f'project {i}', j) % 2**32:08x}" for j in range(1 + int(4 * u())))
        user = f"user_{(i * ODD_32 + offset) % 2**32:08x}"
        z = float(f"{effects[order[i]]:.6g}")
        out.append(Developer(user, z, projects, 24.0 * u(), ACTIVITY.draw(u())))
    return tuple(out)


def members(provider: Provider, developers: tuple[Developer, ...]) -> list[Developer]:
    """Give the developers who use a harness: seven of eight use Claude Code, every second one Codex.

    Parameters
    ----------
    provider : Provider
    developers : tuple of Developer

    Returns
    -------
    list of Developer
        Everyone uses at least one; with one developer, both. Those who use no other come first, so that few
        sessions still reach everybody.
    """
    if len(developers) == 1:
        return list(developers)
    if provider.name == "claude":
        return [*developers[::2], *(d for i, d in enumerate(developers) if i % 2 == 1 and i % 8 != 7)]
    return [*developers[7::8], *reversed([d for i, d in enumerate(developers) if i % 2 == 1 and i % 8 != 7])]


def plans(
    provider: Provider, seed: int, sessions: int, first: int, who: list[Developer]
) -> Iterator[tuple[Plan, bool]]:
    """Settle the sessions of one provider, one developer after the other.

    Parameters
    ----------
    provider : Provider
    seed : int
    sessions : int
        How many.
    first : int
        Number of the first one in the trace.
    who : list of Developer

    Yields
    ------
    plan : Plan
    kept : bool
        Whether the next session begins with a copy of this one.
    """
    waiting: Plan | None = None
    offset = _hash(seed, "session", 0)
    number = first
    for developer, count in zip(who, _shares(sessions, [d.activity for d in who]), strict=True):
        for position in range(count):
            plan = _plan(provider, seed, number, developer, f"{(number * ODD_40 + offset) % 2**40:010x}")
            if position == 0:
                plan.resumes = False
            elif waiting is not None and plan.resumes:
                plan.project = waiting.project
            if waiting is not None:
                yield waiting, plan.resumes
            waiting = plan
            number += 1
    if waiting is not None:
        yield waiting, False


def _plan(provider: Provider, seed: int, number: int, developer: Developer, key: str) -> Plan:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 11, number])))
    u = stream(generator)
    requests = []
    total = provider.requests.draw(u())
    for i in range(total):
        ending = "answer"
        if i == total - 1:
            ending = "open" if u() < provider.open_end else "answer"
        elif u() < provider.interrupted:
            ending = "interrupted"
        requests.append(Request(provider.rounds.draw(u()), ending))
    digest = f"{_hash(seed, provider.name, number):032x}"
    return Plan(
        provider=provider,
        developer=developer,
        session_id=f"{provider.name}:{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}",
        project=developer.projects[int(len(developer.projects) * u() ** 2)],
        model=provider.models[int(len(provider.models) * u() ** 2)],
        key=key,
        start_ms=_start(u(), u(), u(), developer.wakes),
        requests=tuple(requests),
        resumes=u() < provider.resumed,
        u=u,
    )


def _start(day: float, weekend: float, hour: float, wakes: float) -> int:
    """Start within a working day of twelve hours; most weekend sessions are moved to the Monday after."""
    at = FIRST_DAY + timedelta(days=int(day * DAYS))
    if at.weekday() >= 5 and weekend < 0.6:
        at += timedelta(days=7 - at.weekday())
    return int((at.timestamp() + 3600 * (wakes + 12 * hour)) * 1000)


def _shares(total: int, weights: list[float]) -> list[int]:
    """Divide a number by weights, at least one for each while they last (largest remainders)."""
    if total <= len(weights):
        return [1] * total + [0] * (len(weights) - total)
    rest = total - len(weights)
    exact = [rest * w / sum(weights) for w in weights]
    counts = [int(x) for x in exact]
    largest = sorted(range(len(weights)), key=lambda i: (counts[i] - exact[i], i))
    for i in largest[: rest - sum(counts)]:
        counts[i] += 1
    return [1 + c for c in counts]


def _hash(seed: int, what: str, number: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}/{what}/{number}".encode(), digest_size=16).digest(), "big")
