"""What a file of constants says to a serving engineer: what a return costs, and how long to hold for which benefit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import (
    MISSING,
    count,
    counted,
    percent,
    percent_interval,
    plain,
    seconds,
    slope,
    slope_interval,
)
from tracestat.constants import Constants, HoldFor, KeyConstants, Workload
from tracestat.results.key_laws import LEVELS

__all__ = ["constants_tables"]

_CLASSES = 6
_CONTEXTS = (1_024, 8_192, 32_768)
_RULES = {"continuum": "Continuum", "hazard": "hazard"}
_SAID = 3
_WIDE = 6  # benefits beside each other


def constants_tables(constants: Constants) -> list[Table]:
    """Give the tables: what a return costs on the machine, then per provider the holds of its largest classes.

    Parameters
    ----------
    constants : Constants

    Returns
    -------
    list of Table
    """
    tables = [_machine(constants)]
    workload = constants.workload
    if workload is not None:
        providers = [key.key[LEVELS[0]] for key in workload.keys if key.level == LEVELS[0]]
        tables += [_holds(workload, provider, constants) for provider in providers]
        tables.append(_programs(workload))
    return tables


def _machine(constants: Constants) -> Table:
    machine, derived = constants.hardware, constants.derived
    prefill = derived.prefill_coefficients
    made = "three cold timings" if derived.prefill_from == "points" else "the step model"
    rows = [
        (
            f"prefill, from {made}",
            *(seconds(prefill.quadratic * n * n + prefill.linear * n + prefill.constant) for n in _CONTEXTS),
            MISSING,
        )
    ]
    rows += [
        (
            f"reload, {plain(name)} ({store.mode})",
            *(seconds(store.reload.slope * n + store.reload.intercept) for n in _CONTEXTS),
            f"{store.load_gb_per_s:.1f} GB/s",
        )
        for name, store in derived.stores.items()
    ]
    estimate = "; ESTIMATE from specifications" if machine.estimate else ""
    return Table(
        f"Seconds until the first token of a return that is not resident, {plain(machine.id)}{estimate}",
        (label_column(), *(Column(f"{n:,}\ntokens") for n in _CONTEXTS), Column("link")),
        tuple(rows),
        (
            f"{plain(machine.card)}, {plain(machine.model)}: {machine.kv_bytes_per_token:,} bytes of KV a token, pool "
            f"{machine.pool_tokens:,} tokens ({derived.pool_gb:.1f} GB)",
            "these are R; what a resident return is worth is B = T eta + R, T the queueing delay of evicted ones",
        ),
    )


def _classes(workload: Workload, provider: str | None) -> list[KeyConstants]:
    """Give the provider and its classes of most pauses."""
    own = [key for key in workload.keys if key.key[LEVELS[0]] == provider]
    top = [key for key in own if key.level == LEVELS[0]]
    classes = sorted((key for key in own if key.level == LEVELS[1]), key=lambda key: (-key.n, _name(key)))
    return top + classes[:_CLASSES]


def _holds(workload: Workload, provider: str | None, constants: Constants) -> Table:
    keys = _classes(workload, provider)
    shown = workload.benefits[:_WIDE]
    rows = tuple(row for key in keys for row in _rows(key, shown))
    n_classes = sum(key.level == LEVELS[1] and key.key[LEVELS[0]] == provider for key in workload.keys)
    notes = [
        "B: seconds of holding that a resident return is worth; Continuum (arXiv 2511.02230) charges all of a hold, "
        "the hazard rule the time really held; returned: share of the pauses that return during the latter's hold",
        "holds are decisions on estimated laws, and have no interval",
    ]
    found = next((hold.returned for key in keys for hold in key.holds if hold.returned.method), None)
    if found is not None:
        notes.append(f"bounds: {100 * found.level:g} % interval of that share, in percent ({found.method})")
    borrowed = [_name(key) for key in keys if key.law_from != "own"]
    if borrowed:
        notes.append(f"no more than 100 pauses: {', '.join(borrowed)} by the law of all tools, as Continuum has it")
    if n_classes > _CLASSES or len(workload.benefits) > _WIDE:
        notes.append(f"the {_CLASSES} largest classes and first {_WIDE} benefits: the file has all")
    mark = "SYNTHETIC: " if workload.origin.synthetic else ""
    return Table(
        f"{mark}{_of(provider)}: hold at most so long, by what a resident return is worth (B)",
        (
            label_column("class"),
            Column("pauses"),
            Column("", "left"),
            *(Column(f"B\n{seconds(benefit)}") for benefit in shown),
        ),
        rows,
        (_how(workload), *_said(keys, constants)),
        tuple(notes),
    )


def _rows(key: KeyConstants, benefits: Sequence[float]) -> Iterator[tuple[str, ...]]:
    by_rule = {rule: {hold.benefit: hold for hold in key.holds if hold.rule == rule} for rule in _RULES}
    for i, (rule, name) in enumerate(_RULES.items()):
        cells = [_tau(by_rule[rule].get(benefit)) for benefit in benefits]
        yield (_name(key) if i == 0 else "", count(key.n) if i == 0 else "", name, *cells)
    last = [by_rule["hazard"].get(benefit) for benefit in benefits]
    yield ("", "", "returned", *(_returned(hold) for hold in last))
    if any(hold is not None and hold.returned.low is not None for hold in last):
        yield ("", "", "bounds", *(_bounds(hold) for hold in last))


def _tau(hold: HoldFor | None) -> str:
    return MISSING if hold is None else "none" if hold.tau == 0 else seconds(hold.tau)


def _returned(hold: HoldFor | None) -> str:
    return MISSING if hold is None else percent(hold.returned.value)


def _bounds(hold: HoldFor | None) -> str:
    """Write the bounds of a share in whole percents: the table has no room for more."""
    if hold is None or hold.returned.low is None or hold.returned.high is None:
        return MISSING
    return f"{100 * hold.returned.low:.0f}-{100 * hold.returned.high:.0f}"


def _said(keys: Sequence[KeyConstants], constants: Constants) -> Iterator[str]:
    """Say for the largest classes what a hold asks for, and what a reload is worth beside that."""
    for key in keys[1 : 1 + _SAID] or keys:
        yield f"{_name(key)}: {_asks(key)}"
    paths = sorted(
        (store.reload.slope * _CONTEXTS[-1] + store.reload.intercept, name)
        for name, store in constants.derived.stores.items()
    )
    if paths:
        worth, name = paths[0]
        without = [_name(key) for key in keys[1:] if key.pays_from is None or key.pays_from > worth]
        yield (
            f"with a host tier and no queue a resident return of {_CONTEXTS[-1]:,} tokens is worth {seconds(worth)} "
            f"({plain(name)}): {_none_for(without)}"
        )
        yield from _queue(keys, constants.workload, worth)


def _queue(keys: Sequence[KeyConstants], workload: Workload | None, worth: float) -> Iterator[str]:
    """Say which way a queue of T seconds moves the worth of a resident return, B = T eta + R, in this trace."""
    provider = keys[0].key[LEVELS[0]] if keys else None
    for programs in () if workload is None or not keys else workload.memoryfulness:
        eta = programs.eta
        if programs.provider != provider or programs.unit != "session" or not eta.value:
            continue
        unsure = eta.low is None or eta.high is None or eta.low <= 0 <= eta.high
        sign = "; its interval does not tell the sign" if unsure else ""
        if eta.value > 0:
            yield f"a queue makes it worth more: B = R + {slope(eta.value)} T (eta of sessions{sign})"
        else:
            yield (
                f"a queue makes it worth less: B = R - {slope(-eta.value)} T, so with that R no hold pays from "
                f"T = {seconds(worth / -eta.value)} on (eta of sessions{sign})"
            )


def _none_for(names: Sequence[str]) -> str:
    return f"at that no hold pays for {', '.join(names)}" if names else "at that some hold pays for each"


def _asks(key: KeyConstants) -> str:
    if key.pays_from is None:
        return "no pause is known to return"
    start = f"a hold pays only if a resident return is worth {seconds(key.pays_from)}"
    holds = [hold for hold in key.holds if hold.rule == "hazard"]
    longer = min((hold for hold in holds if hold.tau >= 1.0), key=lambda hold: hold.benefit, default=None)
    if longer is None:
        return f"{start}; one of 1 s or more at no B of the table"
    return f"{start}; one of {seconds(longer.tau)} if it is worth {seconds(longer.benefit)}"


def _how(workload: Workload) -> str:
    left = sum(workload.excluded.values())
    return (
        f"unit {workload.unit}, {workload.clock} clock, {workload.rows} rows; {count(left)} rows left out; "
        f"{counted(workload.keys_left_out, 'key')} below {workload.min_n} pauses not in the file"
    )


def _programs(workload: Workload) -> Table:
    human = {part.provider: part for part in workload.human}
    rows = []
    for programs in workload.memoryfulness:
        part = human.get(programs.provider)
        first = programs.unit == "session" and part is not None
        rows.append(
            (
                _of(programs.provider) if programs.unit == "session" else "",
                programs.unit,
                count(programs.n),
                MISSING if programs.mean is None else f"{programs.mean:.1f}",
                slope_interval(programs.eta) if programs.eta.value is not None else MISSING,
                percent_interval(part.of_time) if first and part is not None else "",
            )
        )
    mark = "SYNTHETIC: " if workload.origin.synthetic else ""
    return Table(
        f"{mark}Programs, and the part of pause time that waits for a person",
        (
            label_column(),
            Column("program", "left"),
            Column("n"),
            Column("mean\nrounds"),
            Column("eta"),
            Column("human share\nof time"),
        ),
        tuple(rows),
    )


def _name(key: KeyConstants) -> str:
    value = key.key[key.level]
    if key.level == LEVELS[0]:
        return "all tools"
    return "(none)" if value is None else plain(value) or "(empty)"


def _of(provider: str | None) -> str:
    return "(no provider)" if provider is None else plain(provider) or "(empty)"
