"""Tables of machines: all that are known, one with the source of each number, and how far a fit is off."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.table import Column, Table
from tracestat.hardware import Hardware
from tracestat.hardware.fields import FIELDS, Field, in_file
from tracestat.hardware.timing import first_token_seconds, timing_seconds
from tracestat.hardware.writing import number_of

__all__ = ["LADDER_TOKENS", "hardware_tables", "known_tables", "ladder", "largest_residual", "residual_table"]

LADDER_TOKENS = 32_768


def ladder(hardware: Hardware) -> dict[str, float | None]:
    """Give the seconds to the first token of a prompt of 32K: computed, and reloaded by each store path.

    None where the prompt is larger than the pool and can never run.
    """
    fits = hardware.pool_tokens > LADDER_TOKENS
    out = {"cold": first_token_seconds(hardware, LADDER_TOKENS) if fits else None}
    for path in hardware.stores:
        whole = first_token_seconds(hardware, LADDER_TOKENS, prefix=LADDER_TOKENS, in_host=LADDER_TOKENS, path=path)
        out[f"reload_{path}"] = whole if fits else None
    return out


def largest_residual(hardware: Hardware) -> float | None:
    """Give the largest relative difference of model and timing; None where nothing was timed."""
    return max((abs(timing_seconds(hardware, t) / t.seconds - 1) for t in hardware.timings), default=None)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def known_tables(machines: Sequence[Hardware]) -> list[Table]:
    """Give the tables of ``hardware list``."""
    columns = (
        Column("id", "left"),
        Column("pool\ntokens"),
        Column("B"),
        Column("32K\ncold s"),
        Column("reload s\nlmcache"),
        Column("\nnative"),
        Column("off\n%"),
    )
    rows = []
    for machine in machines:
        steps = ladder(machine)
        rows.append(
            (
                f"{machine.id}{' *' if machine.estimate else ''}",
                f"{machine.pool_tokens:,}",
                f"{machine.max_batched_tokens:,}",
                *(_seconds(steps[name]) for name in ("cold", "reload_lmcache", "reload_native")),
                _percent(largest_residual(machine)),
            )
        )
    what = tuple((m.id, m.card, m.model, m.weight_dtype, f"{m.kv_bytes_per_token:,}") for m in machines)
    notes = (
        "B: tokens of a step, to which a set belongs. off: largest difference of model and timing, - where nothing was "
        "timed. 32K: time to the first token of a prompt of 32,768 tokens on an idle machine.",
        "* estimate: from specifications, not measured. -free, -roofline: the same timings under other assumptions (s "
        "fitted too; a step no longer than its larger part), to see what hangs on them.",
        "each number with its source: tracestat hardware show ID. Another machine: tracestat hardware recipe",
    )
    return [
        Table("Known machines", columns, tuple(rows)),
        Table(
            "What they are",
            (
                Column("id", "left"),
                Column("card", "left"),
                Column("model", "left"),
                Column("weights", "left"),
                Column("KV bytes\na token"),
            ),
            what,
            notes=notes,
        ),
    ]


def hardware_tables(hardware: Hardware) -> list[Table]:
    """Give the tables of one machine: what things take, each number with its source, and the timings."""
    mark = ": an estimate, nothing was measured" if hardware.estimate else ""
    steps = ladder(hardware)
    caption = [
        f"{hardware.card}, {hardware.model}, weights {hardware.weight_dtype}, KV cache {hardware.kv_dtype}",
        f"pool {hardware.pool_bytes / 1e9:.2f} GB; {hardware.step.form} steps; link {hardware.link}",
    ]
    if steps["cold"] is None:
        caption.append(f"a prompt of 32K is larger than the pool of {hardware.pool_tokens:,} tokens and can never run")
    else:
        caption.append(
            f"first token of a prompt of 32K on an idle machine: {_seconds(steps['cold'])} s computed, "
            f"{_seconds(steps['reload_lmcache'])} s reloaded by lmcache, {_seconds(steps['reload_native'])} s by native"
        )
    rows = []
    for field in FIELDS:
        if field.name not in hardware.provenance:
            continue
        source = hardware.provenance[field.name]
        value = number_of(hardware, field)
        bounds = ["?" if bound is None else _number(bound, field) for bound in (source.low, source.high)]
        rows.append(
            (
                field.file,
                _number(value, field),
                field.unit,
                "-" if bounds == ["?", "?"] else " to ".join(bounds),
                source.kind,
            )
        )
    columns = (
        Column("number", "left"),
        Column("value"),
        Column("unit", "left"),
        Column("may lie", "left"),
        Column("source", "left"),
    )
    first = Table(f"Hardware {hardware.id}{mark}", columns, tuple(rows), caption=tuple(caption), notes=hardware.notes)
    tables = [first, _meaning(hardware), _sources(hardware)]
    return [*tables, *([residual_table(hardware)] if hardware.timings else [])]


def _meaning(hardware: Hardware) -> Table:
    """Say what the numbers are used for, and which letter of the notes is which number."""
    base = (
        "the larger of s and s' + b per token of it," if hardware.step.form == "roofline" else "s + b per token of it,"
    )
    letters = {"s": "s_ms", "b": "b_us", "q": "q_ns", "r": "r_us"}
    if hardware.step.form == "roofline":
        letters["s'"] = "floor_ms"
    blocking = [path for path, store in hardware.stores.items() if store.blocking]
    beside = [path for path, store in hardware.stores.items() if not store.blocking]
    paths = [
        *([f"{' and '.join(blocking)} hold up the step"] if blocking else []),
        *([f"{' and '.join(beside)} run beside it"] if beside else []),
    ]
    return Table(
        "What they mean",
        notes=(
            f"a step takes {base} + q per prompt token and token of context before it, + r per token of context of the "
            "sequences that decode; o comes once per request",
            f"{', '.join(f'{letter} = step.{name}' for letter, name in letters.items())}, o = client_ms",
            *([f"loads and stores of {', those of '.join(paths)}; only whole chunks are kept"] if paths else []),
            "link shared: one transfer at a time; duplex: one each way",
        ),
    )


def _sources(hardware: Hardware) -> Table:
    """Say where the numbers come from, those of one source together."""
    notes: dict[str, list[str]] = {}
    for field in FIELDS:
        if field.name in hardware.provenance:
            notes.setdefault(hardware.provenance[field.name].note, []).append(field.file)
    lines = tuple(f"{', '.join(names)}: {note}" for note, names in notes.items())
    return Table("Where the numbers come from", notes=lines)


def _number(value: float, field: Field) -> str:
    return f"{int(value):,}" if field.whole else f"{in_file(value, field.exponent):.4g}"


def residual_table(hardware: Hardware) -> Table:
    """Give each timing beside the model."""
    rows = []
    squares = 0.0
    for timing in hardware.timings:
        model = timing_seconds(hardware, timing)
        off = model / timing.seconds - 1
        squares += off * off
        rows.append(
            (
                timing.kind,
                f"{timing.tokens:,}",
                f"{timing.seconds * 1e3:.5g}",
                f"{model * 1e3:.2f}",
                f"{(model - timing.seconds) * 1e3:+.2f}",
                f"{100 * off:+.1f}",
            )
        )
    rms = (squares / len(rows)) ** 0.5
    columns = (
        Column("timing", "left"),
        Column("tokens"),
        Column("measured\nms"),
        Column("model\nms"),
        Column("off\nms"),
        Column("off\n%"),
    )
    return Table(
        f"Model against {len(rows)} timings: off by {100 * rms:.1f} % (root mean square), "
        f"at most {_percent(largest_residual(hardware))} %",
        columns,
        tuple(rows),
    )
