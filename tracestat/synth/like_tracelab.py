"""A stand-in for TraceLab v0.0.2: it meets the published figures of the article's first section by construction.

A real release has the sessions that it has; whether a command that compares with published figures would notice a
difference can only be tried on a trace that meets them, and on one that misses a single figure on purpose
(``--shift article.mrl.25=1.3``).

**The figures are possible together** under one reading, stated in the truth file for each, and the reading has three
consequences that the publication does not mention:

- The residual lives alone fix how fast the hazard falls: ``t h(t)`` has to grow from about 0.54 between 4 and 25 s
  to about 0.96 between 25 and 146 s, a slope of -0.68, the middle of the published range. One power law then leaves
  some 260 s at 146 s, not 361: the hazards have to fall faster after that.
- A mean within an hour's window and 92 % of all time above a minute need pauses that the window does not see: here
  one call in 2,500 lasts more than an hour, ten on average, and these hold 37 % of the time. Without the window some
  1,350 s are left at 146 s, not 361.
- 70 % within a second and these residual lives leave 3.0 % of the tool calls above a minute. The published 4.9 % of
  calls need human waits on top: 2 % of all calls, six minutes in the median.

Claude's calls last 31 s on average, 2,660 h at full size. TraceLab counts 2,293 h, which is not imposed.

What is left out: nothing is cut off, lost, refused, interrupted or copied. Sessions and developers do not differ:
pauses are dealt to the developers evenly, so that a clustered interval is no wider than one of independent rows,
narrower than in any real trace, and a shifted figure stands out. The order of pauses in a session means nothing, but
for polls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tracestat.results import Json
from tracestat.synth.catalogue import CLAUDE, CODEX
from tracestat.synth.commands import skeletons
from tracestat.synth.life import Plan, Round
from tracestat.synth.like_check import HOLES, Seen, slope_of
from tracestat.synth.like_figures import FIGURES, Figure, Targets
from tracestat.synth.like_fit import Fit, fit, tilted
from tracestat.synth.like_law import CLASSES, FLATTEST, KNOTS, STEEPEST
from tracestat.synth.like_layout import chains, pauses_of, rounds_of
from tracestat.synth.like_pauses import Pauses, class_shares, claude_pauses, codex_pauses, heavy
from tracestat.synth.like_sessions import PauseReader, like_session
from tracestat.synth.population import members, people, plans
from tracestat.synth.rows import row
from tracestat.synth.tally import Tally
from tracestat.synth.truth import Written

__all__ = ["DEFAULT_SESSIONS", "FigureTruth", "LikeTruth", "write_like"]

Ints = NDArray[np.int64]

SCHEMA = "tracestat.synth_like_truth/1"
DEFAULT_SESSIONS = 1000
CALLING = 0.875
"""Share of the rounds that call a tool, as long as there are calls for them."""
CLAUDE_ROUNDS = 0.48
LEAST_CALLS = {"claude": 1.05, "codex": 1.2}
"""Calls for each round that calls."""
ATTEMPTS = 6
_PROVIDERS = {"claude": CLAUDE, "codex": CODEX}
_TEXT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FigureTruth:
    """One imposed figure.

    Attributes
    ----------
    id, definition, unit : str
    published : float
    shift : float
        Factor on purpose; 1 for none.
    asked : float
        The published value, scaled to the size and shifted.
    written : float or None
        Counted while writing, without any estimator.
    met : bool
        Whether it is the asked one to the printed precision.
    moved_by : str
        For a figure that was not shifted and is not met: why.
    """

    id: str
    definition: str
    unit: str
    published: float
    shift: float
    asked: float
    written: float | None
    met: bool
    moved_by: str


@dataclass(frozen=True, slots=True)
class LikeTruth:
    """Everything known about a stand-in.

    Attributes
    ----------
    file, like, version : str
    seed, sessions, developers : int
    figures : tuple of FigureTruth
    laws : dict of str to dict
        By class: share of pauses below the first edge, hazard at one second, slope.
    bend : dict of str to float
        What is added to the log hazard of every class, by seconds, linear in between on the log scale.
    slopes : dict of str to float
        As counted from what was written, by class.
    written : dict of str to Written
        By provider.
    """

    file: str
    like: str
    version: str
    seed: int
    sessions: int
    developers: int
    figures: tuple[FigureTruth, ...]
    laws: dict[str, dict[str, float]]
    bend: dict[str, float]
    slopes: dict[str, float]
    written: dict[str, Written]

    @property
    def moved(self) -> tuple[str, ...]:
        """Ids of the figures that are not met though nobody shifted them."""
        return tuple(f.id for f in self.figures if not f.met and f.shift == 1.0)

    def to_dict(self) -> dict[str, Json]:
        """Give the content of the truth file."""
        body = asdict(self)
        names = ("like", "version", "seed", "sessions", "developers")
        generator = {key: body.pop(key) for key in names}
        return {"schema": SCHEMA, "synthetic": True, "generator": generator, **body}


def write_like(
    write: Callable[[bytes], object],
    asked: Targets,
    *,
    file: str,
    version: str,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> LikeTruth:
    """Lay everything out, and write it session by session.

    Parameters
    ----------
    write : callable
        Takes the bytes of the rows.
    asked : Targets
    file, version : str
        For the truth.
    seed : int
        Decides orders, ids and token counts; no figure depends on it beyond its printed precision.
    progress : callable, optional
        Called with (sessions done, sessions in all).

    Returns
    -------
    LikeTruth
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 13])))
    total = {"claude": round(asked.rounds * CLAUDE_ROUNDS)}
    total["codex"] = asked.rounds - total["claude"]
    total = {p: max(n, 2 * asked.sessions[p]) for p, n in total.items()}
    laid = rounds_of(asked.sessions, total, asked.values["article.eta"])
    rounds = {p: rng.permutation(laid[p]) for p in laid}
    calling = {p: pauses_of(rounds[p], _pauses(asked, p, total[p])) for p in laid}
    n = {p: int(calling[p].sum()) for p in calling}
    found = fit(asked, class_shares(CLAUDE), asked.calls["claude"] / max(n["claude"], 1))
    who = people(seed, asked.developers)
    made, first = {}, 0
    for name, provider in _PROVIDERS.items():
        made[name] = [plan for plan, _ in plans(provider, seed, asked.sessions[name], first, members(provider, who))]
        first += asked.sessions[name]
    users = {d.user: i for i, d in enumerate(who)}
    owner = {p: np.repeat([users[plan.developer.user] for plan in made[p]], calling[p]) for p in made}
    found, pauses = _pauses_of(asked, found, calling, owner, seed)
    seen, done = Seen(), count(1)
    tallies = {name: Tally(provider) for name, provider in _PROVIDERS.items()}
    every = sum(asked.sessions.values())
    for name in _PROVIDERS:
        table = skeletons(name)
        reader = PauseReader(pauses[name], table)
        built = {s.text for s, slow in zip(table, heavy(name), strict=True) if slow}
        lines: list[str] = []
        size = 0
        for plan, n_rounds, n_calling in zip(made[name], rounds[name].tolist(), calling[name].tolist(), strict=True):
            number = seen.session(name, plan.developer.user, n_rounds)
            tallies[name].begin(plan)
            for r in like_session(plan, n_rounds, n_calling, reader):
                tallies[name].add(plan, r)
                _see(seen, plan, r, number, built)
                lines.append(row(plan, r))
                size += len(lines[-1])
                if size > _TEXT_BYTES:
                    write(("\n".join(lines) + "\n").encode())
                    lines, size = [], 0
            tallies[name].end()
            if progress is not None:
                progress(next(done), every)
        if lines:
            write(("\n".join(lines) + "\n").encode())
    return LikeTruth(
        file=file,
        like="tracelab",
        version=version,
        seed=seed,
        sessions=every,
        developers=len(seen.users),
        figures=_figures(asked, seen),
        laws={
            name: {
                "below_first_edge": round(law.fast, 6),
                "hazard_at_1s": round(CLASSES[name].rate * float(np.exp(found.levels[name])), 6),
                "slope": round(found.slopes[name], 6),
            }
            for name, law in found.laws.items()
        },
        bend={f"{t:g}": round(g, 6) for t, g in zip(KNOTS, found.bend, strict=True)},
        slopes=seen.slopes(),
        written={name: tally.written() for name, tally in tallies.items()},
    )


def _pauses(asked: Targets, provider: str, rounds: int) -> int:
    """How many rounds call: fewer where there are not enough calls."""
    sessions = asked.sessions[provider]
    most = min(round(CALLING * rounds), round(asked.calls[provider] / LEAST_CALLS[provider]), rounds - sessions)
    return max(sessions, most)


def _pauses_of(
    asked: Targets, found: Fit, calling: dict[str, Ints], owner: dict[str, Ints], seed: int
) -> tuple[Fit, dict[str, Pauses]]:
    """Lay out all pauses; tilt the classes at the ends of the range until their slopes come out as asked."""
    ends = {
        STEEPEST: asked.values["article.hazard_slope.steepest"],
        FLATTEST: asked.values["article.hazard_slope.flattest"],
    }
    weights = sum(t.weight for t in CODEX.tools)
    human = sum(t.weight for t in CODEX.tools if t.tool_class == "human") / weights
    launch = next(t.weight for t in CODEX.tools if t.name == "exec_command") / weights
    n = {p: int(of.sum()) for p, of in calling.items()}
    humans = round(human * n["codex"])
    share = asked.values["article.deadline_share.codex"] * (n["codex"] - humans) / max(n["codex"], 1)
    for attempt in range(1, ATTEMPTS + 1):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 17])))
        chain = chains(calling["codex"], launch, share, rng)
        pauses = {
            "claude": claude_pauses(asked, found, CLAUDE, owner["claude"], rng),
            "codex": codex_pauses(asked, found, CODEX, chain, owner["codex"], humans, rng),
        }
        missing = {}
        for tool_class, wanted in ends.items():
            slope = slope_of([(_seconds(p, tool_class), HOLES[name]) for name, p in pauses.items()])
            missing[tool_class] = 0.0 if slope is None else wanted - slope
        if attempt == ATTEMPTS or max(map(abs, missing.values())) < 1e-3:
            break
        for tool_class, by in missing.items():
            found = tilted(found, tool_class, found.slopes[tool_class] + by)
    return found, pauses


def _seconds(pauses: Pauses, tool_class: str) -> np.ndarray:
    of = np.array([t.tool_class == tool_class for t in pauses.tools])
    return np.asarray(pauses.ms[of[pauses.tool]] / 1000)


def _see(seen: Seen, plan: Plan, r: Round, session: int, built: set[str]) -> None:
    name = plan.provider.name
    for call in r.calls:
        seen.call(name, call.tool, (call.result or 0) - call.emitted if call.internal_ms is None else call.internal_ms)
        seen.built += call.skeleton is not None and call.skeleton.text in built
        if call.limit is not None:
            (seen.running if call.status == "running" else seen.cut)[call.limit] += 1
    if r.calls:
        back = max(call.result or 0 for call in r.calls)
        seen.pause(name, r.calls[-1].tool_class, max(back - r.last_output, 0), session)


def _figures(asked: Targets, seen: Seen) -> tuple[FigureTruth, ...]:
    values = seen.values()
    out = []
    for figure in FIGURES:
        wanted, written = asked.values[figure.id], values[figure.id]
        shift = asked.shifts.get(figure.id, 1.0)
        head = (figure.id, figure.definition, figure.unit, figure.published)
        out.append(FigureTruth(*head, shift, wanted, written, _met(figure, wanted, written), ""))
    shifted = ", ".join(f.id for f in out if f.shift != 1.0)
    why = f"{shifted} cannot hold with it" if shifted else "too few sessions"
    return tuple(f if f.met or f.shift != 1.0 else replace(f, moved_by=why) for f in out)


def _met(figure: Figure, asked: float, written: float | None) -> bool:
    if written is None:
        return False
    if figure.rule == "below":
        return written < asked
    return abs(written - asked) <= figure.half_unit + 1e-9
