"""Estimates of synthetic traces against the laws they were drawn from, over several seeds.

What must agree: hazards per class outside the windows of the deadlines; slopes within keys; what a deadline takes; the
hazard of stitched commands, whose ends between two polls are known to an interval, and their slope within keys;
memoryfulness. What cannot, by construction:

- slopes within keys where deadlines lie in the range (Codex' commands yield at 1 s): they are made with deadlines kept;
  Claude's shell is therefore measured on bins that end before 120 s;
- slopes from the first edge on of classes whose shortest duration lies above it (agents 0.5 s, web 0.3 s): they are
  left out there;
- pauses of polls have no law of their own, pauses of several calls are maxima: both are left out here;
- the survival curve of commands times an end between two polls at the later one, which may come hours later, after an
  answer of the user: the law lies between the curve of the last sightings alive and that of the ends as they were told;
- memoryfulness of few programs is biased towards 0 where their number of rounds has a heavy tail, as here: it agrees
  with what samples of that size from the law give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import tracestat
from tracestat.results import Bin, HazardGroup
from tracestat.survival.bins import DEFAULT_EDGES
from tracestat.survival.curve import kaplan_meier
from tracestat.survival.memoryfulness import memoryfulness
from tracestat.synth import SynthTruth, synth_trace
from tracestat.synth.laws import TurnLaw

Floats = NDArray[np.float64]
LAST = 1e300


@dataclass(frozen=True)
class World:
    trace: tracestat.Trace
    truth: SynthTruth


SEEDS = [
    pytest.param((1, 200), id="1"),
    *(pytest.param((seed, 900), id=f"{seed}", marks=pytest.mark.full) for seed in (2, 3, 4, 5, 6)),
]


@pytest.fixture(scope="module", params=SEEDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    seed, sessions = request.param
    path = tmp_path_factory.mktemp("truth") / f"{seed}.jsonl"
    truth = synth_trace(path, sessions=sessions, seed=seed, developers=32)
    with tracestat.open(path) as trace:
        yield World(trace, truth)


@dataclass(frozen=True)
class Rows:
    """Durations with the law of each: hazard ``z exp(log_a) t^(k - 1)`` from t0 on."""

    seconds: Floats
    seen_alive: Floats
    observed: NDArray[np.bool_]
    k: Floats
    rate: Floats
    t0: Floats

    def cumulative(self, low: float, high: float, until: Floats | None = None) -> Floats:
        """The cumulative hazard of each row on [low, high), as long as it was watched."""
        start = np.maximum(low, self.t0)
        stop = np.clip(self.seconds if until is None else until, start, np.maximum(high, start))
        return self.rate / self.k * (stop**self.k - start**self.k)

    def survival(self, t: float) -> float:
        """P(T > t) of the mixture."""
        start = np.minimum(self.t0, t)
        return float(np.mean(np.exp(-self.rate / self.k * (t**self.k - start**self.k))))


def rows_of(world: World, table: str, where: str) -> Rows:
    alive = "finished_after_seconds" if table == "commands" else "0.0"
    frame = world.trace.sql(
        f"SELECT provider, tool, developer, command_skeleton, seconds, {alive} AS alive, observed FROM {table} "
        f"WHERE NOT is_copy AND (observed OR seconds > 0) AND {where}"
    )
    laws = {(law.provider, law.tool): law for law in world.truth.laws}
    by_developer = next(e.values for e in world.truth.effects if e.kind == "developer")
    by_skeleton = {e.provider: e.values for e in world.truth.effects if e.kind == "skeleton"}
    own = [laws[row] for row in frame.select("provider", "tool").rows()]
    z = [
        by_developer[developer] * (by_skeleton[provider][skeleton] if law.by_skeleton else 1.0)
        for law, (provider, developer, skeleton) in zip(
            own, frame.select("provider", "developer", "command_skeleton").rows(), strict=True
        )
    ]
    return Rows(
        frame["seconds"].to_numpy(),
        frame["alive"].to_numpy().astype(float),
        frame["observed"].to_numpy(),
        np.array([law.slope + 1 for law in own]),
        np.array(z) * np.exp([law.log_a for law in own]),
        np.array([law.t0 for law in own]),
    )


def expected(rows: Rows, item: Bin, windows: tuple[tuple[float, float], ...] = ()) -> float:
    """Events that the law expects in a bin, for the rows as long as they were watched."""
    assert item.hi is not None
    holes = [(a, b) for a, b in windows if item.lo <= a and b <= item.hi]
    return float(rows.cumulative(item.lo, item.hi).sum() - sum(rows.cumulative(a, b).sum() for a, b in holes))


def hazards(world: World, **options: object) -> dict[tuple[object, ...], HazardGroup]:
    result = tracestat.hazard(world.trace, draws=0, tz="UTC", **options)  # type: ignore[arg-type]
    return {tuple(group.key.values()): group for group in result.groups}


LAWFUL = "tool_class NOT IN ('human', 'poll') AND n_calls = 1"


def test_hazards_of_classes_outside_the_windows_are_those_of_their_laws(world: World) -> None:
    scores, held = [], []
    for (provider, tool_class), group in hazards(world, by="provider,tool_class", where="n_calls = 1").items():
        if tool_class == "poll":
            continue
        rows = rows_of(world, "pauses", f"{LAWFUL} AND provider = '{provider}' AND tool_class = '{tool_class}'")
        for item in group.deadlines_cut.bins[:-1]:
            events = expected(rows, item, group.deadlines_cut.windows)
            if events < 10:
                continue
            scores.append((item.events - events) / np.sqrt(events))
            law = events / item.exposure
            if item.hazard.low is not None and item.hazard.high is not None and events >= 20:
                held.append(item.hazard.low <= law <= item.hazard.high)
    # conditional on the keys ends are independent: all bins of all classes at once, Bonferroni at about 1 %
    assert len(scores) > 35
    assert np.abs(scores).max() < 3.9
    assert abs(np.mean(scores)) < 3.5 / np.sqrt(len(scores))
    print(f"{len(scores)} bins, largest |z| {np.abs(scores).max():.2f}; interval holds the law in {np.mean(held):.0%}")
    assert np.mean(held) > 0.85


def test_slopes_within_keys_are_those_of_the_laws(world: World) -> None:
    """Without deadlines in range: 9 bins end before 120 s; Codex' commands yield from 1 s on and cannot be taken."""
    late = {(law.provider, law.tool_class) for law in world.truth.laws if law.t0 > DEFAULT_EDGES[0]}
    laws = {(c.provider, c.tool_class): c.within for c in world.truth.classes if (c.provider, c.tool_class) not in late}
    found = []
    for (provider, tool_class), group in hazards(world, by="provider,tool_class", where="n_calls = 1", bins=9).items():
        within = {item.keys: item for item in group.within}.get(("command_skeleton", "developer"))
        truth = laws.get((str(provider), str(tool_class)))
        if (
            within is None
            or within.slope.session is None
            or truth is None
            or (provider, tool_class) == ("codex", "shell")
        ):
            continue
        low, high = within.slope.session
        assert low is not None
        assert high is not None
        assert within.slope.value is not None
        found.append((low <= truth <= high, (within.slope.value - truth) / ((high - low) / 2)))
        if tool_class == "shell":
            assert group.slope.poisson.value is not None
            assert group.slope.poisson.value < within.slope.value - 0.08  # pooled is steeper
    distance = np.array([off for _, off in found])
    print(
        f"{len(found)} slopes, {sum(hit for hit, _ in found)} intervals hold theirs; "
        f"half widths away {distance.round(2)}"
    )
    assert len(found) >= 3
    assert np.abs(distance).max() < 2.2  # half widths: about four standard errors
    assert sum(hit for hit, _ in found) >= len(found) - 2


def bin_of(bins: tuple[Bin, ...], seconds: float) -> Bin:
    return next(item for item in bins if item.lo <= seconds and (item.hi is None or seconds < item.hi))


def test_pauses_show_the_deadlines_with_their_mass(world: World) -> None:
    groups = hazards(world, by="provider")
    for atom in world.truth.atoms:
        if atom.tool is not None:
            continue
        group = groups[(atom.provider,)]
        kept, cut = bin_of(group.bins, atom.seconds), bin_of(group.deadlines_cut.bins, atom.seconds)
        background = cut.events / cut.exposure * (kept.exposure - cut.exposure)
        excess = kept.events - cut.events - background
        assert atom.at_risk is not None
        assert atom.mass is not None
        noise = np.sqrt(atom.events + background + 1)
        assert abs(excess - atom.events) < 4 * noise, atom
        assert atom.seconds == 600 or excess > 5 * np.sqrt(background + 1)
        assert abs(excess / atom.at_risk - atom.mass) < 4 * noise / atom.at_risk
    # 5 s is cut for Claude too, where this trace has nothing
    claude = groups[("claude",)]
    kept, cut = bin_of(claude.bins, 5.0), bin_of(claude.deadlines_cut.bins, 5.0)
    assert cut.exposure < kept.exposure
    background = cut.events / cut.exposure * (kept.exposure - cut.exposure)
    assert abs(kept.events - cut.events - background) < 4 * np.sqrt(background + 1)


def test_pauses_that_ended_on_a_yield_are_those_written(world: World) -> None:
    seen = world.trace.sql(
        "SELECT count(*) FROM pauses WHERE NOT is_copy AND provider = 'codex' AND end_kind = 'deadline'"
    ).item()
    assert seen == world.truth.written["codex"].on_deadline


def test_commands_do_not_show_the_yields_that_their_pauses_show(world: World) -> None:
    (pause,) = hazards(world, by=None, where="tool = 'exec_command' AND n_calls = 1").values()
    (command,) = hazards(world, by=None, where="tool = 'exec_command'", unit="command").values()
    for seconds in (1.0, 10.0, 30.0):
        ratio = {}
        for name, group in (("pause", pause), ("command", command)):
            kept, cut = bin_of(group.bins, seconds), bin_of(group.deadlines_cut.bins, seconds)
            # half an event more, since little ends at 30 s but on the yield
            ratio[name] = kept.events / kept.exposure / ((cut.events + 0.5) / cut.exposure)
        assert ratio["pause"] > 1.7, seconds
        assert 0.75 < ratio["command"] < 1.3, seconds


def test_commands_follow_their_law_before_the_first_yield(world: World) -> None:
    (group,) = hazards(world, by=None, where="tool = 'exec_command'", unit="command").values()
    rows = rows_of(world, "commands", "tool = 'exec_command'")
    assert rows.seconds.size == group.n
    early = [item for item in group.bins if item.hi is not None and item.hi < 0.995]
    assert len(early) == 3
    for item in early:
        events = expected(rows, item)
        assert events > 300
        assert abs(item.events - events) < 4 * np.sqrt(events)


def test_commands_that_nobody_polls_follow_their_law(world: World) -> None:
    """The cells of ``exec`` and the older ``shell_command`` do not yield: their command is one call."""
    (group,) = hazards(world, by=None, where="tool IN ('exec', 'shell_command')", unit="command").values()
    rows = rows_of(world, "commands", "tool IN ('exec', 'shell_command')")
    scores = []
    for item in group.bins[:-1]:
        events = expected(rows, item)
        if events >= 10:
            scores.append((item.events - events) / np.sqrt(events))
    assert len(scores) >= 7
    assert np.abs(scores).max() < 3.7


def test_hazards_of_stitched_commands_are_those_of_their_law(world: World) -> None:
    """All rows together: the hazard of the mixture of developers and skeletons, averaged over a bin."""
    (group,) = hazards(world, by=None, where="tool = 'exec_command'", unit="command").values()
    rows = rows_of(world, "commands", "tool = 'exec_command'")
    assert group.n_between > 0.08 * group.n
    steps = (np.arange(40) + 0.5) / 40
    scores, held = [], []
    for item in group.bins[:-1]:
        assert item.hi is not None
        if item.events < 10:
            continue
        width = item.hi - item.lo
        alive = np.mean([rows.survival(item.lo + width * step) for step in steps]) * width
        law = (rows.survival(item.lo) - rows.survival(item.hi)) / alive
        assert item.hazard.value is not None
        assert item.hazard.session is not None
        low, high = item.hazard.session
        assert low is not None
        assert high is not None
        scores.append(np.log(item.hazard.value / law) / (np.log(high / low) / 3.92))
        held.append(low <= law <= high)
    print(f"{len(scores)} bins, largest |z| {np.abs(scores).max():.2f}; interval holds the law in {np.mean(held):.0%}")
    assert len(scores) >= 12
    assert np.abs(scores).max() < 3.4  # all bins of all seeds at once, Bonferroni at about 5 %
    assert abs(np.mean(scores)) < 3 / np.sqrt(len(scores))
    assert np.mean(held) > 0.8


def test_slopes_of_stitched_commands_within_keys_are_those_of_their_law(world: World) -> None:
    """The key that the law knows is (skeleton, developer); within skeletons alone developers still mix."""
    (group,) = hazards(world, by=None, where="tool = 'exec_command'", unit="command").values()
    truth = next(c.within for c in world.truth.classes if (c.provider, c.tool_class) == ("codex", "shell"))
    within = {item.keys: item for item in group.within}[("command_skeleton", "developer")]
    assert truth is not None
    assert within.slope.value is not None
    assert within.slope.session is not None
    low, high = within.slope.session
    assert low is not None
    assert high is not None
    print(f"slope within keys {within.slope.value:.3f} [{low:.3f}, {high:.3f}], law {truth}")
    assert low <= truth <= high
    assert within.pooled is not None
    assert within.pooled < truth - 0.2


def test_the_law_of_commands_lies_between_last_seen_alive_and_seen_ended(world: World) -> None:
    rows = rows_of(world, "commands", "tool = 'exec_command'")
    early = kaplan_meier(np.where(rows.observed, rows.seen_alive, rows.seconds), rows.observed)
    late = kaplan_meier(rows.seconds, rows.observed)
    n = rows.seconds.size
    for t in (0.3, 0.8, 1.3, 3.0, 8.0, 20.0, 60.0, 200.0):
        law = rows.survival(t)
        noise = 4 * np.sqrt(law * (1 - law) / n) + 0.002
        assert float(early.survival_at(t)) - noise <= law <= float(late.survival_at(t)) + noise, t
    # from the first yield on the two differ by more than chance, so that intervals have to be treated as such
    law = rows.survival(3.0)
    assert float(late.survival_at(3.0)) > law + 4 * np.sqrt(law * (1 - law) / n)
    ended = rows.observed & (rows.seconds > 2)
    assert rows.cumulative(1.6605, LAST).sum() > 1.3 * ended.sum()
    alive = np.where(rows.observed, rows.seen_alive, rows.seconds)
    assert rows.cumulative(1.6605, LAST, until=alive).sum() < ended.sum()


def samples(world: World, provider: str, unit: str, n: int, runs: int = 80) -> Floats:
    """Estimates of samples of n programs from the turn laws: rounds of requests, or summed over those of a session."""
    rng = np.random.default_rng(7)
    laws = {t.unit: t.law for t in world.truth.turns if t.provider == provider}
    cdf = {unit: np.asarray(TurnLaw(law["mu"], law["sigma"], int(law["maximum"])).cdf) for unit, law in laws.items()}
    found = []
    for _ in range(runs):
        size = n if unit == "request" else 1 + np.searchsorted(cdf["session"], rng.random(n), side="right")
        turns = 1 + np.searchsorted(cdf["request"], rng.random(int(np.sum(size))), side="right")
        if unit == "session":
            turns = np.add.reduceat(turns, np.concatenate([[0], np.cumsum(size)[:-1]]))
        found.append(memoryfulness(turns))
    return np.array(found, dtype=np.float64)


def test_memoryfulness_is_that_of_the_turn_laws(world: World) -> None:
    result = tracestat.memoryfulness(world.trace, tz="UTC", draws=600)
    truths = {(turn.provider, turn.unit): turn for turn in world.truth.turns}
    held = []
    for group in result.groups:
        truth = truths[group.key["provider"], group.key["unit"]]
        written = world.truth.written[truth.provider]
        if truth.unit == "session":  # a session of copies only is none; open ones are counted, and left out
            assert written.sessions - result.head.excluded["copied_sessions"] <= group.n <= written.sessions
        value, low, high = group.value.value, group.value.low, group.value.high
        assert truth.eta is not None
        assert value is not None
        assert low is not None
        assert high is not None
        like = samples(world, truth.provider, truth.unit, group.n_programs)
        assert abs(value - like.mean()) < 4 * like.std(), group.key
        assert like.mean() > truth.eta  # the bias, which has this sign
        held.append(low <= truth.eta <= high)
    print(f"intervals that hold the turn law: {sum(held)} of {len(held)}")
    assert len(held) == 4
    assert sum(held) >= 2  # about two of three in tails like these
    rounds = world.trace.sql("SELECT count(DISTINCT (provider, round_id)) FROM rounds").item()
    assert sum(w.rounds - w.copied_rounds for w in world.truth.written.values()) == rounds
