"""A hardware set of a user's own timings: what they tell is fitted, and the rest is assumed and says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracestat.errors import TracestatError
from tracestat.hardware.constants import Hardware, Provenance, Step, StorePath, Timing
from tracestat.hardware.fit import Layout, Solution, solve_timings
from tracestat.hardware.timing import KINDS, timing_seconds
from tracestat.hardware.timings import check_timings

__all__ = ["ASSUMED_BASE", "Machine", "fit_constants"]

# s of the RTX 4090 set: what is held where nothing better is known
ASSUMED_BASE = 0.010
_BASE_NOTE = "assumed as of the RTX 4090 set; the timings tell only o + s"
_READ_NOTE = "as stated for this set; no time to the first token tells it"
# r of the RTX 4090 set is 0.143 us for 131,072 bytes: 918 GB/s
_READ_BANDWIDTH = 131_072 / 0.143e-6
# store over load of the RTX 4090 set, 10.5 to 5.9 us
_STORE_PER_LOAD = 10.5 / 5.9
_WORST_RELATIVE, _WORST_SECONDS = 0.15, 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a user says of the machine: everything that timings do not tell.

    Attributes
    ----------
    id, card, model, weight_dtype, kv_dtype : str
    kv_bytes_per_token, pool_tokens, block_tokens, max_batched_tokens : int
    lmcache_chunk : int
        Tokens of a chunk of LMCache.
    sources : mapping of str to Provenance
        Of these numbers, where more is known than that the user said so.
    """

    id: str
    card: str
    model: str
    weight_dtype: str = "not stated"
    kv_dtype: str = "not stated"
    kv_bytes_per_token: int
    pool_tokens: int
    block_tokens: int = 16
    max_batched_tokens: int = 2048
    lmcache_chunk: int = 256
    sources: Mapping[str, Provenance]


def fit_constants(
    timings: Iterable[Timing],
    machine: Machine,
    *,
    base: float | None = ASSUMED_BASE,
    base_note: str = _BASE_NOTE,
    decode_read: float | None = None,
    read_note: str = _READ_NOTE,
    whole_hits: bool = False,
) -> Hardware:
    """Fit the constants of a machine to timings of one request at a time.

    Parameters
    ----------
    timings : iterable of Timing
        At least five; three cold and two reloads give a coarse set.
    machine : Machine
    base : float or None
        s in seconds, held at this; None fits it too, though timings hardly tell it from o.
    base_note : str
        Why this s, for its provenance.
    decode_read : float, optional
        r in seconds per context token; by default the KV cache of a token at the RTX 4090's memory bandwidth.
    read_note : str
        Why this r, for its provenance.
    whole_hits : bool
        Take reloads to compute nothing, as the shipped sets were fitted, and not the last block.

    Returns
    -------
    Hardware
        With the timings, a provenance per number, its range of 95 % by the scatter of the timings, and notes that say
        what was assumed.

    Raises
    ------
    TracestatError
        One line: timings that make no sense or do not tell the constants, prompts larger than the pool, a constant
        that ends at its bound, or a timing that the fit misses by more than 15 % and 5 ms.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> known = load_hardware()
    >>> machine = Machine(id="mine", card="RTX 4090", model="Llama-3.1-8B", kv_bytes_per_token=131072,
    ...                   pool_tokens=81408, sources={})
    >>> round(fit_constants(known.timings, machine, whole_hits=True).step.attention * 1e9, 2)
    3.38
    """
    given = tuple(timings)
    kept = check_timings(given)
    longest = max(kept, key=lambda timing: timing.tokens)
    if longest.tokens >= machine.pool_tokens:
        raise TracestatError(
            f"timings: {longest.kind} at {longest.tokens:,} tokens: larger than the pool of {machine.pool_tokens:,}, "
            "so that no engine can have run it; check the row and --pool-tokens"
        )
    if machine.pool_tokens % machine.block_tokens:
        raise TracestatError(
            f"pool of {machine.pool_tokens:,} tokens: no whole number of blocks of {machine.block_tokens}; "
            "give the size that the engine prints at its start, and the block it ran with (--block)"
        )
    chunks = {"lmcache": machine.lmcache_chunk, "native": machine.block_tokens}
    short = next((t for t in kept if t.tokens < chunks.get(KINDS[t.kind] or "", 0)), None)
    if short is not None:
        raise TracestatError(
            f"timings: {short.kind} at {short.tokens:,} tokens: shorter than the chunk of "
            f"{chunks[KINDS[short.kind] or '']:,}, so that nothing is stored or loaded; measure longer ones, or check "
            "--lmcache-chunk and --block"
        )
    solution = solve_timings(
        kept, Layout(machine.max_batched_tokens, machine.block_tokens, chunks, whole_hits), base=base
    )
    _refuse_bounds(solution)
    told = {name: _six(value) for name, value in solution.values.items()}
    fitted = {name: _fitted(solution, name, len(kept)) for name in told}
    assumed: dict[str, tuple[float, Provenance]] = {}
    if base is not None:
        high = told["client"] + base
        assumed["step.base"] = (_six(base), Provenance("choice", base_note, 0.0, _six(high)))
    assumed["step.decode_read"] = _decode_read(machine, decode_read, read_note)
    assumed |= _assumed_paths(told)
    value = {name: number for name, (number, _) in assumed.items()} | told
    hardware = Hardware(
        id=machine.id,
        card=machine.card,
        model=machine.model,
        weight_dtype=machine.weight_dtype,
        kv_dtype=machine.kv_dtype,
        kv_bytes_per_token=machine.kv_bytes_per_token,
        pool_tokens=machine.pool_tokens,
        block_tokens=machine.block_tokens,
        max_batched_tokens=machine.max_batched_tokens,
        step=Step(value["step.base"], value["step.per_token"], value["step.attention"], value["step.decode_read"]),
        client=value["client"],
        stores={
            path: StorePath(
                value[f"stores.{path}.load_fixed"],
                value[f"stores.{path}.load_per_token"],
                value[f"stores.{path}.store_per_token"],
                blocking=path == "lmcache",
                chunk_tokens=chunks[path],
            )
            for path in chunks
        },
        timings=tuple(Timing(t.kind, t.tokens, _six(t.seconds)) for t in kept),
        provenance={**_stated(machine), **{name: source for name, (_, source) in assumed.items()}, **fitted},
        notes=_notes(machine, kept, solution, assumed, free=base is None, n_given=len(given)),
    )
    _refuse_misses(hardware)
    return hardware


def _six(value: float) -> float:
    """Keep six digits: more are noise, and six come back from a file as they were."""
    return float(f"{value:.6g}")


# what a machine may well not have
_MAY_BE_NONE = {
    "stores.native.load_fixed": "none: reloads show no fixed cost",
    "stores.lmcache.store_per_token": "none: cold_lmcache is no slower than cold",
}


def _fitted(solution: Solution, name: str, count: int) -> Provenance:
    low, high = solution.ranges.get(name, (None, None))
    how = "range of 95 % by their scatter" if low is not None else "no range: each timing is needed to tell it"
    if name in solution.at_bound:
        how = f"{_MAY_BE_NONE.get(name, '')}; {how}"
    note = f"least relative squares over {count} timings; {how}"
    return Provenance("fit", note, None if low is None else _six(low), None if high is None else _six(high))


def _stated(machine: Machine) -> dict[str, Provenance]:
    said = Provenance("choice", "as stated for this set")
    names = ("kv_bytes_per_token", "pool_tokens", "block_tokens", "max_batched_tokens")
    plain = dict.fromkeys(names, said)
    chunk = {
        "stores.lmcache.chunk_tokens": Provenance("choice", "chunk of LMCache, as stated for this set"),
        "stores.native.chunk_tokens": Provenance("public", "a block of the engine"),
    }
    return plain | chunk | dict(machine.sources)


def _decode_read(machine: Machine, given: float | None, given_note: str) -> tuple[float, Provenance]:
    if given is not None:
        return _six(given), Provenance("choice", given_note)
    value = _six(machine.kv_bytes_per_token / _READ_BANDWIDTH)
    note = "KV cache of a token at the RTX 4090's 918 GB/s; no time to the first token tells it"
    return value, Provenance("choice", note, _six(value / 8), _six(value * 3))


def _assumed_paths(told: Mapping[str, float]) -> dict[str, tuple[float, Provenance]]:
    """Say what is taken for the numbers of a store path that no timing tells."""
    out: dict[str, tuple[float, Provenance]] = {}
    out["stores.lmcache.load_fixed"] = (0.0, Provenance("choice", "none is assumed, as in the RTX 4090 set"))
    loads = {path: told.get(f"stores.{path}.load_per_token") for path in ("lmcache", "native")}
    for path, other in (("lmcache", "native"), ("native", "lmcache")):
        if loads[path] is None and loads[other] is not None:
            value = _six(float(loads[other] or 0.0))
            note = f"as fast as {other}, which alone was timed"
            out[f"stores.{path}.load_per_token"] = (
                value,
                Provenance("choice", note, _six(value / 2.5), _six(value * 2.5)),
            )
    load = loads["lmcache"] or loads["native"]
    if load is None:
        raise TracestatError("timings: no reload among them; measure reload_lmcache or reload_native at two lengths")
    if "stores.native.load_fixed" not in told:
        note = "none is assumed: native reloads of two lengths tell it"
        out["stores.native.load_fixed"] = (0.0, Provenance("choice", note, 0.0, 0.02))
    store = told.get("stores.lmcache.store_per_token")
    if store is None:
        store = _six(load * _STORE_PER_LOAD)
        note = "1.78 times the load, as in the RTX 4090 set: cold_lmcache was not timed"
        out["stores.lmcache.store_per_token"] = (
            store,
            Provenance("choice", note, _six(load), _six(3 * load)),
        )
    note = "as fast as the blocking store, on the link only: no time to the first token tells it"
    out["stores.native.store_per_token"] = (store, Provenance("choice", note, _six(store / 2.5), _six(store * 2.5)))
    return out


_LETTERS = {"step.base": "s", "step.decode_read": "r", "client": "o", "step.per_token": "b", "step.attention": "q"}


def _shown(name: str) -> str:
    return _LETTERS.get(name) or name.removeprefix("stores.").replace("_", " ").replace(".", ": ")


def _notes(
    machine: Machine,
    timings: tuple[Timing, ...],
    solution: Solution,
    assumed: Mapping[str, object],
    *,
    free: bool,
    n_given: int,
) -> tuple[str, ...]:
    notes = [f"assumed, not measured: {', '.join(_shown(name) for name in assumed)}"]
    notes.append(
        "s was left free: o and s are told apart by the number of steps alone, which is little"
        if free
        else "the timings tell o + s, not o from s: another s moves o by as much, b by that over a step's tokens"
    )
    if n_given > len(timings):
        notes.append(f"{n_given} timings were given; of those of one kind and length the median was taken")
    spare = len(timings) - len(solution.values)
    if spare == 0:
        notes.append(
            f"coarse: {len(timings)} timings for as many constants are met exactly, which says nothing of their worth"
        )
    elif spare < 3:
        notes.append(
            f"coarse: {len(timings)} timings for {len(solution.values)} constants, so that small residuals say little"
        )
    longest = max(timing.tokens for timing in timings)
    notes.append(
        f"made with {machine.max_batched_tokens:,} tokens a step and prompts of up to {longest:,} tokens; "
        "another budget needs another set"
    )
    return tuple(notes)


def _refuse_bounds(solution: Solution) -> None:
    first = next((name for name in solution.at_bound if name not in _MAY_BE_NONE), None)
    if first is None:
        return
    advice = {
        "client": "o + s is smaller than the s that is held; give a smaller --s-ms (hardware estimate names one)",
        "step.base": "the timings do not tell s; hold it with --s-ms",
        "step.attention": "the prompts are too short to show attention; measure cold at 32768 tokens",
    }.get(first, "its timings contradict the others; measure them again")
    raise TracestatError(f"timings: {_shown(first)} ends at its bound 0: {advice}")


def _refuse_misses(hardware: Hardware) -> None:
    misses = [(timing_seconds(hardware, timing), timing) for timing in hardware.timings]
    beyond = [
        (abs(model / timing.seconds - 1), model, timing)
        for model, timing in misses
        if abs(model - timing.seconds) > max(_WORST_RELATIVE * timing.seconds, _WORST_SECONDS)
    ]
    if beyond:
        _, model, timing = max(beyond, key=lambda item: item[0])
        raise TracestatError(
            f"timings: the fit misses {len(beyond)} of {len(misses)} by more than 15 % and 5 ms, most {timing.kind} at "
            f"{timing.tokens:,} tokens ({timing.seconds * 1e3:g} ms measured, {model * 1e3:.4g} ms fitted); measure it "
            "again, one request at a time"
        )
