"""What every table and every chart says about itself: what it is, how it was made, and what was left out.

The three stated choices are the unit, the clock and the rows; a synthetic trace says so in every title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from tracestat.charts.words import count, counted, joined, plain, shorten
from tracestat.errors import UsageError
from tracestat.results import Group, Head, Interval

__all__ = [
    "SYNTHETIC",
    "arrange",
    "both_clusterings",
    "by_words",
    "clustered",
    "cut_line",
    "group_notes",
    "headline_method",
    "in_words",
    "key_words",
    "left_out",
    "made",
    "name_of",
    "reasons",
    "shown_quantiles",
    "titled",
    "units_of",
]

SYNTHETIC = "SYNTHETIC"
GroupT = TypeVar("GroupT", bound=Group)
SORTS = ("n", "time", "name")
_MOST_NAMED = 4
_LONGEST_IN_WORDS = 48
_QUANTILES = (0.5, 0.9, 0.99)
_KEYS = {"tool_class": "tool class", "command_class": "command class", "command_skeleton": "command skeleton"}
_EXCLUDED = {
    "negative": "negative durations",
    "copies": "copies",
    "human": "human waits",
    "background": "background launches",
    "refused": "refused",
    "uninformative": "censored at zero",
    "below_first_edge": "ended below the first edge",
    "zero_inflated": "on a clock that reads zero",
    "nonpositive": "zero or negative",
    "tool": "tool rows",
    "covered": "steps within others",
    "untimed_rounds": "rounds without a time",
    "untimed_pauses": "pauses without a begin",
    "untimed_calls": "calls without a begin",
}
_ONE = {
    "negative": "negative duration",
    "copies": "copy",
    "human": "human wait",
    "background": "background launch",
    "covered": "step within another",
    "untimed_rounds": "round without a time",
    "untimed_pauses": "pause without a begin",
    "untimed_calls": "call without a begin",
}
_CLUSTERINGS = ("session", "developer")
_UNITS = {"pause": "pauses", "call": "calls", "command": "commands"}


def titled(title: str, head: Head) -> str:
    """Put the mark of invented data before a title."""
    return f"{SYNTHETIC}: {title}" if head.synthetic else title


def key_words(name: str) -> str:
    """Give a key as words.

    Examples
    --------
    >>> key_words("command_skeleton"), key_words("asked_limit_seconds")
    ('command skeleton', 'asked limit seconds')
    """
    return _KEYS.get(name, plain(name).replace("_", " "))


def by_words(head: Head) -> str:
    """Say how the rows were grouped."""
    return f"by {', '.join(key_words(name) for name in head.by)}" if head.by else "all together"


def name_of(group: Group, *, without: str | None = None) -> str:
    """Give the key of a group as one line that is safe for a terminal.

    Parameters
    ----------
    group : Group
    without : str, optional
        A key that stands elsewhere.

    Notes
    -----
    The unit, where it tells groups apart, comes last: it is no key that anyone asked for.
    """
    keys = sorted(group.key.items(), key=lambda item: item[0] == "unit")
    parts = [_value(value) for key, value in keys if key != without]
    return " / ".join(parts) or "all"


def _value(value: object) -> str:
    return "(none)" if value is None else plain(value) or "(empty)"


def in_words(group: Group) -> str:
    """Give the name of a group for a sentence or a title, where it is cut in the middle if it is long."""
    return shorten(name_of(group), _LONGEST_IN_WORDS)


def left_out(head: Head) -> str:
    """Count what takes no part, and say why."""
    parts = reasons(head.excluded)
    return f"left out: {parts}" if parts else "nothing left out"


def reasons(excluded: Mapping[str, int]) -> str:
    """Count what was left out by reason, in the words of the captions.

    Examples
    --------
    >>> reasons({"copies": 1214, "human": 1, "negative": 0})
    '1,214 copies, 1 human wait'
    """
    return ", ".join(
        counted(number, _ONE.get(reason, words), words)
        for reason, number in excluded.items()
        for words in (_EXCLUDED.get(reason, plain(reason).replace("_", " ")),)
        if number
    )


def made(head: Head, *, units: bool = True) -> list[str]:
    """Say how a result was made, in full lines.

    Parameters
    ----------
    head : Head
    units : bool
        Name the unit; False where every group names its own.
    """
    choices = [head.unit] if units and head.unit else []
    choices += [f"{head.clock} clock"] if head.clock else []
    choices += ["all rows" if head.rows == "all" else f"{head.rows} rows"]
    lines = [f"{', '.join(choices)}; {left_out(head)}"]
    limits = [f"where {plain(head.where)}"] if head.where else []
    limits += [f"since {plain(head.since)}"] if head.since else []
    limits += [f"until {plain(head.until)}"] if head.until else []
    if limits:
        lines.append("; ".join([*limits, f"times in {plain(head.zone)}"] if head.since or head.until else limits))
    if head.definition != "tracestat":
        lines.append(
            f"definition {plain(head.definition)}: calls, effective clock, positive only, copies kept, no intervals"
        )
    trace = head.trace
    lines.append(
        f"trace {plain(trace.path)}: {counted(trace.rounds, 'round')}, {counted(trace.tool_calls, 'call')}, "
        f"{counted(trace.rejected, 'line')} rejected"
    )
    return lines


def units_of(head: Head) -> str:
    """Give the unit in the plural."""
    return _UNITS.get(head.unit or "", "rows")


def arrange(groups: Sequence[GroupT], sort: str, top: int) -> tuple[list[GroupT], str | None]:
    """Choose which groups to show, and in which order.

    Parameters
    ----------
    groups : sequence of Group
    sort : {"n", "time", "name"}
        Most rows first, most time first, or by label.
    top : int
        How many at most.

    Returns
    -------
    shown : list of Group
    line : str or None
        How to see all, where some are cut.

    Raises
    ------
    UsageError
        An unknown order, or ``top`` below 1.
    """
    if sort not in SORTS:
        raise UsageError(f"--sort {plain(sort)}: choose one of {', '.join(SORTS)}")
    if top < 1:
        raise UsageError(f"--top {top}: give at least 1")
    # pauses and calls of one key stay beside each other
    kin: dict[str, list[GroupT]] = {}
    for group in groups:
        kin.setdefault(repr([(key, value) for key, value in group.key.items() if key != "unit"]), []).append(group)
    families = list(kin.values())
    if sort == "name":
        families.sort(key=lambda some: [_natural(value) for key, value in some[0].key.items() if key != "unit"])
    else:
        families.sort(key=lambda some: -max(group.n if sort == "n" else group.total_seconds for group in some))
    ordered = [group for some in families for group in some]
    shown = ordered[:top]
    return shown, cut_line(len(shown), len(ordered), "groups")


def _natural(value: object) -> tuple[int, float, str]:
    """Order numbers by size, everything else by its text, and what is missing last."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, str(value)


def cut_line(shown: int, total: int, what: str) -> str | None:
    """Say how to see all of a table that was cut.

    Examples
    --------
    >>> cut_line(12, 84, "groups"), cut_line(3, 3, "groups")
    ('12 of 84 groups; --top 84 shows all', None)
    """
    return None if shown == total else f"{count(shown)} of {count(total)} {what}; --top {total} shows all"


def group_notes(groups: Iterable[Group]) -> list[str]:
    """Give each note once, with the groups that it is about."""
    whose: dict[str, list[str]] = {}
    for group in groups:
        for note in dict.fromkeys(group.notes):
            # a count in brackets stands in the table as well; without it the groups share one line
            whose.setdefault(re.sub(r" \(\d+\)", "", plain(note)), []).append(in_words(group))
    together: dict[tuple[str, ...], list[str]] = {}
    for note, names in whose.items():
        together.setdefault(tuple(names), []).append(note)
    return [f"{joined(list(names), _MOST_NAMED)}: {'; '.join(notes)}" for names, notes in together.items()]


def shown_quantiles(quantiles: Iterable[Mapping[str, Interval]]) -> list[str]:
    """Choose the quantiles that a table has room for, by size."""
    names = sorted({name for item in quantiles for name in item}, key=float)
    usual = [name for name in names if float(name) in _QUANTILES]
    return names if len(names) <= len(_QUANTILES) else usual or names[: len(_QUANTILES)]


def headline_method(items: Iterable[Interval | None]) -> str | None:
    """Say what the brackets are, and where the other clustering stands; None where no number has any."""
    kept = list(items)
    found = _methods(kept)
    if found is None:
        return None
    both = any(item is not None and item.session is not None and item.developer is not None for item in kept)
    more = "; --json and -o FILE.json hold both clusterings" if both else ""
    return f"[ ] is the {found[0]} interval ({found[1]}){more}"


def both_clusterings(items: Iterable[Interval | None]) -> str | None:
    """Say what the brackets are where both clusterings stand side by side; None where no number has any."""
    found = _methods(items)
    return None if found is None else f"[ ] are {found[0]} intervals by clusters; the headline is {found[1]}"


def clustered(items: Iterable[tuple[str, Interval | None]]) -> str | None:
    """Say for a chart by which clusters the intervals of each group are; None where none has any.

    Examples
    --------
    >>> clustered([("claude", Interval(1, 0, 2, 0.95, "developer CV3")), ("codex", Interval(1, 0, 2, 0.95, "exact"))])
    '95 % intervals clustered by developer'
    >>> clustered([("a", Interval(1, 0, 2, 0.95, "developer CV3")), ("b", Interval(1, 0, 2, 0.95, "session CV3"))])
    '95 % intervals clustered by developer (a), session (b)'
    """
    whose: dict[str, dict[str, None]] = {}
    level = 0.95
    for name, item in items:
        kind = item.method.partition(" ")[0] if item is not None else ""
        if item is not None and kind in _CLUSTERINGS and (item.low, item.high) != (None, None):
            whose.setdefault(kind, {})[name] = None
            level = item.level
    if not whose:
        return None
    parts = [
        kind if len(whose) == 1 else f"{kind} ({joined(list(names), _MOST_NAMED)})" for kind, names in whose.items()
    ]
    return f"{100 * level:g} % intervals clustered by {', '.join(parts)}"


def _methods(items: Iterable[Interval | None]) -> tuple[str, str] | None:
    kept = [item for item in items if item is not None and item.method and (item.low, item.high) != (None, None)]
    if not kept:
        return None
    methods = " or ".join(dict.fromkeys(plain(item.method) for item in kept))
    return f"{100 * kept[0].level:g} %", methods
