"""Which class a tool and a shell command belong to: one table, read from ``tool_classes.toml``.

The table ships with the package and can be replaced by the user's own. It decides two things: the class columns of
the duration tables, and which call of a parallel round gives the pause its key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tracestat.errors import TracestatError
from tracestat.queries import data_path

__all__ = ["Taxonomy", "classify_executables", "classify_tools", "load_taxonomy"]

_OTHER = "other"
# A command that only waits: these names make it `sleep` only when no other name is left.
_SLEEP = "sleep"


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The classes of tools and commands.

    Attributes
    ----------
    order : tuple of str
        Classes from the one that names a mixed pause first to the one that names it last.
    tools : dict of str to str
        Exact tool name to class.
    patterns : tuple of (str, str)
        Name pattern with ``*`` and its class, in the order of the file.
    commands : tuple of (str, frozenset of str)
        Command class and its executables, first match first.
    """

    order: tuple[str, ...]
    tools: dict[str, str]
    patterns: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, frozenset[str]], ...]

    def tool_class(self, tool: str | None) -> str:
        """Give the class of a tool; ``other`` for a name that the table does not have, and for none."""
        if tool is None:
            return _OTHER
        if tool in self.tools:
            return self.tools[tool]
        return next((cls for pattern, cls in self.patterns if fnmatchcase(tool, pattern)), _OTHER)

    def rank(self, tool_class: str) -> int:
        """Give the place of a class in the order of keys, from 0."""
        return self.order.index(tool_class)

    def command_class(self, executables: Sequence[str]) -> str:
        """Give the class of a shell command from the executables that it runs."""
        names = set(executables)
        for cls, members in self.commands:
            if cls == _SLEEP:
                if _SLEEP in names and names <= members:
                    return cls
            elif names & members:
                return cls
        return _OTHER


def load_taxonomy(path: Path | None = None) -> Taxonomy:
    """Read a class file.

    Parameters
    ----------
    path : Path, optional
        A TOML file of the form of the shipped ``tool_classes.toml``; the shipped one by default.

    Raises
    ------
    TracestatError
        The file cannot be read, is not TOML, or names a class that is not in its ``order``.

    Examples
    --------
    >>> table = load_taxonomy()
    >>> table.tool_class("Bash"), table.tool_class("mcp__github__search"), table.tool_class("bash")
    ('shell', 'mcp', 'other')
    >>> table.command_class(["cd", "pytest", "tail"]), table.command_class(["cd", "sleep"])
    ('test', 'sleep')
    """
    source = path or data_path("tool_classes.toml")
    try:
        content = tomllib.loads(source.read_text(encoding="utf-8"))
        order = tuple(str(name) for name in content["order"])
        tools: dict[str, str] = {}
        patterns: list[tuple[str, str]] = []
        for cls, names in content["tools"].items():
            if cls not in order:
                raise TracestatError(f"{source.name}: class {cls!r} is not in `order`: add it there")
            for name in names:
                if "*" in name:
                    patterns.append((name, cls))
                else:
                    tools[name] = cls
        commands = tuple((cls, frozenset(names)) for cls, names in content["commands"].items())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TracestatError(f"{source.name} cannot be read as a class file ({reason})") from None
    except (KeyError, TypeError, AttributeError):
        raise TracestatError(
            f"{source.name} is no class file: it needs `order`, [tools] and [commands] with lists of names"
        ) from None
    if _OTHER not in order:
        raise TracestatError(f"{source.name}: `order` lacks the class 'other', which unknown tools get: add it")
    return Taxonomy(order, tools, tuple(patterns), commands)


@cache
def _shipped() -> Taxonomy:
    return load_taxonomy()


def classify_tools(names: Sequence[str | None], taxonomy: Taxonomy | None = None) -> list[tuple[str | None, str, int]]:
    """Give (tool, class, rank) for each name, rank 0 being the class that names a mixed pause first."""
    table = taxonomy or _shipped()
    return [(name, cls := table.tool_class(name), table.rank(cls)) for name in names]


def classify_executables(lists: Sequence[str], taxonomy: Taxonomy | None = None) -> list[tuple[str, str]]:
    """Give (executables, command class) for each list of executables joined by blanks."""
    table = taxonomy or _shipped()
    return [(text, table.command_class(text.split())) for text in lists]
