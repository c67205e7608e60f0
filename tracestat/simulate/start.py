"""Where a run begins: which sessions each slot plays in which order, and at which round of the first it starts."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.simulate.forms import Start, Workload

__all__ = ["canonical_order", "make_start"]

Ints = NDArray[np.int64]


def make_start(workload: Workload, slots: int, seed: int, *, canonical: Ints | None = None) -> Start:
    """Draw the beginning of a run: the same for all policies, so that they are compared seed by seed.

    Parameters
    ----------
    workload : Workload
        Of S sessions.
    slots : int
        N, at least 1.
    seed : int
        At least 0.
    canonical : ndarray of int, shape (S,), optional
        `canonical_order`, where it is known already.

    Returns
    -------
    Start
        One shuffled list of all sessions; slot i begins at its place ``i S // N`` and goes on from there, around the
        end, so that slots play different sessions while there are enough. In its first session a slot starts at a
        round drawn at random. What is drawn depends on the sessions, not on their numbers, names, deadlines, or the
        scale of their tokens, and not on the rule for human gaps unless that cuts sessions.

    Raises
    ------
    UsageError
        No slots, a negative seed.
    """
    if slots < 1:
        raise UsageError(f"{slots} slots: give at least 1")
    if seed < 0:
        raise UsageError(f"--seed {seed}: give 0 or more")
    rng = np.random.default_rng(seed)
    known = canonical_order(workload) if canonical is None else canonical
    shuffled = known[rng.permutation(len(workload.off) - 1)]
    n = shuffled.size
    places = (np.arange(slots)[:, None] * n // slots + np.arange(n)) % n
    order = np.ascontiguousarray(shuffled[places])
    rounds = np.diff(workload.off)[order[:, 0]]
    # one draw per slot whatever the sessions are
    first = np.minimum((rng.random(slots) * rounds).astype(np.int64), rounds - 1)
    return Start(order=order, start_round=first)


def canonical_order(workload: Workload) -> Ints:
    """Give the sessions in an order that depends on nothing but what they are.

    First by a hash of the tools and kinds of their pauses, which no scale or rule for gaps changes; equal ones by their
    tokens and pauses; sessions that are equal in all are the same session.
    """
    tools = [workload.tool_names[code] for code in workload.tool.tolist()]
    classes = [workload.class_names[code] for code in workload.klass.tolist()]
    kinds = workload.kind.tolist()
    numbers = [values.tolist() for values in (workload.append, workload.out, workload.prefix, workload.pause)]
    off = workload.off.tolist()

    def key(session: int) -> tuple[bytes, list[list[float]]]:
        part = slice(off[session], off[session + 1])
        text = repr((tools[part], classes[part], kinds[part]))
        return hashlib.sha256(text.encode()).digest(), [values[part] for values in numbers]

    return np.array(sorted(range(len(off) - 1), key=key), dtype=np.int64)
