"""What ``tracestat`` says when no command is given: what it is for and what to run next."""

from __future__ import annotations

import tracestat
from tracestat.cli.screen import say

__all__ = ["welcome"]

_TEXT = """\
tracestat {version}: how long coding agents wait for their tools

Run next, on the bundled sample:

  tracestat hazard

On a trace of your own:

  tracestat ingest SOURCE -o trace.duckdb
  tracestat hazard trace.duckdb

All commands: tracestat --help
"""


def welcome() -> None:
    """Print what to run next."""
    say(_TEXT.format(version=tracestat.__version__))
