"""The file of distributions: what it holds is what was computed, in every reader, and it says what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import tracestat
from tests.cli.conftest import Run, _plain_surroundings, run  # noqa: F401  fixtures of the command line
from tracestat.api.key_laws import key_laws
from tracestat.errors import TracestatError, UsageError
from tracestat.export.durations import COLUMNS
from tracestat.results.key_laws import LAW_GRID, LEVELS, KeyLaws
from tracestat.store import Trace

WHERE = "tool = 'write_stdin' OR tool = 'Read'"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("durations") / "trace.jsonl"
    tracestat.synth_trace(path, sessions=50, developers=24)
    return path


@pytest.fixture(scope="module")
def trace(source: Path) -> Trace:
    return tracestat.open(source)


@pytest.fixture(scope="module")
def file(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("durations") / "durations.parquet"
    written = tracestat.export_durations(trace, path, where=WHERE)
    assert written.rows == sum(one.n_keys for one in written.levels)
    return path


@pytest.fixture(scope="module")
def computed(trace: Trace) -> dict[str, KeyLaws]:
    return {unit: key_laws(trace, unit=unit, where=WHERE) for unit in ("call", "pause")}


def metadata(path: Path) -> dict[str, Any]:
    text = pq.read_schema(path).metadata[b"tracestat"].decode()
    found: dict[str, Any] = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return found


def test_numbers_of_the_file_are_those_computed_to_the_bit(file: Path, computed: dict[str, KeyLaws]) -> None:
    rows = [row for row in pq.read_table(file).to_pylist() if row["unit"] in computed]
    laws = [(unit, law) for unit, made in computed.items() for law in made.laws]
    assert len(rows) == len(laws)
    for row, (unit, law) in zip(rows, laws, strict=True):
        assert (row["unit"], row["clock"], row["definition"], row["rows"]) == (unit, "wall", "tracestat", "tool")
        assert {name: row[name] for name in LEVELS} == law.key
        for name in ("level", "n", "n_events", "n_censored", "n_sessions", "n_developers", "total_seconds"):
            assert row[name] == getattr(law, name)
        for name in ("last_seconds", "tail_alpha", "level_used", "weight", "resolution_seconds"):
            assert row[name] == getattr(law, name)
        for q in ("0.5", "0.9", "0.95", "0.99"):
            found, at = law.quantiles[q], f"q{100 * float(q):.0f}"
            assert (row[at], row[f"{at}_low"], row[f"{at}_high"]) == (found.value, found.low, found.high)
            assert (row[f"{at}_method"] or "") == found.method
        assert tuple(row["t"]) == LAW_GRID
        assert row["survival"] == (None if law.n < 20 else list(law.survival))
        assert tuple(row["used"]) == law.used
        assert [tuple(one.values()) for one in row["atoms"]] == [
            (atom.seconds, atom.kind, atom.mass.value, atom.mass.low, atom.mass.high) for atom in law.atoms
        ]
        assert [tuple(one.values()) for one in row["hazard"]] == [
            (one.lo, one.hi, one.events, one.exposure) for one in law.hazard
        ]
        assert [(one["elapsed"], one["mean"], one["median_high"]) for one in row["residual"]] == [
            (one.elapsed, one.mean.value, one.median.high) for one in law.residual
        ]
        assert [
            (one["family"], {p["name"]: p["value"] for p in one["parameters"]}, one["aic"], one["low"], one["high"])
            for one in row["laws"]
        ] == [(one.family, dict(one.parameters), one.aic, one.low, one.high) for one in law.laws]
        assert tuple(row["notes"]) == law.notes
        assert row["synthetic"] is True
    assert any(row["atoms"] for row in rows)
    assert any(row["laws"] for row in rows)


def test_three_readers_find_the_same_quantile(file: Path) -> None:
    """The first time of the grid at which no more than half last longer lies at the median, or just above it."""
    fell = pl.col("survival").list.eval(pl.element() > 0.5).list.sum()
    by_polars = pl.read_parquet(file).filter(pl.col("q50").is_not_null())
    by_polars = by_polars.with_columns(on_grid=pl.col("t").list.get(fell))
    found = by_polars["on_grid"].to_list()
    for t, median in zip(found, by_polars["q50"].to_list(), strict=True):
        assert t == next(each for each in LAW_GRID if each >= median)
    by_duckdb = duckdb.execute(
        "SELECT t[1 + len(list_filter(survival, lambda s: s > 0.5))] FROM read_parquet(?) WHERE q50 IS NOT NULL",
        [str(file)],
    ).fetchall()
    assert [value for (value,) in by_duckdb] == found
    frame = pd.read_parquet(file)
    frame = frame[frame["q50"].notna()]
    by_pandas = [row.t[(row.survival > 0.5).sum()] for row in frame.itertuples()]
    assert by_pandas == found
    assert len(found) > 10


def test_nested_columns_open_in_every_reader(file: Path) -> None:
    by_polars = (
        pl.read_parquet(file)
        .explode("hazard")
        .unnest("hazard")
        .group_by("unit")
        .agg(pl.col("events").sum())
        .sort("unit")
    )
    by_duckdb = duckdb.execute(
        "SELECT unit, sum(h.events) FROM (SELECT unit, unnest(hazard) AS h FROM read_parquet(?)) "
        "GROUP BY unit ORDER BY unit",
        [str(file)],
    ).fetchall()
    frame = pd.read_parquet(file)
    by_pandas = {
        unit: sum(one["events"] for row in part["hazard"] for one in row) for unit, part in frame.groupby("unit")
    }
    assert [tuple(row) for row in by_polars.rows()] == by_duckdb == sorted(by_pandas.items())


def test_file_says_what_it_is(file: Path, trace: Trace) -> None:
    about = metadata(file)
    schema = pq.read_schema(file)
    assert about["schema"] == "tracestat.durations/1"
    assert about["tracestat"] == tracestat.__version__
    assert (about["synthetic"], about["seed"], about["min_n"]) == (True, 0, 20)
    assert about["attribution"]["licence"] == "Apache-2.0"
    assert about["attribution"]["fingerprint"] == trace.fingerprint
    assert about["grid_seconds"] == list(LAW_GRID)
    assert list(about["columns"]) == schema.names == list(COLUMNS)
    for name in schema.names:
        field, told = schema.field(name), about["columns"][name]
        assert field.metadata[b"description"].decode() == told["description"]
        assert field.metadata.get(b"unit", b"").decode() == (told["unit"] or "")
    for unit in about["units"]:
        assert unit["where"] == WHERE
        assert unit["definition"] == "tracestat"
    assert [unit["unit"] for unit in about["units"]] == ["call", "pause", "command"]
    assert str(Path.home()) not in json.dumps(about)


def test_declared_types_are_those_of_the_file(file: Path) -> None:
    schema = pq.read_schema(file)
    for name, column in COLUMNS.items():
        arrow = str(schema.field(name).type).replace("element: ", "")
        assert arrow == column.kind.replace("float64", "double"), name


def test_same_input_same_bytes(trace: Trace, source: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"units": "pause", "where": "tool = 'write_stdin'"}
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    tracestat.export_durations(trace, first, **asked)
    tracestat.export_durations(source, second, **asked)
    assert first.read_bytes() == second.read_bytes()


def test_licence_and_attribution_are_the_callers(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    none: dict[str, Any] = {"units": "call", "where": "tool = 'none such'"}
    tracestat.export_durations(trace, path, **none, licence="CC-BY-4.0", attribution="the people of the lab")
    about = metadata(path)["attribution"]
    assert (about["licence"], about["attribution"]) == ("CC-BY-4.0", "the people of the lab")


def test_wrong_choices_are_refused_and_leave_what_was_there(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("kept")
    wrong: list[dict[str, Any]] = [
        {"units": "day"},
        {"units": ()},
        {"clock": "internal"},
        {"where": "colour = 1"},
        {"min_n": 0},
        {"licence": " "},
    ]
    for each in wrong:
        with pytest.raises(UsageError):
            tracestat.export_durations(trace, path, **each)
    with pytest.raises(UsageError, match="must end in"):
        tracestat.export_durations(trace, tmp_path / "a.csv")
    with pytest.raises(TracestatError, match="cannot be written"):
        tracestat.export_durations(trace, tmp_path / "none" / "a.parquet", units="call", where="tool = 'none such'")
    assert path.read_text() == "kept"


def test_command_tells_keys_and_files(run: Run, source: Path, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "d.parquet"
    asked = ("export", "durations", source, "-o", out, "--unit", "call", "--where", "tool = 'Grep'")
    ran = run(*asked, "--min-n", "5", "--clock", "effective", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("SYNTHETIC: keys per unit and level\n")
    assert "estimated: at least 5 rows" in ran.out
    assert "d.parquet" in ran.out
    assert "licence Apache-2.0" in ran.out
    found = json.loads(run(*asked, "--json").out)
    assert found["schema"] == "tracestat.export_durations/1"
    assert (found["unit"], found["where"], found["by"]) == ("call", "tool = 'Grep'", list(LEVELS))
    assert [(one["level"], one["n_keys"]) for one in found["keys"]] == [(level, 1) for level in LEVELS]
    assert found["files"][0]["rows"] == 4
    assert pl.read_parquet(out)["clock"].unique().to_list() == ["wall"]


def test_command_without_rows_writes_an_empty_file_and_says_so(run: Run, source: Path, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "d.parquet"
    ran = run("export", "durations", source, "-o", out, "--where", "tool = 'none such'")
    assert ran.code == 0
    assert "no durations: the file has no rows" in ran.out
    assert pl.read_parquet(out).shape == (0, len(COLUMNS))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--clock", "internal"), "only calls have it"),
        (("--where", "colour = 1"), "no such column"),
        (("-o", "d.csv"), "must end in .parquet"),
    ],
)
def test_command_refuses(run: Run, source: Path, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:  # noqa: F811
    ran = run("export", "durations", source, "-o", tmp_path / "d.parquet", *arguments)
    assert ran.code == 2
    assert words in ran.err
    assert not (tmp_path / "d.parquet").exists()


@pytest.mark.full
def test_medians_of_tools_of_the_real_trace_are_those_of_survival(
    run: Run,  # noqa: F811
    real_trace: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "d.parquet"
    where = "tool = 'Grep' OR tool = 'write_stdin' OR tool = 'Edit'"
    assert run("export", "durations", real_trace, "-o", out, "--unit", "pause", "--where", where, "-q").code == 0
    asked = ("survival", real_trace, "--by", "provider,tool", "--where", where, "--json", "--quiet")
    groups = json.loads(run(*asked).out)["groups"]
    frame = pl.read_parquet(out).filter(pl.col("level") == "tool")
    medians = {(row["provider"], row["tool"]): (row["q50"], row["q50_low"]) for row in frame.iter_rows(named=True)}
    assert len(groups) == 3
    assert medians == {
        (group["key"]["provider"], group["key"]["tool"]): (
            group["quantiles"]["0.5"]["value"],
            group["quantiles"]["0.5"]["low"],
        )
        for group in groups
    }
