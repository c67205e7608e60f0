"""Calls of Claude Code logs: paired with their results by id alone, wherever these stand, with how they ended."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

from tracestat.ingest.logs.claude_copies import Across
from tracestat.ingest.logs.claude_ends import status_of
from tracestat.ingest.logs.claude_facts import Result, Stream, Usage, Use
from tracestat.ingest.logs.model import Call, Event

__all__ = ["Draft", "Emitted", "Pairs"]


class Emitted(NamedTuple):
    """A call, when it was written, and the permission mode in force then."""

    use: Use
    time_us: int
    mode: str | None


@dataclass(slots=True)
class Draft:
    """A message while its lines come in.

    Attributes
    ----------
    inputs, outputs : list of Event
        What it was told since the message before, and what it wrote.
    partial : bool
        Another copy of the message counts, and tells its tokens.
    blocks : int
        Blocks that no other copy has.
    """

    stream: Stream
    message: str
    inputs: list[Event]
    model: str | None = None
    usage: Usage | None = None
    partial: bool = False
    outputs: list[Event] = field(default_factory=list)
    uses: list[Emitted] = field(default_factory=list)
    blocks: int = 0


@dataclass(slots=True)
class Pairs:
    """What a log says of its calls by their ids, and what other logs do.

    Attributes
    ----------
    results : dict of str to (int, Result)
        The earliest result of a call, and its time.
    began : dict of str to int
        Estimates of starts.
    took : dict of str to int
        Durations that tool servers reported.
    """

    across: Across
    results: dict[str, tuple[int, Result]] = field(default_factory=dict)
    began: dict[str, int] = field(default_factory=dict)
    took: dict[str, int] = field(default_factory=dict)

    def call_id(self, call: str, time_us: int | None) -> str | None:
        """Name a call; one whose id stands for several is named by its time too, and its result (None) not at all."""
        if not self.across.shared_ids or hash(call) not in self.across.shared_ids:
            return f"call_{call}"
        if time_us is None:
            return None
        return f"call_{hashlib.sha256(f'{call}/{time_us}'.encode()).hexdigest()[:20]}"

    def calls(self, draft: Draft, group: int) -> list[Call]:
        """Make the calls of a message, all of one parallel group: the place of the round in its session.

        Of the calls of a message, Bash, Edit, Write and their like run one after the other. Where a start is known,
        the wait for approval is what is left after the last of those before it.
        """
        made: list[Call] = []
        serial_end = 0
        for use, emitted, mode in draft.uses:
            call = self._call(use, emitted, draft.stream)
            call.permission_mode = mode
            call.parallel_group = group
            if use.role == "serial":
                began = self.began.get(use.call)
                if began is not None and hash(use.call) not in self.across.shared_ids:
                    call.start_kind = "rebuilt"
                    call.approval_seconds = max(0, began - max(emitted, serial_end)) / 1e6
                if call.result_us is not None:
                    serial_end = max(serial_end, call.result_us)
            made.append(call)
        return made

    def _call(self, use: Use, emitted: int, stream: Stream) -> Call:
        shared = hash(use.call) in self.across.shared_ids
        call = Call(
            self.call_id(use.call, emitted) or "",
            use.tool,
            emitted,
            input_chars=use.input_chars,
            shell=use.shell,
            asked_limit_seconds=use.limit_seconds,
            is_subagent=stream.agent is not None,
        )
        found = None if shared else self.results.get(use.call) or self.across.orphans.get(use.call)
        if found is None:
            return call
        call.result_us, result = found
        call.is_error = result.is_error
        call.result_chars = result.chars
        call.exit_code = result.exit_code
        call.reported_ms = result.reported_ms if result.reported_ms is not None else self.took.get(use.call)
        call.status = status_of(result.mark, in_background=use.in_background, waits=use.role == "wait")
        if call.status in ("background", "running") and use.role != "wait":
            call.job_ended_us = self._job_end(use.call, emitted, stream.session, result.task)
        return call

    def _job_end(self, call: str, emitted: int, session: str | None, task: str | None) -> int | None:
        """Find the earliest notice: by the id of the job, which all versions write, else by that of the call."""
        by_task = self.across.ended_tasks.get((session, task), []) if task is not None else []
        for times in (by_task, self.across.ended_calls.get(call, [])):
            # short ids of jobs are used again
            after = [time_us for time_us in times if time_us >= emitted]
            if after:
                return min(after)
        return None
