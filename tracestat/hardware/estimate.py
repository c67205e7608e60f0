"""The constants of a machine from public figures and the geometry of a model: every number an estimate."""

from __future__ import annotations

from dataclasses import dataclass

from tracestat.errors import TracestatError, UsageError
from tracestat.hardware.cards import Card
from tracestat.hardware.constants import Hardware, Provenance, Step, StorePath
from tracestat.hardware.geometry import KV_BYTES, WEIGHT_BYTES, Geometry

__all__ = ["EFFICIENCY", "Serving", "estimate_constants", "estimate_step", "kv_bytes_over_cards"]

# which part of a public figure is reached: assumed, not measured
EFFICIENCY = {
    "dense arithmetic": 0.7,
    "attention arithmetic": 0.7,
    "memory": 0.85,
    "load through LMCache": 0.6,
    "native load": 0.35,
    "store": 0.4,
    "link between cards": 0.6,
}
# of what the driver shows an engine sees 98 % and more; it takes 90 % of that, 2 GB of it for activations and graphs
_VISIBLE, _TAKEN, _OVERHEAD = 0.98, 0.9, 2e9
# launches of a layer; waiting for the other cards twice a layer
_LAUNCH, _SYNC = 30e-6, 10e-6
# of the RTX 4090 set: nothing public tells them
_CLIENT, _NATIVE_FIXED = 5.1e-3, 8.9e-3
# how far a number may be off either way; the one machine that could be compared is within 1.4
_FACTOR = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a model is served.

    Attributes
    ----------
    tensor_parallel : int
        Cards that share each layer.
    weight_dtype : {"bf16", "fp16", "fp8", "int8", "int4"}
        Of the layers; embedding and output head keep 16 bits.
    kv_dtype : {"bf16", "fp16", "fp8"}
    max_batched_tokens, block_tokens, lmcache_chunk : int
    """

    tensor_parallel: int = 1
    weight_dtype: str = "bf16"
    kv_dtype: str = "bf16"
    max_batched_tokens: int = 2048
    block_tokens: int = 16
    lmcache_chunk: int = 256


def estimate_constants(card: Card, model: Geometry, serving: Serving, *, id: str) -> Hardware:  # noqa: A002  the field is called id
    """Estimate the constants of a machine nobody has measured.

    Parameters
    ----------
    card : Card
    model : Geometry
    serving : Serving
    id : str

    Returns
    -------
    Hardware
        With ``estimate`` set and every number's provenance an estimate, within a factor of two either way.

    Raises
    ------
    UsageError
        An unknown dtype, or a number of cards that does not divide the heads.
    TracestatError
        The weights do not fit, or leave no room for a step.

    Notes
    -----
    With n cards, and each rate times its factor in ``EFFICIENCY``:

    ``s = weight bytes / n / memory + launches``; ``b = 2 active parameters / n / arithmetic``, and with n > 1 the two
    sums over cards of each layer, ``2 layers x 2 hidden x 2 (n - 1) / n / link``;
    ``q = attention operations / n / arithmetic``; ``r = KV bytes per card / memory``; loads and stores are
    ``KV bytes per card / host link``, each card on its own link. The pool is ``0.9`` of the visible memory less
    weights and 2 GB, over the KV bytes per card. KV heads fewer than cards are replicated, and so is the cache of MLA.

    Examples
    --------
    >>> from tracestat.hardware.cards import card_of
    >>> from tracestat.hardware.geometry import geometry_of
    >>> llama = geometry_of({"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    ...     "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256})
    >>> machine = estimate_constants(card_of("rtx4090"), llama, Serving(weight_dtype="fp8"), id="guess")
    >>> round(machine.step.per_token * 1e6, 1), machine.estimate
    (60.4, True)
    """
    _refuse(model, serving)
    cards = serving.tensor_parallel
    kv_of_card = kv_bytes_over_cards(model, serving) // cards
    pool = _pool(card, model, serving, kv_of_card)
    step = estimate_step(card, model, serving)
    per_byte = {
        way: kv_of_card / (card.host * EFFICIENCY[way]) for way in ("load through LMCache", "native load", "store")
    }
    store = _six(per_byte["store"])
    paths = {
        "lmcache": StorePath(0.0, _six(per_byte["load through LMCache"]), store, True, serving.lmcache_chunk),
        "native": StorePath(_NATIVE_FIXED, _six(per_byte["native load"]), store, False, serving.block_tokens),
    }
    return Hardware(
        id=id,
        card=card.name if cards == 1 else f"{cards} x {card.name}",
        model=model.model,
        weight_dtype=serving.weight_dtype,
        kv_dtype=serving.kv_dtype,
        kv_bytes_per_token=kv_of_card * cards,
        pool_tokens=pool,
        block_tokens=serving.block_tokens,
        max_batched_tokens=serving.max_batched_tokens,
        step=step,
        client=_CLIENT,
        stores=paths,
        provenance=_sources(card, model, serving, step, paths, pool=pool),
        estimate=True,
        notes=_notes(card, model, serving),
    )


def _copies(model: Geometry, serving: Serving) -> int:
    return max(1, serving.tensor_parallel // model.kv_heads)


def _rate(card: Card, serving: Serving) -> float:
    return card.fp8 if serving.weight_dtype == "fp8" and card.fp8 else card.bf16


def kv_bytes_over_cards(model: Geometry, serving: Serving) -> int:
    """Give the KV cache of a token over all cards, with the copies of heads that cannot be divided.

    Examples
    --------
    >>> from tracestat.hardware.geometry import geometry_of
    >>> llama = geometry_of({"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    ...     "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256})
    >>> [kv_bytes_over_cards(llama, Serving(tensor_parallel=n)) for n in (1, 8, 16)]
    [131072, 131072, 262144]
    """
    return model.kv_bytes(serving.kv_dtype) * _copies(model, serving)


def _layer_bytes(model: Geometry, serving: Serving) -> float:
    return model.parameters * WEIGHT_BYTES[serving.weight_dtype] / serving.tensor_parallel


def estimate_step(card: Card, model: Geometry, serving: Serving) -> Step:
    """Estimate s, b, q and r; see :func:`estimate_constants` for the formulas.

    Raises
    ------
    UsageError
        As :func:`estimate_constants`.

    Examples
    --------
    >>> from tracestat.hardware.cards import card_of
    >>> from tracestat.hardware.geometry import geometry_of
    >>> llama = geometry_of({"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    ...     "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256})
    >>> round(estimate_step(card_of("rtx4090"), llama, Serving(weight_dtype="fp8")).base * 1e3, 1)
    10.3
    """
    _refuse(model, serving)
    cards = serving.tensor_parallel
    streamed = _layer_bytes(model, serving) + 2 * model.head_parameters / cards
    memory = card.bandwidth * EFFICIENCY["memory"]
    exchange = 8 * model.layers * model.hidden * (cards - 1) / cards / (card.peer * EFFICIENCY["link between cards"])
    sync = 2 * model.layers * _SYNC if cards > 1 else 0.0
    return Step(
        base=_six(streamed / memory + model.layers * _LAUNCH + sync),
        per_token=_six(2 * model.active / cards / (_rate(card, serving) * EFFICIENCY["dense arithmetic"]) + exchange),
        attention=_six(model.attention_flops / cards / (card.bf16 * EFFICIENCY["attention arithmetic"])),
        decode_read=_six(kv_bytes_over_cards(model, serving) / cards / memory),
    )


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def _refuse(model: Geometry, serving: Serving) -> None:
    for name, value, known in (
        ("weight dtype", serving.weight_dtype, WEIGHT_BYTES),
        ("KV dtype", serving.kv_dtype, KV_BYTES),
    ):
        if value not in known:
            raise UsageError(f"{name} {value}: not known; it is one of {', '.join(known)}")
    cards, heads = serving.tensor_parallel, model.heads
    if cards < 1 or heads % cards:
        raise UsageError(f"--tp {cards}: does not divide the {heads} heads of {model.model}; choose a divisor")
    if model.attention != "MLA" and model.kv_heads % cards and cards % model.kv_heads:
        raise UsageError(
            f"--tp {cards}: the {model.kv_heads} KV heads of {model.model} can be neither divided nor replicated "
            "evenly; choose another number"
        )
    for name, count in (("block", serving.block_tokens), ("--batched-tokens", serving.max_batched_tokens)):
        if count < 1:
            raise UsageError(f"{name} {count}: must be at least 1")


def _room(card: Card, model: Geometry, serving: Serving, beside: float = _OVERHEAD) -> float:
    """Give the bytes that weights and what lies beside them leave of a card."""
    ends = 2 * (model.head_parameters + model.embedding_parameters) / serving.tensor_parallel
    return card.memory * _VISIBLE * _TAKEN - _layer_bytes(model, serving) - ends - beside


def _pool(card: Card, model: Geometry, serving: Serving, kv_of_card: int) -> int:
    left = _room(card, model, serving)
    what = f"{model.model} in {serving.weight_dtype} on {serving.tensor_parallel} x {card.name}"
    advice = "take more cards (--tp) or smaller weights (--weight-dtype)"
    if left <= 0:
        taken = card.memory * _VISIBLE * _TAKEN
        held = taken - left - _OVERHEAD
        raise TracestatError(
            f"{what}: {held / 1e9:.1f} GB of weights per card and 2 GB beside do not fit into {taken / 1e9:.1f} GB; "
            f"{advice}"
        )
    pool = int(left / kv_of_card) // serving.block_tokens * serving.block_tokens
    if pool < serving.max_batched_tokens:
        raise TracestatError(
            f"{what}: the weights leave room for {pool:,} tokens, less than a step of "
            f"{serving.max_batched_tokens:,}; {advice}"
        )
    return pool


def _sources(
    card: Card,
    model: Geometry,
    serving: Serving,
    step: Step,
    paths: dict[str, StorePath],
    *,
    pool: int,
) -> dict[str, Provenance]:
    public = f"public figure of the card, as of {card.as_of}"
    rate = _rate(card, serving)
    kv_of_card = kv_bytes_over_cards(model, serving) / serving.tensor_parallel
    # what lies beside the weights may be anything from 1 to 4 GB
    least, most = (max(0.0, _room(card, model, serving, beside)) / kv_of_card for beside in (4e9, 1e9))

    def within(value: float, note: str) -> Provenance:
        return Provenance("estimate", note, _six(value / _FACTOR), _six(value * _FACTOR))

    def at(way: str, figure: float, unit: str) -> str:
        return f"{EFFICIENCY[way]:g} of {figure:g} {unit} assumed for {way} ({public})"

    exact = Provenance("estimate", f"exact for the geometry of {model.model} ({model.attention}), over all cards")
    stated = Provenance("estimate", "as stated for this set")
    host = card.host / 1e9
    out = {
        "kv_bytes_per_token": exact,
        "pool_tokens": Provenance(
            "estimate",
            f"0.9 of the visible memory less weights and 2 GB, range with 1 to 4 GB ({public})",
            float(min(pool, int(least))),
            float(int(most)),
        ),
        "block_tokens": stated,
        "max_batched_tokens": stated,
        "step.base": within(
            step.base, f"weights; {at('memory', card.bandwidth / 1e9, 'GB/s')}; launches 0.03 ms a layer"
        ),
        "step.per_token": within(step.per_token, at("dense arithmetic", rate / 1e12, "TFLOP/s")),
        "step.attention": within(step.attention, at("attention arithmetic", card.bf16 / 1e12, "TFLOP/s")),
        "step.decode_read": within(step.decode_read, at("memory", card.bandwidth / 1e9, "GB/s")),
        "client": within(_CLIENT, "as of the RTX 4090 set: no public figure tells it"),
        "stores.lmcache.load_fixed": Provenance("estimate", "none is assumed, as in the RTX 4090 set"),
        "stores.native.load_fixed": within(_NATIVE_FIXED, "as of the RTX 4090 set: no public figure tells it"),
        "stores.lmcache.chunk_tokens": stated,
        "stores.native.chunk_tokens": Provenance("estimate", "a block of the engine"),
    }
    for path, way in (("lmcache", "load through LMCache"), ("native", "native load")):
        store = paths[path]
        out[f"stores.{path}.load_per_token"] = within(store.load_per_token, at(way, host, "GB/s"))
        out[f"stores.{path}.store_per_token"] = within(store.store_per_token, at("store", host, "GB/s"))
    return out


def _notes(card: Card, model: Geometry, serving: Serving) -> tuple[str, ...]:
    factors = ", ".join(f"{name} {value:g}" for name, value in EFFICIENCY.items())
    notes = [
        "nothing here was measured: public figures and the geometry of the model, each good to a factor of two at best",
        "against the one machine that was measured, an RTX 4090 with Llama-3.1-8B, off by a factor of 1.35 at most; "
        "that is no independent check of native loads, stores, o and the fixed load, which follow that machine",
        f"part of the public figure that is assumed to be reached: {factors}",
        f"figures of the card: {card.source}; as of {card.as_of}",
    ]
    if serving.weight_dtype in ("fp8", "int8", "int4") and _rate(card, serving) == card.bf16:
        notes.append(f"{serving.weight_dtype} weights are taken to be computed with at 16 bits")
    if model.quantization and serving.weight_dtype in ("bf16", "fp16"):
        notes.insert(
            1,
            f"the config.json says that the weights are quantized ({model.quantization}), and they were taken as "
            f"{serving.weight_dtype}: s and the pool are another machine's unless --weight-dtype says what is served",
        )
    copies = _copies(model, serving)
    if copies > 1:
        notes.append(
            f"the cache is held {copies} times: {serving.tensor_parallel} cards share {model.kv_heads} KV heads"
        )
    if model.parameters != model.active:
        notes.append("all experts are read in every step, those of the token are computed")
    if serving.tensor_parallel > 1:
        notes.append("each card loads and stores its part over a link of its own, at the same time")
    return tuple(notes)
