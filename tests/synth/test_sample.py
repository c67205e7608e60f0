"""The bundled sample is what `tracestat synth -o data/sample.jsonl.gz --sessions 120 --seed 0` makes now."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests.synth.reading import ms, sessions_of
from tests.synth.test_rows import check_trace
from tracestat.synth import synth_trace

DATA = Path(__file__).parents[2] / "data"
SAMPLE = DATA / "sample.jsonl.gz"
EDGES = np.array([0.1285, 0.2435, 0.4625, 0.8755, 1.6605, 3.1485, 5.9685, 11.3135, 21.4485, 40.6595, 77.0805])


@pytest.mark.full
def test_the_sample_is_made_again_byte_by_byte(tmp_path: Path) -> None:
    synth_trace(tmp_path / "sample.jsonl.gz", sessions=120, seed=0)
    made = (tmp_path / "sample.jsonl.gz").read_bytes()
    kept = SAMPLE.read_bytes()
    # zlib builds may compress the same rows differently, so it is the rows that have to be equal
    assert gzip.decompress(made) == gzip.decompress(kept)
    assert made[3:8] == kept[3:8] == b"\0" * 5
    truths = [json.loads((folder / "sample.truth.json").read_text()) for folder in (tmp_path, DATA)]
    assert truths[0] == truths[1]


def test_the_sample_is_sound_and_small() -> None:
    assert SAMPLE.stat().st_size < 1_500_000
    check_trace(SAMPLE)


@pytest.mark.parametrize("provider", ["claude", "codex"])
def test_the_sample_is_enough_for_slopes(provider: str) -> None:
    """What `hazard --by provider` needs: 100 events in 5 bins of 30, 20 sessions; 20 developers for all."""
    waits: list[float] = []
    clusters: dict[str, int] = defaultdict(int)
    users: set[str] = set()
    for rows in sessions_of(SAMPLE):
        users.add(rows[0]["user"])
        if rows[0]["provider"] != provider:
            continue
        for row in rows:
            calls = [c for c in row["tools"] if c["result_at"]]
            if calls and len(calls) == len(row["tools"]):
                out = max(ms(c["emitted_at"]) for c in calls)
                waits.append((max(ms(c["result_at"]) for c in calls) - out) / 1000)
                clusters[row["session_id"]] += waits[-1] > EDGES[0]
    counts = np.histogram(waits, EDGES)[0]
    assert counts.sum() >= 100
    assert np.all(counts[:5] >= 30)
    assert sum(1 for n in clusters.values() if n) >= 20
    assert len(users) >= 20
