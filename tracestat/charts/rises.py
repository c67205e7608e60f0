"""The rise test in words, so that text and charts say the same.

A test that found nothing is never "no rise": it is "no rise above x %", x the simultaneous limit. "Falling" is never
said without the range it holds on. Where the two clusterings come to different results, both are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracestat.charts.captions import in_words
from tracestat.charts.words import MISSING, bounds, counted, p_value, seconds, slope_interval, span
from tracestat.results import Contrast, HazardGroup, Interval, Rise, RiseFamily, RiseLimit, Slopes

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
        return f"{name}: too few events for a slope or a rise test{_see(group)}."
    where = f"from {span(*group.range)}"
    cut = ", deadlines cut" if first.deadlines == "cut" else ""
    item = first.slope.poisson
    text = slope_interval(item)
    if item.value is None:
        trend = f"no slope {where}{_see(group)}"
    elif item.low is None or item.high is None:
        trend = f"without an interval, so no trend is claimed {where} (slope {text}{cut})"
    elif item.low <= 0 <= item.high:
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
    elif family.largest_upper > 0:
        limit = _percent(family.largest_upper)
        after = f", with no rise above {limit} % between neighbouring bins (95 %, simultaneous){_beside(family)}"
    else:
        after = f"; it {_limit(family)} (95 %, simultaneous){_beside(family)}"
    kept = next((v.rise.adjacent for v in others if v.from_first_edge), None)
    if kept is not None and not family.significant:
        if kept.significant:
            after += f"; deadlines kept, it {verdict(kept)}"
        elif _differ(kept):
            after += f"; deadlines kept, {_beside(kept).removeprefix('; ')}"
    return f"{name}: {trend}{after}."


def _see(group: HazardGroup) -> str:
    return " (see the notes)" if group.notes else ""


def verdict(family: RiseFamily) -> str:
    """Say what a family of contrasts shows.

    Examples
    --------
    >>> verdict(RiseFamily(False, (), 0.33, 2.3, 4.3))
    'no rise above 33 % (2.3 -> 4.3 s)'
    >>> verdict(RiseFamily(True, (Contrast(2.3, 4.3, Interval(1.45, 1.3, 1.62), 0.0005),), 0.62, 2.3, 4.3))
    'rises by 45 % at 2.3 -> 4.3 s ([30, 62] for this pair alone; p < 0.001)'
    >>> limits = RiseLimit(True, 0.8, 2.3, 4.3, 469), RiseLimit(False, 2.15, 2.3, 4.3, 25)
    >>> verdict(RiseFamily(False, (), 2.15, 2.3, 4.3, "developer", *limits))
    'no rise above 215 % (2.3 -> 4.3 s); by session it rises (limit 80 %, 2.3 -> 4.3 s), by developer not significant'
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
        rest = f", and at {counted(more, 'more place')}" if more > 0 else ""
        return f"{text}{rest}{_beside(family)}"
    if family.largest_upper is None:
        return f"no rise shown, and no limit available{_beside(family)}"
    place = ""
    if family.largest_from is not None and family.largest_to is not None:
        place = f" ({_place(family.largest_from, family.largest_to)})"
    return f"{_limit(family)}{place}{_beside(family)}"


def _limit(family: RiseFamily) -> str:
    """Say what the largest simultaneous limit leaves: a rise up to it, or none at all."""
    largest = family.largest_upper or 0.0
    if largest > 0:
        return f"no rise above {_percent(largest)} %"
    return f"falls at {_steps(family)}, by at least {_percent(-largest)} %"


def _steps(family: RiseFamily) -> str:
    """Say how many steps there are between the merged bins: one alone shows little of the shape."""
    if any(item.upper is None for item in family.contrasts):
        return "every step that can be tested"
    steps = len({place for item in family.contrasts for place in (item.start, item.stop)}) - 1
    return "every step" if steps < 1 else "its only step" if steps == 1 else f"each of its {steps} steps"


def _differ(family: RiseFamily) -> bool:
    found = [limit.significant for limit in (family.session, family.developer) if limit is not None]
    return len(found) == 2 and True in found and found[0] != found[1]


def _beside(family: RiseFamily) -> str:
    """Tell both clusterings where one of them finds a rise, or leaves room for one, and the other does not."""
    session, developer = family.session, family.developer
    if session is None or developer is None:
        return ""
    if _differ(family) and family.significant:
        other = "developer" if family.clusters == "session" else "session"
        return f"; so by {family.clusters}, {_by(other, session if other == 'session' else developer)}"
    if _differ(family):
        named = [("session", session), ("developer", developer)]
        named.sort(key=lambda item: not item[1].significant)
        return f"; {', '.join(_by(name, limit) for name, limit in named)}"
    beside = session if family.clusters == "developer" else developer
    first, second = family.largest_upper, beside.largest_upper
    if family.significant is False and first is not None and second is not None and first <= 0 < second:
        name = "session" if beside is session else "developer"
        return f"; by {name} no rise above {_percent(second)} %"
    return ""


def _by(name: str, limit: RiseLimit) -> str:
    if limit.significant is None:
        return f"by {name} not available"
    if not limit.significant:
        return f"by {name} not significant"
    if limit.largest_upper is None or limit.largest_from is None or limit.largest_to is None:
        return f"by {name} it rises"
    # the place of the limit; the test of this clustering names no other
    place = _place(limit.largest_from, limit.largest_to)
    return f"by {name} it rises (limit {_percent(limit.largest_upper)} %, {place})"


def _significant(family: RiseFamily) -> Iterator[Contrast]:
    """Give the contrasts that the test rejects, the largest rise first; without p values the largest of all."""
    rising = [c for c in family.contrasts if c.ratio.value is not None and c.ratio.value > 1]
    rising.sort(key=lambda c: -(c.ratio.value or 0))
    found = [c for c in rising if c.p_adjusted is not None and c.p_adjusted <= 1 - c.ratio.level + 1e-12]
    yield from found or rising[:1]


def _rise(item: Contrast) -> str:
    value = item.ratio.value or 1.0
    limits = bounds((item.ratio.low, item.ratio.high), lambda x: _percent(x - 1))
    # the limits of a table are simultaneous, this interval is not
    alone = "" if limits == MISSING else f"{limits} for this pair alone; "
    place = _place(item.start, item.stop)
    return f"rises by {_percent(value - 1)} % at {place} ({alone}{p_value(item.p_adjusted)})"


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
