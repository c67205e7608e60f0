"""Timings and models that tests are asked about, as files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tracestat.hardware import Timing, load_hardware

# sizes as their makers publish them
LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "_name_or_path": "meta-llama/Llama-3.1-8B",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "vocab_size": 128256,
}
LLAMA_70B = LLAMA_8B | {
    "_name_or_path": "meta-llama/Llama-3.1-70B",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_attention_heads": 64,
    "num_hidden_layers": 80,
}
MIXTRAL = LLAMA_8B | {
    "model_type": "mixtral",
    "_name_or_path": "mixtral-8x7b",
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": None,
    "vocab_size": 32000,
}
QWEN_30B: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "sliding_window": None,
    "use_sliding_window": False,
    "tie_word_embeddings": False,
    "vocab_size": 151936,
}
DEEPSEEK_V3: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "tie_word_embeddings": False,
    "v_head_dim": 128,
    "vocab_size": 129280,
}


def config_file(folder: Path, config: dict[str, Any] | None = None) -> Path:
    """Write a config.json, of the 8B model unless told otherwise."""
    path = folder / "config.json"
    path.write_text(json.dumps(LLAMA_8B if config is None else config), encoding="utf-8")
    return path


def timings_file(folder: Path, timings: Iterable[Timing] | None = None) -> Path:
    """Write timings as CSV, those of the default set unless told otherwise."""
    path = folder / "timings.csv"
    given = load_hardware().timings if timings is None else timings
    rows = [f"{timing.kind},{timing.tokens},{timing.seconds * 1e3:.10g}" for timing in given]
    path.write_text("\n".join(["kind,tokens,ms", *rows]) + "\n", encoding="utf-8")
    return path


def five() -> tuple[Timing, ...]:
    """Give three cold timings and two reloads: the fewest that make a set."""
    kept = {("cold", 1024), ("cold", 8192), ("cold", 32768), ("reload_lmcache", 8192), ("reload_lmcache", 32768)}
    return tuple(timing for timing in load_hardware().timings if (timing.kind, timing.tokens) in kept)
