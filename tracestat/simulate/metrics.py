"""What a run says: summaries of its requests and counters, each by its definition.

A request counts where it arrives in the window, from the end of the warm-up to the horizon. Quantiles are values of
the data: the smallest that at least this share does not exceed. Of a request that is unfinished at the horizon only
a part of the wait is known: it is counted, left out of quantiles, and stands with what it had waited in those named
``at_least``.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.simulate.forms import TOOL, Counters, Requests, Settings, Workload
from tracestat.simulate.summaries import GainSplit, Origins, RunSummary, Stability, Usage, Waits

if TYPE_CHECKING:
    from tracestat.hardware import Hardware

__all__ = [
    "SLO_SECONDS",
    "gain_split",
    "in_window",
    "is_stable",
    "overlap_of_slowest",
    "slowest",
    "stability",
    "summarise",
    "waits",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
SLO_SECONDS: Final = 1.0
SLOWEST: Final = 0.05
STABLE_RATIO: Final = 1.5
STABLE_SHARE: Final = 0.95
_FEW_WAITING: Final = 0.1


def quantile(values: ArrayLike, q: float) -> float | None:
    """Give the smallest value that at least the share q does not exceed; None without values.

    Examples
    --------
    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5), quantile([1.0, 2.0, 3.0, 4.0], 0.51), quantile([], 0.5)
    (2.0, 3.0, None)
    """
    given = np.sort(np.asarray(values, dtype=np.float64))
    return float(given[_place(q, given.size)]) if given.size else None


def _place(q: float, n: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the place of a quantile among n sorted values; 0.95 of 20 is 19, whatever floating point makes of it."""
    return np.maximum(np.ceil(q * np.asarray(n) - 1e-9).astype(np.int64), 1) - 1


def tail_mean(values: ArrayLike) -> float | None:
    """Give the mean of the largest ceil(5 %); None without values.

    Examples
    --------
    >>> tail_mean(range(40)), tail_mean(range(41)), tail_mean([7.0])
    (38.5, 39.0, 7.0)
    """
    given = np.sort(np.asarray(values, dtype=np.float64))
    return float(given[-_n_slowest(given.size) :].mean()) if given.size else None


def _n_slowest(n: int) -> int:
    # whole numbers: 0.05 * n is not exact
    return -(-n // 20)


def waits(ttft: ArrayLike, waited: ArrayLike) -> Waits:
    """Summarise the waits of a set of requests.

    Parameters
    ----------
    ttft : array_like, shape (n,)
        Seconds, NaN where censored.
    waited : array_like, shape (n,)
        Seconds from the arrival to the horizon; read where censored.

    Examples
    --------
    >>> found = waits([0.1, 0.2, float("nan")], [9.0, 9.0, 5.0])
    >>> found.n, found.n_censored, found.p50, found.p99, found.p99_at_least
    (2, 1, 0.1, 0.2, 5.0)
    """
    given, least = np.asarray(ttft, dtype=np.float64), np.asarray(waited, dtype=np.float64)
    known = given[~np.isnan(given)]
    at_least = np.where(np.isnan(given), least, given)
    return Waits(
        n=int(known.size),
        n_censored=int(given.size - known.size),
        p50=quantile(known, 0.5),
        p95=quantile(known, 0.95),
        p99=quantile(known, 0.99),
        mean=float(known.mean()) if known.size else None,
        tail_mean=tail_mean(known),
        p99_at_least=quantile(at_least, 0.99),
        tail_mean_at_least=tail_mean(at_least),
    )


def in_window(requests: Requests, settings: Settings) -> Bools:
    """Say which requests arrive in the window."""
    warm: Bools = requests.arrival >= settings.warmup
    return warm & (requests.arrival < settings.horizon)


def post_tool(requests: Requests, settings: Settings) -> Bools:
    """Say which requests of the window follow a tool's pause."""
    after_tool: Bools = requests.before == TOOL
    return in_window(requests, settings) & after_tool


def slowest(requests: Requests, settings: Settings) -> NDArray[np.int64]:
    """Give the rows of the slowest ceil(5 %) post-tool requests with a first token, slowest first.

    Of equal waits the earlier arrival comes first.
    """
    rows = np.flatnonzero(post_tool(requests, settings) & ~np.isnan(requests.ttft))
    order = np.argsort(-requests.ttft[rows], kind="stable")
    return rows[order][: _n_slowest(rows.size)].astype(np.int64)


def overlap_of_slowest(first: Requests, second: Requests, settings: Settings) -> float | None:
    """Give the share of the slowest 5 % of two runs that is in both; None without requests.

    The runs are of the same start: a slot plays the same rounds in the same order under every policy, so the number of
    a request in its slot says which one it is. The share is of the smaller set.
    """
    ours, theirs = ({*_names(run)[slowest(run, settings)].tolist()} for run in (first, second))
    least = min(len(ours), len(theirs))
    return len(ours & theirs) / least if least else None


def _names(requests: Requests) -> NDArray[np.int64]:
    """Give each request a number of its slot and its place in it."""
    slots = int(requests.slot.max(initial=0)) + 1
    place = np.zeros(requests.slot.size, np.int64)
    for slot in range(slots):
        rows = np.flatnonzero(requests.slot == slot)
        place[rows] = np.arange(rows.size)
    return place * slots + requests.slot


def full_recompute(requests: Requests, workload: Workload) -> Bools:
    """Say which requests hit nothing, though something was reusable."""
    missed: Bools = requests.gpu_hit + requests.host_hit == 0
    return missed & (workload.prefix[requests.round] > 0)


def origins(requests: Requests, workload: Workload, rows: Bools, block: int) -> Origins | None:
    """Give the shares of requests by where their reusable tokens came from; None without requests.

    Parameters
    ----------
    requests : Requests
    workload : Workload
    rows : array of bool
        Which requests; those without a first token are left out.
    block : int
        Tokens of a block: what is reusable is whole blocks, and never the last token of a prompt.
    """
    counted = rows & ~np.isnan(requests.ttft)
    n = int(np.count_nonzero(counted))
    if not n:
        return None
    prefix, append = workload.prefix[requests.round], workload.append[requests.round]
    whole = np.minimum(prefix, prefix + append - 1) // block * block
    nothing = prefix == 0
    recompute = full_recompute(requests, workload)
    reload = ~nothing & ~recompute & (requests.host_hit > 0)
    resident = ~nothing & ~recompute & ~reload & (requests.gpu_hit >= whole)
    parts = {
        "full_recompute": recompute,
        "reload": reload,
        "resident": resident,
        "partial": ~(nothing | recompute | reload | resident),
        "nothing": nothing,
    }
    return Origins(n, **{name: int(np.count_nonzero(part & counted)) / n for name, part in parts.items()})


def slo_share(ttft: ArrayLike, waited: ArrayLike, limit: float = SLO_SECONDS) -> float | None:
    """Give the share of requests within a limit; None without any that is decided.

    A censored request is decided once it has waited longer.

    Examples
    --------
    >>> nan = float("nan")
    >>> slo_share([0.5, 1.0, 2.0, nan, nan], [9.0, 9.0, 9.0, 3.0, 0.2])
    0.5
    """
    within = _decided(np.asarray(ttft, dtype=np.float64), np.asarray(waited, dtype=np.float64), limit)
    return float((within <= limit).mean()) if within.size else None


def _decided(ttft: Floats, waited: Floats, limit: float) -> Floats:
    """Give the waits that are decided; infinite where only known to be longer than the limit."""
    given = np.where(np.isnan(ttft) & (waited > limit), np.inf, ttft)
    return given[~np.isnan(given)]


def sessions_within(
    requests: Requests, settings: Settings, limit: float = SLO_SECONDS, q: float = 0.95
) -> tuple[float | None, int]:
    """Give the share of sessions whose quantile of post-tool TTFT is within a limit, and how many sessions there are.

    A session is one of a slot; the same recorded session in two slots is two.
    """
    rows = np.flatnonzero(post_tool(requests, settings))
    waited = settings.horizon - requests.arrival[rows]
    late = np.isnan(requests.ttft[rows]) & (waited > limit)
    ttft = np.where(late, np.inf, requests.ttft[rows])
    rows, ttft = rows[~np.isnan(ttft)], ttft[~np.isnan(ttft)]
    slots = int(requests.slot.max(initial=0)) + 1
    names = requests.session[rows].astype(np.int64) * slots + requests.slot[rows]
    order = np.lexsort((ttft, names))
    _, first, n = np.unique(names[order], return_index=True, return_counts=True)
    if not n.size:
        return None, 0
    return float((ttft[order][first + _place(q, n)] <= limit).mean()), int(n.size)


def stability(first_integral: float, second_integral: float, window: float) -> Stability:
    """Compare the number waiting in the halves of the window.

    Parameters
    ----------
    first_integral, second_integral : float
        Number waiting, summed over the time of a half; requests x seconds.
    window : float
        Seconds of both halves.

    Examples
    --------
    >>> stability(100.0, 180.0, 200.0)
    Stability(first=1.0, second=1.8, ratio=1.8)
    >>> stability(0.0, 5.0, 200.0).ratio
    1.0
    """
    first, second = 2 * first_integral / window, 2 * second_integral / window
    # a hundredth of a request that waits says nothing of a queue that grows
    ratio = 1.0 if second < _FEW_WAITING else second / first if first > 0 else float("inf")
    return Stability(first, second, ratio)


def is_stable(ratios: ArrayLike) -> bool:
    """Say whether a configuration is stable: under P1 the ratio is at most 1.5 in 95 % of the seeds.

    Examples
    --------
    >>> is_stable([1.0] * 19 + [3.0]), is_stable([1.0] * 18 + [3.0] * 2), is_stable([])
    (True, False, False)
    """
    given = np.asarray(ratios, dtype=np.float64)
    # whole numbers: the share of 19 in 20 is to count as 95 %
    return bool(given.size) and int(np.count_nonzero(given <= STABLE_RATIO)) >= STABLE_SHARE * given.size - 1e-9


def gain_split(base: RunSummary, policy: RunSummary) -> GainSplit | None:
    """Split what a policy gains in the mean post-tool TTFT; None where a run has none.

    Examples
    --------
    Of two runs of the same start: ``gain_split(summary_of_p1, summary_of_p5).queueing``.
    """
    ours, theirs = ((run.mean_load, run.mean_queue, run.mean_compute) for run in (policy, base))
    parts = [b - p for b, p in zip(theirs, ours, strict=True) if b is not None and p is not None]
    if len(parts) < 3:
        return None
    return GainSplit(sum(parts), *parts)


def summarise(
    requests: Requests, counters: Counters, workload: Workload, settings: Settings, hardware: Hardware
) -> RunSummary:
    """Summarise a run.

    Parameters
    ----------
    requests : Requests
    counters : Counters
        Of the window.
    workload : Workload
        What was played.
    settings : Settings
    hardware : Hardware

    Returns
    -------
    RunSummary
    """
    all_here = in_window(requests, settings)
    fits = _fits(requests, workload, hardware)
    n_too_large = int(np.count_nonzero(all_here & ~fits))
    if n_too_large:
        # a request that never runs has no wait; those before it keep their places in their slots
        requests = _chosen(requests, fits)
    here, tool = in_window(requests, settings), post_tool(requests, settings)
    waited = settings.horizon - requests.arrival
    ttft = requests.ttft
    tail = slowest(requests, settings)
    share, n_sessions = sessions_within(requests, settings)
    begun = tool & ~np.isnan(ttft)
    queue, load = requests.queue_wait[begun], requests.load_wait[begun]
    due = tool & np.isfinite(requests.deadline_before)
    return RunSummary(
        post_tool=waits(ttft[tool], waited[tool]),
        all_requests=waits(ttft[here], waited[here]),
        after_deadline=waits(ttft[due], waited[due]),
        origins=origins(requests, workload, tool, hardware.block_tokens),
        slowest_recompute=float(full_recompute(requests, workload)[tail].mean()) if tail.size else None,
        slowest_of_one_session=_largest_share(requests, tail),
        slo_requests=slo_share(ttft[here], waited[here]),
        slo_post_tool=slo_share(ttft[tool], waited[tool]),
        slo_sessions=share,
        n_sessions=n_sessions,
        mean_queue=_mean(queue),
        mean_load=_mean(load),
        mean_compute=_mean(ttft[begun] - queue - load),
        stability=stability(counters.waiting_first, counters.waiting_second, settings.horizon - settings.warmup),
        usage=usage(counters, settings, hardware),
        n_too_large=n_too_large,
    )


def _fits(requests: Requests, workload: Workload, hardware: Hardware) -> Bools:
    """Say which prompts and their first token the pool can hold."""
    blocks = (workload.prefix + workload.append + hardware.block_tokens) // hardware.block_tokens
    fits: Bools = blocks * hardware.block_tokens <= hardware.pool_tokens
    return fits[requests.round]


def _chosen(requests: Requests, rows: Bools) -> Requests:
    return Requests(**{field.name: getattr(requests, field.name)[rows] for field in fields(requests)})


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def _largest_share(requests: Requests, rows: NDArray[np.int64]) -> float | None:
    """Give the largest share of the rows that a session of a slot owns."""
    if not rows.size:
        return None
    owners = np.stack([requests.session[rows], requests.slot[rows]])
    return float(np.unique(owners, axis=1, return_counts=True)[1].max() / rows.size)


def usage(counters: Counters, settings: Settings, hardware: Hardware) -> Usage:
    """Give what the machine did as shares of the window.

    Parameters
    ----------
    counters : Counters
        Of the window; integrals in tokens x seconds.
    settings : Settings
    hardware : Hardware
    """
    window = settings.horizon - settings.warmup
    lanes = 2 if settings.link == "duplex" else 1
    return Usage(
        pool_used=counters.pool_used / (window * hardware.pool_tokens),
        pool_cached=counters.pool_cached / (window * hardware.pool_tokens),
        host_used=counters.host_used / (window * settings.host_tokens) if settings.host_tokens else None,
        link_busy=counters.link_busy_s / (window * lanes),
        busy=counters.busy_s / window,
    )
