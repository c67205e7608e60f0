"""When a Codex call started and its process ended, as far as the whole log tells.

A call line is written when the model has made the call; builds up to 0.65 wrote it together with the output, so that
call and output have one time. Whether a log is such a one is decided on all of its calls, never by its version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracestat.ingest.logs.codex_kept import Ran
from tracestat.ingest.logs.codex_rounds import Held

__all__ = ["has_false_starts", "settle"]

_NO_GAP_US: Final = 2_000
_SHARE: Final = 0.5  # all of them in logs written at the end, at most 4 % in others
_ENOUGH_CALLS: Final = 5


def settle(held: Sequence[Held], loose: Sequence[Ran]) -> None:
    """Set starts, reported durations and ends of processes of the calls of one log.

    Parameters
    ----------
    held : sequence of Held
        The calls.
    loose : sequence of Ran
        Items of commands that ran inside code mode.
    """
    for one in held:
        _take_notices(one)
    if has_false_starts(held):
        for one in held:
            _start_before_end(one)
    else:
        _take_items(held, loose)
    for one in held:
        if one.root is None:
            _end_job(one)


def has_false_starts(held: Sequence[Held]) -> bool:
    """Tell whether the calls of a log were written together with their outputs.

    Of few calls, some may truly take no time: then a duration that the gap cannot hold has to prove it.
    """
    gaps = [(one.call.result_us - one.asked.time_us, one.call.reported_ms) for one in held if one.call.result_us]
    n_none = sum(gap <= _NO_GAP_US for gap, _ in gaps)
    if len(gaps) >= _ENOUGH_CALLS:
        return n_none > _SHARE * len(gaps)
    return 0 < n_none == len(gaps) and any(1000 * (reported or 0) > _NO_GAP_US for _, reported in gaps)


def _take_notices(one: Held) -> None:
    """Fill in what the output does not say from the harness's notices about the same call."""
    call = one.call
    if one.ended is not None and one.ended.what != "exec":
        if call.reported_ms is None:
            call.reported_ms = one.ended.duration_ms
        if call.is_error is None and call.result_us is not None:
            call.is_error = one.ended.is_error
    if one.ran is not None and call.result_us is not None and call.status != "running":
        if call.reported_ms is None:
            call.reported_ms = one.ran.duration_ms
        if call.is_error is None:
            call.is_error = one.ran.is_error


def _start_before_end(one: Held) -> None:
    call = one.call
    if call.result_us is None or call.reported_ms is None:
        call.start_kind = "false"
        return
    call.start_kind = "end-minus-reported"
    call.emitted_us = call.result_us - 1000 * call.reported_ms
    one.asked_event.time_us = call.emitted_us


def _take_items(held: Sequence[Held], loose: Sequence[Ran]) -> None:
    for one in held:
        if one.ran is not None and one.ran.started_us is not None:
            _start_at(one, one.ran.started_us)
    cells = [one for one in held if one.asked.runs == "cell" and one.root is None]
    cells.sort(key=lambda one: one.asked.time_us, reverse=True)
    around: list[Held] = []
    for started in sorted(ran.started_us for ran in loose if ran.started_us is not None):
        while cells and cells[-1].asked.time_us <= started:
            around.append(cells.pop())
        around = [one for one in around if started <= _last_us(one)]
        # in two cells at once it may have run in either
        if len(around) == 1 and around[0].call.start_kind != "real":
            _start_at(around[0], started)


def _last_us(one: Held) -> int:
    """Give the time until which a cell can have started a command."""
    polls = [poll.call.result_us or poll.asked.time_us for poll in one.polls]
    return max([one.call.result_us or one.asked.time_us, *polls])


def _start_at(one: Held, started_us: int) -> None:
    one.call.start_kind = "real"
    # the line of the call may be written a moment after the start
    one.call.approval_seconds = max(0, started_us - one.asked.time_us) / 1e6


def _end_job(root: Held) -> None:
    """Say when a process ended that outlived its call, on every call that left it running."""
    ended: int | None = None
    if root.ended is not None and root.ended.what == "exec":
        ended = root.ended.time_us
    elif root.ran is not None:
        ended = root.ran.ended_us
    if ended is None:
        ended = root.finished_us
    if ended is None:
        return
    for one in (root, *root.polls):
        if one.call.status == "running" or (one is root and one.call.result_us is None):
            one.call.job_ended_us = ended
