"""BLIS TraceV2: a YAML header and a CSV, ``think_time_us`` before the round.

Written from inference-sim/inference-sim ``sim/workload/tracev2.go`` @0045b72 (header fields, any other is refused; the
27 columns by position, extra ones after them; what ``parseTraceRecord`` refuses), and from its ``replay.go``,
``trace_encode.go`` and ``fixed_accumulate.go`` of the version with ``session_context_growth`` (rounds from 0 without a
hole; ``think_time_us`` is the pause before; a session whose every value is 0 counts as not recorded and falls back to
arrival gaps; with ``accumulate`` a prompt is the prompt before, its output, and this row's ``input_tokens``).
"""

from __future__ import annotations

import csv
from pathlib import Path

from tests.export.replay_readers.model import ReplayError, Session, Step, text, waits

COLUMNS = (
    *("request_id", "client_id", "tenant_id", "slo_class", "session_id", "round_index", "prefix_group"),
    *("prefix_length", "streaming", "input_tokens", "output_tokens", "text_tokens", "image_tokens", "audio_tokens"),
    *("video_tokens", "reason_ratio", "model", "deadline_us", "server_input_tokens", "arrival_time_us", "send_time_us"),
    *("first_chunk_time_us", "last_chunk_time_us", "num_chunks", "status", "error_message", "finish_reason"),
)
_MORE = ("think_time_us", "input_tokens_reset")
_FIELDS = {
    *("trace_version", "time_unit", "created_at", "mode", "warm_up_requests", "workload_seed", "workload_spec"),
    *("session_context_growth",),
}
_COUNTS = (
    *("request_id", "round_index", "prefix_length", "input_tokens", "output_tokens", "text_tokens", "image_tokens"),
    *("audio_tokens", "video_tokens", "deadline_us", "server_input_tokens", "arrival_time_us", "send_time_us"),
    *("first_chunk_time_us", "last_chunk_time_us", "num_chunks", "think_time_us"),
)


def read_header(path: Path) -> dict[str, str]:
    """Read the flat part of YAML that a header needs: ``key: value`` lines and comments."""
    fields: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or line[:1].isspace() or key in fields or key not in _FIELDS:
            raise ReplayError(f"the consumer refuses this line of the header: {line!r}")
        fields[key] = value.strip().strip("\"'")
    if fields.get("trace_version") not in ("2", "3") or fields.get("time_unit") not in ("us", "microseconds"):
        raise ReplayError(f"neither version 2 nor 3 in microseconds: {fields}")
    if fields.get("session_context_growth") != "accumulate":
        raise ReplayError("without session_context_growth: accumulate, input_tokens would be whole prompts")
    return fields


def read(header: Path, data: Path) -> list[Session]:
    """Read a header and its rows."""
    read_header(header)
    with data.open(newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file, strict=True)) or [[]]
    if tuple(names[: len(COLUMNS)]) != COLUMNS or set(names[len(COLUMNS) :]) - set(_MORE):
        raise ReplayError(f"the columns are not those of the consumer: {names}")
    if "think_time_us" not in names:
        raise ReplayError("no column think_time_us: pauses would be made of arrival gaps")
    sessions: dict[str, list[dict[str, str]]] = {}
    numbers: set[str] = set()
    for values in rows:
        if len(values) != len(names):
            raise ReplayError(f"{len(values)} values for {len(names)} columns")
        row = dict(zip(names, values, strict=True))
        for column in _COUNTS:
            if not (row[column].isascii() and row[column].isdigit()):
                raise ReplayError(f"{column} is {row[column]!r}, not a count")
        if row["streaming"] not in ("true", "false") or not 0 <= float(row["reason_ratio"]) <= 1:
            raise ReplayError(f"streaming {row['streaming']!r} or reason_ratio {row['reason_ratio']!r} is refused")
        if row["request_id"] in numbers:
            raise ReplayError(f"request_id {row['request_id']} stands twice")
        numbers.add(row["request_id"])
        if int(row["server_input_tokens"]) and not row["prefix_group"]:
            raise ReplayError("server_input_tokens is set: it would be taken in place of input_tokens")
        sessions.setdefault(text(row["session_id"]), []).append(row)
    return [_session(name, rows_) for name, rows_ in sessions.items()]


def _session(name: str, rows: list[dict[str, str]]) -> Session:
    rows = sorted(rows, key=lambda row: int(row["round_index"]))
    if [int(row["round_index"]) for row in rows] != list(range(len(rows))):
        raise ReplayError(f"{name}: rounds are not 0, 1, 2 ...")
    thinks = [int(row["think_time_us"]) for row in rows]
    if len(rows) > 1 and not all(thinks[1:]):
        raise ReplayError(f"{name}: a think time of 0 counts as not recorded")
    steps: list[Step] = []
    pairs = waits([0.0, *(think / 1e6 for think in thinks[1:])])
    for row, (before, after) in zip(rows, pairs, strict=True):
        new, output = int(row["input_tokens"]), int(row["output_tokens"])
        reset = row.get("input_tokens_reset") or ""
        prompt = new if not steps else steps[-1].prompt + steps[-1].output + new
        if reset and steps:
            prompt = new = int(reset)
        if prompt < 1 or output < 1:
            raise ReplayError(f"{name}: a prompt of {prompt} or an output of {output} tokens")
        steps.append(Step(prompt, output, before, after, new=new))
    return Session(name, tuple(steps), int(rows[0]["arrival_time_us"]) / 1e6)
