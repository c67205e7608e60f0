"""Levers: which runs are compared, the article's rule at its borders, scaling, and the line between help and harm."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.conftest import REPOSITORY
from tests.simulate.verdicts.frames import noisy, runs, table
from tracestat.results.verdicts import ArticleFigure, LeverEffect, LeversVerdict
from tracestat.simulate.verdicts import article, verdict_of
from tracestat.simulate.verdicts.article import ratio_of
from tracestat.simulate.verdicts.seeds import place_of


def compared(rows: list[dict[str, Any]]) -> LeversVerdict:
    found = verdict_of("levers", table(rows), draws=100)
    assert isinstance(found, LeversVerdict)
    return found


def setting(wait: float, *, n: int = 6, **told: Any) -> list[dict[str, Any]]:
    return list(runs("P1", noisy(n, wait), **told))


def effect(verdict: LeversVerdict, lever: str) -> LeverEffect:
    (found,) = (item for item in verdict.effects if item.lever == lever)
    return found


def test_each_lever_is_found_and_compared_with_all_else_the_same() -> None:
    rows = [
        *setting(8.0),
        *setting(4.0, host_gb=40.0),
        *setting(6.0, store_path="native"),
        *setting(10.0, prefill_threshold=512),
    ]
    verdict = compared(rows)
    assert {(e.lever, e.off, e.on) for e in verdict.effects} == {
        ("tier", "1.9x", "3.7x"),
        ("native", "lmcache", "native"),
        ("cap", "off", "512"),
    }
    for lever, ratio in (("tier", 0.5), ("native", 0.75), ("cap", 1.25)):
        found = effect(verdict, lever)
        assert found.sessions == 32
        assert found.seeds == 6
        assert found.ratios["tail_mean"].median.value == pytest.approx(ratio)
        assert found.ratios["p95"].quantiles["0.9"] == pytest.approx(ratio)


def test_the_rule_at_its_borders() -> None:
    # the article's -44 % is 0.56; 0.71 lies 0.15 off
    def tier(ratio: float) -> Any:
        (check,) = effect(compared([*setting(8.0), *setting(8.0 * ratio, host_gb=40.0)]), "tier").checks
        return check

    near = tier(0.70)
    assert (near.ratio, near.in_band, near.direction, near.passes) == (0.56, True, True, True)
    assert near.seeds_in_band == 1.0
    far = tier(0.75)
    assert (far.in_band, far.direction, far.passes) == (False, True, False)
    # an effect of less than 15 % says nothing of the side
    assert tier(0.9).direction is None
    assert tier(1.3).direction is False
    assert (far.quantile, far.inside) == (0.0, False)


def test_place_in_the_seeds() -> None:
    rows = [*runs("P1", [1.0] * 5), *runs("P1", [0.4, 0.5, 0.6, 0.7, 0.8], host_gb=40.0)]
    (check,) = effect(compared(rows), "tier").checks
    assert check.quantile == pytest.approx(0.4)
    assert check.inside is True
    assert check.seeds_in_band == pytest.approx(3 / 5)  # 0.5, 0.6 and 0.7
    assert place_of(0.5, np.array([np.nan])) == (None, None)


def test_other_tiers_have_no_published_value() -> None:
    verdict = compared([*setting(8.0, host_gb=8.0), *setting(4.0)])
    assert effect(verdict, "tier").checks == ()
    assert (verdict.checks, verdict.passed) == (0, 0)


def test_the_absolute_time_is_that_of_16_sessions() -> None:
    (check,) = compared([*runs("P1", [9.0, 10.0, 11.0], load=2.0), *setting(20.0)]).absolute
    assert (check.ours.value, check.inside, check.passes) == (10.0, True, True)
    (far,) = compared(list(runs("P1", [8.0] * 3, load=2.0))).absolute
    assert far.passes is False
    assert far.quantile == 1.0


def test_scaling_leaves_ratios_alone_or_not() -> None:
    def scaled(ratio: float) -> Any:
        rows = [
            *setting(8.0),
            *setting(4.0, host_gb=40.0),
            *setting(8.0, host_gb=4.0, shrink=5.0),
            *setting(8.0 * ratio, host_gb=8.0, shrink=5.0),
        ]
        (found,) = compared(rows).scaling
        return found

    same = scaled(0.5)
    assert same.difference["tail_mean"].value == pytest.approx(0.0)
    assert scaled(0.7).difference["tail_mean"].value == pytest.approx(0.2)
    assert scaled(0.7).differs == {"tail_mean": True, "p95": True, "p50": True}
    # without the full scale there is nothing to say
    assert compared([*setting(8.0, host_gb=4.0, shrink=5.0), *setting(4.0, host_gb=8.0, shrink=5.0)]).scaling == ()


def test_cap_by_pool_and_where_help_turns_to_harm() -> None:
    rows = []
    for factor, ratio in ((0.5, 1.2), (1.0, 1.1), (2.0, 0.9)):
        change = "" if factor == 1.0 else f"pool_tokens={factor}"
        rows += [*setting(8.0, change=change), *setting(8.0 * ratio, change=change, prefill_threshold=512)]
    verdict = compared(rows)
    (drawn,) = verdict.maps
    assert [(cell.threshold, cell.pool_factor) for cell in drawn.cells] == [(512, 0.5), (512, 1.0), (512, 2.0)]
    assert drawn.cells[0].ratio.value == pytest.approx(1.2)
    assert drawn.turns["512"] == (pytest.approx(math.sqrt(2.0)),)
    # levers themselves are those of the machine as it is
    assert [e.lever for e in verdict.effects] == ["cap"]


def test_other_changes_are_no_part_of_the_map() -> None:
    rows = [r for t in (0, 512) for c in ("", "client=1.1") for r in setting(8.0, prefill_threshold=t, change=c)]
    assert compared(rows).maps == ()


def test_seeds_of_one_side_only_are_left_out() -> None:
    found = effect(compared([*setting(8.0, n=6), *setting(4.0, n=5, host_gb=40.0)]), "tier")
    assert (found.seeds, found.left_out) == (5, 1)


def test_no_pairs_no_runs_of_p1_no_waits() -> None:
    assert compared(setting(8.0)).effects == ()
    assert compared(list(runs("P2", [1.0]))).effects == ()
    found = effect(compared([*runs("P1", [None] * 3), *runs("P1", [None] * 3, host_gb=40.0)]), "tier")
    assert found.ratios["p95"].median.value is None
    assert [check.passes for check in found.checks] == [None]


def test_published_figures_are_those_of_the_file() -> None:
    told = {
        f["id"]: f for f in json.loads((REPOSITORY / "data" / "published.json").read_text(encoding="utf-8"))["figures"]
    }
    figures: list[ArticleFigure] = [
        *article.SUCCESS,
        *(figure for some in article.TOTALS.values() for figure in some),
        *(figure for some in article.LEVERS.values() for _, figure in some),
        article.P99_AT_16,
        *article.CAPTION_OF_CHECK,
        *article.ETA,
        *article.QUESTIONS,
    ]
    for figure in figures:
        assert (figure.printed, figure.value) == (told[figure.id]["printed"], told[figure.id]["value"])
    # a change of -71 % is a ratio of 0.29; what is printed as a ratio is one
    for some in article.LEVERS.values():
        for _, figure in some:
            change = told[figure.id]["unit"] == "fraction"
            assert ratio_of(figure) == pytest.approx(1 + figure.value if change else figure.value)
