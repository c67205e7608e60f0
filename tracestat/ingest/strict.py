"""The exact reader of TraceLab's JSON lines: slow, and the authority on what is a row.

The fast reader (``tracelab_json``) hands every line here that it cannot vouch for. A line that cannot be a row is
rejected with its reason; a damaged call or event does not take its round with it; text that is no Unicode is
repaired. Nothing of the text goes into a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Part, Reject
from tracestat.ingest.columns import (
    BOOLEAN,
    CALL_COLUMNS,
    CALL_EXTRAS,
    EVENT_COLUMNS,
    INTEGER,
    NAMES,
    REQUIRED,
    ROUND_COLUMNS,
    SECONDS,
    TEXT,
    TEXTS,
    TIME,
)
from tracestat.ingest.extras import call_extras
from tracestat.ingest.objects import CUT_OFF, NOT_JSON, TOO_DEEP, json_objects
from tracestat.ingest.times import time_of

__all__ = ["DOUBTFUL", "Line", "read_lines"]

_INT64: Final = 2**63
_ROUND_KEYS: Final = (*ROUND_COLUMNS, "timing_events", "tools")
# Where a record may begin again after damage: only rounds begin with one of these keys.
_START: Final = re.compile(rf'\{{\s*"(?:{"|".join(_ROUND_KEYS)})"\s*:')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CALL_KEYS: Final = {**CALL_COLUMNS, **CALL_EXTRAS}
_EVENT_KEYS: Final = {name: kind for name, kind in EVENT_COLUMNS.items() if name != "event_index"}

# Reasons that another parser may not find: NaN in a key that nobody reads, deeper nesting.
DOUBTFUL: Final = frozenset({NOT_JSON, CUT_OFF, TOO_DEEP})

Line = tuple[int, bytes, bool]
"""Number of the line, its bytes, and whether it ends in a newline."""


class _WrongError(Exception):
    """A value that its column cannot hold; the message is the reason."""


def read_lines(lines: Iterable[Line]) -> Batch:
    """Read lines one by one.

    Parameters
    ----------
    lines : iterable of (int, bytes, bool)
        Number, bytes and whether the line is complete.

    Returns
    -------
    Batch
        Every object on every line is either a round or a reject.

    """
    rows = _Rows()
    for number, content, complete in lines:
        text = content.decode("utf-8", "surrogateescape")  # bytes that are no UTF-8 become lone surrogates
        for place, value, reason in json_objects(text, _START, complete=complete):
            if reason is None:
                rows.add(number, place, value)
            else:
                rows.rejects.append(Reject(number, "round", place, reason))
    return rows.batch()


@dataclass(slots=True)
class _Rows:
    """Rows as they come, to be made columns of at the end."""

    rounds: list[tuple[Any, ...]] = field(default_factory=list)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    events: list[tuple[Any, ...]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    repaired: int = 0

    def add(self, line: int, place: int, value: Any) -> None:
        """Take in one JSON value as a round, with its calls and events."""
        taker = _Taker()
        row = len(self.rounds)
        try:
            if not isinstance(value, dict):
                raise _WrongError("not an object")
            taken = taker.take(value, ROUND_COLUMNS, "round")
            events, tools = (_list_of(value, key) for key in ("timing_events", "tools"))
        except _WrongError as wrong:
            self.rejects.append(Reject(line, "round", place, str(wrong)))
            return
        self.rounds.append((row, *taken))
        for index, event in enumerate(events):
            taken_event = self._child(taker, line, "event", index, event, _EVENT_KEYS)
            if taken_event is not None:
                self.events.append((row, index + 1, *taken_event))
        for index, call in enumerate(tools):
            taken_call = self._child(taker, line, "call", index, call, _CALL_KEYS)
            if taken_call is not None:
                self.calls.append((row, *taken_call))
        self.repaired += taker.repaired

    def _child(
        self, taker: _Taker, line: int, part: Part, index: int, value: Any, columns: Mapping[str, pa.DataType]
    ) -> list[Any] | None:
        before = taker.repaired
        try:
            if not isinstance(value, dict):
                raise _WrongError("not an object")
            return taker.take(value, columns, part)
        except _WrongError as wrong:
            taker.repaired = before
            self.rejects.append(Reject(line, part, index, str(wrong)))
            return None

    def batch(self) -> Batch:
        calls = dict(zip(CALLS.names, _columns(self.calls, CALLS, len(CALLS)), strict=True))
        said = {name: calls.pop(name) for name in CALL_EXTRAS}
        extras = call_extras(calls["command_status"], calls["tool_internal_latency_ms"], said)
        return Batch(
            rounds=pa.table(_columns(self.rounds, ROUNDS, len(ROUNDS)), schema=ROUNDS),
            calls=pa.table([*calls.values(), *extras], schema=CALLS),
            events=pa.table(_columns(self.events, EVENTS, len(EVENTS)), schema=EVENTS),
            rejects=tuple(self.rejects),
            repaired=self.repaired,
        )


def _columns(rows: list[tuple[Any, ...]], schema: pa.Schema, n: int) -> list[pa.Array]:
    columns = zip(*rows, strict=True) if rows else [()] * n
    return [pa.array(column, schema.field(i).type) for i, column in enumerate(columns)]


def _list_of(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    if found is None:
        raise _WrongError(f"missing {key}")
    if not isinstance(found, list):
        raise _WrongError(f"{key} is not a list")
    return found


class _Taker:
    """Takes values out of an object by the columns' types, and remembers whether text had to be repaired."""

    __slots__ = ("repaired",)

    def __init__(self) -> None:
        self.repaired = False

    def take(self, value: dict[str, Any], columns: Mapping[str, pa.DataType], part: Part) -> list[Any]:
        """Give the values in the order of the columns."""
        taken = [self._value(name, value.get(name), kind) for name, kind in columns.items()]
        for name in REQUIRED[part]:
            if value.get(name) is None:
                raise _WrongError(f"missing {name}")
        return taken

    def _value(self, name: str, value: Any, kind: pa.DataType) -> Any:
        if value is None:
            return None
        if kind is TEXT and isinstance(value, str):
            return self._text(value)
        if kind is INTEGER and type(value) in (int, float):  # a bool is an int to isinstance
            if -_INT64 <= value < _INT64 and value == int(value):
                return int(value)
        elif kind is SECONDS and type(value) in (int, float):
            if -_INT64 < value < _INT64:
                return float(value)
        elif kind is BOOLEAN and isinstance(value, bool):
            return value
        elif kind is TIME and isinstance(value, str):
            time = time_of(value)
            if time is not None:
                return time
        elif kind is TEXTS and isinstance(value, list) and all(item is None or isinstance(item, str) for item in value):
            return [None if item is None else self._text(item) for item in value]
        raise _WrongError(f"{name} is not {NAMES[kind]}")

    def _text(self, value: str) -> str:
        if value.isascii() or not _SURROGATE.search(value):
            return value
        self.repaired = True
        return _SURROGATE.sub("\ufffd", value)
