"""Constants of a machine for the public face: fitted to a user's timings, or estimated for a card by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from tracestat.errors import TracestatError, UsageError
from tracestat.hardware import Hardware, Provenance, Step, Timing
from tracestat.hardware.cards import card_of, find_card
from tracestat.hardware.estimate import Serving, estimate_constants, estimate_step, kv_bytes_over_cards
from tracestat.hardware.geometry import KV_BYTES, WEIGHT_BYTES, Geometry, geometry_of, read_config
from tracestat.hardware.new import ASSUMED_BASE, Machine, fit_constants
from tracestat.hardware.timings import read_timings

__all__ = ["estimate_hardware", "fit_hardware"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")


def _check_id(id_: str) -> str:
    if not _ID.fullmatch(id_) or id_.lower().endswith((".toml", ".json")):
        raise UsageError(f"id {id_!r}: must be letters, digits, points and dashes, without the ending of a file")
    return id_


def _geometry(model: str | Path | Mapping[str, Any], name: str | None) -> Geometry:
    if isinstance(model, Mapping):
        return geometry_of(model, name=name)
    path = Path(model)
    if path.is_dir() and (path / "config.json").is_file():
        path /= "config.json"
    return geometry_of(read_config(path), name=name, where=path.name)


def fit_hardware(
    timings: str | Path | Iterable[Timing],
    *,
    id: str,  # noqa: A002  the field of Hardware is called id
    card: str,
    pool_tokens: int,
    model: str | Path | Mapping[str, Any] | None = None,
    model_name: str | None = None,
    kv_bytes_per_token: int | None = None,
    weight_dtype: str | None = None,
    kv_dtype: str = "bf16",
    block_tokens: int = 16,
    max_batched_tokens: int = 2048,
    lmcache_chunk: int = 256,
    tensor_parallel: int = 1,
    base: float | Literal["free"] | None = None,
    decode_read: float | None = None,
    whole_hits: bool = False,
) -> Hardware:
    """Fit the constants of a machine to timings of one request at a time.

    Parameters
    ----------
    timings : str, Path or iterable of Timing
        A ``.csv`` or ``.json`` of ``kind, tokens, ms``, or the timings in seconds; five at least.
    id, card : str
        Names of the set and of the card.
    pool_tokens : int
        Tokens of KV cache that the engine says it has.
    model : str, Path or mapping, optional
        ``config.json`` of the model, its folder or its content; gives the KV bytes per token.
    model_name : str, optional
        What to call the model.
    kv_bytes_per_token : int, optional
        Needed where there is no ``model``.
    weight_dtype, kv_dtype : str
    block_tokens, max_batched_tokens, lmcache_chunk, tensor_parallel : int
        What the engine ran with.
    base : float or "free", optional
        s in seconds, held. By default what public figures say, where ``card`` is one of ``data/cards.toml`` and
        ``model`` and ``weight_dtype`` are given; otherwise 10 ms, as of the RTX 4090 set.
    decode_read : float, optional
        r in seconds per context token; by default likewise.
    whole_hits : bool
        Take reloads to compute nothing, as the shipped sets were fitted.

    Returns
    -------
    Hardware
        With ranges and notes on what was assumed; :func:`tracestat.hardware.hardware_to_toml` writes it.

    Raises
    ------
    UsageError
        A number is missing or out of range.
    TracestatError
        The files cannot be read, or the timings make no sense; see
        :func:`tracestat.hardware.new.fit_constants` for the formula and the reasons.

    Examples
    --------
    >>> import tracestat
    >>> known = tracestat.load_hardware()
    >>> mine = tracestat.fit_hardware(known.timings, id="mine", card="RTX 4090", pool_tokens=81408,
    ...                               kv_bytes_per_token=131072)
    >>> round(mine.step.per_token * 1e6)
    52
    """
    for name, count in (
        ("pool tokens", pool_tokens),
        ("KV bytes per token", kv_bytes_per_token),
        ("block tokens", block_tokens),
        ("batched tokens", max_batched_tokens),
        ("LMCache chunk", lmcache_chunk),
    ):
        if count is not None and not 1 <= count <= 1 << 40:
            raise UsageError(f"{name} {count}: must be a positive number")
    for name, seconds in (("s", base), ("r", decode_read)):
        if isinstance(seconds, float | int) and not 0 <= seconds < 10:
            raise UsageError(f"{name} {seconds:g} s: must be between 0 and 10 s")
    if kv_dtype not in KV_BYTES:
        raise UsageError(f"KV dtype {kv_dtype}: not known; it is one of {', '.join(KV_BYTES)}")
    sources: dict[str, Provenance] = {}
    guess: Step | None = None
    if model is not None:
        geometry = _geometry(model, model_name)
        serving = Serving(tensor_parallel=tensor_parallel, weight_dtype=weight_dtype or "bf16", kv_dtype=kv_dtype)
        counted = kv_bytes_over_cards(geometry, serving)
        if kv_bytes_per_token not in (None, counted):
            shown = "config.json" if isinstance(model, Mapping) else Path(model).name
            raise TracestatError(
                f"model {shown}: {counted:,} bytes of KV cache a token in {kv_dtype}, and "
                f"{kv_bytes_per_token:,} were stated; leave one out"
            )
        kv_bytes_per_token, model_name = counted, geometry.model
        note = f"layers x numbers kept x bytes, {geometry.attention}, of the model's config.json, over all cards"
        sources["kv_bytes_per_token"] = Provenance("computed", note)
        known = find_card(card)
        if known is not None and weight_dtype in WEIGHT_BYTES:
            guess = estimate_step(known, geometry, serving)
    if kv_bytes_per_token is None:
        raise UsageError("KV bytes per token are missing: give --model config.json or --kv-bytes-per-token")
    measured = read_timings(Path(timings)) if isinstance(timings, str | Path) else tuple(timings)
    machine = Machine(
        id=_check_id(id),
        card=card,
        model=model_name or "not stated",
        weight_dtype=weight_dtype or "not stated",
        kv_dtype=kv_dtype,
        kv_bytes_per_token=kv_bytes_per_token,
        pool_tokens=pool_tokens,
        block_tokens=block_tokens,
        max_batched_tokens=max_batched_tokens,
        lmcache_chunk=lmcache_chunk,
        sources=sources,
    )
    held: float | None = ASSUMED_BASE
    notes: dict[str, str] = {}
    if base == "free":
        held = None
    elif base is not None:
        held, notes["base_note"] = float(base), "as stated for this set; the timings tell only o + s"
    elif guess is not None:
        held = guess.base
        notes["base_note"] = "estimated from weights and memory bandwidth of the card; the timings tell only o + s"
    if decode_read is None and guess is not None:
        decode_read = guess.decode_read
        notes["read_note"] = "estimated from the card's memory bandwidth; no time to the first token tells it"
    return fit_constants(measured, machine, base=held, decode_read=decode_read, whole_hits=whole_hits, **notes)


def estimate_hardware(
    card: str,
    model: str | Path | Mapping[str, Any],
    *,
    tensor_parallel: int = 1,
    weight_dtype: str = "bf16",
    kv_dtype: str = "bf16",
    max_batched_tokens: int = 2048,
    block_tokens: int = 16,
    lmcache_chunk: int = 256,
    model_name: str | None = None,
    id: str | None = None,  # noqa: A002  as above
) -> Hardware:
    """Estimate the constants of a machine from public figures of its card and the geometry of the model.

    Parameters
    ----------
    card : str
        Id or name of a card of ``data/cards.toml``.
    model : str, Path or mapping
        ``config.json`` of the model, its folder or its content.
    tensor_parallel : int
        Cards that share each layer.
    weight_dtype : {"bf16", "fp16", "fp8", "int8", "int4"}
    kv_dtype : {"bf16", "fp16", "fp8"}
    max_batched_tokens, block_tokens, lmcache_chunk : int
        What the engine will run with.
    model_name, id : str, optional
        What to call the model and the set.

    Returns
    -------
    Hardware
        ``estimate`` is set; every number is an estimate within a factor of two. Against the fitted RTX 4090 set, the
        one machine that could be compared, no number is off by more than a factor of 1.35; native loads, stores, o
        and the fixed load follow that machine, so that for them this is no independent check.

    Raises
    ------
    UsageError
        An unknown card or dtype, or a number of cards that does not divide the heads.
    TracestatError
        The file cannot be read, its model keeps another cache than full attention does, or it does not fit.
        Formulas: :func:`tracestat.hardware.estimate.estimate_constants`.

    Examples
    --------
    >>> import tracestat
    >>> llama = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    ...          "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}
    >>> guess = tracestat.estimate_hardware("H100 80GB SXM", llama, weight_dtype="fp8")
    >>> guess.estimate, guess.pool_tokens
    (True, 490928)
    """
    found = card_of(card)
    geometry = _geometry(model, model_name)
    serving = Serving(
        tensor_parallel=tensor_parallel,
        weight_dtype=weight_dtype,
        kv_dtype=kv_dtype,
        max_batched_tokens=max_batched_tokens,
        block_tokens=block_tokens,
        lmcache_chunk=lmcache_chunk,
    )
    times = "" if tensor_parallel == 1 else f"{tensor_parallel}x"
    plain = re.sub(r"[^a-z0-9.]+", "-", f"{times}{found.id}-{geometry.model}-{weight_dtype}".lower()).strip("-.")
    return estimate_constants(found, geometry, serving, id=_check_id(id or f"{plain}-estimate"))
