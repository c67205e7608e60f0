"""What a forecast of one pause says beside its numbers: which level answers and why, and what is extrapolated."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracestat.forecast.asking import PathLevel
from tracestat.forecast.keys import HISTORY_KEYS
from tracestat.results import RemainingTime

__all__ = ["far_notes", "history_notes", "level_notes", "unused_notes"]


def level_notes(levels: Sequence[PathLevel]) -> list[str]:
    """Say which level answers, where it is not the lowest, and why."""
    missing = next((i for i, level in enumerate(levels) if not level.seen), None)
    if missing is None:
        return []
    level, above = levels[missing], levels[missing - 1]
    value = _words(level)
    if not level.given:
        why = f"{level.key} is not given"
    elif not level.anywhere:
        why = f"{level.key} {value} never seen"
    else:
        why = f"{level.key} {value} never seen with {above.key} {_words(above)}"
    notes = [f"{why}: {'the whole provider' if above.key == 'provider' else above.key} answers"]
    unused = [each.key for each in levels[missing + 1 :] if each.given]
    if unused:
        notes.append(f"not used, since it stands below {level.key}: {', '.join(unused)}")
    return notes


def _words(level: PathLevel) -> str:
    if level.value is None:
        return "none"
    return level.value


def unused_notes(used: Sequence[str], keys: Collection[str]) -> list[str]:
    """Say what was given in vain."""
    vain = [key for key in keys if key not in used]
    return [f"not in the hierarchy that answers ({' > '.join(used)}): {', '.join(vain)}"] if vain else []


def history_notes(missing: Sequence[str], keys: Collection[str]) -> list[str]:
    """Say which history keys would let all hierarchies answer, and which were given in vain."""
    if not missing:
        return []
    vain = [key for key in keys if key in HISTORY_KEYS]
    asked = f"--key {', '.join(missing)} (seconds, or none)"
    if not vain:
        return [f"sharper with {asked}: then the hierarchies that know of earlier pauses answer, too"]
    return [f"not used without {asked}: {', '.join(vain)}"]


def far_notes(told: RemainingTime, elapsed: float, last_seen: float) -> list[str]:
    """Say what is extrapolated."""
    if elapsed >= last_seen:
        return [f"no pause that was fitted lasted so long (the longest: {last_seen:,.0f} s): all is extrapolated"]
    if told.extrapolated:
        words = ", ".join(told.extrapolated).replace("mean_restricted", "the mean")
        return [f"extrapolated beyond {last_seen:,.0f} s, the longest pause that was fitted: {words}"]
    return []
