"""The label of one shell command: the base name of what it runs, seen through wrappers, by TraceLab's rules.

Everything here works on the words of a command as they are written, quotes included: a name that only running the
command could tell, or that is no plain name, has no label but a reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["Label", "is_special", "label_of", "unquoted"]


class Label(NamedTuple):
    """The name of a command, or why it has none (``dynamic``, ``bad`` or ``none``)."""

    name: str | None
    reason: str | None


# Longer than this, no file system has a file of the name. Reserved tokens of a skeleton begin with no such character.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,254}")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_PYTHON: Final = re.compile(r"python(?:\d+(?:\.\d+)?)?")
_MODULE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_DURATION: Final = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_SAME: Final = {"docker-compose": "docker", "pip2": "pip", "pip3": "pip"}
# Words that shape a script; where the grammar takes one for a command, the text was no good.
_KEYWORDS: Final = frozenset(
    (
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "function",
        "select",
    )
)


def _table(lines: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(flags) for name, *flags in map(str.split, lines.strip().splitlines())}


# What runs the command that follows, with those of its flags that take the next word as value.
_WRAPPERS: Final = _table("""
    sudo     -u -g -h -p -C -D -R -T -r -t -U --user --group --host --prompt --chdir --chroot
    env      -u -C -P --unset --chdir
    time     -f -o --format --output
    nohup
    nice     -n --adjustment
    stdbuf   -i -o -e --input --output --error
    command
    exec     -a
    ionice   -c -n --class --classdata
    timeout  -s -k --signal --kill-after
    xargs    -I -n -P -L -s -d -E -a --max-args --max-procs --max-lines --max-chars --delimiter --arg-file
""")
# What runs the command after `run`.
_RUNNERS: Final = _table("""
    uv      --with --with-editable --with-requirements --extra --group --package --python -p --project --directory
    poetry  -C --directory -P --project
    pipenv  --python --pypi-mirror
    pdm     -p --project -s --site-packages
""")
_SPECIAL: Final = frozenset((*_WRAPPERS, *_RUNNERS))
_PYTHON_VALUES: Final = frozenset(("-W", "-X", "--check-hash-based-pycs"))
_UNWRAPS: Final = 16  # nobody writes more wrappers around a command; a machine may


def is_special(name: str) -> bool:
    """Tell whether the label of a command of this name depends on its arguments."""
    return name in _SPECIAL or (name.startswith("python") and _PYTHON.fullmatch(name) is not None)


def unquoted(word: str) -> str:
    """Take off the quotes of a word that is one quoted string."""
    return word[1:-1] if len(word) >= 2 and word[0] == word[-1] and word[0] in "'\"" else word


def label_of(words: Sequence[str], *, heredoc: bool = False) -> Label:
    """Give the label of a command.

    Parameters
    ----------
    words : sequence of str
        Its name and arguments as written, without redirections; assignments in front may be there or not.
    heredoc : bool
        A here-document is its input.

    Examples
    --------
    >>> label_of(["sudo", "-u", "root", "/usr/bin/git", "status"]).name
    'git'
    >>> label_of(["python3", "-m", "pytest"]).name
    'pytest'
    >>> label_of(["$EDITOR", "notes"]).reason
    'dynamic'
    """
    rest = list(words)
    for _ in range(_UNWRAPS):
        while rest and _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        if not rest:
            return Label(None, "none")
        name = _base(rest[0])
        if isinstance(name, Label):
            return name
        if name in _WRAPPERS:
            rest = _unwrapped(name, rest[1:])
        elif name in _RUNNERS:
            inner = _run(name, rest[1:])
            if inner is None:
                return Label(name, None)
            if inner[0] == "-m":  # uv run -m pytest
                return _python(inner, heredoc)
            rest = inner
        elif _PYTHON.fullmatch(name):
            return _python(rest[1:], heredoc)
        else:
            return Label(_SAME.get(name, name), None)
    return Label(None, "bad")


def _base(word: str) -> str | Label:
    """Give the base name of a command's first word, or why there is none."""
    base = word.rsplit("/", 1)[-1]
    if "$" in base or "`" in base:
        return Label(None, "dynamic")
    if not _NAME.fullmatch(base) or base in _KEYWORDS:
        return Label(None, "bad")
    return base


def _skip_flags(words: list[str], valued: frozenset[str]) -> int:
    """Count the flags in front, with the values that stand apart."""
    place = 0
    while place < len(words) and words[place].startswith("-") and words[place] != "-":
        if words[place] == "--":
            return place + 1
        place += 2 if words[place] in valued else 1
    return place


def _unwrapped(name: str, words: list[str]) -> list[str]:
    """Give the command that a wrapper runs."""
    if name == "command":
        # `command -v x` asks for a name and runs nothing: the flag stays, and is no name
        return words[1:] if words and words[0] in ("-p", "--") else words
    place = _skip_flags(words, _WRAPPERS[name])
    if name == "timeout" and place < len(words) and (_DURATION.fullmatch(words[place]) or "$" in words[place]):
        place += 1
    return words[place:]


def _run(name: str, words: list[str]) -> list[str] | None:
    """Give the command of ``uv run X`` and its like; None where the runner does something itself."""
    valued = _RUNNERS[name]
    start = _skip_flags(words, valued)
    if start >= len(words) or words[start] != "run":
        return None
    rest = words[start + 1 :]
    place = 0
    while place < len(rest) and rest[place].startswith("-") and rest[place] not in ("-", "-m", "--module"):
        if rest[place] == "--":
            place += 1
            break
        place += 2 if rest[place] in valued else 1
    rest = rest[place:]
    if not rest:
        return None
    if rest[0] in ("-m", "--module"):
        return ["-m", *rest[1:]]
    # uv runs a file as Python; `-` is a script on its input
    return ["python", *rest] if unquoted(rest[0]).endswith(".py") or rest[0] == "-" else rest


def _python(words: list[str], heredoc: bool) -> Label:
    """Tell a module, a script and the bare interpreter apart."""
    place = 0
    while place < len(words):
        word = words[place]
        if word in ("-m", "--module"):
            module = words[place + 1] if place + 1 < len(words) else ""
            return Label(_SAME.get(module, module), None) if _MODULE.fullmatch(module) else Label("python", None)
        if word == "-" or (not word.startswith("-") and word.endswith(".py")):
            return Label("python-script", None)
        if not word.startswith("-") or word == "-c":
            return Label("python", None)
        place += 2 if word in _PYTHON_VALUES else 1
    return Label("python-script" if heredoc else "python", None)
