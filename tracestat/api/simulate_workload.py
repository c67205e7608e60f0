"""The sessions of a trace as the arrays that the simulator plays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import TraceLike, as_trace
from tracestat.charts.words import counted, percent
from tracestat.durations.sequence import HumanGap, context_factor, parse_human_gap, session_sequence, with_pauses
from tracestat.durations.subagents import subagent_links
from tracestat.errors import TracestatError, UsageError
from tracestat.queries import query_text
from tracestat.simulate.forms import END, HUMAN, TOOL, Workload

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_TOKENS", "SimulationWorkload", "WorkloadCounts", "simulation_workload"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T", bound=np.generic)
# In one count; a damaged trace may hold any number, and what is played must fit whole numbers after scaling.
MOST_TOKENS: Final = 100_000_000
_LEAST_APPEND = 16  # one block: a round that asks for less is the rounding of a scale
_MISSED = 0.5  # of the prompt before: a recorded prefix below this, though nothing was dropped
_AT_LOAD_1 = 8  # sessions of load x1, by the article


@dataclass(frozen=True, slots=True)
class WorkloadCounts:
    """What was taken, changed and left out.

    Attributes
    ----------
    sessions, rounds : int
        Played. With the rule ``end`` sessions are pieces of recorded ones.
    recorded_sessions : int
        Those that the pieces come from.
    left_out_sessions, left_out_rounds : int
        With tokens that are unknown, negative or above `MOST_TOKENS` at some round; all their rounds.
    over_pool_sessions : int
        Played ones with a prompt that the pool can never hold: they end there. 0 where no pool was named.
    subagents : int
        Recorded sessions that are sub-agents': played as independent ones.
    tool_pauses, human_pauses, no_pauses : int
        Rounds by what follows: a tool, a person, or at once the next round (of the human kind, so that no tool has it).
    tool_seconds, human_seconds : float
        In the pauses that are played, each part in full.
    human_cut_seconds : float
        What the rule for human gaps took away, and with the rule ``end`` the tools' part of pauses that end a piece.
    unknown_pauses : int
        Of unknown length, 0 s.
    prefixes_cut : int
        Recorded prefixes longer than the context of the session before them: what is beyond counts as appended.
    cache_misses : int
        Rounds whose prompt is at least as long as the one before, of which the record finds less than half in its
        cache: the provider's cache had lost it, the session had not.
    appends_raised, outputs_raised : int
        Counts raised to the least number.
    asked_deadlines, exact_deadlines : int
    """

    sessions: int
    rounds: int
    recorded_sessions: int
    left_out_sessions: int
    left_out_rounds: int
    over_pool_sessions: int
    subagents: int
    tool_pauses: int
    human_pauses: int
    no_pauses: int
    tool_seconds: float
    human_seconds: float
    human_cut_seconds: float
    unknown_pauses: int
    prefixes_cut: int
    cache_misses: int
    appends_raised: int
    outputs_raised: int
    asked_deadlines: int
    exact_deadlines: int


@dataclass(frozen=True, slots=True, eq=False)
class SimulationWorkload:
    """Sessions to play, with what was done to them.

    Attributes
    ----------
    workload : Workload
        Its deadlines are the asked ones: known when the pause starts, so that a policy may use them (P4-H).
    exact_deadline : array, shape (R,)
        Seconds from the start of the pause to the limit on which it did end, NaN elsewhere: an upper bound (P4-D).
    session_pk : array of int, shape (S,)
        The recorded session of each.
    round_pk : array of int, shape (R,)
        The recorded round of each.
    human_gap : HumanGap
    cache_misses : {"recorded", "reused"}
    context_scale : float
        What all tokens were multiplied with.
    mean_context : float
        Of the rounds, tokens.
    mean_held : float
        Mean context over the time of all pauses, tokens: what a paused session holds at a random moment.
    counts : WorkloadCounts
    synthetic : bool
    notes : tuple of str
    """

    workload: Workload
    exact_deadline: Floats
    session_pk: Ints
    round_pk: Ints
    human_gap: HumanGap
    cache_misses: str
    context_scale: float
    mean_context: float
    mean_held: float
    counts: WorkloadCounts
    synthetic: bool
    notes: tuple[str, ...]

    @property
    def with_exact_deadlines(self) -> Workload:
        """The same sessions, each deadline one that the pause ended on.

        All policies run on this one, so that the deadline subset is the same for all; only P4-D may plan from it.
        """
        return replace(self.workload, deadline=self.exact_deadline)


def simulation_workload(
    trace: TraceLike,
    *,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    human_gap: str = "cap:60",
    scale_context: int | None = None,
    cache_misses: Literal["recorded", "reused"] = "recorded",
    pool_tokens: int | None = None,
) -> SimulationWorkload:
    """Make the arrays that the simulator plays of the sessions of a trace.

    Parameters
    ----------
    trace : Trace, str or Path
    where, since, until, tz : str, optional
        Which sessions: conditions on provider, developer, project, session and ``started_at``.
    human_gap : str
        ``cap:SECONDS``, ``keep``, ``drop`` or ``end`` (the session ends at a person's wait, what follows is a session
        of its own). Tools that ask a person are a person's wait. The pauses of tools are never changed.
    scale_context : int, optional
        Tokens that the 99th percentile of the sessions' largest contexts is brought to; None as recorded. What is
        appended is then at least 16 tokens (else 1), an output always at least 1.
    cache_misses : {"recorded", "reused"}
        What becomes of rounds whose prompt the provider's own cache had lost, though the session had not: reusable is
        what the record says, or the whole prompt before. No policy can help where nothing is reusable.
    pool_tokens : int, optional
        Tokens that the GPU holds, to count the sessions that do not fit.

    Returns
    -------
    SimulationWorkload

    Raises
    ------
    UsageError
        A choice that there is not.
    TracestatError
        No session with known tokens.

    Notes
    -----
    The first round of a session has nothing to reuse: what the record found in a cache counts as appended, as does any
    prefix beyond the context of the round before, so that prompts keep their length. A deadline counts from the start
    of the pause, a limit from the emission of its call: ``queries/simulate_limits.sql``.

    Examples
    --------
    >>> import tracestat
    >>> made = simulation_workload(tracestat.open(), scale_context=32_768)
    >>> made.counts.sessions, made.counts.rounds, bool((made.workload.append >= 16).all())
    (120, 11544, True)
    """
    gap = parse_human_gap(human_gap, may_end=True)
    if scale_context is not None and not 1 <= scale_context <= MOST_TOKENS:
        raise UsageError(f"--scale-context {scale_context}: give 1 to {MOST_TOKENS:,} tokens")
    if cache_misses not in ("recorded", "reused"):
        raise UsageError(f"cache_misses {cache_misses}: give recorded or reused")
    if pool_tokens is not None and pool_tokens < 1:
        raise UsageError(f"pool_tokens {pool_tokens}: give 1 or more")
    opened = as_trace(trace)
    recorded, _ = session_sequence(opened, by=None, where=where, since=since, until=until, tz=tz)
    usable = _usable(recorded)
    if not usable.height:
        found = counted(recorded["session_pk"].n_unique(), "session")
        raise TracestatError(f"{opened.shown}: {found}, none with the tokens of all its rounds: nothing to simulate")
    frame = with_pauses(usable, gap).join(opened.run(query_text("simulate_limits")), on="round_pk", how="left")
    frame = frame.sort("session_pk", "place")
    begins = _begins(frame, gap)
    tokens = _tokens(frame, begins, scale_context, reuse_missed=cache_misses == "reused")
    kind, pause = _pauses(frame, begins)
    workload = _workload(frame, begins, tokens, kind, pause)
    exact = _deadlines(frame, "exact_deadline", kind)
    is_agent = set(subagent_links(opened)["session_pk"].to_list())
    played = np.unique(frame["session_pk"].to_numpy())
    longest = np.maximum.reduceat(workload.prefix + workload.append, workload.off[:-1])
    known = frame["pause_known"].to_numpy()
    counts = WorkloadCounts(
        sessions=len(begins),
        rounds=frame.height,
        recorded_sessions=len(played),
        left_out_sessions=recorded["session_pk"].n_unique() - len(played),
        left_out_rounds=recorded.height - frame.height,
        over_pool_sessions=0 if pool_tokens is None else int(np.count_nonzero(longest + 1 > pool_tokens)),
        subagents=sum(int(pk) in is_agent for pk in played),
        tool_pauses=int(np.count_nonzero(kind == TOOL)),
        human_pauses=int(np.count_nonzero((kind == HUMAN) & (frame["kind"] == "human").to_numpy())),
        no_pauses=int(np.count_nonzero((kind == HUMAN) & (frame["kind"] == "none").to_numpy())),
        tool_seconds=float(frame["tool_seconds"].to_numpy()[kind != END].sum()),
        human_seconds=float(frame["human_after_seconds"].to_numpy()[kind != END].sum()),
        human_cut_seconds=float(((frame["tool_seconds"] + frame["human_seconds"]).to_numpy() - pause).sum()),
        unknown_pauses=int(np.count_nonzero(~known & (kind != END))),
        prefixes_cut=tokens.prefixes_cut,
        cache_misses=tokens.cache_misses,
        appends_raised=tokens.appends_raised,
        outputs_raised=tokens.outputs_raised,
        asked_deadlines=int(np.count_nonzero(np.isfinite(workload.deadline))),
        exact_deadlines=int(np.count_nonzero(np.isfinite(exact))),
    )
    mean = float(workload.context.mean())
    total = float(pause.sum())
    return SimulationWorkload(
        workload=workload,
        exact_deadline=exact,
        session_pk=_fixed(frame["session_pk"].to_numpy()[begins].astype(np.int64)),
        round_pk=_fixed(frame["round_pk"].to_numpy().astype(np.int64)),
        human_gap=gap,
        cache_misses=cache_misses,
        context_scale=tokens.scale,
        mean_context=mean,
        mean_held=float((workload.context * (pause / total)).sum()) if total > 0 else mean,
        counts=counts,
        synthetic=opened.synthetic,
        notes=tuple(_notes(counts, cache_misses, mean, pool_tokens)),
    )


def _usable(recorded: pl.DataFrame) -> pl.DataFrame:
    """Keep the sessions whose tokens are known and possible at all rounds."""
    import polars as pl

    names = ("prefix_tokens", "append_tokens", "output_tokens")
    fine = pl.all_horizontal(pl.col(name).is_between(0, MOST_TOKENS).fill_null(value=False) for name in names)
    return recorded.filter(fine.all().over("session_pk"))


def _begins(frame: pl.DataFrame, gap: HumanGap) -> Ints:
    """Give the first round of each session that is played."""
    session = frame["session_pk"].to_numpy()
    first = np.ones(len(session), bool)
    first[1:] = session[1:] != session[:-1]
    if gap.rule == "end":
        first[1:] |= (frame["kind"] == "human").to_numpy()[:-1]
    return np.flatnonzero(first).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Tokens:
    prefix: Ints
    append: Ints
    out: Ints
    scale: float
    prefixes_cut: int
    cache_misses: int
    appends_raised: int
    outputs_raised: int


def _before(values: Ints, begins: Ints) -> Ints:
    """Give the value of the round before; 0 in first rounds."""
    out = np.concatenate([[0], values[:-1]]).astype(np.int64)
    out[begins] = 0
    return out


def _tokens(frame: pl.DataFrame, begins: Ints, scale_context: int | None, *, reuse_missed: bool) -> _Tokens:
    """Scale the tokens; nothing beyond the context before is reusable."""
    prefix, append, out = (
        frame[name].to_numpy().astype(np.int64) for name in ("prefix_tokens", "append_tokens", "output_tokens")
    )
    prompt = prefix + append
    before = _before(prompt, begins)
    missed = (prompt >= before) & (prefix < _MISSED * before)
    if reuse_missed:
        prefix = np.where(missed, before, prefix)
        append = prompt - prefix
    session = np.cumsum(np.diff(frame["session_pk"].to_numpy(), prepend=-1) != 0) - 1
    peaks = np.zeros(int(session[-1]) + 1, np.int64)
    np.maximum.at(peaks, session, prompt + out)
    scale = context_factor(peaks, scale_context)
    if scale != 1.0:
        prefix, append, out = (np.rint(tokens * scale).astype(np.int64) for tokens in (prefix, append, out))
    # a prompt of nothing but its prefix still has a last token to compute
    least = np.where(prefix > 0, 0, 1) if scale_context is None else np.full(len(append), _LEAST_APPEND)
    raised = np.maximum(append, least)
    written = np.maximum(out, 1)
    context = _before(prefix + raised + written, begins)
    reusable = np.minimum(prefix, context)
    is_later = np.ones(len(prefix), bool)
    is_later[begins] = False
    return _Tokens(
        prefix=reusable,
        append=raised + prefix - reusable,
        out=written,
        scale=scale,
        prefixes_cut=int(np.count_nonzero((prefix > context) & is_later)),
        cache_misses=int(np.count_nonzero(missed)),
        appends_raised=int(np.count_nonzero(append < least)),
        outputs_raised=int(np.count_nonzero(out < 1)),
    )


def _pauses(frame: pl.DataFrame, begins: Ints) -> tuple[NDArray[np.int8], Floats]:
    """Give what each pause waits for and how long it is; the last round of a session has none."""
    # a round that follows by itself waits for no tool
    kind = np.where((frame["kind"] == "tool").to_numpy(), TOOL, HUMAN).astype(np.int8)
    kind[np.append(begins[1:], len(kind)) - 1] = END
    return kind, np.where(kind == END, 0.0, frame["pause_after_seconds"].to_numpy())


def _deadlines(frame: pl.DataFrame, name: str, kind: NDArray[np.int8]) -> Floats:
    """Give a deadline for the pauses of tools: what a person or the end of a session cuts off waits for none."""
    found = frame[name].cast(float).fill_null(float("nan")).to_numpy()
    return _fixed(np.where(kind == TOOL, found, np.nan))


def _workload(frame: pl.DataFrame, begins: Ints, tokens: _Tokens, kind: NDArray[np.int8], pause: Floats) -> Workload:
    class_names, klass = _codes(frame["tool_class"])
    tool_names, tool = _codes(frame["tool"])
    return Workload(
        off=_fixed(np.append(begins, frame.height).astype(np.int64)),
        prefix=_fixed(tokens.prefix),
        append=_fixed(tokens.append),
        out=_fixed(tokens.out),
        pause=_fixed(pause),
        kind=_fixed(kind),
        deadline=_deadlines(frame, "asked_deadline", kind),
        klass=_fixed(klass),
        tool=_fixed(tool),
        class_names=class_names,
        tool_names=tool_names,
        providers=tuple(frame["provider"].to_numpy()[begins].tolist()),
    )


def _codes(names: pl.Series) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Give each name a number, in the order of the alphabet; rounds without a call have the name ``none``."""
    filled = names.fill_null("none").to_numpy().astype(str)
    found, codes = np.unique(filled, return_inverse=True)
    return tuple(found.tolist()), codes.astype(np.int32)


def _fixed(values: NDArray[T]) -> NDArray[T]:
    out = np.ascontiguousarray(values).copy()
    out.flags.writeable = False
    return out


def _notes(counts: WorkloadCounts, cache_misses: str, mean: float, pool_tokens: int | None) -> list[str]:
    """Say what the numbers do not show."""
    notes = []
    if counts.left_out_sessions:
        notes.append(
            f"{counted(counts.left_out_sessions, 'session')} with {counted(counts.left_out_rounds, 'round')} left out: "
            "tokens unknown, negative or impossibly many"
        )
    if counts.subagents:
        notes.append(
            f"{counts.subagents:,} of {counts.recorded_sessions:,} sessions are sub-agents: served as independent "
            "sessions, although their parent waits for them"
        )
    if counts.unknown_pauses:
        notes.append(f"{counted(counts.unknown_pauses, 'pause')} of unknown length, taken as 0 s")
    if counts.cache_misses:
        what = "recomputed under every policy" if cache_misses == "recorded" else "reusable here"
        notes.append(
            f"{counted(counts.cache_misses, 'round')} ({percent(counts.cache_misses / counts.rounds)}) of a prompt "
            f"that the provider's cache had lost and the session had not: {what}"
        )
    if counts.exact_deadlines and not counts.asked_deadlines:
        notes.append(
            f"limits stand only where they were reached ({counted(counts.exact_deadlines, 'pause')}): they serve the "
            "upper bound P4-D; P4-H, which plans from what was asked, has none"
        )
    if counts.over_pool_sessions:
        notes.append(
            f"{counted(counts.over_pool_sessions, 'session')} of {counts.sessions:,} with a prompt larger than the "
            f"pool ({pool_tokens:,} tokens): they end there"
        )
    if pool_tokens is not None:
        notes.append(
            f"mean context {mean:,.0f} tokens: load x1, {_AT_LOAD_1} sessions, is "
            f"{_AT_LOAD_1 * mean / pool_tokens:.2f} of the pool"
        )
    return notes
