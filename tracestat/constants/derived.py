"""What follows from the constants of a machine, in the forms in which serving engines take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tracestat.hardware import Hardware, StorePath

__all__ = ["Derived", "Prefill", "Reload", "StoreConstants", "derived_from"]

_POINTS = 3  # through so many a quadratic is exact
_GIGA = 1e9


@dataclass(frozen=True, slots=True)
class Prefill:
    """Seconds of a cold prefill of n tokens: ``quadratic n^2 + linear n + constant``."""

    quadratic: float
    linear: float
    constant: float


@dataclass(frozen=True, slots=True)
class Reload:
    """Seconds until the first token of n tokens loaded from host memory: ``slope n + intercept``."""

    slope: float
    intercept: float


@dataclass(frozen=True, slots=True)
class StoreConstants:
    """One way between GPU and host memory.

    Attributes
    ----------
    reload : Reload
    mode : {"blocking", "overlapped"}
        Whether loads and stores hold up the engine step.
    load_gb_per_s, store_gb_per_s : float
        1e9 bytes per second of the link each way.
    chunk_tokens : int
        Only whole chunks are stored and found again.
    """

    reload: Reload
    mode: Literal["blocking", "overlapped"]
    load_gb_per_s: float
    store_gb_per_s: float
    chunk_tokens: int


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows from a machine.

    Attributes
    ----------
    prefill_coefficients : Prefill
        Of the first token at the client, as Continuum's plugin takes them.
    prefill_from : {"points", "step"}
        The exact quadratic through the three cold timings, or the step model with its whole steps evened out.
    stores : mapping of str to StoreConstants
    kv_bytes_per_token, pool_tokens, block_tokens : int
    pool_gb : float
        1e9 bytes of KV cache that the GPU holds.
    """

    prefill_coefficients: Prefill
    prefill_from: Literal["points", "step"]
    stores: Mapping[str, StoreConstants]
    kv_bytes_per_token: int
    pool_tokens: int
    pool_gb: float
    block_tokens: int


def derived_from(hardware: Hardware) -> Derived:
    """Give what follows from a machine.

    Parameters
    ----------
    hardware : Hardware

    Returns
    -------
    Derived

    Notes
    -----
    A prefill of n tokens takes ceil(n / B) steps, on average n / B + 1/2: that is how the base of a step enters the
    coefficients where there are not just three cold timings, or where a quadratic through them bends the wrong way.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> derived = derived_from(load_hardware("rtx4090-llama3.1-8b-fp8"))
    >>> f"{derived.prefill_coefficients.quadratic:.3e}", derived.prefill_from
    ('1.747e-09', 'points')
    >>> f"{derived.stores['native'].reload.intercept:.4f}"
    '0.0240'
    """
    found = _through_points(hardware)
    return Derived(
        found or _of_steps(hardware),
        "points" if found else "step",
        {name: _store(hardware, store) for name, store in sorted(hardware.stores.items())},
        hardware.kv_bytes_per_token,
        hardware.pool_tokens,
        hardware.pool_bytes / _GIGA,
        hardware.block_tokens,
    )


def _through_points(hardware: Hardware) -> Prefill | None:
    cold = sorted((timing.tokens, timing.seconds) for timing in hardware.timings if timing.kind == "cold")
    if len(cold) != _POINTS or len({tokens for tokens, _ in cold}) != _POINTS:
        return None
    (a, ta), (b, tb), (c, tc) = cold
    # divided differences
    ab, bc = (tb - ta) / (b - a), (tc - tb) / (c - b)
    quadratic = (bc - ab) / (c - a)
    linear = ab - quadratic * (a + b)
    constant = ta - linear * a - quadratic * a * a
    return Prefill(quadratic, linear, constant) if min(quadratic, linear, constant) >= 0 else None


def _of_steps(hardware: Hardware) -> Prefill:
    step = hardware.step
    each, first = step.per_token + step.base / hardware.max_batched_tokens, step.base / 2
    if step.form == "roofline":  # whole steps of prefill lie above the base
        each, first = step.per_token + step.floor / hardware.max_batched_tokens, step.floor / 2
    return Prefill(step.attention / 2, each, hardware.client + first)


def _store(hardware: Hardware, store: StorePath) -> StoreConstants:
    size = hardware.kv_bytes_per_token
    # the step that computes the last block follows the load
    intercept = hardware.client + hardware.step.base + store.load_fixed
    return StoreConstants(
        Reload(store.load_per_token, intercept),
        "blocking" if store.blocking else "overlapped",
        size / store.load_per_token / _GIGA,
        size / store.store_per_token / _GIGA,
        store.chunk_tokens,
    )
