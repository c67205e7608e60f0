"""A policy from a file: what it may look like, and one line for everything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.simulate.policies.rounds import constants, random_workload
from tracestat.errors import TracestatError, UsageError
from tracestat.simulate.policies import (
    OracleView,
    SchedulerView,
    ask,
    load_policy,
    oracle_view,
    scheduler_view,
    view_type,
)

HEAD = """
import numpy as np
from tracestat.simulate.forms import LONGEST_EXPECTED, LRU, Plan
from tracestat.simulate.policies import OracleView, SchedulerView

def made(view, **more):
    n = view.context.size
    return Plan(**(dict(rank=LRU, pin_s=np.zeros(n), prefetch_at_s=np.full(n, np.nan)) | more))

"""
TWO_SECONDS = """
def plan(view, constants, seconds=2.0):
    return made(view, pin_s=np.full(view.context.size, seconds))
"""
CONSTANTS = constants()
OF = random_workload(0)
VIEW = scheduler_view(OF, [], store_path=None)


def written(folder: Path, text: str) -> str:
    (folder / "mine.py").write_text(HEAD + text)
    return f"{folder / 'mine.py'}:plan"


def test_a_policy_from_outside(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, TWO_SECONDS))
    assert view_type(policy) is SchedulerView
    assert set(ask(policy, VIEW, CONSTANTS).pin_s) == {2.0}
    oracle = load_policy(written(tmp_path, "def plan(view: OracleView, constants):\n return made(view.scheduler)"))
    assert view_type(oracle) is OracleView
    assert not ask(oracle, oracle_view(OF, VIEW), CONSTANTS).pin_s.any()
    with pytest.raises(UsageError, match="reads OracleView, not SchedulerView"):
        ask(oracle, VIEW, CONSTANTS)
    (tmp_path / "late.py").write_text(
        "from __future__ import annotations\ndef plan(view: 'OracleView', constants): ..."
    )
    assert view_type(load_policy(f"{tmp_path / 'late.py'}:plan")) is OracleView


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def other(view, constants): ...", "no such function"),
        ("plan = 3", "no such function"),
        ("def plan(view): ...", "two arguments"),
        ("def plan(view, constants, more): ...", "two arguments"),
        ("def plan(view, *, constants): ...", "two arguments"),
        ("def plan(view: int, constants): ...", "none of SchedulerView, ProgressView, OracleView"),
        ("1 / 0", "fails when imported (ZeroDivisionError: division by zero)"),
        ("raise SystemExit(3)", "fails when imported"),
        ("def plan(:", "fails when imported (SyntaxError"),
    ],
)
def test_what_is_no_policy_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TracestatError) as caught:
        load_policy(written(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("place", ["mine.py", "mine.txt:plan", "mine.py:1x", "gone.py:plan", ":", ""])
def test_what_names_no_function_is_one_line(place: str) -> None:
    with pytest.raises(UsageError, match="policy"):
        load_policy(place)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("1 / 0", "fails (ZeroDivisionError: division by zero)"),
        ("None", "gives NoneType and no Plan"),
        ("made(view, rank=9)", "rank is none of"),
        ("made(view, rank=LONGEST_EXPECTED)", "needs expected_remaining_s"),
        ("made(view, pin_s=np.zeros(3))", "pin_s is no array of one value for each"),
        ("made(view, pin_s=np.full(view.context.size, np.nan))", "pin_s holds what is not finite"),
        ("made(view, prefetch_at_s=np.full(view.context.size, -1.0))", "prefetch_at_s holds"),
        ("made(view, pin_s=np.zeros(view.context.size, dtype=int))", "pin_s is of type int64, not float64"),
        ("made(view, demote_at_start=np.zeros(view.context.size))", "demote_at_start is of type float64, not bool"),
    ],
)
def test_what_is_no_plan_is_one_line(tmp_path: Path, body: str, said: str) -> None:
    policy = load_policy(written(tmp_path, f"def plan(view, constants):\n return {body}"))
    with pytest.raises(TracestatError) as caught:
        ask(policy, VIEW, CONSTANTS, where="policy mine.py:plan")
    assert str(caught.value).startswith("policy mine.py:plan: ")
    assert said in str(caught.value)
    assert np.isfinite(VIEW.context).all()
