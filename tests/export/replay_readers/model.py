"""What every reader gives: sessions of steps in seconds and tokens, the wait on both sides of a step."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


class ReplayError(Exception):
    """A consumer would refuse the file, or misread it."""


@dataclass(frozen=True)
class Step:
    """One request as the consumer will make it.

    ``new`` are prompt tokens that the row says are not of the session's earlier context (None: the format has no field
    for it), ``shared`` the leading blocks of ``block`` tokens that it has in common with the request before it (None:
    no ids). ``tool_after`` and ``human_after`` where the format keeps them apart.
    """

    prompt: int
    output: int
    before: float
    after: float
    new: int | None = None
    shared: int | None = None
    block: int | None = None
    tool_after: float | None = None
    human_after: float | None = None


@dataclass(frozen=True)
class Session:
    """A session; ``parent`` names the one that started it and the number (from 1) of the step it ran in."""

    name: str
    steps: tuple[Step, ...]
    arrival: float = 0.0
    parent: tuple[str, int] | None = None

    @property
    def tokens(self) -> tuple[tuple[int, int], ...]:
        """What is asked and answered: by it a session is known whatever it is called."""
        return tuple((step.prompt, step.output) for step in self.steps)


def waits(befores: Sequence[float]) -> list[tuple[float, float]]:
    """Give (before, after) of each step from the waits before; what follows the last is 0."""
    if befores and befores[0] != 0:
        raise ReplayError(f"the first request of a session waits {befores[0]:g} s for a request before it")
    return list(zip(befores, [*befores[1:], 0.0], strict=True))


def waits_after(afters: Sequence[float]) -> list[tuple[float, float]]:
    """Give (before, after) of each step from the waits after; nothing may follow the last."""
    if afters and afters[-1] != 0:
        raise ReplayError(f"the last request of a session is followed by a wait of {afters[-1]:g} s that no one waits")
    return list(zip([0.0, *afters[:-1]], afters, strict=True))


def shift_waits(session: Session) -> Session:
    """Move every wait to the next gap of its session, as a writer that is off by one does."""
    afters = [0.0, *(step.after for step in session.steps[:-1])][: len(session.steps)]
    afters[-1:] = [0.0]
    pairs = waits_after(afters)
    return replace(
        session,
        steps=tuple(replace(s, before=b, after=a) for s, (b, a) in zip(session.steps, pairs, strict=True)),
    )


def shared_blocks(before: Sequence[int], ids: Sequence[int]) -> int:
    """Count leading ids in common with the request before: halving, since whole slices compare fast."""
    low, high = 0, min(len(before), len(ids))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[low:middle] == ids[low:middle] else (low, middle - 1)
    return low


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ReplayError(f"a key stands twice in {sorted(key for key, _ in pairs)}")
    return row


def _not_json(text: str) -> float:
    raise ReplayError(f"{text} is no JSON number")


def json_of(text: str | bytes) -> Any:
    """Read strict JSON: no NaN, no key twice."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_not_json)
    except json.JSONDecodeError as error:
        raise ReplayError(str(error)) from error


def json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read JSON lines; the last one ends with a newline, none is empty."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        raise ReplayError("the last line is cut")
    for number, line in enumerate(data.splitlines(), start=1):
        row = json_of(line)
        if not isinstance(row, dict):
            raise ReplayError(f"line {number} is no object")
        yield row


def keys(row: Mapping[str, object], needed: Set[str], more: Set[str] = frozenset()) -> None:
    """Refuse a key that is missing and one that the consumer does not know."""
    if missing := needed - row.keys():
        raise ReplayError(f"keys missing: {sorted(missing)}")
    if unknown := row.keys() - needed - more:
        raise ReplayError(f"keys unknown to the consumer: {sorted(unknown)}")


def whole(value: object, least: int = 0) -> int:
    """Take an integer, not a boolean, not a float that happens to be whole."""
    if type(value) is not int or not least <= value < 2**63:
        raise ReplayError(f"{value!r} is no integer of at least {least}")
    return value


def number(value: object, least: float = 0.0) -> float:
    """Take a finite number."""
    if type(value) not in (int, float) or not math.isfinite(value) or value < least:  # type: ignore[arg-type,operator]
        raise ReplayError(f"{value!r} is no finite number of at least {least:g}")
    return float(value)  # type: ignore[arg-type]


def text(value: object) -> str:
    """Take a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ReplayError(f"{value!r} is no text")
    return value


def block_ids(value: object, tokens: int, block: int, *, partial: bool) -> list[int]:
    """Take ids of blocks: distinct in the request, as many as ``tokens`` fill (``partial``: the last may be cut)."""
    if not isinstance(value, list):
        raise ReplayError(f"hash ids are no list but {value!r}")
    ids: list[int] = value
    if set(map(type, ids)) - {int} or min(ids, default=0) < 0:
        raise ReplayError("hash ids are counts")
    due = -(-tokens // block) if partial else tokens // block
    if len(ids) != due:
        raise ReplayError(f"{len(ids)} hash ids for {tokens} tokens in blocks of {block}: {due} are due")
    if len(set(ids)) < len(ids):
        raise ReplayError("a block stands twice in one request")
    return ids


class BlockSizes:
    """Whether an id names one content: of one session, and of one size."""

    def __init__(self) -> None:
        self._whole: dict[str, set[int]] = {}
        self._cut: dict[str, dict[int, int]] = {}

    def add(self, session: str, ids: Sequence[int], tokens: int, block: int) -> None:
        """Take the ids of a request; the last is cut where they hold more than ``tokens``."""
        whole_, cut = self._whole.setdefault(session, set()), self._cut.setdefault(session, {})
        over = len(ids) * block - tokens
        full = ids[:-1] if over > 0 else ids
        if (over > 0 and (ids[-1] in whole_ or cut.setdefault(ids[-1], over) != over)) or not cut.keys().isdisjoint(
            full
        ):
            raise ReplayError(f"{session}: an id has two sizes, but one id is one block")
        whole_.update(full)

    def check(self) -> None:
        """Refuse an id that two sessions have."""
        owned = [ids | self._cut[name].keys() for name, ids in self._whole.items()]
        if sum(map(len, owned)) != len(set().union(*owned)):
            raise ReplayError("two sessions have an id in common, but one id is one block of one session")
