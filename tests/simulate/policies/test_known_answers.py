"""Each policy on rounds made by hand, against numbers worked out from its formula."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.simulate.policies.rounds import BENEFITS, constants, workload
from tracestat.constants import Constants, own_law, shrunken_law
from tracestat.errors import UsageError
from tracestat.hardware.timing import first_token_seconds, prefill_seconds
from tracestat.policy import continuum_hold, exponential_hold, law_of_durations
from tracestat.simulate.forms import END, HUMAN, LATEST_RETURN, LONGEST_EXPECTED, LRU, TOOL, Plan, Workload
from tracestat.simulate.policies import (
    SchedulerView,
    oracle_view,
    p0,
    p1,
    p2,
    p2_r,
    p2_s,
    p3,
    p4_d,
    p4_h,
    p5,
    p5_b,
    p6,
    p7,
    p8,
    p9,
    progress_view,
    scheduler_view,
    settle,
)
from tracestat.simulate.policies.lookup import law_quantile
from tracestat.simulate.policies.progress import ProgressView, log_spread
from tracestat.simulate.policies.transfers import lead_seconds, prefill_of, reload_seconds

BASH, READ, GREP = range(3)
LONG = 32_768
NAN = float("nan")
CONSTANTS = constants()
MACHINE = CONSTANTS.hardware
STORE = MACHINE.stores["lmcache"]
RELOAD = STORE.load_fixed + STORE.load_per_token * LONG
LEAD = RELOAD + MACHINE.step.base


def seen(of: Workload, path: str | None = "lmcache") -> SchedulerView:
    return scheduler_view(of, np.arange(of.off.size - 1), store_path=path)


def one(tool: int = BASH, context: int = LONG, pause: float = 5.0, **more: dict[int, float]) -> Workload:
    return workload([(tool, context, pause, TOOL), (tool, context, 1.0, HUMAN), (tool, context, NAN, END)], **more)


def test_times_are_those_of_the_machine() -> None:
    view = seen(one())
    assert reload_seconds(view, MACHINE)[0] == pytest.approx(RELOAD, abs=1e-12)
    # a reload costs what it adds to a return that finds everything
    whole = first_token_seconds(MACHINE, LONG + 16, prefix=LONG, in_host=LONG, path="lmcache")
    resident = first_token_seconds(MACHINE, LONG + 16, prefix=LONG, resident=LONG, in_host=LONG, path="lmcache")
    assert whole - resident == pytest.approx(RELOAD, abs=1e-12)
    assert lead_seconds(view, MACHINE)[0] == pytest.approx(RELOAD + 0.010, abs=1e-9)
    sizes = np.array([1, 16, 2047, 2048, 2049, 32_768])
    for machine in (MACHINE, replace(MACHINE, step=replace(MACHINE.step, form="roofline", floor=0.0038))):
        expected = [prefill_seconds(machine, n) for n in sizes.tolist()]
        assert prefill_of(machine, sizes) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("policy", [p0, p1])
def test_lru_does_nothing(policy: object) -> None:
    plan = policy(seen(one()), CONSTANTS)  # type: ignore[operator]
    assert plan.rank == LRU
    assert not plan.pin_s.any()
    assert np.isnan(plan.prefetch_at_s).all()
    assert plan.demote_at_start is None


def test_p2_is_the_best_hold_of_the_tool_for_its_benefit() -> None:
    view = seen(workload([(BASH, LONG, 1.0, TOOL), (BASH, 1024, 1.0, TOOL), (READ, LONG, 1.0, TOOL),
                          (BASH, LONG, 9.0, HUMAN), (BASH, LONG, NAN, END)]))  # fmt: skip
    workload_ = CONSTANTS.workload
    assert workload_ is not None
    plan = p2(view, CONSTANTS, queueing=2.0, eta=0.5)
    law = own_law(workload_.find("claude", "shell", "Bash"), workload_.grid)  # type: ignore[arg-type]
    assert law is not None
    small = STORE.load_fixed + STORE.load_per_token * 1024
    assert plan.pin_s[0] == continuum_hold(law, 1.0 + RELOAD).tau > 0
    assert plan.pin_s[1] == continuum_hold(law, 1.0 + small).tau
    assert plan.pin_s[3] == plan.pin_s[4] == 0
    # reads end at 0.05 s, more than nine in ten
    assert 0.049 <= plan.pin_s[2] <= 0.06
    # the vector of the paper, on the grid of the file: durations 0.1, 0.2, 0.5, 1, 3, 30 s
    for benefit, tau in ((2.0, 0.5), (5.0, 1.0), (10.0, 1.0), (40.0, 3.0), (200.0, 30.0)):
        at = p2(view, CONSTANTS, queueing=benefit - RELOAD, eta=1.0).pin_s[0]
        assert at == pytest.approx(tau, rel=0.13)  # a cell of the grid
        assert continuum_hold(law_of_durations([0.1, 0.2, 0.5, 1, 3, 30]), benefit).tau == tau


def test_p2_with_negative_eta_pins_nothing_once_the_queue_is_long() -> None:
    view = seen(one(READ))
    turn = RELOAD / 0.35
    assert turn == pytest.approx(0.55, abs=0.02)
    assert p2(view, CONSTANTS, queueing=turn * 1.0001).pin_s[0] == 0
    assert p2_s(view, CONSTANTS, queueing=turn * 1.0001).pin_s[0] == 0
    assert p2(view, CONSTANTS, queueing=0.0).pin_s[0] > 0
    # without a tier R is a prefill of 3.65 s
    assert p2(seen(one(READ), None), CONSTANTS, queueing=turn * 1.0001).pin_s[0] > 0


def test_p2_leans_on_all_tools_up_to_a_hundred_and_starts_cold() -> None:
    view = seen(one(GREP))
    laws = CONSTANTS.workload
    assert laws is not None
    everything = own_law(laws.find("claude"), laws.grid)  # type: ignore[arg-type]
    assert everything is not None
    plan = p2(view, CONSTANTS, queueing=20.0, eta=1.0)
    assert plan.pin_s[0] == continuum_hold(everything, 20.0 + RELOAD).tau
    few = constants(copies=1)
    cold = replace(
        few, workload=replace(few.workload, keys=tuple(replace(k, law_from="cold") for k in few.workload.keys))  # type: ignore[union-attr, type-var]
    )  # fmt: skip
    # a cold start takes eta = 1 whatever is told
    assert p2(view, cold, queueing=7.0, eta=-0.5).pin_s[0] == pytest.approx(exponential_hold(1.0, 7.0 + RELOAD))


def test_p2_takes_eta_from_the_constants_by_unit() -> None:
    view = seen(one())
    assert p2(view, CONSTANTS, queueing=9.0).pin_s[0] == 0
    told = p2(view, CONSTANTS, queueing=9.0, eta=0.5).pin_s[0]
    assert p2(view, CONSTANTS, queueing=9.0, unit="request").pin_s[0] == told > 0
    unknown = replace(CONSTANTS, workload=replace(CONSTANTS.workload, memoryfulness=()))  # type: ignore[type-var]
    # the cold start's eta = 1
    assert p2(view, unknown, queueing=9.0).pin_s[0] == p2(view, CONSTANTS, queueing=9.0, eta=1.0).pin_s[0] > 0
    with pytest.raises(UsageError, match="hold no workload"):
        p2(view, Constants(MACHINE, None))


def test_fixed_benefit_is_the_hold_of_the_file() -> None:
    view = seen(one())
    laws = CONSTANTS.workload
    assert laws is not None
    key = laws.find("claude", "shell", "Bash")
    assert key is not None
    for benefit in BENEFITS:
        for policy, rule in ((p2, "continuum"), (p2_s, "continuum_shrunken")):
            hold = key.hold(rule, benefit)
            assert hold is not None
            assert policy(view, CONSTANTS, benefit=benefit).pin_s.tolist() == [hold.tau, 0, 0]
    with pytest.raises(UsageError, match=r"benefit 3: the constants have holds for 0.5, 2, 10, 40 s"):
        p2(view, CONSTANTS, benefit=3.0)


def test_fixed_point_begins_at_zero_and_ends_with_its_plan() -> None:
    view = seen(one())
    asked: list[float] = []

    def measure(plan: Plan) -> float:
        asked.append(float(plan.pin_s[0]))
        return 4.0 / len(asked)

    plan = p2(view, CONSTANTS, queueing=measure, eta=1.0)
    assert asked == [p2(view, CONSTANTS, queueing=t, eta=1.0).pin_s[0] for t in (0.0, 4.0)]
    assert plan.pin_s[0] == p2(view, CONSTANTS, queueing=2.0, eta=1.0).pin_s[0]
    asked.clear()
    assert settle(lambda t: p2_s(view, CONSTANTS, queueing=t, eta=1.0), measure).queueing == (0.0, 4.0, 2.0)
    assert settle(lambda t: p1(view, CONSTANTS), lambda plan: NAN, iterations=1).queueing == (0.0, 0.0)
    with pytest.raises(UsageError):
        settle(lambda t: plan, lambda plan: -1.0)


def test_p2_s_uses_the_shrunken_law() -> None:
    laws = CONSTANTS.workload
    assert laws is not None
    key = laws.find("claude", "read", "Grep")
    assert key is not None
    hold = continuum_hold(shrunken_law(key, laws.grid), 20.0 + RELOAD).tau
    assert p2_s(seen(one(GREP)), CONSTANTS, queueing=20.0, eta=1.0).pin_s[0] == hold
    # seven seconds of its own, and not those of all tools
    assert hold == pytest.approx(7.0, rel=0.13)


def test_p2_r_follows_the_running_mean_in_the_order_of_the_replay() -> None:
    first = [(BASH, 100, 1.0, TOOL), (BASH, 100, 5.0, TOOL), (BASH, 100, 1.0, TOOL), (READ, 100, 0.1, TOOL),
             (BASH, 100, 50.0, HUMAN), (BASH, 100, NAN, END)]  # fmt: skip
    second = [(BASH, 100, 0.1, TOOL), (BASH, 100, NAN, END)]
    of = workload(first, second)
    # means before each: none, 1, 3, (another tool) none; then (1 + 5 + 1) / 3
    plan = p2_r(scheduler_view(of, [0, 1], store_path="lmcache"), CONSTANTS)
    assert plan.pin_s.tolist() == [2, 2, 0, 2, 0, 0, 0, 0]
    # the other way round: none; then 0.1, 0.55 and 6.1 / 3 = 2.03
    plan = p2_r(scheduler_view(of, [1, 0], store_path="lmcache"), CONSTANTS)
    assert plan.pin_s.tolist() == [2, 2, 0, 2, 0, 0, 2, 0]
    with pytest.raises(UsageError, match="order"):
        scheduler_view(of, [2], store_path=None)


def test_p3_demotes_and_comes_back_a_lead_before_the_quantile() -> None:
    laws = CONSTANTS.workload
    assert laws is not None
    key = laws.find("claude", "shell", "Bash")
    assert key is not None
    quantile = law_quantile(shrunken_law(key, laws.grid), 0.75, key)
    assert 2.8 <= quantile <= 3.2
    plan = p3(seen(one()), CONSTANTS, quantile=0.75)
    assert plan.prefetch_at_s[0] == pytest.approx(quantile - LEAD)
    assert plan.demote_at_start is not None
    assert plan.demote_at_start.tolist() == [True, False, False]
    assert np.isnan(plan.prefetch_at_s[1:]).all()
    # a tenth is over after 0.1 s, before the cache could be back
    early = p3(seen(one()), CONSTANTS, quantile=0.1)
    assert not early.demote_at_start.any()
    assert np.isnan(early.prefetch_at_s).all()
    assert np.isnan(p3(seen(one(), None), CONSTANTS).prefetch_at_s).all()
    with pytest.raises(UsageError, match="quantile"):
        p3(seen(one()), CONSTANTS, quantile=1.0)


def test_quantile_of_a_law_by_hand() -> None:
    laws = CONSTANTS.workload
    assert laws is not None
    key = replace(laws.keys[0], tail_alpha=1.0)
    law = law_of_durations([1.0, 2.0, 4.0, 8.0])
    assert [law_quantile(law, q, key) for q in (0.2, 0.25, 0.5, 0.6, 0.99)] == [1, 1, 2, 4, 8]
    open_ended = law.given(0.0)
    open_ended = type(law)(open_ended.times[:3], open_ended.survival[:3], open_ended.before[:3], open_ended.held[:3])
    # a half is left at 2 s, a quarter at 4 s by the power law
    assert law_quantile(open_ended, 0.75, key) == pytest.approx(4.0)
    assert math.isnan(law_quantile(open_ended, 0.75, replace(key, tail_alpha=None)))


def test_p4_d_takes_the_limits_that_are_met_and_p4_h_all() -> None:
    limit = dict.fromkeys(range(4), 30.0)
    of = workload([(BASH, LONG, pause, TOOL) for pause in (30.2, 12.0, 300.0)] + [(BASH, LONG, 30.0, HUMAN),
                  (BASH, LONG, NAN, END)], limits=limit)  # fmt: skip
    met = p4_d(oracle_view(of, seen(of)), CONSTANTS).prefetch_at_s
    assert met[0] == pytest.approx(30.0 - LEAD)
    assert np.isnan(met[1:]).all()
    asked = p4_h(seen(of), CONSTANTS).prefetch_at_s
    assert asked[:3] == pytest.approx([30.0 - LEAD] * 3)
    assert np.isnan(asked[3:]).all()
    # 0.4 B > lead + 1 s pays from B = 3 s on; of a read nothing is known
    assert np.isnan(p4_h(seen(of), CONSTANTS, benefit=(LEAD + 1) / 0.4 * 0.999).prefetch_at_s).all()
    assert p4_h(seen(of), CONSTANTS, benefit=(LEAD + 1) / 0.4 * 1.001).prefetch_at_s[0] == asked[0]
    assert np.isnan(p4_h(seen(one(READ, limits={0: 30.0})), CONSTANTS, benefit=99.0).prefetch_at_s).all()


def test_p5_pins_only_pauses_shorter_than_the_reload() -> None:
    pauses = [RELOAD * 0.999, RELOAD, RELOAD * 1.02, 10.0]
    of = workload([(BASH, LONG, pause, TOOL) for pause in pauses] + [(BASH, LONG, 60.0, HUMAN), (BASH, LONG, NAN, END)])
    plan = p5(oracle_view(of, seen(of)), CONSTANTS)
    assert plan.pin_s.tolist() == [pauses[0], 0, 0, 0, 0, 0]
    assert plan.rank == LRU
    assert plan.prefetch_at_s == pytest.approx([NAN, 0, 0, 10 - LEAD, 60 - LEAD, NAN], nan_ok=True)
    belady = p5_b(oracle_view(of, seen(of)), CONSTANTS)
    assert belady.rank == LATEST_RETURN
    assert not belady.pin_s.any()
    assert belady.prefetch_at_s == pytest.approx([0, 0, 0, 10 - LEAD, 60 - LEAD, NAN], nan_ok=True)


def test_p6_plans_half_way_and_again_at_nine_tenths() -> None:
    view = seen(workload([(BASH, LONG, 100.0, TOOL)] * 4))
    signal = ProgressView(
        scheduler=view,
        known_at_s=np.array([[50.0, 90.0]] * 3 + [[NAN, NAN]]),
        total_s=np.array([[80.0, 99.0], [120.0, 99.0], [50.0, 90.0], [NAN, NAN]]),
    )
    plan = p6(signal, CONSTANTS)
    # at once where the return is due; by the second report where the first says later than that
    assert plan.prefetch_at_s == pytest.approx([80 - LEAD, 99 - LEAD, 50.0, NAN], nan_ok=True)


def test_signal_has_the_errors_of_its_source_and_comes_from_half_of_the_long_calls() -> None:
    n = 40_000
    of = workload([(BASH, 100, 10.0, TOOL)] * n + [(BASH, 100, 2.0, TOOL)] * 50 + [(READ, 100, 10.0, TOOL)] * 50)
    signal = progress_view(of, seen(of), seed=3)
    carries = np.isfinite(signal.total_s[:, 0])
    assert carries[:n].mean() == pytest.approx(0.5, abs=0.01)
    assert not carries[n:].any()
    error = np.abs(signal.total_s[:n][carries[:n]] / 10 - 1)
    assert np.median(error, axis=0) == pytest.approx([0.218, 0.090], rel=0.03)
    assert np.array_equal(signal.total_s, progress_view(of, seen(of), seed=3).total_s, equal_nan=True)
    assert not np.array_equal(signal.total_s, progress_view(of, seen(of), seed=4).total_s, equal_nan=True)
    draws = np.abs(np.exp(log_spread(0.218) * np.random.default_rng(0).standard_normal(200_000)) - 1)
    assert np.median(draws) == pytest.approx(0.218, rel=0.01)


def test_p7_ranks_by_the_mean_of_the_key() -> None:
    of = workload([(BASH, 100, 1.0, TOOL), (READ, 100, 1.0, TOOL), (BASH, 100, 1.0, HUMAN), (BASH, 100, NAN, END)])
    plan = p7(seen(of), CONSTANTS, beyond="published")
    assert plan.rank == LONGEST_EXPECTED
    assert plan.expected_remaining_s is not None
    # means of the samples, 34.8 / 6 and (5.5 + 40) / 120, by straight lines between points 12 % apart
    assert plan.expected_remaining_s[:2] == pytest.approx([5.8, 0.379], rel=0.06)
    assert plan.expected_remaining_s[2:].tolist() == [60, 60]


def test_p8_keeps_while_less_is_left_than_a_swap_or_discard_wastes() -> None:
    pool, m = MACHINE.pool_tokens, MACHINE.max_batched_tokens
    view = seen(one())
    # (3) over C M, and (4) over C M with sixteen chunks
    swap = 2 * RELOAD * pool / LONG
    chunk = prefill_seconds(MACHINE, LONG) / 2 + LONG // m * prefill_seconds(MACHINE, m) * (pool - LONG) / LONG
    plan = p8(view, CONSTANTS, remaining="elapsed")
    assert plan.pin_s == pytest.approx([min(swap, chunk), 0, 0])
    assert p8(seen(one(), None), CONSTANTS, remaining="elapsed").pin_s[0] == pytest.approx(chunk)
    # by the law a mean of 5.8 s is too long from the start, and 0.38 s is not until the short ones are over
    assert swap == pytest.approx(0.96, abs=0.02)
    assert p8(view, CONSTANTS).pin_s[0] == 0
    assert 0.03 < p8(seen(one(READ)), CONSTANTS).pin_s[0] < 0.06
    # a batch of its own alone
    alone = p8(view, CONSTANTS, remaining="elapsed", batch_tokens=LONG).pin_s[0]
    assert alone == pytest.approx(min(2 * RELOAD, prefill_seconds(MACHINE, LONG) / 2))


def test_p9_offloads_where_the_mean_leaves_time() -> None:
    plan = p9(seen(one()), CONSTANTS)
    assert plan.prefetch_at_s[0] == pytest.approx(5.8 - LEAD)
    assert plan.demote_at_start is not None
    assert plan.demote_at_start.tolist() == [True, False, False]
    # 0.379 s is less than two transfers of 0.19 s
    short = p9(seen(one(READ)), CONSTANTS)
    assert not short.demote_at_start.any()
    assert np.isnan(short.prefetch_at_s).all()
