"""What the tables and the chart of ``forecast evaluate`` call things: methods, splits, cuts."""

from __future__ import annotations

from tracestat.charts.words import MISSING, bounds, counted, plain, slope
from tracestat.results import Interval, SplitCounts

__all__ = ["SPLITS", "cut_interval", "group_words", "label_of", "method_words", "rows_words"]

SPLITS = {"time": "time split", "developer": "leave-developer-out"}
_SHORT = {"tool_class": "class", "command_skeleton": "skeleton"}


def cut_interval(item: Interval | None) -> str:
    """Write a cut in percent with its interval.

    Examples
    --------
    >>> cut_interval(Interval(18.43, 10.2, 30.1)), cut_interval(Interval(-3.61, None, None)), cut_interval(None)
    ('18.4 [10, 30]', '-3.6', '-')
    """
    if item is None or item.value is None:
        return MISSING
    pair = bounds((item.low, item.high), lambda x: slope(x, 0))
    return slope(item.value, 1) if pair == MISSING else f"{slope(item.value, 1)} {pair}"


def method_words(name: str, ours: str = "") -> str:
    """Shorten the keys in the name of a method, and say which one is ours.

    Examples
    --------
    >>> method_words("tool_class > command_skeleton"), method_words("a > b", "a > b")
    ('class > skeleton', 'ours')
    """
    if name == ours:
        return "ours"
    return plain(" > ".join(_SHORT.get(part, part.replace("_", " ")) for part in name.split(" > ")))


def group_words(provider: str, split: str) -> str:
    """Name a split of a provider."""
    return f"{plain(provider) or '(none)'}, {SPLITS[split]}"


def label_of(provider: str, split: str) -> str:
    """Name a split of a provider where there is little room."""
    return f"{plain(provider) or '(none)'}, {split}"


def rows_words(item: SplitCounts) -> str:
    """Say what a split trains on and judges by."""
    least = "" if item.folds == 1 else f", or more, in each of {item.folds} folds"
    parts = [
        f"trained on {counted(item.train_rows, 'row')} of {counted(item.train_sessions, 'session')}, "
        f"{counted(item.train_developers, 'developer')}{least}",
        f"judged by {counted(item.rows, 'row')} of {counted(item.sessions, 'session')}, "
        f"{counted(item.developers, 'developer')}",
    ]
    if item.pinball_left_out:
        parts.append(f"{counted(item.pinball_left_out, 'censored row')} without a pinball loss")
    if item.developers_without_training and item.split == "time":
        parts.append(f"{counted(item.developers_without_training, 'developer')} without a row to train on")
    return "; ".join(parts)
