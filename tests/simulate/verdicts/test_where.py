"""Where the oracle pays: gains, the border between places, shares inside it, and machines."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.simulate.verdicts.frames import noisy, runs, table
from tracestat.hardware import DEFAULT_HARDWARE, load_hardware
from tracestat.results.verdicts import WhereVerdict
from tracestat.simulate.verdicts import verdict_of
from tracestat.simulate.verdicts.where import crossings, reload_ratio_of

POOL_GB = 81_408 * 131_072 / 1e9
RATIOS = (0.01, 0.1, 1.0)


def place(
    reload: float | None, tier: float, gain: float, *, n: int = 5, share: float = 0.5, **told: Any
) -> list[dict[str, Any]]:
    base = noisy(n, 2.0)
    fixed = {"reload_ratio": reload, "host_gb": tier * POOL_GB, **told}
    return [
        *runs("P1", base, **fixed),
        *runs("P5-B", [(1 - gain) * wait for wait in base], **fixed),
        *runs("P3", [(1 - share * gain) * wait for wait in base], **fixed),
    ]


def mapped(rows: list[dict[str, Any]], **other: Any) -> WhereVerdict:
    found = verdict_of("where", table(rows), draws=100, **other)
    assert isinstance(found, WhereVerdict)
    return found


def test_gain_border_and_share() -> None:
    rows = [r for x, gain in zip(RATIOS, (0.0, 0.2, 0.4), strict=True) for r in place(x, 2.0, gain)]
    rows += [r for x, gain in zip(RATIOS, (0.3, 0.2, 0.05), strict=True) for r in place(x, 1.0, gain)]
    (drawn,) = mapped(rows).maps
    assert drawn.key == {"hardware": DEFAULT_HARDWARE, "load": 4.0}
    gains = {(cell.times_pool, cell.reload_ratio): cell.gain for cell in drawn.cells}
    assert gains[2.0, 1.0].value == pytest.approx(0.4)
    assert gains[2.0, 1.0].low == pytest.approx(0.4)
    assert [cell.inside for cell in drawn.cells] == [True, True, False, False, True, True]
    assert (drawn.n_inside, drawn.n_stable_inside, drawn.n_known) == (4, 4, 6)
    # halfway between gains of 0 and 0.2, on the logarithm
    upper = [point for point in drawn.border if point.times_pool == 2.0]
    assert [(round(point.reload_ratio, 4), point.above) for point in upper] == [(round(math.sqrt(0.001), 4), "right")]
    (lower,) = (point for point in drawn.border if point.times_pool == 1.0)
    assert lower.above == "left"
    (inside,) = drawn.inside
    assert (inside.policy, inside.places) == ("P3", 4)
    assert inside.captured.share.value == pytest.approx(0.5)


def test_places_inside_weigh_the_same_whatever_their_waits() -> None:
    rows = [
        *place(0.1, 2.0, 0.4, share=1.0),
        *(r | {"post_tool_p99": 100 * r["post_tool_p99"]} for r in place(1.0, 2.0, 0.4, share=0.0)),
    ]
    (inside,) = mapped(rows).maps[0].inside
    assert inside.captured.share.value == pytest.approx(0.5)


def test_unstable_places_are_shown_and_have_no_part_in_the_share() -> None:
    rows = [*place(0.1, 2.0, 0.4, share=0.5), *place(1.0, 2.0, 0.4, share=0.1, waiting_ratio=4.0)]
    (drawn,) = mapped(rows).maps
    assert (drawn.n_inside, drawn.n_stable_inside) == (2, 1)
    assert [item.places for item in drawn.inside] == [1]
    assert drawn.inside[0].captured.share.value == pytest.approx(0.5)


def test_without_a_tier_all_prices_are_one_place() -> None:
    rows = [r for x in RATIOS for r in place(x, 0.0, 0.2)] + place(0.1, 1.0, 0.0)
    (drawn,) = mapped(rows).maps
    assert [(cell.times_pool, cell.reload_ratio) for cell in drawn.cells] == [(0.0, None), (1.0, 0.1)]
    assert drawn.border == ()


def test_runs_at_the_price_of_the_machine_have_its_place() -> None:
    (drawn,) = mapped(place(None, 1.0, 0.0)).maps
    assert drawn.cells[0].reload_ratio == pytest.approx(reload_ratio_of(load_hardware()))


def test_machines_of_the_table_and_the_users_own_are_marked() -> None:
    card = "h100like-llama3.1-8b-fp8-samepool"
    mine = replace(load_hardware(), id="mine")
    found = mapped(place(0.1, 1.0, 0.0) + place(0.1, 1.0, 0.0, hardware=card), machines=[mine])
    assert [(point.name, point.yours) for point in found.machines] == [
        ("mine", True),
        (card, False),
        (DEFAULT_HARDWARE, False),
    ]
    assert [round(1 / point.reload_ratio) for point in found.machines] == [19, 13, 19]
    assert len(found.maps) == 2


def test_a_machine_that_is_not_there_is_said() -> None:
    found = mapped(place(0.1, 1.0, 0.0, hardware="no-such-card"))
    assert found.machines == ()
    assert any(line.startswith("hardware no-such-card is not marked on the map") for line in found.remarks)


def test_a_place_without_the_oracle_has_a_reason() -> None:
    found = mapped([r for r in place(0.1, 1.0, 0.2) if r["policy"] != "P5-B"])
    (cell,) = found.maps[0].cells
    assert (cell.gain.value, cell.inside, cell.reason) == (None, None, "no P5-B in this configuration")
    assert found.maps[0].n_known == 0
    assert mapped([]).maps == ()


def test_crossings() -> None:
    assert crossings([1.0, 2.0], [0.0, 0.05], 0.1) == []
    assert crossings([1.0, 4.0], [0.2, 0.0], 0.1) == [(pytest.approx(2.0), False)]
    assert crossings([1.0], [0.2], 0.1) == []
    # what is not known is passed over
    assert crossings([1.0, 2.0, 4.0], [0.0, None, 0.2], 0.1) == [(pytest.approx(2.0), True)]
