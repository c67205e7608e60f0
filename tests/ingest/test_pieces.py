"""The small parts: times, limits, types of columns, work in order."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.ingest import pipeline
from tracestat.ingest.columns import BOOLEAN, INTEGER, TEXT, TEXTS, TIME
from tracestat.ingest.conform import conform
from tracestat.ingest.extras import YIELD_LIMITS, asked_limit_seconds
from tracestat.ingest.pipeline import in_order
from tracestat.ingest.times import time_of, times_of

STAMPS = st.builds(
    "{:%Y-%m-%d}{}{:%H:%M:%S}{}{}".format,
    st.datetimes(dt.datetime(1000, 1, 1)),
    st.sampled_from("T "),
    st.datetimes(),
    st.one_of(st.just(""), st.text("0123456789", min_size=1, max_size=9).map(lambda d: "." + d)),
    st.sampled_from(["Z", "", "+00:00", "-11:30", "+0200", "+14", " ", "z"]),
)


@given(st.one_of(STAMPS, st.text(max_size=12), st.text("0123456789-:TZ.+ ", max_size=25)))
def test_a_column_and_a_value_agree_on_what_is_a_time(text: str) -> None:
    try:
        column = times_of(pa.array([text], TEXT))
    except UnicodeEncodeError:
        column = None
    if column is not None:
        assert column[0].as_py() == time_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T10:00:00.5Z", dt.datetime(2026, 3, 1, 10, 0, 0, 500_000)),
        ("2026-03-01T00:30:00+01:00", dt.datetime(2026, 2, 28, 23, 30)),
        ("0001-01-01T00:00:00Z", dt.datetime(1, 1, 1)),
        ("0001-01-01T00:00:00+01:00", None),
        ("9999-12-31T23:59:59Z", dt.datetime(9999, 12, 31, 23, 59, 59)),
        ("9999-12-31T23:59:59-01:00", None),
        ("0000-01-01T00:00:00Z", None),
        ("2026-02-29T00:00:00Z", None),
        ("2026-03-01T25:00:00Z", None),
        ("1772359206", None),
        ("", None),
        ("\ud800", None),
    ],
)
def test_times(text: str, expected: dt.datetime | None) -> None:
    assert time_of(text) == expected


def test_a_column_without_values() -> None:
    assert times_of(pa.array([], TEXT)) is not None
    assert times_of(pa.array([None, None], TEXT)).to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (999, None),
        (1000, 1),
        (1150, 1),
        (1151, None),
        (3004, 3),
        (5000, 5),
        (10_002, 10),
        (15_000, 15),
        (30_003, 30),
        (60_150, 60),
        (120_000, 120),
        (120_151, None),
        (0, None),
        (-1, None),
        (2**63 - 1, None),
        (-(2**63), None),
        (None, None),
    ],
)
def test_the_limit_of_a_yield(milliseconds: int | None, expected: float | None) -> None:
    internal = pa.array([milliseconds], INTEGER)
    assert asked_limit_seconds(pa.array(["running"]), internal).to_pylist() == [expected]
    for status in ("finished", None):
        assert asked_limit_seconds(pa.array([status], TEXT), internal).to_pylist() == [None]


def test_every_limit_is_found() -> None:
    ms = pa.array([1000 * limit + 3 for limit in YIELD_LIMITS])
    assert asked_limit_seconds(pa.array(["running"] * len(ms)), ms).to_pylist() == list(map(float, YIELD_LIMITS))


CONFORMED = [
    (pa.array([1, None], pa.int32()), INTEGER, [1, None], None),
    (pa.array([1.0, 1.5, float("nan"), None]), INTEGER, [1, None, None, None], [False, True, True, False]),
    (pa.array([2**63, 1], pa.uint64()), INTEGER, [None, 1], [True, False]),
    (pa.array([Decimal(2**70), Decimal(-5)], pa.decimal128(38, 0)), INTEGER, [None, -5], [True, False]),
    (pa.array([None, None]), INTEGER, [None, None], None),
    (pa.array(["a", None], pa.large_string()), TEXT, ["a", None], None),
    (pa.array(["a", "b"]).dictionary_encode(), TEXT, ["a", "b"], None),
    (pa.array([True, None]), BOOLEAN, [True, None], None),
    (pa.array([["a", None], None], pa.large_list(pa.string())), TEXTS, [["a", None], None], None),
    (pa.array([[], None], pa.list_(pa.null())), TEXTS, [[], None], None),
    (pa.array([1_500], pa.timestamp("ms")), TIME, [dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)], None),
    (pa.array([1_500], pa.timestamp("ns")), TIME, [dt.datetime(1970, 1, 1, 0, 0, 0, 1)], None),
    (pa.array([0], pa.timestamp("us", "Europe/Berlin")), TIME, [dt.datetime(1970, 1, 1)], None),
    (pa.array([2**63 - 1, 0], pa.timestamp("us")), TIME, [None, dt.datetime(1970, 1, 1)], [True, False]),
    (pa.array(["1970-01-01T00:00:00Z", "x", None]), TIME, [dt.datetime(1970, 1, 1), None, None], [False, True, False]),
]


@pytest.mark.parametrize(("column", "kind", "values", "bad"), CONFORMED, ids=range(len(CONFORMED)))
def test_columns_of_other_types(
    column: pa.Array, kind: pa.DataType, values: list[object], bad: list[bool] | None
) -> None:
    found, mask = conform(column, kind)
    assert found.type == kind
    assert found.to_pylist() == values
    assert (mask if mask is None else np.asarray(mask).tolist()) == bad


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array(["12"]), INTEGER),
        (pa.array([True]), INTEGER),
        (pa.array([1]), TEXT),
        (pa.array([b"a"]), TEXT),
        (pa.array([1]), BOOLEAN),
        (pa.array(["true"]), BOOLEAN),
        (pa.array([1]), TIME),
        (pa.array(["a"]), TEXTS),
        (pa.array([[1]]), TEXTS),
    ],
    ids=range(9),
)
def test_columns_that_cannot_be_ours(column: pa.Array, kind: pa.DataType) -> None:
    with pytest.raises(TypeError):
        conform(column, kind)


def test_results_come_in_the_order_of_the_items() -> None:
    def work(item: int) -> int:
        time.sleep(0.001 * (item % 3))
        return item

    assert list(in_order(work, range(50), 4)) == list(range(50))


def test_no_more_is_read_than_there_is_room_for() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1, 1001):
            read.append(item)
            yield item

    results = in_order(lambda item: item, items(), 2)
    assert next(results) == 1
    time.sleep(0.05)
    assert len(read) <= 2 * pipeline._AHEAD + 4
    results.close()  # type: ignore[attr-defined]
    assert threading.active_count() == 1 or not any("tracestat" in t.name for t in threading.enumerate())


@pytest.mark.parametrize("where", ["items", "work"])
def test_errors_come_in_their_place(where: str) -> None:
    def items() -> Iterator[int]:
        yield from (1, 2)
        if where == "items":
            raise OSError("items")
        yield 3

    def work(item: int) -> int:
        if item == 3:
            raise OSError("work")
        return item

    results = in_order(work, items(), 2)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(OSError, match=where):
        next(results)
