"""How a call ended, told by its result: marks found in one line, and the status that they mean for their call.

The words are those of the harness, looked for only where it writes them: at the beginning of the text, and for
failures only if the result is marked as one. What a tool printed may say anything further down.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from tracestat.ingest.logs.claude_lines import Outcome
from tracestat.ingest.logs.model import CommandStatus

__all__ = ["Mark", "exit_code", "mark_of", "reported_ms", "status_of", "task_of"]

Mark: TypeAlias = Literal["refused", "aborted", "failed", "moved", "detached", "launched", "yielded", "timeout"]

_REFUSED: Final = re.compile(
    r"The user doesn't want to (?:proceed with|take) this|Permission for this action was denied"
    # a hook that runs before the tool said no
    r"|(?:Error: )?(?:PreToolUse:\S+ hook (?:error|(?:returned )?blocking error|stopped)|Hook PreToolUse:\S+ denied)"
)
_ABORTED: Final = "[Request interrupted by user"
_CANCELLED: Final = re.compile(r"(?:<tool_use_error>)?(?:Sibling tool call errored|Cancelled: parallel tool call)")
_NOT_RUN: Final = "<tool_use_error>"
_STARTED: Final = re.compile(r"Command running in background with ID: ([\w-]{1,64})")
_MOVED: Final = re.compile(r"Command [^\n]{0,200}was moved to the background \(ID: ([\w-]{1,64})\)")
_YIELDED: Final = re.compile(r"\s*<retrieval_status>timeout</retrieval_status>")
_TIMED_OUT: Final = re.compile(r"(?:[^\n]*\n)?Command timed out after \d")
_EXIT_CODE: Final = re.compile(r"Exit code (-?\d{1,10})\b")
_LAUNCHED: Final = frozenset({"async_launched", "teammate_spawned"})
_HEAD: Final = 4096  # the harness's own words are short


def mark_of(text: str, outcome: Outcome | None, *, is_error: bool, denied: bool) -> Mark | None:
    """Tell how a call ended: the first rule that fits.

    Parameters
    ----------
    text : str
        First text of the result.
    outcome : Outcome or None
        The structured result, if it is an object.
    is_error : bool
        Whether the result is marked as an error.
    denied : bool
        Whether the line says that permission was denied.

    Returns
    -------
    str or None
        None for a plain result, also of a tool that failed.
    """
    head = text[:_HEAD]
    if denied or (is_error and _REFUSED.match(head)):
        return "refused"
    if is_error:
        if head.startswith(_ABORTED):
            return "aborted"
        if _CANCELLED.match(head):
            return "refused"
        if head.startswith(_NOT_RUN):
            return "failed"
    if _MOVED.match(head) and not is_error:
        return "moved"
    if outcome is None:
        if _STARTED.match(head) and not is_error:
            return "detached"
    else:
        if isinstance(outcome.backgroundTaskId, str):
            return "detached"
        if isinstance(outcome.status, str) and outcome.status in _LAUNCHED:
            return "launched"
        if outcome.retrieval_status == "timeout":
            return "yielded"
    if _YIELDED.match(head):
        return "yielded"
    if is_error and _TIMED_OUT.match(head):
        return "timeout"
    return None


def status_of(mark: Mark | None, *, in_background: bool, waits: bool) -> CommandStatus | None:
    """Give the status that a mark means.

    Parameters
    ----------
    mark : str or None
        Of the result.
    in_background : bool
        Whether the call asked to run in the background: then it was, and not moved there at a limit.
    waits : bool
        Whether the call waits for a job; of others the same words are output.
    """
    if mark == "detached":
        return "background" if in_background else "running"
    if mark == "moved":
        return "running"
    if mark == "launched":
        return "background"
    if mark == "yielded":
        return "running" if waits else None
    return mark


def exit_code(text: str, *, is_error: bool) -> int | None:
    """Give the exit code that a failed command's result begins with; success is not stated by the log."""
    match = _EXIT_CODE.match(text) if is_error else None
    return int(match.group(1)) if match else None


def task_of(text: str, outcome: Outcome | None) -> str | None:
    """Give the id of the job or agent that a call started."""
    if outcome is not None:
        for task in (outcome.backgroundTaskId, outcome.agentId):
            if isinstance(task, str) and task:
                return task
    match = _STARTED.match(text) or _MOVED.match(text[:_HEAD])
    return match.group(1) if match else None


def reported_ms(outcome: Outcome | None) -> int | None:
    """Give the duration that the harness measured, which it does for few tools."""
    if outcome is None:
        return None
    for value, factor in ((outcome.durationMs, 1), (outcome.durationSeconds, 1000), (outcome.totalDurationMs, 1)):
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            return round(value * factor)
    return None
