"""The private names of a store, numbered by first appearance: ``custom_N``, ``custom_tool_N``, ``custom_model_N``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from tracestat.ingest.logs.model import Round, Shell
from tracestat.ingest.logs.names import TOKEN

__all__ = ["Numbering"]

_PREFIX: Final = {"executable": "custom_", "tool": "custom_tool_", "model": "custom_model_"}


class Numbering:
    """Turns tokens of private names into numbered ones.

    Parameters
    ----------
    taken : mapping of str to int, optional
        The largest number that sources of other kinds use, by kind (``executable``, ``tool``): theirs mean other
        names.

    Attributes
    ----------
    numbers : dict of (str, str) to str
        (kind, token) to numbered name.
    """

    def __init__(self, taken: Mapping[str, int] | None = None) -> None:
        self._next = {kind: (taken or {}).get(kind, 0) for kind in _PREFIX}
        self.numbers: dict[tuple[str, str], str] = {}

    def apply(self, rounds: Iterable[Round]) -> None:
        """Replace the tokens of rounds, in their order."""
        for made in rounds:
            made.model = self._of("model", made.model)
            for call in made.calls:
                call.tool = self._of("tool", call.tool)
                if call.shell is not None:
                    call.shell = self._shell(call.shell)
            for event in made.events:
                event.tool = self._of("tool", event.tool)

    def _of(self, kind: str, name: str | None) -> str | None:
        if name is None or not TOKEN.fullmatch(name):
            return name
        known = self.numbers.get((kind, name))
        if known is None:
            self._next[kind] += 1
            known = self.numbers[kind, name] = f"{_PREFIX[kind]}{self._next[kind]}"
        return known

    def _shell(self, shell: Shell) -> Shell:
        if not any(TOKEN.fullmatch(name) for name in shell.executables) and "?" not in shell.skeleton:
            return shell
        return replace(
            shell,
            executables=tuple(self._of("executable", name) or "" for name in shell.executables),
            skeleton=" ".join(self._of("executable", word) or "" for word in shell.skeleton.split(" ")),
        )
