"""The rise test in words, so that text and charts say the same.

A test that found nothing is never "no rise": it is "no rise above x %", x the simultaneous limit. And "falling" is
never said without the range it holds on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracestat.charts.captions import in_words
from tracestat.charts.words import MISSING, bounds, p_value, seconds, slope_interval, span
from tracestat.results import Contrast, HazardGroup, Interval, Rise, RiseFamily, Slopes

__all__ = ["FAMILIES", "Variant", "headline_sentence", "variants", "verdict"]

FAMILIES = (("adjacent", "neighbours"), ("any", "any two"), ("origin_moved", "moved"))
_MOST_PLACES = 2


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the ways a group is looked at: from which edge, with deadlines cut or kept."""

    start: str
    deadlines: str
    from_first_edge: bool
    slope: Slopes
    curvature: Interval
    rise: Rise


def variants(group: HazardGroup) -> list[Variant]:
    """Give the group as it is shown: deadlines cut before kept, the first edge before the upper one.

    Where no deadline is known nothing can be cut, and the lines "cut" are left out.
    """
    first = group.range[0] if group.range is not None else group.bins[0].lo if group.bins else None
    start = seconds(first)
    cut, upper = group.deadlines_cut, group.upper_range
    out = [Variant(start, "kept", True, group.slope, group.curvature, group.rise)]
    if cut.windows:
        out.insert(0, Variant(start, "cut", True, cut.slope, cut.curvature, cut.rise))
    if upper is not None:
        above = upper.deadlines_cut
        if cut.windows:
            out.append(Variant(seconds(upper.start), "cut", False, above.slope, above.curvature, above.rise))
        out.append(Variant(seconds(upper.start), "kept", False, upper.slope, upper.curvature, upper.rise))
    return out


def headline_sentence(group: HazardGroup) -> str:
    """Say in one sentence what the hazard of a group does, where, and how sure that is."""
    shown = variants(group)
    first, others = shown[0], shown[1:]
    name = in_words(group)
    if group.range is None:
        return f"{name}: too few events for a slope or a rise test (see the notes)."
    where = f"from {span(*group.range)}"
    cut = ", deadlines cut" if first.deadlines == "cut" else ""
    item = first.slope.poisson
    text = slope_interval(item)
    if item.value is None:
        trend = f"no slope {where} (see the notes)"
    elif item.low is None or item.high is None or item.low <= 0 <= item.high:
        trend = f"no clear trend {where} (slope {text}{cut})"
    else:
        trend = f"{'falling' if item.high < 0 else 'rising'} on average {where} (slope {text}{cut})"
    family = first.rise.adjacent
    if family.significant is None:
        after = "; the rise test is not available"
    elif family.significant:
        after = f", but it {verdict(family)}"
    elif family.largest_upper is None:
        after = f"; {verdict(family)}"
    else:
        limit = _percent(max(family.largest_upper, 0))
        after = f", with no rise above {limit} % between neighbouring bins (95 %, simultaneous)"
    kept = next((v.rise.adjacent for v in others if v.from_first_edge), None)
    if kept is not None and kept.significant and not family.significant:
        after += f"; deadlines kept, it {verdict(kept)}"
    return f"{name}: {trend}{after}."


def verdict(family: RiseFamily) -> str:
    """Say what a family of contrasts shows.

    Examples
    --------
    >>> verdict(RiseFamily(False, (), 0.33, 2.3, 4.3))
    'no rise above 33 % (2.3 -> 4.3 s)'
    >>> verdict(RiseFamily(True, (Contrast(2.3, 4.3, Interval(1.45, 1.3, 1.62), 0.0005),), 0.62, 2.3, 4.3))
    'rises by 45 % [30, 62] at 2.3 -> 4.3 s (p < 0.001)'
    >>> verdict(RiseFamily(None))
    '-'
    """
    if family.significant is None:
        return MISSING
    if family.significant:
        places = list(_significant(family))
        if not places:
            return "rises"
        text = ", and ".join(_rise(item) for item in places[:_MOST_PLACES])
        more = len(places) - _MOST_PLACES
        return f"{text}, and at {more} more places" if more > 0 else text
    if family.largest_upper is None:
        return "no rise shown, and no limit available"
    text = f"no rise above {_percent(max(family.largest_upper, 0))} %"
    if family.largest_from is None or family.largest_to is None:
        return text
    return f"{text} ({_place(family.largest_from, family.largest_to)})"


def _significant(family: RiseFamily) -> Iterator[Contrast]:
    """Give the contrasts that the test rejects, the largest rise first; without p values the largest of all."""
    rising = [c for c in family.contrasts if c.ratio.value is not None and c.ratio.value > 1]
    rising.sort(key=lambda c: -(c.ratio.value or 0))
    found = [c for c in rising if c.p_adjusted is not None and c.p_adjusted <= 1 - c.ratio.level + 1e-12]
    yield from found or rising[:1]


def _rise(item: Contrast) -> str:
    value = item.ratio.value or 1.0
    limits = bounds((item.ratio.low, item.ratio.high), lambda x: _percent(x - 1))
    inside = "" if limits == MISSING else f" {limits}"
    return f"rises by {_percent(value - 1)} %{inside} at {_place(item.start, item.stop)} ({p_value(item.p_adjusted)})"


def _place(start: float, stop: float) -> str:
    return span(start, stop, joint=" -> ")


def _percent(share: float) -> str:
    """Write a rise in percent with two digits that count.

    Examples
    --------
    >>> _percent(0.333), _percent(0.0345), _percent(5.36), _percent(0.0)
    ('33', '3.5', '536', '0')
    """
    value = 100 * share
    if abs(value) >= 9.95 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 0.95 else f"{value:.2f}"
