from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.mapped.tables import csv_of, read
from tracestat.errors import UsageError
from tracestat.ingest.mapped.mapping import Served
from tracestat.ingest.mapped.numbers import numbers_of, scaled
from tracestat.ingest.mapped.times import PER_SECOND, TimeColumn, instants_of

START = dt.datetime(2026, 3, 1, 10, 0, 0, 250_000)
EPOCH = 1_772_359_200  # of START, without its quarter of a second


@given(st.decimals(min_value=-(2**62), max_value=2**62, places=9, allow_nan=False))
def test_a_text_keeps_nine_decimals(value: Decimal) -> None:
    found = numbers_of(pa.array([f"{value:f}", f"{value:E}"]))
    nanos = int(value * 10**9)
    assert [int(w) * 10**9 + int(n) for w, n in zip(found.whole, found.nanos, strict=True)] == [nanos, nanos]
    assert found.valid.all()


@given(st.floats(min_value=0, max_value=2e9))
def test_a_float_is_what_its_digits_say(value: float) -> None:
    found = numbers_of(pa.array([value]))
    meant = int(Decimal(repr(value)) * 10**9)
    # the shortest digits of a float may be finer than the grid that it is on
    assert abs(int(found.whole[0]) * 10**9 + int(found.nanos[0]) - meant) <= max(1, 10 * np.spacing(value) * 1e9)


@pytest.mark.parametrize("micros", [0, 1, 123_456, 999_999])
def test_microseconds_survive_a_float(micros: int) -> None:
    assert scaled(numbers_of(pa.array([EPOCH + micros / 1e6])), 10**6)[0].tolist() == [EPOCH * 10**6 + micros]


def test_what_is_no_number() -> None:
    texts = ["", "-", "NULL", "nan", "NaT", None, " 5 ", "1,5", "0x10", "five", "9" * 19, "1e99", "٣", "inf"]
    found = numbers_of(pa.array(texts))
    assert found.missing.tolist() == [True] * 6 + [False] * 8
    assert np.flatnonzero(found.valid).tolist() == [6]


@pytest.mark.parametrize("kind", [pa.uint64(), pa.int8(), pa.float32(), pa.decimal128(25, 3)])
def test_numbers_of_every_type(kind: pa.DataType) -> None:
    found = numbers_of(pa.array([7, None]).cast(kind))
    assert (found.whole.tolist(), found.valid.tolist(), found.missing.tolist()) == (
        [7, 0],
        [True, False],
        [False, True],
    )


def test_more_than_64_bits_signed() -> None:
    assert numbers_of(pa.array([2**63, 5], pa.uint64())).valid.tolist() == [False, True]


def written(unit: str, form: str) -> str:
    """Write START in a unit."""
    exact = (Decimal(EPOCH) + Decimal("0.25")) * PER_SECOND[unit]  # type: ignore[index]
    return {"whole": str(int(exact)), "decimals": f"{exact:.3f}", "exponent": f"{exact:.20E}"}[form]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("form", ["whole", "decimals", "exponent"])
def test_every_unit_is_found(tmp_path: Path, unit: str, form: str) -> None:
    content = csv_of("chat,fn,t0,t1", [f"a,Bash,{written(unit, form)},2026-03-01T10:00:03.25Z"])
    found = read(tmp_path, content)
    cut = unit == "s" and form == "whole"
    assert found.calls[0]["emitted_at"] == (START.replace(microsecond=0) if cut else START)
    names = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
    assert any(line.startswith(f"start: epoch {names[unit]} (detected) (column t0)") for line in found.told)


def test_the_span_is_told(tmp_path: Path) -> None:
    rows = ["a,Bash,1772359200250,1772359203250", "a,Bash,1772366400000,1772366400001"]
    assert read(tmp_path, csv_of("chat,fn,t0,t1", rows)).told[3] == (
        "start: epoch milliseconds (detected) (column t0), 2026-03-01 10:00:00 to 2026-03-01 12:00:00 UTC"
    )


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T10:00:00.25Z",
        "2026-03-01 10:00:00.250",
        "2026-03-01T11:00:00.250+01:00",
        "2026-03-01 10:00:00.250 UTC",
        "20260301T100000.250Z",
        " 2026-03-01T10:00:00.250000999Z ",
    ],
)
def test_dates(text: str) -> None:
    found = instants_of(pa.array([text]))
    assert found.iso_us.tolist() == [EPOCH * 10**6 + 250_000]
    assert not found.bad.any()


def test_the_year_1_is_no_time(tmp_path: Path) -> None:
    rows = ["a,x,2026-03-01T10:00:00Z,0001-01-01T00:00:00Z", "a,x,0001-01-01T00:00:00Z,2026-03-01T10:00:00Z"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1", rows))
    assert found.seconds() == [None]
    assert found.reasons() == [(3, "missing start")]


def test_dates_with_and_without_a_zone_are_told_apart(tmp_path: Path) -> None:
    rows = ["a,Bash,2026-03-01T10:00:00Z,2026-03-01 10:00:01", "a,Bash,2026-03-01T11:00:00+01:00,2026-03-01 10:00:02"]
    told = read(tmp_path, csv_of("chat,fn,t0,t1", rows)).told
    assert told[3].startswith("start: ISO 8601 (column t0)")
    assert told[4].startswith("end: ISO 8601, without a zone: UTC (column t1)")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([START, None], pa.timestamp("ms")),
        pa.array([START, None], pa.timestamp("ns")),
        pa.array([START, None], pa.timestamp("us", "UTC")),
        pa.array([EPOCH * 1000 + 250, None], pa.int64()).cast(pa.timestamp("ms", "Asia/Tokyo")),
    ],
)
def test_times_that_have_a_type(column: pa.Array) -> None:
    found = instants_of(column)
    assert found.iso_us.tolist()[0] == EPOCH * 10**6 + 250_000
    assert (found.is_iso.tolist(), found.numbers.missing.tolist(), found.bad.any()) == (
        [True, False],
        [False, True],
        False,
    )


def test_a_type_that_is_no_time() -> None:
    for column in (pa.array([True]), pa.array([b"x"]), pa.array([dt.time(1)])):
        with pytest.raises(TypeError):
            instants_of(column)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["12.5", "13"], "no epoch between 2000 and 2100 in any unit"),
        (["0", "1772359200"], "no epoch between 2000 and 2100 in any unit"),
        (["1772359200", "1772359200000"], r"epoch seconds \(line 2\) and milliseconds \(line 3\)"),
    ],
)
def test_numbers_that_do_not_tell_ask_for_the_unit(tmp_path: Path, values: list[str], reason: str) -> None:
    rows = [f"a,Bash,{value},2026-03-01T10:00:00Z" for value in values]
    with pytest.raises(UsageError, match=reason + r".*--map start:ms=t0"):
        read(tmp_path, csv_of("chat,fn,t0,t1", rows))


def test_a_unit_that_was_said_may_mean_any_time(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("chat,fn,t0,t1", ["a,Bash,12.5,14"]), "session=chat,tool=fn,start:s=t0,end:s=t1")
    assert found.calls[0]["emitted_at"] == dt.datetime(1970, 1, 1, 0, 0, 12, 500_000)
    assert found.seconds() == [1.5]
    assert "start: epoch seconds (as said) (column t0), 1970-01-01 00:00:12 to 1970-01-01 00:00:12 UTC" in found.told


@pytest.mark.parametrize(("unit", "text", "micros"), [("ns", "-1", -1), ("ns", "-1000", -1), ("ms", "-1.5", -1500)])
def test_before_1970_times_are_cut_to_the_past(tmp_path: Path, unit: str, text: str, micros: int) -> None:
    spec = f"session=chat,tool=fn,start:{unit}=t0,end:s=t1"
    found = read(tmp_path, csv_of("chat,fn,t0,t1", [f"a,Bash,{text},5"]), spec)
    assert found.calls[0]["emitted_at"] == dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)


def test_a_stray_number_in_a_column_of_epochs_is_rejected(tmp_path: Path) -> None:
    rows = [f"a,Bash,{EPOCH + i},{EPOCH + i + 1}" for i in range(0, 30, 3)] + [f"a,Bash,0,{EPOCH}", f"a,Bash,{EPOCH},7"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1", rows))
    assert found.reasons() == [
        (12, "start is no time in the unit of its column"),
        (13, "end is no time in the unit of its column"),
    ]
    assert found.kept == 10


def test_the_year_9999_is_the_last(tmp_path: Path) -> None:
    spec = "session=chat,tool=fn,start:s=t0,end:s=t1"
    rows = ["a,Bash,1,253402300799.5", "a,Bash,1,253402300800", "a,Bash,1,9223372036854775807", "b,x,1,2", "c,x,1,2"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1", rows), spec)
    assert [line for line, _ in found.reasons()] == [3, 4]
    assert found.calls[0]["result_at"] == dt.datetime(9999, 12, 31, 23, 59, 59, 500_000)


def test_a_column_is_seen_in_pieces() -> None:
    column = TimeColumn(Served("start", "t0"))
    for first, values in ((2, ["x", str(EPOCH)]), (4, ["2026-03-01T10:00:00Z", str(EPOCH + 1)])):
        column.see(instants_of(pa.array(values)), np.arange(first, first + 2))
    assert (column.dates, column.zoned, column.numbers, column.votes) == (1, 1, 2, {"s": 2})
    assert column.first_lines == {"s": 3}
    assert column.told("t") == "ISO 8601 and epoch seconds (detected)"
