"""What the caller of a replay export chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tracestat.durations.sequence import HumanGap

__all__ = ["ReplayOptions", "Start"]

Start = Literal["zero", "recorded"]


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What the caller chose.

    Attributes
    ----------
    human_gap : HumanGap
    start : {"zero", "recorded"}
        When sessions begin.
    block_size : int, optional
        Tokens per cache block; the format's own by default.
    scale_context : int, optional
        Tokens that the 99th percentile of the sessions' peaks is brought to.
    sessions : int, optional
        How many to draw.
    seed : int
        Of that drawing.
    token_ids : bool
        Ids for all tokens (llmservingsim).
    """

    human_gap: HumanGap
    start: Start = "zero"
    block_size: int | None = None
    scale_context: int | None = None
    sessions: int | None = None
    seed: int = 0
    token_ids: bool = False
