"""What the tests of one format share: invented objects through facts, kept as a store keeps them, to rounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from tracestat.ingest.logs.batching import batch_of
from tracestat.ingest.logs.format import Format, Log, LogRounds
from tracestat.ingest.logs.model import Call, Round
from tracestat.ingest.logs.names import Names

NAMES = Names(b"a key of the tests")
Objects = Sequence[dict[str, Any]]


def kept(form: Format, objects: Objects, names: Names = NAMES) -> list[bytes]:
    """Give the facts of a log's objects, one frame per object."""
    return [msgspec.msgpack.encode(form.facts(json.dumps(value).encode(), names).facts) for value in objects]


def logs_of(form: Format, *files: Objects, names: Names = NAMES) -> list[Log]:
    """Make a log of each file's objects."""
    decoder = msgspec.msgpack.Decoder(list[form.fact])  # type: ignore[name-defined]
    logs = []
    for number, objects in enumerate(files):
        frames = kept(form, objects, names)
        logs.append(Log(f"log-{number}", f"dev-{number}", lambda f=frames: (x for c in f for x in decoder.decode(c))))
    return logs


def read(form: Format, *files: Objects, names: Names = NAMES) -> list[LogRounds]:
    """Read files; the rounds also have to fit the tables."""
    made = list(form.rounds(logs_of(form, *files, names=names)))
    assert len(made) == len(files)
    for log in made:
        batch_of(log.rounds)
    return made


def rounds_of(form: Format, *files: Objects) -> list[Round]:
    """Give the rounds of all files."""
    return [made for log in read(form, *files) for made in log.rounds]


def calls_of(rounds: Sequence[Round]) -> list[Call]:
    """Give the calls of rounds."""
    return [call for made in rounds for call in made.calls]


def seconds(call: Call) -> float | None:
    """Give the length of a call."""
    return None if call.result_us is None else (call.result_us - call.emitted_us) / 1e6
