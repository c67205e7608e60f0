"""The file of constants: known holds, exact round trips, broken files in one line, and what the commands say."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracestat
from tests.test_schemas import SCHEMAS, wrong
from tests.traces import call, round_, write
from tracestat.charts.table_constants import constants_tables
from tracestat.cli import main
from tracestat.constants import (
    Constants,
    constants_from_dict,
    constants_to_dict,
    derived_from,
    paper_law,
    shrunken_law,
)
from tracestat.errors import TracestatError, UsageError
from tracestat.export.constants import constants_of_keys, constants_text, write_constants
from tracestat.hardware import Hardware, hardware_ids, load_hardware
from tracestat.policy import continuum_hold, hazard_hold, law_of_durations
from tracestat.results import Interval
from tracestat.results.key_laws import LAW_GRID, LEVELS, KeyAtom, KeyLaw

BENEFITS = (0.5, 2.0, 10.0, 40.0)
Change = Callable[[dict[str, Any]], object]


def law_of(sample: list[float], *values: str, n_events: int | None = None, atoms: tuple[KeyAtom, ...] = ()) -> KeyLaw:
    """Make the law of a sample without anything censored."""
    durations = np.sort(sample)
    survival = [float(np.mean(durations > t)) for t in LAW_GRID]
    seen = sum(t <= durations[-1] for t in LAW_GRID)
    return KeyLaw(
        key=dict.fromkeys(LEVELS) | dict(zip(LEVELS, values, strict=False)),
        level=LEVELS[len(values) - 1],
        n=len(sample),
        n_events=len(sample) if n_events is None else n_events,
        n_censored=0,
        n_sessions=1,
        n_developers=1,
        total_seconds=float(durations.sum()),
        resolution_seconds=0.001,
        quantiles={},
        survival=tuple(survival[:seen]),
        last_seconds=float(durations[-1]),
        tail_alpha=1.2,
        used=tuple(survival),
        level_used=LEVELS[0],
        weight=0.5,
        atoms=atoms,
    )


def holds(key: Any, rule: str) -> dict[float, Any]:
    return {hold.benefit: hold for hold in key.holds if hold.rule == rule}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a store of a few synthetic sessions of both providers."""
    folder = tmp_path_factory.mktemp("small")
    tracestat.synth_trace(folder / "small.jsonl", sessions=30, developers=4, seed=3)
    assert main(["ingest", str(folder / "small.jsonl"), "-o", str(folder / "small.duckdb"), "--quiet"]) == 0
    return folder / "small.duckdb"


@pytest.fixture(scope="module")
def made(small: Path) -> tuple[Constants, Path]:
    path = small.with_name("small.json")
    return tracestat.export_constants(small, path, allow_synthetic=True), path


@pytest.fixture
def document(made: tuple[Constants, Path]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(made[1].read_text(encoding="utf-8"))
    return data


@settings(max_examples=10)
@given(st.lists(st.floats(0.002, 500), min_size=101, max_size=150))
def test_holds_are_those_of_the_sample_within_a_step_of_the_grid(sample: list[float]) -> None:
    (key,), left = constants_of_keys([law_of(sample, "claude")], BENEFITS, {}, 20, {})
    assert (left, key.law_from) == (0, "own")
    exact, step = law_of_durations(sample), 10 ** (1 / 20)
    for benefit in BENEFITS:
        own = continuum_hold(exact, benefit)
        coarse = holds(key, "continuum")[benefit]
        assert own.value - (step - 1) * own.tau - 2e-3 <= coarse.worth <= own.value + 1e-9
        assert coarse.tau <= benefit
        assert holds(key, "hazard")[benefit].worth >= coarse.worth
        assert coarse.pin_share == pytest.approx(np.mean(np.array(sample) <= coarse.tau), abs=1e-12)


def test_up_to_a_hundred_durations_the_law_is_that_of_all_tools() -> None:
    everything = law_of([0.5] * 60 + [3.0] * 60, "claude")
    few = law_of([0.02] * 100, "claude", "shell")
    more = law_of([0.02] * 101, "claude", "edit")
    keys, _ = constants_of_keys([everything, few, more], (5.0,), {}, 20, {})
    assert [key.law_from for key in keys] == ["own", "all", "own"]
    assert holds(keys[1], "continuum") == holds(keys[0], "continuum")
    assert holds(keys[2], "continuum")[5.0].tau == pytest.approx(0.02, rel=0.15)
    # a trace of a hundred pauses: ln(B), whatever the law
    (cold,), _ = constants_of_keys([law_of([0.02] * 100, "claude")], (5.0,), {}, 20, {})
    assert cold.law_from == "cold"
    assert holds(cold, "continuum")[5.0].tau == pytest.approx(np.log(5.0))
    assert holds(cold, "continuum")[5.0].pin_share == 1.0


def test_a_hold_for_a_limit_lasts_until_its_pauses_are_back() -> None:
    sample = [0.01] * 120 + [30.2] * 80 + [400.0]
    atom = KeyAtom(30.0, Interval(80 / 201), "deadline")
    law = law_of(sample, "codex", atoms=(atom,))
    late = {("codex", "deadline", 30.0): 0.25}
    (key,), _ = constants_of_keys([law], (80.0,), late, 20, {})
    assert key.atoms[0].late == 0.25
    hold = holds(key, "continuum")[80.0]
    assert (hold.tau, hold.pin_share) == (30.25, pytest.approx(200 / 201))
    # one of 30 s would have missed all of them
    assert law_of_durations(sample).survival_at(30.0) == 81 / 201
    (without,), _ = constants_of_keys([replace(law, atoms=())], (80.0,), late, 20, {})
    assert holds(without, "continuum")[80.0].tau > 31


def test_pauses_of_no_time_have_returned_before_any_hold() -> None:
    sample = [0.0] * 50 + [0.001] * 5 + [2.0] * 145
    (key,), _ = constants_of_keys([law_of(sample, "claude")], (0.05, 10.0), {}, 20, {("claude",): 0.75})
    exact = law_of_durations(sample)
    assert exact.survival_at(0.0) == key.at_zero
    for benefit in (0.05, 10.0):
        for rule, find in (("continuum", continuum_hold), ("hazard", hazard_hold)):
            best, found = find(exact, benefit), holds(key, rule)[benefit]
            assert (found.tau, found.worth) == (pytest.approx(best.tau, rel=0.13), pytest.approx(best.value, abs=0.3))
    # 2.5 % end by 1 ms: it pays from 0.04 s on less what is held; 27.5 % by 1 ms would have it pay from 4 ms on
    assert key.pays_from == pytest.approx(0.00075 / 0.025, rel=0.05)


def test_whoever_has_another_benefit_takes_the_law_of_the_file(made: tuple[Constants, Path]) -> None:
    workload = tracestat.load_constants(made[1]).workload
    assert workload is not None
    for key in workload.keys:
        everything = workload.find(key.key["provider"])
        assert everything is not None
        law = paper_law(key, everything, workload.grid)
        assert (law is None) == (key.law_from == "cold")
        if law is not None:
            assert continuum_hold(law, 5.0).tau == holds(key, "continuum")[5.0].tau
        shrunken = shrunken_law(key, workload.grid)
        assert hazard_hold(shrunken, 5.0).tau == holds(key, "hazard_shrunken")[5.0].tau


def test_small_keys_are_left_out_and_counted_but_never_a_provider() -> None:
    laws = [law_of([1.0] * 3, "claude"), law_of([1.0] * 2, "claude", "shell"), law_of([1.0] * 2, "claude", "edit")]
    keys, left = constants_of_keys(laws, (5.0,), {}, 3, {})
    assert ([key.level for key in keys], left) == (["provider"], 2)


def test_a_key_without_a_curve_of_its_own_has_holds_by_that_of_all_tools() -> None:
    few = replace(law_of([1.0] * 30, "claude", "shell"), survival=())
    keys, _ = constants_of_keys([law_of([0.5] * 200, "claude"), few], (5.0,), {}, 20, {})
    assert holds(keys[1], "continuum")[5.0].tau == holds(keys[0], "continuum")[5.0].tau


def test_every_key_has_holds_by_every_rule(made: tuple[Constants, Path]) -> None:
    assert made[0].workload is not None
    for key in made[0].workload.keys:
        rules = ["continuum", "hazard", "continuum_shrunken", "hazard_shrunken"]
        assert [hold.rule for hold in key.holds] == [rule for rule in rules for _ in made[0].workload.benefits]
        for benefit in made[0].workload.benefits:
            assert holds(key, "continuum")[benefit].tau <= benefit
            if key.law_from != "cold":
                assert holds(key, "hazard")[benefit].worth >= holds(key, "continuum")[benefit].worth - 1e-12


def test_a_key_that_was_left_out_is_found_above(made: tuple[Constants, Path]) -> None:
    workload = made[0].workload
    assert workload is not None
    for key in workload.keys:
        values = tuple(key.key.values())[: LEVELS.index(key.level) + 1]
        assert workload.find(*values) is key
        if len(values) < len(LEVELS):
            assert workload.find(*values, "never seen") is key
            # the published rule does not ask the key above, but all tools
            assert workload.find_published(*values, "never seen") is workload.find(*values[:1])
        assert workload.find_published(*values) is key
        assert [key.hold(hold.rule, hold.benefit) for hold in key.holds] == list(key.holds)
        assert key.hold("hazard", 0.123) is None
    assert workload.find("no such provider", "shell") is None
    assert repr(made[0]) == f"Constants(rtx4090-llama3.1-8b-fp8, {len(workload.keys)} keys of small.duckdb, SYNTHETIC)"


def test_the_4090_in_the_forms_of_engines() -> None:
    # policies.md 10, simulator.md 3.3
    derived = derived_from(load_hardware("rtx4090-llama3.1-8b-fp8"))
    prefill = derived.prefill_coefficients
    assert [f"{x:.3e}" for x in (prefill.quadratic, prefill.linear)] == ["1.747e-09", "5.366e-05"]
    assert (f"{prefill.constant:.5f}", derived.prefill_from) == ("0.01422", "points")
    for tokens, seconds in ((1024, 0.071), (8192, 0.571), (32768, 3.648)):
        fitted = prefill.quadratic * tokens**2 + prefill.linear * tokens + prefill.constant
        assert fitted == pytest.approx(seconds, rel=1e-12)
    lmcache, native = derived.stores["lmcache"], derived.stores["native"]
    assert (lmcache.reload.slope, round(lmcache.reload.intercept, 6), lmcache.mode) == (5.90e-6, 0.0151, "blocking")
    assert (native.reload.slope, round(native.reload.intercept, 6), native.mode) == (1.197e-5, 0.0240, "overlapped")
    assert (round(lmcache.load_gb_per_s, 1), round(native.load_gb_per_s, 2)) == (22.2, 10.95)
    assert round(lmcache.store_gb_per_s, 1) == 12.5
    assert (derived.pool_tokens, derived.block_tokens, round(derived.pool_gb, 2)) == (81408, 16, 10.67)


@pytest.mark.parametrize("name", hardware_ids())
def test_coefficients_of_steps_lie_within_half_a_step_of_the_model(name: str) -> None:
    from tracestat.hardware.timing import prefill_seconds

    machine = replace(load_hardware(name), timings=())
    derived = derived_from(machine)
    assert derived.prefill_from == "step"
    c = derived.prefill_coefficients
    for tokens in (64, 1024, 8192, 32768):
        model = prefill_seconds(machine, tokens) + machine.client
        off = abs(c.quadratic * tokens**2 + c.linear * tokens + c.constant - model)
        assert off <= machine.step.base, tokens


@pytest.mark.parametrize("name", hardware_ids())
def test_hardware_alone_comes_back_to_the_bit(name: str, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    made = tracestat.export_constants(None, path, hardware=name)
    assert tracestat.load_constants(path) == made
    assert (made.hardware, made.workload) == (load_hardware(name), None)
    # and a command that asks for hardware reads it
    assert load_hardware(path) == made.hardware
    assert wrong("constants", json.loads(path.read_text())) == []


def test_a_workload_comes_back_to_the_bit(made: tuple[Constants, Path], tmp_path: Path) -> None:
    read = tracestat.load_constants(made[1])
    assert read == made[0]
    assert constants_text(read) == made[1].read_text(encoding="utf-8")
    assert write_constants(read, tmp_path / "again.json") == read
    assert (tmp_path / "again.json").read_bytes() == made[1].read_bytes()


def test_a_file_of_many_keys_is_still_a_file_of_hardware(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document) + " " * (5 << 20), encoding="utf-8")
    assert load_hardware(path) == tracestat.load_constants(path).hardware
    (tmp_path / "c.toml").write_text(" " * (5 << 20), encoding="utf-8")
    with pytest.raises(TracestatError, match="over 4 MiB"):
        load_hardware(tmp_path / "c.toml")


@pytest.mark.full
def test_equal_input_gives_equal_bytes_in_another_process(
    small: Path, made: tuple[Constants, Path], tmp_path: Path
) -> None:
    code = (
        "import sys, tracestat; tracestat.export_constants(sys.argv[2], sys.argv[1], allow_synthetic=True); "
        "print(*sorted(name for name in ('altair', 'pandas', 'lifelines', 'numba') if name in sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "c.json"), str(small)], check=True, capture_output=True, text=True
    )
    assert (tmp_path / "c.json").read_bytes() == made[1].read_bytes()
    assert ran.stdout.strip() == ""


def test_it_agrees_with_the_commands(small: Path, made: tuple[Constants, Path]) -> None:
    trace, workload = tracestat.open(small), made[0].workload
    assert workload is not None
    for programs, group in zip(workload.memoryfulness, tracestat.memoryfulness(trace).groups, strict=True):
        assert (programs.provider, programs.unit) == (group.key["provider"], group.key["unit"])
        assert (programs.eta, programs.n, programs.max) == (group.value, group.n_programs, group.turns.max)
    summary = {group.key["provider"]: group for group in tracestat.summary(trace, unit="pause").groups}
    for part in workload.human:
        of = summary[part.provider]
        assert part.of_count.value == pytest.approx(of.human.of_count, abs=1e-12)
        assert part.of_time.value == pytest.approx(of.human.of_time, abs=1e-12)
        assert part.of_token_seconds.value == pytest.approx(of.human.of_token_seconds, abs=1e-12)
        assert part.n - part.n_human >= of.n
    curves = {group.key["provider"]: group for group in tracestat.survival_curve(trace).groups}
    for key in workload.keys:
        if key.level == LEVELS[0]:
            assert (key.n, key.n_events) == (curves[key.key["provider"]].n, curves[key.key["provider"]].n_events)
    assert workload.excluded == dict(tracestat.survival_curve(trace).head.excluded)


def test_what_a_hold_returns_is_counted_among_the_pauses_of_the_key(small: Path, made: tuple[Constants, Path]) -> None:
    trace, workload = tracestat.open(small), made[0].workload
    assert workload is not None
    tracestat.survival_curve(trace)  # points the view at pauses by the wall clock
    rows = trace.run("SELECT * FROM durations WHERE excluded IS NULL AND row_kind = 'tool'")
    checked = 0
    for key in workload.keys:
        own = rows
        for level in LEVELS[: LEVELS.index(key.level) + 1]:
            own = own.filter(own[level].eq_missing(key.key[level]))
        assert own.height == key.n
        sample = np.maximum(own["seconds"].to_numpy(), 0)
        for hold in key.holds:
            if hold.tau == 0:
                assert hold.returned.value is None
            elif key.n_censored == 0:
                assert hold.returned.value == pytest.approx(np.mean(sample <= hold.tau), abs=1e-12)
                low, high = hold.returned.low, hold.returned.high
                assert low is None or high is None or low <= hold.returned.value <= high
                checked += 1
    assert checked > 100


def test_the_file_keeps_to_its_schema(made: tuple[Constants, Path], document: dict[str, Any]) -> None:
    assert wrong("constants", document) == []
    for path in (("workload", "keys", 0, "holds", 0, "tau"), ("derived", "pool_gb"), ("workload", "grid")):
        broken = copy.deepcopy(document)
        part: Any = broken
        for step in path[:-1]:
            part = part[step]
        del part[path[-1]]
        assert wrong("constants", broken), path


def test_every_number_of_the_schema_says_its_unit() -> None:
    def properties(part: object) -> Iterator[tuple[str, dict[str, Any]]]:
        if isinstance(part, dict):
            yield from part.get("properties", {}).items()
            for value in part.values():
                yield from properties(value)
        elif isinstance(part, list):
            for value in part:
                yield from properties(value)

    units = ("second", "token", "byte", "share", "count", "unit", "0 to 1", "zone", "hexadecimal", "rounds")
    found = list(properties(SCHEMAS["constants"]))
    assert len(found) > 60
    for name, described in found:
        assert any(unit in described.get("description", "").lower() for unit in units) or name in {
            "key",
            "origin",
            "derived",
            "hardware",
            "keys",
        }


NAMED = {"name": "f.parquet", "sha256": "0" * 64, "fingerprint": "sha256:00", "same_trace": True}


def heap(document: dict[str, Any], *masses: float) -> None:
    """Put point masses on the first key."""
    known = {"low": None, "high": None, "level": 0.95, "method": ""}
    document["workload"]["keys"][0]["atoms"] = [
        {"seconds": 30.0 * (i + 1), "mass": known | {"value": mass}, "kind": "deadline", "late": 0.0}
        for i, mass in enumerate(masses)
    ]


BROKEN: list[tuple[str, Change, str]] = [
    ("other schema", lambda d: d.update(schema="tracestat.hardware/1"), "its schema is not tracestat.constants/1"),
    ("no schema", lambda d: d.pop("schema"), "its schema is not tracestat.constants/1"),
    ("newer", lambda d: d.update(schema="tracestat.constants/2"), "is of version 2, and 1 is known"),
    ("no workload", lambda d: d.pop("workload"), "workload is missing"),
    ("no hardware", lambda d: d.pop("hardware"), "hardware is missing"),
    ("hardware of a list", lambda d: d.update(hardware=[]), "hardware is no table"),
    ("more on top", lambda d: d.update(extra=1), "extra is not known"),
    ("missing key", lambda d: d["workload"].pop("clock"), "workload: Object missing required field `clock`"),
    ("unknown key", lambda d: d["workload"]["keys"][0].update(mean=1.0), "workload.keys[0].mean is not known"),
    ("missing choice", lambda d: d["workload"].pop("since"), "`since`"),
    ("missing in hold", lambda d: d["workload"]["keys"][1]["holds"][0].pop("tau"), "workload.keys[1].holds[0]"),
    ("text for number", lambda d: d["workload"]["keys"][0].update(weight="1"), "workload.keys[0].weight"),
    ("truth for number", lambda d: d["workload"].update(min_n=True), "workload.min_n"),
    ("unknown rule", lambda d: d["workload"]["keys"][0]["holds"][0].update(rule="lru"), "holds[0].rule"),
    (
        "hold for longer",
        lambda d: d["workload"]["keys"][0]["holds"][0].update(mean_hold=99.0),
        "holds[0].mean_hold is not what follows",
    ),
    (
        "negative hold",
        lambda d: d["workload"]["keys"][0]["holds"][0].update(tau=-1.0, mean_hold=-2.0),
        "holds[0].tau is neg",
    ),
    ("returns", lambda d: d["workload"]["keys"][0]["holds"][5]["returned"].update(value=1.5), "holds[5].returned lies"),
    ("other benefit", lambda d: d["workload"]["keys"][0]["holds"][0].update(benefit=3.3), "holds are not rule by rule"),
    ("negative count", lambda d: d["workload"]["keys"][0].update(n=-1), "workload.keys[0].n is negative"),
    ("counts that differ", lambda d: d["workload"]["keys"][0].update(n=5), "not the sum"),
    ("rising", lambda d: d["workload"]["keys"][0]["survival"].__setitem__(3, 1.0), "keys[0].survival rises"),
    ("above 1", lambda d: d["workload"]["keys"][0]["used"].__setitem__(0, 1.5), "keys[0].used lies outside"),
    ("short", lambda d: d["workload"]["keys"][0]["used"].pop(), "keys[0].used does not fit the grid"),
    ("grid", lambda d: d["workload"]["grid"].reverse(), "grid does not rise"),
    ("benefits", lambda d: d["workload"].update(benefits=[0.0]), "benefits do not rise"),
    ("eta", lambda d: d["workload"]["memoryfulness"][0]["eta"].update(value=-0.9), "eta lies outside"),
    ("turns", lambda d: d["workload"]["memoryfulness"][0]["turns"].reverse(), "turns do not rise"),
    ("share", lambda d: d["workload"]["human"][0]["of_time"].update(value=1.2), "human[0].of_time lies outside"),
    ("human", lambda d: d["workload"]["human"][0].update(n_human=10**9), "human[0] has more rows"),
    ("level", lambda d: d["workload"]["keys"][0].update(level="model"), "has no key of all tools"),
    (
        "grid in ms",
        lambda d: d["workload"].update(grid=[1e3 * t for t in d["workload"]["grid"]]),
        "grid is not that of",
    ),
    ("unit", lambda d: d["workload"].update(unit="call"), "workload.unit: Invalid enum value"),
    ("other hold", lambda d: d["workload"]["keys"][0]["holds"][5].update(tau=0.3), "holds[5].tau is not what follows"),
    ("hold missing", lambda d: d["workload"]["keys"][0]["holds"].pop(), "holds are not rule by rule"),
    ("law of others", lambda d: d["workload"]["keys"][0].update(law_from="all"), "law_from is not what follows"),
    ("pays", lambda d: d["workload"]["keys"][0].update(pays_from=1e-9), "pays_from is not what follows"),
    ("key twice", lambda d: d["workload"]["keys"].append(d["workload"]["keys"][1]), "is there twice"),
    ("no top", lambda d: d["workload"].update(keys=d["workload"]["keys"][2:]), "keys[0] has no key of all tools"),
    ("below", lambda d: d["workload"]["keys"][0]["key"].update(tool="Bash"), "keys[0].key has values below its level"),
    ("mass above 1", lambda d: heap(d, 0.6, 0.6), "keys[0].atoms: their masses add up to more than 1"),
    ("last", lambda d: d["workload"]["keys"][0].update(last_seconds=0.1), "survival goes on after last_seconds"),
    ("clusters", lambda d: d["workload"]["keys"][0].update(n_developers=10**6), "n_sessions and n_developers do not"),
    ("digits", lambda d: d["workload"].update(keys_left_out=10**18), "workload.keys_left_out is too large"),
    ("bounds", lambda d: d["workload"]["human"][0]["of_time"].update(low=0.9, high=0.1), "of_time has bounds that do"),
    ("beyond", lambda d: d["workload"]["memoryfulness"][0].update(max=1), "memoryfulness[0].turns go beyond max"),
    ("digest", lambda d: d["workload"].update(forecast=NAMED | {"sha256": "00"}), "forecast.sha256 is no SHA-256"),
    ("path", lambda d: d["workload"].update(forecast=NAMED | {"name": "../a"}), "forecast.name is no name"),
    ("escapes", lambda d: d["workload"].update({"a\n\x1b[31m": 1}), "workload.a\\n\\x1b[31m is not known"),
    ("derived", lambda d: d["derived"].update(pool_gb=11.0), "derived.pool_gb is not what follows from hardware"),
    ("negative cost", lambda d: d["hardware"].update(client_ms=-1.0), "client_ms is -1; it cannot be negative"),
    ("no cost", lambda d: d["hardware"]["step"].pop("b_us"), "step.b_us is missing"),
]


@pytest.mark.parametrize(("change", "said"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
@pytest.mark.first_case
def test_a_broken_file_is_refused_in_a_line(
    document: dict[str, Any], tmp_path: Path, change: Change, said: str
) -> None:
    document["workload"]["keys"] = document["workload"]["keys"][:4]  # fewer are read sooner
    change(document)
    path = tmp_path / "c.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(TracestatError) as error:
        tracestat.load_constants(path)
    message = str(error.value)
    assert said in message
    assert "c.json" in message
    assert (len(message.splitlines()), str(tmp_path) in message) == (1, False)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no valid JSON"),
        (b"{", "is no valid JSON"),
        (b"\xff\xfe", "is no valid JSON"),
        (b"[1]", "its schema is not"),
        (b"null", "its schema is not"),
        (b"[" * 100_000, "is no valid JSON"),
        (b'{"schema": "tracestat.constants/x"}', "its schema is not"),
        (b'{"schema": "tracestat.constants/1", "a": {"n": 1, "n": 2}}', "n stands twice"),
    ],
)
def test_what_is_no_such_file_is_refused_in_a_line(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(content)
    with pytest.raises(TracestatError, match=said) as error:
        tracestat.load_constants(tmp_path / "c.json")
    assert len(str(error.value).splitlines()) == 1


def test_numbers_that_are_none_are_refused(made: tuple[Constants, Path], tmp_path: Path) -> None:
    text = made[1].read_text(encoding="utf-8")
    for number in ("NaN", "Infinity", "1e999"):
        path = tmp_path / "c.json"
        path.write_text(text.replace('"weight": 1.0', f'"weight": {number}', 1), encoding="utf-8")
        with pytest.raises(TracestatError, match=r"c\.json"):
            tracestat.load_constants(path)
    with pytest.raises(TracestatError, match="cannot be read"):
        tracestat.load_constants(tmp_path / "none.json")


def test_any_single_number_changed_to_nonsense_is_seen(document: dict[str, Any]) -> None:
    """Of the workload's plain numbers none may be negative but worth, eta and the bounds of intervals."""

    def numbers(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        items = part.items() if isinstance(part, dict) else enumerate(part)
        for name, value in items:
            if isinstance(value, dict | list):
                if not (isinstance(value, list) and len(value) > 20 and name in ("survival", "used", "grid")):
                    yield from numbers(value[:2] if isinstance(value, list) else value, (*path, name))
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield (*path, name)

    free = {"worth", "low", "high", "level", "value"}
    tried = 0
    document["workload"]["keys"] = document["workload"]["keys"][:2]
    for path in numbers(document["workload"], ()):
        if path[-1] in free or "session" in path or "developer" in path:
            continue
        part = document["workload"]
        for step in path[:-1]:
            part = part[step]
        before, part[path[-1]] = part[path[-1]], -7
        with pytest.raises(TracestatError):
            constants_from_dict(document)
        part[path[-1]] = before
        tried += 1
    constants_from_dict(document)
    assert tried > 60


def test_synthetic_data_is_refused_unless_said(small: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--allow-synthetic"):
        tracestat.export_constants(small, tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"benefits": ()}, "give 1 to 100"),
        ({"benefits": (1.0, 0.5)}, "rising"),
        ({"benefits": (0.0,)}, "above 0"),
        ({"benefits": (float("nan"),)}, "above 0"),
        ({"min_n": 0}, "1 or more"),
        ({"hardware": "foo"}, "hardware foo: not known; it is one of"),
        ({"where": "tool = 'Bash'"}, "a session or request has many of it"),
        ({"licence": ""}, "--licence"),
    ],
)
def test_choices_that_are_none(options: dict[str, Any], said: str, small: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        tracestat.export_constants(small, tmp_path / "c.json", allow_synthetic=True, **options)
    with pytest.raises(UsageError, match="must end in"):
        tracestat.export_constants(None, tmp_path / "c.toml")


@pytest.mark.full
def test_a_forecast_belongs_to_its_trace(small: Path, tmp_path: Path) -> None:
    trace = tracestat.open(small)
    model = tracestat.fit_forecast(trace, keys="tool_class")
    tracestat.save_forecast(model, tmp_path / "own.parquet")
    tracestat.save_forecast(replace(model, fingerprint="sha256:" + "0" * 64), tmp_path / "other.parquet")
    # what is asked is of the forecast alone
    options: dict[str, Any] = {"allow_synthetic": True, "where": "provider = 'none'"}
    made = tracestat.export_constants(trace, tmp_path / "c.json", forecast=tmp_path / "own.parquet", **options)
    assert made.workload is not None
    assert made.workload.forecast is not None
    assert (made.workload.forecast.name, made.workload.forecast.same_trace) == ("own.parquet", True)
    assert made.workload.forecast.fingerprint == trace.fingerprint
    with pytest.raises(UsageError, match="another trace"):
        tracestat.export_constants(trace, tmp_path / "c.json", forecast=tmp_path / "other.parquet", **options)
    other = tracestat.export_constants(
        trace, tmp_path / "c.json", forecast=tmp_path / "other.parquet", other_forecast=True, **options
    )
    assert other.workload is not None
    assert "the forecast other.parquet was fitted on another trace" in other.workload.notes
    assert wrong("constants", json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))) == []
    with pytest.raises(UsageError, match="give a trace"):
        tracestat.export_constants(None, tmp_path / "c.json", forecast=tmp_path / "own.parquet")


@pytest.mark.full
def test_small_and_empty_traces(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", [round_("s", i, [call(f"c{i}", 1, 2)], text=0.5) for i in range(3)])
    none = write(tmp_path / "none.jsonl", [round_("s", 0, [], text=0.5)])
    made = tracestat.export_constants(one, tmp_path / "one.json")
    assert made.workload is not None
    key = made.workload.keys[0]
    assert (key.n, key.law_from, made.workload.origin.synthetic) == (3, "cold", False)
    assert [programs.eta.value for programs in made.workload.memoryfulness] == [None, None]
    empty = tracestat.export_constants(none, tmp_path / "none.json")
    assert empty.workload is not None
    assert empty.workload.keys == ()
    assert "no pause takes part: the file has no law and no hold" in empty.workload.notes
    for name in ("one", "none"):
        assert wrong("constants", json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))) == []


@pytest.mark.full
def test_the_command_says_what_a_return_is_worth(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.json"
    arguments = [
        "export",
        "constants",
        str(small),
        "-o",
        str(path),
        "--allow-synthetic",
        "--benefit",
        "0.5,5",
        "--quiet",
    ]
    assert main([*arguments, "--hardware", "h100like-llama3.1-8b-fp8"]) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines()) <= 80
    text = " ".join(out.split())
    assert "SYNTHETIC: claude: hold at most so long, by what a resident return is worth (B)" in text
    assert "a hold pays only if a resident return is worth" in text
    assert "h100like-llama3.1-8b-fp8" in text
    made = tracestat.load_constants(path)
    assert made.workload is not None
    assert made.workload.benefits == (0.5, 5.0)


@pytest.mark.parametrize(
    ("eta", "said"),
    [
        (
            Interval(-0.35, -0.4, -0.3),
            "worth less: B = R - 0.350 T, so with that R no hold pays from T = 0.60 s on (eta",
        ),
        (Interval(0.5, 0.4, 0.6), "worth more: B = R + 0.500 T (eta of sessions)"),
        (Interval(0.1, -0.2, 0.3), "B = R + 0.100 T (eta of sessions; its interval does not tell the sign)"),
    ],
)
def test_the_screen_says_which_way_a_queue_moves_the_worth(
    eta: Interval, said: str, made: tuple[Constants, Path]
) -> None:
    workload = made[0].workload
    assert workload is not None
    programs = tuple(replace(one, eta=eta) for one in workload.memoryfulness)
    tables = constants_tables(replace(made[0], workload=replace(workload, memoryfulness=programs)))
    # R is 0.2084 s by the faster path at 32,768 tokens
    assert any(said in line for line in tables[1].caption)


def test_hardware_alone_needs_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.json"
    assert main(["export", "constants", "--hardware-only", "-o", str(path)]) == 0
    caught = capsys.readouterr()
    assert ("reload, lmcache (blocking)" in caught.out, caught.err) == (True, "")
    assert constants_to_dict(tracestat.load_constants(path))["workload"] is None
    # its own file is hardware, too
    assert (
        main(["export", "constants", "--hardware-only", "-o", str(tmp_path / "d.json"), "--hardware", str(path)]) == 0
    )
    assert (tmp_path / "d.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "c.toml"], 2, "must end in .json"),
        (["-o", "c.json"], 2, "--allow-synthetic"),
        (["-o", "c.json", "--allow-synthetic", "--benefit", "a"], 2, "write seconds joined by commas"),
        (["-o", "c.json", "--hardware-only", "--hardware", "foo"], 2, "not known; it is one of"),
        (["-o", "c.json", "--hardware-only", "--hardware", "c.json"], 1, "cannot be read"),
        (["-o", "c.json", "--hardware-only", "--benefit", "1"], 2, "leave out --benefit"),
        (["-o", "c.json", "--hardware-only", "none.jsonl"], 2, "leave out TRACE"),
        (["-o", "c.json", "--hardware-only", "--min-n", "5"], 2, "leave out --min-n"),
        (["-o", "c.json", "--hardware-only", "--licence", "MIT"], 2, "leave out --licence"),
        (["-o", "c.json", "--allow-synthetic", "--forecast", "none.parquet"], 1, "none.parquet"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "constants", "--quiet", *arguments]) == code
    caught = capsys.readouterr()
    assert said in caught.err
    assert (caught.out, len(caught.err.strip().splitlines())) == ("", 1)


def test_an_own_machine_of_many_digits_comes_back_as_it_was_written(tmp_path: Path) -> None:
    machine = load_hardware()
    odd: Hardware = replace(machine, id="mine", client=0.1 / 3, step=replace(machine.step, per_token=1e-4 / 7))
    made = tracestat.export_constants(None, tmp_path / "c.json", hardware=odd)
    assert tracestat.load_constants(tmp_path / "c.json") == made
    assert made.hardware.client == pytest.approx(odd.client, rel=1e-14)


def test_holds_of_the_real_trace_are_those_of_its_pauses(real_trace: Path, tmp_path: Path) -> None:
    trace = tracestat.open(real_trace)
    made = tracestat.export_constants(trace, tmp_path / "c.json", benefits=BENEFITS, where="provider = 'codex'")
    assert tracestat.load_constants(tmp_path / "c.json") == made
    assert made.workload is not None
    rows = trace.run("SELECT provider, tool_class, seconds, observed, excluded, row_kind FROM durations")
    step = 10 ** (1 / 20)
    checked = 0
    for key in made.workload.keys:
        if key.level != "tool_class" or key.n < 200 or key.n_censored:
            continue
        own = rows.filter(
            (rows["provider"] == key.key["provider"])
            & (rows["tool_class"] == key.key["tool_class"])
            & (rows["row_kind"] == "tool")
            & rows["excluded"].is_null()
        )
        sample = np.maximum(own["seconds"].to_numpy(), 0)
        assert sample.size == key.n
        exact = law_of_durations(sample)
        for benefit in BENEFITS:
            for rule, find in (("continuum", continuum_hold), ("hazard", hazard_hold)):
                best, coarse = find(exact, benefit), holds(key, rule)[benefit]
                # on a stretch of the grid pauses may all end late, or all early
                assert coarse.worth <= best.value + (step - 1) * best.mean_hold + 2e-3
                assert coarse.worth >= best.value - (step - 1) * best.tau - 2e-3
                assert coarse.pin_share == pytest.approx(np.mean(sample <= coarse.tau), abs=0.02)
        checked += 1
    assert checked >= 2
