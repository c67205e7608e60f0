"""Which column of a table serves for what: a mapping, as the command line and as a file write it.

Four columns make a trace. A table of tool calls needs ``session``, ``tool``, ``start`` and ``end``; a table of requests
needs ``session``, ``arrival`` and ``end``, and the pause is the gap between the end of a request and the next arrival
of its session. A gateway that logs ``conversation_id, function, called_at, returned_at`` is read with::

    --map session=conversation_id,tool=function,start=called_at,end=returned_at

``duration`` (seconds) may stand for ``end``. Whatever is not mapped is null.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from tracestat.errors import TracestatError, UsageError

__all__ = ["FIELDS", "UNITS", "Field", "Form", "Mapping", "Served", "Unit", "load_mapping", "shown_names"]

Form: TypeAlias = Literal["calls", "requests"]
Unit: TypeAlias = Literal["s", "ms", "us", "ns"]
Kind: TypeAlias = Literal["id", "name", "time", "seconds", "count", "flag", "end kind", "command"]

UNITS: Final[tuple[Unit, ...]] = ("s", "ms", "us", "ns")
_SHOWN: Final = 40  # names listed in a message


@dataclass(frozen=True, slots=True)
class Field:
    """What a column can serve for.

    Attributes
    ----------
    kind : str
        How its values are read.
    of_call : bool
        It speaks of a tool call, so a table of requests can have it only beside ``tool``.
    """

    kind: Kind
    of_call: bool = False


FIELDS: Final[dict[str, Field]] = {
    "session": Field("id"),
    "tool": Field("name"),
    "start": Field("time"),
    "arrival": Field("time"),
    "end": Field("time"),
    "duration": Field("seconds"),
    "developer": Field("name"),
    "project": Field("name"),
    "model": Field("name"),
    "provider": Field("name"),
    "call_id": Field("id", of_call=True),
    "request_id": Field("id"),
    "input_tokens": Field("count"),
    "cached_tokens": Field("count"),
    "output_tokens": Field("count"),
    "end_kind": Field("end kind", of_call=True),
    "is_error": Field("flag", of_call=True),
    "asked_limit": Field("seconds", of_call=True),
    "command": Field("command", of_call=True),
}
# Second names, which say the unit.
_WITH_UNIT: Final[dict[str, tuple[str, Unit]]] = {
    "duration_ms": ("duration", "ms"),
    "asked_limit_ms": ("asked_limit", "ms"),
}


@dataclass(frozen=True, slots=True)
class Served:
    """Where the values of a field come from: a column, or one value for every row.

    Attributes
    ----------
    field : str
        One of ``FIELDS``.
    column : str or None
        The column.
    value : str or None
        Or the value.
    unit : str or None
        Of times and durations; None lets times be detected and durations be seconds.
    """

    field: str
    column: str | None = None
    value: str | None = None
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """A checked mapping.

    Attributes
    ----------
    served : tuple of Served
        In the order of ``FIELDS``.
    """

    served: tuple[Served, ...]

    @property
    def form(self) -> Form:
        """Whether the rows are tool calls or requests."""
        return "calls" if self.get("start") else "requests"

    def get(self, field: str) -> Served | None:
        """Give what serves for a field, if anything does."""
        return next((served for served in self.served if served.field == field), None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        return tuple(dict.fromkeys(served.column for served in self.served if served.column is not None))

    def to_toml(self) -> str:
        r"""Give the text of a mapping file.

        Examples
        --------
        >>> print(load_mapping("session=chat,arrival:ms=t0,end:ms=t1,provider==proxy").to_toml(), end="")
        # columns of a table, for `tracestat ingest TABLE --map FILE`
        [map]
        session = "chat"
        arrival = { column = "t0", unit = "ms" }
        end = { column = "t1", unit = "ms" }
        provider = { value = "proxy" }
        """
        lines = ["# columns of a table, for `tracestat ingest TABLE --map FILE`", "[map]"]
        for served in self.served:
            if served.column is None:
                text = f"{{ value = {_quoted(served.value or '')} }}"
            elif served.unit:
                text = f'{{ column = {_quoted(served.column)}, unit = "{served.unit}" }}'
            else:
                text = _quoted(served.column)
            lines.append(f"{served.field} = {text}")
        return "\n".join(lines) + "\n"


def load_mapping(source: str | Path) -> Mapping:
    """Read a mapping.

    Parameters
    ----------
    source : str or Path
        ``FIELD=COLUMN,...`` or the name of a ``.toml`` file. ``FIELD:UNIT=COLUMN`` says the unit of a time or of a
        duration (s, ms, us, ns), ``FIELD==VALUE`` gives every row the same value, and double quotes keep a comma or an
        equals sign in a name.

    Returns
    -------
    Mapping

    Raises
    ------
    UsageError
        A field is unknown, is missing, is named twice, or does not go with another.
    TracestatError
        The file cannot be read.

    Examples
    --------
    >>> load_mapping("session=chat,tool=function,start=t0,duration_ms=took").get("duration")
    Served(field='duration', column='took', value=None, unit='ms')
    """
    if isinstance(source, Path) or source.endswith(".toml"):
        return _checked(_of_file(Path(source)), f"{Path(source).name}")
    return _checked([_of_text(part) for part in _parts(source)], "--map")


def shown_names(names: tuple[str, ...] | list[str]) -> str:
    """List names in a message, on one line and not endlessly many."""
    listed = [name if name.isprintable() and len(name) <= 60 else f"{name[:60]!r}" for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(listed) + more


def _parts(text: str) -> list[str]:
    """Split at commas outside of quotes."""
    parts, quoted, part = [], False, ""
    for letter in text:
        if letter == '"':
            quoted = not quoted
        if letter == "," and not quoted:
            parts.append(part)
            part = ""
        else:
            part += letter
    if quoted:
        raise UsageError("--map: a double quote is not closed")
    return [part.strip() for part in (*parts, part) if part.strip()]


def _of_text(part: str) -> Served:
    field, equals, rest = part.partition("=")
    if not equals:
        raise UsageError(f"--map: {part!r} is no FIELD=COLUMN (a mapping file ends in .toml)")
    name, _, unit = field.strip().partition(":")
    constant = rest.startswith("=")
    text = _unquoted(rest[1:] if constant else rest)
    return _served(name.strip(), None if constant else text, text if constant else None, unit.strip() or None, "--map")


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text


def _of_file(path: Path) -> list[Served]:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise TracestatError(f"{path.name}: {reason}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        raise TracestatError(f"{path.name} is not a TOML file: see --keep-map for one that is") from None
    table = content.get("map")
    if not isinstance(table, dict):
        raise UsageError(f"{path.name} has no [map] table")
    return [_of_entry(name, entry, path.name) for name, entry in table.items()]


def _of_entry(name: str, entry: Any, where: str) -> Served:
    if isinstance(entry, str):
        return _served(name, entry, None, None, where)
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise UsageError(f"{where}: {name} is neither a column name nor {{ column = ..., unit = ... }}")
    if entry.keys() not in ({"column"}, {"column", "unit"}, {"value"}):
        raise UsageError(f"{where}: {name} may have column and unit, or value")
    return _served(name, entry.get("column"), entry.get("value"), entry.get("unit"), where)


def _served(name: str, column: str | None, value: str | None, unit: str | None, where: str) -> Served:
    """Check one field by itself."""
    field, own_unit = _WITH_UNIT.get(name, (name, None))
    if field not in FIELDS:
        raise UsageError(f"{where}: no field {name!r}: there are {', '.join((*FIELDS, *_WITH_UNIT))}")
    if not (column or value):
        raise UsageError(f"{where}: {name} names no column")
    kind = FIELDS[field].kind
    if unit is not None:
        if kind not in ("time", "seconds"):
            raise UsageError(f"{where}: {name} is no time and has no unit")
        if unit not in UNITS or own_unit:
            raise UsageError(f"{where}: {name}:{unit} is not known: units are {', '.join(UNITS)}")
    if value is not None and (kind == "time" or field == "duration"):
        raise UsageError(f"{where}: {name} needs a column: it cannot be the same in every row")
    return Served(field, column, value, unit or own_unit)


def _checked(served: list[Served], where: str) -> Mapping:
    """Check that the fields go together."""
    names = [one.field for one in served]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{where}: {name} is named twice")
    if ("start" in names) == ("arrival" in names):
        raise UsageError(
            f"{where} must name either start (a table of tool calls: session, tool, start, end) or arrival (a table of "
            "requests: session, arrival, end)"
        )
    for name in ("session", "tool") if "start" in names else ("session",):
        if name not in names:
            raise UsageError(f"{where} does not say which column is {name}")
    if ("end" in names) == ("duration" in names):
        raise UsageError(f"{where} must name one of end, duration and duration_ms")
    if "tool" not in names:
        stray = [name for name in names if FIELDS[name].of_call]
        if stray:
            raise UsageError(f"{where}: {stray[0]} speaks of a tool call, but no column is tool")
    order = list(FIELDS)
    return Mapping(tuple(sorted(served, key=lambda one: order.index(one.field))))


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped too
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
