"""What a file says of another one beside it: ``FILE.about.json``, whose data the file is and under which licence.

Exports write it (`tracestat.export.attribution`), and ``synth`` beside what it draws from a profile. Ingest passes over
it where it looks for traces, and carries what it says of a source on in the note of that source, so that a second
export still names the authors.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import tracestat
from tracestat.errors import TracestatError
from tracestat.replacing import replacing

__all__ = [
    "ABOUT_ENDING",
    "ABOUT_SCHEMA",
    "MOST_CHARS",
    "UNKNOWN",
    "about_note",
    "about_path",
    "is_about",
    "licence_in",
    "write_said",
]

ABOUT_ENDING: Final = ".about.json"
ABOUT_SCHEMA: Final = "tracestat.about/1"
_ANY_VERSION: Final = "tracestat.about/"
_MOST_BYTES: Final = 1 << 20
MOST_CHARS: Final = 1000
_MARK: Final = "about "
UNKNOWN: Final = "the source states no licence: ask whose data it is before you pass this on"


def _read(path: Path) -> dict[str, Any] | None:
    """Give what stands in such a file, of whatever version."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        value = json.loads(content) if len(content) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    schema = value.get("schema") if isinstance(value, dict) else None
    return value if isinstance(schema, str) and schema.startswith(_ANY_VERSION) else None


def is_about(path: Path) -> bool:
    """Tell whether a file only says whose data another one is: by its name and by what it says of itself."""
    return path.name.endswith(ABOUT_ENDING) and _read(path) is not None


def _line(value: object) -> str | None:
    """Take one line of text that can be shown; whoever wrote the file may be anyone."""
    fits = isinstance(value, str) and 0 < len(value.strip()) <= MOST_CHARS and value.isprintable()
    return value.strip() if isinstance(value, str) and fits else None


def about_path(path: Path) -> Path:
    """Give the file that stands beside one whose format has no room for it.

    Examples
    --------
    >>> about_path(Path("replay.jsonl")).name
    'replay.jsonl.about.json'
    """
    return path.with_name(path.name + ABOUT_ENDING)


def write_said(
    path: Path, said: Mapping[str, str | bool | None], *, notes: tuple[str, ...] = (), digest: str | None = None
) -> Path:
    """Write what is said of a finished file beside it; arguments as of `tracestat.export.attribution.write_about`.

    Raises
    ------
    TracestatError
        It cannot be written.
    """
    if digest is None:
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise TracestatError(f"{path.name}: {error.strerror or 'cannot be read'}") from None
    body = {
        "schema": ABOUT_SCHEMA,
        "tracestat": tracestat.__version__,
        "file": path.name,
        "sha256": digest,
        **said,
        "notes": list(notes),
    }
    place = about_path(path)
    with replacing(place) as beside:
        beside.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return place


def about_note(source: Path, sha256: str | None) -> str | None:
    """Give the note of a source that has such a file beside it.

    Parameters
    ----------
    source : Path
    sha256 : str or None
        Of its content: what is said of other content is not taken.

    Returns
    -------
    str or None
        None where there is no such file, or one that knows nothing; `licence_in` reads the note.
    """
    place = about_path(source)
    said = _read(place) if place.is_file() else None
    if said is None:
        return None
    whom, licence = _line(said.get("attribution")), said.get("licence")
    if said["schema"] != ABOUT_SCHEMA or whom is None or (licence is not None and _line(licence) is None):
        return f"{place.name} is damaged or of a newer tracestat: its licence is not taken"
    if licence is None and whom == UNKNOWN:
        return None
    if said.get("sha256") != sha256:
        return f"{place.name} speaks of other content: its licence is not taken"
    return _MARK + json.dumps({"licence": _line(licence), "attribution": whom}, ensure_ascii=False)


def licence_in(note: str | None) -> tuple[str | None, str] | None:
    """Give licence (None where unknown) and attribution out of the note of a source.

    Examples
    --------
    >>> licence_in('about {"licence": "CC-BY-4.0", "attribution": "Zhu et al."}')
    ('CC-BY-4.0', 'Zhu et al.')
    >>> licence_in("the last line has no end yet") is None
    True
    """
    text = note or ""
    if not text.startswith(_MARK) and f"; {_MARK}" not in text:
        return None
    try:
        said = json.loads(text.removeprefix(_MARK) if text.startswith(_MARK) else text.split(f"; {_MARK}", 1)[1])
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    whom = _line(said.get("attribution"))
    return None if whom is None else (_line(said.get("licence")), whom)
