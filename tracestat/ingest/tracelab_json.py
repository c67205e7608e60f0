"""The fast reader of TraceLab's JSON lines, which vouches for what it gives.

Arrow parses a whole block with the types pinned. It is strict about types, but not about lines, Unicode or missing
values; so a block is taken only if it can be wrong in none of these. A block that fails is cut into pieces and tried
again, down to a few lines that the exact reader (``strict``) takes. Both give the same rows; the one thing that only
Arrow can say of a line is that it is JSON after all: its parser goes deeper, and lets NaN stand where nobody looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from tracestat.ingest.batch import CALLS, EVENTS, ROUNDS, Batch, Reject, append
from tracestat.ingest.blocks import Block
from tracestat.ingest.columns import (
    CALL_COLUMNS,
    CALL_EXTRAS,
    EVENT_COLUMNS,
    INTEGER,
    REQUIRED,
    ROUND_COLUMNS,
    SECONDS,
    TEXT,
    TIME,
)
from tracestat.ingest.extras import call_extras
from tracestat.ingest.strict import DOUBTFUL, Line, read_lines
from tracestat.ingest.times import times_of

__all__ = ["read_block", "read_block_exactly"]

_PIECES: Final = 8
_FEW_LINES: Final = 16
_MOST_SECONDS: Final = 2.0**63
_NEWLINE, _RETURN, _OPEN, _CLOSE = b"\n\r{}"


def _as_text(columns: dict[str, pa.DataType]) -> pa.DataType:
    """Give the fields of an object with times as text, which our own rule converts."""
    return pa.struct(
        [(name, TEXT if kind is TIME else kind) for name, kind in columns.items() if name != "event_index"]
    )


_CALL_KEYS: Final = {**CALL_COLUMNS, **CALL_EXTRAS}
_CALL: Final = _as_text(_CALL_KEYS)
_EVENT: Final = _as_text(EVENT_COLUMNS)
_LINE: Final = pa.schema([*ROUND_COLUMNS.items(), ("timing_events", pa.list_(_EVENT)), ("tools", pa.list_(_CALL))])
_PARSE: Final = pa.json.ParseOptions(explicit_schema=_LINE, unexpected_field_behavior="ignore")


def read_block(block: Block) -> Batch:
    """Read a block of lines.

    Parameters
    ----------
    block : Block
        Complete lines, or the rest of a file.

    Returns
    -------
    Batch
        Its rounds, calls, events and rejects, in the order of the lines.
    """
    if block.too_long:
        return _rejected(block.first_line, "longer than a line may be")
    batch = _fast(block.data)
    if batch is not None:
        return batch
    lines = list(_lines(block))
    return append(list(_pieces(lines, _FEW_LINES * _PIECES ** _depth(len(lines)))))


def read_block_exactly(block: Block) -> Batch:
    """Read a block line by line with the exact reader: what :func:`read_block` must agree with."""
    if block.too_long:
        return _rejected(block.first_line, "longer than a line may be")
    return _exact(list(_lines(block)))


def _depth(n: int) -> int:
    """Count how often a failed block of n lines is worth cutting."""
    depth = 0
    while n > _FEW_LINES * _PIECES ** (depth + 1):
        depth += 1
    return depth


def _pieces(lines: list[Line], size: int) -> Iterator[Batch]:
    """Read lines piece by piece, smaller pieces where one fails."""
    for start in range(0, len(lines), size):
        piece = lines[start : start + size]
        batch = None if len(piece) == len(lines) else _fast(b"\n".join(line for _, line, _ in piece))
        if batch is not None:
            yield batch
        elif size > _FEW_LINES:
            yield from _pieces(piece, size // _PIECES)
        else:
            yield _exact(piece)


def _exact(lines: list[Line]) -> Batch:
    batch = read_lines(lines)
    doubtful = {reject.line for reject in batch.rejects if reject.part == "round" and reject.reason in DOUBTFUL}
    found = {number: _fast(content) for number, content, _ in lines if number in doubtful}
    if not any(found.values()):
        return batch
    return append([found.get(line[0]) or read_lines([line]) for line in lines])


def _rejected(line: int, reason: str) -> Batch:
    return Batch(ROUNDS.empty_table(), CALLS.empty_table(), EVENTS.empty_table(), (Reject(line, "round", 0, reason),))


def _lines(block: Block) -> Iterator[Line]:
    contents = bytes(block.data).split(b"\n")
    last = len(contents) - 1
    for i, content in enumerate(contents):
        if content.strip():
            yield block.first_line + i, content, block.complete or i < last


def _fast(data: bytes | bytearray | memoryview) -> Batch | None:
    """Read lines with Arrow; None where the exact reader has to look."""
    lines = _count_lines(data)
    if lines is None:
        return None
    try:
        table = pa.json.read_json(
            pa.BufferReader(data),
            read_options=pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=_PARSE,
        )
    except pa.ArrowInvalid:
        return None
    needed = (*REQUIRED["round"], "timing_events", "tools")
    if table.num_rows != lines or any(table[name].null_count for name in needed):
        return None
    events = _children(table["timing_events"], EVENT_COLUMNS, REQUIRED["event"])
    calls = _children(table["tools"], _CALL_KEYS, REQUIRED["call"])
    if events is None or calls is None:
        return None
    said = {name: calls[name] for name in CALL_EXTRAS}
    extras = call_extras(calls["command_status"], calls["tool_internal_latency_ms"], said)
    rows = pa.array(np.arange(lines), INTEGER)
    return Batch(
        rounds=pa.table([rows, *(table[name] for name in ROUND_COLUMNS)], schema=ROUNDS),
        calls=pa.table([*(calls[name] for name in ("row", *CALL_COLUMNS)), *extras], schema=CALLS),
        events=pa.table([events[name] for name in EVENTS.names], schema=EVENTS),
    )


def _count_lines(data: bytes | bytearray | memoryview) -> int | None:
    """Count lines that hold one object each, in Unicode; None if there may be others."""
    text = np.frombuffer(data, np.uint8)
    if not text.size or text[0] != _OPEN:  # Arrow crashes on a first row that is null
        return None
    ends = np.flatnonzero(text == _NEWLINE)
    begins = ends[:-1] + 1 if ends.size and ends[-1] == text.size - 1 else ends + 1
    before = text[ends - 1]
    before = np.where(before == _RETURN, text[ends - 2], before)
    # A newline between } and { is never inside a value: with as many rows as lines, each line is one object.
    if (before != _CLOSE).any() or (text[begins] != _OPEN).any():
        return None
    try:
        str(data, "utf-8") if text.max() > 127 else None
    except UnicodeDecodeError:
        return None
    return begins.size + 1


def _is_moderate(seconds: pa.Array) -> bool:
    """Tell whether numbers are within the bounds that the exact reader sets; NaN and Infinity are not."""
    if seconds.null_count == len(seconds):
        return True
    return bool(pc.all(pc.less(pc.abs(seconds), _MOST_SECONDS)).as_py())


def _children(
    lists: pa.ChunkedArray, columns: dict[str, pa.DataType], required: tuple[str, ...]
) -> dict[str, pa.Array] | None:
    """Flatten a column of lists of objects into columns; None if any of them is not as it must be."""
    column = lists.combine_chunks() if lists.num_chunks != 1 else lists.chunk(0)
    flat = column.flatten()
    if flat.null_count:
        return None
    fields = dict(zip((field.name for field in flat.type), flat.flatten(), strict=True))
    if any(fields[name].null_count for name in required):
        return None
    for name, kind in columns.items():
        if kind is TIME:
            times = times_of(fields[name])
            if times is None:
                return None
            fields[name] = times
        elif kind is SECONDS and not _is_moderate(fields[name]):
            return None
    rows = column.value_parent_indices().to_numpy()
    fields["row"] = pa.array(rows, INTEGER)
    if "event_index" in columns:
        offsets = column.offsets.to_numpy()
        fields["event_index"] = pa.array(np.arange(1, len(rows) + 1) - (offsets[rows] - offsets[0]), INTEGER)
    return fields
