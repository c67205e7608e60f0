"""Where the harnesses on this machine keep the logs of this user."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tracestat.errors import TracestatError

__all__ = ["LogFolder", "log_folders", "require_log_folders"]


@dataclass(frozen=True, slots=True)
class LogFolder:
    """A folder with logs.

    Attributes
    ----------
    harness : str
        Whose logs.
    place : Path
        Where.
    shown : str
        As a person writes it; it names no user.
    n_logs : int
        Session logs in it, those of sub-agents not counted.
    """

    harness: str
    place: Path
    shown: str
    n_logs: int


def log_folders() -> list[LogFolder]:
    """Find the folders with logs of this user; those without any log are left out.

    ``CLAUDE_CONFIG_DIR`` and ``CODEX_HOME`` are heeded, as the harnesses do.
    """
    found = []
    for harness, place, shown in _candidates():
        try:
            n_logs = sum(1 for log in place.rglob("*.jsonl*") if not log.name.startswith("agent-"))
        except OSError:
            continue
        if n_logs:
            found.append(LogFolder(harness, place, shown, n_logs))
    return found


def require_log_folders() -> list[LogFolder]:
    """Give the folders with logs of this user.

    Raises
    ------
    TracestatError
        There is none.
    """
    found = log_folders()
    if not found:
        looked = ", ".join(shown for _, _, shown in _candidates())
        raise TracestatError(f"no logs of agents are here (looked in {looked}): name a TRACE instead of --mine")
    return found


def _candidates() -> list[tuple[str, Path, str]]:
    home = Path.home()
    claude = os.environ.get("CLAUDE_CONFIG_DIR")
    codex = os.environ.get("CODEX_HOME")
    claude_homes = (
        [(Path(claude), "$CLAUDE_CONFIG_DIR")]
        if claude
        else [(home / ".claude", "~/.claude"), (home / ".config" / "claude", "~/.config/claude")]
    )
    codex_home, codex_shown = (Path(codex), "$CODEX_HOME") if codex else (home / ".codex", "~/.codex")
    return [
        *(("Claude Code", place / "projects", f"{shown}/projects") for place, shown in claude_homes),
        *(("Codex", codex_home / folder, f"{codex_shown}/{folder}") for folder in ("sessions", "archived_sessions")),
    ]
