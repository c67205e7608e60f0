"""Hardware files, written: as JSON data, and as the TOML that people read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracestat.hardware.constants import Hardware, Timing
from tracestat.hardware.fields import FIELDS, SCHEMA, TEXTS, Field, in_file
from tracestat.hardware.timing import timing_seconds
from tracestat.results import Json

__all__ = ["hardware_to_dict", "hardware_to_toml", "number_of"]


def hardware_to_dict(hardware: Hardware) -> dict[str, Json]:
    """Give the content of a hardware file: JSON data in ms, us and ns.

    Parameters
    ----------
    hardware : Hardware

    Returns
    -------
    dict
        ``schema, hardware, card, model, weight_dtype, kv_dtype, kv_bytes_per_token, pool_tokens, block,
        max_batched_tokens, step {s_ms, b_us, q_ns, r_us, form}, client_ms, load and store per path, link, estimate,
        notes, fit {points, residuals}, provenance`` per number.

    Notes
    -----
    Numbers of up to 15 digits come back from :func:`hardware_from_dict` to the bit; those that tracestat fits and
    estimates have six.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> hardware_to_dict(load_hardware())["step"]["b_us"]
    51.5
    """
    data: dict[str, Any] = {"schema": SCHEMA, "hardware": hardware.id}
    data |= {name: getattr(hardware, name) for name in TEXTS}
    sources: dict[str, Json] = {}
    for field in FIELDS:
        if field.name == "step.floor" and hardware.step.form == "additive":
            continue
        value = number_of(hardware, field)
        *sections, key = field.file.split(".")
        part = data
        for section in sections:
            part = part.setdefault(section, {})
        part[key] = int(value) if field.whole else in_file(value, field.exponent)
        source = hardware.provenance[field.name]
        sources[field.file] = {
            "kind": source.kind,
            "note": source.note,
            **{
                side: int(bound) if field.whole and bound == int(bound) else in_file(bound, field.exponent)
                for side, bound in (("low", source.low), ("high", source.high))
                if bound is not None
            },
        }
    data["step"]["form"] = hardware.step.form
    for path, store in hardware.stores.items():
        data["store"][path]["blocking"] = store.blocking
    data |= {"link": hardware.link, "estimate": hardware.estimate, "notes": list(hardware.notes)}
    data["fit"] = {
        "points": [{"kind": t.kind, "tokens": t.tokens, "ms": in_file(t.seconds, -3)} for t in hardware.timings],
        "residuals": [_residual(hardware, timing) for timing in hardware.timings],
    }
    data["provenance"] = sources
    return data


def number_of(hardware: Hardware, field: Field) -> float:
    """Give one number of a machine, in the inner unit.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> number_of(load_hardware(), FIELDS[1])
    81408.0
    """
    part: Any = hardware
    for name in field.name.split("."):
        part = part[name] if isinstance(part, Mapping) else getattr(part, name)
    return float(part)


def _residual(hardware: Hardware, timing: Timing) -> dict[str, Json]:
    model = timing_seconds(hardware, timing)
    return {
        "kind": timing.kind,
        "tokens": timing.tokens,
        "model_ms": round(model * 1e3, 4),
        "relative": round(model / timing.seconds - 1, 6),
    }


def hardware_to_toml(hardware: Hardware) -> str:
    """Give the text of a hardware file, which :func:`load_hardware` reads under any name.

    The id is the stem of the file, and the residuals follow from the rest, so that neither is written.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> hardware_to_toml(load_hardware()).splitlines()[0]
    'schema = "tracestat.hardware/1"'
    """
    data: dict[str, Any] = hardware_to_dict(hardware)
    lines = [
        f"{key} = {_literal(value)}"
        for key, value in data.items()
        if key not in ("hardware", "notes") and not isinstance(value, dict)
    ]
    if data["notes"]:
        lines += ["notes = [", *(f"  {_literal(note)}," for note in data["notes"]), "]"]
    sections = {"step": data["step"]}
    for name in ("load", "store"):
        sections |= {f"{name}.{path}": data[name][path] for path in data[name]}
    for name, section in sections.items():
        lines += ["", f"[{name}]", *(f"{key} = {_literal(value)}" for key, value in section.items())]
    lines += ["", "# where each number comes from, and the range within which it may lie, in its own unit"]
    lines += ["[provenance]"]
    for name, source in data["provenance"].items():
        parts = ", ".join(f"{key} = {_literal(value)}" for key, value in source.items())
        lines.append(f"{_literal(name)} = {{ {parts} }}")
    if data["fit"]["points"]:
        lines += ["", "# time to the first token, one request at a time"]
        for point in data["fit"]["points"]:
            lines += ["[[fit.points]]", *(f"{key} = {_literal(value)}" for key, value in point.items())]
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    # a TOML string, number or boolean is a JSON one; DEL alone must be escaped too
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007F")
