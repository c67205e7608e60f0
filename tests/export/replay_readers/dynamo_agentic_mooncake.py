"""Dynamo's ``agentic_mooncake`` as the released reader takes it: a header, a row per request, ``delay_ms`` before.

Written from the description of Agentic Mooncake v2 and from what ai-dynamo-runtime 1.6.1 accepts and refuses: the
header is the first line; a request starts when those it depends on have triggered and ``delay_ms`` (a fraction is
fine) is over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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

_HEADER = {"schema", "version", "block_size", "hash_id_scope", "source"}
_ABOUT = {"about"}  # ours
_ROW = {
    *("request_id", "play_id", "session_id", "model", "input_length", "output_length", "hash_ids"),
    *("not_before_ms", "dependencies"),
}
_MORE = {"tool_wait_ms", "human_wait_ms"}  # ours: a key that the reader does not know passes it by
_DEPENDENCY = {"request_id", "trigger", "delay_ms", "relation"}


def read(path: Path) -> list[Session]:
    """Read a file."""
    header, *rows = list(json_rows(path)) or [{}]
    keys(header, _HEADER, _ABOUT)
    known = ("dynamo.agentic_mooncake", 2, "local")
    if (header["schema"], header["version"], header["hash_id_scope"]) != known:
        raise ReplayError(f"the header is not that of {known}")
    keys(header["source"], {"format", "digest"})
    block = whole(header["block_size"], 1)
    of_session: dict[str, list[dict[str, Any]]] = {}
    place: dict[str, tuple[str, int]] = {}
    sizes = BlockSizes()
    for row in rows:
        keys(row, _ROW, _MORE)
        name, request = text(row["session_id"]), text(row["request_id"])
        text(row["model"])
        prompt = whole(row["input_length"], 1)
        whole(row["output_length"], 1)
        sizes.add(name, block_ids(row["hash_ids"], prompt, block, partial=True), prompt, block)
        if request in place:
            raise ReplayError(f"two requests are called {request}")
        mine = of_session.setdefault(name, [])
        mine.append(row)
        place[request] = (name, len(mine))
    sizes.check()
    return [_session(name, mine, place, block) for name, mine in of_session.items()]


def _session(name: str, rows: list[dict[str, Any]], place: dict[str, tuple[str, int]], block: int) -> Session:
    befores: list[float] = []
    parent: tuple[str, int] | None = None
    for number_, row in enumerate(rows, start=1):
        found: dict[str, list[tuple[tuple[str, int], str, float]]] = {"sequence": [], "spawn": [], "join": []}
        for item in row["dependencies"]:
            keys(item, _DEPENDENCY)
            if item["relation"] not in found or item["trigger"] not in ("completion", "dispatch"):
                raise ReplayError(f"unknown dependency {item}")
            if item["request_id"] not in place:
                raise ReplayError(f"{row['request_id']} waits for {item['request_id']}, which is not in the file")
            found[item["relation"]].append((place[item["request_id"]], item["trigger"], number(item["delay_ms"]) / 1e3))
        if number_ == 1:
            if found["sequence"] or found["join"]:
                raise ReplayError(f"{row['request_id']} is the first of its session and follows another")
            parent = found["spawn"][0][0] if found["spawn"] else None
            befores.append(0.0)
            continue
        if len(found["sequence"]) != 1 or found["sequence"][0][:2] != ((name, number_ - 1), "completion"):
            raise ReplayError(f"{row['request_id']} does not follow the request before it in its session")
        befores.append(found["sequence"][0][2])
    told = [_parts(row, before) for row, before in zip(rows, befores, strict=True)]
    parts = [*told[1:], told[0]]  # what stands before a request is after the one before it; the first's are 0
    earlier = [[], *(row["hash_ids"] for row in rows[:-1])]
    steps = tuple(
        Step(
            prompt=row["input_length"],
            output=row["output_length"],
            before=before,
            after=after,
            shared=shared_blocks(ids, row["hash_ids"]),
            block=block,
            tool_after=tool,
            human_after=human,
        )
        for row, ids, (before, after), (tool, human) in zip(rows, earlier, waits(befores), parts, strict=True)
    )
    return Session(name, steps, number(rows[0]["not_before_ms"]) / 1e3, parent)


def _parts(row: dict[str, Any], before: float) -> tuple[float | None, float | None]:
    if not _MORE & row.keys():
        return None, None
    keys(row, _ROW | _MORE)
    tool, human = number(row["tool_wait_ms"]) / 1e3, number(row["human_wait_ms"]) / 1e3
    if abs(tool + human - before) > 1e-6:
        raise ReplayError(
            f"{row['request_id']}: {tool} s of tools and {human} s of a person before it, but {before} s in all"
        )
    return tool, human
