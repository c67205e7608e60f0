"""The numbers of a run: frozen, shares of 1, seconds; None where there is nothing to measure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GainSplit", "Origins", "RunSummary", "Stability", "Usage", "Waits"]


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a set of requests waited for the first token.

    Attributes
    ----------
    n : int
        Requests with a first token.
    n_censored : int
        Requests without one at the horizon.
    p50, p95, p99 : float or None
        TTFT, seconds; None without requests.
    mean : float or None
    tail_mean : float or None
        Mean of the slowest ceil(5 %).
    p99_at_least, tail_mean_at_least : float or None
        The same with the censored ones, each with what it had waited.
    """

    n: int
    n_censored: int
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    mean: float | None = None
    tail_mean: float | None = None
    p99_at_least: float | None = None
    tail_mean_at_least: float | None = None


@dataclass(frozen=True, slots=True)
class Origins:
    """Where the reusable part of prompts came from: shares of requests, which add up to 1.

    Attributes
    ----------
    n : int
    full_recompute : float
        Nothing was hit, though something was reusable.
    reload : float
        Something came from the host tier.
    resident : float
        All whole blocks that could be reused were on the GPU.
    partial : float
        Some of them were, and nothing came from the host tier.
    nothing : float
        Nothing was reusable.
    """

    n: int
    full_recompute: float
    reload: float
    resident: float
    partial: float
    nothing: float


@dataclass(frozen=True, slots=True)
class Stability:
    """Whether the queue grows.

    Attributes
    ----------
    first, second : float
        Mean number of requests waiting in the halves of the window.
    ratio : float
        The second over the first, infinite where that is 0; 1 where the second is below 0.1: too few to tell.
    """

    first: float
    second: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What the machine did, as shares of the window unless named otherwise.

    Attributes
    ----------
    pool_used, pool_cached : float
        Of the pool: blocks of running or loading requests, and blocks that are cached only.
    host_used : float or None
        Of the host tier; None without one.
    link_busy : float
        Of the link; with two lanes, of both.
    busy : float
        Time in which the engine steps.
    """

    pool_used: float
    pool_cached: float
    host_used: float | None
    link_busy: float
    busy: float


@dataclass(frozen=True, slots=True)
class GainSplit:
    """A gain in the mean post-tool TTFT over another run, in parts that add up to it; seconds, above 0 is better.

    Attributes
    ----------
    total : float
    reload : float
        Less wait for loads.
    queueing : float
        Less wait in the queue.
    compute : float
        Less time from admission, or the load, to the first token: negative where capacity was lost to others and more
        had to be recomputed.
    """

    total: float
    reload: float
    queueing: float
    compute: float


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The numbers of a run; the window only, unless a name says otherwise.

    Attributes
    ----------
    post_tool : Waits
        Requests whose previous round ended in a tool's pause.
    all_requests : Waits
    after_deadline : Waits
        Post-tool requests whose pause had a known deadline.
    origins : Origins or None
        Of post-tool requests; None without any.
    slowest_recompute : float or None
        Share of full recomputes among the slowest 5 % of post-tool requests.
    slowest_of_one_session : float or None
        Largest share of the slowest 5 % that one session owns.
    slo_requests, slo_post_tool : float or None
        Share with a TTFT of at most 1 s. Censored ones count against it once they have waited longer, else not at all.
    n_too_large : int
        Requests of the window that the pool can never hold, which end their session: in none of the other numbers.
    slo_sessions : float or None
        Share of sessions (of a slot, with a post-tool request) whose 95 % quantile of post-tool TTFT is at most 1 s.
    n_sessions : int
        Sessions of that share.
    mean_queue, mean_load, mean_compute : float or None
        Of the post-tool TTFT: they add up to its mean.
    stability : Stability
    usage : Usage
    """

    post_tool: Waits
    all_requests: Waits
    after_deadline: Waits
    origins: Origins | None
    slowest_recompute: float | None
    slowest_of_one_session: float | None
    slo_requests: float | None
    slo_post_tool: float | None
    slo_sessions: float | None
    n_sessions: int
    mean_queue: float | None
    mean_load: float | None
    mean_compute: float | None
    stability: Stability
    usage: Usage
    n_too_large: int
