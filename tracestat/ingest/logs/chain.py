"""What holds between the rounds of one session, and between the calls of one round."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from tracestat.ingest.logs.model import Call, Event, Round

__all__ = ["COPIES", "NO_START", "hand_on", "label_of", "number", "set_approvals"]

COPIES: Final = "copies of calls in another log"
NO_START: Final = "calls without a time"
# Words and nothing else: digits, slashes and dashes are what keys, paths and names of people's things are made of.
_LABEL: Final = re.compile(r"(?=.{1,40}\Z)[a-z]+(?:_[a-z]+){0,4}")


def label_of(kind: str) -> str:
    """Give the type of a line as it may be shown: what is no plain name may be text."""
    return kind if _LABEL.fullmatch(kind) else "other"


def number(rounds: Iterable[Round], first: int = 0) -> None:
    """Count the rounds of a session."""
    for index, made in enumerate(rounds, start=first):
        made.round_index = index


def hand_on(rounds: Sequence[Round], source: str) -> None:
    """Put the results of each round before the outputs of the next, which is the request that had them as input.

    Parameters
    ----------
    rounds : sequence of Round
        Of one session, in order.
    source : str
        The kind of line that told of the result.
    """
    for before, after in pairwise(rounds):
        results = [
            Event(
                "tool_result",
                source,
                call.result_us,
                call_id=call.id,
                tool_index=index,
                tool=call.tool,
                is_error=call.is_error,
                result_chars=call.result_chars,
            )
            for index, call in enumerate(before.calls)
            if call.result_us is not None
        ]
        after.events[:0] = sorted(results, key=lambda event: event.time_us)


def set_approvals(started: Sequence[tuple[Call, int]]) -> None:
    """Tell how long each call of a round waited for its start.

    A call that starts when a sibling ends was waiting for that sibling: only what is left counts.

    Parameters
    ----------
    started : sequence of (Call, int)
        The calls of one round whose start is known, with it.
    """
    for call, start in started:
        ends = [other.result_us for other, _ in started if other is not call and other.result_us is not None]
        since = max((end for end in ends if call.emitted_us < end <= start), default=call.emitted_us)
        call.approval_seconds = (start - since) / 1e6
