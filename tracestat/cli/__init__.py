"""The command line: one short module per command that parses, calls the api and prints.

Importing this package stays cheap, so that ``tracestat --help`` answers at once: typer is the only dependency
imported before a command runs.
"""

from __future__ import annotations

from tracestat.cli.entry import main

__all__ = ["main"]
