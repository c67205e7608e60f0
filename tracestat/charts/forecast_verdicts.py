"""How the verdicts of ``forecast evaluate`` are put into words: on how many comparisons, by which clusters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracestat.charts.forecast_words import method_words
from tracestat.charts.words import counted, joined
from tracestat.results import Comparison

__all__ = ["against_words", "measure_words", "verdict_words"]

_MOST_NAMED = 4


def verdict_words(some: Iterable[Comparison]) -> str:
    """Count the verdicts, and name what ours is worse than; beside them what each interval by itself would say.

    Examples
    --------
    >>> from tracestat.results import Interval
    >>> start = ("claude", "time", "tool", "log_score", None, 0.0, 2.0, 2.1)
    >>> words = verdict_words([Comparison(*start, Interval(0.1, 0.01, 0.19), None, 0.03, 0.06, "cannot tell")])
    >>> words.partition("; ")[0], words.rpartition(": ")[2]
    ('better in 0 of 1 comparison, cannot tell in 1, worse in 0', 'better in 1, worse in 0')
    >>> verdict_words([])
    'too few rows to test any comparison'
    """
    every = list(some)
    found = [item for item in every if item.p_value is not None]
    if not found:
        return "too few rows to test any comparison"
    said = [item.verdict for item in found]
    alone = [item.verdict_alone for item in found]
    text = (
        f"better in {said.count('better')} of {counted(len(found), 'comparison')}, cannot "
        f"tell in {said.count('cannot tell')}, worse in {said.count('worse')}; each by itself, not adjusted for their "
        f"number: better in {alone.count('better')}, worse in {alone.count('worse')}"
    )
    worse = [item for item in found if "worse" in (item.verdict, item.verdict_alone)]
    if worse:
        # those that stay worse when adjusted have the smallest p
        worse.sort(key=lambda item: item.p_value or 0.0)
        named = [f"{method_words(item.baseline)} ({measure_words(item)} after {item.elapsed:g} s)" for item in worse]
        text += f": {joined(named, _MOST_NAMED)}"
    if len(found) < len(every):
        text += f"; {len(every) - len(found)} more have too few rows to be tested"
    return text


def measure_words(item: Comparison) -> str:
    """Name the loss that two methods are compared by."""
    if item.measure == "log_score":
        return "log score"
    what = "ln T" if item.measure == "pinball_log" else "seconds"
    return f"p {f'{item.quantile:g}'.removeprefix('0')} {what}"


def against_words(some: Sequence[Comparison]) -> str:
    """Say by which measures ours is better than every baseline, and how the verdicts at all landmarks fall."""
    start = [item for item in some if item.elapsed == 0 and item.gain.value is not None]
    names = dict.fromkeys(map(measure_words, start))
    clean = [name for name in names if all(item.verdict == "better" for item in start if measure_words(item) == name)]
    said = f"at once, ours is better than every baseline by {joined(clean, len(names))}; " if clean else ""
    kinds = {item.gain.method.partition(" ")[0] for item in some if item.p_value is not None}
    how = "by session, which does not cover how developers differ; " if kinds == {"session"} else "by developer; "
    return f"{how if kinds else ''}{said}over all landmarks {verdict_words(some)}"
