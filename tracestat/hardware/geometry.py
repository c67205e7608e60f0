"""What a model costs per token, from its Hugging Face ``config.json``: weights, arithmetic, KV cache.

Decoders with full attention: multi-head, grouped, multi-query, and latent attention (MLA); dense or with experts.
Sliding windows, linear attention and state-space layers keep another cache and are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracestat.errors import TracestatError

__all__ = ["KV_BYTES", "WEIGHT_BYTES", "Geometry", "geometry_of", "read_config"]

KV_BYTES = {"bf16": 2, "fp16": 2, "fp8": 1}
WEIGHT_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5}
_LARGEST_FILE = 1 << 24
_INSTEAD = "measure it (tracestat hardware recipe) and state --kv-bytes-per-token in place of --model"
_OTHER_CACHES = {
    "layer_types": "layers of several kinds",
    "hybrid_override_pattern": "hybrid layers",
    "attn_layer_period": "hybrid layers",
    "mamba_d_state": "state-space layers",
    "ssm_cfg": "state-space layers",
    "state_size": "state-space layers",
    "linear_num_key_heads": "linear attention",
    "index_topk": "sparse attention with its own index",
    "linear_attn_config": "linear attention",
    "attention_chunk_size": "attention within chunks",
    "attn_type_list": "attention of several kinds",
    "block_configs": "layers that differ in their heads",
    "cla_share_factor": "layers that share a cache",
    "num_attention_groups": "heads grouped in another way",
}
# keys that mean the plain case where they have this value
_PLAIN = {"attn_type_list": 1, "cla_share_factor": 1}
# where experts sit in some layers only, or go by another name, the weights are not counted
_OTHER_EXPERTS = ("decoder_sparse_step", "moe_layer_freq", "mlp_only_layers", "moe_num_experts")


@dataclass(frozen=True, slots=True)
class Geometry:
    """A model, counted.

    Attributes
    ----------
    model : str
    attention : {"MHA", "GQA", "MQA", "MLA"}
    layers, heads, kv_heads, hidden : int
    kv_per_token : int
        Numbers kept per token and layer by one card that holds all heads.
    parameters : float
        Of the layers, all experts.
    active : float
        Of the layers, of those experts that one token passes.
    head_parameters : float
        Of the output head; the embedding is ``embedding_parameters``, zero where both are one.
    embedding_parameters : float
    attention_flops : float
        Operations per prefill token and context token, all layers.
    quantization : str
        How the file says that the weights are stored in fewer bits, as ``fp8`` or ``awq``; empty where it does not.
    """

    model: str
    attention: str
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    kv_per_token: int
    parameters: float
    active: float
    head_parameters: float
    embedding_parameters: float
    attention_flops: float
    quantization: str = ""

    def kv_bytes(self, dtype: str) -> int:
        """KV cache of a token over all layers, where one card holds it."""
        return self.kv_per_token * self.layers * KV_BYTES[dtype]


def read_config(path: Path) -> Mapping[str, Any]:
    """Read a ``config.json``.

    Raises
    ------
    TracestatError
        It cannot be read, or is no JSON object.
    """
    where = f"model {path.name}"
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise TracestatError(f"{where}: over 16 MiB, which no config.json is; name another file")
        data = json.loads(path.read_text(encoding="utf-8"))
    except IsADirectoryError:
        raise TracestatError(f"{where}: is a folder; name the config.json in it") from None
    except OSError as error:
        raise TracestatError(
            f"{where}: cannot be read ({error.strerror}); name the model's config.json or its folder"
        ) from None
    except (ValueError, RecursionError) as error:
        raise TracestatError(f"{where}: is not valid JSON ({str(error).splitlines()[0]}); correct it") from None
    if not isinstance(data, dict):
        raise TracestatError(f"{where}: holds no object; name a config.json")
    return data


def geometry_of(config: Mapping[str, Any], *, name: str | None = None, where: str = "config.json") -> Geometry:
    """Count a model.

    Parameters
    ----------
    config : mapping
        Content of a ``config.json``; of a model with pictures its ``text_config`` is taken.
    name : str, optional
        What to call it; by default what the file says.
    where : str
        Base name of the file, for messages.

    Returns
    -------
    Geometry

    Raises
    ------
    TracestatError
        A size is missing or no positive whole number, the model keeps another cache than full attention does, or has
        experts in some of its layers only.

    Notes
    -----
    Gated feed-forward layers of three matrices are assumed. Per layer and token: ``2 kv_heads head_dim`` numbers of
    cache, with MLA ``kv_lora_rank + qk_rope_head_dim``. Attention is ``4 heads head_dim`` operations per prefill token
    and context token, with MLA ``2 heads (qk_nope_head_dim + qk_rope_head_dim + v_head_dim)``.

    Examples
    --------
    >>> llama = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    ...          "intermediate_size": 14336, "vocab_size": 128256}
    >>> geometry_of(llama).kv_bytes("bf16")
    131072
    """
    inner = config.get("text_config")
    reader = _Reader(inner if isinstance(inner, dict) else config, f"model {where}")
    reader.refuse_other_caches()
    reader.refuse_other_experts()
    layers, heads, hidden = (reader.size(key) for key in ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    vocabulary = reader.size("vocab_size")
    if reader.has("kv_lora_rank"):
        kind, kv_heads = "MLA", 1
        kv_per_token, attention_flops, attention = _latent(reader, heads, hidden)
    else:
        kv_heads = reader.size("num_key_value_heads", heads)
        if heads % kv_heads:
            raise TracestatError(f"model {where}: {heads} heads are no multiple of {kv_heads} KV heads; correct it")
        if not reader.has("head_dim") and hidden % heads:
            raise TracestatError(f"model {where}: hidden_size {hidden} is no multiple of {heads} heads; give head_dim")
        width = reader.size("head_dim", hidden // heads)
        kind = "MHA" if kv_heads == heads else "MQA" if kv_heads == 1 else "GQA"
        kv_per_token, attention_flops = 2 * kv_heads * width, 4.0 * heads * width
        attention = float(hidden * width * (2 * heads + 2 * kv_heads))
    total, active = _feed_forward(reader, layers, hidden)
    tied = reader.config.get("tie_word_embeddings") is True or (
        "tie_word_embeddings" not in reader.config and config.get("tie_word_embeddings") is True
    )
    return Geometry(
        model=name or reader.name(config),
        attention=kind,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        hidden=hidden,
        kv_per_token=kv_per_token,
        parameters=layers * attention + total,
        active=layers * attention + active,
        head_parameters=float(vocabulary * hidden),
        embedding_parameters=0.0 if tied else float(vocabulary * hidden),
        attention_flops=layers * attention_flops,
        quantization=_quantization(config),
    )


def _quantization(config: Mapping[str, Any]) -> str:
    stated = config.get("quantization_config")
    if not isinstance(stated, dict):
        return ""
    method = stated.get("quant_method")
    return method[:20] if isinstance(method, str) and method.isprintable() and method else "some way"


class _Reader:
    """A config and how messages name it."""

    def __init__(self, config: Mapping[str, Any], where: str) -> None:
        self.config = config
        self.where = where

    def has(self, key: str) -> bool:
        return self.config.get(key) is not None

    def size(self, key: str, default: int | None = None) -> int:
        value = self.config.get(key)
        if value is None:
            if default is None:
                raise TracestatError(f"{self.where}: {key} is missing; name the config.json of a decoder")
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**8:
            raise TracestatError(f"{self.where}: {key} is {str(value)[:40]}; it must be a positive whole number")
        return value

    def name(self, config: Mapping[str, Any]) -> str:
        found = config.get("_name_or_path") or config.get("model_type") or "model"
        text = str(found).rstrip("/").replace("\\", "/").rpartition("/")[2]
        return text if text.isprintable() and text else "model"

    def refuse_other_caches(self) -> None:
        window = self.config.get("sliding_window")
        kinds = self.config.get("layer_types")
        uniform = isinstance(kinds, list) and set(map(str, kinds)) == {"full_attention"}
        if window is not None and self.config.get("use_sliding_window", True) is not False and not uniform:
            raise TracestatError(
                f"{self.where}: sliding_window {str(window)[:20]}: the cache of such a model does not grow with its "
                f"context; {_INSTEAD}"
            )
        for key, what in _OTHER_CACHES.items():
            plain = uniform if key == "layer_types" else _only(self.config.get(key), _PLAIN.get(key))
            if self.has(key) and not plain:
                raise TracestatError(f"{self.where}: {key}: {what}, whose cache is not counted here; {_INSTEAD}")

    def refuse_other_experts(self) -> None:
        for key in _OTHER_EXPERTS:
            value = self.config.get(key)
            if value not in (None, []) and not _only(value, 1):
                raise TracestatError(
                    f"{self.where}: {key} {str(value)[:20]}: experts that are not counted here; {_INSTEAD}"
                )


def _only(value: object, plain: int | None) -> bool:
    """Tell whether a key, or each entry of its list, has the value that means the plain case."""
    return plain is not None and all(entry == plain for entry in (value if isinstance(value, list) else [value]))


def _latent(reader: _Reader, heads: int, hidden: int) -> tuple[int, float, float]:
    """Give cache, operations and parameters of a layer of latent attention."""
    rank, rope = reader.size("kv_lora_rank"), reader.size("qk_rope_head_dim")
    nope, value = reader.size("qk_nope_head_dim"), reader.size("v_head_dim")
    query = reader.size("q_lora_rank") if reader.has("q_lora_rank") else 0
    width = heads * (nope + rope)
    asking = hidden * query + query * width if query else hidden * width
    keeping = hidden * (rank + rope) + rank * heads * (nope + value)
    return rank + rope, 2.0 * heads * (nope + rope + value), float(asking + keeping + heads * value * hidden)


def _feed_forward(reader: _Reader, layers: int, hidden: int) -> tuple[float, float]:
    """Give the parameters of all feed-forward layers, and of those that one token passes."""
    counts = ("num_local_experts", "num_experts", "n_routed_experts")
    experts = next((reader.size(key) for key in counts if reader.config.get(key)), 1)
    if experts == 1:
        dense = 3.0 * layers * hidden * reader.size("intermediate_size")
        return dense, dense
    chosen = reader.size("num_experts_per_tok")
    if chosen > experts:
        raise TracestatError(f"{reader.where}: {chosen} experts per token of {experts}; correct it")
    width = reader.size("moe_intermediate_size", reader.config.get("intermediate_size"))
    first = reader.config.get("first_k_dense_replace") or 0
    dense_layers = first if isinstance(first, int) and 0 < first <= layers else 0
    dense = 3.0 * dense_layers * hidden * reader.size("intermediate_size") if dense_layers else 0.0
    shared = reader.size("n_shared_experts") * width if reader.config.get("n_shared_experts") else 0
    if reader.config.get("shared_expert_intermediate_size"):
        shared = reader.size("shared_expert_intermediate_size")
    of_experts = 3.0 * (layers - dense_layers) * hidden
    router = float((layers - dense_layers) * hidden * experts)
    return (
        dense + router + of_experts * (experts * width + shared),
        dense + router + of_experts * (chosen * width + shared),
    )
