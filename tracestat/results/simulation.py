"""What ``simulate run`` answers: how long agents wait for the first token after a tool, under each policy.

Medians are over seeds, and their intervals too: a seed is what is drawn again. Shares, seconds and bytes of what the
server did are means over seeds, so that parts add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tracestat.results.base import Group, Result
from tracestat.results.interval import NOT_AVAILABLE, Interval

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CapturedGain", "GainOverP1", "SeedMedian", "SimulatedPolicy", "SimulationResult"]


@dataclass(frozen=True, slots=True)
class SeedMedian:
    """A median over seeds, with the least and the most of any seed.

    Attributes
    ----------
    value, low, high : float or None
        Median and bounds of its interval; no bounds below 5 seeds, no value where no seed has one.
    level : float
    method : str
    least, most : float or None
        Of the seeds themselves.
    n : int
        Seeds that have a value.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""
    least: float | None = None
    most: float | None = None
    n: int = 0

    @property
    def interval(self) -> Interval:
        """The median without the range of the seeds."""
        return Interval(self.value, self.low, self.high, self.level, self.method)


@dataclass(frozen=True, slots=True)
class CapturedGain:
    """Share of the oracle's gain over P1 that a policy has, over all seeds together.

    Attributes
    ----------
    share : Interval
    n : int
        Seeds with all three values.
    reason : str
        Why there is no share or no interval; else empty.
    """

    share: Interval = NOT_AVAILABLE
    n: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GainOverP1:
    """What a policy gains over P1 in the mean wait, seconds, mean over seeds: three parts that add up to the whole.

    Attributes
    ----------
    total : float
        Above 0 is better.
    reload : float
        Less wait for loads.
    queueing : float
        Less wait in the queue.
    compute : float
        Less time from admission to the first token: below 0 where more had to be recomputed.
    """

    total: float
    reload: float
    queueing: float
    compute: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPolicy(Group):
    """What one policy did in all seeds; requests are those after a tool's pause that arrive in the window.

    Attributes
    ----------
    policy : str
        Id, or ``FILE.py:FUNCTION``.
    load : float
    host_bytes : int
        Of the host tier; 0: none, as under P0.
    seeds : int
    ttft : mapping of str to SeedMedian
        Wait for the first token, seconds: ``p50``, ``p95``, ``p99``, ``tail_mean`` (of the slowest 5 %) and ``mean``.
    ratio : mapping of str to SeedMedian
        The same over P1 in the same seed; empty for P1.
    captured_share : Interval
        That of ``captured["p99"]``.
    captured : mapping of str to CapturedGain
        Of the oracle P5-B, in ``p99``, ``tail_mean`` and ``mean``; empty for P1.
    gain : GainOverP1 or None
        None for P1, and where a run has no such request.
    shares : mapping of str to float
        Of requests by where what they could reuse came from: ``resident``, ``reload``, ``partial``, ``recompute`` (all
        of it), ``nothing`` (nothing was reusable); they add up to 1. Empty without requests.
    slowest_recompute : SeedMedian
        Share of full recomputes among the slowest 5 %.
    requests_within_slo, sessions_within_slo : SeedMedian
        Requests with a wait of at most 1 s; sessions of which 95 % of the requests have that.
    deadline_subset : mapping of str to SeedMedian
        ``p99``, seconds, of requests whose pause ended on a deadline.
    n_deadline : int
        Those, in all seeds.
    pinned_share : float or None
        Share of tool pauses that the plan pins.
    prefetched_share : float or None
        Share of all pauses that it prefetches for.
    queueing_seconds : float or None
        Continuum's T that its plan was made with; None where a policy reads none.
    link_utilisation : float
    link_wait : mapping of str to float
        Seconds per run that ``load``, ``store`` and ``prefetch`` waited for the link.
    pool : mapping of str to float
        Shares of the pool: ``used`` by requests that run or load, ``cached`` beside them.
    host_used : float or None
        Share of the host tier; None without one.
    busy : float
        Share of time in engine steps.
    stored_bytes, loaded_bytes, prefetched_bytes : float
        Per run.
    preemptions : float
        Per run.
    blocked : mapping of str to float
        ``memory_seconds`` in which the head of the queue did not fit, ``store_seconds`` and ``load_seconds`` by which
        copies held up steps; per run.
    pins_broken : float
        Per run: pins given up so that a request could go on.
    too_large : int
        Sessions that ended in the window since a prompt cannot fit the pool, in all seeds.
    stable : bool
        Whether the queue does not grow under P1 in this configuration; the same for all policies.
    """

    policy: str
    load: float
    host_bytes: int
    seeds: int
    ttft: Mapping[str, SeedMedian]
    ratio: Mapping[str, SeedMedian]
    captured_share: Interval
    captured: Mapping[str, CapturedGain]
    gain: GainOverP1 | None
    shares: Mapping[str, float]
    slowest_recompute: SeedMedian
    requests_within_slo: SeedMedian
    sessions_within_slo: SeedMedian
    deadline_subset: Mapping[str, SeedMedian]
    n_deadline: int
    pinned_share: float | None
    prefetched_share: float | None
    queueing_seconds: float | None
    link_utilisation: float
    link_wait: Mapping[str, float]
    pool: Mapping[str, float]
    host_used: float | None
    busy: float
    stored_bytes: float
    loaded_bytes: float
    prefetched_bytes: float
    preemptions: float
    blocked: Mapping[str, float]
    pins_broken: float
    too_large: int
    stable: bool


@dataclass(frozen=True, slots=True, repr=False)
class SimulationResult(Result):
    """Policies beside each other in one configuration, on the same seeds.

    Attributes
    ----------
    hardware : str
        Id of the constants of the machine.
    kv_bytes_per_token, pool_tokens : int
        Of the machine as it was run.
    sessions : int
        Live at once: 8 times the load.
    load, hours, warmup_seconds : float
    host_bytes : int
    seeds : int
        0 to that less one.
    configuration : mapping of str
        All that was chosen but the policy.
    context_scale : float
        What all tokens were multiplied with.
    mean_context : float
        Of the rounds, tokens.
    contexts_over_pool : float
        ``sessions`` times ``mean_context`` over the pool.
    constants_from : str
        Whose pauses policies know.
    same_trace : bool
        Whether those are of this very trace.
    counts : mapping of str
        What was played, changed and left out.
    waiting_ratio : SeedMedian
        Mean number waiting under P1 in the second half of the window over that in the first.
    stable : bool
        Whether that is at most 1.5 in 95 % of the seeds.
    runs : polars.DataFrame
        A row per seed and policy, with the columns of `tracestat.simulate.runs.RUN_COLUMNS`; not part of the document.
    """

    hardware: str
    kv_bytes_per_token: int
    pool_tokens: int
    sessions: int
    load: float
    hours: float
    warmup_seconds: float
    host_bytes: int
    seeds: int
    configuration: Mapping[str, str | float | int | bool | None]
    context_scale: float
    mean_context: float
    contexts_over_pool: float
    constants_from: str
    same_trace: bool
    counts: Mapping[str, float | int]
    waiting_ratio: SeedMedian
    stable: bool
    groups: tuple[SimulatedPolicy, ...]
    runs: pl.DataFrame = field(compare=False, metadata={"json": None})
    command: ClassVar[str] = "simulate_run"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per seed and policy."""
        import polars as pl

        return self.runs.with_columns(synthetic=pl.lit(self.head.synthetic))
