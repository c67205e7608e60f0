"""Damage of lines and documents, through the reader of lines, for the formats that few objects are enough to show."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.ingest.logs.rounds_from import NAMES
from tracestat.ingest.logs.dynamo import DYNAMO
from tracestat.ingest.logs.format import Format
from tracestat.ingest.logs.kvcache_tester import KVCACHE_TESTER
from tracestat.ingest.logs.lines import read_chunk, read_document
from tracestat.ingest.logs.llmservingsim import LLMSERVINGSIM
from tracestat.ingest.logs.opencode import OPENCODE
from tracestat.ingest.logs.otel import OTEL
from tracestat.ingest.logs.state import Chunk, unpack

Json = dict[str, Any]
SECRET = "secret-/home/somebody"
ROW: Json = {
    "schema": "dynamo.request.trace.v1",
    "event_type": "request_end",
    "event_time_unix_ms": 1_780_000_000_000,
    "agent_context": {"session_id": SECRET},
    "request": {"request_id": SECRET},
}
SPAN: Json = {"traceId": "t", "spanId": "s", "name": "chat x", "startTimeUnixNano": "5", "attributes": []}
EXPORT: Json = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
SESSION: Json = {"session_id": SECRET, "arrival_time_ns": 0, "sub_requests": [{"input_toks": 1, "output_toks": 1}]}
TRACE: Json = {"id": SECRET, "block_size": 64, "requests": [{"t": 0, "input_types": ["text"]}]}
TALK: Json = {"info": {"id": SECRET}, "messages": [{"info": {"id": SECRET, "role": "assistant"}, "parts": []}]}
LINES = [(DYNAMO, ROW), (OTEL, EXPORT), (LLMSERVINGSIM, SESSION)]
DOCUMENTS = [(OTEL, EXPORT), (KVCACHE_TESTER, TRACE), (OPENCODE, TALK)]


def facts(form: Format, chunk: Chunk) -> list[msgspec.Struct]:
    decoder = msgspec.msgpack.Decoder(list[form.fact])  # type: ignore[name-defined]
    return decoder.decode(unpack(chunk.facts))


def silent(chunk: Chunk) -> bool:
    return b"secret" not in msgspec.json.encode(chunk)


@pytest.mark.parametrize(("form", "example"), LINES)
def test_two_objects_on_one_line(form: Format, example: Json) -> None:
    text = json.dumps(example)
    chunk = read_chunk(form, NAMES, f"{text}{text}\n{text}\n".encode(), 1)
    assert (len(facts(form, chunk)), chunk.objects, chunk.lost) == (3, 3, [])


@pytest.mark.parametrize(("form", "example"), LINES)
def test_a_cut_line_and_one_that_is_not_finished(form: Format, example: Json) -> None:
    text = json.dumps(example)
    data = f"{text[:-9]}\n{text}\n{text[:-9]}".encode()
    chunk = read_chunk(form, NAMES, data, 1, complete=False)
    assert [(piece.line, len(facts(form, chunk))) for piece in chunk.lost] == [(1, 1)]
    assert silent(chunk)


def test_a_row_behind_a_cut_one() -> None:
    text = json.dumps(ROW)
    chunk = read_chunk(DYNAMO, NAMES, f"{text[:80]}{text}\n".encode(), 1)
    assert (len(facts(DYNAMO, chunk)), len(chunk.lost)) == (1, 1)


@pytest.mark.parametrize(("form", "example"), LINES)
def test_text_that_is_no_unicode(form: Format, example: Json) -> None:
    broken = json.dumps(example).encode()[:-1] + b', "more": "\xff \\ud800"}\n'
    chunk = read_chunk(form, NAMES, broken, 1)
    assert (len(facts(form, chunk)), chunk.lost) == (1, [])


@pytest.mark.parametrize(("form", "example"), DOCUMENTS)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_of_one_line_or_many(form: Format, example: Json, indent: int | None) -> None:
    chunk = read_document(form, NAMES, json.dumps(example, indent=indent).encode())
    assert chunk is not None
    assert (len(facts(form, chunk)), chunk.lost) == (1, [])
    assert silent(chunk)


@pytest.mark.parametrize(("form", "example"), DOCUMENTS)
def test_a_cut_document_is_none(form: Format, example: Json) -> None:
    assert read_document(form, NAMES, json.dumps(example).encode()[:-3]) is None


@pytest.mark.parametrize(("form", "example"), [*LINES, *DOCUMENTS])
@pytest.mark.parametrize("odd", [None, 5, SECRET, [], [SECRET], {SECRET: SECRET}])
def test_wrong_types_are_reasons_without_text(form: Format, example: Json, odd: object) -> None:
    for key in example:
        for value in (example | {key: odd}, {**example, key: [example[key]]}, {**example, key: {SECRET: example[key]}}):
            chunk = read_chunk(form, NAMES, json.dumps(value).encode() + b"\n", 1)
            assert chunk.objects + len(chunk.lost) == 1
            assert silent(chunk)
