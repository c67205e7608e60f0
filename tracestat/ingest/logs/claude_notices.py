"""Notices of background jobs and agents, which the harness queues as a prompt of its own when one ends."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NOTICE", "notices_of"]

NOTICE: Final = "<task-notification>"
_FIELD: Final = re.compile(r"<(task-id|tool-use-id|status)>\s*([^<]{1,200}?)\s*</\1>")
# behind these stands what the job said, which may be anything
_WORDS: Final = re.compile(r"<(?:summary|result|event)>")
_NOT_OVER: Final = frozenset({"running", "pending", "in_progress", "started"})


def notices_of(text: str) -> list[tuple[str, str | None]]:
    """Find the jobs that a text says are over.

    Parameters
    ----------
    text : str
        Of a queued prompt, or of a user line.

    Returns
    -------
    list of (str, str or None)
        Id of the job, and of the call that started it where the notice names one. A notice without a status is an
        event of a job that goes on.
    """
    text = text.lstrip()
    if not text.startswith(NOTICE):
        return []
    found: list[tuple[str, str | None]] = []
    for notice in text.split(NOTICE)[1:]:
        fields: dict[str, str] = dict(_FIELD.findall(_WORDS.split(notice, maxsplit=1)[0]))
        if "task-id" in fields and fields.get("status", "running") not in _NOT_OVER:
            found.append((fields["task-id"], fields.get("tool-use-id")))
    return found
