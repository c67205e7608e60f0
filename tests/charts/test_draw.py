"""Every chart is valid, says what it is, and draws nothing that its axes cannot hold."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from tracestat.charts import draw
from tracestat.charts.hazard import _marks_between, fitted_line
from tracestat.results import Bin, HazardResult, Interval, Result, SurvivalResult

KINDS = ["hazard", "summary", "survival", "keys", "calls"]
PAIR = ["claude", "codex"]
MANY = [f"tool_{i}" for i in range(200)]


def walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value)


def spec(result: Result) -> dict[str, Any]:
    """The chart as JSON; Altair validates it against the schema of Vega-Lite."""
    made: dict[str, Any] = draw(result).to_dict()
    return made


def data(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in made.get("datasets", {}).values() for row in rows] + [
        row
        for node in walk(made)
        if isinstance(node.get("values"), list)
        for row in node["values"]
        if isinstance(row, dict)
    ]


def words(made: dict[str, Any]) -> str:
    title = made["title"]
    return " ".join([*title["text"], *title["subtitle"]]).replace("\u00a0", " ")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "names", [PAIR, MANY, ["<script>alert(1)</script>", "x" * 300, "Ω 工具 🛠️", "a\x1b[31m"], ["", ""]]
)
def test_every_chart_is_valid(make: Any, kind: str, names: list[str]) -> None:
    assert spec(make(kind, names))["title"]["text"]


def test_the_chart_of_tracelab_is_valid(tracelab: Any) -> None:
    made = spec(tracelab())
    assert "TraceLab" in words(made)
    assert {row["bin"] for row in data(made)} == {"<10ms", ">10m"}


@pytest.mark.parametrize("kind", KINDS)
def test_titles_say_how_it_was_made(make: Any, kind: str) -> None:
    text = words(spec(make(kind, PAIR)))
    assert "tool rows; left out: 1,214 copies, 139 human waits, 2 censored at zero" in text
    assert "29,916 rounds, 35,705 calls, 3 lines rejected" in text
    assert "SYNTHETIC" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_synthetic_stands_in_the_title(make: Any, kind: str) -> None:
    assert spec(make(kind, PAIR, synthetic=True))["title"]["text"][0].startswith("SYNTHETIC: ")


def test_synthetic_stands_in_the_titles_of_panels(make: Any) -> None:
    made = spec(make("hazard", PAIR, synthetic=True))
    assert all(panel["title"]["text"][0].startswith("SYNTHETIC: ") for panel in made["concat"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.first_case
def test_no_text_of_a_chart_can_open_a_tag(make: Any, kind: str, hostile: list[str]) -> None:
    assert "<script" not in draw(make(kind, hostile)).to_json()
    assert "</script" not in draw(make(kind, hostile)).to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_empty_results_say_so(make: Any, kind: str) -> None:
    result = make(kind, [])
    field = next(f.name for f in dataclasses.fields(result) if f.name in ("groups", "keys", "calls"))
    for empty in [dataclasses.replace(result, **{field: ()})] + ([result] if field == "groups" else []):
        text = " ".join(" ".join(row["text"]) for row in data(spec(empty)) if "text" in row)
        assert "nothing" in text or "no " in text, text


def test_the_reason_stands_in_the_empty_chart(make: Any) -> None:
    rows = data(spec(make("hazard", [])))
    assert "12 sessions, 20 needed" in " ".join(" ".join(row["text"]) for row in rows)


@pytest.mark.parametrize("kind", ["hazard", "survival", "summary"])
@pytest.mark.first_case
def test_many_groups_are_cut_and_said(make: Any, kind: str) -> None:
    made = spec(make(kind, MANY))
    shown = 10 if kind == "summary" else 6
    assert f"the {shown} groups with most rows, of 20" in words(made)
    assert "tool_0" in str(made)
    assert "tool_11" not in str(made)


def sizes(made: dict[str, Any]) -> list[str]:
    return [line for node in walk(made) if "subtitle" in node for line in node["subtitle"] if " sessions" in line]


@pytest.mark.parametrize("kind", ["hazard", "survival", "summary"])
@pytest.mark.first_case
def test_rows_sessions_and_developers_are_counted(make: Any, kind: str) -> None:
    text = " ".join(sizes(spec(make(kind, PAIR))))
    assert "471" in text
    assert "26" in text
    assert "21,993" in text


def log_fields(made: dict[str, Any]) -> set[str]:
    """Fields on a log axis; a second end (x2, y2) shares the axis of the first."""
    found = set()
    for node in walk(made):
        for channel in ("x", "y"):
            scale = node.get(channel, {}).get("scale") if isinstance(node.get(channel), dict) else None
            if scale and scale.get("type") == "log":
                assert scale["domain"][0] > 0
                assert scale["domain"][1] > scale["domain"][0]
                found.add(node[channel]["field"])
                found |= {node[f"{channel}2"]["field"]} if f"{channel}2" in node else set()
    return found


@pytest.mark.parametrize("kind", ["hazard", "survival"])
def test_log_axes_get_positive_values_only(make: Any, kind: str, group: Any) -> None:
    result = make(kind, PAIR)
    if kind == "hazard":
        # no events, an interval that reaches zero, no interval, a first edge at zero
        strange = (
            Bin(0.0, 0.1, 5, 1.0, Interval(5.0, 4.0, 6.0)),
            Bin(0.1, 0.2, 0, 10.0, Interval(0.0, 0.0, 0.4)),
            Bin(0.2, 0.4, 3, 10.0, Interval(0.3, 0.0, 0.9)),
            Bin(0.4, 0.8, 3, 10.0, Interval(0.3)),
            Bin(0.8, 1.6, 0, 0.0, Interval(None)),
            Bin(1.6, None, 0, 0.0, Interval(None)),
        )
        result = HazardResult(result.head, (*result.groups, group({"provider": "odd"}, n=9_999_999, bins=strange)))
    made = spec(result)
    fields = log_fields(made)
    assert fields >= ({"x", "y", "low", "high"} if kind == "hazard" else {"x"})
    rows = data(made)
    assert rows
    for row in rows:
        for name in fields & row.keys():
            # rows that a filter keeps off the page carry zero
            hidden = (name in ("y", "low", "high") and row.get("y") == 0) or (name == "limit" and row["limit"] == 0)
            assert hidden or row[name] > 0, (name, row)


def test_bins_without_events_show_their_upper_limit(make: Any) -> None:
    rows = [row for row in data(spec(make("hazard", PAIR))) if "limit" in row]
    assert any(row["limit"] > 0 and row["y"] == 0 for row in rows)
    assert all(row["limit"] == 0 for row in rows if row["y"] > 0)


def test_cut_is_drawn_where_it_differs_and_only_there(make: Any) -> None:
    rows = [row for row in data(spec(make("hazard", PAIR[:1]))) if "set" in row and row["used"]]
    cut = {row["bin"] for row in rows if row["set"].startswith("deadlines cut")}
    assert cut == {"3.1 to 6.0 s", "77 s to 2.4 min", "8.8 to 17 min"}
    assert len(rows) == 14 + 3


def test_the_line_passes_through_a_power_law(group: Any) -> None:
    """Bins of a power law with exact exposure: the line is the law."""
    edges = [0.1 * 1.5**k for k in range(12)]
    bins = tuple(
        Bin(lo, hi, events := 1000, events / (0.4 * math.sqrt(lo * hi) ** -0.8), Interval(1.0))
        for lo, hi in itertools.pairwise(edges)
    )
    shown = group({"a": "b"}, bins=bins, n_bins=len(bins), range=(edges[0], edges[-1]))
    slopes = dataclasses.replace(shown.slope, poisson=Interval(-0.8))
    cut = dataclasses.replace(shown.deadlines_cut, slope=slopes, bins=bins)
    ends = fitted_line(dataclasses.replace(shown, slope=slopes, deadlines_cut=cut))
    assert [end["x"] for end in ends] == [edges[0], edges[-1]]
    for end in ends:
        assert end["y"] == pytest.approx(0.4 * end["x"] ** -0.8)


def test_no_line_without_a_slope(group: Any) -> None:
    shown = group({"a": "b"}, range=None)
    assert fitted_line(shown) == []


def test_survival_without_positive_times_is_empty(make: Any) -> None:
    result = make("survival", PAIR[:1])
    only_zero = dataclasses.replace(result.groups[0], curve=result.groups[0].curve[:1])
    assert "no curve to draw" in str(spec(SurvivalResult(result.head, (only_zero,))))


def test_survival_of_one_time_has_an_axis(make: Any) -> None:
    result = make("survival", PAIR[:1])
    one = dataclasses.replace(result.groups[0], curve=result.groups[0].curve[4:5])
    assert log_fields(spec(SurvivalResult(result.head, (one,)))) == {"x"}


def test_shares_of_groups_are_of_all_groups_of_the_unit(make: Any) -> None:
    rows = [row for row in data(spec(make("summary", PAIR))) if row.get("what") == "rows"]
    assert pytest.approx(21_993 / (21_993 + 10_996)) in [row["y"] for row in rows if row["group"] == "claude"]
    assert pytest.approx(10_996 / (21_993 + 10_996)) in [row["y"] for row in rows if row["group"] == "codex"]


def test_other_results_have_no_chart(make: Any) -> None:
    class Untold(Result):
        def to_frame(self) -> pl.DataFrame:
            return pl.DataFrame()

    with pytest.raises(TypeError, match="Untold has no chart"):
        draw(Untold(make("keys", []).head))


def test_survival_is_drawn_as_steps_with_marks_up_to_one(make: Any) -> None:
    made = spec(make("survival", PAIR))
    marks = {node["mark"]["type"]: node["mark"] for node in walk(made) if isinstance(node.get("mark"), dict)}
    assert marks["line"]["interpolate"] == marks["area"]["interpolate"] == "step-after"
    axes = [node["y"] for node in walk(made) if isinstance(node.get("y"), dict)]
    shares = [axis["axis"] for axis in axes if axis.get("field") in ("y", "low")]
    assert shares
    assert all(axis["values"][-1] == 1 and axis["labelOverlap"] is False for axis in shares)


@pytest.mark.parametrize("kind", ["hazard", "survival", "summary"])
@pytest.mark.first_case
def test_charts_say_how_their_intervals_are_clustered(make: Any, kind: str) -> None:
    assert "95 % intervals clustered by developer" in words(spec(make(kind, PAIR)))


def test_groups_of_unlike_clustering_are_told_apart(make: Any) -> None:
    result = make("survival", PAIR)
    by_session = dataclasses.replace(
        result.groups[1],
        curve=tuple(
            dataclasses.replace(p, S=dataclasses.replace(p.S, method="session influence"))
            for p in result.groups[1].curve
        ),
    )
    text = words(spec(SurvivalResult(result.head, (result.groups[0], by_session))))
    assert "bands: 95 % intervals clustered by developer (claude), session (codex)" in text


@pytest.mark.full
def test_the_caption_says_which_fit_is_drawn(make: Any, group: Any) -> None:
    assert "dashed: the fitted power law on its range, with deadlines cut; grey" in words(spec(make("hazard", PAIR)))
    base = make("hazard", [])
    shown = group({"provider": "a"})
    bare = dataclasses.replace(shown, deadlines_cut=dataclasses.replace(shown.deadlines_cut, windows=(), bins=()))
    assert "on its range; grey" in words(spec(HazardResult(base.head, (bare,))))
    assert "cut where they are known" in words(spec(HazardResult(base.head, (bare, shown))))


@pytest.mark.full
def test_no_legend_lies_on_the_data(make: Any) -> None:
    for kind in KINDS:
        orients = {node["legend"].get("orient", "right") for node in walk(spec(make(kind, PAIR))) if node.get("legend")}
        assert orients <= {"top", "right", "bottom"}, kind


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (0.004, 2.0, [0.01, 0.1, 1.0]),
        (0.04, 2.0, [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]),
        (0.35, 0.95, [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
    ],
)
def test_marks_of_the_hazard_axis_reach_its_top(low: float, high: float, marks: list[float]) -> None:
    assert _marks_between(low, high) == marks


def test_one_of_a_kind_is_singular(make: Any, group: Any) -> None:
    base = make("hazard", [], excluded={"copies": 1, "human": 1, "background": 1})
    lone = dataclasses.replace(group({"provider": "a"}), n=1, n_sessions=1, n_developers=1)
    made = spec(HazardResult(base.head, (lone,)))
    assert "1 row, 1 session, 1 developer" in str(made)
    assert "left out: 1 copy, 1 human wait, 1 background launch" in words(made)
