"""Tables and chart of published figures beside ours, from results made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.charts.conftest import HOSTILE, STEERING, head
from tracestat.charts import draw
from tracestat.charts.published_words import measured, ours_words, printed_words, range_words
from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.results import Interval, ReproducedFigure, ReproduceResult


def row(name: str, **other: Any) -> ReproducedFigure:
    fields: dict[str, Any] = {
        "id": name,
        "of": name,
        "origin": "article",
        "theme": "law",
        "statement": "mean remaining time after 25 s",
        "provider": "claude",
        "corpus": "v0.0.2",
        "release": "v0.0.2",
        "unit": "s",
        "printed": "113",
        "published": 113.0,
        "published_low": 112.5,
        "published_high": 113.5,
        "source": "article, section 1",
        "definition": "Claude; pauses within 3,600 s",
        "ours": Interval(193.0, 136.0, 274.0, 0.95, "developer CV3", (150.0, 240.0), (136.0, 274.0)),
        "range": (7.5, 273.9),
        "nearest_definition": "both providers; pauses",
        "nearest": 153.0,
        "by_definition": (("Claude; pauses within 3,600 s", 193.0), ("both providers; pauses", 153.0)),
        "verdict": "higher",
        "why": "",
        "note": "1,206 rows last longer",
        "command": "tracestat residual t.duckdb --elapsed 25 --by provider --json",
        "at": "groups[provider=claude]/x",
        "times": 1.0,
    }
    return ReproducedFigure(**(fields | other))


def silent(name: str, **other: Any) -> ReproducedFigure:
    nothing = {"definition": None, "range": None, "nearest_definition": None, "nearest": None, "by_definition": ()}
    return row(name, ours=Interval(None), verdict="cannot tell", note="", **(nothing | other))


ROWS = (
    row("article.mrl.25"),
    row(
        "article.lt1s",
        theme="durations",
        statement="share of pauses that end within 1 s",
        unit="fraction",
        printed="70 %",
        published=0.7,
        published_low=0.695,
        published_high=0.705,
        ours=Interval(0.6494, 0.5626, 0.735, 0.95, "developer CV3"),
        range=(0.53, 0.6756),
        nearest=0.6756,
        verdict="overlaps",
    ),
    row(
        "article.eta",
        theme="memoryfulness",
        unit="coefficient",
        printed="-0.35",
        published=-0.35,
        ours=Interval(0.1),
        range=(-0.3, 0.1),
        nearest=-0.3,
    ),
    row(
        "article.classes",
        theme="counts",
        unit="fraction",
        printed="<3 %",
        published=0.03,
        published_low=None,
        published_high=0.03,
        ours=Interval(0.05),
        range=(0.04, 0.05),
        nearest=0.04,
    ),
    silent("article.deadlines.codex.10s", theme="deadlines", definition="Codex; scan", why="no spike at 10 s"),
    silent("article.batch1.1K.cold", theme="engine", why="measured on a serving engine: no trace holds it"),
)


def result(*rows: ReproducedFigure, **other: Any) -> ReproduceResult:
    fields: dict[str, Any] = {"release": None, "rows": rows, "not_shown": {"tracelab": 359}}
    return ReproduceResult(head("reproduce", unit=None, clock=None, notes=("no known release",)), **(fields | other))


def test_numbers_are_written_in_the_published_unit() -> None:
    assert measured(0.0049, "fraction") == "0.49 %"
    assert [measured(x, "s") for x in (0.0013, 0.25, 5.0, 30.0, 1234.5)] == [
        "0.001 s",
        "0.25 s",
        "5.00 s",
        "30.0 s",
        "1,234 s",
    ]
    assert [measured(x, "developers") for x in (71.0, 37.5)] == ["71", "37.5"]
    assert measured(-0.7412, "slope") == "-0.74"
    assert ours_words(Interval(0.034, 7e-18, 0.093), "fraction") == "3.4 % [0, 9.3]"
    assert ours_words(Interval(None), "s") == "-"
    assert ours_words(Interval(2.0, None, 3.0), "h") == "2.00 h [-, 3.00]"
    assert range_words(None, "s") == "-"


def test_a_published_number_keeps_its_print_and_gets_its_unit() -> None:
    assert printed_words(row("a")) == "113 s"
    assert printed_words(row("a", printed="1.4 min")) == "1.4 min"
    assert printed_words(row("a", printed="~600±10")) == "~600 s"
    assert printed_words(row("a", printed="71", unit="developers")) == "71"


def test_each_row_has_its_verdict_and_its_command() -> None:
    text = to_text(tables_of(result(*ROWS)))
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for said in (
        "193 s [136, 274]",
        "7.50 to 274 s",
        "both providers; pauses",
        "1,206 rows last longer",
        "article.mrl.25",
        "tracestat residual t.duckdb --elapsed 25 --by provider --json",
        "no spike at 10 s",
        "1 number, measured on a serving engine: no trace holds it: article.batch1.1K.cold",
        "359 of TraceLab (--source tracelab)",
        "6 figures: 1 overlaps, 3 higher, 2 cannot tell",
        "no known release",
    ):
        assert said in flat, said


def test_rows_that_share_a_command_share_its_line() -> None:
    text = to_text(tables_of(result(row("article.a"), row("article.b"))))
    assert text.count("tracestat residual") == 1
    assert "#1 article.a, #2 article.b" in text


def test_top_says_what_it_cuts() -> None:
    text = to_text(tables_of(result(*ROWS), top=2))
    assert "2 of 5 rows" in text


def test_hostile_names_stay_text() -> None:
    strange = row("article.mrl.25", command=f"tracestat residual {STEERING} {HOSTILE}", note=HOSTILE)
    assert "\x1b" not in to_text(tables_of(result(strange)))
    assert "<script>" not in to_html(tables_of(result(strange)))


def drawn_rows(part: Any) -> Iterator[dict[str, Any]]:
    """Give the rows of data in a drawing, wherever it keeps them."""
    if isinstance(part, dict):
        if {"id", "verdict"} <= part.keys():
            yield part
        for inner in part.values():
            yield from drawn_rows(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from drawn_rows(inner)


def test_the_chart_draws_ratios_and_says_what_it_leaves_out() -> None:
    spec: Any = draw(result(*ROWS)).to_dict()
    words = " ".join([*spec["title"]["text"], *spec["title"]["subtitle"]]).replace("\u00a0", " ")
    assert "1 figure without a ratio" in words  # of another sign
    assert "2 figures without a number of ours" in words
    data = list(drawn_rows(spec))
    ratios = {item["id"]: item["x"] for item in data if "id" in item}
    assert ratios["article.mrl.25"] == pytest.approx(193 / 113)
    assert ratios["article.lt1s"] == pytest.approx(0.6494 / 0.7)
    bound = next(item for item in data if item.get("id") == "article.classes")
    # "below 3 %" reaches from nothing to the number itself
    assert bound["above"] == pytest.approx(1)
    assert bound["below"] < 0.5


def test_a_chart_without_ratios_says_so() -> None:
    spec: Any = draw(result(silent("article.batch1.1K.cold", theme="engine", why="engine"))).to_dict()
    assert "no figure has a ratio to draw" in str(spec)


def test_synthetic_is_marked() -> None:
    made = result(*ROWS)
    made = replace(made, head=replace(made.head, synthetic=True))
    assert to_text(tables_of(made)).startswith("SYNTHETIC")
    assert "SYNTHETIC" in str(draw(made).to_dict()["title"])
