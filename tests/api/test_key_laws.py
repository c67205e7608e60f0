"""Laws of keys: equal to what the commands say of the same key, and true of small traces counted by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.traces import call, round_
from tracestat.api.key_laws import key_laws
from tracestat.durations import Unit
from tracestat.errors import UsageError
from tracestat.results.key_laws import LAW_GRID, LEVELS, KeyLaw, KeyLaws
from tracestat.store import Trace

Make = Callable[[Iterable[Mapping[str, Any]]], Trace]
UNITS: tuple[Unit, ...] = ("pause", "command")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A quarter of the bundled sample's size, so that all keys of all units take seconds."""
    path = tmp_path_factory.mktemp("laws") / "trace.jsonl"
    tracestat.synth_trace(path, sessions=50, developers=24)
    return tracestat.open(path)


@pytest.fixture(scope="module")
def made(trace: Trace) -> dict[str, KeyLaws]:
    """Laws are fitted for pauses only: they take most of the time."""
    return {unit: key_laws(trace, unit=unit, laws=unit == "pause") for unit in UNITS}


def of_level(laws: KeyLaws, level: str) -> dict[tuple[str | None, ...], KeyLaw]:
    depth = LEVELS.index(level) + 1
    return {tuple(law.key.values())[:depth]: law for law in laws.laws if law.level == level}


def only(laws: KeyLaws, level: str, **key: str | None) -> KeyLaw:
    (found,) = (law for law in of_level(laws, level).values() if key.items() <= law.key.items())
    return found


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("level", LEVELS)
def test_curve_and_quantiles_are_those_of_survival(
    trace: Trace, made: dict[str, KeyLaws], unit: Unit, level: str
) -> None:
    by = LEVELS[: LEVELS.index(level) + 1]
    laws = of_level(made[unit], level)
    groups = tracestat.survival_curve(trace, by=by, unit=unit, min_n=20).groups
    assert len(groups) == len(laws)
    for group in groups:
        law = laws[tuple(group.key.values())]
        assert (law.n, law.n_events, law.n_censored) == (group.n, group.n_events, group.n_censored)
        assert (law.n_sessions, law.n_developers) == (group.n_sessions, group.n_developers)
        assert (law.total_seconds, law.last_seconds) == (group.total_seconds, group.last_observed)
        assert law.quantiles == group.quantiles
        shown = dict(zip(LAW_GRID, law.survival, strict=False))
        at = {point.t: point.S.value for point in group.curve}
        assert {t: shown[t] for t in at.keys() & shown.keys()} == {t: at[t] for t in at.keys() & shown.keys()}
        assert law.n < 20 or law.last_seconds < 1 or at.keys() & shown.keys()


@pytest.mark.parametrize(
    ("unit", "level"), [("pause", "tool"), ("command", "provider"), ("command", "command_skeleton")]
)
def test_hazard_bins_are_those_of_hazard(trace: Trace, made: dict[str, KeyLaws], unit: Unit, level: str) -> None:
    """Commands end between polls, so their events are shared out over bins."""
    laws = of_level(made[unit], level)
    by = LEVELS[: LEVELS.index(level) + 1]
    where = None if level != "command_skeleton" else "provider = 'codex'"
    groups = tracestat.hazard(trace, by=by, unit=unit, where=where, draws=0, within=False).groups
    assert groups
    for group in groups:
        law = laws[tuple(group.key.values())]
        found = [(each.lo, each.hi, each.events, each.exposure) for each in law.hazard]
        bins = [(each.lo, each.hi, each.events, each.exposure) for each in group.bins]
        assert found == bins[: len(found)]
        assert all(events == exposure == 0 for _, _, events, exposure in bins[len(found) :])


def test_residual_life_is_that_of_residual(trace: Trace, made: dict[str, KeyLaws]) -> None:
    for level in ("provider", "tool"):
        laws = of_level(made["pause"], level)
        by = LEVELS[: LEVELS.index(level) + 1]
        for group in tracestat.residual(trace, by=by, rows="tool", min_n=20, curve=False).groups:
            law = laws[tuple(value for name, value in group.key.items() if name != "rows")]
            points = {point.elapsed: point for point in group.at if point.mean.value is not None}
            assert [point.elapsed for point in law.residual] == list(points)
            for point in law.residual:
                same = points[point.elapsed]
                assert (point.n_at_risk, point.mean, point.median) == (same.n_at_risk, same.mean, same.median)


def test_laws_are_those_of_fit(trace: Trace, made: dict[str, KeyLaws]) -> None:
    laws = of_level(made["pause"], "tool_class")
    groups = tracestat.fit_laws(trace, by=LEVELS[:2]).groups
    assert sum(bool(group.laws) for group in groups) > 1
    for group in groups:
        law = laws[tuple(group.key.values())]
        smooth = [each for each in group.laws if each.family != "piecewise"]
        assert [each.family for each in law.laws] == [each.family for each in smooth]
        for one, other in zip(law.laws, smooth, strict=True):
            assert one.aic == other.aic
            assert (None if one.low is None else (one.low, one.high)) == other.range
            assert one.parameters == {name: each.value for name, each in other.parameters.items()}
        if not smooth:
            assert any("no law" in note or "rows" in note for note in law.notes)


@pytest.mark.parametrize("unit", ["pause", "call"])
@pytest.mark.first_case
def test_point_masses_are_those_of_deadlines(trace: Trace, unit: Unit) -> None:
    some, where = 0, "tool = 'exec_command' OR tool = 'write_stdin' OR tool = 'Grep'"
    made = key_laws(trace, unit=unit, where=where, laws=False)
    for group in tracestat.deadlines(trace, mode="status", by=LEVELS[:3], unit=unit, where=where).groups:
        law = of_level(made, "tool")[tuple(group.key.values())]
        if law.n < 20:
            assert law.atoms == ()
            continue
        assert [(atom.seconds, atom.mass) for atom in law.atoms] == [(atom.seconds, atom.share) for atom in group.atoms]
        some += len(law.atoms)
    assert some >= 5
    assert any("claude: no call says how it ended" in note for note in made.head.notes)


@pytest.mark.parametrize("unit", UNITS)
def test_every_level_holds_each_row_once_and_what_is_used_is_a_curve(made: dict[str, KeyLaws], unit: str) -> None:
    laws = made[unit]
    total = sum(law.n for law in of_level(laws, "provider").values())
    for depth, level in enumerate(LEVELS):
        found = of_level(laws, level)
        assert sum(law.n for law in found.values()) == total
        for key, law in found.items():
            assert list(law.key) == list(LEVELS)
            assert all(value is None for value in list(law.key.values())[depth + 1 :])
            assert depth == 0 or law.n <= of_level(laws, LEVELS[depth - 1])[key[:-1]].n
            assert len(law.used) == len(LAW_GRID)
            for curve in (law.used, law.survival):
                assert all(1 >= a >= b >= 0 for a, b in zip((1.0, *curve), curve, strict=False))
            assert 0 <= law.weight <= 1
            assert LEVELS.index(law.level_used) <= depth
            assert (law.survival == ()) <= (law.n < 20 or law.last_seconds < LAW_GRID[0])
            assert (law.n < 20) == any("20 needed: counts" in note for note in law.notes)
    assert [law.level for law in laws.laws] == sorted((law.level for law in laws.laws), key=LEVELS.index)
    assert all(law.weight == 1 for law in of_level(laws, "provider").values())


def test_much_of_its_own_data_is_used_as_it_is_at_every_level(made: dict[str, KeyLaws]) -> None:
    """A key with hundreds of rows of many sessions keeps its curve; one with a row leans on the keys around it."""
    rich = [law for law in made["pause"].laws if law.n >= 100 and law.n_sessions >= 10]
    assert {law.level for law in rich} == set(LEVELS)
    for law in rich:
        apart = [abs(used - own) for used, own in zip(law.used, law.survival, strict=False)]
        # where nothing tells the keys of a level apart, all have the curve of the one above
        assert law.weight > 0.8 or law.weight == 0, law.key
        assert law.weight == 0 or max(apart) < (0.05 if law.level == "provider" else 0.1), law.key
    poor = [law for law in made["pause"].laws if law.n == 1 and law.level == "command_skeleton"]
    assert poor
    assert all(law.weight < 0.5 for law in poor)


def test_a_key_with_all_rows_of_the_one_above_has_its_law(made: dict[str, KeyLaws]) -> None:
    above = of_level(made["pause"], "tool")
    alone = [law for law in of_level(made["pause"], "command_skeleton").values() if law.key["command_skeleton"] is None]
    assert len(alone) > 3
    for law in alone:
        one = above[tuple(law.key.values())[:3]]
        assert (law.n, law.used, law.weight, law.level_used) == (one.n, one.used, one.weight, one.level_used)


def test_counts_of_a_trace_by_hand(store_of: Make) -> None:
    """Thirty pauses of 2 s in one tool, two of 8 s in another, one of which a person must answer: left out."""
    rows = [round_("s", i, [call(f"a{i}", 10 * i, 10 * i + 2, "Read")], text=10 * i) for i in range(30)]
    rows += [round_("t", i, [call(f"b{i}", 900 + 10 * i, 908 + 10 * i, "Grep")], text=900 + 10 * i) for i in range(2)]
    rows += [round_("t", 2, [call("c", 990, 995, "AskUserQuestion")], text=990)]
    laws = key_laws(store_of(rows))
    assert laws.head.excluded["human"] == 1
    read, grep = only(laws, "tool", tool="Read"), only(laws, "tool", tool="Grep")
    assert (read.n, read.n_events, read.n_sessions, read.total_seconds, read.last_seconds) == (30, 30, 1, 60.0, 2.0)
    assert read.quantiles["0.5"].value == 2.0
    assert set(read.survival[:60]) == {1.0}
    assert [t for t, s in zip(LAW_GRID, read.survival, strict=False) if s < 1] == []  # the grid has no point at 2 s
    assert (grep.n, grep.total_seconds, grep.survival, grep.quantiles["0.5"].value) == (2, 16.0, (), None)
    assert grep.notes == ("2 rows, 20 needed: counts and hazard bins only",)
    assert sum(each.events for each in grep.hazard) == 2
    assert only(key_laws(store_of(rows), min_n=1), "tool", tool="Grep").quantiles["0.5"].value == 8.0
    both = only(laws, "tool_class", tool_class="read")
    assert (both.n, both.key["tool"]) == (32, None)


def test_a_provider_of_few_rows_says_that_its_curve_is_a_guess(store_of: Make) -> None:
    laws = key_laws(store_of([round_("s", 0, [call("a", 0, 2, "Read")], text=0)])).laws
    assert {law.n for law in laws} == {1}
    assert all("little more than a guess" in law.notes[-1] for law in laws)


def test_point_masses_by_hand(store_of: Make) -> None:
    """Of twelve calls, two yield at 10 s, one is killed at 120 s, two sleep 5 s; one that slept on is none."""

    def one(i: int, seconds: float, limit: float, status: str = "finished", skeleton: str = "make") -> dict[str, Any]:
        known = {"asked_limit_seconds": limit, "command_status": status, "start_kind": "emission"}
        entry = call(f"c{i}", 1000 * i, 1000 * i + seconds, "Bash", command_skeleton=skeleton, **known)
        return round_(f"s{i % 3}", i, [entry], text=1000 * i)

    rows = [one(0, 10.05, 10, "running"), one(1, 10.1, 10, "running"), one(2, 120.2, 120, "timeout")]
    rows += [one(3, 5.02, 5, skeleton="sleep"), one(4, 5.3, 5, skeleton="sleep"), one(5, 9.0, 5, skeleton="sleep")]
    rows += [one(i, 1.0, 120) for i in range(6, 12)]
    trace = store_of(rows)
    for unit in ("pause", "call"):
        laws = key_laws(trace, unit=unit, min_n=1, laws=False)
        law = only(laws, "provider")
        assert law.n == 12
        masses = [(atom.seconds, atom.kind, atom.mass.value) for atom in law.atoms]
        assert masses == [
            (5.0, "sleep", pytest.approx(2 / 12)),
            (10.0, "deadline", pytest.approx(2 / 12)),
            (120.0, "timeout", pytest.approx(1 / 12)),
        ]
        assert only(laws, "command_skeleton", command_skeleton="make").n == 9
    # a limit ends no command: what was killed is censored, what went on is not seen to end
    assert [atom.kind for atom in only(key_laws(trace, unit="command", min_n=1), "provider").atoms] == ["sleep"]


def test_empty_and_wrong_questions(trace: Trace) -> None:
    for unit in UNITS:
        assert key_laws(trace, unit=unit, where="tool = 'none such'").laws == ()
    with pytest.raises(UsageError, match="min_n 0"):
        key_laws(trace, min_n=0)
    with pytest.raises(UsageError, match="no such column"):
        key_laws(trace, where="colour = 'red'")
    with pytest.raises(UsageError, match="only calls have it"):
        key_laws(trace, clock="internal")


def test_the_same_question_has_the_same_answer(trace: Trace) -> None:
    asked: dict[str, Any] = {"where": "tool = 'write_stdin'"}
    assert key_laws(trace, **asked) == key_laws(trace, **asked)


@pytest.mark.full
def test_the_zone_of_the_machine_is_told_only_where_it_matters(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tzlocal.get_localzone_name", lambda: "Asia/Tokyo")
    tool = "tool = 'Grep'"
    asked: list[dict[str, Any]] = [
        {},
        {"tz": "Europe/Berlin"},
        {"since": "2000-01-01"},
        {"where": f"{tool} AND hour >= 0"},
        {"where": f"{tool} AND started_at > '2000-01-01'"},
    ]
    zones = [key_laws(trace, laws=False, **{"where": tool, **each}).head.zone for each in asked]
    assert zones == ["UTC", "Europe/Berlin", "Asia/Tokyo", "Asia/Tokyo", "Asia/Tokyo"]


def test_of_the_real_trace_codex_yields_are_point_masses(real_trace: Path) -> None:
    laws = key_laws(real_trace, laws=False, where="tool = 'write_stdin'")
    poll = only(laws, "tool", tool="write_stdin")
    assert {atom.seconds for atom in poll.atoms} >= {5.0, 10.0, 30.0}
    assert max(poll.atoms, key=lambda atom: atom.mass.value or 0).seconds == 30.0
