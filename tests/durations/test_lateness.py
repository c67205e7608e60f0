"""How late the durations of a limit end: of the same rows as its point mass."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracestat
from tests.traces import call, round_, write
from tracestat.durations import select
from tracestat.durations.key_laws import key_atoms
from tracestat.durations.lateness import key_lateness


def test_a_sleep_beside_other_calls_is_neither_a_mass_nor_late(tmp_path: Path) -> None:
    rows = [
        round_("s", i, [call(f"c{i}", 100 * i, 100 * i + 5 + late, command_skeleton="sleep", asked_limit_seconds=5.0)])
        for i, late in enumerate((0.1, 0.2))
    ]
    # two commands at once: the pause ends with the second, and not with the sleep
    beside = [
        call("a", 300, 305.05, command_skeleton="sleep", asked_limit_seconds=5.0),
        call("b", 300, 305.45, command_skeleton="sleep", asked_limit_seconds=5.0, index=1),
    ]
    rows.append(round_("s", 2, beside))
    rows.append(round_("s", 3, text=400))
    trace = tracestat.open(write(tmp_path / "t.jsonl", rows))
    selection = select(trace, unit="pause", by="provider")
    masses, late = key_atoms(trace, selection), key_lateness(trace, selection)
    assert masses.select("kind", "limit_seconds", "n_ended").rows() == [("sleep", 5.0, 2)]
    assert late.select("kind", "limit_seconds", "n").rows() == [("sleep", 5.0, 2)]
    assert late["late_seconds"].item() == pytest.approx(0.2, abs=1e-6)
