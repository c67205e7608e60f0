"""Random tables, written in every format and every unit, give their durations back."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.mapped.tables import read_file

EPOCH = dt.datetime(1970, 1, 1)
FROM, TO = 946_684_800_000_000, 4_102_444_800_000_000 - 10**12
MICROS = {"s": 10**6, "ms": 10**3, "us": 1}

# anywhere in a hundred years, or so near to each other that calls overlap, touch and begin together
starts = st.one_of(st.integers(FROM, TO), st.integers(0, 20).map(lambda s: FROM + s * 10**6))
lengths = st.one_of(st.integers(0, 10**12), st.integers(0, 5).map(lambda s: s * 10**6))
calls = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["Bash", "Read"]), starts, lengths), min_size=1)


def text_of(micros: int, unit: str) -> str:
    if unit == "iso":
        return (EPOCH + dt.timedelta(microseconds=micros)).isoformat() + "Z"
    if unit == "ns":
        return str(micros * 1000)
    whole, rest = divmod(micros, MICROS[unit])
    return f"{whole}.{rest * 10**6 // MICROS[unit]:06d}"


def write(folder: Path, rows: dict[str, list[str]], kind: str) -> Path:
    path = folder / f"table.{kind}"
    frame = pl.DataFrame(rows)
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    return path


@settings(deadline=None, max_examples=16)
@given(
    table=calls,
    kind=st.sampled_from(["csv", "jsonl", "parquet"]),
    units=st.tuples(*[st.sampled_from(["iso", "s", "ms", "us", "ns"])] * 2),
)
@pytest.mark.full
def test_calls(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str, int, int]], kind: str, units: tuple[str, str]
) -> None:
    rows = {
        "chat": [session for session, *_ in table],
        "fn": [tool for _, tool, *_ in table],
        "t0": [text_of(start, units[0]) for *_, start, _ in table],
        "t1": [text_of(start + length, units[1]) for *_, start, length in table],
        "id": [str(i) for i in range(len(table))],
    }
    path = write(tmp_path_factory.mktemp("table"), rows, kind)
    found = read_file(path, "session=chat,tool=fn,start=t0,end=t1,call_id=id")
    assert found.rejects == []
    assert sorted(
        ((c["emitted_at"] - EPOCH) // dt.timedelta(microseconds=1), round(s * 1e6))
        for c, s in zip(found.calls, found.seconds(), strict=True)
        if s is not None
    ) == sorted((start, length) for *_, start, length in table)
    assert [(c["row"], c["tool_index"]) for c in found.calls] == sorted(
        (c["row"], c["tool_index"]) for c in found.calls
    )
    for number, call in enumerate(
        found.calls
    ):  # a call begins before an earlier one of its round has ended, or with it
        before = [c for c in found.calls[:number] if c["row"] == call["row"]]
        others = [c for c in found.calls[:number] if c["row"] == call["row"] - 1 and call["tool_index"] == 0]
        if before:
            last = max(c["result_at"] for c in before)
            assert call["emitted_at"] < last or call["emitted_at"] == before[-1]["emitted_at"]
        if others and found.rounds[call["row"]]["round_index"] > 0:
            assert call["emitted_at"] >= max(c["result_at"] for c in others)


@settings(deadline=None, max_examples=16)
@given(
    table=st.lists(st.tuples(st.sampled_from("ab"), starts, lengths), min_size=1), unit=st.sampled_from(["iso", "ns"])
)
@pytest.mark.full
def test_pauses_of_requests(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, int, int]], unit: str
) -> None:
    rows = {
        "chat": [session for session, *_ in table],
        "t0": [text_of(start, unit) for _, start, _ in table],
        "t1": [text_of(start + length, unit) for *_, start, length in table],
    }
    path = write(tmp_path_factory.mktemp("table"), rows, "csv")
    found = read_file(path, "session=chat,arrival=t0,end=t1")
    assert len(found.rounds) == len(table)
    idle = []
    for session in sorted({session for session, *_ in table}):
        reach = first = None
        for _, start, length in sorted(row for row in table if row[0] == session):
            if reach is not None and start >= reach and start > first:
                idle.append(start - reach)
            reach = max(reach or 0, start + length)
            first = start
    assert sorted(round(s * 1e6) for s in found.seconds() if s is not None) == sorted(idle)
