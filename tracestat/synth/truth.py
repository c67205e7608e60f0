"""What is true of a synthetic trace: the laws it was drawn from and what was written, counted while writing.

The laws hold exactly, up to the rounding of durations to a millisecond. What a law says about each unit stands in
`UNITS`, and goes into the truth file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tracestat.results import Json

__all__ = [
    "SCHEMA",
    "UNITS",
    "AtomTruth",
    "ClassTruth",
    "EffectTruth",
    "LawTruth",
    "SynthTruth",
    "TurnTruth",
    "WaitTruth",
    "Written",
]

SCHEMA = "tracestat.synth_truth/1"

UNITS: dict[str, str] = {
    "call": (
        "The law of its tool, with z = skeleton effect x developer effect, holds for every call except polls and "
        "human waits, also for calls of one round, which run side by side. A call with an asked limit ends at the "
        "limit plus a small delay if its law would take longer."
    ),
    "pause": (
        "Equal to the call for rounds with one call, counted from the call's emission, which is the last output. A "
        "round with several calls pauses until the last result: a mixture of maxima, for which no single law is "
        "claimed. A superseded pause ends when the next round begins to write, not by its law."
    ),
    "poll": (
        "A write_stdin call waits for the rest of a process: at poll time s of a process of age e its hazard is the "
        "launch's law at e + s, or the process has already ended and the poll returns at once."
    ),
    "command": (
        "The process of an exec_command follows the launch's law from its emission on, across yields and polls. A "
        "process that ends between two polls is seen by the next poll: its end lies between the last `running` and "
        "that result. Commands nobody polls to the end are censored, independently of their law."
    ),
    "censoring": (
        "Calls lose their result when a user message cuts in at a moment drawn independently of the duration, or "
        "because the session stops there. Codex marks most of the former as aborted, with a result at that moment."
    ),
}


@dataclass(frozen=True, slots=True)
class LawTruth:
    """Hazard law of one tool: ``h(t) = z exp(log_a) t^slope`` from `t0` seconds on.

    Attributes
    ----------
    provider, tool, tool_class : str
    slope : float
        Log-log slope within (tool, skeleton, developer), exact on the range.
    log_a : float
        Log hazard at one second for z = 1.
    t0 : float
        Shortest duration, seconds.
    range_seconds : tuple of float
        Where the slope may be measured: rounding to milliseconds is below 1 % of the shortest time.
    median_seconds : float
        Pooled over skeletons and developers, by design.
    by_skeleton : bool
        Whether the skeleton effect applies; the developer effect always does.
    """

    provider: str
    tool: str
    tool_class: str
    slope: float
    log_a: float
    t0: float
    range_seconds: tuple[float, float]
    median_seconds: float
    by_skeleton: bool


@dataclass(frozen=True, slots=True)
class ClassTruth:
    """Slope of a class of tools within a key and pooled over its keys.

    Attributes
    ----------
    provider : str
    tool_class : str or None
        None for all tools of the provider that have a law.
    within : float or None
        None where the classes differ.
    pooled : dict of str to float
        Local slope of the pooled hazard by time in seconds, with the keys weighted by the calls written.
    """

    provider: str
    tool_class: str | None
    within: float | None
    pooled: dict[str, float]


@dataclass(frozen=True, slots=True)
class EffectTruth:
    """Multipliers of the hazard.

    Attributes
    ----------
    kind : str
        ``"developer"`` or ``"skeleton"``.
    provider : str or None
        None where one effect serves both.
    theta : float
        Variance of the gamma law with mean 1 that was cut into strata.
    variance : float
        Variance of the values used: skeletons weighted by their share, developers equally.
    values : dict of str to float
    """

    kind: str
    provider: str | None
    theta: float
    variance: float
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class AtomTruth:
    """One deadline.

    Attributes
    ----------
    provider : str
    tool : str or None
        None for all tool pauses of the provider, parallel rounds included; then `mass` and `share` are counted.
    seconds : float
    delay_seconds : tuple of float or None
        Shortest and longest time from the limit to the result.
    mass : float or None
        Probability to end there, of the calls (pauses) still running at that time.
    share : float or None
        Of all tool pauses.
    events : int
        Calls (pauses) that ended there.
    at_risk : int or None
        Pauses of at least 0.995 of `seconds`.
    """

    provider: str
    tool: str | None
    seconds: float
    delay_seconds: tuple[float, float] | None
    mass: float | None
    share: float | None
    events: int
    at_risk: int | None


@dataclass(frozen=True, slots=True)
class TurnTruth:
    """Law of a turn count.

    Attributes
    ----------
    provider : str
    unit : str
        ``"request"`` (rounds of one) or ``"session"`` (rounds of one, copies not counted).
    law : dict of str to float
        Of ``ceil(lognormal(mu, sigma))`` given at most ``maximum``: the rounds of a request, or the requests of a
        session.
    mean, eta : float
        Mean number of rounds, and memoryfulness.
    """

    provider: str
    unit: str
    law: dict[str, float]
    mean: float
    eta: float | None


@dataclass(frozen=True, slots=True)
class WaitTruth:
    """A lognormal wait: an answer, the gap to the next user message, generation."""

    provider: str
    kind: str
    median_seconds: float
    sigma: float


@dataclass(frozen=True, slots=True)
class Written:
    """What was written for one provider. Pauses leave copies out; rows, calls and events count them.

    Attributes
    ----------
    sessions, developers, rounds, calls, events : int
    copied_rounds, copied_calls : int
        Repeated with the ids and stamps of the session before.
    calls_without_result : int
        Copies left out.
    launches, yielded, polled, finished, polls : int
        Codex commands: launches, those that ran past their limit, those polled at least once, those seen to finish,
        and all polls.
    pauses, single_call, human, censored, superseded, interrupted, on_deadline : int
        Rounds with a call; of these: with one call, waiting for a human, without some result, ended by the next
        round, aborted, ended on a deadline.
    tool_pauses : int
        Pauses with all results that do not wait for a human; the base of the next ones.
    within_1s, over_60s : int
    seconds, seconds_over_60s, human_seconds : float
        Lengths of the tool pauses, of those above a minute, and of the human waits.
    """

    sessions: int
    developers: int
    rounds: int
    calls: int
    events: int
    copied_rounds: int
    copied_calls: int
    calls_without_result: int
    launches: int
    yielded: int
    polled: int
    finished: int
    polls: int
    pauses: int
    single_call: int
    human: int
    censored: int
    superseded: int
    interrupted: int
    on_deadline: int
    tool_pauses: int
    within_1s: int
    over_60s: int
    seconds: float
    seconds_over_60s: float
    human_seconds: float

    def shares(self) -> dict[str, float | None]:
        """Give the shares that the counts make; None where there is nothing to divide by."""
        parts: dict[str, tuple[float, float]] = {
            "copied_rounds": (self.copied_rounds, self.rounds),
            "calls_without_result": (self.calls_without_result, self.calls - self.copied_calls),
            "censored_pauses": (self.censored, self.pauses),
            "human_pauses": (self.human, self.pauses),
            "human_time": (self.human_seconds, self.human_seconds + self.seconds),
            "within_1s": (self.within_1s, self.tool_pauses),
            "over_60s": (self.over_60s, self.tool_pauses),
            "over_60s_time": (self.seconds_over_60s, self.seconds),
            "on_deadline": (self.on_deadline, self.tool_pauses),
        }
        return {name: round(part / whole, 6) if whole else None for name, (part, whole) in parts.items()}


@dataclass(frozen=True, slots=True)
class SynthTruth:
    """Everything known about a synthetic trace.

    Attributes
    ----------
    file : str
        Base name of the trace.
    version : str
        Of the generator: traces of one version, seed and size are equal.
    seed, sessions, developers : int
        As asked for; a developer without a session is not in the trace (`written` has the counts).
    codex_share : float
    laws, classes, effects, atoms, turns, waits : tuple
    written : dict of str to Written
        By provider.
    developers_written : int
        Distinct developers of the whole trace.
    """

    file: str
    version: str
    seed: int
    sessions: int
    developers: int
    codex_share: float
    laws: tuple[LawTruth, ...]
    classes: tuple[ClassTruth, ...]
    effects: tuple[EffectTruth, ...]
    atoms: tuple[AtomTruth, ...]
    turns: tuple[TurnTruth, ...]
    waits: tuple[WaitTruth, ...]
    written: dict[str, Written]
    developers_written: int

    def to_dict(self) -> dict[str, Json]:
        """Give the content of the truth file."""
        body = asdict(self)
        generator = {key: body.pop(key) for key in ("version", "seed", "sessions", "developers", "codex_share")}
        shares = {name: written.shares() for name, written in self.written.items()}
        return {"schema": SCHEMA, "synthetic": True, "generator": generator, "units": UNITS, **body, "shares": shares}
