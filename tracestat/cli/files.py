"""Files that a command writes: checked before any work is done, then built beside their place and renamed into it."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracestat.errors import TracestatError, UsageError

if TYPE_CHECKING:
    from tracestat.results import Json

__all__ = ["check_no_input", "check_target", "describe_file"]


def check_target(path: Path | None, option: str, endings: Sequence[str]) -> Path | None:
    """Refuse a file that cannot be written, before anything is computed.

    Parameters
    ----------
    path : Path or None
        What the user gave.
    option : str
        The option it was given to, for the message.
    endings : sequence of str
        The allowed endings, each with its dot.

    Raises
    ------
    UsageError
        The ending says no known format.
    TracestatError
        The folder does not exist, or the path is a folder.
    """
    if path is None:
        return None
    if not path.name.lower().endswith(tuple(endings)):
        raise UsageError(f"{option} {path.name}: the name must end in {' or '.join(endings)}")
    if path.is_dir():
        raise TracestatError(f"{option} {path.name}: this is a folder; name a file")
    if not path.absolute().parent.is_dir():
        raise TracestatError(f"{option} {path.name}: its folder does not exist; create it first")
    return path


def check_no_input(path: Path | None, option: str, inputs: Sequence[Path | None]) -> None:
    """Refuse a file that the command reads, by whatever name, or that lies in a folder that it reads.

    Parameters
    ----------
    path : Path or None
        What is to be written.
    option : str
        The option it was given to, for the message.
    inputs : sequence of Path or None
        Files and folders that are read.

    Raises
    ------
    UsageError
        Writing would replace an input, or put a file among the inputs.
    """
    if path is None:
        return
    for source in inputs:
        if source is None:
            continue
        if _same(path, source):
            raise UsageError(f"{option} {path.name}: this file is read by the command; write to another one")
        if source.is_dir() and _is_in(path, source):
            raise UsageError(
                f"{option} {path.name}: it lies in {source.name or 'the folder'}, which is read; choose another place"
            )


def _same(one: Path, other: Path) -> bool:
    # what is not there cannot be overwritten
    with contextlib.suppress(OSError):
        return one.samefile(other)
    return False


def _is_in(path: Path, folder: Path) -> bool:
    """Tell whether a path lies in a folder, or is one of its files by a link."""
    if any(_same(parent, folder) for parent in Path(os.path.realpath(path)).parents):
        return True
    return path.exists() and any(
        _same(path, Path(place) / name) for place, _, names in os.walk(folder) for name in names
    )


def describe_file(path: Path, *, rows: int | None) -> dict[str, Json]:
    """Give the machine-readable line about a written file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path.name, "rows": rows, "bytes": path.stat().st_size, "sha256": digest}
