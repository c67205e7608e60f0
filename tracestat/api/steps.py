"""How the stamps of a session become stretches that do not overlap: pure functions on whole microseconds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Span", "Taken", "answer_span", "stack", "wait_spans"]


class Span(NamedTuple):
    """A stretch of time, from its begin to its end, in microseconds."""

    begin: int
    end: int


class Taken:
    """Stretches that are spoken for; a later claim gets what is left of it.

    Examples
    --------
    >>> taken = Taken()
    >>> taken.claim(Span(10, 20)), taken.claim(Span(5, 30)), taken.claim(Span(12, 15))
    ([Span(begin=10, end=20)], [Span(begin=5, end=10), Span(begin=20, end=30)], [])
    """

    def __init__(self) -> None:
        self._spans: list[Span] = []  # ascending by begin and by end alike

    def claim(self, span: Span) -> list[Span]:
        """Take what is free of a stretch and give it, in pieces where it is parted.

        A moment is free unless it lies inside another stretch, and parts what is claimed around it later.
        """
        place = bisect_right(self._spans, span.begin, key=_end)
        if span.begin == span.end:
            inside = place < len(self._spans) and self._spans[place].begin < span.begin
            pieces = [] if inside else [span]
        else:
            pieces = []
            begin = span.begin
            while place < len(self._spans) and self._spans[place].begin < span.end:
                if self._spans[place].begin > begin:
                    pieces.append(Span(begin, self._spans[place].begin))
                begin = self._spans[place].end
                place += 1
            if begin < span.end:
                pieces.append(Span(begin, span.end))
        for piece in pieces:
            insort(self._spans, piece)
        return pieces


def _end(span: Span) -> int:
    return span.end


def answer_span(first: int, last: int, inputs: Sequence[int], outputs: Sequence[int]) -> tuple[Span, bool]:
    """Give the stretch in which the model made one answer, and whether its begin is known.

    Parameters
    ----------
    first, last : int
        Its first and last output.
    inputs : sequence of int
        When something was given to the model, ascending.
    outputs : sequence of int
        The last output of every answer of the session, ascending.

    Returns
    -------
    tuple of (Span, bool)
        From the last input before the first output. Where another answer stands between the two, that input was
        answered already: then the stretch begins with the first output, and False says so.

    Examples
    --------
    >>> answer_span(30, 40, [10, 25], [20, 40])
    (Span(begin=25, end=40), True)
    >>> answer_span(30, 40, [10], [20, 40])
    (Span(begin=30, end=40), False)
    """
    given = bisect_right(inputs, first) - 1
    before = bisect_left(outputs, first) - 1
    if given < 0 or (before >= 0 and outputs[before] > inputs[given]):
        return Span(first, last), False
    return Span(inputs[given], last), True


def wait_spans(messages: Sequence[int], seen: Sequence[int]) -> list[Span]:
    """Give the waits for the next message of the user: from the last output or result to that message.

    Parameters
    ----------
    messages : sequence of int
        When the user wrote, ascending.
    seen : sequence of int
        Outputs and results, ascending.

    Examples
    --------
    >>> wait_spans([5, 50, 60], [20, 30, 70])
    [Span(begin=30, end=50)]
    """
    waits: list[Span] = []
    previous = -1
    for number, message in enumerate(messages):
        last = bisect_left(seen, message) - 1
        # between two messages without an answer nobody knows who waited for whom
        if last >= 0 and (number == 0 or seen[last] > previous):
            waits.append(Span(seen[last], message))
        previous = message
    return waits


def stack(spans: Sequence[Span]) -> list[int]:
    """Give each stretch the lowest track on which it overlaps nothing; stretches come in order of their begin.

    Examples
    --------
    >>> stack([Span(0, 10), Span(2, 4), Span(5, 6), Span(9, 12), Span(10, 11)])
    [0, 1, 1, 1, 0]
    """
    ends: list[int] = []
    tracks: list[int] = []
    for span in spans:
        track = next((number for number, end in enumerate(ends) if end <= span.begin), len(ends))
        if track == len(ends):
            ends.append(span.end)
        ends[track] = max(ends[track], span.end)
        tracks.append(track)
    return tracks
