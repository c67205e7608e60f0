"""The constants of a machine that serves one model: what a step costs, what a transfer costs, what fits.

Seconds, tokens and bytes; the files of ``data/hardware`` write ms, us and ns, and are converted when they are read.
Every number knows where it comes from and how far it may be off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Hardware", "Provenance", "Step", "StorePath", "Timing"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a number comes from, and the range within which it may lie.

    Attributes
    ----------
    kind : str
        ``measured``, ``fit``, ``public``, ``computed``, ``choice`` or ``estimate``.
    note : str
        The source, in words.
    low, high : float or None
        Range in the unit of the number; None where none is known.
    """

    kind: str
    note: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Costs of an engine step of P prefill and D decode tokens.

    ``base + per_token (P + D) + attention sum_j c_j (k_j + c_j / 2) + decode_read K``; with ``form`` roofline
    ``max(base, floor + per_token (P + D))`` in place of the first two where P > 0.

    Attributes
    ----------
    base : float
        s, seconds.
    per_token : float
        b, seconds per token.
    attention : float
        q, seconds per (prefill token x context token).
    decode_read : float
        r, seconds per context token of decoding sequences.
    form : {"additive", "roofline"}
    floor : float
        s', seconds; only for roofline.
    """

    base: float
    per_token: float
    attention: float
    decode_read: float
    form: Literal["additive", "roofline"] = "additive"
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class StorePath:
    """One way between GPU and host memory.

    Attributes
    ----------
    load_fixed, load_per_token : float
        Seconds of a load, and seconds per token of it.
    store_per_token : float
        Seconds per token stored.
    blocking : bool
        Whether loads and stores hold up the engine step (lmcache) or run beside it (native).
    chunk_tokens : int
        Only whole chunks are stored and found again.
    """

    load_fixed: float
    load_per_token: float
    store_per_token: float
    blocking: bool
    chunk_tokens: int


@dataclass(frozen=True, slots=True)
class Timing:
    """A measured time to the first token, seconds, of a prompt of ``tokens`` tokens.

    ``kind`` is ``cold``, ``cold_lmcache``, ``cold_native`` (with stores), ``reload_lmcache`` or ``reload_native``.
    """

    kind: str
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The constants of one machine and model.

    Attributes
    ----------
    id : str
        Stem of the file.
    card, model, weight_dtype, kv_dtype : str
    kv_bytes_per_token : int
        Bytes of KV cache per token.
    pool_tokens : int
        Tokens of KV cache that the GPU holds.
    block_tokens : int
        Tokens of a block.
    max_batched_tokens : int
        Budget of a step (``max_num_batched_tokens``), to which the step constants belong.
    step : Step
    client : float
        o, seconds from the first token's step to the client; does not occupy the GPU.
    stores : mapping of str to StorePath
        ``lmcache`` and ``native``.
    link : {"shared", "duplex"}
    timings : tuple of Timing
        What it was fitted to; empty where nothing was measured.
    provenance : mapping of str to Provenance
        Per number, by its dotted name, as ``step.base`` or ``stores.native.load_fixed``.
    estimate : bool
        Whether any number is derived from specifications rather than measured.
    notes : tuple of str
    """

    id: str
    card: str
    model: str
    weight_dtype: str
    kv_dtype: str
    kv_bytes_per_token: int
    pool_tokens: int
    block_tokens: int
    max_batched_tokens: int
    step: Step
    client: float
    stores: Mapping[str, StorePath]
    link: Literal["shared", "duplex"] = "shared"
    timings: tuple[Timing, ...] = ()
    provenance: Mapping[str, Provenance]
    estimate: bool = False
    notes: tuple[str, ...] = ()

    @property
    def pool_bytes(self) -> int:
        """Bytes of KV cache that the GPU holds."""
        return self.pool_tokens * self.kv_bytes_per_token
