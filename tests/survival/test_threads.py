from __future__ import annotations

import time

import pytest

from tracestat.survival.threads import two_at_a_time


def test_results_keep_the_order_of_the_items() -> None:
    def slow_first(item: int) -> int:
        time.sleep(0.05 if item == 0 else 0)
        return item * 10

    assert two_at_a_time(slow_first, range(5)) == [0, 10, 20, 30, 40]
    assert two_at_a_time(slow_first, []) == []


def test_an_error_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        two_at_a_time(lambda item: 1 / item, [1, 0, 2])
