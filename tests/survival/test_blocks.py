from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.survival.data import WEIBULL, quick
from tracestat.survival.bins import DEFAULT_EDGES, bin_centres
from tracestat.survival.blocks import block_centres, block_sums, merge_blocks, support
from tracestat.survival.exposure import events_and_exposure

VECTOR = [40, 10, 25, 31, 5, 3, 33, 12]


def test_support_counts_events_from_each_lower_edge_on() -> None:
    assert support(VECTOR) == 7
    assert support(events_and_exposure(WEIBULL, np.ones(1000), DEFAULT_EDGES)[0]) == 13
    assert support([29.0]) == 0
    assert support([30.0]) == 1
    assert support([]) == 0


def test_merging() -> None:
    assert merge_blocks(VECTOR) == ([(0, 1), (1, 3), (3, 6), (6, 7)], 7)


@pytest.mark.parametrize(
    ("D", "blocks", "n_bins"),
    [
        # the last three of the support hold 27 together: the rightmost is dropped, and 16 + 1 + 50 is enough
        ([90, 50, 1, 16, 10, 25], [(0, 1), (1, 4)], 4),
        # a gap: only the bin at its right end is dropped, what lies beyond stays
        ([100, 100, 5, 5, 5, 500, 500], [(0, 1), (1, 4), (5, 6), (6, 7)], 7),
        # too few at the left end: they join their neighbour, but not beyond three bins
        ([10, 40, 50], [(0, 2), (2, 3)], 3),
        # 20 + 10 is a block; with the 10 + 10 that are left it would be four bins wide
        ([10, 10, 10, 20, 50], [(2, 4), (4, 5)], 5),
        ([29.0], [], 0),
    ],
)
def test_dropping_and_the_left_end(D: list[float], blocks: list[tuple[int, int]], n_bins: int) -> None:
    assert merge_blocks(D) == (blocks, n_bins)


def test_sums_and_centres() -> None:
    assert block_sums([[1.0, 2.0, 4.0]], [(0, 1), (1, 3)]).tolist() == [[1, 6]]
    centres = block_centres(DEFAULT_EDGES, [(0, 1), (1, 3)])
    assert centres[0] == bin_centres(DEFAULT_EDGES)[0]
    assert centres[1] == pytest.approx(np.log(np.sqrt(DEFAULT_EDGES[1] * DEFAULT_EDGES[3])), rel=1e-12)


@quick
@given(st.lists(st.integers(0, 60), max_size=20), st.integers(1, 40), st.integers(1, 5))
def test_blocks_are_full_narrow_and_apart(D: list[int], min_events: int, max_span: int) -> None:
    blocks, n_bins = merge_blocks(D, min_events, max_span)
    assert all(sum(D[a:b]) >= min_events and b - a <= max_span for a, b in blocks)
    assert all(first[1] <= second[0] for first, second in pairwise(blocks))
    assert n_bins == (blocks[-1][1] if blocks else 0)
    assert n_bins <= support(D, min_events)


@quick
@given(st.lists(st.integers(30, 60), min_size=1, max_size=20))
def test_full_bins_stay_as_they_are(D: list[int]) -> None:
    assert merge_blocks(D) == ([(j, j + 1) for j in range(len(D))], len(D))
