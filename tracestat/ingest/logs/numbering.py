"""The private names of a store, numbered by first appearance: ``custom_N``, ``custom_tool_N``, ``custom_model_N``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa

from tracestat.ingest.batch import Batch
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

    def apply_to(self, batch: Batch) -> Batch:
        """Give a batch of tables with its tokens replaced."""
        return replace(
            batch,
            rounds=_mapped(batch.rounds, "model", lambda name: self._of("model", name)),
            calls=self._calls(batch.calls),
            events=_mapped(batch.events, "tool_name", lambda name: self._of("tool", name)),
        )

    def _calls(self, calls: pa.Table) -> pa.Table:
        calls = _mapped(calls, "tool_name", lambda name: self._of("tool", name))
        calls = _mapped(calls, "command_skeleton", self._skeleton)
        lists = calls["executables"].to_pylist()
        if not any(lists):
            return calls
        named = [None if names is None else [self._of("executable", name) for name in names] for names in lists]
        at = calls.schema.get_field_index("executables")
        return calls.set_column(at, calls.schema.field(at), pa.array(named, calls.schema.field(at).type))

    def _skeleton(self, skeleton: str) -> str:
        return " ".join(self._of("executable", word) or "" for word in skeleton.split(" "))

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
            skeleton=self._skeleton(shell.skeleton),
        )


def _mapped(table: pa.Table, column: str, change: Callable[[str], str | None]) -> pa.Table:
    """Change the distinct values of a column, of which a table repeats few."""
    at = table.schema.get_field_index(column)
    coded = table.column(at).combine_chunks().dictionary_encode()
    values = [change(value) for value in coded.dictionary.to_pylist()]
    if values == coded.dictionary.to_pylist():
        return table
    return table.set_column(at, table.schema.field(at), pa.array(values, pa.string()).take(coded.indices))
