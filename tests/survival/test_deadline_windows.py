"""Where the scan looks: windows, flanks, and the grid that holds them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tracestat.errors import TracestatError
from tracestat.survival.deadline_windows import FLANK_RATIOS, flank_edges, limit_window, scan_grid, scan_windows


def test_windows_follow_each_other_from_half_a_second_to_an_hour() -> None:
    windows = scan_windows()
    assert len(windows) == 752
    assert windows[0] == (0.5005, 0.5505)
    assert windows[-1][0] < 3600 <= windows[-1][1]
    assert all(a[1] == b[0] for a, b in pairwise(windows))


def test_windows_are_fifty_milliseconds_or_one_percent_wide() -> None:
    for a, b in scan_windows():
        assert b - a == pytest.approx(max(0.05, 0.01 * a), abs=0.0011)


def test_no_millisecond_lies_on_an_edge() -> None:
    edges = np.array([a for a, _ in scan_windows()]) * 2000
    assert np.all(np.abs(edges - np.round(edges)) < 1e-6)
    assert np.all(np.round(edges) % 2 == 1)


@pytest.mark.parametrize(
    ("limit", "overhead", "window"),
    [
        (120.0, 0.0, (119.88, 121.2)),
        (600.0, 0.0, (599.4, 606.0)),
        (1.0, 0.5, (0.995, 1.55)),
        (5.0, 0.0, (4.995, 5.05)),
        (30.0, 0.0, (29.97, 30.3)),
    ],
)
def test_window_of_a_named_limit(limit: float, overhead: float, window: tuple[float, float]) -> None:
    assert limit_window(limit, overhead) == window


def test_a_tiny_limit_has_a_window_above_zero() -> None:
    low, high = limit_window(0.002)
    assert 0 < low < 0.002 < high


def test_every_window_and_every_flank_is_on_the_grid() -> None:
    more = [limit_window(120.0), limit_window(1.0, 0.5)]
    edges = set(scan_grid(scan_windows(), more).edges)
    for window in (*scan_windows(), *more):
        assert {*window, *(edge for ratio in FLANK_RATIOS for edge in flank_edges(window, ratio))} <= edges


@pytest.mark.parametrize("limits", [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_a_range_that_is_none(limits: tuple[float, float]) -> None:
    with pytest.raises(TracestatError, match="scan from"):
        scan_windows(*limits)


@pytest.mark.parametrize("arguments", [(0.0, 0.0), (1.0, -0.1)])
def test_a_limit_that_is_none(arguments: tuple[float, float]) -> None:
    with pytest.raises(TracestatError, match="limit"):
        limit_window(*arguments)
