"""AIPerf's own loaders on a file, as `aiperf profile` builds conversations, with a tokenizer of one token a character.

The loaders, their models, their block rules and their prompt generator are AIPerf's. Ours are the tokenizer (a model's
would have to be fetched) and the decoding of many prompts at once, which AIPerf hands to processes that load a model's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

_FIRST = 0x4E00  # 20,000 letters that encode to themselves in any corpus


class LetterTokenizer:
    """A token is a letter: a text is as long as its tokens are many, and equal tokens are equal letters."""

    resolved_name = "letters"
    block_separation_token_id = None
    bos_token_id = 0
    eos_token_id = 1

    def encode(self, text: str, **_: Any) -> list[int]:
        """Give a token per letter."""
        return [ord(letter) for letter in text]

    def decode(self, tokens: list[int], **_: Any) -> str:
        """Give a letter per token."""
        return "".join(map(chr, tokens))

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        """Encode as a model's tokenizer does when called."""
        return {"input_ids": self.encode(text)}


def run_of(path: Path, kind: str, **options: Any) -> Any:
    """Configure a run over a file as `aiperf profile --input-file` does."""
    from aiperf.config import BenchmarkConfig, BenchmarkRun

    config = BenchmarkConfig.model_validate(
        {
            "models": ["m"],
            "endpoint": {"urls": ["http://localhost:1/v1/chat/completions"], "wait_for_model_timeout": 0},
            "datasets": [{"name": "default", "type": "file", "path": str(path), "format": kind, **options}],
            "phases": [{"name": "profiling", "type": "concurrency", "requests": 10, "concurrency": 1}],
            "runtime": {"ui": "simple"},
        }
    )
    return BenchmarkRun(benchmark_id="test", cfg=config, artifact_dir=config.artifacts.dir, cli_command=None)


def loader_of(path: Path, kind: str, **options: Any) -> Any:
    """Give the loader that AIPerf would take, after it has said that it can load the file."""
    from aiperf.common import random_generator
    from aiperf.dataset.generator.prompt import PromptGenerator
    from aiperf.dataset.loader.mooncake_trace import MooncakeTraceDatasetLoader
    from aiperf.dataset.loader.weka_trace import WekaTraceLoader

    from tests.export.replay_readers.model import json_of

    kinds = {"mooncake_trace": MooncakeTraceDatasetLoader, "weka_trace": WekaTraceLoader}
    first = json_of(path.open("rb").readline()) if kind == "mooncake_trace" else None
    if not kinds[kind].can_load(first, path):
        raise ValueError(f"AIPerf says that it cannot load {path.name} as {kind}")
    random_generator.reset()
    random_generator.init(0)
    generator = PromptGenerator(prompts=None, prefix_prompts=None, tokenizer=LetterTokenizer())
    return kinds[kind](filename=str(path), prompt_generator=generator, run=run_of(path, kind, **options))


@contextmanager
def decoding_here() -> Iterator[None]:
    """Decode in this process."""
    tokenizer = LetterTokenizer()

    def decode(sequences: list[list[int]], *_: Any, **__: Any) -> list[str]:
        return [tokenizer.decode(tokens) for tokens in sequences]

    from aiperf.common.environment import Environment

    with (
        mock.patch("aiperf.dataset.loader.hash_ids_synthesis.parallel_decode", decode),
        mock.patch.object(Environment.DATASET, "WEKA_PARALLEL_WORKERS", 1),  # its workers would fetch a tokenizer
    ):
        yield


def conversations(path: Path, kind: str, **options: Any) -> list[Any]:
    """Load a file and build what AIPerf would send."""
    loader = loader_of(path, kind, **options)
    with decoding_here():
        built: list[Any] = loader.convert_to_conversations(loader.load_dataset())
    return built


def prompts_sent(conversation: Any) -> list[int]:
    """Count the tokens of each prompt as AIPerf's worker makes it, with answers as long as asked for."""
    from aiperf.common.models import Text, Turn
    from aiperf.workers.session_manager import UserSessionManager

    session = UserSessionManager().create_and_store("test", conversation, len(conversation.turns))
    sent: list[int] = []
    for place in range(len(conversation.turns)):
        turn = session.advance_turn(place)
        sent.append(sum(len(text) for part in session.turn_list for item in part.texts for text in item.contents))
        if session.should_store_response():
            answer = Text(name="text", contents=["a" * turn.max_tokens])
            session.store_response(Turn(role="assistant", texts=[answer]))
    return sent
