"""The fit against the published columns, against data with known constants, and what it refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hardware.machines import five
from tracestat.errors import TracestatError
from tracestat.hardware import Hardware, Timing, hardware_from_dict, hardware_to_dict, load_hardware
from tracestat.hardware.fields import FIELDS
from tracestat.hardware.fit import Layout, solve_timings
from tracestat.hardware.new import Machine, fit_constants
from tracestat.hardware.timing import KINDS, timing_seconds
from tracestat.hardware.timings import check_timings, read_timings
from tracestat.hardware.writing import number_of

FIFTEEN = load_hardware().timings
CHUNKS = {"lmcache": 256, "native": 16}
# o, s, b, q, LMCache load and store, native load fixed and per token; then rms and largest relative residual, per cent
COLUMNS = {
    (2048, 0.010): ((5.1, 10.0, 51.5, 3.38, 5.90, 8.26, 8.9, 11.97), (1.44, 2.4)),
    (2048, None): ((11.1, 3.8, 52.3, 3.54, 5.92, 8.22, 9.0, 11.97), (1.24, 2.4)),
    (8192, None): ((14.8, 0.0, 52.7, 3.64, 5.93, 8.20, 9.1, 11.97), (1.32, 2.7)),
    (8192, 0.010): ((4.8, 10.0, 52.9, 3.58, 5.94, 8.20, 9.2, 11.97), (1.35, 2.8)),
}
UNITS = {
    "client": (1e3, 1),
    "step.base": (1e3, 1),
    "step.per_token": (1e6, 1),
    "step.attention": (1e9, 2),
    "stores.lmcache.load_per_token": (1e6, 2),
    "stores.lmcache.store_per_token": (1e6, 2),
    "stores.native.load_fixed": (1e3, 1),
    "stores.native.load_per_token": (1e6, 2),
}


def machine(**changes: object) -> Machine:
    known = {
        "id": "mine",
        "card": "a card",
        "model": "a model",
        "kv_bytes_per_token": 131_072,
        "pool_tokens": 81_408,
        "sources": {},
    }
    return Machine(**{**known, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_fit_gives_the_published_columns(column: tuple[int, float | None]) -> None:
    budget, base = column
    values, (rms, largest) = COLUMNS[column]
    solution = solve_timings(FIFTEEN, Layout(budget, 16, CHUNKS, whole_hits=True), base=base)
    found = dict(solution.values) | ({} if base is None else {"step.base": base})
    made = [round(found[name] * scale, digits) for name, (scale, digits) in UNITS.items()]
    assert made == pytest.approx(values, abs=1e-9)
    relative = np.array(solution.relative)
    assert round(100 * float(np.sqrt(np.mean(relative**2))), 2) == rms
    assert round(100 * float(np.abs(relative).max()), 1) == largest
    assert solution.at_bound == (("step.base",) if column == (8192, None) else ())


def test_shipped_columns_are_what_the_fit_gives() -> None:
    files = {
        "rtx4090-llama3.1-8b-fp8": (2048, 0.010),
        "rtx4090-llama3.1-8b-fp8-free": (2048, None),
        "rtx4090-llama3.1-8b-fp8-b8192-free": (8192, None),
        "rtx4090-llama3.1-8b-fp8-b8192": (8192, 0.010),
    }
    for id_, (budget, base) in files.items():
        shipped = load_hardware(id_)
        assert shipped.max_batched_tokens == budget
        found = solve_timings(FIFTEEN, Layout(budget, 16, CHUNKS, whole_hits=True), base=base).values
        assert shipped.step.per_token == pytest.approx(found["step.per_token"], abs=0.05e-6)
        assert shipped.step.attention == pytest.approx(found["step.attention"], abs=0.005e-9)
        assert shipped.client == pytest.approx(found["client"], abs=0.05e-3)
        for path in ("lmcache", "native"):
            load = found[f"stores.{path}.load_per_token"]
            assert shipped.stores[path].load_per_token == pytest.approx(load, abs=0.005e-6)


def truth(**changes: float) -> Hardware:
    known = load_hardware()
    step = dataclasses.replace(known.step, **changes)
    return dataclasses.replace(known, step=step)


def timed(
    known: Hardware, kinds: Sequence[str] = tuple(KINDS), lengths: Sequence[int] = (1024, 8192, 32768)
) -> list[Timing]:
    return [
        Timing(kind, tokens, timing_seconds(known, Timing(kind, tokens, 1.0))) for kind in kinds for tokens in lengths
    ]


@settings(max_examples=13, deadline=None)
@given(
    per_token=st.floats(5e-6, 500e-6),
    attention=st.floats(0.5e-9, 20e-9),
    client=st.floats(1e-3, 20e-3),
    load=st.floats(1e-6, 12e-6),
)
def test_known_constants_come_back(per_token: float, attention: float, client: float, load: float) -> None:
    known = truth(per_token=per_token, attention=attention)
    lmcache = dataclasses.replace(known.stores["lmcache"], load_per_token=load)
    known = dataclasses.replace(known, client=client, stores={**known.stores, "lmcache": lmcache})
    found = solve_timings(timed(known), Layout(2048, 16, CHUNKS), base=known.step.base).values
    assert found["step.per_token"] == pytest.approx(per_token, rel=1e-6)
    assert found["step.attention"] == pytest.approx(attention, rel=1e-5)
    assert found["client"] == pytest.approx(client, rel=1e-5)
    assert found["stores.lmcache.load_per_token"] == pytest.approx(load, rel=1e-6)


def test_a_free_base_comes_back_where_there_is_no_noise() -> None:
    known = load_hardware()
    found = solve_timings(timed(known), Layout(2048, 16, CHUNKS), base=None).values
    assert found["step.base"] == pytest.approx(0.010, rel=1e-6)
    # and it is hardly told: 1 % on one timing moves it by far more than it moves o + s
    moved = [dataclasses.replace(t, seconds=t.seconds * (1.01 if t.tokens == 32768 else 1)) for t in timed(known)]
    other = solve_timings(moved, Layout(2048, 16, CHUNKS), base=None).values
    assert abs(other["step.base"] / found["step.base"] - 1) > 0.1


def test_another_base_moves_o_by_as_much() -> None:
    low, high = (fit_constants(FIFTEEN, machine(), base=base) for base in (0.009, 0.011))
    assert (low.client + low.step.base) == pytest.approx(high.client + high.step.base, abs=0.4e-3)
    assert low.client - high.client == pytest.approx(0.002, abs=0.4e-3)


def test_own_set_has_every_number_and_comes_back() -> None:
    made = fit_constants(FIFTEEN, machine())
    assert hardware_from_dict(hardware_to_dict(made)) == made
    assert set(made.provenance) == set(load_hardware().provenance)
    assert made.timings == FIFTEEN
    assert not made.estimate
    for name in ("client", "step.per_token", "step.attention", "stores.native.load_fixed"):
        source = made.provenance[name]
        assert source.kind == "fit"
        assert source.low is not None
        assert source.high is not None
        assert source.low < source.high
    assert made.provenance["step.base"].kind == "choice"
    assert "o + s" in made.provenance["step.base"].note
    # held to the model as it is simulated: the last block of a reload is computed
    assert max(abs(timing_seconds(made, t) / t.seconds - 1) for t in FIFTEEN) < 0.025


def test_five_timings_give_a_coarse_set_that_says_what_is_assumed() -> None:
    made = fit_constants(five(), machine())
    assert made.step.per_token == pytest.approx(51.5e-6, rel=0.03)
    assert made.step.attention == pytest.approx(3.38e-9, rel=0.05)
    assert made.stores["lmcache"].load_per_token == pytest.approx(5.9e-6, rel=0.03)
    notes = " ".join(made.notes)
    assert "assumed, not measured: s, r, lmcache: load fixed, native: load per token" in notes
    assert "coarse: 5 timings for 4 constants" in notes
    for name in ("step.base", "step.decode_read", "stores.native.load_per_token", "stores.lmcache.store_per_token"):
        assert made.provenance[name].kind == "choice"
    assert made.provenance["step.per_token"].kind == "fit"
    assert made.stores["native"].load_per_token == made.stores["lmcache"].load_per_token
    native = [Timing("reload_native" if t.kind.startswith("reload") else t.kind, t.tokens, t.seconds) for t in five()]
    other = fit_constants(native, machine())
    assert other.provenance["stores.lmcache.load_per_token"].note == "as fast as native, which alone was timed"
    # an engine without a fixed cost is no nonsense
    assert other.stores["native"].load_fixed == pytest.approx(0.0, abs=1e-6)
    assert "reloads show no fixed cost" in other.provenance["stores.native.load_fixed"].note
    assert hardware_from_dict(hardware_to_dict(other)) == other


def test_as_many_timings_as_constants_say_nothing_of_how_good_they_are() -> None:
    kept = {("cold", 1024), ("cold", 8192), ("cold", 32768), ("reload_native", 8192), ("reload_native", 32768)}
    made = fit_constants([t for t in FIFTEEN if (t.kind, t.tokens) in kept], machine())
    assert any("5 timings for as many constants are met exactly" in note for note in made.notes)
    source = made.provenance["step.per_token"]
    assert (source.low, source.high) == (None, None)
    assert "no range: each timing is needed to tell it" in source.note


def test_free_base_that_no_timing_tells_is_refused() -> None:
    with pytest.raises(TracestatError, match=r"s ends at its bound 0: the timings do not tell s; hold it with --s-ms"):
        fit_constants(FIFTEEN, machine(max_batched_tokens=8192), base=None)


def test_too_large_a_base_is_refused() -> None:
    with pytest.raises(TracestatError, match=r"o ends at its bound 0: .*give a smaller --s-ms"):
        fit_constants(FIFTEEN, machine(), base=0.030)


def test_short_prompts_do_not_show_attention() -> None:
    flat = timed(truth(attention=0.0), lengths=(256, 512, 1024))
    with pytest.raises(TracestatError, match=r"q ends at its bound 0: the prompts are too short"):
        fit_constants(flat, machine())


def test_pool_is_whole_blocks() -> None:
    with pytest.raises(TracestatError, match=r"pool of 81,409 tokens: no whole number of blocks of 16"):
        fit_constants(FIFTEEN, machine(pool_tokens=81_409))


def edited(edit: Callable[[Timing], Timing]) -> list[Timing]:
    return [edit(timing) for timing in FIFTEEN]


def at(kind: str, tokens: int, factor: float) -> list[Timing]:
    return edited(
        lambda t: dataclasses.replace(t, seconds=t.seconds * factor) if (t.kind, t.tokens) == (kind, tokens) else t
    )


def exchanged(timing: Timing) -> Timing:
    other = {
        "cold": "reload_lmcache",
        "cold_native": "reload_lmcache",
        "cold_lmcache": "reload_native",
        "reload_lmcache": "cold",
        "reload_native": "cold_native",
    }
    return dataclasses.replace(timing, kind=other[timing.kind])


@pytest.mark.parametrize(
    ("timings", "says"),
    [
        (FIFTEEN[:4], r"4 different ones, 5 needed; .*hardware recipe"),
        ([*FIFTEEN[:4]] * 3, r"4 different ones, 5 needed"),
        ([], r"0 different ones"),
        ([t for t in FIFTEEN if t.tokens == 1024], r"cold prompts of 1 length, two needed"),
        ([t for t in FIFTEEN if t.kind.startswith("reload")], r"cold prompts of 0 lengths, two needed"),
        ([t for t in FIFTEEN if t.kind.startswith("cold")], r"no reload among them"),
        ([*FIFTEEN, Timing("warm", 10, 1.0)], r"kind 'warm' is not known; it is one of cold, cold_lmcache"),
        ([*FIFTEEN, Timing("cold", 0, 1.0)], r"must have positive tokens"),
        ([*FIFTEEN, Timing("cold", 10, -1.0)], r"positive, finite time"),
        ([*FIFTEEN, Timing("cold", 10, float("nan"))], r"positive, finite time"),
        (
            edited(lambda t: dataclasses.replace(t, seconds=t.seconds / 1e3)),
            r"0\.071 ms, .*give milliseconds, not seconds",
        ),
        ([*FIFTEEN, Timing("cold", 131_072, 36.0)], r"cold at 131,072 tokens: larger than the pool of 81,408"),
        ([*FIFTEEN, Timing("reload_native", 10**300, 1e299)], r"larger than the pool"),
        ([*FIFTEEN, Timing("reload_lmcache", 255, 0.015)], r"shorter than the chunk of 256, .*check --lmcache-chunk"),
        ([*FIFTEEN, Timing("cold", 8192, 0.8)], r"cold at 8,192 tokens is 571 and 800 ms, more apart than noise"),
        (at("cold", 32768, 0.1), r"cold falls from 571 ms at 8,192 tokens to 364\.8 ms at 32,768"),
        (edited(exchanged), r"nowhere faster than cold; .*exchanged|more apart than noise"),
        (edited(lambda t: Timing(t.kind, t.tokens, t.seconds * (30 if t.kind == "reload_native" else 1))), "nowhere"),
        (at("reload_lmcache", 8192, 2.2), r"misses .* by more than 15 % and 5 ms, most reload_lmcache at 8,192"),
        (at("cold", 8192, 1.6), r"misses .* by more than 15 % and 5 ms"),
        (
            [t for t in FIFTEEN if t.kind in ("cold", "cold_native") and t.tokens < 9000]
            + [Timing("reload_lmcache", 8192, 0.063)],
            r"5 of them do not tell o, b, q, lmcache load apart; measure cold prompts of a third length",
        ),
    ],
)
def test_nonsense_is_one_line(timings: list[Timing], says: str) -> None:
    with pytest.raises(TracestatError, match=says) as caught:
        fit_constants(timings, machine())
    assert "\n" not in str(caught.value)


def test_repetitions_within_noise_give_their_median() -> None:
    again = [*FIFTEEN, Timing("cold", 8192, 0.575), Timing("cold", 8192, 0.569)]
    kept = check_timings(again)
    assert len(kept) == 15
    assert next(t.seconds for t in kept if (t.kind, t.tokens) == ("cold", 8192)) == 0.571
    assert any("17 timings were given" in note for note in fit_constants(again, machine()).notes)
    assert not any("were given" in note for note in fit_constants(FIFTEEN, machine()).notes)


def test_ranges_hold_the_truth_in_95_of_100() -> None:
    """Of 200 draws of 5 % noise, per constant; binomial scatter of that is 1.5 points."""
    known = load_hardware()
    exact = timed(known)
    draws = np.random.default_rng(7)
    layout = Layout(2048, 16, CHUNKS)
    held: dict[str, int] = {}
    for _ in range(200):
        noisy = [dataclasses.replace(t, seconds=t.seconds * (1 + 0.05 * draws.standard_normal())) for t in exact]
        for name, (low, high) in solve_timings(noisy, layout, base=0.010).ranges.items():
            held[name] = held.get(name, 0) + (low <= constant(known, name) <= high)
    assert len(held) == 7
    assert all(0.90 * 200 <= count <= 0.995 * 200 for count in held.values()), held


def constant(known: Hardware, name: str) -> float:
    return next(number_of(known, field) for field in FIELDS if field.name == name)


def test_order_of_the_timings_does_not_matter() -> None:
    assert fit_constants(FIFTEEN[::-1], machine()) == fit_constants(FIFTEEN, machine())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "kind,tokens,ms\ncold,1024,71\nreload_native,8192,125.5\n"),
        ("a.csv", "\ufeff# measured in May\nms, kind, tokens\n71, cold, 1024\n\n125.5, reload_native, 8192\n"),
        (
            "a.json",
            '[{"kind":"cold","tokens":1024,"ms":71},{"kind":"reload_native","tokens":8192,"ms":125.5}]',
        ),
    ],
)
def test_files_of_timings(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_timings(tmp_path / name) == (Timing("cold", 1024, 0.071), Timing("reload_native", 8192, 0.1255))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "", r"timings a\.csv: the first line is empty; it must be kind,tokens,ms"),
        ("a.csv", "kind,tokens,seconds\ncold,1,1\n", r"the first line is kind,tokens,seconds"),
        ("a.csv", "kind,tokens,ms\nwarm,1,1\n", r"row 1: kind 'warm' is not known"),
        ("a.csv", "kind,tokens,ms\ncold,1,1\ncold,x,1\n", r"row 2: tokens is 'x'; give a number"),
        ("a.csv", "kind,tokens,ms\ncold,1\n", r"row 1: ms is None"),
        ("a.csv", "kind,tokens,ms\ncold,1,2,3\n", r"row 1: has kind, tokens, ms, None; it needs"),
        ("a.csv", "kind,tokens,ms\ncold,1.5,2\n", r"row 1: tokens is 1\.5; give a whole number"),
        ("a.csv", "kind,tokens,ms\ncold,1e300,2\n", r"row 1: tokens is 1e\+300, longer than any prompt"),
        ("a.csv", "kind,tokens,ms\ncold,1,nan\n", r"row 1: ms is nan; it must be positive and finite"),
        ("a.csv", "kind,tokens,ms\ncold,1,-3\n", r"row 1: ms is -3; it must be positive"),
        ("a.json", "{}", r"timings a\.json: is no list of objects"),
        ("a.json", "[1]", r"is no list of objects"),
        ("a.json", "[", r"is not valid"),
        ("a.json", '[{"kind":"cold","tokens":true,"ms":1}]', r"tokens is True; give a number"),
        ("a.json", '[{"kind":["cold"],"tokens":1,"ms":1}]', r"row 1: kind \['cold'\]"),
        ("a.json", '[{"kind":"cold","tokens":1}]', r"row 1: has kind, tokens; it needs kind, tokens and ms"),
    ],
)
def test_broken_timings_are_one_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(TracestatError, match=says) as caught:
        read_timings(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TracestatError, match=r"^timings none\.csv: cannot be read \(No such file"):
        read_timings(tmp_path / "none.csv")
