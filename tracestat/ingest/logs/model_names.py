"""Which names of models are those of published ones: a deployment may be named after its owner."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_published"]

_FAMILIES: Final = "|".join(
    re.findall(
        "[a-z]+",
        """
chatgpt claude codestral codex command deepseek devstral doubao ernie exaone fable falcon gemini gemma glm gpt granite
grok haiku hunyuan jamba kimi llama longcat magistral mimo minimax ministral mistral mixtral nemotron nova o olmo opus
phi pixtral qwen qwq seed sonnet yi
""",
    )
)
# What stands behind a family, beside versions, sizes and dates.
_WORDS: Final = "|".join(
    re.findall(
        "[a-z]+",
        """
air alpha audio awq base beta bf build chat code coder distill edge exp experimental fast flash fp gguf gptq hf high
image instant instruct int it large latest light lite live low maverick max medium micro mini minimal moe nano nemo next
non nothink nothinking omni oss plus preview pro realtime reasoner reasoning research scout search small spark stable
super text thinking tts turbo ultra vision vl xhigh
""",
    )
)
_VERSION: Final = r"[a-z]?\d{1,8}(?:x\d{1,3})?[a-z]{0,2}"
_PUBLISHED: Final = re.compile(
    rf"(?:{_FAMILIES})(?![a-z])(?:{_VERSION})?"
    rf"(?:[-.:_ ](?:{_VERSION}|(?:{_FAMILIES}|{_WORDS})(?![a-z])(?:{_VERSION})?))*",
    re.IGNORECASE,
)
_LONGEST: Final = 100


def is_published(name: str) -> bool:
    """Tell whether a name is made of a known family, versions and known words only.

    Examples
    --------
    >>> is_published("claude-opus-4-8"), is_published("gpt-4o-acme")
    (True, False)
    """
    return len(name) <= _LONGEST and _PUBLISHED.fullmatch(name) is not None
