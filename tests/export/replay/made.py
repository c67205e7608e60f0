"""One invented session whose replay is known by hand, and ways to make and read files of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tracestat
from tests.traces import Row, call, event, round_
from tracestat.export.replay.formats import FORMATS
from tracestat.export.replay.model import ReplaySession
from tracestat.export.replay.writing import ReplayExport
from tracestat.store import Trace

NAMES = tuple(form.name for form in FORMATS)
TEN_HOURS = 36_000


def tokens(prefix: int, append: int, output: int) -> Row:
    """Make the tokens of a round."""
    return {
        "input_tokens_total": prefix + append,
        "prefix_tokens": prefix,
        "newly_append_tokens": append,
        "output_tokens": output,
    }


def result(call_id: str, at: float) -> Row:
    """Make the input event of a result."""
    return event("tool_result", at, tool_call_id=call_id)


def four_steps(session: str = "s", at: float = 0.0, **more: Any) -> list[Row]:
    """Make a session: a tool of 10 s, a person of 100 s, a compaction, a tool of ten hours.

    Prompts of 1000, 1200, 300, 400 tokens, of which 900 (from before), 1000, 128, 310 are cached; outputs of
    24, 30, 10, 5. Generation takes 2, 3, 3, 4 s.
    """
    long = at + 118 + TEN_HOURS
    return [
        round_(
            session,
            0,
            [call(f"{session}a", at + 2, at + 12)],
            events=[event("user_message", at)],
            **tokens(900, 100, 24),
            **more,
        ),
        round_(session, 1, text=at + 15, events=[result(f"{session}a", at + 12)], **tokens(1000, 200, 30), **more),
        round_(
            session,
            2,
            [call(f"{session}b", at + 118, long)],
            events=[event("user_message", at + 115)],
            **tokens(128, 172, 10),
            **more,
        ),
        round_(session, 3, text=long + 4, events=[result(f"{session}b", long)], **tokens(310, 90, 5), **more),
    ]


def export(trace: Trace, path: Path, form: str, **options: Any) -> ReplayExport:
    """Write a file or folder, whatever its ending must be."""
    ending = next(known for known in FORMATS if known.name == form).endings
    return tracestat.export_replay(trace, path.with_suffix(ending[0]) if ending else path, format=form, **options)


def rows(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, or the files of a folder, or a table."""
    if path.is_dir():
        return [json.loads(file.read_bytes()) for file in sorted(path.iterdir())]
    if path.suffix == ".csv":
        head, *lines = path.read_text().splitlines()
        return [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]
    return [json.loads(line) for line in path.read_text().splitlines()]


def waits(written: ReplayExport) -> list[float]:
    """Give all pauses of a file, in seconds and in its order; one per step, 0 at its open end."""
    read = rows(written.path)
    match written.format:
        case "aiperf-mooncake":
            return [row.get("delay", 0) / 1e3 for row in read]
        case "dynamo-agentic-mooncake":
            return [sum(wait["delay_ms"] for wait in row["dependencies"]) / 1e3 for row in read[1:]]
        case "kv-cache-tester":
            return [request["think_time"] for row in read for request in row["requests"]]
        case "llmservingsim":
            return [part["tool_duration_ns"] / 1e9 for row in read for part in row["sub_requests"]]
        case "blis-v2":
            return [int(row["think_time_us"]) / 1e6 for row in read]
    return [float(row["tool_wait_after_ms"]) / 1e3 for row in read]


def contents(folder: Path) -> dict[str, bytes]:
    """Read every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def replay_session(
    prompts: Sequence[int], prefixes: Sequence[int], outputs: Sequence[int], number: int = 1
) -> ReplaySession:
    """Make a session of tokens alone."""
    prompt, prefix, output = (np.array(values, dtype=np.int64) for values in (prompts, prefixes, outputs))
    none = np.zeros(len(prompt), dtype=np.int64)
    return ReplaySession(
        number=number,
        start_us=0,
        prompt=prompt,
        prefix=prefix,
        output=output,
        tool_us=none,
        human_us=none,
        generation_us=none,
        submitted_us=none,
        last_output_us=none,
        kind=("none",) * len(prompt),
        calls=none > 0,
        models=("",) * len(prompt),
    )
