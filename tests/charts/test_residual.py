"""Tables and chart of residual life: they fit, they say what they are, and they draw only what the axes can hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.charts.conftest import HOSTILE, LONG, STEERING, UNICODE, head, interval
from tracestat.charts import draw
from tracestat.charts.table_residual import beside
from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.results import NOT_AVAILABLE, Interval, ResidualGroup, ResidualPoint, ResidualResult


def point(t: float, n: int = 5_000, **other: Any) -> ResidualPoint:
    usual: dict[str, Any] = {
        "elapsed": t,
        "n_at_risk": n,
        "sessions_at_risk": min(n, 400),
        "developers_at_risk": min(n, 26),
        "window": 3600.0,
        "mean": interval(30 + 3 * t, 0.4, ratio=True),
        "median": interval(1 + t, 0.2, ratio=True),
        "p90": interval(20 + 9 * t, 0.5, ratio=True),
        "beyond_window": 0.004,
        "unrestricted": 77.0,
        "censored_at_risk": 24,
        "hill": 0.94,
        "top_share": 0.56,
        "tail_flag": "mean_unstable",
        "few_sessions": n < 20,
    }
    return ResidualPoint(**usual | other)


NOTHING = point(
    600,
    7,
    mean=NOT_AVAILABLE,
    median=NOT_AVAILABLE,
    p90=NOT_AVAILABLE,
    beyond_window=None,
    unrestricted=None,
    hill=None,
    top_share=None,
    tail_flag=None,
)


def group(n: int = 21_826, **key: Any) -> ResidualGroup:
    curve = tuple(point(t, round(n / (1 + t))) for t in (0.01, 0.1, 1.0, 10.0, 100.0))
    return ResidualGroup(
        key=key or {"provider": "claude", "rows": "tool"},
        n=n,
        n_events=n - 26,
        n_censored=26,
        n_sessions=477,
        n_developers=26,
        total_seconds=3e5,
        window=3600.0,
        at=(point(0), point(25, 1_206), NOTHING),
        curve=curve,
        notes=("from 600 s on: fewer than 20 rows at risk (7)",),
    )


def result(*groups: ResidualGroup, **other: Any) -> ResidualResult:
    return ResidualResult(head("residual", **other), groups)


PAIR = (group(), group(21_965, provider="claude", rows="all"))


def text(made: ResidualResult, **looks: Any) -> str:
    return to_text(tables_of(made, **looks))


def values(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for part in made["datasets"].values() for row in part]


LABELS = ([LONG], [UNICODE], [STEERING], ["claude", "codex"], [f"tool_{i}" for i in range(30)])


@pytest.mark.parametrize("labels", LABELS)
def test_tables_fit_80_columns_whatever_the_labels(labels: list[str]) -> None:
    groups = [group(1_000 + i, provider=name, rows=rows) for i, name in enumerate(labels) for rows in ("tool", "all")]
    lines = text(result(*groups)).splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)


def test_numbers_stand_with_units_and_intervals() -> None:
    shown = text(result(*PAIR))
    assert "Remaining time after a wait of t, claude, tool rows" in shown
    assert "1,206" in shown
    assert "26 s [21, 32]" in shown
    assert "mean within 1 h" in shown
    assert "mean unstable" in shown
    assert "developer CV3" in shown


def test_few_sessions_stand_in_brackets_and_what_is_not_known_is_a_dash() -> None:
    few = dataclasses.replace(PAIR[0], at=(point(25, few_sessions=True), NOTHING))
    shown = text(result(few))
    assert "(26 s [21, 32])" in shown
    assert any(line.split() == ["600", "s", "7", "7", "-", "-", "-"] for line in shown.splitlines())


def test_a_quantile_beyond_the_end_keeps_its_lower_bound() -> None:
    out = dataclasses.replace(PAIR[0], at=(point(25, p90=Interval(None, 120.0, None, method="session CV3")),))
    assert "over 2.0 min" in text(result(out))


def test_all_rows_are_shown_once_where_they_are_the_tool_rows() -> None:
    same = dataclasses.replace(PAIR[0], key={"provider": "claude", "rows": "all"})
    shown, n = beside([same, PAIR[0]])
    assert ([g.key["rows"] for g in shown], n) == (["tool"], 1)
    assert "all rows are the tool rows in 1 group, shown once" in text(result(PAIR[0], same))
    assert [g.key["rows"] for g in beside(PAIR[::-1])[0]] == ["tool", "all"]


def test_an_empty_tool_group_gives_way_to_all_rows() -> None:
    empty = dataclasses.replace(PAIR[0], n=0, at=(), curve=())
    assert [g.key["rows"] for g in beside([empty, PAIR[1]])[0]] == ["all"]


def test_many_groups_are_one_table_per_quantity() -> None:
    shown = text(result(*(group(1_000 + i, tool=f"tool_{i}", rows="tool") for i in range(8))))
    for words in ("Median of the remaining", "90 % point of the remaining", "Mean within 1 h of the remaining"):
        assert words in shown
    assert "t = 25 s" in shown


def test_synthetic_is_in_every_title() -> None:
    for many in (PAIR, [group(1_000 + i, tool=f"tool_{i}", rows="tool") for i in range(8)]):
        tables = tables_of(result(*many, synthetic=True))
        assert all(table.title.startswith("SYNTHETIC: ") for table in tables)
    assert "SYNTHETIC" in str(draw(result(*PAIR, synthetic=True)).to_dict()["title"])


def test_html_is_escaped() -> None:
    html = to_html(tables_of(result(group(provider=HOSTILE, rows="tool"))))
    assert "<script>" not in html


def test_the_chart_says_what_it_is() -> None:
    made = draw(result(*PAIR)).to_dict()
    words = " ".join([*made["title"]["text"], *made["title"]["subtitle"]])
    words = words.replace("\u00a0", " ")
    for part in ("Residual life of pauses", "wall clock", "139 human waits", "by developer", "remaining = waited"):
        assert part in words


def test_the_chart_draws_the_tool_rows_with_bounds_above_zero() -> None:
    rows = [row for row in values(draw(result(*PAIR)).to_dict()) if "what" in row and "y" in row]
    assert {row["what"] for row in rows} == {"mean within 1 h", "median", "90 %"}
    assert len(rows) == 3 * len(PAIR[0].curve)
    for row in rows:
        assert row["x"] > 0
        assert 0 < row["low"] < row["y"] < row["high"]


def test_a_median_of_zero_has_no_place_on_a_log_axis() -> None:
    none = Interval(0.0, 0.0, 1.0, method="session CV3")
    made = result(dataclasses.replace(PAIR[0], curve=(point(1, median=none), point(2, median=none), point(4))))
    rows = [row for row in values(draw(made).to_dict()) if row.get("what") == "median"]
    assert [row["x"] for row in rows] == [4]


@pytest.mark.full
def test_the_largest_four_are_drawn() -> None:
    made = draw(result(*(group(1_000 + i, tool=f"tool_{i}", rows="tool") for i in range(9)))).to_dict()
    assert any("the 4 groups with most rows, of 9" in line.replace("\u00a0", " ") for line in made["title"]["subtitle"])
    assert sum(len(row["hconcat"]) for row in made["vconcat"]) == 4


@pytest.mark.parametrize("groups", [(), (dataclasses.replace(PAIR[0], curve=()),)])
def test_nothing_to_draw_says_so(groups: tuple[ResidualGroup, ...]) -> None:
    assert "no curve to draw" in str(draw(result(*groups)).to_dict())
    assert text(result(*groups))
