"""Claude Code session logs, versions 1.0 to 2.1: one JSON object per line, one file per session or sub-agent."""

from __future__ import annotations

from typing import Any, Final

from tracestat.ingest.logs.claude_facts import Fact
from tracestat.ingest.logs.claude_read import facts_of
from tracestat.ingest.logs.claude_rounds import rounds_of
from tracestat.ingest.logs.format import Format

__all__ = ["CLAUDE"]

# What a line of a type has besides: names that other harnesses do not give together.
_MARKS: Final[dict[str, tuple[str, ...]]] = {
    "assistant": ("message", "uuid", "sessionId"),
    "user": ("message", "uuid", "sessionId"),
    "progress": ("data", "uuid", "sessionId"),
    "system": ("subtype", "uuid", "sessionId"),
    "attachment": ("attachment", "uuid"),
    "queue-operation": ("operation", "sessionId"),
    "file-history-snapshot": ("messageId", "snapshot"),
    "file-history-delta": ("messageId",),
    "summary": ("summary", "leafUuid"),
    "last-prompt": ("sessionId",),
    "mode": ("mode", "sessionId"),
    "permission-mode": ("permissionMode", "sessionId"),
    "ai-title": ("sessionId",),
    "custom-title": ("sessionId",),
    "agent-name": ("sessionId",),
    "bridge-session": ("sessionId",),
}


def _recognises(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    marks = _MARKS.get(kind) if isinstance(kind, str) else None
    return marks is not None and all(mark in value for mark in marks)


CLAUDE: Final = Format(
    kind="Claude Code log",
    slug="claude-code",
    document=False,
    fact=Fact,
    recognises=_recognises,
    facts=facts_of,
    rounds=rounds_of,
)
