"""Time to the first token of a request that has the machine for itself.

Chunked prefill in steps of at most ``max_batched_tokens``, the stores that hold up a step, the load from host memory,
and the rule of what a hit is worth: whole chunks of the host, and the last block of the prompt is always computed.
The simulator's answer for one agent must be this one.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracestat.hardware.constants import Hardware, Step, Timing

__all__ = [
    "KINDS",
    "Work",
    "first_token_seconds",
    "prefill_seconds",
    "timing_seconds",
    "work_of",
]

# what a timing may be: with the store path that takes part
KINDS: dict[str, str | None] = {
    "cold": None,
    "cold_lmcache": "lmcache",
    "cold_native": "native",
    "reload_lmcache": "lmcache",
    "reload_native": "native",
}


@dataclass(frozen=True, slots=True)
class Work:
    """What has to be done before the first token leaves.

    Attributes
    ----------
    resident : int
        Prompt tokens found in GPU memory.
    loaded : int
        Prompt tokens that come from host memory.
    computed : int
        Prompt tokens that are prefilled.
    stored : int
        Tokens copied to host memory when the prompt is done.
    """

    resident: int
    loaded: int
    computed: int
    stored: int


def _whole(tokens: int, unit: int) -> int:
    return tokens // unit * unit


def work_of(
    hardware: Hardware, prompt: int, *, prefix: int = 0, resident: int = 0, in_host: int = 0, path: str | None = None
) -> Work:
    """Divide a prompt into what is there, what is loaded and what is computed.

    Parameters
    ----------
    hardware : Hardware
    prompt : int
        Tokens, at least 1.
    prefix : int
        Tokens at its head that were seen before; the most that can be found again.
    resident, in_host : int
        Tokens of the context that GPU and host hold, from its head.
    path : str, optional
        The store path; without one the host is not asked and nothing is stored.

    Returns
    -------
    Work
        Resident, loaded and computed tokens add up to the prompt.

    Raises
    ------
    ValueError
        A prompt below one token, a negative count, or a prefix longer than the prompt.

    Notes
    -----
    A hit is ``max(floor16(min(resident, prefix)), floor_chunk(min(in_host, prefix)))`` and at most
    ``floor16(prompt - 1)``, with 16 the block of the machine: the last token, hence its block, has to be computed.
    Stores are whole chunks of the prompt that the host does not hold.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> work_of(load_hardware(), 1024, prefix=1024, in_host=1024, path="lmcache")
    Work(resident=0, loaded=1008, computed=16, stored=0)
    """
    if prompt < 1 or min(prefix, resident, in_host) < 0 or prefix > prompt:
        raise ValueError("a prompt has at least one token, counts are not negative, a prefix is part of the prompt")
    block = hardware.block_tokens
    most = _whole(prompt - 1, block)
    there = min(_whole(min(resident, prefix), block), most)
    if path is None:
        return Work(there, 0, prompt - there, 0)
    chunk = hardware.stores[path].chunk_tokens
    hit = max(there, min(_whole(min(in_host, prefix), chunk), most))
    held = _whole(min(in_host, prefix), chunk)
    return Work(there, hit - there, prompt - hit, max(0, _whole(prompt, chunk) - held))


def step_seconds(step: Step, tokens: int, context: int) -> float:
    """Give the seconds of a step that prefills ``tokens`` tokens after ``context`` tokens, and nothing else.

    Examples
    --------
    >>> round(step_seconds(Step(0.01, 50e-6, 3e-9, 0.0), 1000, 2000), 6)
    0.0675
    """
    linear = step.per_token * tokens
    dense = step.base + linear if step.form == "additive" else max(step.base, step.floor + linear)
    return dense + step.attention * tokens * (context + tokens / 2)


def prefill_seconds(hardware: Hardware, tokens: int, *, context: int = 0) -> float:
    """Give the seconds of all steps that prefill ``tokens`` tokens after ``context`` tokens.

    Parameters
    ----------
    hardware : Hardware
    tokens, context : int

    Returns
    -------
    float
        Without the client constant, loads and stores.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> round(prefill_seconds(load_hardware(), 1024), 5)
    0.06451
    """
    budget = hardware.max_batched_tokens
    return sum(
        step_seconds(hardware.step, min(budget, tokens - done), context + done) for done in range(0, tokens, budget)
    )


def first_token_seconds(
    hardware: Hardware, prompt: int, *, prefix: int = 0, resident: int = 0, in_host: int = 0, path: str | None = None
) -> float:
    """Give the time to the first token of a request that is alone on the machine.

    Parameters are those of :func:`work_of`.

    Returns
    -------
    float
        Seconds from arrival to the client: load, steps, stores that block, client constant.

    Raises
    ------
    ValueError
        As :func:`work_of`.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> machine = load_hardware()
    >>> round(first_token_seconds(machine, 32768), 3)
    3.667
    >>> round(first_token_seconds(machine, 32768, prefix=32768, in_host=32768, path="lmcache"), 3)
    0.211
    >>> round(first_token_seconds(machine, 32768, prefix=32618, resident=32618), 3)
    0.041
    """
    work = work_of(hardware, prompt, prefix=prefix, resident=resident, in_host=in_host, path=path)
    seconds = hardware.client + prefill_seconds(hardware, work.computed, context=work.resident + work.loaded)
    if path is None:
        return seconds
    store = hardware.stores[path]
    if work.loaded:
        seconds += store.load_fixed + store.load_per_token * work.loaded
    if store.blocking:
        seconds += store.store_per_token * work.stored
    return seconds


def timing_seconds(hardware: Hardware, timing: Timing) -> float:
    """Give the model's time for the situation that a timing was measured in.

    Parameters
    ----------
    hardware : Hardware
    timing : Timing
        A reload is the same prompt a second time, with the GPU's cache cleared between.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> round(timing_seconds(load_hardware(), Timing("reload_native", 8192, 0.125)), 5)
    0.12313
    """
    path = KINDS[timing.kind]
    known = timing.tokens if timing.kind.startswith("reload") else 0
    return first_token_seconds(hardware, timing.tokens, prefix=known, in_host=known, path=path)
