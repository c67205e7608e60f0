"""What cannot be a row is rejected with its line and reason; nothing else is lost with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.helpers import ingested, lines, rejects, tables
from tests.traces import Row, call, event, round_
from tracestat.errors import TracestatError
from tracestat.ingest.blocks import Block
from tracestat.ingest.tracelab_json import read_block
from tracestat.store import open_store

GOOD = [round_("s", i, [call(f"call_{i}", 10 * i, 10 * i + 1)], text=10 * i) for i in range(4)]


def with_line(line: bytes | str) -> bytes:
    """Put a line after the second of four good rounds."""
    content = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    return lines(GOOD[:2]) + content + b"\n" + lines(GOOD[2:])


def row(**changes: Any) -> Row:
    changed: Row = {**round_("t", 0, [call("call_9", 1, 2)], text=0.5), **changes}
    return {name: value for name, value in changed.items() if value is not ...}


NOT_A_ROW = [
    ("not JSON", "not JSON"),
    ('{"provider": "claude"', "not JSON"),
    ("[]", "not an object"),
    ("5", "not an object"),
    ("null", "not an object"),
    ('"text"', "not an object"),
    ('{"provider": NaN}', "not JSON"),
    ("[" * 100_000, "nested too deeply"),
    (b"\0" * 50, "not JSON"),
    ("{}", "missing provider"),
    (json.dumps(row(provider=...)), "missing provider"),
    (json.dumps(row(provider=None)), "missing provider"),
    (json.dumps(row(session_id=...)), "missing session_id"),
    (json.dumps(row(round_index=...)), "missing round_index"),
    (json.dumps(row(round_id=...)), "missing round_id"),
    (json.dumps(row(timing_events=...)), "missing timing_events"),
    (json.dumps(row(tools=None)), "missing tools"),
    (json.dumps(row(tools={})), "tools is not a list"),
    (json.dumps(row(timing_events="none")), "timing_events is not a list"),
    (json.dumps(row(provider=5)), "provider is not text"),
    (json.dumps(row(model={"name": "m"})), "model is not text"),
    (json.dumps(row(model=["m"])), "model is not text"),
    (json.dumps(row(round_index="12")), "round_index is not a whole number"),
    (json.dumps(row(round_index=1.5)), "round_index is not a whole number"),
    (json.dumps(row(round_index=True)), "round_index is not a whole number"),
    (json.dumps(row(output_tokens=2**63)), "output_tokens is not a whole number"),
    (json.dumps(row(output_tokens=-(2**63) - 1)), "output_tokens is not a whole number"),
    ('{"output_tokens": ' + "9" * 5000 + "}", "output_tokens is not a whole number"),
    (json.dumps(row(output_tokens=[1])), "output_tokens is not a whole number"),
]


def good(place: int) -> bytes:
    return lines([round_("g", place, [call(f"good_{place}", place, place + 1)], text=place)])


def test_a_line_that_is_no_row(tmp_path: Path) -> None:
    content = b"".join(
        good(place) + (line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line) + b"\n"
        for place, (line, _) in enumerate(NOT_A_ROW)
    )
    report, out = ingested(tmp_path, content + good(len(NOT_A_ROW)))
    assert rejects(out) == [(2 * place + 2, "round", 0, reason) for place, (_, reason) in enumerate(NOT_A_ROW)]
    (source,) = report.sources
    n = len(NOT_A_ROW)
    assert (source.rows, source.kept, source.rejected) == (2 * n + 1, n + 1, n)
    assert [r[6] for r in tables(out)["rounds"]] == [f"round_g_{i}" for i in range(n + 1)]
    with open_store(out) as trace:
        assert trace.sql("SELECT round_pk FROM rounds").to_series().to_list() == [*range(1, n + 2)]


CALL_FAULTS: list[tuple[Any, str]] = [
    (5, "not an object"),
    (None, "not an object"),
    ([], "not an object"),
    ({}, "missing tool_call_id"),
    ({**call("x", 1, 2), "tool_call_id": None}, "missing tool_call_id"),
    ({**call("x", 1, 2), "emitted_at": None}, "missing emitted_at"),
    ({**call("x", 1, 2), "emitted_at": "yesterday"}, "emitted_at is not a time"),
    ({**call("x", 1, 2), "emitted_at": ""}, "emitted_at is not a time"),
    ({**call("x", 1, 2), "emitted_at": 1772359206}, "emitted_at is not a time"),
    ({**call("x", 1, 2), "result_at": "2026-13-45T00:00:00Z"}, "result_at is not a time"),
    ({**call("x", 1, 2), "is_error": "false"}, "is_error is not true or false"),
    ({**call("x", 1, 2), "is_error": 1}, "is_error is not true or false"),
    ({**call("x", 1, 2), "input_chars": "80"}, "input_chars is not a whole number"),
    ({**call("x", 1, 2), "executables": "make"}, "executables is not a list of texts"),
    ({**call("x", 1, 2), "executables": [1]}, "executables is not a list of texts"),
    ({**call("x", 1, 2), "tool_name": 7}, "tool_name is not text"),
]


def test_a_call_that_cannot_be_one_leaves_its_round(tmp_path: Path) -> None:
    rows = [
        row(round_id=f"r{n}", round_index=n, tools=[call(f"a{n}", 1, 2), fault, call(f"b{n}", 1, 3)])
        for n, (fault, _) in enumerate(CALL_FAULTS)
    ]
    report, out = ingested(tmp_path, lines(rows))
    assert rejects(out) == [(n + 1, "call", 1, reason) for n, (_, reason) in enumerate(CALL_FAULTS)]
    (source,) = report.sources
    n = len(CALL_FAULTS)
    assert (source.rows, source.kept, source.rejected, source.calls_rejected) == (n, n, 0, n)
    assert [c[3] for c in tables(out)["tool_calls"]] == [f"{name}{i}" for i in range(n) for name in "ab"]


EVENT_FAULTS: list[tuple[Any, str]] = [
    ("text", "not an object"),
    ({"event_type": "text"}, "missing timestamp"),
    ({**event("text", 1), "timestamp": "soon"}, "timestamp is not a time"),
    ({**event("text", 1), "content_chars": 1.5}, "content_chars is not a whole number"),
    ({**event("text", 1), "event_type": 1}, "event_type is not text"),
]


def test_an_event_that_cannot_be_one_leaves_its_round(tmp_path: Path) -> None:
    rows = [
        row(round_id=f"r{n}", round_index=n, tools=[], timing_events=[event("text", 1), fault, event("reasoning", 2)])
        for n, (fault, _) in enumerate(EVENT_FAULTS)
    ]
    report, out = ingested(tmp_path, lines(rows))
    assert rejects(out) == [(n + 1, "event", 1, reason) for n, (_, reason) in enumerate(EVENT_FAULTS)]
    assert report.sources[0].events_rejected == len(EVENT_FAULTS)
    with open_store(out) as trace:
        # the others keep their places in the list
        found = trace.sql("SELECT round_pk, event_index FROM timing_events ORDER BY ALL").rows()
    assert found == [(n + 1, place) for n in range(len(EVENT_FAULTS)) for place in (1, 3)]


ACCEPTED = [
    ({"current_input_chars": 24.0}, "current_input_chars", 24),
    ({"current_input_chars": -0.0}, "current_input_chars", 0),
    ({"current_input_chars": 2**63 - 1}, "current_input_chars", 2**63 - 1),
    ({"current_input_chars": -(2**63)}, "current_input_chars", -(2**63)),
    ({"current_input_chars": None}, "current_input_chars", None),
    ({"current_input_chars": ...}, "current_input_chars", None),
    ({"unknown": {"a": [1, {"b": None}]}}, "current_input_chars", None),
    ({"unknown": 1e300}, "current_input_chars", None),
    ({"model": ""}, "model", ""),
    ({"model": "\0"}, "model", "\0"),
    ({"model": "a\u2028b\U0001f600"}, "model", "a\u2028b\U0001f600"),
    ({"model": "x'; DROP TABLE rounds; --\""}, "model", "x'; DROP TABLE rounds; --\""),
]


def test_odd_but_good(tmp_path: Path) -> None:
    rows = [row(round_id=f"r{n}", round_index=n, tools=[], **changes) for n, (changes, *_) in enumerate(ACCEPTED)]
    report, out = ingested(tmp_path, lines(rows))
    assert (report.rejected, report.sources[0].repaired) == (0, 0)
    with open_store(out) as trace:
        found = trace.sql("SELECT model, current_input_chars FROM rounds ORDER BY round_pk").to_dicts()
    assert [of_row[column] for of_row, (_, column, _) in zip(found, ACCEPTED, strict=True)] == [
        expected for *_, expected in ACCEPTED
    ]


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-03-01T10:00:06.500Z", "2026-03-01 10:00:06.5"),
        ("2026-03-01T10:00:06.500+02:00", "2026-03-01 08:00:06.5"),
        ("2026-03-01T10:00:06", "2026-03-01 10:00:06"),
        ("2026-03-01T10:00:06.123456789Z", "2026-03-01 10:00:06.123456"),
    ],
)
def test_times_become_naive_utc(stamp: str, expected: str, tmp_path: Path) -> None:
    content = with_line(json.dumps(row(tools=[{**call("call_t", 1, 2), "emitted_at": stamp}])))
    _, out = ingested(tmp_path, content)
    with open_store(out) as trace:
        found = trace.sql("SELECT emitted_at::VARCHAR FROM tool_calls WHERE tool_call_id = 'call_t'").item()
        assert found == expected


def test_two_objects_on_one_line_are_both_read(tmp_path: Path) -> None:
    content = lines(GOOD[:1]) + lines(GOOD[1:3]).replace(b"\n", b"") + b"\n" + lines(GOOD[3:])
    report, out = ingested(tmp_path, content)
    assert report.rejected == 0
    assert [r[6] for r in tables(out)["rounds"]] == [f"round_s_{i}" for i in range(4)]


def test_a_cut_record_does_not_take_the_next_one_on_its_line(tmp_path: Path) -> None:
    cut = lines(GOOD[1:2])[:150]
    report, out = ingested(tmp_path, lines(GOOD[:1]) + cut + lines(GOOD[2:]))
    assert rejects(out) == [(2, "round", 0, "not JSON")]
    assert (report.sources[0].rows, report.sources[0].kept) == (4, 3)


def test_half_a_last_line(tmp_path: Path) -> None:
    report, out = ingested(tmp_path, lines(GOOD)[:-40])
    assert rejects(out) == [(4, "round", 0, "cut off: the last line is not complete")]
    assert (report.sources[0].rows, report.sources[0].kept) == (4, 3)


@pytest.mark.parametrize("value", [b"a\xffb", b"\\ud800", b"\xed\xa0\x80", b"\\udc00x", b"\xc3"])
def test_text_that_is_no_unicode_is_repaired_and_counted(value: bytes, tmp_path: Path) -> None:
    line = lines([row(model="MODEL")]).rstrip().replace(b"MODEL", value)
    report, out = ingested(tmp_path, with_line(line))
    assert (report.rejected, report.sources[0].repaired) == (0, 1)
    with open_store(out) as trace:
        found = trace.sql("SELECT model FROM rounds WHERE round_pk = 3").item()
        assert "\ufffd" in found
        assert trace.sql("SELECT rows_repaired FROM sources").item() == 1


def test_what_is_no_unicode_in_a_key_we_do_not_know_is_nothing_to_repair(tmp_path: Path) -> None:
    line = lines([row(unknown="VALUE")]).rstrip().replace(b"VALUE", b"\xff")
    report, _ = ingested(tmp_path, with_line(line))
    assert (report.rejected, report.sources[0].repaired) == (0, 0)


def test_the_last_of_two_equal_keys_counts(tmp_path: Path) -> None:
    line = lines([row()]).rstrip().replace(b'"model": "model-1"', b'"model": "first", "model": "last"')
    _, out = ingested(tmp_path, with_line(line))
    with open_store(out) as trace:
        assert trace.sql("SELECT model FROM rounds WHERE round_pk = 3").item() == "last"


def test_deep_nesting_in_a_key_we_do_not_know(tmp_path: Path) -> None:
    nested = b'{"unknown": ' + b"[" * 50_000 + b"]" * 50_000 + b", " + lines([row()]).rstrip()[1:]
    report, _ = ingested(tmp_path, with_line(nested))
    assert (report.sources[0].kept, report.rejected) == (5, 0)


def test_a_line_that_is_too_long_is_one_reject() -> None:
    batch = read_block(Block(b"", 7, complete=True, too_long=True))
    assert [(r.line, r.part, r.reason) for r in batch.rejects] == [(7, "round", "longer than a line may be")]


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    report, out = ingested(tmp_path, b"\n  \n" + lines(GOOD[:2]) + b"\r\n\n" + b"bad\n" + lines(GOOD[2:]) + b"\n\n")
    assert report.sources[0].rows == 5
    assert rejects(out) == [(7, "round", 0, "not JSON")]


def test_more_than_half_rejected_stops_and_leaves_nothing(tmp_path: Path) -> None:
    content = lines(GOOD) + b"bad\n" * 5
    with pytest.raises(TracestatError, match=r"source\.jsonl: 5 of 9 rows cannot be read \(most often: not JSON\)"):
        ingested(tmp_path, content)
    assert [path.name for path in tmp_path.iterdir()] == ["source.jsonl"]
    report, _ = ingested(tmp_path, content, force=True)
    assert (report.sources[0].rows, report.sources[0].kept, report.sources[0].rejected) == (9, 4, 5)


def test_half_rejected_does_not_stop(tmp_path: Path) -> None:
    report, _ = ingested(tmp_path, lines(GOOD) + b"bad\n" * 4)
    assert report.rejected == 4


def test_a_reason_never_holds_the_text(tmp_path: Path) -> None:
    secret = "/home/ada/secret"
    content = lines(GOOD) + lines([row(round_index=secret), row(tools=[{**call("x", 1, 2), "emitted_at": secret}])])
    _, out = ingested(tmp_path, content + f"not JSON {secret}\n".encode())
    assert len(rejects(out)) == 3
    assert secret not in repr(rejects(out))
    assert secret.encode() not in out.read_bytes()
