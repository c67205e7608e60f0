"""Which bins carry enough events to be compared, and which are joined until they do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Block", "block_centres", "block_sums", "merge_blocks", "support"]

Block = tuple[int, int]
"""Bins ``start`` to ``stop - 1``."""


def support(D: ArrayLike, min_events: int = 30) -> int:
    """Count the leading bins above whose lower edge enough events lie.

    Parameters
    ----------
    D : array_like, shape (J,)
        Events per bin, up to the last edge (not beyond it), without those in holes.
    min_events : int, default 30
        Events needed from a bin's lower edge up to the last edge.

    Returns
    -------
    int
        Number of bins, the J of slope and rise test.

    Examples
    --------
    >>> support([40, 10, 25, 31, 5, 3, 33, 12])
    7
    """
    events = np.asarray(D, dtype=np.float64)
    from_here_on = np.cumsum(events[::-1])[::-1]
    return int(np.count_nonzero(from_here_on >= min_events))


def merge_blocks(D: ArrayLike, min_events: int = 30, max_span: int = 3) -> tuple[list[Block], int]:
    """Join neighbouring bins, from the right, until each block holds enough events.

    Parameters
    ----------
    D : array_like, shape (J,)
        Events per bin.
    min_events : int, default 30
        Events that each block must hold.
    max_span : int, default 3
        Bins that a block may span. If as many bins together hold too few events, the rightmost of them is dropped
        and joining starts again left of it. Without this bound a sparse tail becomes one block whose centre
        lies far from its events, which fakes a rise.

    Returns
    -------
    blocks : list of (int, int)
        Blocks [start, stop) from left to right. Bins between two blocks were dropped.
    n_bins : int
        End of the last block: the J that is left.

    Notes
    -----
    What is left at the left end with too few events joins the block on its right if that stays within
    ``max_span``, and is dropped otherwise.

    Examples
    --------
    >>> merge_blocks([40, 10, 25, 31, 5, 3, 33, 12])
    ([(0, 1), (1, 3), (3, 6), (6, 7)], 7)
    """
    events = np.asarray(D, dtype=np.float64)
    blocks: list[Block] = []
    stop = support(events, min_events)
    while stop > 0:
        start = stop - 1
        while start > 0 and events[start:stop].sum() < min_events and stop - start < max_span:
            start -= 1
        if events[start:stop].sum() >= min_events:
            blocks.append((start, stop))
            stop = start
        elif stop - start == max_span:
            stop -= 1
        else:  # the left end
            if blocks and blocks[-1][0] == stop and blocks[-1][1] - start <= max_span:
                blocks[-1] = (start, blocks[-1][1])
            break
    blocks.reverse()
    return blocks, blocks[-1][1] if blocks else 0


def block_sums(values: ArrayLike, blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Add up bins to blocks.

    Parameters
    ----------
    values : array_like, shape (..., J)
        Events or exposure per bin.
    blocks : sequence of (int, int)
        Blocks [start, stop).

    Returns
    -------
    ndarray, shape (..., B)
        Sums per block; bins outside all blocks are left out.

    Examples
    --------
    >>> block_sums([1.0, 2.0, 4.0], [(0, 1), (1, 3)])
    array([1., 6.])
    """
    bins = np.asarray(values, dtype=np.float64)
    out = np.empty((*bins.shape[:-1], len(blocks)))
    for b, (start, stop) in enumerate(blocks):
        out[..., b] = bins[..., start]
        for j in range(start + 1, stop):  # blocks are narrow: quicker than a sum over their axis
            out[..., b] += bins[..., j]
    return out


def block_centres(edges: Sequence[float], blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Give ln sqrt(lo hi) of each block.

    Parameters
    ----------
    edges : sequence of float
        Edges of the bins, seconds, all above 0.
    blocks : sequence of (int, int)
        Blocks [start, stop).

    Returns
    -------
    ndarray, shape (B,)
        Logarithms of the geometric centres; ``exp`` of them are the times that name a block.

    Examples
    --------
    >>> np.exp(block_centres([1.0, 4.0, 9.0], [(0, 1), (0, 2)])).round(6)
    array([2., 3.])
    """
    logs = np.log(np.asarray(edges, dtype=np.float64))
    return np.array([(logs[start] + logs[stop]) / 2 for start, stop in blocks], dtype=np.float64)
