"""Running forecasts: by hand, against a plain loop, and blind to what is not yet known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forecast.split_checks import made_rows
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.running import running_means


def rows_of(
    started: list[float], seconds: list[float], tool: list[int], observed: list[bool] | None = None
) -> PauseRows:
    n = len(started)
    zero = np.zeros(n, dtype=np.intp)
    seen = np.ones(n, dtype=np.bool_) if observed is None else np.array(observed)
    codes = {"tool": np.array(tool, dtype=np.int64)}
    return PauseRows(codes, {"tool": ("a", "b")}, zero, zero, np.array(started), np.array(seconds), seen)


def test_by_hand() -> None:
    rows = rows_of([0, 1, 10, 20, 30, 40], [2, 20, 4, 1, 8, 1], [0, 1, 0, 0, 0, 1])
    mean, moving = running_means(rows, rows)
    # tool a: 2, then 4, 1, 8; at 20 the one of b has not ended, at 21 it has
    assert mean.tolist() == [1, 1, 2, 3, 7 / 3, 20]
    assert moving.tolist() == [1, 1, 2, 3, 2, 20]


def test_without_one_of_the_tool_all_tools_answer() -> None:
    rows = rows_of([0, 5, 10], [2, 4, 1], [0, 0, 1])
    assert running_means(rows, rows)[0].tolist() == [1, 2, 3]
    assert running_means(rows, rows)[1].tolist() == [1, 2, 3]


def test_what_has_not_ended_or_was_not_seen_to_end_counts_for_nothing() -> None:
    rows = rows_of([0, 0, 3, 4], [3, 1, 0, 0], [0, 0, 0, 0], [True, False, True, True])
    # the first ends at the start of the third; a pause of no length does not see itself
    assert running_means(rows, rows)[0].tolist() == [1, 1, 1, 1.5]


def test_an_end_and_a_start_at_one_microsecond() -> None:
    start = 1_772_452_800.123457
    rows = rows_of([start, start + 0.1, start + 0.100001], [0.1, 5, 5], [0, 0, 0])
    assert running_means(rows, rows)[0] == pytest.approx([1, 1, 0.1])


def test_nothing_known() -> None:
    rows = rows_of([0.0, 1.0], [1.0, 1.0], [0, 1], [False, False])
    assert [m.tolist() for m in running_means(rows, rows)] == [[1, 1], [1, 1]]
    none = rows_of([], [], [])
    assert running_means(rows, none)[0].shape == (0,)
    assert running_means(none, rows)[1].tolist() == [1, 1]


def plain(rows: PauseRows) -> tuple[list[float], list[float]]:
    micro = np.rint(rows.started * 1e6).astype(np.int64), np.rint(rows.seconds * 1e6).astype(np.int64)
    ends = micro[0] + micro[1]
    means, moved = [], []
    for i in range(rows.size):
        ended = [j for j in np.lexsort((rows.started, ends)) if rows.observed[j] and ends[j] < micro[0][i]]
        own = [j for j in ended if rows.codes["tool"][j] == rows.codes["tool"][i]] or ended
        d = rows.seconds[own]
        means.append(float(d.mean()) if d.size else 1.0)
        m = float(d[0]) if d.size else 1.0
        for x in d[1:]:
            m = 0.5 * x + 0.5 * m
        moved.append(m)
    return means, moved


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 200))
def test_against_a_plain_loop(seed: int, n: int) -> None:
    rows = made_rows(seed, n)
    mean, moving = running_means(rows, rows)
    expected = plain(rows)
    assert mean == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert moving == pytest.approx(expected[1], rel=1e-9, abs=1e-9)
    order = np.random.default_rng(seed).permutation(n)
    again = running_means(rows.take(order), rows)
    assert again[0] == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert again[1] == pytest.approx(moving, rel=1e-9, abs=1e-9)
