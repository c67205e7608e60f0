"""What ``tracestat`` says when no command is given: what it is for and what to run next."""

from __future__ import annotations

import tracestat
from tracestat.cli.screen import say

__all__ = ["welcome"]

_HEAD = "tracestat {version}: how long coding agents wait for their tools"
_OWN = """\
On this machine:

{folders}

Run next:

  tracestat summary --mine
"""
_NONE = """\
No logs of agents were found here. Run next, on the bundled sample:

  tracestat hazard

On a trace or logs of your own:

  tracestat summary SOURCE
"""
_TAIL = "All commands: tracestat --help"


def welcome() -> None:
    """Print what there is to read, and the one command to run next."""
    from tracestat.own_logs import log_folders

    found = log_folders()
    width = max((len(folder.shown) for folder in found), default=0)
    lines = [
        f"  {folder.shown:<{width}}  {folder.n_logs:,} {folder.harness} session log{'s' if folder.n_logs > 1 else ''}"
        for folder in found
    ]
    body = _OWN.format(folders="\n".join(lines)) if found else _NONE
    say(f"{_HEAD.format(version=tracestat.__version__)}\n\n{body}\n{_TAIL}")
