"""The rule of success: known answers at its borders, what is counted, and what is missing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulate.verdicts.frames import noisy, row, runs, table
from tracestat.results.verdicts import PolicyVerdict, SuccessVerdict
from tracestat.simulate.verdicts import verdict_of


def judged(frame: pl.DataFrame) -> SuccessVerdict:
    found = verdict_of("success", frame, draws=100)
    assert isinstance(found, SuccessVerdict)
    return found


def policy(verdict: SuccessVerdict, name: str, place: int = 0) -> PolicyVerdict:
    return next(p for p in verdict.each[place].policies if p.policy == name)


def comparison(p4: list[float], **p4_told: Any) -> list[dict[str, Any]]:
    n = len(p4)
    return [
        *runs("P1", [2.0] * n),
        *runs("P2", [1.0] * n),
        *runs("P5-B", [0.5] * n),
        *runs("P4-D", p4, **p4_told),
    ]


def test_a_gain_of_just_ten_percent_does_not_pass_and_more_does() -> None:
    assert policy(judged(table(comparison([0.9] * 5))), "P4-D").passes["all"] is False
    found = policy(judged(table(comparison([0.89] * 5))), "P4-D")
    assert found.passes == {"all": True, "deadline": True, "slo": False}
    assert found.every_seed == {"all": True, "deadline": True, "slo": False}
    assert found.over_p2["p99"].value == pytest.approx(0.89)
    assert found.over_p1.value == pytest.approx(0.445)
    # of (2 - 0.5) it has (2 - 0.89)
    assert found.captured.share.value == pytest.approx(1.11 / 1.5)
    assert found.captured_p5.reason


def test_the_median_passes_without_every_seed() -> None:
    found = policy(judged(table(comparison([0.8, 0.8, 0.8, 0.95, 1.2]))), "P4-D")
    assert found.passes["all"] is True
    assert found.every_seed["all"] is False


def test_the_subset_and_the_sessions_have_their_own_answers() -> None:
    found = policy(judged(table(comparison([1.0] * 5, deadline_p99=0.5, slo_sessions=0.55))), "P4-D")
    # a tenth more sessions than the 0.5 of P2 is enough
    assert found.passes == {"all": False, "deadline": True, "slo": True}
    assert found.every_seed["slo"] is True
    fewer = policy(judged(table(comparison([1.0] * 5, slo_sessions=0.549))), "P4-D")
    assert fewer.passes["slo"] is False


def test_totals_count_stable_configurations_only() -> None:
    rows = []
    for load, waiting, wait in ((1.0, 1.0, 0.5), (2.0, 1.0, 0.95), (4.0, 9.0, 0.5)):
        rows += [r | {"load": load, "waiting_ratio": waiting} for r in comparison([wait] * 5)]
    verdict = judged(table(rows))
    assert (verdict.counted, verdict.unstable, verdict.unknown) == (2, 1, 0)
    assert [cell.stable for cell in verdict.each] == [True, True, False]
    total = next(t for t in verdict.totals if t.policy == "P4-D").counts["all"]
    assert (total.passed, total.every_seed, total.of, total.unknown) == (1, 1, 2, 0)
    assert (total.median, total.least, total.most) == pytest.approx((0.725, 0.5, 0.95))
    assert [figure.value for figure in total.published] == [6.0, 0.0]
    assert {t.policy for t in verdict.totals} == {"P1", "P4-D", "P5-B"}  # P2 is what they are compared with


def test_a_policy_that_lacks_a_seed_is_compared_on_common_ones() -> None:
    rows = [r for r in comparison([0.8] * 6) if not (r["policy"] == "P4-D" and r["seed"] == 2)]
    found = policy(judged(table(rows)), "P4-D")
    assert (found.seeds, found.left_out, found.over_p2["p99"].n) == (5, 1, 5)
    assert "seeds that only one of it and P2 has, left out: 1" in found.reasons
    assert any("not all have the same seeds" in line for line in judged(table(rows)).remarks)


def test_without_a_number_there_is_no_answer_but_a_reason() -> None:
    found = policy(judged(table(comparison([0.8] * 5, deadline_p99=None))), "P4-D")
    assert found.passes["deadline"] is None
    assert found.over_p2["deadline_p99"].value is None
    assert "deadline_p99: no common seed has a ratio" in found.reasons
    # one seed of five without: the others answer, but not for every seed
    rows = comparison([0.8] * 5)
    rows[-1] |= {"deadline_p99": float("nan")}
    one = policy(judged(table(rows)), "P4-D")
    assert one.passes["deadline"] is True
    assert one.every_seed["deadline"] is False
    assert "deadline_p99: 1 of 5 seeds have no ratio" in one.reasons
    counts = next(
        t for t in judged(table(comparison([0.8] * 5, deadline_p99=None))).totals if t.policy == "P4-D"
    ).counts
    assert (counts["deadline"].of, counts["deadline"].unknown) == (0, 1)


@pytest.mark.parametrize(("lost", "line"), [("P1", "no P1: stability"), ("P2", "no P2: the rule of success")])
def test_a_missing_baseline_is_said(lost: str, line: str) -> None:
    verdict = judged(table(r for r in comparison([0.5] * 5) if r["policy"] != lost))
    (cell,) = verdict.each
    assert line in cell.reasons[0]
    assert (verdict.counted, verdict.unknown) == (0, 1)
    assert f"{lost} is missing in 1 of 1 configurations" in verdict.remarks
    assert all(t.counts["all"].of == 0 for t in verdict.totals)


def test_one_seed_an_empty_table_and_nothing_stable() -> None:
    single = judged(table(comparison([0.5])))
    assert single.each[0].policies[2].over_p2["p99"].low is None
    assert any(line.startswith("1 seed: no interval") for line in single.remarks)
    empty = judged(table([]))
    assert empty.each == ()
    assert empty.remarks == ("the table has no runs: nothing is judged",)
    wild = judged(table(r | {"waiting_ratio": 5.0} for r in comparison([0.5] * 5)))
    assert wild.counted == 0
    assert "no configuration is stable: the queue grows under P1 in all of them" in wild.remarks


@settings(max_examples=3)
@given(st.randoms(use_true_random=False), st.floats(0.2, 5.0))
def test_order_names_of_seeds_and_the_unit_of_time_do_not_matter(chance: Any, unit: float) -> None:
    base = noisy(6, 1.0)
    rows = [
        *runs("P1", base),
        *runs("P2", noisy(6, 1.1, seed=1)),
        *runs("P5-B", noisy(6, 0.7, seed=2)),
        *runs("P4-D", noisy(6, 0.9, seed=3)),
    ]
    was = judged(table(rows))
    mixed = [dict(r) for r in rows]
    chance.shuffle(mixed)
    assert judged(table(mixed)) == was
    times = ("post_tool_p50", "post_tool_p95", "post_tool_p99", "post_tool_tail_mean", "deadline_p99")
    slower = judged(table(r | {name: r[name] * unit for name in times} for r in rows))
    renamed = judged(table(r | {"seed": r["seed"] + 10} for r in rows))
    for other in (slower, renamed):
        for ours, theirs in zip(was.each[0].policies, other.each[0].policies, strict=True):
            assert ours.passes == theirs.passes
            assert ours.every_seed == theirs.every_seed
            for name, found in ours.over_p2.items():
                assert found.value == pytest.approx(theirs.over_p2[name].value)
                assert found.low == pytest.approx(theirs.over_p2[name].low)


def test_a_policy_under_several_eta_is_several() -> None:
    rows = [*comparison([0.8] * 5), *runs("P2", [0.5] * 5, eta=0.5)]
    found = [p for p in judged(table(rows)).each[0].policies if p.policy == "P2"]
    assert [p.eta for p in found] == [None, 0.5]
    assert found[0].over_p2 == {}  # it is the baseline
    assert found[1].passes["all"] is True


def test_frame_has_a_row_per_policy() -> None:
    frame = judged(table(comparison([0.8] * 5))).to_frame()
    assert frame["policy"].to_list() == ["P1", "P2", "P4-D", "P5-B"]
    assert frame["over_p2_p99_value"][2] == pytest.approx(0.8)


def test_row_knows_its_columns() -> None:
    with pytest.raises(AssertionError):
        row("P1", 0, no_such=1)
