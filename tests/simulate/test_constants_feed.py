"""A constant that changes, changes the plan and the run of the policies that read it, and of no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.simulate.policies.rounds import constants
from tests.simulate.sessions import constants_file
from tests.simulate.workloads import drawn
from tracestat.constants import Constants, load_constants
from tracestat.constants.holds import holds_of, least_of
from tracestat.errors import TracestatError
from tracestat.hardware import load_hardware
from tracestat.simulate import runs
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.forms import END, Plan, Requests, Workload
from tracestat.simulate.policies import POLICIES
from tracestat.simulate.start import canonical_order

MACHINE = load_hardware()
LIMIT = 0.4
LAW = (0.1, 0.2, 0.45, 0.45, 0.8, 3.0)
SERVER = Configuration(
    load=1.0, host_gb=2.0, hours=1 / 80, warmup_s=5, change="pool_tokens=0.25", reload_ratio=0.9, scale_context=None
)
# policies from outside that take their hold from the file
BY_FILE = """
from tracestat.simulate.policies import p2, p2_s
def paper(view, constants):
    return p2(view, constants, benefit=2.0)
def shrunken(view, constants):
    return p2_s(view, constants, benefit=2.0)
"""
Outcome = tuple[tuple[object, ...], tuple[bytes, ...]]


def work() -> Workload:
    """Make sessions that wait for Bash as its law has it; pauses of 0.8 s are a limit of 0.4 s, reached late."""
    made = drawn(5, sessions=10, rounds=9, append=900.0)
    rng = np.random.default_rng(5)
    pause = np.where(made.kind == END, 0.0, rng.choice([0.1, 0.2, 0.45, 0.8, 3.0], made.pause.size))
    return replace(made, pause=pause, deadline=np.where(pause == 0.8, LIMIT, np.nan))


def with_atom(made: Constants, *, mass: float = 0.3, late: float = 0.1) -> Constants:
    """Put a limit of 0.4 s into the law of Bash, with the holds that then follow."""
    laws = made.workload
    assert laws is not None
    everything = next(key for key in laws.keys if key.level == "provider")
    keys = []
    for key in laws.keys:
        if key.key["tool"] != "Bash":
            keys.append(key)
            continue
        atom = replace(key.atoms[0], seconds=LIMIT, late=late, mass=replace(key.atoms[0].mass, value=mass))
        limited = replace(key, atoms=(atom,))
        best = holds_of(limited, everything, laws.grid, laws.benefits)
        holds = tuple(replace(hold, returned=old.returned) for hold, old in zip(best, key.holds, strict=True))
        keys.append(replace(limited, holds=holds, pays_from=least_of(limited, everything, laws.grid)))
    return replace(made, workload=replace(laws, keys=tuple(keys)))


def with_hold(made: Constants, rule: str, tau: float) -> Constants:
    """Change one hold of Bash, that for a benefit of 2 s."""
    laws = made.workload
    assert laws is not None
    keys = tuple(
        replace(key, holds=tuple(replace(h, tau=tau) if (h.rule, h.benefit) == (rule, 2.0) else h for h in key.holds))
        if key.key["tool"] == "Bash"
        else key
        for key in laws.keys
    )
    return replace(made, workload=replace(laws, keys=keys))


def by_file(path: Path, made: Constants) -> Constants:
    return load_constants(constants_file(path, made))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Constants:
    return by_file(tmp_path_factory.mktemp("constants") / "c.json", with_atom(constants(eta=0.9, bash=LAW, mass=0.3)))


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    path = tmp_path_factory.mktemp("policies") / "by_file.py"
    path.write_text(BY_FILE, encoding="utf-8")
    return (*POLICIES, f"{path}:paper", f"{path}:shrunken")


def outcomes(made: Constants, policies: tuple[str, ...]) -> dict[str, Outcome]:
    """Give plan and requests of each policy, by the name without its folder."""
    sessions = work()
    inputs = runs.Inputs(asked=sessions, exact=sessions, order=canonical_order(sessions), constants=made)
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        plans: list[Plan] = []
        play = runs.run

        def recording(*given: Any, **more: Any) -> Any:
            plans.append(given[3])
            return play(*given, **more)

        patch.setattr(runs, "run", recording)
        for policy in policies:
            requests = runs.run_once(replace(SERVER, policy=policy), 0, inputs, MACHINE).requests
            found[Path(policy).name] = (_bytes(plans[-1]), _bytes(requests))
    return found


def _bytes(form: Plan | Requests) -> tuple[object, ...]:
    values = (getattr(form, field.name) for field in fields(form))
    return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in values)


@pytest.fixture(scope="module")
def before(usual: Constants, policies: tuple[str, ...]) -> dict[str, Outcome]:
    return outcomes(usual, policies)


def changed(before: Mapping[str, Outcome], after: Mapping[str, Outcome]) -> tuple[set[str], set[str]]:
    """Give the policies whose plan, and those whose run, is another one."""
    assert before.keys() == after.keys()
    return tuple({name for name in before if before[name][part] != after[name][part]} for part in (0, 1))  # type: ignore[return-value]


# what reads a point mass: the laws of P2, P2-S, P3 and P8, and the lateness of P4-D
CHANGES: dict[str, tuple[Callable[[], Constants], set[str]]] = {
    "memoryfulness": (lambda: with_atom(constants(eta=-0.5, bash=LAW, mass=0.3)), {"P2", "P2-S"}),
    "atom": (
        lambda: with_atom(constants(eta=0.9, bash=LAW, mass=0.3), late=0.6),
        {"P2", "P2-S", "P3", "P4-D", "P8"},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_number_of_the_file_reaches_those_who_read_it(
    before: dict[str, Outcome], policies: tuple[str, ...], tmp_path: Path, name: str
) -> None:
    make, readers = CHANGES[name]
    plans, played = changed(before, outcomes(by_file(tmp_path / "c.json", make()), policies))
    assert plans == readers
    assert played == readers


def test_one_hold_reaches_who_reads_it(
    before: dict[str, Outcome], usual: Constants, policies: tuple[str, ...], tmp_path: Path
) -> None:
    other = with_hold(usual, "continuum", 0.25)
    assert changed(before, outcomes(other, policies)) == ({"by_file.py:paper"}, {"by_file.py:paper"})
    # in a file it would contradict the law that it follows from
    with pytest.raises(TracestatError, match=r"tau is not what follows from the law of its key"):
        by_file(tmp_path / "c.json", other)
    some = ("P2", "P2-S", *policies[-2:])
    known = {Path(policy).name: before[Path(policy).name] for policy in some}
    shrunken = outcomes(with_hold(usual, "continuum_shrunken", 0.25), some)
    assert changed(known, shrunken) == ({"by_file.py:shrunken"}, {"by_file.py:shrunken"})
    nobody = outcomes(with_hold(usual, "hazard", 0.25), some)
    assert changed(known, nobody) == (set(), set())
