"""Hardware files: found by id, read and checked."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracestat.errors import TracestatError, UsageError
from tracestat.hardware.constants import Hardware, Provenance, Step, StorePath, Timing
from tracestat.hardware.fields import FIELDS, PATHS, SCHEMA, TEXTS, Field, from_file
from tracestat.hardware.timing import KINDS
from tracestat.queries import data_path

__all__ = ["DEFAULT_HARDWARE", "hardware_from_dict", "hardware_ids", "load_hardware"]

DEFAULT_HARDWARE = "rtx4090-llama3.1-8b-fp8"
_KINDS_OF_SOURCE = ("measured", "fit", "public", "computed", "choice", "estimate")
# MiB; constants of a whole workload (.json) hold the curves of thousands of keys
_LARGEST_FILE = {True: 4, False: 1024}
# keys of each table; the residuals and coefficients of a written file follow from the rest and are not read
_TOP = {"schema", "hardware", *TEXTS, "step", "load", "store", "link", "estimate", "notes", "fit", "provenance"}
_DERIVED = {"prefill_coefficients"}
_UNIT_ENDINGS = ("_s", "_ms", "_us", "_ns", "_us_per_token", "_ms_per_token", "_ns_per_token", "_per_token")


def hardware_ids() -> list[str]:
    """List the machines that ship with tracestat.

    Examples
    --------
    >>> DEFAULT_HARDWARE in hardware_ids()
    True
    """
    return sorted(path.name.removesuffix(".toml") for path in data_path("hardware").glob("*.toml"))


def load_hardware(name: str | Path = DEFAULT_HARDWARE) -> Hardware:
    """Read the constants of a machine.

    Parameters
    ----------
    name : str or Path
        An id of :func:`hardware_ids`, or a file that ends in ``.toml`` or ``.json``: one of ``tracestat hardware
        new``, or the constants that ``tracestat export constants`` wrote.

    Returns
    -------
    Hardware
        In seconds, tokens and bytes.

    Raises
    ------
    UsageError
        No machine of this name.
    TracestatError
        The file cannot be read, or a number is missing, unknown, negative, not finite or in another unit.

    Examples
    --------
    >>> machine = load_hardware("rtx4090-llama3.1-8b-fp8")
    >>> machine.pool_tokens, machine.step.per_token
    (81408, 5.15e-05)
    """
    text = str(name)
    if isinstance(name, str) and name in hardware_ids():
        path = data_path("hardware") / f"{name}.toml"
    elif text.lower().endswith((".toml", ".json")):
        path = Path(name)
    else:
        raise UsageError(
            f"hardware {Path(text).name or '(no name)'}: not known; it is one of {', '.join(hardware_ids())}, "
            "or a file that ends in .toml or .json"
        )
    return hardware_from_dict(_read(path), id=path.name[: -len(".toml")], where=path.name)


def _read(path: Path) -> Mapping[str, Any]:
    where = f"hardware {path.name}"
    is_toml = path.name.lower().endswith(".toml")
    try:
        if path.stat().st_size > _LARGEST_FILE[is_toml] << 20:
            raise TracestatError(
                f"{where}: over {_LARGEST_FILE[is_toml]:,} MiB, which no hardware file is; name another file"
            )
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text) if is_toml else json.loads(text)
    except OSError as error:
        raise TracestatError(f"{where}: cannot be read ({error.strerror}); check the name") from None
    except UnicodeDecodeError:
        raise TracestatError(f"{where}: is not UTF-8 text; name a hardware file") from None
    except (ValueError, RecursionError) as error:
        raise TracestatError(f"{where}: is not valid ({str(error).splitlines()[0]}); correct it") from None
    if not isinstance(data, dict):
        raise TracestatError(f"{where}: holds no table; name a hardware file")
    inner = data.get("hardware")
    return inner if isinstance(inner, dict) else data


def hardware_from_dict(data: Mapping[str, Any], *, id: str | None = None, where: str = "constants") -> Hardware:  # noqa: A002  the field of Hardware is called id
    """Make the constants of the content of a hardware file.

    Parameters
    ----------
    data : mapping
        As :func:`hardware_to_dict` gives it, and as the files have it.
    id : str, optional
        The id where ``data`` has no ``hardware``.
    where : str
        Base name of the file, for messages.

    Returns
    -------
    Hardware

    Raises
    ------
    TracestatError
        One line: which number of which file, what is wrong with it, what to do.

    Examples
    --------
    >>> from tracestat.hardware import hardware_to_dict
    >>> machine = load_hardware()
    >>> hardware_from_dict(hardware_to_dict(machine)) == machine
    True
    """
    table = _Table(data, f"hardware {where}")
    schema = data.get("schema")
    if schema != SCHEMA:
        raise TracestatError(f"{table.where}: schema is {schema!r}, {SCHEMA!r} is needed; write it at its top")
    tops = _TOP | {field.file.partition(".")[0] for field in FIELDS}
    table.only(data, "", tops | _DERIVED)
    named = data.get("hardware", id)
    step, provenance = table.section("step"), table.section("provenance")
    form = step.get("form", "additive")
    if form not in ("additive", "roofline"):
        raise TracestatError(f"{table.where}: step.form is {form!r}; it is additive or roofline")
    link = data.get("link", "shared")
    if link not in ("shared", "duplex"):
        raise TracestatError(f"{table.where}: link is {link!r}; it is shared or duplex")
    estimate, notes = data.get("estimate", False), data.get("notes", [])
    if not isinstance(estimate, bool):
        raise TracestatError(f"{table.where}: estimate is {estimate!r}; it is true or false")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise TracestatError(f'{table.where}: notes is no list of texts; write notes = ["..."]')
    fields = [field for field in FIELDS if field.file != "step.floor_ms" or form == "roofline"]
    table.check_names(fields)
    value = {field.name: table.number(field) for field in fields}
    return Hardware(
        id=table.text("hardware", named),
        **{name: table.text(name, data.get(name)) for name in TEXTS},
        kv_bytes_per_token=int(value["kv_bytes_per_token"]),
        pool_tokens=int(value["pool_tokens"]),
        block_tokens=int(value["block_tokens"]),
        max_batched_tokens=int(value["max_batched_tokens"]),
        step=Step(
            base=value["step.base"],
            per_token=value["step.per_token"],
            attention=value["step.attention"],
            decode_read=value["step.decode_read"],
            form=form,
            floor=value.get("step.floor", 0.0),
        ),
        client=value["client"],
        stores={
            path: StorePath(
                load_fixed=value[f"stores.{path}.load_fixed"],
                load_per_token=value[f"stores.{path}.load_per_token"],
                store_per_token=value[f"stores.{path}.store_per_token"],
                blocking=table.blocking(path),
                chunk_tokens=int(value[f"stores.{path}.chunk_tokens"]),
            )
            for path in PATHS
        },
        link=link,
        timings=table.timings(),
        provenance={field.name: table.provenance(field, provenance) for field in fields},
        estimate=estimate,
        notes=tuple(notes),
    )


class _Table:
    """The content of a file and how messages name it."""

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        self.data = data
        self.where = where

    def section(self, dotted: str) -> Mapping[str, Any]:
        part: Any = self.data
        for key in dotted.split("."):
            part = part.get(key) if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping):
            raise TracestatError(f"{self.where}: {dotted} is missing; add the table [{dotted}]")
        return part

    def only(self, part: Mapping[str, Any], prefix: str, allowed: set[str]) -> None:
        for key in sorted(part.keys() - allowed):
            stem = _stem(key)
            other = next((name for name in sorted(allowed) if stem == _stem(name)), None)
            if other is not None:
                raise TracestatError(f"{self.where}: {prefix}{key} has another unit; {prefix}{other} is needed")
            raise TracestatError(
                f"{self.where}: {prefix}{key} is not known; {prefix.rstrip('.') or 'the file'} has "
                f"{', '.join(sorted(allowed - _DERIVED))}"
            )

    def check_names(self, fields: list[Field]) -> None:
        extra = {"step": {"form"}, **{f"store.{path}": {"blocking"} for path in PATHS}}
        sections = sorted({field.file.rpartition(".")[0] for field in fields} - {""})
        for section in sections:
            names = {f.file.rpartition(".")[2] for f in fields if f.file.rpartition(".")[0] == section}
            self.only(self.section(section), f"{section}.", names | extra.get(section, set()))
        for section in ("load", "store"):
            self.only(self.section(section), f"{section}.", set(PATHS))

    def text(self, name: str, value: object) -> str:
        if not isinstance(value, str) or not value or not value.isprintable():
            raise TracestatError(
                f"{self.where}: {name} is {'missing' if value is None else 'no text'}; give it as text"
            )
        return value

    def number(self, field: Field) -> float:
        section, _, key = field.file.rpartition(".")
        part = self.section(section) if section else self.data
        if key not in part:
            raise TracestatError(f"{self.where}: {field.file} is missing; it is {field.says}, in {field.unit}")
        value = self.plain(field.file, part[key])
        if field.whole and value != int(value):
            raise TracestatError(f"{self.where}: {field.file} is {value:g}; it is a whole number of {field.unit}")
        if value == 0 and not field.zero:
            raise TracestatError(f"{self.where}: {field.file} is 0; it must be positive")
        if value and not field.low <= value <= field.high:
            raise TracestatError(
                f"{self.where}: {field.file} is {value:g}, and {field.low:g} to {field.high:g} {field.unit} is what a "
                "machine can have; check its unit"
            )
        return value if field.whole else from_file(value, field.exponent)

    def plain(self, name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TracestatError(f"{self.where}: {name} is no number; give one")
        if isinstance(value, float) and not math.isfinite(value):
            raise TracestatError(f"{self.where}: {name} is {value}; give a finite number")
        if abs(value) > 1e15:
            raise TracestatError(f"{self.where}: {name} is larger than anything it could be; check it")
        if value < 0:
            raise TracestatError(f"{self.where}: {name} is {value:g}; it cannot be negative")
        return value

    def blocking(self, path: str) -> bool:
        value = self.section(f"store.{path}").get("blocking")
        if not isinstance(value, bool):
            raise TracestatError(f"{self.where}: store.{path}.blocking is {value!r}; it is true or false")
        return value

    def provenance(self, field: Field, table: Mapping[str, Any]) -> Provenance:
        name = f"provenance of {field.file}"
        entry = table.get(field.file)
        if not isinstance(entry, Mapping):
            raise TracestatError(f"{self.where}: no {name}; say where the number comes from (kind and note)")
        self.only(entry, f"{name}: ", {"kind", "note", "low", "high"})
        kind = entry.get("kind")
        if kind not in _KINDS_OF_SOURCE:
            raise TracestatError(f"{self.where}: {name}: kind is {kind!r}; it is {', '.join(_KINDS_OF_SOURCE)}")
        low, high = (
            None if entry.get(side) is None else self.plain(f"{name}, {side},", entry[side]) for side in ("low", "high")
        )
        if low is not None and high is not None and low > high:
            raise TracestatError(f"{self.where}: {name}: low is above high; exchange them")
        unit = 0 if field.whole else field.exponent
        return Provenance(
            str(kind),
            self.text(f"{name}: note", entry.get("note")),
            None if low is None else from_file(low, unit),
            None if high is None else from_file(high, unit),
        )

    def timings(self) -> tuple[Timing, ...]:
        known = {field.file for field in FIELDS}
        self.only(self.section("provenance"), "provenance of ", known)
        fit = self.data.get("fit", {})
        points = fit.get("points", []) if isinstance(fit, Mapping) else None
        if not isinstance(points, list):
            raise TracestatError(f"{self.where}: fit.points is no list; write [[fit.points]]")
        self.only(fit, "fit.", {"points", "residuals"})
        return tuple(self._timing(number, point) for number, point in enumerate(points, 1))

    def _timing(self, number: int, point: object) -> Timing:
        name = f"fit.points {number}"
        if not isinstance(point, Mapping):
            raise TracestatError(f"{self.where}: {name} is no table; give kind, tokens and ms")
        self.only(point, f"{name}: ", {"kind", "tokens", "ms"})
        if point.get("kind") not in tuple(KINDS):
            raise TracestatError(f"{self.where}: {name}: kind is {point.get('kind')!r}; it is {', '.join(KINDS)}")
        tokens, ms = (self.plain(f"{name}: {key}", point.get(key)) for key in ("tokens", "ms"))
        if tokens < 1 or tokens != int(tokens) or ms <= 0:
            raise TracestatError(f"{self.where}: {name}: tokens and ms are positive, and tokens whole; correct them")
        return Timing(str(point["kind"]), int(tokens), from_file(ms, -3))


def _stem(name: str) -> str:
    return next((name.removesuffix(end) for end in _UNIT_ENDINGS if name.endswith(end) and name != end), name)
