"""Requests and sessions have the number of rounds that their laws say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.synth.conftest import Large
from tests.synth.reading import sessions_of
from tracestat.synth.catalogue import PROVIDERS
from tracestat.synth.laws import compound_moments

Counts = dict[str, tuple[list[int], list[int]]]


@pytest.fixture(scope="module")
def counted(large: Large) -> Counts:
    """Count the rounds of each request and of each session, by provider."""
    counts: Counts = {"claude": ([], []), "codex": ([], [])}
    seen: set[str] = set()
    for rows in sessions_of(large.path):
        requests, sessions = counts[rows[0]["provider"]]
        fresh = [row for row in rows if row["round_id"] not in seen]
        seen |= {row["round_id"] for row in fresh}
        starts = [i for i, row in enumerate(fresh) if row["current_user_message_count"]]
        assert starts[0] == 0
        requests += np.diff([*starts, len(fresh)]).tolist()
        sessions.append(len(fresh))
    return counts


@pytest.mark.parametrize("provider", ["claude", "codex"])
def test_rounds_of_requests_and_sessions(counted: Counts, provider: str) -> None:
    requests, sessions = counted[provider]
    inner = PROVIDERS[provider].rounds.moments()
    outer = PROVIDERS[provider].requests.moments()
    for counts, (mean, square, _) in ((requests, inner), (sessions, compound_moments(outer, inner))):
        assert abs(np.mean(counts) - mean) < 4 * math.sqrt((square - mean**2) / len(counts))
    # the shares of the smallest counts, which the mean does not see
    cdf = PROVIDERS[provider].rounds.cdf
    for n in (1, 2, 5):
        share = float(np.mean(np.array(requests) <= n))
        assert abs(share - cdf[n - 1]) < 4 * math.sqrt(cdf[n - 1] * (1 - cdf[n - 1]) / len(requests))
