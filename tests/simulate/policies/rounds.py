"""Rounds made by hand, and constants whose laws are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.export.test_constants import law_of
from tracestat.constants import AskedLimits, Constants, Origin, Programs
from tracestat.constants import Workload as Laws
from tracestat.export.constants import constants_of_keys
from tracestat.hardware import load_hardware
from tracestat.results import Interval
from tracestat.results.key_laws import LAW_GRID, KeyAtom
from tracestat.simulate.forms import END, TOOL, Workload

BENEFITS = (0.5, 2.0, 10.0, 40.0)
CLASSES = ("shell", "read")
TOOLS = ("Bash", "Read", "Grep")
CLASS_OF = (0, 1, 1)


def exactly(value: float) -> Interval:
    return Interval(value, value, value, 0.95)


def constants(
    *,
    eta: float = -0.35,
    bash: Sequence[float] = (0.1, 0.2, 0.5, 1.0, 3.0, 30.0),
    mass: float = 0.0,
    late: float = 0.5,
    copies: int = 20,
) -> Constants:
    """Make constants of one provider: Bash and Read with over 100 pauses, Grep with six."""
    atoms = (KeyAtom(30.0, exactly(mass), "timeout"),) if mass else ()
    bash_all, read_all = list(bash) * copies, [0.05] * 110 + [4.0] * 10
    laws = [
        law_of(bash_all + read_all + [7.0] * 6, "claude"),
        law_of(bash_all, "claude", "shell"),
        law_of(bash_all, "claude", "shell", "Bash", atoms=atoms),
        law_of(read_all + [7.0] * 6, "claude", "read"),
        law_of(read_all, "claude", "read", "Read"),
        law_of([7.0] * 6, "claude", "read", "Grep"),
    ]
    keys, left_out = constants_of_keys(
        laws, benefits=BENEFITS, late={("claude", "timeout", 30.0): late}, min_n=1, at_zero={}
    )
    programs = [
        Programs(provider="claude", unit=unit, eta=exactly(value), n=50, n_open=0, n_sessions=50, n_developers=5,
                 mean=5.0, max=9, turns=(), notes=())
        for unit, value in (("session", eta), ("request", 0.5))
    ]  # fmt: skip
    origin: dict[str, Any] = dict.fromkeys(("source", "fingerprint", "attribution", "changes"), "")
    laws_of_trace = Laws(
        origin=Origin(**origin, synthetic=False, licence=None),
        unit="pause", clock="wall", definition="tracestat", rows="tool", where=None, since=None, until=None, zone="UTC",
        seed=0, excluded={}, min_n=1, keys_left_out=left_out, grid=LAW_GRID, benefits=BENEFITS,
        memoryfulness=tuple(programs), keys=keys, human=(),
        asked_limits=(AskedLimits(provider="claude", tool="Bash", seconds=30.0, n_asked=10, n_ended=4,
                                  ended=exactly(0.4)),),
        forecast=None, notes=(),
    )  # fmt: skip
    return Constants(load_hardware("rtx4090-llama3.1-8b-fp8"), laws_of_trace, "0")


def workload(*sessions: Sequence[tuple[int, int, float, int]], limits: dict[int, float] | None = None) -> Workload:
    """Make a workload of (tool, context, pause, kind) rounds; the last of each session should be of kind END."""
    rounds = [r for session in sessions for r in session]
    tool = np.array([r[0] for r in rounds], dtype=np.int32)
    deadline = np.full(len(rounds), np.nan)
    for place, seconds in (limits or {}).items():
        deadline[place] = seconds
    return Workload(
        off=np.cumsum([0, *(len(s) for s in sessions)]),
        prefix=np.zeros(len(rounds), dtype=np.int64),
        append=np.array([r[1] - 1 for r in rounds], dtype=np.int64),
        out=np.ones(len(rounds), dtype=np.int64),
        pause=np.array([r[2] for r in rounds], dtype=np.float64),
        kind=np.array([r[3] for r in rounds], dtype=np.int8),
        deadline=deadline,
        klass=np.array([CLASS_OF[t] for t in tool], dtype=np.int32),
        tool=tool,
        class_names=CLASSES,
        tool_names=TOOLS,
        providers=("claude",) * len(sessions),
    )


def random_workload(seed: int, n_sessions: int = 12) -> Workload:
    rng = np.random.default_rng(seed)
    sessions = []
    limits: dict[int, float] = {}
    place = 0
    for _ in range(n_sessions):
        n = int(rng.integers(2, 12))
        rounds = []
        for i in range(n):
            kind = END if i == n - 1 else int(rng.choice([TOOL, TOOL, TOOL, 1]))
            rounds.append((int(rng.integers(3)), int(rng.integers(20, 30_000)), float(rng.lognormal(0.5, 2.0)), kind))
            if rng.random() < 0.3:
                limits[place] = 30.0
            place += 1
        sessions.append(rounds)
    return workload(*sessions, limits=limits)
