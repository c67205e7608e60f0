"""Memoryfulness, open questions and sensitivity: what is compared with what, and what flips."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulate.verdicts.frames import noisy, runs, table
from tracestat.errors import UsageError
from tracestat.results.verdicts import (
    EtaVerdict,
    NoVerdict,
    QuestionsVerdict,
    SensitivityRow,
    SensitivityVerdict,
    Verdict,
)
from tracestat.simulate.verdicts import KINDS, verdict_of

BASE = noisy(6, 2.0)


def told(kind: str, rows: list[dict[str, Any]]) -> Verdict:
    return verdict_of(kind, table(rows), draws=100)


def times(factor: float) -> list[float]:
    return [factor * wait for wait in BASE]


def test_eta() -> None:
    rows = [*runs("P1", BASE), *runs("P5-B", times(0.5))]
    rows += [*runs("P2", times(1.05), plan_pinned=0.034), *runs("P2", times(1.2), eta=1.0, plan_pinned=0.6)]
    found = told("eta", rows)
    assert isinstance(found, EtaVerdict)
    assert [(row.eta, row.pinned.value, row.within) for row in found.rows] == [(None, 0.034, True), (1.0, 0.6, False)]
    assert found.rows[1].over_p1["p99"].value == pytest.approx(1.2)
    assert found.rows[1].captured.share.value == pytest.approx(-0.4)
    alone = told("eta", list(runs("P2", BASE)))
    assert isinstance(alone, EtaVerdict)
    assert alone.rows[0].reasons == ("no P1: there is nothing to compare with",)
    assert (alone.rows[0].within, alone.rows[0].stable) == (None, None)


def test_an_option_is_compared_with_the_same_without_it() -> None:
    rows = [
        *runs("P1", BASE, loaded_tokens=100),
        *runs("P1", times(1.3), host_evict="head", loaded_tokens=40, origin_full_recompute=0.2),
        *runs("P1", times(0.8), store_path="native"),
        *runs("P1", times(1.0), store_path="native", store_holds_blocks=True),
    ]
    found = told("questions", rows)
    assert isinstance(found, QuestionsVerdict)
    assert [(row.value, row.base) for row in found.rows] == [
        ({"host_evict": "head"}, {"host_evict": "session"}),
        ({"store_holds_blocks": True}, {"store_holds_blocks": False}),
        # and with neither
        (
            {"store_holds_blocks": True, "store_path": "native"},
            {"store_holds_blocks": False, "store_path": "lmcache"},
        ),
    ]
    head, blocks, both = found.rows
    assert head.ratios["p99"].value == pytest.approx(1.3)
    assert head.ratios["recompute"].value == pytest.approx(2.0)
    assert head.ratios["reloaded"].value == pytest.approx(0.4)
    assert head.base_is["reloaded"].value == 100 * 131_072
    assert head.option_is["recompute"].value == 0.2
    assert blocks.ratios["p50"].value == pytest.approx(1.25)
    assert blocks.key == {"load": 4.0, "store_path": "native"}
    assert both.ratios["p50"].value == pytest.approx(1.0)


def test_an_option_without_its_base_is_said() -> None:
    found = told("questions", list(runs("P1", BASE, chunk_tokens=16)))
    assert isinstance(found, QuestionsVerdict)
    assert found.rows == ()
    assert "chunk_tokens 16: the same without it is not in the table" in found.remarks


def test_a_base_of_nothing_has_no_ratio_but_a_reason() -> None:
    found = told("questions", [*runs("P1", BASE, origin_full_recompute=0.0), *runs("P1", BASE, host_evict="head")])
    assert isinstance(found, QuestionsVerdict)
    assert found.rows[0].ratios["recompute"].value is None
    assert found.rows[0].reasons == ("no seed has a ratio of recompute",)


def policies(p2: float, p4: float, p5: float, **told: Any) -> list[dict[str, Any]]:
    some = (("P1", 1.0), ("P2", p2), ("P4-D", p4), ("P5-B", p5))
    return [row for name, factor in some for row in runs(name, times(factor), **told)]


def row_of(verdict: Verdict, policy: str, over: str, value: str) -> SensitivityRow:
    assert isinstance(verdict, SensitivityVerdict)
    (found,) = (r for r in verdict.rows if (r.policy, r.over, r.value) == (policy, over, value))
    return found


def test_sensitivity_marks_flips() -> None:
    rows = [
        *policies(1.0, 0.95, 0.85),
        *policies(1.0, 1.05, 0.95, change="step.base=1.1"),
        *policies(1.0, 0.94, 0.86, human_gap="keep"),
        *policies(1.0, 0.95, 0.85, hardware="rtx4090-llama3.1-8b-fp8-b8192"),
    ]
    found = told("sensitivity", rows)
    sign = row_of(found, "P4-D", "P1", "step.base=1.1")
    assert (sign.base.value, sign.changed.value) == (pytest.approx(0.95), pytest.approx(1.05))
    assert sign.difference.value == pytest.approx(0.1)
    assert (sign.flips_sign, sign.flips_size, sign.clear) == (True, False, True)
    size = row_of(found, "P5-B", "P1", "step.base=1.1")
    assert (size.flips_sign, size.flips_size, size.clear) == (False, True, True)
    calm = row_of(found, "P5-B", "P1", "keep")
    assert (calm.what, calm.flips_sign, calm.flips_size, calm.clear) == ("human_gap", False, False, None)
    assert row_of(found, "P5-B", "P1", "rtx4090-llama3.1-8b-fp8-b8192").what == "hardware"
    assert isinstance(found, SensitivityVerdict)
    assert len(found.rows) == 15
    assert (found.flips_sign, found.flips_size) == (2, 2)


def test_a_flip_within_the_intervals_is_not_clear() -> None:
    wide = [0.7, 0.8, 0.99, 1.2, 1.3]
    rows = [*runs("P1", [1.0] * 5), *runs("P2", wide)]
    rows += [*runs("P1", [1.0] * 5, end="free"), *runs("P2", [w + 0.02 for w in wide], end="free")]
    found = row_of(told("sensitivity", rows), "P2", "P1", "free")
    assert (found.flips_sign, found.clear) == (True, False)


def test_policies_that_read_no_eta_are_those_of_the_base() -> None:
    rows = [*policies(1.0, 0.95, 0.85), *runs("P2", times(1.1), change="eta=1.1")]
    found = told("sensitivity", rows)
    assert row_of(found, "P2", "P1", "eta=1.1").changed.value == pytest.approx(1.1)
    assert row_of(found, "P5-B", "P2", "eta=1.1").changed.value == pytest.approx(0.85 / 1.1)
    assert isinstance(found, SensitivityVerdict)
    assert not any(r.value == "eta=1.1" and r.over == "P1" and r.policy == "P5-B" for r in found.rows)
    assert not any("missing" in line for line in found.remarks)


def test_changes_without_a_base_and_two_at_once_are_said() -> None:
    rows = [*runs("P1", BASE, end="free"), *runs("P1", BASE, end="free", link="duplex")]
    found = told("sensitivity", rows)
    assert isinstance(found, SensitivityVerdict)
    assert found.rows == ()
    assert "end free: the same without the change is not in the table" in found.remarks
    assert "end and link are changed together: not a sensitivity to one of them" in found.remarks


def test_seeds_that_only_some_have_are_left_out() -> None:
    rows = [*policies(1.0, 0.95, 0.85), *policies(1.0, 0.95, 0.85, end="free")]
    rows = [r for r in rows if not (r["policy"] == "P2" and r["end"] == "free" and r["seed"] == 0)]
    found = row_of(told("sensitivity", rows), "P2", "P1", "free")
    assert (found.seeds, found.left_out) == (5, 1)


def test_none_and_no_such_kind() -> None:
    found = told("none", list(runs("P1", BASE)))
    assert isinstance(found, NoVerdict)
    assert (found.runs, found.seeds, found.configurations) == (6, 6, 1)
    with pytest.raises(UsageError, match="verdict best: there is none such; there are success, where"):
        told("best", [])


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_has_an_answer(kind: str) -> None:
    found = told(kind, [])
    assert (found.runs, found.configurations) == (0, 0)
    assert "the table has no runs: nothing is judged" in found.remarks
    assert found.to_dict()["kind"] == kind
    assert found.to_frame().height == 0
