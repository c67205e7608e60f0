"""Sessions drawn from a profile: read again by ingest, they have its laws; damaged profiles are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace as replace_struct

import tracestat
from tracestat.cli import main
from tracestat.durations.sequence import session_sequence
from tracestat.errors import TracestatError, UsageError
from tracestat.export.attribution import attribution_of
from tracestat.export.profile_sessions import provider_sessions, recorded, with_states
from tracestat.ingest import ingest
from tracestat.ingest.about import UNKNOWN, licence_in
from tracestat.store import Trace
from tracestat.synth import from_profile_reading, synth_trace
from tracestat.synth.from_profile_laws import KeyDraws
from tracestat.synth.from_profile_reading import checked_profile, read_profile
from tracestat.synth.from_profile_truth import ProfileTruth

SESSIONS = 120


@dataclass(frozen=True)
class Drawn:
    profile: dict[str, Any]
    path: Path
    truth: ProfileTruth
    trace: Trace
    steps: pl.DataFrame


@pytest.fixture(scope="module")
def drawn(sample_profile: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drawn]:
    folder = tmp_path_factory.mktemp("drawn")
    path = folder / "drawn.jsonl"
    truth = synth_trace(path, profile=sample_profile, sessions=SESSIONS, seed=11)
    ingest([path], folder / "drawn.duckdb")
    with tracestat.open(folder / "drawn.duckdb") as trace:
        steps = with_states(session_sequence(trace)[0])
        yield Drawn(json.loads(sample_profile.read_text(encoding="utf-8")), path, truth, trace, steps)


def down_to_tools(document: dict[str, Any]) -> dict[str, Any]:
    """Copy a profile without its thousand keys of command skeletons, for tests that read it again and again."""
    keys = [key for key in document["keys"] if key["level"] != "command_skeleton"]
    copy: dict[str, Any] = json.loads(json.dumps({**document, "keys": keys}))
    return copy


def test_ingest_reads_every_row_and_marks_it_synthetic(drawn: Drawn) -> None:
    assert drawn.trace.synthetic
    counts = drawn.trace.counts
    assert (counts["rounds"], counts["tool_calls"], counts["rejected"]) == (drawn.truth.rounds, drawn.truth.calls, 0)
    assert drawn.steps["session_pk"].n_unique() == SESSIONS


def test_what_ingest_reads_is_what_was_drawn(drawn: Drawn) -> None:
    """The truth file is counted while writing; the sequence of the store, made by SQL, must give the same."""
    for provider, own in drawn.steps.partition_by("provider", as_dict=True).items():
        read = {row.quantity: row for row in recorded(own, str(provider[0]))}
        for row in drawn.truth.compared:
            if row.provider == provider[0] and row.quantity in read:
                of = read[row.quantity]
                assert row.n_drawn == of.n, row
                assert getattr(of, row.quantile) == pytest.approx(row.drawn, rel=1e-5), row


def test_pauses_of_each_class_have_the_curve_of_the_profile(drawn: Drawn) -> None:
    """Kolmogorov's distance at the points of the grid, within the sampling error of sessions whose pauses are alike."""
    alike = {part["provider"]: part["alike"]["tool"] for part in drawn.profile["sessions"]["providers"]}
    checked = 0
    tools = drawn.steps.filter((pl.col("n_calls") > 0) & ~pl.col("is_last") & (pl.col("state") != "human"))
    for key in drawn.profile["keys"]:
        if key["level"] != "tool_class":
            continue
        provider, tool_class = key["key"]["provider"], key["key"]["tool_class"]
        own = tools.filter((pl.col("provider") == provider) & (pl.col("tool_class") == tool_class))
        if own.height < 100:
            continue
        seconds = own["tool_seconds"].to_numpy()
        sizes = own.group_by("session_pk").len()["len"].to_numpy().astype(float)
        effect = 1 + ((sizes**2).sum() / sizes.sum() - 1) * alike[provider]
        # recorded results are logged up to half a second after their limit, drawn ones at it
        atoms = [at for at, _, _ in key["atoms"]]
        points = [(t, s) for t, s in key["own_survival"] if not any(at <= t <= 1.06 * at + 500 for at in atoms)]
        apart = max(abs(float((seconds > t / 1000 + 1e-7).mean()) - s) for t, s in points)
        assert apart < 1.63 * math.sqrt(effect / own.height) + 0.005, (provider, tool_class, apart)
        checked += 1
    assert checked >= 8


def test_keys_of_a_class_together_have_its_curve(sample_profile: Path) -> None:
    """Independent draws: what keys with a curve and the rest of them give is the curve of the class."""
    profile = read_profile(sample_profile).profile
    draws = KeyDraws(profile)
    rng = np.random.default_rng(3)
    n = 8_000
    checked = 0
    for key in profile.keys:
        if key.level != "tool_class" or not key.own_survival:
            continue
        who = key.key["provider"] or "", key.key["tool_class"]
        ms = np.array([draws.draw(*who, u)[2].ms for u in rng.random(n).tolist()])
        points = [(t, s) for t, s in key.own_survival if not any(a <= t <= 1.06 * a + 500 for a, _, _ in key.atoms)]
        assert max(abs(float((ms > t).mean()) - s) for t, s in points) < 1.63 / math.sqrt(n) + 0.002, who
        checked += 1
    assert checked >= 10


def test_deadlines_keep_their_share_place_and_kind(drawn: Drawn) -> None:
    codex = drawn.steps.filter((pl.col("provider") == "codex") & (pl.col("state") == "shell") & ~pl.col("is_last"))
    key = next(
        key
        for key in drawn.profile["keys"]
        if key["level"] == "tool_class" and key["key"]["provider"] == "codex" and key["key"]["tool_class"] == "shell"
    )
    masses = {at / 1000: mass for at, mass, kind in key["atoms"] if kind == "deadline"}
    assert len(masses) >= 2
    for at, mass in masses.items():
        ended = codex.filter((pl.col("end_kind") == "deadline") & (pl.col("asked_limit_seconds") == at))
        assert ended["tool_seconds"].n_unique() <= 1
        assert ended.filter(pl.col("tool_seconds") != at).height == 0
        assert abs(ended.height / codex.height - mass) < 6 * math.sqrt(mass / codex.height) + 0.003


def test_memoryfulness_is_that_of_the_profile(drawn: Drawn) -> None:
    of = {(row.provider, row.quantity): row for row in drawn.truth.compared if row.quantile == "value"}
    found = tracestat.memoryfulness(drawn.trace, draws=0)
    for group in found.groups:
        row = of[str(group.key["provider"]), f"eta_{group.key['unit']}"]
        assert row.recorded is not None
        assert group.value.value == pytest.approx(row.drawn, abs=1e-5)
        assert abs(row.drawn - row.recorded) < (0.35 if group.key["unit"] == "session" else 0.15)


def test_every_larger_difference_has_a_reason(drawn: Drawn) -> None:
    rows = [row for row in drawn.truth.compared if row.quantile != "value"]
    assert {(row.provider, row.quantity, row.quantile) for row in rows} >= {
        (provider, quantity, quantile)
        for provider in ("claude", "codex")
        for quantity in ("tool_pause", "human_wait", "rounds_per_session", "rounds_per_request", "context", "output")
        for quantile in ("p50", "p95", "p99")
    }
    for row in rows:
        assert row.ratio is not None
        assert bool(row.reason) == (abs(row.ratio - 1) > 0.1) or abs(abs(row.ratio - 1) - 0.1) < 1e-3, row


def test_truth_carries_the_profile_its_licence_and_whom_to_name(drawn: Drawn, sample_profile: Path) -> None:
    truth = json.loads((drawn.path.parent / "drawn.truth.json").read_text(encoding="utf-8"))
    assert truth["synthetic"] is True
    assert truth["profile"]["file"] == sample_profile.name
    about = truth["profile"]["attribution"]
    assert (about["licence"], about["attribution"]) == ("Apache-2.0", "nobody")
    assert truth["written"]["rounds"] == drawn.truth.rounds
    again = attribution_of(drawn.trace, "none")
    assert (again.licence, again.synthetic) == ("Apache-2.0", True)
    assert again.attribution == "synthetic, drawn by tracestat synth from the profile of sample.jsonl.gz: nobody"
    assert str(drawn.path.parent) not in json.dumps(truth)


def test_unknown_licence_stays_unknown_and_the_mark_is_made_once(drawn: Drawn) -> None:
    """A drawn trace without a note beside it would pass as nobody's data, under Apache-2.0."""
    whose = replace(drawn.truth, attribution=replace_struct(drawn.truth.attribution, licence=None, attribution=UNKNOWN))
    said = whose.said()
    assert said["licence"] is None
    assert licence_in("about " + json.dumps(said)) == (None, said["attribution"])
    assert said["attribution"] != UNKNOWN  # which ingest would take for no note at all
    twice = replace(whose, attribution=replace_struct(whose.attribution, attribution=said["attribution"]))
    assert twice.said()["attribution"] == said["attribution"]


def test_pauses_of_a_drawn_session_are_as_alike_as_recorded(drawn: Drawn) -> None:
    for part in drawn.profile["sessions"]["providers"]:
        own = drawn.steps.filter(pl.col("provider") == part["provider"])
        now = provider_sessions(own, part["provider"]).alike.tool
        assert abs(now - part["alike"]["tool"]) < 0.06, part["provider"]


def test_two_draws_have_no_id_in_common(drawn: Drawn, tmp_path: Path) -> None:
    """Ingest takes rows with the ids of others for copies: one profile's sessions must not hide another's."""
    (tmp_path / "p.json").write_text(json.dumps(down_to_tools(drawn.profile)), encoding="utf-8")
    ids = []
    for name, seed in (("a", 11), ("b", 11 + 2**16)):
        synth_trace(tmp_path / f"{name}.jsonl", profile=tmp_path / "p.json", sessions=2, seed=seed)
        rows = (tmp_path / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ids.append({json.loads(row)["session_id"] for row in rows})
    ids.append(set(drawn.trace.run("SELECT DISTINCT session_id FROM rounds")["session_id"]))
    assert [len(some) for some in ids] == [2, 2, SESSIONS]
    assert len(set().union(*ids)) == SESSIONS + 4


def test_keys_that_are_missing_are_said(drawn: Drawn, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps({**drawn.profile, "keys": []}), encoding="utf-8")
    truth = synth_trace(tmp_path / "t.jsonl", profile=tmp_path / "p.json", sessions=4)
    assert any("no key of the profile is for" in note and "claude shell" in note for note in truth.notes)
    assert not any("no key of the profile" in note for note in drawn.truth.notes)


def test_same_seed_same_bytes_other_seed_others(drawn: Drawn, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(down_to_tools(drawn.profile)), encoding="utf-8")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        synth_trace(tmp_path / f"{name}.jsonl.gz", profile=tmp_path / "p.json", sessions=4, seed=seed)
    a, b, c = ((tmp_path / f"{name}.jsonl.gz").read_bytes() for name in "abc")
    assert a == b != c


def rising(document: dict[str, Any]) -> None:
    document["keys"][0]["survival"][3][1] = 1.0
    document["keys"][0]["survival"][2][1] = 0.5


def heavy(document: dict[str, Any]) -> None:
    document["keys"][0]["atoms"] = [[5000.0, 0.7, "deadline"], [9000.0, 0.4, "sleep"]]


def backwards(document: dict[str, Any]) -> None:
    document["keys"][1]["own_survival"] = [[2.0, 1.0], [1.0, 0.5]]


def wordy(document: dict[str, Any]) -> None:
    document["keys"][0]["n"] = "many"


def short(document: dict[str, Any]) -> None:
    document["sessions"]["providers"][0]["rounds_per_session"]["values"].pop()


def ragged(document: dict[str, Any]) -> None:
    document["sessions"]["providers"][1]["chain"]["counts"][0].pop()


def lost(document: dict[str, Any]) -> None:
    del document["sessions"]["providers"][0]["human"]


def later(document: dict[str, Any]) -> None:
    document["version"] = 2


def other(document: dict[str, Any]) -> None:
    document["schema"] = "tracestat.constants/1"


def above(document: dict[str, Any]) -> None:
    document["keys"][0]["own_survival"] = [[1.0, 1.25]]


def astray(document: dict[str, Any]) -> None:
    document["sessions"]["providers"][0]["calls_per_round"] = {"shell": [[1, 0]]}


def nobody(document: dict[str, Any]) -> None:
    document["sessions"]["providers"] = []


def unequal(document: dict[str, Any]) -> None:
    document["sessions"]["providers"][0]["requests_per_session"][0]["grid"]["values"] = [1.0]


def twice(document: dict[str, Any]) -> None:
    document["sessions"]["providers"] = document["sessions"]["providers"][:1] * 2


def shuffled(document: dict[str, Any]) -> None:
    document["sessions"]["providers"][0]["cached"].reverse()


def halved(document: dict[str, Any]) -> None:
    document["sessions"]["providers"][0]["models"] = [["m\ud800", 1]]


DAMAGE: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (rising, "p.json: survival rises - at `$.keys[0].survival[3]`"),
    (heavy, "p.json: the masses add up to 1.1, more than 1 - at `$.keys[0].atoms`"),
    (backwards, "p.json: times must rise - at `$.keys[1].own_survival[1]`"),
    (wordy, "p.json: expected `int`, got `str` - at `$.keys[0].n`"),
    (short, "at `$.sessions.providers[0].rounds_per_session.values`"),
    (ragged, "at `$.sessions.providers[1].chain.counts`"),
    (lost, "missing required field `human` - at `$.sessions.providers[0]`"),
    (later, "p.json: version 2 of tracestat-profile, this tracestat reads 1; update tracestat"),
    (other, "p.json: no tracestat-profile; tracestat export profile writes one"),
    (above, "expected `float` <= 1.0 - at `$.keys[0].own_survival[0][1]`"),
    (astray, "no rounds - at `$.sessions.providers[0].calls_per_round.shell`"),
    (unequal, "at `$.sessions.providers[0].requests_per_session[0].grid.values`"),
    (twice, "p.json: the same provider twice - at `$.sessions.providers`"),
    (shuffled, "the ends of bands must rise, and only the last be open - at `$.sessions.providers[0].cached`"),
    (halved, "p.json: damaged, or no JSON"),
    (nobody, "p.json: it has no sessions to draw from - at `$.sessions.providers`"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGE, ids=lambda part: getattr(part, "__name__", ""))
def test_damaged_profile_is_one_line_with_what_and_where(
    drawn: Drawn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[dict[str, Any]], None],
    said: str,
) -> None:
    document = json.loads(json.dumps({**drawn.profile, "keys": drawn.profile["keys"][:3]}))
    damage(document)
    (tmp_path / "p.json").write_text(json.dumps(document), encoding="utf-8")
    capsys.readouterr()
    assert main(["synth", "--from", str(tmp_path / "p.json"), "-o", str(tmp_path / "t.jsonl"), "--quiet"]) == 1
    caught = capsys.readouterr()
    assert (caught.out, caught.err.count("\n")) == ("", 1)
    assert said in caught.err
    assert not (tmp_path / "t.jsonl").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": NaN}', "[" * 100_000, "\x00", '{"schema": 1e999}'])
def test_what_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(TracestatError) as error:
        checked_profile(text.encode(), "p.json")
    assert len(str(error.value).splitlines()) == 1


def test_what_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_profile_reading, "_MOST_BYTES", 1000)
    (tmp_path / "p.json").write_bytes(b" " * 1001)
    for path in (tmp_path / "p.json", Path("/dev/zero")):
        if path.exists():
            with pytest.raises(TracestatError, match="larger than"):
                read_profile(path)


def test_more_keys_of_a_later_writer_are_passed_over(drawn: Drawn) -> None:
    document = {**drawn.profile, "keys": [{**drawn.profile["keys"][0], "more": 1}], "later": {"a": []}}
    assert checked_profile(json.dumps(document).encode(), "p.json").keys[0].n == drawn.profile["keys"][0]["n"]


def test_names_in_a_profile_are_only_text(drawn: Drawn, tmp_path: Path) -> None:
    """A profile may come from anyone: quotes in a tool's name must not break a row."""
    document = down_to_tools(drawn.profile)
    for key in document["keys"]:
        if key["key"]["tool"] == "Bash":
            key["key"]["tool"] = 'B"a\\s\nh'
    (tmp_path / "p.json").write_text(json.dumps(document), encoding="utf-8")
    truth = synth_trace(tmp_path / "t.jsonl", profile=tmp_path / "p.json", sessions=3)
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == truth.rounds
    assert 'B"a\\s\nh' in {tool["tool_name"] for row in rows for tool in row["tools"]}


def test_any_numbers_are_drawn_within_bounds(drawn: Drawn, tmp_path: Path) -> None:
    """Quantiles as large as a float can be end in a trace that ingest reads, or in one line."""
    document = down_to_tools(drawn.profile)
    part = document["sessions"]["providers"][0]
    most = [1e300] * len(document["sessions"]["levels"])
    growth = [band["grid"] for bands in part["growth"].values() for band in bands]
    grids = [part["human"]["message"], part["first_prompt"], *growth, *part["output_tokens"].values()]
    for grid in (*grids, *(band["grid"] for band in part["generation"])):
        grid["values"] = most if grid["n"] else []
    short = [3.0] * len(most)
    part["rounds_per_session"]["values"] = short
    part["most_context"] = 1 << 53
    part["calls_per_round"] = {state: [[1 << 50, 1]] for state in part["calls_per_round"]}
    part["models"] = []
    for key in document["keys"]:
        key["own_survival"], key["atoms"] = [[1e299, 1.0], [1e300, 0.0]], [[1e300, 0.5, "deadline"]]
    for row in document["recorded"]:
        row["p50"] = 1e-308
    (tmp_path / "p.json").write_text(json.dumps(document), encoding="utf-8")
    truth = synth_trace(tmp_path / "t.jsonl", profile=tmp_path / "p.json", sessions=2)
    assert ingest([tmp_path / "t.jsonl"], tmp_path / "t.duckdb")
    with tracestat.open(tmp_path / "t.duckdb") as trace:
        assert (trace.counts["rounds"], trace.counts["rejected"]) == (truth.rounds, 0)
    part["rounds_per_session"]["values"] = most
    part["calls_per_round"] = {state: [[1, 1]] for state in part["calls_per_round"]}
    (tmp_path / "p.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(TracestatError, match="beyond the year 2200"):
        synth_trace(tmp_path / "u.jsonl", profile=tmp_path / "p.json", sessions=1)
    assert not (tmp_path / "u.jsonl").exists()


def test_choices_beside_a_profile_are_refused(sample_profile: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="profile"):
        synth_trace(tmp_path / "t.jsonl", profile=sample_profile, like="tracelab")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="at least one session"):
        synth_trace(tmp_path / "t.jsonl", profile=sample_profile, sessions=0)
    for more in (["--like", "tracelab"], ["--developers", "3"]):
        assert main(["synth", "--from", str(sample_profile), "-o", str(tmp_path / "t.jsonl"), *more]) == 2
    with pytest.raises(TracestatError, match="cannot be read"):
        synth_trace(tmp_path / "t.jsonl", profile=tmp_path / "none.json")


@pytest.mark.full
def test_commands_end_to_end_on_the_real_trace(
    real_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--where", "provider = 'codex'", "--quiet"]
    assert main(["export", "profile", str(real_trace), "-o", str(tmp_path / "r.json"), *only]) == 0
    assert "rounds/session" in capsys.readouterr().out
    arguments = ["--from", str(tmp_path / "r.json"), "-o", str(tmp_path / "r.jsonl.gz"), "--sessions", "150"]
    assert main(["synth", *arguments, "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["synthetic"] is True
    of = {(row["provider"], row["quantity"], row["quantile"]): row for row in document["compared"]}
    assert abs(math.log(of["codex", "tool_pause", "p50"]["ratio"])) < 0.7
    assert abs(of["codex", "output", "p95"]["ratio"] - 1) < 0.2
    assert abs(of["codex", "tool_pause", "p95"]["ratio"] - 1) < 0.05  # the yield at 30 s
    assert all(row["reason"] for row in of.values() if row["ratio"] and abs(row["ratio"] - 1) > 0.101 and row["unit"])
    assert np.isfinite([row["ratio"] for row in of.values() if row["unit"]]).all()
