"""What a trace made after TraceLab has to show: the published figures of section 1, each with one definition.

A figure is met when the trace gives the published number to its printed precision. Where the publication leaves the
definition open, one is chosen here, and the choice stands in `Figure.definition` and in the truth file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from tracestat.errors import UsageError

__all__ = ["FIGURES", "FULL_SESSIONS", "Figure", "Targets", "parse_shift", "targets"]

FULL_SESSIONS = 8058


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure.

    Attributes
    ----------
    id : str
        That of the published figure, with the part where it has several.
    definition : str
        How the number is read off the trace.
    unit : str
    published : float
    half_unit : float
        Half a unit of the last printed digit.
    rule : str
        ``"value"``: equal within `half_unit`. ``"count"``: the same, and proportional to the sessions where `scaled`.
        ``"below"``: less.
    scaled : bool
    """

    id: str
    definition: str
    unit: str
    published: float
    half_unit: float = 0.5
    rule: str = "value"
    scaled: bool = False


_CALLS = "Claude calls, effective latency (internal where reported, else wall), positive"
_SLOPE = (
    "tool pauses by class, wall clock: Poisson log-log slope over the 18 bins from 0.1285 s, deadlines cut, "
    "classes with 100 events, 5 bins and 20 sessions"
)
_LEFT = "Claude tool pauses, wall clock: mean of min(T - t, 3600 s) over those with T > t, t = "

FIGURES: tuple[Figure, ...] = (
    Figure("article.sessions.sessions", "distinct session ids", "sessions", 8058, rule="count", scaled=True),
    Figure("article.sessions.developers", "distinct developers", "developers", 71, rule="count"),
    Figure("v2.sessions.prov.claude", "distinct session ids of Claude", "sessions", 5319, rule="count", scaled=True),
    Figure("v2.sessions.prov.codex", "distinct session ids of Codex", "sessions", 2739, rule="count", scaled=True),
    Figure("v2.rounds", "rows of rounds", "rounds", 665_453, rule="count", scaled=True),
    Figure("article.calls", "rows of tool calls", "calls", 743_819, rule="count", scaled=True),
    Figure("v2.tool_calls.prov.claude", "calls of Claude", "calls", 305_005, rule="count", scaled=True),
    Figure("v2.tool_calls.prov.codex", "calls of Codex", "calls", 438_814, rule="count", scaled=True),
    Figure("article.lt1s", "Claude pauses, wall clock, all rows: share of at most 1 s", "share", 0.70, 0.005),
    Figure("article.gt1m.calls", f"{_CALLS}: share above 60 s", "share", 0.049, 0.0005),
    Figure("article.gt1m.time", f"{_CALLS}: their share of the summed latency", "share", 0.92, 0.005),
    Figure(
        "article.approval",
        f"{_CALLS}: share of AskUserQuestion and ExitPlanMode in the summed latency",
        "share", 0.37, 0.005,
    ),
    Figure("article.mrl.4", f"{_LEFT}4 s", "s", 54.0, 0.5),
    Figure("article.mrl.25", f"{_LEFT}25 s", "s", 113.0, 0.5),
    Figure("article.mrl.146", f"{_LEFT}146 s", "s", 361.0, 0.5),
    Figure("article.hazard_slope.steepest", f"{_SLOPE}: the steepest", "dimensionless", -0.74, 0.005),
    Figure("article.hazard_slope.flattest", f"{_SLOPE}: the flattest", "dimensionless", -0.56, 0.005),
    *(
        Figure(f"article.deadlines.codex.{t}s", "Codex pauses end there with the command still running", "s", t, 0.5)
        for t in (1, 5, 10, 30)
    ),
    Figure(
        "article.deadline_share.codex", "Codex tool pauses: share that ends with the command still running", "share",
        0.30, 0.005,
    ),
    *(
        Figure(f"article.deadlines.claude.{t}s", "Claude Bash calls are cut there", "s", t, 0.5)
        for t in (120, 600)
    ),
    Figure("article.eta", "rounds per session, providers pooled: memoryfulness", "dimensionless", -0.35, 0.005),
    Figure("article.classes", "calls of command class test, build or install", "share", 0.03, 0.0, "below"),
)  # fmt: skip

CLASSES_WRITTEN = 25 / 30
"""Of the bound on tests, builds and installs: as much of it is written."""


@dataclass(frozen=True, slots=True)
class Targets:
    """What to write, after scaling and shifts.

    Attributes
    ----------
    sessions : dict of str to int
        By provider; likewise `calls`.
    rounds, developers : int
    values : dict of str to float
        Asked value of every figure by id.
    shifts : dict of str to float
    """

    sessions: dict[str, int]
    calls: dict[str, int]
    rounds: int
    developers: int
    values: dict[str, float]
    shifts: dict[str, float]


def parse_shift(text: str) -> tuple[str, float]:
    """Read ``FIGURE=FACTOR``.

    Parameters
    ----------
    text : str

    Returns
    -------
    id, factor

    Raises
    ------
    UsageError
        For an unknown figure or a factor that is no number above 0.

    Examples
    --------
    >>> parse_shift("article.mrl.25=1.3")
    ('article.mrl.25', 1.3)
    """
    name, sign, number = text.partition("=")
    try:
        factor = float(number)
    except ValueError:
        factor = 0.0
    if not sign or not 0.0 < factor < 1e6:
        msg = f"--shift {text}: give FIGURE=FACTOR with a factor above 0, for example article.mrl.25=1.3"
        raise UsageError(msg)
    _parts(name)
    return name, factor


def _parts(name: str) -> list[str]:
    """Give the figures that a name stands for: itself, or all its parts."""
    found = [f.id for f in FIGURES if f.id == name or f.id.startswith(f"{name}.")]
    if not found:
        msg = f"--shift: no imposed figure is called {name}; there are {', '.join(f.id for f in FIGURES)}"
        raise UsageError(msg)
    return found


def targets(sessions: int, shifts: Mapping[str, float]) -> Targets:
    """Scale the figures to a number of sessions and apply shifts.

    Parameters
    ----------
    sessions : int
        Counts are scaled by this over 8,058; ratios between them stay.
    shifts : mapping of str to float
        Factor by figure; the name of a figure with parts shifts all of them.

    Returns
    -------
    Targets

    Raises
    ------
    UsageError
        When a shifted share leaves (0, 1), a shifted eta (-0.5, 1), or residual lives contradict each other.

    Examples
    --------
    >>> t = targets(8058, {})
    >>> t.sessions, sum(t.calls.values()), t.rounds
    ({'claude': 5319, 'codex': 2739}, 743819, 665453)
    >>> targets(806, {"article.eta": 0.5}).values["article.eta"]
    -0.175
    """
    factors: dict[str, float] = {}
    for name, factor in shifts.items():
        for part in _parts(name):
            factors[part] = factors.get(part, 1.0) * factor
    scale = sessions / FULL_SESSIONS
    values: dict[str, float] = {}
    for figure in FIGURES:
        factor = factors.get(figure.id, 1.0)
        value = figure.published * factor * (scale if figure.scaled else 1.0)
        values[figure.id] = float(round(value)) if figure.rule == "count" else round(value, 9)
    counts = _counts(values, factors, sessions)
    values.update(counts)
    _check(values, factors)
    return Targets(
        sessions={p: int(counts[f"v2.sessions.prov.{p}"]) for p in ("claude", "codex")},
        calls={p: int(counts[f"v2.tool_calls.prov.{p}"]) for p in ("claude", "codex")},
        rounds=int(counts["v2.rounds"]),
        developers=min(int(counts["article.sessions.developers"]), sessions),
        values=values,
        shifts=factors,
    )


def _counts(values: Mapping[str, float], factors: Mapping[str, float], sessions: int) -> dict[str, float]:
    """Make the counts agree: parts add up to wholes, a shift of the whole falls on the parts as well."""
    published = {f.id: f.published for f in FIGURES}
    out = {name: values[name] for name in ("v2.rounds", "article.sessions.developers")}
    for whole, part in (("article.sessions.sessions", "v2.sessions.prov"), ("article.calls", "v2.tool_calls.prov")):
        total = round(published[whole] * sessions / FULL_SESSIONS * factors.get(whole, 1.0))
        first = round(total * published[f"{part}.claude"] / published[whole])
        for name, count in (("claude", first), ("codex", total - first)):
            out[f"{part}.{name}"] = float(max(1, round(count * factors.get(f"{part}.{name}", 1.0))))
        out[whole] = float(total)
    return out


def _check(values: Mapping[str, float], factors: Mapping[str, float]) -> None:
    for figure in FIGURES:
        if figure.id not in factors:
            continue
        value, given = values[figure.id], f"--shift {figure.id}={factors[figure.id]:g}"
        if figure.unit == "share" and not 0.0 < value < 1.0:
            raise UsageError(f"{given}: the share would be {value:g}; keep it below 1")
        if figure.id == "article.eta" and not -0.48 < value < 0.5:
            raise UsageError(f"{given}: eta would be {value:g}; keep it above -0.48")
    steep, flat = (values[f"article.hazard_slope.{name}"] for name in ("steepest", "flattest"))
    if not -1.2 < steep < flat - 0.02 < -0.22:
        msg = f"--shift article.hazard_slope: {steep:g} to {flat:g}; keep slopes between -1.2 and -0.2, in order"
        raise UsageError(msg)
    lives = [(t, values[f"article.mrl.{t}"]) for t in (4, 25, 146)]
    for (t, left), (later, more) in pairwise(lives):
        # E[T | T > t] cannot be larger than E[T | T > later]
        if t + left >= later + more or left <= 0:
            msg = f"--shift article.mrl: no law leaves {left:g} s after {t} s and {more:g} s after {later} s"
            raise UsageError(msg)
