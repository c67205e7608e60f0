"""Each reading command on the bundled sample, and each general option."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import Run

READING = ["keys", "calls", "summary", "survival", "hazard"]
ESTIMATES = ["summary", "survival", "hazard"]


ANSWERS: dict[tuple[str, ...], str] = {}


def answer(run: Run, *arguments: str | Path) -> dict[str, Any]:
    """Give what a command answers; a question without files is asked once."""
    key = tuple(map(str, arguments))
    if key not in ANSWERS:
        ran = run(*arguments, "--json", "--quiet")
        assert (ran.code, ran.err) == (0, "")
        if any(isinstance(part, Path) for part in arguments):
            return dict(json.loads(ran.out))
        ANSWERS[key] = ran.out
    return dict(json.loads(ANSWERS[key]))


@pytest.mark.parametrize("command", READING)
@pytest.mark.first_case
def test_command_prints_tables_that_fit_80_columns_and_say_they_are_synthetic(run: Run, command: str) -> None:
    ran = run(command)
    assert ran.code == 0
    assert ran.out.startswith("SYNTHETIC: ")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.out.endswith("\n")
    assert ran.err == "tracestat: no trace given: reading the bundled sample, which is synthetic\n"


@pytest.mark.parametrize("command", READING)
@pytest.mark.first_case
def test_json_is_one_document_and_all_of_stdout(run: Run, command: str) -> None:
    ran = run(command, "--json")
    document = json.loads(ran.out)
    assert document["schema"] == f"tracestat.{command}/1"
    assert document["synthetic"] is True
    assert document["trace"]["path"] == "sample.jsonl.gz"


@pytest.mark.parametrize("command", READING)
@pytest.mark.first_case
def test_quiet_says_nothing_on_stderr(run: Run, command: str) -> None:
    assert run(command, "--quiet").err == ""


@pytest.mark.parametrize("command", READING)
@pytest.mark.first_case
def test_answers_are_reproducible_to_the_byte(run: Run, command: str) -> None:
    first = run(command, "--json", "--quiet")
    assert first.out == run(command, "--json", "--quiet").out


def test_seed_is_stated_and_draws_anew(run: Run) -> None:
    one, other = (answer(run, "hazard", "--seed", seed) for seed in ("7", "8"))
    assert (one["seed"], other["seed"]) == (7, 8)
    assert one["groups"] != other["groups"]


@pytest.mark.parametrize("command", ESTIMATES)
@pytest.mark.first_case
def test_by_chooses_the_groups(run: Run, command: str) -> None:
    document = answer(run, command, "--by", "tool_class,provider", "--unit", "pause")
    assert document["by"] == ["tool_class", "provider"]
    keys = [group["key"] for group in document["groups"]]
    assert {key["provider"] for key in keys} == {"claude", "codex"}
    assert len(keys) == len({(key["tool_class"], key["provider"]) for key in keys}) > 2
    [pooled] = answer(run, command, "--by", "none", "--unit", "pause")["groups"]
    assert pooled["n"] == sum(group["n"] for group in document["groups"])


@pytest.mark.parametrize("command", ESTIMATES)
@pytest.mark.first_case
def test_where_leaves_rows_out_and_is_stated(run: Run, command: str) -> None:
    everything = answer(run, command, "--unit", "pause")
    document = answer(run, command, "--unit", "pause", "--where", "provider = 'codex' AND n_calls = 1")
    assert document["where"] == "provider = 'codex' AND n_calls = 1"
    [group] = document["groups"]
    [whole] = [other for other in everything["groups"] if other["key"]["provider"] == "codex"]
    assert group["key"]["provider"] == "codex"
    assert 0 < group["n"] < whole["n"]


@pytest.mark.full
def test_since_and_until_part_the_rows_at_a_moment_in_the_zone(run: Run) -> None:
    [longest] = answer(run, "calls", "--longest", "1")["calls"]
    moment = dt.datetime.fromisoformat(longest["started_at"]) + dt.timedelta(seconds=1)

    def rows(*options: str, zone: str = "UTC") -> int:
        document = answer(run, "summary", "--by", "none", "--unit", "call", "--tz", zone, *options)
        assert document["zone"] == zone
        return sum(group["n"] for group in document["groups"])

    before, after = rows("--until", moment.isoformat()), rows("--since", moment.isoformat())
    assert min(before, after) > 0
    assert before + after == rows()
    # fourteen hours earlier, so without the longest call
    assert rows("--until", moment.isoformat(), zone="Pacific/Kiritimati") < before
    assert rows("--until", f"{moment.isoformat()}+00:00", zone="Pacific/Kiritimati") == before


@pytest.mark.parametrize("unit", ["call", "pause", "command"])
@pytest.mark.first_case
def test_unit(run: Run, unit: str) -> None:
    for command in READING:
        assert answer(run, command, "--unit", unit)["unit"] == unit


@pytest.mark.full
def test_default_units(run: Run) -> None:
    assert answer(run, "survival")["unit"] == answer(run, "hazard")["unit"] == answer(run, "keys")["unit"] == "pause"
    assert answer(run, "calls")["unit"] == "call"
    assert {group["key"]["unit"] for group in answer(run, "summary")["groups"]} == {"pause", "call"}


@pytest.mark.parametrize("clock", ["internal", "effective"])
def test_other_clocks_are_for_calls_only(run: Run, clock: str) -> None:
    assert answer(run, "survival", "--unit", "call", "--clock", clock)["clock"] == clock
    ran = run("survival", "--unit", "pause", "--clock", clock, "--quiet")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


def test_rows(run: Run) -> None:
    count = {
        rows: sum(group["n"] for group in answer(run, "survival", "--rows", rows)["groups"])
        for rows in ("tool", "human", "all")
    }
    assert 0 < count["human"] < count["tool"] < count["tool"] + count["human"] <= count["all"]


def test_min_n_keeps_the_group_and_drops_the_estimate(run: Run) -> None:
    document = answer(run, "survival", "--min-n", "1000000000")
    assert all(group["n"] > 0 for group in document["groups"])
    assert all(point["S"]["value"] is None for group in document["groups"] for point in group["curve"])
    assert all("1000000000 asked for" in " ".join(group["notes"]) for group in document["groups"])


@pytest.mark.parametrize("command", ESTIMATES)
@pytest.mark.first_case
def test_sort_and_top_choose_what_the_table_shows(run: Run, command: str) -> None:
    ran = run(command, "--by", "tool", "--unit", "pause", "--top", "1", "--sort", "name", "--quiet")
    assert ran.code == 0
    assert "; --top " in ran.out
    names = sorted(group["key"]["tool"] for group in answer(run, command, "--by", "tool", "--unit", "pause")["groups"])
    assert names[0] in ran.out
    assert names[-1] not in ran.out


def test_definition(run: Run) -> None:
    document = answer(run, "summary", "--definition", "tracelab")
    assert document["definition"] == "tracelab"
    assert document["unit"] == "call"
    assert "counts" in document["tracelab"]
    assert run("summary", "--definition", "tracelab", "--quiet").code == 0


@pytest.mark.full
def test_options_of_hazard(run: Run) -> None:
    document = answer(run, "hazard", "--bins", "6", "--from", "0.5", "--cut-at", "30")
    for group in document["groups"]:
        assert len(group["bins"]) == 7
        assert 0.25 < group["bins"][0]["lo"] < 1
        assert [window[0] for window in group["deadlines_cut"]["windows"]] == [pytest.approx(29.85)]
    kept = answer(run, "hazard", "--cut-at", "none")
    assert all(group["deadlines_cut"]["windows"] == [] for group in kept["groups"])


def test_cause_specific_hazards(run: Run) -> None:
    kinds = {group["key"]["end_kind"] for group in answer(run, "hazard", "--by", "end_kind")["groups"]}
    assert "completed" in kinds
    assert run("survival", "--by", "end_kind", "--quiet").code == 2


def test_longest_and_top_of_the_lists(run: Run) -> None:
    waits = answer(run, "calls", "--longest", "7")["calls"]
    assert [wait["seconds"] for wait in waits] == sorted((wait["seconds"] for wait in waits), reverse=True)
    assert len(waits) == 7
    assert max(len(key["values"]) for key in answer(run, "keys", "--top", "2")["keys"]) == 2


def test_own_classes(run: Run, tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "data" / "tool_classes.toml"
    own = tmp_path / "own.toml"
    own.write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    assert answer(run, "survival", "--by", "tool_class", "--classes", own) == answer(
        run, "survival", "--by", "tool_class"
    )
    own.write_text("not a table", encoding="utf-8")
    ran = run("survival", "--classes", own, "--quiet")
    assert ran.code in (1, 2)
    assert "own.toml" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
@pytest.mark.first_case
def test_numbers_go_to_a_file(run: Run, tmp_path: Path, command: str, ending: str) -> None:
    file = tmp_path / f"numbers.{ending}"
    ran = run(command, "-o", file)
    assert ran.code == 0
    assert f"tracestat: wrote numbers.{ending}" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    if ending == "json":
        assert file.read_text(encoding="utf-8") == run(command, "--json", "--quiet").out
        return
    frame = pl.read_parquet(file) if ending == "parquet" else pl.read_csv(file, infer_schema_length=None)
    assert frame.height > 0
    assert frame["synthetic"].unique().to_list() == [True]
    assert f"{frame.height:,} rows" in ran.err


@pytest.mark.parametrize("command", READING)
@pytest.mark.first_case
def test_chart_goes_to_a_file(run: Run, tmp_path: Path, command: str) -> None:
    ran = run(command, "--chart", tmp_path / "drawn.svg")
    assert ran.code == 0
    assert "tracestat: wrote drawn.svg\n" in ran.err
    drawn = (tmp_path / "drawn.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "SYNTHETIC" in drawn


@pytest.mark.parametrize(("ending", "magic"), [("html", b"<"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
@pytest.mark.first_case
def test_chart_formats(run: Run, tmp_path: Path, ending: str, magic: bytes) -> None:
    assert run("survival", "--chart", tmp_path / f"a.{ending}", "--quiet").code == 0
    assert (tmp_path / f"a.{ending}").read_bytes().startswith(magic)
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{ending}"]


@pytest.mark.parametrize("command", ESTIMATES)
@pytest.mark.first_case
def test_no_rows_left_is_an_answer(run: Run, command: str, tmp_path: Path) -> None:
    document = answer(run, command, "--where", "tool = 'no such tool'")
    assert sum(group["n"] for group in document["groups"]) == 0
    ran = run(
        command, "--where", "tool = 'no such tool'", "--quiet", "-o", tmp_path / "a.csv", "--chart", tmp_path / "a.svg"
    )
    assert ran.code == 0
    assert ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["hazard", "--by", "colour"], 2, "--by colour: no such key"),
        (["summary", "--by", "end_kind"], 2, "--by end_kind: it is an outcome"),
        (["hazard", "--where", "seconds > 5"], 2, "--where seconds: it is an outcome"),
        (["hazard", "--where", "end_kind = 'deadline'"], 2, "--where end_kind: it is an outcome"),
        (["hazard", "--where", "tool = 'a'; DROP TABLE rounds"], 2, "--where"),
        (["hazard", "--since", "yesterday"], 2, "--since yesterday: not a date"),
        (["hazard", "--tz", "Mars/Olympus"], 2, "--tz Mars/Olympus: no such time zone"),
        (["hazard", "--from", "nan"], 2, "--from nan: give seconds above 0, at most 10000"),
        (["hazard", "--from", "inf"], 2, "--from inf"),
        (["hazard", "--from", "0"], 2, "--from 0"),
        (["hazard", "--from", "-1"], 2, "--from -1"),
        (["hazard", "--from", "10001"], 2, "--from 10001"),
        (["hazard", "--cut-at", "5,nan"], 2, "--cut-at 5,nan"),
        (["hazard", "--cut-at", "1e999"], 2, "--cut-at 1e999"),
        (["calls", "--longest", "1000001"], 2, "--longest"),
        (["hazard", "--definition", "tracelab", "--unit", "pause"], 2, "--definition tracelab fixes"),
        (["summary", "--definition", "tracelab", "--clock", "wall"], 2, "--definition tracelab fixes"),
        (["survival", "--definition", "tracelab", "--rows", "tool"], 2, "--definition tracelab fixes"),
        (["hazard", "none.duckdb"], 1, "none.duckdb"),
        (["hazard", 'it\'s; "here".jsonl'], 1, 'it\'s; "here".jsonl'),
        (["hazard", "--classes", "none.toml"], 1, "none.toml"),
    ],
)
def test_error_is_one_line_with_its_exit_code(
    run: Run, arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(*arguments, "--quiet")
    assert ran.code == code
    assert ran.out == ""
    assert ran.err.startswith("tracestat: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert str(tmp_path) not in ran.err


@pytest.mark.full
def test_trace_with_quotes_and_semicolons_in_its_path(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s; DROP TABLE "rounds" --'
    folder.mkdir()
    trace = folder / "a 'trace'; \"here\".jsonl"
    assert run("synth", "-o", trace, "--sessions", "3", "--quiet").code == 0
    document = answer(run, "summary", trace)
    assert document["trace"]["path"] == trace.name
    store = folder / "it's.duckdb"
    assert run("ingest", trace, "-o", store, "--quiet").code == 0
    assert answer(run, "summary", store)["groups"] == document["groups"]


def test_damaged_store_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 5000)
    ran = run("summary", tmp_path / "bad.duckdb", "--quiet")
    assert ran.code == 1
    assert ran.err.startswith("tracestat: ")
    assert ran.err.count("\n") == 1
    assert "internal error" not in ran.err


def test_real_trace(run: Run, real_trace: Path) -> None:
    document = answer(run, "summary", real_trace, "--definition", "tracelab")
    assert document["synthetic"] is False
    assert document["trace"]["rounds"] == 29_916
    assert document["trace"]["tool_calls"] == 35_705
    ran = run("hazard", real_trace, "--by", "provider,tool_class", "--quiet")
    assert ran.code == 0
    assert "SYNTHETIC" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize("option", ["-o", "--chart"])
def test_no_input_is_overwritten(run: Run, option: str, tmp_path: Path) -> None:
    made, ending = tmp_path / "made.jsonl", "json" if option == "-o" else "svg"
    assert run("synth", "-o", made, "--sessions", "3", "--quiet").code == 0
    trace = made.rename(tmp_path / f"same.{ending}")
    link = tmp_path / f"link.{ending}"
    link.symlink_to(trace)
    before = trace.read_bytes()
    for target, source in ((trace, trace), (link, trace), (trace, link), (tmp_path / f"new.{ending}", tmp_path)):
        ran = run("hazard", source, option, target)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"tracestat: {option} {target.name}: ")
        assert ran.err.count("\n") == 1
    assert trace.read_bytes() == before
    assert not (tmp_path / f"new.{ending}").exists()


def test_classes_are_not_overwritten(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("kept", encoding="utf-8")
    ran = run("survival", "--classes", own, "-o", own)
    assert (ran.code, own.read_text(encoding="utf-8")) == (2, "kept")
