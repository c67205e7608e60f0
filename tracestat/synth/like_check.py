"""Reads the figures off what was written, with nothing but counts and sums: the estimators are not asked.

What the truth file states must not come from the code that it is there to check.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracestat.synth.like_durations import mean_left
from tracestat.synth.like_layout import eta_of

__all__ = ["EDGES", "HOLES", "Seen", "slope_of"]

Array = NDArray[np.float64]

EDGES: Array = np.array([
    0.1285, 0.2435, 0.4625, 0.8755, 1.6605, 3.1485, 5.9685, 11.3135, 21.4485, 40.6595, 77.0805, 146.1245,
    277.0125, 525.1435, 995.5325, 1887.2665, 3577.7595, 6782.4855, 12857.8005,
])  # fmt: skip
HOLES = {
    "claude": ((4.975, 5.25), (119.4, 126.0), (597.0, 630.0)),
    "codex": ((0.995, 1.5), (4.975, 5.5), (9.95, 10.5), (29.85, 31.5)),
}
LEAST_EVENTS, LEAST_BINS, LEAST_SESSIONS, LEAST_AT_RISK = 100, 5, 20, 30
APPROVALS = ("AskUserQuestion", "ExitPlanMode")


@dataclass(slots=True)
class _Pauses:
    ms: array[int] = field(default_factory=lambda: array("q"))
    session: array[int] = field(default_factory=lambda: array("q"))


class Seen:
    """Collects what is written; at the end gives each figure.

    Attributes
    ----------
    rounds : dict of str to list of int
        Rounds of each session, by provider.
    users : set of str
    pauses : dict of (provider, class) to pauses
    calls : dict of (provider, tool) to milliseconds on the effective clock
    running : Counter of float
        Codex pauses that end with the command running, by limit; likewise `cut` for Bash.
    built : int
        Calls that test, build or install.
    """

    def __init__(self) -> None:
        self.rounds: dict[str, list[int]] = {"claude": [], "codex": []}
        self.users: set[str] = set()
        self.pauses: dict[tuple[str, str], _Pauses] = {}
        self.calls: dict[tuple[str, str], array[int]] = {}
        self.running: Counter[float] = Counter()
        self.cut: Counter[float] = Counter()
        self.built = 0

    def session(self, provider: str, user: str, rounds: int) -> int:
        """Count a session; give its number."""
        self.rounds[provider].append(rounds)
        self.users.add(user)
        return len(self.rounds[provider])

    def pause(self, provider: str, tool_class: str, ms: int, session: int) -> None:
        """Note a pause."""
        these = self.pauses.setdefault((provider, tool_class), _Pauses())
        these.ms.append(ms)
        these.session.append(session)

    def call(self, provider: str, tool: str, ms: int) -> None:
        """Note a call."""
        self.calls.setdefault((provider, tool), array("q")).append(ms)

    def _tool_pauses(self, provider: str) -> NDArray[np.int64]:
        lists = [np.asarray(p.ms) for (who, cls), p in self.pauses.items() if who == provider and cls != "human"]
        return np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)

    def slopes(self) -> dict[str, float]:
        """Give the slope of every class with enough data, both providers together."""
        out = {}
        for tool_class in sorted({cls for _, cls in self.pauses} - {"human"}):
            these = {p: self.pauses[p, tool_class] for p in HOLES if (p, tool_class) in self.pauses}
            if sum(len(set(p.session)) for p in these.values()) >= LEAST_SESSIONS:
                slope = slope_of([(np.asarray(p.ms) / 1000, HOLES[who]) for who, p in these.items()])
                if slope is not None:
                    out[tool_class] = round(slope, 4)
        return out

    def values(self) -> dict[str, float | None]:
        """Give the value of every figure by its id; None where there is nothing to take it from."""
        out: dict[str, float | None] = {}
        sizes = {p: len(r) for p, r in self.rounds.items()}
        n_calls = {p: sum(len(a) for (who, _), a in self.calls.items() if who == p) for p in sizes}
        total = sum(n_calls.values())
        out["article.sessions.sessions"] = float(sum(sizes.values()))
        out["article.sessions.developers"] = float(len(self.users))
        out["v2.rounds"] = float(sum(sum(r) for r in self.rounds.values()))
        out["article.calls"] = float(total)
        for provider, count in sizes.items():
            out[f"v2.sessions.prov.{provider}"] = float(count)
            out[f"v2.tool_calls.prov.{provider}"] = float(n_calls[provider])
        human = self.pauses.get(("claude", "human"), _Pauses())
        tool = self._tool_pauses("claude")
        every = np.concatenate([tool, np.asarray(human.ms, dtype=np.int64)])
        out["article.lt1s"] = _share(int((every <= 1000).sum()), every.size)
        lists = [np.asarray(a) for (who, _), a in self.calls.items() if who == "claude"]
        calls = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
        over = calls > 60_000
        asked = sum(sum(self.calls.get(("claude", name), ())) for name in APPROVALS)
        out["article.gt1m.calls"] = _share(int(over.sum()), int((calls > 0).sum()))
        out["article.gt1m.time"] = _share(int(calls[over].sum()), int(calls.sum()))
        out["article.approval"] = _share(asked, int(calls.sum()))
        for elapsed in (4, 25, 146):
            left = mean_left(tool, elapsed)
            out[f"article.mrl.{elapsed}"] = None if left is None else round(left, 4)
        slopes = list(self.slopes().values())
        out["article.hazard_slope.steepest"] = min(slopes, default=None)
        out["article.hazard_slope.flattest"] = max(slopes, default=None)
        codex = self._tool_pauses("codex").size
        out["article.deadline_share.codex"] = _share(self.running.total(), codex)
        for provider, published, ends in (("codex", (1, 5, 10, 30), self.running), ("claude", (120, 600), self.cut)):
            # the place of the spike, by its order among those there are
            places = dict(zip(published, sorted(ends), strict=False))
            for t in published:
                out[f"article.deadlines.{provider}.{t}s"] = places.get(t)
        eta = eta_of(np.array([n for r in self.rounds.values() for n in r]))
        out["article.eta"] = None if eta is None else round(eta, 6)
        out["article.classes"] = _share(self.built, total)
        return out


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def slope_of(groups: list[tuple[Array, tuple[tuple[float, float], ...]]]) -> float | None:
    """Give the Poisson log-log slope of the hazard over the 18 bins, without the holes.

    Parameters
    ----------
    groups : list of (seconds, holes)
        Durations that were all seen to end, and the windows ``[a, b)`` whose events and exposure are left out.

    Returns
    -------
    float or None
        None below 100 events or 5 bins; only the leading bins with 30 events left are used.

    Examples
    --------
    >>> u = (np.arange(1000) + 0.5) / 1000
    >>> round(slope_of([((-np.log(1 - u) / 0.3) ** 2.5, ())]), 4)
    -0.5966
    """
    events, exposure = np.zeros(EDGES.size - 1), np.zeros(EDGES.size - 1)
    for seconds, holes in groups:
        inside = np.zeros(seconds.size, dtype=bool)
        for a, b in holes:
            inside |= (seconds >= a) & (seconds < b)
        events += np.histogram(seconds[~inside & (seconds < EDGES[-1])], EDGES)[0]
        exposure += [_exposure(seconds, lo, hi, holes) for lo, hi in pairwise(EDGES.tolist())]
    left = np.cumsum(events[::-1])[::-1]
    n_bins = int((left >= LEAST_AT_RISK).sum())
    events, exposure = events[:n_bins], exposure[:n_bins]
    if events.sum() < LEAST_EVENTS or n_bins < LEAST_BINS:
        return None
    x = np.log(EDGES[:n_bins] * EDGES[1 : n_bins + 1]) / 2
    z = x - events @ x / events.sum()
    a, b = float(np.log(events.sum() / exposure.sum())), 0.0
    for _ in range(100):
        mean = exposure * np.exp(a + b * z)
        score = np.array([(events - mean).sum(), (events - mean) @ z])
        information = np.array([[mean.sum(), mean @ z], [mean @ z, mean @ z**2]])
        step = np.clip(np.linalg.solve(information, score), -1.0, 1.0)
        a, b = a + float(step[0]), b + float(step[1])
        if np.abs(step).max() < 1e-11:
            break
    return b


def _exposure(exits: Array, lo: float, hi: float, holes: tuple[tuple[float, float], ...]) -> float:
    """Time at risk between two edges, less the time in the holes."""

    def between(a: float, b: float) -> float:
        return float(np.clip(exits - a, 0.0, b - a).sum()) if b > a else 0.0

    return between(lo, hi) - sum(between(max(lo, a), min(hi, b)) for a, b in holes)
