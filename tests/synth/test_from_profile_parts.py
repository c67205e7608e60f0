"""The parts of drawing from a profile, against laws that are known, written out or enumerated."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.results.profile import Band, Chain, Grid, ProfileKey, Tail, grid_of
from tracestat.synth.from_profile_chain import Quantiles, StateChain, banded
from tracestat.synth.from_profile_laws import MOST_MS, KeyDraws, Law, law_of
from tracestat.synth.from_profile_requests import RequestSizes
from tracestat.synth.life import stream

LEVELS = [0.0, 0.25, 0.5, 0.75, 1.0]


def midpoints(n: int) -> Sequence[float]:
    return [(i + 0.5) / n for i in range(n)]


def share_above(law: Law, t: float, n: int = 20_000) -> float:
    return sum(law.draw(u).ms > t for u in midpoints(n)) / n


CURVE = [(1.0, 0.9), (10.0, 0.8), (100.0, 0.5), (1000.0, 0.1)]


def test_draws_have_the_curve_at_its_points_and_are_even_in_the_logarithm_between() -> None:
    law = law_of(CURVE, [], last_ms=2000.0, censored=0.0, alpha=None)
    for t, s in CURVE:
        assert share_above(law, t) == pytest.approx(s, abs=2e-4)
    assert share_above(law, math.sqrt(10.0 * 100.0)) == pytest.approx(0.65, abs=2e-4)
    assert share_above(law, 2000.0) == 0.0
    assert share_above(law, 0.5) == pytest.approx(0.95, abs=2e-4)  # the first cell begins at 0 and is even


def test_atoms_sit_at_their_time_and_are_taken_off_the_curve_there() -> None:
    # 0.3 of the mass ends at 60 ms; the curve loses it in the cell of 60 and, the rest, in the next
    law = law_of(
        [(10.0, 0.8), (50.0, 0.6), (70.0, 0.4), (100.0, 0.2), (200.0, 0.0)], [(60.0, 0.3, "deadline")],
        last_ms=200.0, censored=0.0, alpha=None,
    )  # fmt: skip
    drawn = [law.draw(u) for u in midpoints(10_000)]
    at = [d for d in drawn if d.kind == "deadline"]
    assert {d.ms for d in at} == {60.0}
    assert len(at) / len(drawn) == pytest.approx(0.3, abs=1e-3)
    for t, s in ((10.0, 0.8), (50.0, 0.6), (100.0, 0.2)):
        assert sum(d.ms > t for d in drawn) / len(drawn) == pytest.approx(s, abs=1e-3)
    assert not [d for d in drawn if d.kind is None and 50.0 < d.ms < 70.0]


def test_tail_is_pareto_or_the_last_time_and_never_nothing() -> None:
    heavy = law_of([(1000.0, 0.5)], [], last_ms=1000.0, censored=1.0, alpha=2.0)
    assert share_above(heavy, 1000.0) == pytest.approx(0.5, abs=1e-3)
    assert share_above(heavy, 2000.0) == pytest.approx(0.5 / 4, abs=1e-3)
    cut = law_of([(1000.0, 0.5)], [], last_ms=4000.0, censored=0.5, alpha=None)
    beyond = [d for d in map(cut.draw, midpoints(1000)) if d.beyond]
    assert {d.ms for d in beyond} == {4000.0}
    assert len(beyond) / 1000 == pytest.approx(0.25, abs=1e-3)
    assert law_of([(1e8, 1.0)], [], last_ms=1e8, censored=1.0, alpha=0.001).draw(0.999).ms == MOST_MS


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.lists(st.tuples(st.floats(0.5, 1e4), st.floats(0, 0.3)), max_size=3),
    st.floats(0, 1, exclude_max=True),
)
def test_any_law_draws_a_time(falls: list[float], atoms: list[tuple[float, float]], u: float) -> None:
    left = np.minimum.accumulate(falls)
    curve = [(10.0**i, float(s)) for i, s in enumerate(left)]
    marked = [(t, mass, "timeout") for t, mass in atoms]
    drawn = law_of(curve, marked, last_ms=1e8, censored=0.5, alpha=1.0).draw(u)
    assert 0.0 <= drawn.ms <= MOST_MS
    assert (drawn.kind is None) or drawn.ms in {t for t, _ in atoms}


def key(level: str, names: Sequence[str | None], n: int, own: list[tuple[float, float]], last: float) -> ProfileKey:
    who = dict(zip(("provider", "tool_class", "tool", "command_skeleton"), [*names, None, None, None], strict=False))
    return ProfileKey(
        key={**who, "command_class": None, "developer": None}, n=n, n_censored=0, n_units=1, unit="session",
        level=level, level_used=level, shrink_weight=1.0, survival=own, own_survival=own, atoms=[], quantiles={},
        mrl=[],
        median_residual=[], hazard=[], tail=Tail("none"), last_support_ms=last, notes=[],
    )  # fmt: skip


class _OnlyKeys:
    def __init__(self, keys: list[ProfileKey]) -> None:
        self.keys = keys


def test_rare_keys_share_what_is_left_of_the_key_above() -> None:
    # 100 rows: 60 of `a` at 10 ms, 40 of two rare tools at 1,000 ms
    keys = [
        key("provider", ["p"], 100, [(5.0, 1.0), (10.0, 0.4), (500.0, 0.4)], 1000.0),
        key("tool_class", ["p", "shell"], 100, [(5.0, 1.0), (10.0, 0.4), (500.0, 0.4)], 1000.0),
        key("tool", ["p", "shell", "a"], 60, [(5.0, 1.0)], 10.0),
        key("tool", ["p", "shell", "b"], 30, [], 1000.0),
        key("tool", ["p", "shell", "c"], 10, [], 1000.0),
    ]
    draws = KeyDraws(_OnlyKeys(keys))  # type: ignore[arg-type]
    got = [draws.draw("p", "shell", u) for u in midpoints(10_007)]
    n = Counter(tool for tool, _, _ in got)
    assert [n[tool] for tool in "abc"] == pytest.approx([6_004, 3_002, 1_001], abs=3)
    # one number draws key and pause: the higher, the longer, but for the width of a slice
    ms = [pause.ms for _, _, pause in got]
    assert max(a / b for a, b in itertools.pairwise(ms)) < 1.01
    assert all(5.0 <= pause.ms <= 10.0 for tool, _, pause in got if tool == "a")
    assert all(500.0 <= pause.ms <= 1000.0 for tool, _, pause in got if tool in ("b", "c"))


def test_class_without_a_law_has_no_pause() -> None:
    draws = KeyDraws(_OnlyKeys([]))  # type: ignore[arg-type]
    tool, skeleton, pause = draws.draw("p", "none such", 0.5)
    assert (tool, skeleton) == (None, None)
    assert pause.ms <= 1.0
    assert draws.lawless == {"p none such"}


def test_quantiles_between_two_levels() -> None:
    q = Quantiles(Grid(4, [-10.0, 0.0, 10.0, 1000.0, 1e6]), LEVELS)
    assert (q.draw(0.0), q.draw(0.25), q.draw(0.5)) == (-10.0, 0.0, pytest.approx(10.0))
    assert q.draw(0.625) == pytest.approx(100.0, rel=0.01)
    assert -10.0 < q.draw(0.1) < 0.0
    assert not Quantiles(Grid(0, []), LEVELS)


def test_band_of_a_value() -> None:
    find = banded([Band(10.0, Grid(1, [1.0] * 5)), Band(None, Grid(1, [2.0] * 5))], LEVELS)
    assert [find(x).draw(0.5) for x in (0.0, 10.0, 10.5, 1e9)] == [1.0, 1.0, 2.0, 2.0]
    assert not banded([], LEVELS)(3.0)


CHAIN = Chain(
    ["start", "message", "a", "b", "end"],
    [[0, 0, 3, 1, 0], [0, 0, 1, 2, 0], [0, 2, 4, 3, 1], [0, 5, 2, 1, 2], [0, 0, 0, 0, 0]],
)


@pytest.mark.parametrize(("begin", "end"), [("start", "message"), ("message", "end")])
def test_states_follow_the_chain_given_its_length(begin: str, end: str) -> None:
    counts = np.array(CHAIN.counts, dtype=float)
    place = {name: i for i, name in enumerate(CHAIN.states)}
    chances = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    exact: dict[tuple[str, ...], float] = {}
    for path in itertools.product("ab", repeat=3):
        walk = [begin, *path, end]
        exact[path] = math.prod(chances[place[x], place[y]] for x, y in itertools.pairwise(walk))
    total = sum(exact.values())
    u = stream(np.random.default_rng(5))
    chain = StateChain(CHAIN)
    n = 8_000
    seen = Counter(tuple(chain.draw(3, begin, end, u)) for _ in range(n))
    for path, chance in exact.items():
        p = chance / total
        assert abs(seen[path] - n * p) < 4.5 * math.sqrt(n * p * (1 - p)) + 1, path


def test_states_that_cannot_be_still_give_a_path() -> None:
    only = Chain(["start", "message", "a", "end"], [[0, 0, 1, 0], [0] * 4, [0, 0, 0, 1], [0] * 4])
    assert StateChain(only).draw(4, "message", "message", lambda: 0.5) == ["a"] * 4


def test_requests_fill_the_session_by_their_law() -> None:
    sizes = [1.0] * 5 + [2.0] * 3 + [5.0] * 2
    three, free = grid_of([3.0]), grid_of(sizes)
    from tracestat.results.profile import QUANTILE_LEVELS

    split = RequestSizes([Band(None, three)], [Band(None, free)], QUANTILE_LEVELS)
    law = Counter(max(round(Quantiles(free, QUANTILE_LEVELS).draw((i + 0.5) / 4000)), 1) for i in range(4000))
    u = stream(np.random.default_rng(1))
    n = 6_000
    seen = Counter(tuple(split.draw(9, u)) for _ in range(n))
    exact = {
        parts: math.prod(law[k] / 4000 for k in parts)
        for parts in itertools.product(range(1, 8), repeat=3)
        if sum(parts) == 9
    }
    total = sum(exact.values())
    assert set(seen) <= {parts for parts, p in exact.items() if p > 0}
    for parts, chance in exact.items():
        p = chance / total
        assert abs(seen[parts] - n * p) < 4.5 * math.sqrt(n * p * (1 - p)) + 1, parts


@given(st.integers(1, 400), st.integers(0, 2**32))
def test_requests_always_add_up(rounds: int, seed: int) -> None:
    numbers = [Band(3.0, grid_of([1.0, 9.0])), Band(None, grid_of([1.0, 40.0]))]
    sizes = [Band(2.0, grid_of([1.0, 3.0])), Band(None, grid_of([2.0, 50.0, 700.0]))]
    from tracestat.results.profile import QUANTILE_LEVELS

    made = RequestSizes(numbers, sizes, QUANTILE_LEVELS).draw(rounds, stream(np.random.default_rng(seed)))
    assert sum(made) == rounds
    assert min(made) >= 1
