"""Decisions about paused caches as functions of the law of pauses: hold, offload, drop, prefetch.

Nothing here knows a trace, a server or a clock; what runs them over time is the simulator.
"""

from __future__ import annotations

from tracestat.policy.continuum import (
    ENOUGH_SEEN,
    PaperHold,
    continuum_paper,
    continuum_public_code,
    paper_source,
)
from tracestat.policy.law import PauseLaw, law_of_curve, law_of_durations
from tracestat.policy.scores import UNKNOWN_TOOL_SECONDS, prefetch_gain, prefetch_pays, remaining_score
from tracestat.policy.tiers import TierCosts, Tiers, best_tiers, tier_cost
from tracestat.policy.ttl import Hold, benefit_of, continuum_hold, exponential_hold, hazard_hold, hold_of, least_benefit
from tracestat.policy.waste import (
    chunked_discard_waste,
    discard_waste,
    least_waste,
    preserve_waste,
    remaining_unknown,
    swap_waste,
)

__all__ = [
    "ENOUGH_SEEN",
    "UNKNOWN_TOOL_SECONDS",
    "Hold",
    "PaperHold",
    "PauseLaw",
    "TierCosts",
    "Tiers",
    "benefit_of",
    "best_tiers",
    "chunked_discard_waste",
    "continuum_hold",
    "continuum_paper",
    "continuum_public_code",
    "discard_waste",
    "exponential_hold",
    "hazard_hold",
    "hold_of",
    "law_of_curve",
    "law_of_durations",
    "least_benefit",
    "least_waste",
    "paper_source",
    "prefetch_gain",
    "prefetch_pays",
    "preserve_waste",
    "remaining_score",
    "remaining_unknown",
    "swap_waste",
    "tier_cost",
]
