"""The article's figures as files: what is written, and that its numbers are those that the commands print."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracestat
from tests.traces import Row, call, round_
from tracestat.api.figures import DRAWINGS, WrittenFigure, write_figures
from tracestat.api.redrawn import command_of, residual_life, shares
from tracestat.api.redrawn_hazards import deadline_hazards, hazards
from tracestat.charts.figures import Redrawn, figure_frame
from tracestat.cli import main
from tracestat.errors import TracestatError
from tracestat.published import load_published

NAMES = ["1_shares", "2_residual_life", "3_hazard", "4_deadlines"]
BUILDERS = [shares, residual_life, hazards, deadline_hazards]
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<svg", ".html": b"<!DOCTYPE html>"}


@pytest.fixture(scope="module")
def sample() -> Iterator[tracestat.Trace]:
    with tracestat.open() as trace:
        yield trace


@pytest.fixture(scope="module")
def written(
    sample: tracestat.Trace, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, tuple[WrittenFigure, ...], list[tuple[int, int]]]:
    folder = tmp_path_factory.mktemp("figures") / "made"
    told: list[tuple[int, int]] = []
    return folder, write_figures(sample, folder, progress=lambda *now: told.append(now)), told


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(folder / f"{name}.csv", infer_schema_length=None)


def test_every_figure_is_written_in_every_form_and_nothing_else(written: Any) -> None:
    folder, figures, told = written
    assert [figure.name for figure in figures] == NAMES
    assert told == [(k, 4) for k in (1, 2, 3, 4)]
    files = [path for figure in figures for path in figure.files]
    assert sorted(folder.iterdir()) == sorted(files)
    assert [path.suffix for path in files] == [*DRAWINGS, ".csv", ".txt"] * 4
    for path in files:
        if path.suffix in MAGIC:
            assert path.read_bytes().startswith(MAGIC[path.suffix])


def test_command_stands_in_the_text_and_in_the_drawing(written: Any) -> None:
    folder, figures, _ = written
    for figure in figures:
        lines = (folder / f"{figure.name}.txt").read_text(encoding="utf-8").splitlines()
        assert lines == [figure.title, figure.command]
        assert figure.title.startswith("SYNTHETIC: ")
        # a chart folds long lines and keeps numbers with their units
        drawing = (folder / f"{figure.name}.html").read_text(encoding="utf-8").replace("\\u00a0", " ")
        assert f"numbers: {figure.command[:40]}" in drawing.replace('\\"', '"').replace("\u00a0", " ")


def test_commands_are_commands(written: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for figure in written[1]:
        words = shlex.split(figure.command)
        assert words[0] == "tracestat"
        assert main([*words[1:], "--help"]) == 0
    capsys.readouterr()


def test_residual_command_prints_the_numbers(written: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder, figures, _ = written
    assert main([*shlex.split(figures[1].command)[1:], "--json", "--quiet"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    rows = table(folder, NAMES[1]).filter(pl.col("quantity") == "mean that remains, at a published time")
    assert rows["at"].to_list() == [point["elapsed"] for point in group["at"]] == [4.0, 25.0, 146.0]
    for name in ("value", "low", "high"):
        ours = rows[{"value": "ours"}.get(name, name)].to_list()
        assert ours == pytest.approx([point["mean"][name] for point in group["at"]])


@pytest.mark.full
def test_numbers_are_those_of_reproduce(written: Any, sample: tracestat.Trace) -> None:
    asked = ("article.lt1s", "article.gt1m", "article.approval", "article.mrl", "article.hazard", "article.deadline_")
    ours = {row.id: row.ours for only in asked for row in tracestat.reproduce(sample, only=only).rows}
    first = table(written[0], NAMES[0])
    names = ["article.lt1s", "article.gt1m.calls", "article.gt1m.time", "article.approval"]
    assert first["ours"].to_list() == pytest.approx([ours[name].value for name in names])
    assert first["high"].to_list() == pytest.approx([ours[name].high for name in names])
    means = table(written[0], NAMES[1]).filter(pl.col("published").is_not_null())
    assert means["ours"].to_list() == pytest.approx([ours[f"article.mrl.{at}"].value for at in (4, 25, 146)])
    slopes = table(written[0], NAMES[2]).filter(pl.col("quantity") == "slope")["ours"].drop_nulls()
    assert slopes.min() == pytest.approx(ours["article.hazard_slope.steepest"].value)
    assert slopes.max() == pytest.approx(ours["article.hazard_slope.flattest"].value)
    on_one = table(written[0], NAMES[3]).filter(pl.col("quantity") == "pauses that end on a deadline")
    assert on_one["ours"][0] == pytest.approx(ours["article.deadline_share.codex"].value)


def test_published_numbers_are_those_of_the_table(written: Any) -> None:
    known = {(f.printed, f.value, f.low, f.high) for f in load_published().select(origin="article")}
    columns = ["printed", "published", "published_low", "published_high"]
    found = []
    for name in NAMES:
        rows = table(written[0], name)
        if rows["published"].null_count() < rows.height:
            found += (
                rows.filter(pl.col("published").is_not_null())
                .select(pl.col("printed").cast(pl.String), *columns[1:])
                .rows()
            )
    assert len(found) == 4 + 3 + 6 + 1
    assert set(found) <= known


def test_hazards_are_those_of_hazard(written: Any, sample: tracestat.Trace) -> None:
    rows = table(written[0], NAMES[2])
    for group in tracestat.hazard(sample, by="tool_class", draws=0).groups:
        own = rows.filter((pl.col("panel") == group.label) & (pl.col("quantity") == "hazard"))
        bins = group.deadlines_cut.bins[: group.n_bins]
        assert own["ours"].to_list() == pytest.approx([item.hazard.value for item in bins])
        assert own["n"].to_list() == [item.events for item in bins]


def test_other_slopes_cross_the_fitted_law_where_its_events_lie(written: Any) -> None:
    rows = table(written[0], NAMES[2]).filter((pl.col("panel") == "shell") & (pl.col("quantity") == "fitted hazard"))
    t, h, low, high = (rows[name].to_list() for name in ("at", "ours", "published_low", "published_high"))
    assert low[1] == pytest.approx(high[1]) == pytest.approx(h[1])
    assert math.log(high[0] / h[1]) / math.log(t[0] / t[1]) == pytest.approx(-0.74)
    assert math.log(high[2] / h[1]) / math.log(t[2] / t[1]) == pytest.approx(-0.56)
    assert math.log(low[2] / h[1]) / math.log(t[2] / t[1]) == pytest.approx(-0.74)


def test_files_of_the_same_names_are_replaced_and_others_stay(
    sample: tracestat.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracestat.api.figures._FIGURES", (_quick(),))
    (tmp_path / "1_shares.csv").write_text("old", encoding="utf-8")
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    write_figures(sample, str(tmp_path))
    assert (tmp_path / "1_shares.csv").read_text(encoding="utf-8").startswith("panel,")
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def _quick() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from tracestat.api import figures

    return figures._FIGURES[0]


def test_bad_folders_are_one_line(sample: tracestat.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(TracestatError, match="file: this is a file; name a folder"):
        write_figures(sample, tmp_path / "file")
    with pytest.raises(TracestatError, match="deep: its folder does not exist"):
        write_figures(sample, tmp_path / "none" / "deep")

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", forbidden)
    with pytest.raises(TracestatError, match=r"made: cannot be made \(Permission denied\)"):
        write_figures(sample, tmp_path / "made")


def few(provider: str) -> list[Row]:
    tool = {"claude": "Bash", "codex": "exec_command"}[provider]
    calls = [call(f"{provider}{k}", 10 * k, 10 * k + 0.5 + k, tool) for k in range(6)]
    return [round_("s", k, [one], provider=provider) for k, one in enumerate(calls)]


@pytest.mark.parametrize("providers", [(), ("claude",), ("codex",)], ids=["nothing", "claude", "codex"])
@pytest.mark.first_case
def test_too_little_is_drawn_with_the_reason(store_of: Any, providers: tuple[str, ...]) -> None:
    from tracestat.api import figures

    trace = store_of([round_("quiet", 0, text=1), *(row for provider in providers for row in few(provider))])
    for make, draw in figures._FIGURES:
        made = make(trace)
        assert isinstance(made, Redrawn)
        assert figure_frame(made).height == len(made.rows)
        for row in made.rows:
            if row.ours.value is None and row.published is not None:
                assert row.note, row
        assert draw(made).to_dict()["title"]["text"]


def test_command_names_the_trace_so_that_a_shell_reads_it(store_of: Any, sample: tracestat.Trace) -> None:
    trace = store_of(few("claude"))
    trace.shown = "it's mine.duckdb"
    text = command_of(trace, "residual", "--where", "provider = 'claude'")
    assert shlex.split(text) == ["tracestat", "residual", "it's mine.duckdb", "--where", "provider = 'claude'"]
    trace.shown = "$(rm -rf x)'.duckdb"
    assert shlex.split(command_of(trace, "hazard"))[2] == trace.shown
    trace.shown = "logs/0123456789ab"
    assert command_of(trace, "hazard") == "tracestat hazard --mine"
    assert command_of(sample, "hazard") == "tracestat hazard"


@pytest.mark.full
def test_real_trace_through_the_command_line(
    real_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracestat.api.figures.DRAWINGS", (".svg",))  # what the others are like is tested above
    folder = tmp_path / "figures"
    assert main(["reproduce", str(real_trace), "--only", "article.lt1s", "--figures", str(folder), "--json"]) == 0
    capsys.readouterr()
    assert {path.name for path in folder.iterdir()} == {
        f"{name}{ending}" for name in NAMES for ending in (".svg", ".csv", ".txt")
    }
    means = table(folder, NAMES[1]).filter(pl.col("published").is_not_null())
    assert means["published"].to_list() == [54, 113, 361]
    assert means["n"].to_list() == [4602, 1206, 310]
    assert means["ours"].to_list() == pytest.approx([59.58, 192.97, 517.79], abs=0.01)
    first = table(folder, NAMES[0])
    assert first["ours"].to_list() == pytest.approx([0.6494, 0.0301, 0.8479, 0.1006], abs=1e-4)
    slopes = table(folder, NAMES[2]).filter((pl.col("quantity") == "slope") & (pl.col("panel") == "shell"))
    assert slopes["ours"][0] == pytest.approx(-0.627, abs=1e-3)
    deadlines = table(folder, NAMES[3])
    on_one = deadlines.filter(pl.col("published") == 0.3)
    assert on_one["ours"][0] == pytest.approx(419 / 3771)
    spike = deadlines.filter((pl.col("quantity") == "hazard") & pl.col("note").str.starts_with("part of an atom"))
    assert spike.sort("ours")["at"].to_list()[-1] == pytest.approx(30.0, abs=0.6)
