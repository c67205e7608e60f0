"""One larger trace for everything statistical, written and read once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.synth.reading import Calls, calls_of
from tracestat.synth import SynthTruth, synth_trace


@dataclass(frozen=True)
class Large:
    path: Path
    truth: SynthTruth
    calls: Calls


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Large:
    """About 48,000 rounds of 32 developers."""
    path = tmp_path_factory.mktemp("synth") / "large.jsonl"
    truth = synth_trace(path, sessions=600, seed=20, developers=32)
    return Large(path, truth, calls_of(path))
