"""The true names behind ``custom_N``: a side file next to the store, for its owner's screen.

Kept only when ``ingest --keep-names`` asks for it, readable by its owner only, and never part of the store, so that a
store can be given away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tracestat.errors import TracestatError
from tracestat.replacing import replacing

__all__ = ["PrivateNames", "names_path", "read_names", "true_names", "write_names"]

_NUMBERED: Final = re.compile(r"\b(?:custom_(?:tool_|model_)?[0-9]{1,9}|project_[0-9a-f]{8})\b")


@dataclass(frozen=True, slots=True)
class PrivateNames:
    """What a names file holds.

    Attributes
    ----------
    seen : dict of str to str
        Kind and token, joined by a blank, to the true name.
    shown : dict of str to str
        Name in the store to the true name.
    """

    seen: dict[str, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)


def names_path(store: Path) -> Path:
    """Give the place of the names file of a store."""
    return store.with_name(store.name + ".names.json")


def read_names(store: Path) -> PrivateNames | None:
    """Read the names file of a store; None if it has none.

    Raises
    ------
    TracestatError
        The file is there and cannot be read.
    """
    path = names_path(store)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TracestatError(f"{path.name}: {error.strerror}") from error
    try:
        made = json.loads(text)
        seen, shown = ({str(k): str(v) for k, v in made[part].items()} for part in ("seen", "shown"))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise TracestatError(f"{path.name}: damaged; remove it, or make it again with ingest --keep-names") from None
    return PrivateNames(seen, shown)


def write_names(store: Path, names: PrivateNames) -> None:
    """Write the names file of a store, for its owner only.

    Raises
    ------
    TracestatError
        It cannot be written.
    """
    with (
        replacing(names_path(store), private=True) as beside,
        beside.open("w", encoding="utf-8", errors="replace") as file,
    ):
        json.dump({"seen": names.seen, "shown": names.shown}, file, ensure_ascii=False, indent=1)


def true_names(text: str, shown: Mapping[str, str]) -> str:
    """Put true names in place of numbered ones.

    Examples
    --------
    >>> true_names("custom_1 | tail", {"custom_1": "deploy"})
    'deploy | tail'
    """
    return _NUMBERED.sub(lambda match: shown.get(match.group(), match.group()), text)
