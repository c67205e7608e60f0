"""The time axis of a long session: quiet stretches are shortened, and what is left is broken into lines.

A person may stay away for a night, and a night on a straight axis leaves no room for the work. Pure functions on
seconds since the session began.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Fold", "Tick", "fold", "lines_of", "ticks_of"]

_SHORT = 1 / 14  # a shortened stretch takes about this share of a line
_LINE = 1800.0
_MOST_LINES = 6
_STEPS = (0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 604_800)
_MOST_TICKS = 9
_ROOM = 0.085  # of a line, between two ticks
_ROOM_OF_DATE = 0.135


@dataclass(frozen=True, slots=True)
class Fold:
    """Where each moment is drawn.

    Attributes
    ----------
    knots, places : tuple of float
        Moments in seconds and where they are drawn; straight lines between them.
    quiet : tuple of (float, float)
        The stretches that are drawn shorter than they were.
    """

    knots: tuple[float, ...]
    places: tuple[float, ...]
    quiet: tuple[tuple[float, float], ...] = ()

    @property
    def length(self) -> float:
        """How long the axis is, in the seconds of a stretch that is not shortened."""
        return self.places[-1]

    def place(self, moment: float) -> float:
        """Give where a moment is drawn; moments outside are drawn at the ends."""
        if moment <= self.knots[0]:
            return self.places[0]
        if moment >= self.knots[-1]:
            return self.places[-1]
        right = bisect_right(self.knots, moment)
        (a, b), (p, q) = self.knots[right - 1 : right + 1], self.places[right - 1 : right + 1]
        return p + (q - p) * (moment - a) / (b - a)


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the axis: where it is drawn, the moment that it stands for."""

    place: float
    moment: float


def fold(begin: float, end: float, busy: Iterable[tuple[float, float]]) -> Fold:
    """Shorten the stretches in which nothing went on.

    Parameters
    ----------
    begin, end : float
        The stretch to draw, in seconds.
    busy : iterable of (float, float)
        When something went on.

    Examples
    --------
    >>> fold(0, 1000, [(0, 50), (950, 1000)]).quiet
    ((50, 950),)
    >>> fold(0, 100, [(0, 50), (53, 100)]).quiet
    ()
    """
    quiet: list[tuple[float, float]] = []
    reach = begin
    for a, b in [*sorted(busy), (end, end)]:
        if a > reach:
            quiet.append((reach, min(a, end)))
        reach = max(reach, b)
    active = (end - begin) - sum(b - a for a, b in quiet)
    short = active / _number_of_lines(active) * _SHORT
    quiet = [(a, b) for a, b in quiet if short and b - a > 1.5 * short]
    knots, places = [begin], [0.0]
    for a, b in quiet:
        for moment, more in ((a, a - knots[-1]), (b, short)):
            if moment > knots[-1]:
                knots.append(moment)
                places.append(places[-1] + more)
    if end > knots[-1] or len(knots) == 1:
        knots.append(max(end, knots[-1] + 1e-3))
        places.append(places[-1] + max(end - knots[-2], 1e-3))
    return Fold(tuple(knots), tuple(places), tuple(quiet))


def _number_of_lines(length: float) -> int:
    return min(max(round(length / _LINE), 1), _MOST_LINES)


def lines_of(folded: Fold) -> list[tuple[float, float]]:
    """Break the axis into lines of one length."""
    number = _number_of_lines(folded.length)
    size = folded.length / number
    return [(size * place, size * (place + 1)) for place in range(number)]


def ticks_of(folded: Fold, line: tuple[float, float], zero: dt.datetime) -> list[Tick]:
    """Choose the marks of one line: round times of day, apart from each other, none within a shortened stretch.

    Parameters
    ----------
    folded : Fold
    line : tuple of float
        From where to where the line is drawn.
    zero : datetime
        The moment 0 in the zone of the reader.
    """
    low, high = line
    step = next((step for step in _STEPS if (high - low) / step <= _MOST_TICKS), _STEPS[-1])
    found = [Tick(low, _moment(folded, low))]
    days = [_day(found[0], zero)]
    # every stretch that is not shortened has its own first mark, where the time of day jumps
    for a, b in _open(folded):
        if folded.place(b) <= low or folded.place(a) >= high:
            continue
        moments = [a] if a > folded.knots[0] else []
        moments += _round_times(max(a, _moment(folded, low)), min(b, _moment(folded, high)), step, zero)
        for moment in moments:
            place = folded.place(moment)
            # the mark before says its date where its day is a new one
            room = _ROOM if days[-1:] == days[-2:-1] else _ROOM_OF_DATE
            if place - found[-1].place >= room * (high - low) and place <= high - _ROOM * (high - low):
                found.append(Tick(place, moment))
                days.append(_day(found[-1], zero))
    return found


def _day(tick: Tick, zero: dt.datetime) -> dt.date:
    return (zero + dt.timedelta(seconds=tick.moment)).date()


def _open(folded: Fold) -> Sequence[tuple[float, float]]:
    edges = [folded.knots[0], *(moment for pair in folded.quiet for moment in pair), folded.knots[-1]]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def _moment(folded: Fold, place: float) -> float:
    """Give the moment that is drawn at a place."""
    if place >= folded.places[-1]:
        return folded.knots[-1]
    right = max(bisect_right(folded.places, place), 1)
    (a, b), (p, q) = folded.knots[right - 1 : right + 1], folded.places[right - 1 : right + 1]
    return a + (b - a) * (place - p) / (q - p)


def _round_times(begin: float, end: float, step: float, zero: dt.datetime) -> list[float]:
    midnight = zero.replace(hour=0, minute=0, second=0, microsecond=0)
    shift = (zero - midnight).total_seconds()
    first = int((begin + shift) // step) + 1
    last = int((end + shift) // step)
    return [number * step - shift for number in range(first, last + 1)]
