"""The article's figures: a drawing shows what its rows hold, says how it was made, and survives any row."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from tests.charts.conftest import head, interval
from tests.charts.test_draw import data, walk, words
from tracestat.charts import save
from tracestat.charts.figures import OURS, THEIRS, FigureRow, Redrawn, draw_shares, figure_frame
from tracestat.charts.figures_deadlines import AROUND, ATOM, ON_LIMIT, PLACE, SHARE, SMOOTH, draw_deadlines
from tracestat.charts.figures_hazard import FIT, HAZARD, SLOPE, draw_hazards
from tracestat.charts.figures_residual import MEAN, MEAN_AT, MEDIAN, MEDIAN_AT, draw_residual_life
from tracestat.results import NOT_AVAILABLE, Interval

Draw = Callable[[Redrawn], alt.TopLevelMixin]
LINES = ("pause, wall clock, tool rows; left out: 3 copies", "trace t.jsonl: 9 rounds, 12 calls")


def share(quantity: str, value: float | None, published: float | None, **more: Any) -> FigureRow:
    ours = NOT_AVAILABLE if value is None else interval(value, 0.05)
    printed = "" if published is None else f"{100 * published:g} %"
    fields = {"panel": "", "definition": "pauses, wall clock", "published": published, "printed": printed}
    return FigureRow(quantity=quantity, unit="fraction", ours=ours, **fields | more)


def shares_rows() -> list[FigureRow]:
    return [
        share("within 1 s", 0.65, 0.7, n=120),
        share("over a minute", 0.03, 0.049),
        share("approvals", None, 0.37, note="no rows of Claude"),
    ]


def residual_rows() -> list[FigureRow]:
    def row(quantity: str, at: float, value: float, **more: Any) -> FigureRow:
        ours = interval(value, 0.2, ratio=True)
        return FigureRow(panel="Claude", quantity=quantity, unit="s", at=at, ours=ours, n=90, **more)

    curve = [row(q, t, 20 * t**0.5 * k) for t in (0.0, 0.1, 1.0, 10.0, 100.0) for q, k in ((MEAN, 1), (MEDIAN, 0.2))]
    marks = [
        row(MEAN_AT, 4.0, 60.0, published=54.0, printed="54"),
        row(MEDIAN_AT, 4.0, 5.0),
        row(MEAN_AT, 146.0, 500.0, published=361.0, printed="361", note="12 sessions at risk, 20 needed"),
    ]
    return [*curve, *marks]


def class_rows(name: str) -> list[FigureRow]:
    slope = FigureRow(
        panel=name, quantity=SLOPE, unit="slope", ours=interval(-0.65, 0.1), published_low=-0.74,
        published_high=-0.56, n=900, note="no rise above 33 % (2.3 -> 4.3 s)",
    )  # fmt: skip
    bins = [
        FigureRow(
            panel=name, quantity=HAZARD, unit="per second", at=lo * 1.4, at_low=lo, at_high=2 * lo,
            ours=interval(0.4 * lo**-0.65, 0.3, ratio=True), n=90,
        )
        for lo in (0.2, 0.4, 0.8, 1.6)
    ]  # fmt: skip
    law = [
        FigureRow(
            panel=name, quantity=FIT, unit="per second", at=t, ours=Interval(0.4 * t**-0.65),
            published_low=0.4 * t**-0.7, published_high=0.4 * t**-0.6,
        )
        for t in (0.2, 0.8, 3.2)
    ]  # fmt: skip
    missing = FigureRow(panel=f"{name}2", quantity=SLOPE, unit="slope", n=3, note="no slope: 3 events, 100 needed")
    return [slope, *bins, *law, missing]


def deadline_rows(name: str = "Codex") -> list[FigureRow]:
    bins = []
    for lo, hi, value, note in (
        (0.5, 9.0, 0.2, ""),
        (9.0, 29.9, 0.02, ""),
        (29.9, 30.6, 5.0, ATOM),
        (30.6, 90, 0.01, ""),
    ):
        row = FigureRow(
            panel=name, quantity=AROUND, unit="per second", at=math.sqrt(lo * hi), at_low=lo, at_high=hi,
            ours=interval(value, 0.4, ratio=True), n=40, note=note,
        )  # fmt: skip
        smooth = FigureRow(panel=name, quantity=SMOOTH, unit="per second", at=row.at, ours=Interval(0.1 / lo))
        bins += [row, smooth]
    limit = FigureRow(
        panel=name, quantity=ON_LIMIT, unit="fraction", at=30.0, at_low=29.97, at_high=30.3,
        ours=interval(0.08, 0.02), n=298, note="30 s: 298 ends, 0.8 expected, p < 0.001 (Holm)",
    )  # fmt: skip
    place = FigureRow(panel=name, quantity=PLACE, unit="s", ours=Interval(30.05), published=30.0, printed="30")
    return [*bins, limit, place, share(SHARE, 0.11, 0.3, panel="Codex")]


def figure(rows: list[FigureRow], **more: Any) -> Redrawn:
    fields: dict[str, Any] = {"name": "any", "title": "A figure", "command": "tracestat any t.jsonl", "lines": LINES}
    return Redrawn(head=head("figures", **more), rows=tuple(rows), **fields)


KINDS: dict[str, tuple[Draw, Callable[[], list[FigureRow]]]] = {
    "shares": (draw_shares, shares_rows),
    "residual life": (draw_residual_life, residual_rows),
    "hazards": (draw_hazards, lambda: class_rows("shell")),
    "deadlines": (draw_deadlines, deadline_rows),
}
each_kind = pytest.mark.parametrize("kind", list(KINDS))


def drawn(kind: str, rows: list[FigureRow], **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = KINDS[kind][0](figure(rows, **more)).to_dict()
    return made


@cache
def usual(kind: str) -> dict[str, Any]:
    """Give the chart of the usual rows, which is made once: Altair checks each against its schema."""
    return drawn(kind, KINDS[kind][1]())


@each_kind
def test_caption_says_how_it_was_made_and_how_to_print_the_numbers(kind: str) -> None:
    text = words(usual(kind))
    for part in ("A figure", *LINES, "numbers: tracestat any t.jsonl", "95 % intervals clustered by developer"):
        assert part in text


@each_kind
def test_synthetic_says_so(kind: str) -> None:
    assert words(drawn(kind, KINDS[kind][1](), synthetic=True)).startswith("SYNTHETIC: A figure")
    assert "SYNTHETIC" not in json.dumps(usual(kind))


@each_kind
def test_no_rows_are_a_chart_that_says_so(kind: str, tmp_path: Path) -> None:
    save(KINDS[kind][0](figure([])), tmp_path / "a.svg")
    assert "to draw: no" in (tmp_path / "a.svg").read_text(encoding="utf-8").replace("\u00a0", " ")


@each_kind
def test_every_number_of_ours_is_drawn_and_finite(kind: str) -> None:
    made = usual(kind)
    numbers = {v for row in data(made) for v in row.values() if isinstance(v, float | int) and not isinstance(v, bool)}
    assert all(math.isfinite(v) for v in numbers)
    shown = [r for r in KINDS[kind][1]() if r.quantity not in (MEDIAN_AT, PLACE) and r.at != 0]
    for row in shown:
        if row.ours.value is not None and row.quantity != ON_LIMIT:
            assert any(v == pytest.approx(row.ours.value) for v in numbers), row


@each_kind
def test_published_numbers_stand_in_the_words_they_were_printed_in(kind: str) -> None:
    texts = {v for row in data(usual(kind)) for v in row.values() if isinstance(v, str)}
    for row in KINDS[kind][1]():
        if row.printed and row.quantity != PLACE:
            assert texts & {row.printed, f"{row.printed} s"}, row


@each_kind
def test_rows_without_ours_do_not_break_a_drawing(kind: str, tmp_path: Path) -> None:
    draw, make = KINDS[kind]
    rows = [
        FigureRow(**{name: getattr(row, name) for name in row.__slots__} | {"ours": NOT_AVAILABLE, "note": "too few"})
        for row in make()
    ]
    save(draw(figure(rows)), tmp_path / "a.svg")
    assert "too few" in (tmp_path / "a.svg").read_text(encoding="utf-8").replace("\u00a0", " ")


@pytest.mark.parametrize("kind", ["shares", "hazards", "deadlines"])
def test_hostile_names_are_drawn(kind: str, hostile: list[str], tmp_path: Path) -> None:
    rows = {
        "shares": lambda name: [share(name, 0.5, 0.4, definition=name)],
        "hazards": class_rows,
        "deadlines": deadline_rows,
    }[kind]
    made = [row for name in hostile[::3] for row in rows(name)]
    save(KINDS[kind][0](figure(made)), tmp_path / "a.svg")
    assert "<script" not in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_pair_of_bars_has_the_interval_at_ours_only() -> None:
    bars = [row for row in data(usual("shares")) if "who" in row]
    ours, theirs = ([row for row in bars if row["who"] == who] for who in (OURS, THEIRS))
    assert [(round(row["low"], 3), round(row["high"], 3)) for row in ours[:2]] == [(0.6, 0.7), (-0.02, 0.08)]
    assert ours[2]["share"] == "not available: no rows of Claude"
    assert [(row["y"], row["share"], row["low"]) for row in theirs] == [
        (0.7, "70 %", None), (0.049, "4.9 %", None), (0.37, "37 %", None)
    ]  # fmt: skip


def test_few_sessions_stand_in_brackets() -> None:
    texts = [row["text"] for row in data(usual("residual life")) if row.get("who") == OURS]
    assert texts == ["60 s [49, 73]", "(500 s [409, 611])"]


def test_both_clusterings_of_one_panel_are_told() -> None:
    rows = residual_rows()
    rows[0] = FigureRow(panel="Claude", quantity=MEAN, unit="s", at=1.0, ours=interval(3.0, 0.1, "session CV3"))
    assert "by developer, by session where fewer than 20 developers are left" in words(drawn("residual life", rows))


def test_slopes_stand_on_the_published_range() -> None:
    made = usual("hazards")
    bands = [row for row in data(made) if row.keys() == {"from", "to"}]
    assert bands == [{"from": -0.74, "to": -0.56}]
    slopes = {row["class"]: row["text"] for row in data(made) if "class" in row}
    assert slopes == {"shell": "-0.650 [-0.75, -0.55]", "shell2": "no slope: 3 events, 100 needed"}
    titles = [part for node in walk(made) for part in node.get("subtitle", []) if isinstance(part, str)]
    assert "no rise above 33 %" in " ".join(titles).replace("\u00a0", " ")


def test_an_atom_is_marked_and_its_limit_says_its_share() -> None:
    rows = data(usual("deadlines"))
    assert [row["y"] for row in rows if row.get("atom")] == [5.0]
    assert [row["text"] for row in rows if "top" in row] == ["30 s\n8.0 %\n[6.0, 10.0]"]


@each_kind
def test_frame_holds_every_row_as_it_is(kind: str) -> None:
    rows = KINDS[kind][1]()
    frame = figure_frame(figure(rows))
    assert frame.height == len(rows)
    for name, given in (
        ("ours", [row.ours.value for row in rows]),
        ("low", [row.ours.low for row in rows]),
        ("published", [row.published for row in rows]),
        ("n", [row.n for row in rows]),
        ("panel", [row.panel for row in rows]),
        ("synthetic", [False] * len(rows)),
    ):
        assert frame[name].to_list() == given, name
    assert figure_frame(figure([])).schema == frame.schema
    numbers = frame.select(pl.col(pl.Float64).is_nan().any())
    assert not any(numbers.row(0))
