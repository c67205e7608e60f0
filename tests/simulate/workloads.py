"""Small workloads, plans and machines for tests of the simulator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tracestat.hardware import Hardware, Step, load_hardware
from tracestat.simulate.forms import END, LRU, TOOL, Plan, Settings, Start, Workload

MACHINE = load_hardware()


def machine(pool_tokens: int | None = None, step: Step | None = None, **changes: Any) -> Hardware:
    if pool_tokens is not None:
        changes["pool_tokens"] = pool_tokens
    if step is not None:
        changes["step"] = step
    return replace(MACHINE, **changes)


def workload(sessions: list[list[tuple[int, int, int, float]]]) -> Workload:
    """Make sessions of rounds (prefix, append, out, pause); the last pause ends the session."""
    rounds = [r for session in sessions for r in session]
    off = np.cumsum([0, *(len(session) for session in sessions)])
    kind = np.full(len(rounds), TOOL, np.int8)
    kind[off[1:] - 1] = END
    n = len(rounds)
    return Workload(
        off=off.astype(np.int64),
        prefix=np.array([r[0] for r in rounds], np.int64),
        append=np.array([r[1] for r in rounds], np.int64),
        out=np.array([r[2] for r in rounds], np.int64),
        pause=np.array([r[3] for r in rounds], float),
        kind=kind,
        deadline=np.full(n, np.nan),
        klass=np.zeros(n, np.int32),
        tool=np.zeros(n, np.int32),
        class_names=("shell",),
        tool_names=("Bash",),
        providers=("claude",) * len(sessions),
    )


def drawn(seed: int, *, sessions: int = 12, rounds: int = 12, append: float = 400.0, pause: float = 3.0) -> Workload:
    """Draw sessions that grow round by round, now and then compacted, with pauses of a heavy tail."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(sessions):
        session, context = [], 0
        for _ in range(int(rng.integers(2, rounds + 1))):
            prefix = context if rng.random() > 0.1 else context // 3
            new, out = 16 + int(rng.exponential(append)), 1 + int(rng.geometric(1 / 60))
            session.append((prefix, new, out, float(rng.lognormal(np.log(pause), 1.5))))
            context = prefix + new + out
        made.append(session)
    return workload(made)


def start(work: Workload, slots: int, seed: int = 0) -> Start:
    rng = np.random.default_rng(seed)
    order = np.stack([rng.permutation(work.off.size - 1) for _ in range(slots)])
    return Start(order=order, start_round=np.zeros(slots, np.int64))


def plan(work: Workload, rank: int = LRU, **changes: Any) -> Plan:
    n = work.prefix.size
    given = {"pin_s": np.zeros(n), "prefetch_at_s": np.full(n, np.nan), **changes}
    if "expected_remaining_s" not in given:
        given["expected_remaining_s"] = work.pause.copy()
    return Plan(rank=rank, **given)


def settings(slots: int, horizon: float = 300.0, **changes: Any) -> Settings:
    return Settings(slots=slots, horizon=horizon, **{"warmup": 0.0, **changes})
