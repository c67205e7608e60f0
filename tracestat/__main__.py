"""``python -m tracestat`` is the same as ``tracestat``."""

from __future__ import annotations

import sys

from tracestat.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
