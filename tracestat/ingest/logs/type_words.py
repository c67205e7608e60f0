"""Which types of lines may be shown: those made of words that harnesses use, since any other word may be somebody's."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["UNNAMED", "shown_type"]

# What stands for a type that is not shown.
UNNAMED: Final = "unnamed"
_TYPE: Final = re.compile(r"(?=.{1,60}\Z)[A-Za-z]{1,24}(?:[-_.:/][A-Za-z]{1,24}){0,5}")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WORDS: Final = frozenset(
    re.findall(
        "[a-z]+",
        """
abort aborted accept accepted action activity add added agent agents ai answer api apply approval approve approved
archive argument arguments assistant async attachment audio auto background base bash begin block blocked branch bridge
budget build cache call calls cancel canceled cancelled cell change changed chat check checkpoint chunk clear client
close closed code collab command commands comment commit compact compacted compaction complete completed completion
config connect connected content context control copy cost count create created custom data debug decision delete
deleted delta denied deny diff dispatch document done draft duration dynamic edit effort elicitation encrypted end
ended enqueue enter entered entry env environment error eval event events exec execute execution exit exited
experimental export external fail failed failure feedback fetch file files final finish finished flag fork forked
format frame function generate generation git global goal group guardian handoff header health heartbeat hint history
hook hooks human id idle image import index info init initial input inputs instruction instructions interaction
interrupt interrupted invoke item items job join json keep kill label last launch legacy level limit limits line link
links list listing llm load local lock log logs loop marker mcp media memory merge message messages meta metadata
metric metrics migration mode model models monitor move name named network new next node note notes notice
notification notify object open operation option options origin output outputs overview page parse part partial parts
patch path pause paused payload pending permission permissions ping plan plugin plugins policy post pr pre preview
process profile profiles progress project prompt prompts proposal provider proxy pull push query queue queued quota
rate raw read ready realtime reason reasoning receipt record records ref reference refresh refusal refused reject
rejected release reload remote remove removed rename replay report request requests reroute reset resource resources
response responses restore result results resume resumed retry return review rewind rollback rolled root round route
router rule rules run running sample sandbox save schedule schema scope screen screenshot script search section select
send sent server service session sessions set setting settings setup share shell show shutdown side sidechain signal
skill skills skip sleep slash snapshot snapshots source span spans spawn speed start started state statistics stats
status step steps stop stopped store stream streaming sub subagent subagents subscribe success suggestion summary
suspend sync system tag task tasks team teammate telemetry template terminal test text thinking thread throttle time
timeline timeout timer timing title todo todos token tokens tool tools topic trace traces transcript transfer trigger
truncated turn turns type ui undo unknown update updated upload usage use user value verification version view voice
wait waiting wake warning warnings watch web window worker workflow workspace world worktree write written
""",
    )
)


def shown_type(kind: str) -> str:
    """Give the type of a line as it may be shown: itself if all its words are a harness's, else ``unnamed``.

    Examples
    --------
    >>> shown_type("pr-link"), shown_type("toolCallProgress"), shown_type("plan-of-alice")
    ('pr-link', 'toolCallProgress', 'unnamed')
    """
    if not _TYPE.fullmatch(kind):
        return UNNAMED
    words = _WORD.findall(kind)
    is_whole = sum(map(len, words)) == sum(map(str.isalpha, kind))
    return kind if is_whole and all(word.lower() in _WORDS for word in words) else UNNAMED
