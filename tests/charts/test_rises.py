"""The words of the rise test: never "no rise" alone, never "falling" without its range."""

from __future__ import annotations

from typing import Any

import pytest

from tracestat.charts.rises import headline_sentence, variants, verdict
from tracestat.results import NOT_AVAILABLE, Contrast, DeadlinesCut, Interval, Rise, RiseFamily, RiseLimit, Slopes


def contrast(start: float, ratio: float, p: float | None) -> Contrast:
    return Contrast(start, 2 * start, Interval(ratio, 0.8 * ratio, 1.3 * ratio), p)


def rise(family: RiseFamily) -> Rise:
    return Rise(family, family, family, None)


NOTHING = RiseFamily(False, (), 0.33, 2.286, 4.335)


def test_not_available() -> None:
    assert verdict(RiseFamily(None)) == "-"


def test_the_limit_stands_with_its_place() -> None:
    assert verdict(NOTHING) == "no rise above 33 % (2.3 -> 4.3 s)"


def test_a_limit_below_zero_is_a_fall_at_every_step(group: Any) -> None:
    family = RiseFamily(False, (), -0.03, 1.2, 2.3)
    assert verdict(family) == "falls at every step, by at least 3.0 % (1.2 -> 2.3 s)"
    cut = DeadlinesCut(((4.975, 5.25),), Slopes(Interval(-0.7, -0.9, -0.5)), NOT_AVAILABLE, rise(family))
    text = headline_sentence(group({"provider": "claude"}, deadlines_cut=cut, rise=rise(NOTHING)))
    assert text.endswith("; it falls at every step, by at least 3.0 % (95 %, simultaneous).")


def test_a_step_that_cannot_be_tested_is_not_claimed() -> None:
    family = RiseFamily(False, (Contrast(1, 2, Interval(0.5), None, None),), -0.03)
    assert verdict(family) == "falls at every step that can be tested, by at least 3.0 %"


@pytest.mark.parametrize(("places", "says"), [((1.0,), "its only step"), ((1.0, 2.0, 4.0), "each of its 3 steps")])
def test_few_steps_are_counted(places: tuple[float, ...], says: str) -> None:
    falls = tuple(Contrast(place, 2 * place, Interval(0.5), None, -0.03) for place in places)
    assert verdict(RiseFamily(False, falls, -0.03)) == f"falls at {says}, by at least 3.0 %"


def limit(significant: bool | None, upper: float | None) -> RiseLimit:
    return RiseLimit(significant, upper, 2.286, 4.335, 30)


@pytest.mark.parametrize(
    ("family", "says"),
    [
        (
            RiseFamily(False, (), 2.15, 2.286, 4.335, "developer", limit(True, 0.8), limit(False, 2.15)),
            "no rise above 215 % (2.3 -> 4.3 s); by session it rises (limit 80 %, 2.3 -> 4.3 s), by developer not "
            "significant",
        ),
        (
            RiseFamily(False, (), 0.8, 2.286, 4.335, "session", limit(False, 0.8), limit(True, 0.7)),
            "no rise above 80 % (2.3 -> 4.3 s); by developer it rises (limit 70 %, 2.3 -> 4.3 s), by session not "
            "significant",
        ),
        (
            RiseFamily(True, (contrast(2.3, 1.45, 0.0005),), 0.8, 2, 4, "session", limit(True, 0.8), limit(False, 2)),
            "rises by 45 % at 2.3 -> 4.6 s ([16, 88] for this pair alone; p < 0.001); so by session, by developer not "
            "significant",
        ),
        (
            RiseFamily(True, (contrast(2.3, 1.45, 0.0005),), 0.8, 2, 4, "session", limit(True, 0.8), limit(None, None)),
            "rises by 45 % at 2.3 -> 4.6 s ([16, 88] for this pair alone; p < 0.001); so by session, by developer not "
            "available",
        ),
        (
            RiseFamily(False, (), -0.02, 2.286, 4.335, "session", limit(False, -0.02), limit(False, 0.012)),
            "falls at every step, by at least 2.0 % (2.3 -> 4.3 s); by developer no rise above 1.2 %",
        ),
    ],
)
def test_both_clusterings_are_told_where_they_differ(group: Any, family: RiseFamily, says: str) -> None:
    assert verdict(family) == says
    cut = DeadlinesCut(((4.975, 5.25),), Slopes(Interval(-0.7, -0.9, -0.5)), NOT_AVAILABLE, rise(family))
    text = headline_sentence(group({"provider": "claude"}, deadlines_cut=cut, rise=rise(NOTHING)))
    assert text.endswith(f"; {says.rpartition('; ')[2]}.")


def test_clusterings_that_agree_are_told_once() -> None:
    family = RiseFamily(False, (), 0.33, 2.286, 4.335, "developer", limit(False, 0.2), limit(False, 0.33))
    assert verdict(family) == "no rise above 33 % (2.3 -> 4.3 s)"


def test_headline_tells_both_clusterings_with_deadlines_kept(group: Any) -> None:
    kept = RiseFamily(False, (), 2.15, 2.286, 4.335, "developer", limit(True, 0.8), limit(False, 2.15))
    cut = DeadlinesCut(((4.975, 5.25),), Slopes(Interval(-0.7, -0.9, -0.5)), NOT_AVAILABLE, rise(NOTHING))
    text = headline_sentence(group({"provider": "claude"}, deadlines_cut=cut, rise=rise(kept)))
    assert text.endswith(
        "; deadlines kept, by session it rises (limit 80 %, 2.3 -> 4.3 s), by developer not significant."
    )


def test_without_a_limit_it_says_so() -> None:
    assert verdict(RiseFamily(False)) == "no rise shown, and no limit available"


def test_a_rise_stands_with_interval_place_and_p() -> None:
    family = RiseFamily(True, (contrast(0.177, 1.67, 0.0004),), 1.2)
    assert verdict(family) == "rises by 67 % at 0.18 -> 0.35 s ([34, 117] for this pair alone; p < 0.001)"


def test_only_significant_rises_are_named_the_largest_first() -> None:
    family = RiseFamily(
        True,
        (
            contrast(1, 1.2, 0.01),
            contrast(2, 9.0, 0.3),
            contrast(4, 1.5, 0.02),
            contrast(8, 1.3, 0.04),
            contrast(16, 0.5, 0.0),
        ),
    )
    text = verdict(family)
    assert text.index("50 %") < text.index("30 %")
    assert "800" not in text
    assert text.endswith("and at 1 more place")


@pytest.mark.parametrize(
    ("slope", "says"),
    [
        (
            Interval(-0.755, -0.97, -0.54),
            "falling on average from 0.13 s to 17 min (slope -0.755 [-0.97, -0.54], deadlines cut)",
        ),
        (
            Interval(0.755, 0.54, 0.97),
            "rising on average from 0.13 s to 17 min (slope 0.755 [0.54, 0.97], deadlines cut)",
        ),
        (Interval(-0.1, -0.3, 0.1), "no clear trend from 0.13 s to 17 min (slope -0.100 [-0.30, 0.10], deadlines cut)"),
        (
            Interval(-0.1),
            "without an interval, so no trend is claimed from 0.13 s to 17 min (slope -0.100, deadlines cut)",
        ),
        (NOT_AVAILABLE, "no slope from 0.13 s to 17 min"),
    ],
)
def test_headline_names_range_and_limit(group: Any, slope: Interval, says: str) -> None:
    cut = DeadlinesCut(((4.975, 5.25),), Slopes(slope), NOT_AVAILABLE, rise(NOTHING))
    text = headline_sentence(group({"provider": "claude"}, deadlines_cut=cut, rise=rise(NOTHING)))
    assert text == f"claude: {says}, with no rise above 33 % between neighbouring bins (95 %, simultaneous)."


def test_headline_tells_a_rise_that_cutting_the_deadlines_hides(group: Any) -> None:
    kept = rise(RiseFamily(True, (contrast(2.3, 1.45, 0.0005),), 0.9))
    cut = DeadlinesCut(((4.975, 5.25),), Slopes(Interval(-0.7, -0.9, -0.5)), NOT_AVAILABLE, rise(NOTHING))
    text = headline_sentence(group({"provider": "claude"}, deadlines_cut=cut, rise=kept))
    assert "with no rise above 33 %" in text
    assert text.endswith(
        "; deadlines kept, it rises by 45 % at 2.3 -> 4.6 s ([16, 88] for this pair alone; p < 0.001)."
    )


def test_headline_of_a_rise(group: Any) -> None:
    found = rise(RiseFamily(True, (contrast(2.3, 1.45, 0.0005),), 0.9))
    nothing_to_cut = DeadlinesCut((), Slopes(), NOT_AVAILABLE, found)
    text = headline_sentence(group({"provider": "claude"}, deadlines_cut=nothing_to_cut, rise=found))
    assert text.startswith(
        "claude: falling on average from 0.13 s to 17 min (slope -0.755 [-0.97, -0.54]), but it rises by 45 %"
    )


def test_headline_without_a_range(group: Any) -> None:
    assert headline_sentence(group({"provider": "web"}, range=None)) == (
        "web: too few events for a slope or a rise test."
    )


def test_headline_refers_to_notes_only_where_there_are_some(group: Any) -> None:
    noted = group({"provider": "web"}, range=None, notes=("12 events, 100 needed",))
    assert headline_sentence(noted) == "web: too few events for a slope or a rise test (see the notes)."
    none = DeadlinesCut((), Slopes(), NOT_AVAILABLE, rise(NOTHING))
    noted = group({"provider": "web"}, slope=Slopes(), deadlines_cut=none, notes=("12 events, 100 needed",))
    assert "no slope from 0.13 s to 17 min (see the notes)" in headline_sentence(noted)


def test_variants_cut_first_and_only_where_there_are_windows(group: Any) -> None:
    full = group({"provider": "claude"})
    assert [(v.start, v.deadlines) for v in variants(full)] == [
        ("0.13 s", "cut"),
        ("0.13 s", "kept"),
        ("0.88 s", "cut"),
        ("0.88 s", "kept"),
    ]
    bare = group({"provider": "claude"}, deadlines_cut=DeadlinesCut((), Slopes(), NOT_AVAILABLE, rise(NOTHING)))
    assert [(v.start, v.deadlines) for v in variants(bare)] == [("0.13 s", "kept"), ("0.88 s", "kept")]
    low = group({"provider": "claude"}, upper_range=None, range=None, bins=())
    assert [(v.start, v.deadlines) for v in variants(low)] == [("-", "cut"), ("-", "kept")]
