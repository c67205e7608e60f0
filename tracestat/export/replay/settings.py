"""What the writers of all formats are told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tracestat.export.attribution import Attribution

__all__ = ["Settings", "json_line", "thousands"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the writers of all formats are told.

    Attributes
    ----------
    block_size : int
        Tokens per cache block.
    recorded_start : bool
        Whether sessions begin as recorded, or all at once.
    token_ids : bool
        Whether every token gets an id (llmservingsim).
    about : Attribution
        Whose data it is.
    """

    block_size: int
    recorded_start: bool
    token_ids: bool
    about: Attribution


def json_line(row: dict[str, Any]) -> bytes:
    r"""Write one line of JSON.

    Examples
    --------
    >>> json_line({"delay": 5})
    b'{"delay":5}\n'
    """
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def thousands(count: int) -> int | float:
    """Turn microseconds into milliseconds without loss: whole where they are.

    Examples
    --------
    >>> thousands(7_000_000), thousands(1_500)
    (7000, 1.5)
    """
    whole, rest = divmod(count, 1000)
    return count / 1000 if rest else whole
