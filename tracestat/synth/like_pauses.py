"""Every pause of a trace made after TraceLab, in the order of the sessions: its tool, its duration, its end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tracestat.ingest.taxonomy import load_taxonomy
from tracestat.synth.catalogue import Provider, Tool
from tracestat.synth.commands import skeletons
from tracestat.synth.like_durations import apportion, deal, human_waits, limited, milliseconds, stretch, tails
from tracestat.synth.like_figures import CLASSES_WRITTEN, Targets
from tracestat.synth.like_fit import BASH_LIMITS, HUMAN_SIGMA, Fit
from tracestat.synth.like_law import LAST, Law
from tracestat.synth.like_layout import POLL, RUNNING, Chains

__all__ = ["Pauses", "class_shares", "claude_pauses", "codex_pauses", "heavy"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_ALONE = ("human", "agent", "web", "poll")  # no short call beside these
_RANK_NOISE = 0.25
"""How loosely the order of commands from fast to slow goes with the order of durations."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """The pauses of one provider, session after session.

    Attributes
    ----------
    tools : tuple of Tool
    tool : array of int, shape (n,)
        Place in `tools`.
    ms : array of int, shape (n,)
    limit : array of float, shape (n,)
        The limit that ended it, seconds; NaN for none.
    skeleton : array of int, shape (n,)
        Place in the provider's skeletons; -1 for none.
    beside : array of int, shape (n,)
        Number of short calls that run beside.
    beside_ms : array of int, shape (calls beside,)
        In the same order.
    launch : array of int, shape (n,)
        For a poll, the pause that launched the command; else -1.
    """

    tools: tuple[Tool, ...]
    tool: Ints
    ms: Ints
    limit: Array
    skeleton: Ints
    beside: Ints
    beside_ms: Ints
    launch: Ints


@lru_cache(maxsize=2)
def heavy(provider: str) -> tuple[bool, ...]:
    """Give which of a provider's commands test, build or install."""
    classes = load_taxonomy()
    return tuple(classes.command_class(s.executables) in ("test", "build", "install") for s in skeletons(provider))


def class_shares(provider: Provider) -> dict[str, float]:
    """Give the share of each class among the tool pauses that do not poll."""
    weights: dict[str, float] = {}
    for tool in provider.tools:
        if tool.tool_class != "human":
            weights[tool.tool_class] = weights.get(tool.tool_class, 0.0) + tool.weight
    return {name: weight / sum(weights.values()) for name, weight in weights.items()}


class _Draft:
    """Pauses as they are laid out, class by class."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.tools = tools
        self.tool: list[Ints] = []
        self.seconds: list[Array] = []
        self.limit: list[Array] = []

    def add(self, tool: Ints, seconds: Array, limit: float = math.nan) -> None:
        self.tool.append(tool)
        self.seconds.append(seconds)
        self.limit.append(np.full(seconds.size, limit))

    def of_class(self, tool_class: str, count: int, rng: np.random.Generator, skip: str = "") -> Ints:
        """Divide pauses of a class among its tools, in random order."""
        places = [i for i, t in enumerate(self.tools) if t.tool_class == tool_class and t.name != skip]
        counts = apportion(count, [self.tools[i].weight for i in places])
        return rng.permutation(np.repeat(places, counts)).astype(np.int64)

    def limits(
        self, provider: Provider, place: int, law: Law, n: int, limits: list[tuple[float, float]],
        rng: np.random.Generator, stopped: int | None = None,
    ) -> None:  # fmt: skip
        """Add the pauses of a tool with limits."""
        late = provider.overhead[self.tools[place].name]
        for limit, before, cut in limited(law, n, limits, stopped):
            self.add(np.full(before.size, place), before)
            if cut and limit is not None:
                at = limit + np.array([late.draw(u) for u in rng.random(cut).tolist()])
                self.add(np.full(cut, place), at, limit)


def claude_pauses(asked: Targets, found: Fit, provider: Provider, owner: Ints, rng: np.random.Generator) -> Pauses:
    """Lay out Claude's pauses.

    Parameters
    ----------
    asked : Targets
    found : Fit
    provider : Provider
        Claude.
    owner : array of int, shape (pauses,)
        Developer of each pause.
    rng : numpy.random.Generator
        Decides the order, and nothing that a figure depends on.

    Returns
    -------
    Pauses
    """
    draft = _Draft(provider.tools)
    n = owner.size
    humans = min(max(1, round(found.human_share * n)), n - 1)
    shares = class_shares(provider)
    limits = list(
        zip(
            (asked.values[f"article.deadlines.claude.{t}s"] for t in (120, 600)),
            (share for _, share in BASH_LIMITS),
            strict=True,
        )
    )
    for tool_class, count in zip(shares, apportion(n - humans, list(shares.values())), strict=True):
        law = found.laws[tool_class]
        if tool_class == "shell":
            place = next(i for i, t in enumerate(provider.tools) if t.name == "Bash")
            draft.limits(provider, place, law, count, limits, rng)
        else:
            steps = (np.arange(count) + 0.5) / max(count, 1)
            draft.add(draft.of_class(tool_class, count, rng), law.quantiles(1.0 - steps))
    limit = np.concatenate(draft.limit)
    ms = milliseconds(np.concatenate(draft.seconds))
    if not (ms > LAST * 1000).any():
        ms[int(np.argmax(np.where(np.isnan(limit), ms, 0)))] = int(LAST * 1000) + 1  # a small trace has none by its law
    lives = [asked.values[f"article.mrl.{t}"] for t in (4, 25, 146)]
    ms = stretch(ms, np.isnan(limit), lives)
    beside_ms = _beside(asked.calls["claude"] - n, rng)
    ms, waits = tails(
        ms, beside_ms, human_waits(humans, found.human_median, HUMAN_SIGMA),
        asked.values["article.gt1m.calls"], asked.values["article.gt1m.time"], asked.values["article.approval"],
    )  # fmt: skip
    tool = np.concatenate([*draft.tool, draft.of_class("human", humans, rng)])
    ms = np.concatenate([ms, waits])
    limit = np.concatenate([limit, np.full(humans, math.nan)])
    order = deal(np.lexsort((ms, _classes(provider.tools)[tool])), owner, rng)
    return _finish(asked, provider, provider.tools, tool[order], ms[order], limit[order], beside_ms, None, rng)


def codex_pauses(
    asked: Targets, found: Fit, provider: Provider, chain: Chains, owner: Ints, humans: int, rng: np.random.Generator
) -> Pauses:
    """Lay out Codex' pauses along the chains of launches and polls.

    Parameters
    ----------
    asked : Targets
    found : Fit
    provider : Provider
        Codex.
    chain : Chains
    owner : array of int, shape (pauses,)
        Developer of each pause.
    humans : int
        Pauses that wait for a human.
    rng : numpy.random.Generator

    Returns
    -------
    Pauses
    """
    tools = (*provider.tools, Tool("write_stdin", "poll", 0.0, 1.0, 0.004, 0.0, 77, 160))
    draft = _Draft(tools)
    names = [t.name for t in tools]
    launch, poll = names.index("exec_command"), names.index("write_stdin")
    polls, runs = chain.kind & POLL > 0, chain.kind & RUNNING > 0
    yielded, still = int((runs & ~polls).sum()), int((runs & polls).sum())
    free = int((~polls).sum()) - humans
    shares = class_shares(provider)
    counts = dict(zip(shares, apportion(free, list(shares.values())), strict=True))
    weight = {t.name: t.weight for t in tools}
    shell = sum(t.weight for t in tools if t.tool_class == "shell")
    launches = min(max(round(counts["shell"] * weight["exec_command"] / shell), yielded), counts["shell"])
    limits = _limits(asked, provider, "exec_command")
    law = found.laws["shell"]
    through = sum(share * law.survival(t) for t, share in limits) / (1.0 - law.fast)
    law = replace(law, fast=min(max(1.0 - yielded / max(launches, 1) / through, 0.0), 0.95))
    draft.limits(provider, launch, law, launches, limits, rng, yielded)
    for tool_class, count in counts.items():
        rest = count - launches if tool_class == "shell" else count
        steps = (np.arange(rest) + 0.5) / max(rest, 1)
        own = law if tool_class == "shell" else found.laws[tool_class]
        draft.add(draft.of_class(tool_class, rest, rng, "exec_command"), own.quantiles(1.0 - steps))
    waits = human_waits(humans, found.human_median, HUMAN_SIGMA)
    draft.add(draft.of_class("human", humans, rng), waits)
    n_polls = int(polls.sum())
    limits = _limits(asked, provider, "write_stdin")
    draft.limits(
        provider, poll, _slowed(found.laws["poll"], limits, still / max(n_polls, 1)), n_polls, limits, rng, still
    )
    tool, limit = np.concatenate(draft.tool), np.concatenate(draft.limit)
    ms = milliseconds(np.concatenate(draft.seconds))
    # each kind of place gets the pauses of its kind
    classes = _classes(tools)[tool]
    order = np.empty(chain.kind.size, dtype=np.int64)
    for is_poll in (False, True):
        for is_run in (False, True):
            places = np.flatnonzero((polls == is_poll) & (runs == is_run))
            these = np.flatnonzero(((tool == poll) == is_poll) & (~np.isnan(limit) == is_run))
            order[places] = deal(these[np.lexsort((ms[these], classes[these]))], owner[places], rng)
    beside_ms = _beside(asked.calls["codex"] - order.size, rng)
    return _finish(asked, provider, tools, tool[order], ms[order], limit[order], beside_ms, chain.launch, rng)


def _classes(tools: tuple[Tool, ...]) -> Ints:
    """Give each tool the number of its class."""
    return np.unique([t.tool_class for t in tools], return_inverse=True)[1].astype(np.int64)


def _limits(asked: Targets, provider: Provider, tool: str) -> list[tuple[float, float]]:
    """Give the limits of a tool, moved as the deadlines are."""
    return [
        (asked.values[f"article.deadlines.codex.{limit.seconds:g}s"], limit.share) for limit in provider.limits[tool]
    ]


def _slowed(law: Law, limits: list[tuple[float, float]], still: float) -> Law:
    """Scale the hazard until a given share of the pauses reaches the limit."""
    low, high = 1e-3, 1e2
    made = law
    for _ in range(60):
        middle = math.sqrt(low * high)
        made = replace(law, cumulative=law.cumulative * middle)
        past = sum(share * made.survival(limit) for limit, share in limits)
        low, high = (middle, high) if past > still else (low, middle)
    return made


def _beside(count: int, rng: np.random.Generator) -> Ints:
    """Durations of the short calls that run beside a longer one: 3 to 128 ms, equal on the log scale."""
    return np.rint(3.0 * (128.0 / 3.0) ** rng.random(max(count, 0))).astype(np.int64)


def _finish(
    asked: Targets, provider: Provider, tools: tuple[Tool, ...], tool: Ints, ms: Ints, limit: Array, beside_ms: Ints,
    launch: Ints | None, rng: np.random.Generator,
) -> Pauses:  # fmt: skip
    """Add the calls beside, and the commands."""
    alone = np.array([t.tool_class in _ALONE for t in tools])
    hosts = np.flatnonzero(~alone[tool])
    beside = np.bincount(rng.choice(hosts, beside_ms.size), minlength=tool.size)
    keyed = np.array([t.keyed for t in tools])[tool]
    skeleton = np.full(tool.size, -1)
    calls = int(tool.size + beside_ms.size)
    share = asked.values["article.classes"] * CLASSES_WRITTEN * calls / max(int((keyed * (1 + beside)).sum()), 1)
    skeleton[keyed] = _commands(provider, ms[keyed], share, rng)
    roots = np.full(tool.size, -1) if launch is None else launch
    return Pauses(tools, tool, ms, limit, skeleton, beside, beside_ms, roots)


def _commands(provider: Provider, ms: Ints, share: float, rng: np.random.Generator) -> Ints:
    """Give each launch a command: slow ones to long launches, tests, builds and installs in the share asked for."""
    table = skeletons(provider.name)
    weights = np.array([s.weight for s in table])
    slow = np.array(heavy(provider.name))
    share = min(share, 1.0)
    weights = np.where(slow, weights * share / weights[slow].sum(), weights * (1.0 - share) / weights[~slow].sum())
    counts = apportion(ms.size, weights.tolist())
    rank = np.empty(ms.size)
    rank[np.argsort(ms, kind="stable")] = np.arange(ms.size) / max(ms.size, 1)
    place = np.argsort(rank + _RANK_NOISE * rng.standard_normal(ms.size), kind="stable")
    out = np.empty(ms.size, dtype=np.int64)
    out[place] = np.repeat(np.arange(len(table)), counts)
    return out
