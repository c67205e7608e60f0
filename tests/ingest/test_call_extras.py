"""Keys of a call that TraceLab does not have: both readers take them alike, and TraceLab's own rows imply the same."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.helpers import lines
from tests.ingest.test_fast_equals_exact import same
from tests.traces import call, round_
from tracestat.ingest import tracelab_json
from tracestat.ingest.blocks import Block
from tracestat.ingest.columns import CALL_EXTRAS
from tracestat.ingest.extras import UNKNOWN, call_extras, extras_to_say
from tracestat.ingest.tracelab_json import read_block

YIELD = {"command_status": "running", "tool_internal_latency_ms": 10_002}
SAID = {
    "start_kind": "real",
    "asked_limit_seconds": 120,
    "approval_seconds": 0.25,
    "permission_mode": "plan",
    "parallel_group": 3,
    "is_subagent": True,
    "job_ended_at": "2026-03-02T12:00:01.000001Z",
    "command_fingerprint": "0123",
}


def read(**keys: Any) -> dict[str, Any]:
    """Read one call with both readers; give what it says of the columns of raw logs."""
    batch = same(lines([round_("s", 0, [call("c", 1, 2, **keys)], text=0)]))
    (row,) = batch.calls.select(list(CALL_EXTRAS)).to_pylist()
    return row


def with_text(key: str, text: str) -> bytes:
    """Write a round of two calls, the first of which has a key with this JSON text."""
    row = round_("s", 0, [call("c", 1, 2, **{key: "value"}), call("d", 1, 2, index=1)], text=0)
    return lines([row]).replace(b'"value"', text.encode())


def test_rows_that_say_all_are_read_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracelab_json, "read_lines", lambda _: pytest.fail("not fast"))
    content = lines([round_("s", 0, [call("c", 1, 2, **SAID), call("d", 1, 2)], text=0)])
    batch = read_block(Block(content, 1, complete=True))
    assert batch.calls["is_subagent"].to_pylist() == [True, None]


def test_every_key_is_taken() -> None:
    row = read(**SAID)
    assert row.pop("job_ended_at").isoformat() == "2026-03-02T12:00:01.000001"
    assert row == {name: value for name, value in SAID.items() if name != "job_ended_at"}


def test_what_a_row_does_not_say_is_implied_unless_it_names_its_start_kind() -> None:
    def start_and_limit(**keys: Any) -> tuple[Any, Any]:
        row = read(**keys)
        return row["start_kind"], row["asked_limit_seconds"]

    assert start_and_limit() == ("emission", None)
    assert start_and_limit(**YIELD) == ("emission", 10)
    assert start_and_limit(**YIELD, asked_limit_seconds=9) == ("emission", 9)
    assert start_and_limit(**YIELD, start_kind="emission") == ("emission", None)
    assert start_and_limit(**YIELD, start_kind="real", asked_limit_seconds=9) == ("real", 9)
    assert start_and_limit(**YIELD, start_kind=UNKNOWN) == (None, None)
    assert start_and_limit(**YIELD, is_subagent=False) == ("emission", 10)


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("asked_limit_seconds", "1e400", "asked_limit_seconds is not a number"),
        ("asked_limit_seconds", "1e19", "asked_limit_seconds is not a number"),
        ("approval_seconds", "-9223372036854775808", "approval_seconds is not a number"),
        ("approval_seconds", "99999999999999999999999", "approval_seconds is not a number"),
        ("approval_seconds", '"1"', "approval_seconds is not a number"),
        ("approval_seconds", "true", "approval_seconds is not a number"),
        ("is_subagent", "1", "is_subagent is not true or false"),
        ("job_ended_at", '"later"', "job_ended_at is not a time"),
        ("parallel_group", "1.5", "parallel_group is not a whole number"),
        ("permission_mode", "{}", "permission_mode is not text"),
    ],
)
def test_a_value_that_does_not_fit_rejects_its_call_only(key: str, text: str, reason: str) -> None:
    batch = same(with_text(key, text))
    assert [(reject.part, reject.row_index, reject.reason) for reject in batch.rejects] == [("call", 0, reason)]
    assert (batch.rounds.num_rows, batch.calls.num_rows) == (1, 1)


@pytest.mark.parametrize("text", ["0", "-0.0", "1", "1.0", "1e3", "0.1", "5e-324", "9223372036854775807", "-1E-5"])
def test_numbers_are_read_to_the_last_bit(text: str) -> None:
    batch = same(with_text("approval_seconds", text))
    assert batch.rejects == ()
    assert batch.calls["approval_seconds"].to_pylist() == [float(text), None]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),  # NaN and Infinity too, as Python writes them
    st.sampled_from(["emission", UNKNOWN, "", "2026-03-01T10:00:00Z", "2026-03-01", "\ud800", [], {}]),
)


@settings(max_examples=66, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(list(CALL_EXTRAS)), VALUES, max_size=4), min_size=1, max_size=3))
def test_values_of_any_type(said: list[dict[str, Any]]) -> None:
    rows = [round_("s", i, [call("a", 1, 2, **YIELD | one), call("b", 1, None)], text=1) for i, one in enumerate(said)]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    assert same(content.encode("utf-8", "surrogatepass")).read == len(said)


COLUMNS = {
    pa.string(): st.sampled_from(["emission", "real", "plan"]),
    pa.float64(): st.sampled_from([10.0, 0.0, 0.5]),
    pa.int64(): st.integers(0, 2),
    pa.bool_(): st.booleans(),
    pa.timestamp("us"): st.datetimes(),
}


@settings(max_examples=66, deadline=None)
@given(st.data())
def test_what_is_to_be_said_says_it(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 4))
    columns = {
        name: pa.array(data.draw(st.lists(st.none() | COLUMNS[kind], min_size=n, max_size=n)), kind)
        for name, kind in CALL_EXTRAS.items()
    }
    status = pa.array(data.draw(st.lists(st.sampled_from([None, "running"]), min_size=n, max_size=n)), pa.string())
    internal = pa.array(data.draw(st.lists(st.sampled_from([None, 10_002]), min_size=n, max_size=n)), pa.int64())
    said = extras_to_say(status, internal, columns)
    found = dict(zip(CALL_EXTRAS, call_extras(status, internal, said), strict=True))
    assert {name: values.to_pylist() for name, values in found.items()} == {
        name: values.to_pylist() for name, values in columns.items()
    }
    own = call_extras(status, internal)
    for row in range(n):  # TraceLab's own rows say nothing
        if [values[row].as_py() for values in own] == [columns[name][row].as_py() for name in CALL_EXTRAS]:
            assert all(values[row].as_py() is None for values in said.values())
