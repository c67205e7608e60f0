"""Stretches of time that do not overlap: properties of the pure functions, and what the words of a log mean."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tracestat.api.steps import Span, Taken, answer_span, stack, wait_spans

moments = st.integers(0, 60)
spans = st.lists(st.tuples(moments, moments).map(lambda pair: Span(min(pair), max(pair))), max_size=25)


def covered(pieces: list[Span]) -> set[int]:
    return {moment for piece in pieces for moment in range(piece.begin, piece.end)}


@given(spans)
def test_claims_never_overlap_and_lose_nothing(claims: list[Span]) -> None:
    taken, kept = Taken(), []
    for claim in claims:
        pieces = taken.claim(claim)
        assert not covered(kept) & covered(pieces)
        assert covered([claim]) - covered(kept) == covered(pieces)
        kept += pieces
    assert sum(piece.end - piece.begin for piece in kept) == len(covered(claims))


@given(spans, moments)
def test_a_moment_is_free_unless_it_lies_inside(claims: list[Span], moment: int) -> None:
    taken = Taken()
    kept = [piece for claim in claims for piece in taken.claim(claim)]
    # neighbours that touch leave a moment between them, where something may have happened
    inside = any(piece.begin < moment < piece.end for piece in kept)
    assert taken.claim(Span(moment, moment)) == ([] if inside else [Span(moment, moment)])


@given(spans.map(sorted))
def test_what_overlaps_lies_on_different_tracks_and_no_track_is_without_need(some: list[Span]) -> None:
    tracks = stack(some)
    by_track: dict[int, list[Span]] = {}
    for span, track in zip(some, tracks, strict=True):
        by_track.setdefault(track, []).append(span)
    for parts in by_track.values():
        assert all(a.end <= b.begin for a, b in itertools.pairwise(parts))
    assert sorted(by_track) == list(range(len(by_track)))
    busiest = max((sum(s.begin <= m < s.end for s in some) for m in range(61)), default=0)
    if all(span.begin < span.end for span in some):
        assert len(by_track) == busiest


@given(st.lists(moments).map(sorted), st.lists(moments).map(sorted))
def test_a_wait_ends_with_a_message_and_begins_with_the_last_thing_seen(messages: list[int], seen: list[int]) -> None:
    for wait in wait_spans(messages, seen):
        assert wait.end in messages
        assert wait.begin in seen
        assert not any(wait.begin < moment < wait.end for moment in [*messages, *seen])


def test_an_answer_begins_with_its_last_input() -> None:
    assert answer_span(50, 60, [10, 40, 55], [20, 60]) == (Span(40, 60), True)


def test_an_input_at_the_very_stamp_of_an_output_is_an_input() -> None:
    # early Codex logs stamp a call and its result alike
    assert answer_span(50, 60, [20], [20, 60]) == (Span(20, 60), True)


def test_an_input_that_was_answered_before_begins_nothing() -> None:
    assert answer_span(50, 60, [10], [20, 60]) == (Span(50, 60), False)
    assert answer_span(50, 60, [], [60]) == (Span(50, 60), False)


def test_nobody_knows_who_waited_between_two_messages() -> None:
    assert wait_spans([30, 90], [20]) == [Span(20, 30)]
    assert wait_spans([30], []) == []


def test_a_moment_parts_what_is_claimed_around_it_later() -> None:
    taken = Taken()
    assert taken.claim(Span(5, 5)) == [Span(5, 5)]
    assert taken.claim(Span(0, 9)) == [Span(0, 5), Span(5, 9)]
    assert taken.claim(Span(5, 5)) == [Span(5, 5)]
