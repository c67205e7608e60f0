"""The seconds that a command asks to sleep, where nothing else in it takes time.

A sleep is what a call asked for, like a limit, only if the rest of the command is over in a moment: looking at a log,
printing, asking whether a server is up. In calls of published logs such a command ended within a second or two after
its sleeps; one that runs anything else (a build, ``gh``, ``ssh``) did not, so for those the answer is None. So it is
where one cannot tell how often, or whether, the sleep runs: in a loop, a branch, a subshell or a background job, after
``||``, or after ``&&`` behind a command that answers yes or no. What an earlier ``&`` left running may hold the call
open, so that is None, too.
"""

from __future__ import annotations

import re
from typing import Final

from tracestat.ingest.logs.shell_grammar import Syntax, UnreadableShellError, syntax
from tracestat.ingest.logs.shell_labels import unquoted
from tracestat.ingest.logs.shell_skeleton import Item, items_of

__all__ = ["sleep_of"]

_OPERAND: Final = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})([smhd]?)")
_UNIT: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# Over in a moment; those that answer yes or no are apart.
_ANSWERS: Final = frozenset(("curl", "diff", "false", "grep", "kill", "lsof", "pgrep", "pkill", "rg", "test"))
_LOOKS: Final = """
    awk basename cat cd cut date dirname echo exit head hostname jq ls nl printf ps pwd sed sort stat tail tee tmux tr
    true uname uniq wc which whoami
"""
_QUICK: Final = _ANSWERS.union(_LOOKS.split())
_FOLLOWS: Final = re.compile(r"-[a-zA-Z0-9]*[fF]|--follow.*|--retry")


def sleep_of(text: str) -> float | None:
    """Give the seconds that a command sleeps for, None if that is not what it takes.

    Examples
    --------
    >>> sleep_of("sleep 1.5m && tail -5 build.log")
    90.0
    >>> sleep_of("make && sleep 5") is None
    True
    """
    if "sleep" not in text:
        return None
    try:
        read = syntax(text)
    except UnreadableShellError:
        return None
    items, labels = items_of(read)
    if any(label != "sleep" and label not in _QUICK for label in labels):
        return None
    total = 0.0
    sleeps = 0
    sure = True  # whether what follows runs
    for item in items:
        if item.text in ("&", "!") or (item.text.startswith("<") and item.text != "<assign>"):
            return None
        if item.text == ";":
            sure = True
        elif item.text == "||" or item.text in _ANSWERS:
            sure = False
        elif item.text == "tail" and any(_FOLLOWS.fullmatch(word) for word in _words(read, item)):
            return None
        elif item.text == "sleep":
            seconds = _seconds(_words(read, item))
            if seconds is None or not sure:
                return None
            total += seconds
            sleeps += 1
    # a sleep inside a substitution is not among the items
    return total if 0 < sleeps == labels.count("sleep") else None


def _words(read: Syntax, item: Item) -> list[str]:
    """Give the words of a command, its name first."""
    if item.node is None:
        return []
    return [read.text(node) for field in ("name", "argument") for node in item.node.children_by_field_name(field)]


def _seconds(words: list[str]) -> float | None:
    """Add up the operands of a sleep; None where only running it could tell, or behind a wrapper."""
    if len(words) < 2 or words[0].rsplit("/", 1)[-1] != "sleep":
        return None
    found = [_OPERAND.fullmatch(unquoted(word)) for word in words[1:]]
    total = 0.0
    for match in found:
        if match is None:
            return None
        total += float(match[1]) * _UNIT[match[2]]
    return total
