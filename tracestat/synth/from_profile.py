"""Sessions drawn from a profile alone: no row of the recorded trace is needed.

Drawn per session: the number of rounds, then requests until they are full; the states of each request by a first-order
chain that ends where the request does; per state the key and its pause, by one number and the inverse of the keys'
survivals, people's waits, tokens, generation times by the quantiles of the profile. Pauses of a session are as alike as
recorded. Everything else is independent, and that is what the comparison in the truth file measures.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate, count
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tracestat.errors import TracestatError
from tracestat.results.profile import Eta, ProviderSessions
from tracestat.synth.from_profile_chain import Quantiles, StateChain, banded
from tracestat.synth.from_profile_laws import MOST_MS, KeyDraws
from tracestat.synth.from_profile_reading import ReadProfile
from tracestat.synth.from_profile_requests import RequestSizes
from tracestat.synth.from_profile_rows import DrawnCall, DrawnSession, DrawnStep, drawn_row
from tracestat.synth.from_profile_truth import ComparedQuantile, ProfileTruth, compared, compared_eta
from tracestat.synth.life import stream
from tracestat.synth.like_layout import eta_of

__all__ = ["write_from_profile"]

Floats = NDArray[np.float64]
Uniform = Callable[[], float]
T = TypeVar("T")

FIRST_MS: Final = 1_772_409_600_000  # 2 March 2026
DAYS: Final = 130
# what a profile of strange origin may ask for at most
MOST_ROUNDS: Final = 100_000
MOST_CALLS: Final = 100
MOST_TOKENS: Final = 1 << 40
LAST_MS: Final = 7_258_118_400_000  # the year 2200
_ASKS: Final = "AskUserQuestion"
_NAMED: Final = 10
_TEXT_BYTES: Final = 1 << 20
_BELOW_1: Final = 1.0 - 1e-12
_NOTES: Final = (
    "developers are numbered and do not differ: intervals by developer are narrower than recorded",
    "calls beside the one that was waited for are shorter and have its key: the law of single calls is not kept",
    "hours and days are invented: sessions begin evenly over 130 days",
    "internal times of tools, sizes in characters and errors are not in a profile",
)


@dataclass(slots=True)
class _Seen:
    """Values of what is compared, in the order of writing."""

    values: dict[str, list[float]] = field(default_factory=dict)
    sessions: dict[str, list[int]] = field(default_factory=dict)
    finished: dict[str, list[int]] = field(default_factory=lambda: {"session": [], "request": []})
    rounds: int = 0
    calls: int = 0
    beyond: int = 0
    session: int = -1

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)
        self.sessions.setdefault(name, []).append(self.session)

    def arrays(self) -> dict[str, tuple[Floats, NDArray[np.intp]]]:
        return {
            name: (np.array(values, dtype=np.float64), np.array(self.sessions[name], dtype=np.intp))
            for name, values in self.values.items()
        }


class _Part:
    """The sessions of one provider, ready to be drawn."""

    def __init__(self, part: ProviderSessions, levels: Sequence[float], keys: KeyDraws) -> None:
        def quantiles(name: str) -> Quantiles:
            return Quantiles(getattr(part, name), levels)

        self.provider, self.keys = part.provider, keys
        self.rounds, self.first_prompt = quantiles("rounds_per_session"), quantiles("first_prompt")
        self.first_cached, self.after_compaction = quantiles("first_cached"), quantiles("after_compaction")
        self.request = RequestSizes(part.requests_per_session, part.rounds_per_request, levels)
        self.chain = StateChain(part.chain)
        self.calls = {state: _table([(n, c) for n, c in table]) for state, table in part.calls_per_round.items()}
        self.calling = frozenset(part.calls_per_round)
        self.models = _table(part.models)
        self.message, self.asked, self.after_call = (
            Quantiles(grid, levels) for grid in (part.human.message, part.human.asked, part.human.after_call)
        )
        self.growth = {name: banded(bands, levels) for name, bands in part.growth.items()}
        self.output = {name: Quantiles(grid, levels) for name, grid in part.output_tokens.items()}
        self.cached, self.generation = banded(part.cached, levels), banded(part.generation, levels)
        self.compactions = [
            (math.inf if band.to is None else band.to, band.compactions / band.steps if band.steps else 0.0)
            for band in part.compactions
        ]
        ends = part.endings.result + part.endings.open
        self.alike = part.alike
        self.most_context = min(part.most_context, MOST_TOKENS)
        self.open_share = part.endings.open / ends if ends else 0.0

    def compacts(self, context: float, u: float) -> bool:
        share = next((share for to, share in self.compactions if context <= to), 0.0)
        return u < share and bool(self.after_compaction)


def write_from_profile(
    write: Callable[[bytes], object],
    read: ReadProfile,
    *,
    file: str,
    version: str,
    sessions: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> ProfileTruth:
    """Draw sessions and write them one by one.

    Parameters
    ----------
    write : callable
        Takes the bytes of the rows.
    read : ReadProfile
    file, version : str
        For the truth.
    sessions, seed : int
    progress : callable, optional
        Called with (sessions done, sessions in all).

    Returns
    -------
    ProfileTruth
    """
    profile = read.profile
    keys = KeyDraws(profile)
    parts = profile.sessions.providers
    shares = _divided(sessions, [part.n_sessions for part in parts])
    developers = min(sessions, max(1, min(52, sessions // 25)))
    # traces of two profiles or seeds have no id in common, so that ingest takes none for a copy
    draw = hashlib.sha256(f"{read.sha256} {seed}".encode()).hexdigest()[:8]
    seen: dict[str, _Seen] = {}
    numbers, done = count(), count(1)
    lines: list[bytes] = []
    size = 0
    for part, some in zip(parts, shares, strict=True):
        ready = _Part(part, profile.sessions.levels, keys)
        of_provider = seen.setdefault(part.provider, _Seen())
        for _ in range(some):
            number = next(numbers)
            u = stream(np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 19, number]))))
            model = _pick(ready.models, u()) if part.models else None
            whose = _whose(part.provider, draw, number, number % developers, model)
            for step in _session(ready, u, of_provider):
                lines.append(drawn_row(whose, step))
                size += len(lines[-1])
                if size > _TEXT_BYTES:
                    write(b"\n".join(lines) + b"\n")
                    lines, size = [], 0
            if progress is not None:
                progress(next(done), sessions)
    if lines:
        write(b"\n".join(lines) + b"\n")
    beyond = sum(of.beyond for of in seen.values())
    return ProfileTruth(
        file=file,
        version=version,
        seed=seed,
        sessions=sessions,
        developers=developers,
        profile=read.file,
        profile_sha256=read.sha256,
        corpus=profile.corpus,
        attribution=profile.attribution,
        compared=tuple(
            row
            for part in parts
            for row in (
                *compared(part.provider, profile.recorded, seen[part.provider].arrays()),
                *_etas(part.provider, profile.programs.eta_by_provider, seen[part.provider], part),
            )
        ),
        rounds=sum(of.rounds for of in seen.values()),
        calls=sum(of.calls for of in seen.values()),
        beyond=beyond,
        notes=(*_NOTES, *_lawless_notes(keys.lawless), *_beyond_notes(beyond)),
    )


def _session(part: _Part, u: Uniform, seen: _Seen) -> Iterator[DrawnStep]:
    """Draw one session, step by step."""
    rounds = min(max(round(part.rounds.draw(u())), 1), MOST_ROUNDS)
    seen.session += 1
    requests = part.request.draw(rounds, u)
    slow, slow_human = _alike(part.alike.tool, u), _alike(part.alike.human, u)
    at = FIRST_MS + int(DAYS * 86_400_000 * u())
    message: int | None = at
    results: list[tuple[int, int, DrawnCall]] = []
    context = max(_tokens(part.first_prompt, u()), 1)
    prefix = min(int(context * _share(part.first_cached, u())), context)
    index, paused_by_tools, paused = 0, 0.0, 0.0
    is_open = False
    for number, size in enumerate(requests):
        is_final = number == len(requests) - 1
        states = part.chain.draw(size, "message" if number else "start", "end" if is_final else "message", u)
        for place, state in enumerate(states):
            closes = place == size - 1
            is_last = closes and is_final
            calling = state in part.calling
            output = _tokens(part.output.get("call" if calling else "text"), u())
            generation = max(_wait(part.generation(output), u(), 1000.0), 1)
            first, last = at + (generation * 3 + 9) // 10, at + generation
            is_open = is_last and calling and u() < part.open_share
            calls, pause, beyond = (
                _calls(part, state, last, is_open, u, slow, slow_human) if calling else ([], 0, False)
            )
            human = 0
            if state == "human":
                human, pause = pause, 0
            elif closes and not is_last:
                human = _wait(part.after_call if calling else part.message, slow_human())
            yield DrawnStep(index, message, results, first, last, calls, prefix, context - prefix, output)
            seen.rounds += 1
            seen.calls += len(calls)
            seen.add("context", context)
            seen.add("output", output)
            if not is_last:
                seen.beyond += beyond
                if calling and state != "human":
                    seen.add("tool_pause", pause)
                if human:
                    seen.add("human_wait", human)
                paused_by_tools += pause
                paused += pause + human
            results = [(index, i, call) for i, call in enumerate(calls)]
            back = max((call.result or last for call in calls), default=last)
            at = max(back, last + pause + human)
            if at > LAST_MS:
                raise TracestatError(f"the waits of a session of {part.provider} lead beyond the year 2200")
            message = at if closes else None
            context, prefix = _grown(part, context, "message" if closes else state, pause + human, u)
            index += 1
        seen.add("rounds_per_request", size)
        if not (is_final and is_open):
            seen.finished["request"].append(size)
    seen.add("rounds_per_session", rounds)
    seen.add("tool_paused_per_session", paused_by_tools)
    seen.add("paused_per_session", paused)
    if not is_open:
        seen.finished["session"].append(rounds)


def _calls(
    part: _Part, state: str, at: int, is_open: bool, u: Uniform, slow: Uniform, slow_human: Uniform
) -> tuple[list[DrawnCall], int, bool]:
    """Make the calls of one step: the first is the one that is waited for."""
    n = min(_pick(part.calls[state], u()), MOST_CALLS)
    if state == "human":
        pause = _wait(part.asked, slow_human())
        return [DrawnCall(_ASKS, None, at, None if is_open else at + pause)], pause, False
    tool, skeleton, drawn = part.keys.draw(part.provider, state, slow())
    pause = round(min(drawn.ms, MOST_MS))
    limit = min(drawn.ms, MOST_MS) if drawn.kind else None
    name = tool or state
    calls = [DrawnCall(name, skeleton, at, None if is_open else at + pause, None if is_open else drawn.kind, limit)]
    calls += [DrawnCall(name, skeleton, at, None if is_open else at + int(pause * u())) for _ in range(n - 1)]
    return calls, pause, drawn.beyond


def _alike(correlation: float, u: Uniform) -> Uniform:
    """Give uniform numbers that are alike within a session: normal scores with one part in common."""
    common, own = math.sqrt(correlation) * float(ndtri(_inside(u()))), math.sqrt(1.0 - correlation)
    return lambda: min(float(ndtr(common + own * float(ndtri(_inside(u()))))), _BELOW_1)


def _inside(u: float) -> float:
    return min(max(u, 1e-12), _BELOW_1)


def _grown(part: _Part, context: int, source: str, gap: float, u: Uniform) -> tuple[int, int]:
    """Give context and cached part of the next step."""
    if part.compacts(context, u()):
        after = min(max(_tokens(part.after_compaction, u()), 1), context)
        return after, min(int(after * _share(part.first_cached, u())), after)
    growth = part.growth.get(source)
    after = max(context + (round(_or(growth(context), u(), 0.0)) if growth else 0), 1)
    if after > part.most_context:  # no window holds that: it is compacted, or stays as it is where none was
        after = min(max(round(_or(part.after_compaction, u(), context)), 1), context)
    return after, min(int(context * _share(part.cached(gap), u())), after)


def _share(quantiles: Quantiles, u: float) -> float:
    return min(max(_or(quantiles, u, 0.0), 0.0), 1.0)


def _tokens(quantiles: Quantiles | None, u: float) -> int:
    return 1 if quantiles is None else round(min(max(_or(quantiles, u, 1.0), 0.0), MOST_TOKENS))


def _wait(quantiles: Quantiles, u: float, otherwise: float = 0.0) -> int:
    return round(min(max(_or(quantiles, u, otherwise), 0.0), MOST_MS))


def _or(quantiles: Quantiles, u: float, otherwise: float) -> float:
    return quantiles.draw(u) if quantiles else otherwise


def _table(choices: Sequence[tuple[T, int]]) -> tuple[list[float], list[T]]:
    total = sum(n for _, n in choices) or 1
    return [x / total for x in accumulate(n for _, n in choices)][:-1], [value for value, _ in choices]


def _pick(table: tuple[list[float], list[T]], u: float) -> T:
    return table[1][bisect_right(table[0], u)]


def _divided(total: int, weights: Sequence[int]) -> list[int]:
    """Divide sessions among providers as they were recorded (largest remainders)."""
    exact = [total * w / sum(weights) for w in weights]
    counts = [int(x) for x in exact]
    largest = sorted(range(len(weights)), key=lambda i: (counts[i] - exact[i], i))
    for i in largest[: total - sum(counts)]:
        counts[i] += 1
    return counts


def _whose(provider: str, draw: str, number: int, developer: int, model: str | None) -> DrawnSession:
    key = f"{draw}{number:06x}"
    return DrawnSession(
        provider, f"{provider}:drawn-{key}", f"project_{developer:08x}", f"user_{developer:08x}", model, key
    )


def _etas(
    provider: str, recorded: Mapping[str, Eta], seen: _Seen, part: ProviderSessions
) -> Iterator[ComparedQuantile]:
    was = recorded.get(provider, Eta(None, None))
    of = {"session": was.session, "request": was.request}
    for unit, turns in seen.finished.items():
        now = eta_of(np.array(turns, dtype=np.int64)) if turns else None
        n = part.n_sessions if unit == "session" else sum(band.grid.n for band in part.rounds_per_request)
        yield compared_eta(provider, unit, of[unit], None if now is None else float(f"{now:.6g}"), n, len(turns))


def _lawless_notes(lawless: Set[str]) -> list[str]:
    if not lawless:
        return []
    names = ", ".join(sorted(lawless)[:_NAMED])
    more = f" and {len(lawless) - _NAMED:,} more" if len(lawless) > _NAMED else ""
    return [f"no key of the profile is for {names}{more}: their pauses are 1 ms at most"]


def _beyond_notes(beyond: int) -> list[str]:
    if not beyond:
        return []
    return [
        f"{beyond:,} pauses lie beyond what was observed: drawn by the profile's tail rule, 30 days at most; "
        "where it has none, at the last observed time"
    ]
