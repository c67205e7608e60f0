"""Where a run begins: drawn from the sessions themselves, whatever they are called or numbered."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.simulate.made import workload
from tracestat.errors import UsageError
from tracestat.simulate.forms import Workload
from tracestat.simulate.start import canonical_order, make_start


def some(seed: int = 0, n: int = 30) -> Workload:
    rng = np.random.default_rng(seed)
    off = np.concatenate([[0], np.cumsum(rng.integers(1, 12, n))])
    size = int(off[-1])
    return workload(
        off=off.tolist(),
        prefix=rng.integers(0, 1000, size).tolist(),
        append=rng.integers(16, 1000, size).tolist(),
        tool=rng.integers(0, 3, size).astype(np.int32),
        tool_names=("Bash", "Edit", "Read"),
    )


def renumbered(played: Workload, new: np.ndarray) -> Workload:
    """The same sessions in another order: place i has session new[i]; their tools have other codes too."""
    rows = np.concatenate([np.arange(played.off[s], played.off[s + 1]) for s in new])
    changed = {
        name: getattr(played, name)[rows] for name in ("prefix", "append", "out", "pause", "kind", "deadline", "klass")
    }
    names = tuple(reversed(played.tool_names))
    return dataclasses.replace(
        played,
        off=np.concatenate([[0], np.cumsum(np.diff(played.off)[new])]),
        tool=(len(names) - 1 - played.tool[rows]).astype(np.int32),
        tool_names=names,
        **changed,
    )


def test_every_slot_plays_all_sessions_from_a_place_of_its_own() -> None:
    played = some()
    start = make_start(played, 8, seed=1)
    assert start.order.shape == (8, 30)
    assert all(sorted(row) == list(range(30)) for row in start.order.tolist())
    assert len(set(start.order[:, 0].tolist())) == 8
    lengths = np.diff(played.off)[start.order[:, 0]]
    assert ((start.start_round >= 0) & (start.start_round < lengths)).all()


def test_more_slots_than_sessions() -> None:
    start = make_start(some(n=3), 8, seed=1)
    assert sorted(set(start.order[:, 0].tolist())) == [0, 1, 2]


def test_a_seed_decides() -> None:
    played = some()
    one, same, other = make_start(played, 4, 1), make_start(played, 4, 1), make_start(played, 4, 2)
    assert np.array_equal(one.order, same.order)
    assert np.array_equal(one.start_round, same.start_round)
    assert not np.array_equal(one.order, other.order)


@pytest.mark.parametrize("seed", range(5))
def test_renumbered_sessions_start_as_the_same_sessions(seed: int) -> None:
    played = some(seed)
    new = np.random.default_rng(seed + 100).permutation(30)
    one, other = make_start(played, 4, seed), make_start(renumbered(played, new), 4, seed)
    assert np.array_equal(one.order, new[other.order])
    assert np.array_equal(one.start_round, other.start_round)


def test_equal_sessions_are_the_same_session() -> None:
    played = workload(prefix=[0, 0, 0], append=[16, 16, 16], off=[0, 1, 2, 3])
    assert sorted(canonical_order(played).tolist()) == [0, 1, 2]


def test_deadlines_and_the_lengths_of_pauses_do_not_change_what_is_drawn() -> None:
    played = some()
    changed = dataclasses.replace(played, deadline=np.full(played.pause.size, 10.0), pause=played.pause * 7)
    one, other = make_start(played, 4, 3), make_start(changed, 4, 3)
    assert np.array_equal(one.order, other.order)


def test_start_rounds_are_uniform() -> None:
    played = workload(prefix=[0] * 10, append=[16] * 10)
    drawn = np.concatenate([make_start(played, 200, seed).start_round for seed in range(10)])
    counts = np.bincount(drawn, minlength=10)
    assert counts.size == 10
    assert ((counts - 200.0) ** 2 / 200.0).sum() < 27.9  # chi-square of 9, 0.1 %


@pytest.mark.parametrize(("slots", "seed"), [(0, 0), (-1, 0), (1, -1)])
def test_what_makes_no_start(slots: int, seed: int) -> None:
    with pytest.raises(UsageError):
        make_start(some(), slots, seed)
