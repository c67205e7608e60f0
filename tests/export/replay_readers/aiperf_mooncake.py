"""AIPerf's ``mooncake_trace``: JSON lines, a row per turn, ``delay`` in ms before the turn.

Written from the format's description and from ai-dynamo/aiperf 0.13.0: ``aiperf/dataset/loader/models.py``
(MooncakeTrace), ``mooncake_trace.py`` (turns of a session in the order of the file; no context mode of its own),
``aiperf/workers/session_manager.py`` (then a turn is what is added to all earlier turns and the answers to them, so
``input_length`` is the new part) and ``aiperf/dataset/generator/prompt.py`` (512 tokens per id unless told; the last
block may be partial; an id has one size). A ``timestamp`` in the first row switches on the fixed schedule.
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
    text,
    waits,
    whole,
)

BLOCK = 512
_NEEDED = {"session_id", "input_length", "output_length", "hash_ids"}


def read(path: Path) -> list[Session]:
    """Read a file."""
    turns: dict[str, list[tuple[int, int, float]]] = {}
    arrivals: dict[str, float | None] = {}
    sizes = BlockSizes()
    used: set[int] = set()
    for row in json_rows(path):
        name = text(row.get("session_id"))
        first = name not in turns
        keys(row, _NEEDED | (set() if first else {"delay"}), {"timestamp"} if first else set())
        new, output = whole(row["input_length"], 1), whole(row["output_length"], 1)
        ids = block_ids(row["hash_ids"], new, BLOCK, partial=True)
        sizes.add(name, ids, new, BLOCK)
        if used & set(ids):
            raise ReplayError(f"{name}: what is added to a context is not new: {sorted(used & set(ids))}")
        used |= set(ids)
        if first:
            arrivals[name] = number(row["timestamp"]) / 1e3 if "timestamp" in row else None
        elif list(turns)[-1] != name:
            raise ReplayError(f"the turns of {name} do not stand together")
        turns.setdefault(name, []).append((new, output, 0.0 if first else whole(row["delay"]) / 1e3))
    sizes.check()
    if len({arrival is None for arrival in arrivals.values()}) > 1:
        raise ReplayError("some sessions have a timestamp and some have none")
    return [Session(name, _steps(rows), arrivals[name] or 0.0) for name, rows in turns.items()]


def _steps(rows: list[tuple[int, int, float]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for (new, output, _), (before, after) in zip(rows, waits([wait for *_, wait in rows]), strict=True):
        context = steps[-1].prompt + steps[-1].output if steps else 0
        steps.append(Step(context + new, output, before, after, new=new))
    return tuple(steps)
