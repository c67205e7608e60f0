"""The chart and tables of ``fit`` for results made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import tracestat
from tests.charts.conftest import HOSTILE, head
from tracestat.charts import draw
from tracestat.charts.tables import tables_of, to_text
from tracestat.results import NOT_AVAILABLE, FitGroup, FitResult, Interval, LawBin, LawFit, QuantilePair


def interval(value: float) -> Interval:
    low, high = value / 1.5, value * 1.5
    return Interval(value, low, high, method="developer CV3", session=(low, high), developer=(low, high))


def law(family: str, *, best: bool = False, holds: bool = False, **names: float) -> LawFit:
    edges = (0.0055, 0.0095, 0.0185, 0.0355, 0.0675, 0.1285)
    bins = [
        LawBin(lo=a, hi=b, events=50, expected=40.0, ratio=Interval(1.25, 0.9, 1.6), inside=True)
        for a, b in pairwise(edges)
    ]
    return LawFit(
        family=family,
        parameters={name: interval(value) for name, value in names.items()},
        aic=100.0,
        aic_clustered=120.0,
        behind=Interval(0.0) if best else interval(30.0),
        best=best,
        range=(0.0055, 0.1285) if holds else None,
        holds=holds,
        within_factor=1.6 if holds else None,
        worst=1.25,
        worst_at=(0.0055, 0.0095),
        bins=tuple(bins),
    )


def group(label: str, **other: Any) -> FitGroup:
    laws = (
        law("weibull", scale_seconds=2.0, shape=0.5),
        law("lognormal", best=True, holds=True, median_seconds=1.0, sigma=2.0),
        law("piecewise", holds=True),
    )
    pairs = [QuantilePair(q=q, observed=interval(q), fitted={"weibull": 2 * q, "lognormal": None}) for q in (0.1, 0.9)]
    fields: dict[str, Any] = {
        "key": {"provider": label},
        "n": 300,
        "n_events": 290,
        "n_censored": 10,
        "n_sessions": 40,
        "n_developers": 25,
        "total_seconds": 1_000.0,
        "laws": laws,
        "above": 0.0055,
        "n_fitted": 250,
        "tested": (0.0055, 0.1285),
        "clusters": "developer",
        "quantiles": tuple(pairs),
    }
    return FitGroup(**{**fields, **other})


def result(*groups: FitGroup, synthetic: bool = False) -> FitResult:
    return FitResult(head("fit", synthetic=synthetic), groups)


def test_the_best_law_and_both_intervals_are_shown() -> None:
    text = to_text(tables_of(result(group("claude"))))
    assert "lognormal  best" in text
    assert "[1.3 s, 3.0 s]   [1.3 s, 3.0 s]" in text
    assert "5.5 ms to 0.13 s" in text
    assert "x 1.6" in text


def test_what_an_interval_that_holds_0_means_is_said_where_there_is_one() -> None:
    words = "where the interval holds 0, the data do not tell that law from the best"
    plain = [replace(one, behind=Interval(one.behind.value)) for one in group("x").laws]
    for groups in (("claude",), tuple("abcd")):
        with_intervals = to_text(tables_of(result(*map(group, groups))))
        without = to_text(tables_of(result(*(group(name, laws=tuple(plain)) for name in groups))))
        assert words in " ".join(with_intervals.split())
        assert words not in " ".join(without.split())


def test_large_and_small_numbers_are_written_out() -> None:
    wild = replace(
        law("weibull", shape=0.0004, scale_seconds=1.0), within_factor=123.0, range=(0.0055, 0.1285), worst=31.0
    )
    wild = replace(wild, parameters={"shape": Interval(105.0, session=(0.0004, 4477.9), developer=(2.0, 5238983.9))})
    text = to_text(tables_of(result(group("claude", laws=(wild, *group("x").laws[1:])))))
    assert "x 123" in text
    assert "31 at 7.2 ms" in text
    assert "105  [4.00e-4, 4,478]  [2.000, 5.24e6]" in text
    overview = to_text(tables_of(result(*(group(name, laws=(replace(wild, best=True),)) for name in "abcd"))))
    assert "x 123" in overview
    # what has no column is not explained
    assert "worst:" in text
    assert "worst:" not in overview


def test_many_groups_say_which_law_is_next() -> None:
    text = to_text(tables_of(result(*(group(name) for name in "abcd"))))
    assert "The law that fits best" in text
    assert "30 [20, 45]" in text
    assert "--top 3" in text


def test_a_law_that_could_not_be_fitted_has_no_numbers() -> None:
    missing = replace(
        law("gengamma"),
        parameters={},
        aic=None,
        aic_clustered=None,
        behind=NOT_AVAILABLE,
        bins=(),
        worst=None,
        holds=None,
    )
    text = to_text(tables_of(result(group("claude", laws=(*group("x").laws[:2], missing, group("x").laws[2])))))
    line = next(line for line in text.splitlines() if line.startswith("generalised gamma"))
    assert line.split()[2:] == ["-", "-", "-", "-"]


@pytest.mark.parametrize("label", [HOSTILE, "claude"])
@pytest.mark.parametrize("synthetic", [True, False])
@pytest.mark.first_case
def test_the_chart_says_what_it_is_and_holds_no_tag(label: str, synthetic: bool) -> None:
    text = json.dumps(draw(result(group(label), synthetic=synthetic)).to_dict())
    assert "quantile of the law" in text
    assert "events seen / expected" in text
    assert ("SYNTHETIC" in text) == synthetic
    assert "<script" not in text


def test_without_a_law_the_chart_says_why() -> None:
    empty = group("claude", laws=(), quantiles=(), notes=("no law: 3 events above 0.0055 s, 100 needed",))
    assert "no law to draw" in json.dumps(draw(result(empty)).to_dict())
    assert "no law to draw" in json.dumps(draw(result()).to_dict())


def test_a_frame_keeps_groups_without_a_law_and_columns_without_a_group() -> None:
    full = result(group("claude"), group("codex", laws=(), n_fitted=3)).to_frame()
    (row,) = full.filter(full["provider"] == "codex").to_dicts()
    assert (row["family"], row["value"], row["n_fitted"]) == (None, None, 3)
    none = result().to_frame()
    assert none.height == 0
    assert none.columns == full.columns
    alone = result(group("codex", laws=())).to_frame()
    assert alone.schema == full.schema


def test_html_has_the_same_tables() -> None:
    made = result(group("claude"))
    assert "Where laws hold" in made._repr_html_()
    assert "Where laws hold" in repr(made)
    assert tracestat.fit_laws.__doc__


def test_a_ratio_beyond_the_panel_is_not_drawn_on_its_border() -> None:
    far = law("weibull", shape=0.5)
    far = replace(far, bins=(replace(far.bins[0], ratio=Interval(0.001, 0.0005, 0.002)), *far.bins[1:]))
    panel = draw(result(group("claude", laws=(far, *group("x").laws[1:])))).to_dict()["vconcat"][0]["hconcat"][1]
    (ratios,) = {
        json.dumps(layer["encoding"]["y"].get("scale")) for layer in panel["layer"] if "color" in layer["encoding"]
    }
    assert json.loads(ratios)["domain"] == [0.1, 1.6]
    assert "clamp" not in ratios
    assert all(layer["mark"]["clip"] for layer in panel["layer"] if "color" in layer["encoding"])
