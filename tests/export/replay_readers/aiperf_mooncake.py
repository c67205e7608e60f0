"""AIPerf's ``mooncake_trace``: JSON lines, a row per turn, ``delay`` in ms before the turn.

Written from the format's description and from ai-dynamo/aiperf 0.13.0: ``aiperf/dataset/loader/models.py``
(MooncakeTrace), ``mooncake_trace.py`` (turns of a session in the order of the file) and
``aiperf/dataset/generator/prompt.py`` (512 tokens per id unless told; the last block may be partial; an id has one
size).
"""

from __future__ import annotations

from pathlib import Path

from tests.export.replay_readers.model import (
    BlockSizes,
    ReplayError,
    Session,
    Step,
    block_ids,
    json_rows,
    keys,
    number,
    shared_blocks,
    text,
    waits,
    whole,
)

BLOCK = 512
_NEEDED = {"session_id", "input_length", "output_length", "hash_ids"}


def read(path: Path) -> list[Session]:
    """Read a file."""
    turns: dict[str, list[tuple[int, int, float, list[int]]]] = {}
    arrivals: dict[str, float] = {}
    sizes = BlockSizes()
    for row in json_rows(path):
        name = text(row.get("session_id"))
        first = name not in turns
        keys(row, _NEEDED | ({"timestamp"} if first else {"delay"}))
        prompt, output = whole(row["input_length"], 1), whole(row["output_length"], 1)
        ids = block_ids(row["hash_ids"], prompt, BLOCK, partial=True)
        sizes.add(name, ids, prompt, BLOCK)
        if first:
            arrivals[name] = number(row["timestamp"]) / 1e3
        elif list(turns)[-1] != name:
            raise ReplayError(f"the turns of {name} do not stand together")
        wait = 0.0 if first else whole(row["delay"]) / 1e3
        turns.setdefault(name, []).append((prompt, output, wait, ids))
    return [Session(name, _steps(rows), arrivals[name]) for name, rows in turns.items()]


def _steps(rows: list[tuple[int, int, float, list[int]]]) -> tuple[Step, ...]:
    befores = [[], *(ids for *_, ids in rows[:-1])]
    return tuple(
        Step(prompt, output, before, after, shared=shared_blocks(earlier, ids), block=BLOCK)
        for (prompt, output, _, ids), earlier, (before, after) in zip(
            rows, befores, waits([wait for _, _, wait, _ in rows]), strict=True
        )
    )
