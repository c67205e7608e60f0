"""Names that say nothing about anybody: tools of the known harnesses, and common public executables."""

from __future__ import annotations

from typing import Final

__all__ = ["PUBLIC_EXECUTABLES", "PUBLIC_TOOLS"]

PUBLIC_TOOLS: Final[frozenset[str]] = frozenset()
PUBLIC_EXECUTABLES: Final[frozenset[str]] = frozenset()
