"""The keys that a forecast may stand on: all of them are known when a pause starts.

How a pause ended, what came back last and anything else that is known only afterwards is no key, and asking for it is
an error.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from tracestat.errors import UsageError

__all__ = [
    "BANDED",
    "BAND_EDGES",
    "HISTORY_KEYS",
    "KEYS",
    "PATHS",
    "POOL_BASE",
    "band_labels",
    "band_of",
    "check_path",
]

# lengths of earlier pauses that had ended before this one started; None where there was none
HISTORY_KEYS = ("recent", "previous", "previous_in_class", "previous_in_session")
BANDED = HISTORY_KEYS
KEYS = (
    "tool_class",
    "tool",
    "command_class",
    "command_skeleton",
    "developer",
    "project",
    "model",
    "permission_mode",
    "asked_limit_seconds",
    "n_calls",
    "context_band",
    "hour",
    "weekday",
    *HISTORY_KEYS,
)
BAND_EDGES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0)
# what "ours" pools, see `tracestat.forecast.pool`: what runs and whose it is; what came before; what came before here;
# how many calls must end; which tool, since tools of one class can yield at other times. The first serves alone where
# nothing is known of earlier pauses.
PATHS = (
    ("tool_class", "command_skeleton", "developer"),
    ("tool_class", "recent", "previous", "previous_in_class"),
    ("tool_class", "previous_in_session"),
    ("tool_class", "n_calls"),
    ("tool_class", "tool"),
)
POOL_BASE = ("tool_class",)


def band_of(seconds: float | None) -> int:
    """Give the band of an earlier pause's length: 0 where there was none, then from the shortest up.

    Examples
    --------
    >>> band_of(None), band_of(0.0), band_of(0.2), band_of(99.0)
    (0, 1, 5, 11)
    """
    return 0 if seconds is None else 1 + bisect_right(BAND_EDGES, seconds)


def band_labels() -> tuple[str | None, ...]:
    """Name the bands; None stands for no earlier pause.

    Examples
    --------
    >>> band_labels()[:3]
    (None, '< 0.02 s', '0.02-0.05 s')
    """
    inner = (f"{a:g}-{b:g} s" for a, b in pairwise(BAND_EDGES))
    return (None, f"< {BAND_EDGES[0]:g} s", *inner, f">= {BAND_EDGES[-1]:g} s")


def check_path(keys: str | Sequence[str]) -> tuple[str, ...]:
    """Check the keys of a hierarchy.

    Parameters
    ----------
    keys : str or sequence of str
        From the top; a text holds them joined by commas.

    Raises
    ------
    UsageError
        A key that is not known when a pause starts, is unknown, or stands there twice, or none at all.

    Examples
    --------
    >>> check_path("tool_class, developer")
    ('tool_class', 'developer')
    """
    path = tuple(part.strip() for part in (keys.split(",") if isinstance(keys, str) else keys))
    if not path or path == ("",):
        raise UsageError(f"--keys: name at least one of {', '.join(KEYS)}")
    for key in path:
        if key == "provider":
            raise UsageError("--keys provider: a forecast is made for each provider by itself; leave it out")
        if key not in KEYS:
            raise UsageError(f"--keys {key}: not known when a pause starts, or no key; use {', '.join(KEYS)}")
        if path.count(key) > 1:
            raise UsageError(f"--keys {','.join(path)}: {key} stands there twice")
    return path
