"""Two at a time: groups, clusterings and bin sets do not wait for each other, and numpy lets go of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["two_at_a_time"]

A = TypeVar("A")
B = TypeVar("B")


def two_at_a_time(function: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """Apply a pure function to each item, in two threads.

    Parameters
    ----------
    function : callable
        Reads and changes nothing but its argument, so that the order of the calls does not matter.
    items : iterable
        What to apply it to.

    Returns
    -------
    list
        The results in the order of the items.

    Examples
    --------
    >>> two_at_a_time(abs, [-3, 2, -1])
    [3, 2, 1]
    """
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, items))
