"""Rounds of a store as rows of TraceLab v0.0.2.

Which keys a row has depends on the provider and on what is known: TraceLab's own order and gaps are kept, so that rows
that came from a release are written as they stood there, byte for byte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import polars as pl
from msgspec import UNSET

from tracestat.ingest.columns import CALL_EXTRAS
from tracestat.ingest.extras import extras_to_say

__all__ = ["encode_rounds"]

# A key whose value is not known is null in a row, unless it is one of those that TraceLab leaves out then: see below.
_COMMAND: Final = ("executables", "executable_parse_status", "executable_parse_reason", "command_skeleton")
_OFTEN_ABSENT: Final = ("continuation_of_tool_call_id", "command_status", "command_exit_code")
_SIZES: Final = ("input_chars", "result_chars", "tool_wall_latency_ms", "tool_internal_latency_ms", "is_error")
_CALL_HEAD: Final = ("tool_index", "tool_name", "tool_call_id", "emitted_at")
_CALL_TAIL: Final = (*_OFTEN_ABSENT, *_COMMAND, *CALL_EXTRAS)
# the one key whose place depends on the provider
_CLAUDE_CALL: Final = (*_CALL_HEAD, *_SIZES, "result_at", *_CALL_TAIL)
_OTHER_CALL: Final = (*_CALL_HEAD, "result_at", *_SIZES, *_CALL_TAIL)
_CALL_OF_EVENT: Final = ("tool_call_id", "tool_name", "tool_index")
_EVENT: Final = (
    "event_type",
    "timestamp",
    "source",
    *_CALL_OF_EVENT,
    "result_chars",
    "is_error",
    "content_chars",
)
_ROUND_HEAD: Final = (
    "provider",
    "project",
    "session_id",
    "round_index",
    "round_id",
    "turn_id",
    "model",
    "input_tokens_total",
    "prefix_tokens",
    "newly_append_tokens",
    "claude_uncached_input_tokens",
    "claude_cache_creation_input_tokens",
    "claude_cache_read_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)
_ROUND_TAIL: Final = (
    "current_input_event_count",
    "current_user_message_count",
    "current_tool_result_count",
    "current_user_message_chars",
    "current_tool_result_chars",
    "current_input_chars",
    "first_input_event_type",
    "trace_key",
    "user",
    "store",
)
_LISTS: Final = ("timing_events", "tools")
# Rows of one provider always have the key, those of another do only where the value is known.
_KEY_OF_PROVIDER: Final = {"project": "claude", "turn_id": "codex"}


def _object(name: str, keys: Iterable[str]) -> type[msgspec.Struct]:
    """Make a class of JSON objects with keys in this order; a key whose value is UNSET is left out."""
    return msgspec.defstruct(name, [(key, Any) for key in keys], gc=False)


_Round: Final = _object("_Round", (*_ROUND_HEAD, *_LISTS, *_ROUND_TAIL))
_Event: Final = _object("_Event", _EVENT)
_ClaudeCall: Final = _object("_ClaudeCall", _CLAUDE_CALL)
_OtherCall: Final = _object("_OtherCall", _OTHER_CALL)
_ENCODER: Final = msgspec.json.Encoder()

Column = list[Any]
Columns = dict[str, Column]
Lists = dict[int, list[msgspec.Struct]]


def encode_rounds(rounds: pl.DataFrame, calls: pl.DataFrame, events: pl.DataFrame) -> bytes:
    """Write rounds as JSON lines.

    Parameters
    ----------
    rounds, calls, events : polars.DataFrame
        Of the queries ``export_tracelab_rounds``, ``_calls`` and ``_events``, for the same range of rounds.

    Returns
    -------
    bytes
        A line per round, each with its newline.
    """
    columns = {name: rounds[name].to_list() for name in rounds.columns}
    claude = rounds.filter(pl.col("provider") == "claude")["round_pk"].implode()
    is_claude = pl.col("round_pk").is_in(claude)
    tools = _calls(calls.filter(is_claude), _ClaudeCall, _CLAUDE_CALL)
    tools |= _calls(calls.filter(~is_claude), _OtherCall, _OTHER_CALL)
    lists = {"timing_events": _events(events), "tools": tools}
    for name in ("user", "store"):
        columns[name] = _without_nulls(columns[name])
    for name, always in _KEY_OF_PROVIDER.items():
        columns[name] = [
            UNSET if value is None and provider != always else value
            for value, provider in zip(columns[name], columns["provider"], strict=True)
        ]
    for name, of_round in lists.items():
        columns[name] = [of_round.get(key, []) for key in columns["round_pk"]]
    return _ENCODER.encode_lines(_objects(_Round, columns, (*_ROUND_HEAD, *_LISTS, *_ROUND_TAIL)))


def _calls(frame: pl.DataFrame, kind: type[msgspec.Struct], keys: Sequence[str]) -> Lists:
    """Give the entries of ``tools`` of each round."""
    columns = {name: frame[name].to_list() for name in ("round_pk", *keys) if name not in CALL_EXTRAS}
    said = extras_to_say(
        frame["command_status"].to_arrow(),
        frame["tool_internal_latency_ms"].to_arrow(),
        {name: frame[name].to_arrow() for name in CALL_EXTRAS},
    )
    for name in _OFTEN_ABSENT:
        columns[name] = _without_nulls(columns[name])
    columns |= {name: _without_nulls(values.to_pylist()) for name, values in said.items()}
    # of a command all or nothing is known
    for row, facts in enumerate(zip(*(columns[name] for name in _COMMAND), strict=True)):
        if facts == (None, None, None, None):
            for name in _COMMAND:
                columns[name][row] = UNSET
    return _by_round(columns, kind, keys)


def _events(frame: pl.DataFrame) -> Lists:
    """Give the entries of ``timing_events`` of each round."""
    columns = {name: frame[name].to_list() for name in ("round_pk", *_EVENT)}
    for name in ("result_chars", "is_error", "content_chars"):
        columns[name] = _without_nulls(columns[name])
    for name in _CALL_OF_EVENT:  # the event of a call always names it
        columns[name] = [
            UNSET if value is None and of != "tool_call" else value
            for value, of in zip(columns[name], columns["event_type"], strict=True)
        ]
    return _by_round(columns, _Event, _EVENT)


def _without_nulls(column: Column) -> Column:
    return [UNSET if value is None else value for value in column]


def _objects(kind: type[msgspec.Struct], columns: Columns, keys: Sequence[str]) -> Iterator[msgspec.Struct]:
    return map(kind, *(columns[name] for name in keys))


def _by_round(columns: Columns, kind: type[msgspec.Struct], keys: Sequence[str]) -> Lists:
    lists: Lists = defaultdict(list)
    for key, made in zip(columns["round_pk"], _objects(kind, columns, keys), strict=True):
        lists[key].append(made)
    return lists
