"""What a plan may hang on: no pause that is not over, and of the constants only what the policy reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.simulate.policies.rounds import constants, random_workload
from tracestat.constants import Constants, KeyConstants
from tracestat.simulate.forms import END, Plan, Workload
from tracestat.simulate.policies import (
    POLICIES,
    OracleView,
    ProgressView,
    SchedulerView,
    find_leak,
    oracle_view,
    p2,
    p2_s,
    progress_view,
    scheduler_view,
    view_type,
)
from tracestat.simulate.policies.plans import plan_of

CONSTANTS = constants(mass=0.1)
READS = {"P4-D": OracleView, "P5": OracleView, "P5-B": OracleView, "P6": ProgressView}
ARRAYS = ("pin_s", "prefetch_at_s", "demote_at_start", "expected_remaining_s")


def plan(name: str, of: Workload, given: Constants = CONSTANTS, path: str | None = "native") -> Plan:
    view = scheduler_view(of, np.arange(of.off.size - 1), store_path=path)
    views = {
        SchedulerView: lambda: view,
        ProgressView: lambda: progress_view(of, view, seed=1),
        OracleView: lambda: oracle_view(of, view),
    }
    # with that eta a queue is worth a pin
    options = {"unit": "request", "queueing": 3.0} if name in ("P2", "P2-S") else {}
    return POLICIES[name](views[view_type(POLICIES[name])](), given, **options)


def same(one: Plan, two: Plan) -> bool:
    return one.rank == two.rank and all(
        (a is None) == (b is None) and (a is None or np.array_equal(a, b, equal_nan=a.dtype != np.bool_))
        for a, b in ((getattr(one, name), getattr(two, name)) for name in ARRAYS)
    )


def with_other_pauses(of: Workload, seed: int) -> Workload:
    rng = np.random.default_rng(seed)
    return replace(of, pause=np.where(of.kind == END, of.pause, rng.lognormal(1.0, 3.0, of.pause.size)))


def depends(name: str) -> bool:
    """Tell whether any pause changes the plan of a policy."""
    workloads = [random_workload(seed) for seed in range(5)]
    return not all(same(plan(name, of), plan(name, with_other_pauses(of, 7))) for of in workloads)


def test_the_first_argument_says_what_a_policy_reads() -> None:
    assert {name: view_type(policy) for name, policy in POLICIES.items()} == {
        name: READS.get(name, SchedulerView) for name in POLICIES
    }


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in READS and name != "P2-R"])
@pytest.mark.parametrize("path", ["lmcache", None])
def test_no_pause_of_the_replay_changes_a_plan(name: str, path: str | None) -> None:
    for seed in range(5):
        of = random_workload(seed)
        assert same(plan(name, of, path=path), plan(name, with_other_pauses(of, seed), path=path))


@pytest.mark.parametrize("name", list(READS))
def test_oracles_and_signals_do_change(name: str) -> None:
    assert depends(name)


def test_the_running_mean_knows_only_what_is_over() -> None:
    for seed in range(5):
        of = random_workload(seed)
        order = np.random.default_rng(seed).permutation(of.off.size - 1)
        assert find_leak(POLICIES["P2-R"], of, CONSTANTS, order, store_path="lmcache", seed=seed) is None
    # and what is over does count
    assert depends("P2-R")


def test_a_leak_is_found() -> None:
    def cheats(view: SchedulerView, given: Constants) -> Plan:
        # what will have been waited when the next round is over tells this pause
        return plan_of(view, pin_s=np.append(view.waited_before_s[1:], 0.0))

    def looks_back(view: SchedulerView, given: Constants) -> Plan:
        return plan_of(view, pin_s=view.waited_before_s + view.tool_seen_s)

    of = random_workload(1)
    assert find_leak(cheats, of, CONSTANTS, [], store_path=None) is not None
    assert find_leak(looks_back, of, CONSTANTS, [], store_path=None) is None


def test_a_session_that_ends_looks_like_one_that_waits_for_a_person() -> None:
    of = random_workload(2)
    at = np.flatnonzero(of.kind == END)
    other = replace(of, kind=np.where(of.kind == END, 1, of.kind).astype(np.int8))
    view, human = (scheduler_view(w, [], store_path=None) for w in (of, other))
    assert not view.waits_for_tool[at].any()
    assert np.array_equal(view.waits_for_tool, human.waits_for_tool)
    assert not any(getattr(view, name).flags.writeable for name in ("key", "context", "waited_before_s", "tool_seen_s"))


Change = Callable[[KeyConstants], KeyConstants]


def with_keys(change: Change) -> Constants:
    assert CONSTANTS.workload is not None
    return replace(
        CONSTANTS, workload=replace(CONSTANTS.workload, keys=tuple(change(key) for key in CONSTANTS.workload.keys))
    )


def changed(given: Constants) -> set[str]:
    found = set()
    for seed in range(4):
        of = random_workload(seed)
        found |= {name for name in POLICIES if not same(plan(name, of), plan(name, of, given))}
    return found


def test_a_changed_atom_changes_what_reads_laws_and_lateness() -> None:
    # the mass lies elsewhere in its cell, far from what holds and medians of short pauses see
    def later(key: KeyConstants) -> KeyConstants:
        return replace(key, atoms=tuple(replace(atom, late=40.0) for atom in key.atoms))

    # pauses between 30.5 and 70 s now count as ends on the limit
    assert changed(with_keys(later)) == {"P4-D"}


def test_a_hold_ends_when_those_of_an_atom_are_back() -> None:
    view = scheduler_view(random_workload(0), [], store_path="native")
    bash = view.waits_for_tool & np.array([key[2] == "Bash" for key in view.keys])[view.key]
    for late in (0.5, 0.7):
        given = constants(bash=(0.1, 0.5, 1.0, 3.0, 30.6, 30.6, 300.0), mass=2 / 7, late=late)
        for policy in (p2, p2_s):
            assert set(policy(view, given, queueing=300.0, eta=1.0).pin_s[bash]) == {30.0 + late}


def test_a_changed_eta_changes_only_the_time_to_live() -> None:
    assert CONSTANTS.workload is not None
    programs = tuple(replace(p, eta=replace(p.eta, value=-0.1)) for p in CONSTANTS.workload.memoryfulness)
    other = replace(CONSTANTS, workload=replace(CONSTANTS.workload, memoryfulness=programs))
    assert changed(other) == {"P2", "P2-S"}


def test_a_changed_hold_changes_only_who_asks_for_it() -> None:
    def longer(key: KeyConstants) -> KeyConstants:
        asked = ("continuum", 2.0)
        return replace(
            key, holds=tuple(replace(h, tau=h.tau + 1) if (h.rule, h.benefit) == asked else h for h in key.holds)
        )

    other = with_keys(longer)
    assert changed(other) == set()
    view = scheduler_view(random_workload(0), [], store_path="native")
    assert not same(p2(view, CONSTANTS, benefit=2.0), p2(view, other, benefit=2.0))
    assert same(p2(view, CONSTANTS, benefit=10.0), p2(view, other, benefit=10.0))
    assert same(p2_s(view, CONSTANTS, benefit=2.0), p2_s(view, other, benefit=2.0))


def test_a_changed_shrunken_curve_leaves_the_published_rules_alone() -> None:
    def shorter(key: KeyConstants) -> KeyConstants:
        return replace(key, used=tuple(s * s for s in key.used))

    assert changed(with_keys(shorter)) == {"P2-S", "P3", "P8"}


def test_a_changed_total_changes_the_point_forecast_alone() -> None:
    assert changed(with_keys(lambda key: replace(key, total_seconds=key.total_seconds * 2))) == {"P9"}
