"""What goes into a run of the simulator and what comes out: frozen, arrays read-only, seconds and tokens."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "END",
    "FIRST",
    "HUMAN",
    "LATEST_RETURN",
    "LONGEST_EXPECTED",
    "LRU",
    "TOOL",
    "Counters",
    "Plan",
    "Requests",
    "Settings",
    "Start",
    "Workload",
]

# what a pause waits for; FIRST: a request without a pause before it
TOOL, HUMAN, END, FIRST = 0, 1, 2, 3
# whose blocks leave first: longest unused, latest true return, longest expected remaining time
LRU, LATEST_RETURN, LONGEST_EXPECTED = 0, 1, 2

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def _lock(form: object) -> None:
    """Make the arrays of a form read-only."""
    for field in fields(form):  # type: ignore[arg-type]
        value = getattr(form, field.name)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Sessions to replay: rounds ``off[s] .. off[s + 1]`` are those of session s.

    Attributes
    ----------
    off : ndarray of int, shape (S + 1,)
    prefix, append, out : ndarray of int, shape (R,)
        Tokens reusable from the context before, new prompt tokens, tokens generated (>= 1). The first round of a
        session has nothing before it: its prefix is prompt all the same.
    pause : ndarray of float, shape (R,)
        Seconds from the last output token of a round to the next request; not read where ``kind`` is END.
    kind : ndarray of int, shape (R,)
        TOOL, HUMAN or END.
    deadline : ndarray of float, shape (R,)
        Known limit of the pause, seconds from its start; NaN: none.
    klass, tool : ndarray of int, shape (R,)
        Places in ``class_names`` and ``tool_names``.
    class_names, tool_names : tuple of str
    providers : tuple of str
        One per session.
    """

    off: Ints
    prefix: Ints
    append: Ints
    out: Ints
    pause: Floats
    kind: NDArray[np.int8]
    deadline: Floats
    klass: NDArray[np.int32]
    tool: NDArray[np.int32]
    class_names: tuple[str, ...]
    tool_names: tuple[str, ...]
    providers: tuple[str, ...]

    def __post_init__(self) -> None:
        _lock(self)

    @property
    def context(self) -> Ints:
        """Tokens of the session's context when the round is over."""
        return self.prefix + self.append + self.out


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the server is run.

    Attributes
    ----------
    slots : int
        Sessions that are live at once.
    horizon, warmup : float
        Seconds simulated, and seconds of it that are not counted.
    host_tokens : int
        Tokens that the host tier holds; 0: no tier.
    max_num_seqs : int
        Requests that run or load at once.
    prefill_threshold : int
        Prompt tokens that one request may have in a step (``long_prefill_token_threshold``); 0: no cap.
    cap_memory : float
        The cap holds only while free and evictable blocks are at least this share of the pool; 0: always.
    granularity : {"tail", "session"}
        Whether eviction takes blocks from the tail of a session or all of it.
    end : {"cached", "free"}
        What becomes of the blocks of a session that is over.
    store_when : {"completion", "step"}
        Whether a prompt is stored when all of it, or a chunk when each step of it, is computed.
    host_evict : {"session", "tail", "head"}
        Whole sessions, chunks from the tail, or chunks from the head, without which the rest is no hit.
    link : {"shared", "duplex"}
        One queue for loads and stores, or one each.
    store_path : {"lmcache", "native"}
        Which of the machine's stores; its ``blocking`` says whether transfers hold up the step.
    store_holds_blocks : bool
        Blocks stay referenced until their copy ends; only where stores do not block.
    load_order : {"at_admission", "before_scheduling"}
        Loads begin when a request is scheduled, or ahead of the running requests and without regard to the budget.
    chunk_tokens : int or None
        Of the host tier; None: that of the store path.
    fast_forward : bool
        Take runs of decode steps at once.
    """

    slots: int
    horizon: float = 3600.0
    warmup: float = 600.0
    host_tokens: int = 0
    max_num_seqs: int = 256
    prefill_threshold: int = 0
    cap_memory: float = 0.0
    granularity: Literal["tail", "session"] = "tail"
    end: Literal["cached", "free"] = "cached"
    store_when: Literal["completion", "step"] = "completion"
    host_evict: Literal["session", "tail", "head"] = "session"
    link: Literal["shared", "duplex"] = "shared"
    store_path: Literal["lmcache", "native"] = "lmcache"
    store_holds_blocks: bool = False
    load_order: Literal["at_admission", "before_scheduling"] = "at_admission"
    chunk_tokens: int | None = None
    fast_forward: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A policy: what it does in the pause after each round.

    Attributes
    ----------
    rank : int
        LRU, LATEST_RETURN or LONGEST_EXPECTED.
    pin_s : ndarray of float, shape (R,)
        Seconds from the start of the pause in which its blocks are not evicted.
    prefetch_at_s : ndarray of float, shape (R,)
        Seconds from the start of the pause at which to load what is missing; NaN: never.
    demote_at_start : ndarray of bool, shape (R,), or None
        Whether the blocks are the first to leave until a prefetch starts or the request comes.
    expected_remaining_s : ndarray of float, shape (R,), or None
        Expected seconds of the pause, as known at its start; for LONGEST_EXPECTED.
    """

    rank: int
    pin_s: Floats
    prefetch_at_s: Floats
    demote_at_start: NDArray[np.bool_] | None = None
    expected_remaining_s: Floats | None = None

    def __post_init__(self) -> None:
        _lock(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Start:
    """Where a run begins.

    Attributes
    ----------
    order : ndarray of int, shape (N, n)
        Sessions that each slot plays one after the other; from its end it goes on at the beginning.
    start_round : ndarray of int, shape (N,)
        Round of the slot's first session at which it begins, from 0.
    """

    order: Ints
    start_round: Ints

    def __post_init__(self) -> None:
        _lock(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requests:
    """The requests that arrived before the horizon, in order of arrival, those of the warm-up too.

    Attributes
    ----------
    session, round, slot : ndarray of int, shape (n,)
        ``round`` is the place in the arrays of the workload.
    before : ndarray of int, shape (n,)
        TOOL, HUMAN or FIRST.
    arrival : ndarray of float, shape (n,)
    queue_wait, load_wait : ndarray of float, shape (n,)
        Seconds to admission, and for the load from the host; NaN where not admitted, or not loaded, before the horizon.
    ttft : ndarray of float, shape (n,)
        Seconds to the first token; NaN where censored by the horizon or too large for the pool.
    gpu_hit, host_hit, computed : ndarray of int, shape (n,)
        Tokens of the prompt by where they came from, at the admission that led to the first token; 0 where there was
        none.
    chunks : ndarray of int, shape (n,)
        Steps that took part in the prefill up to the first token.
    deadline_before : ndarray of float, shape (n,)
        Deadline of the pause before, seconds from its start; NaN: none.
    """

    session: Ints
    round: Ints
    slot: Ints
    before: Ints
    arrival: Floats
    queue_wait: Floats
    load_wait: Floats
    ttft: Floats
    gpu_hit: Ints
    host_hit: Ints
    computed: Ints
    chunks: Ints
    deadline_before: Floats

    def __post_init__(self) -> None:
        _lock(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What the server did after the warm-up (events by the boundary of steps at which they were handled).

    Attributes
    ----------
    steps, preemptions : int
    busy_s : float
        Seconds in steps.
    stored_tokens, loaded_tokens, prefetched_tokens : int
        Between GPU and host; ``loaded_tokens`` are those of requests.
    prefetches : int
        Prefetches that loaded anything.
    link_busy_s : float
        Seconds of transfers, of both lanes together.
    link_wait_load_s, link_wait_store_s, link_wait_prefetch_s : float
        Seconds that transfers waited for the link, by what waited.
    store_blocked_s, load_blocked_s : float
        Seconds by which transfers held up steps.
    memory_blocked_s : float
        Seconds in which the head of the queue did not fit while the step had budget left.
    too_large : int
        Sessions ended since a prompt cannot fit the pool.
    pinned, pin_broken : int
        Pauses that began with a pin, and pins broken to go on.
    pool_used, pool_cached, host_used : float
        Token-seconds in blocks of running and loading requests, of all other blocks, and in the host tier.
    waiting_first, waiting_second : float
        Request-seconds in the queue in the two halves of the time after the warm-up.
    """

    steps: int
    preemptions: int
    busy_s: float
    stored_tokens: int
    loaded_tokens: int
    prefetched_tokens: int
    prefetches: int
    link_busy_s: float
    link_wait_load_s: float
    link_wait_store_s: float
    link_wait_prefetch_s: float
    store_blocked_s: float
    load_blocked_s: float
    memory_blocked_s: float
    too_large: int
    pinned: int
    pin_broken: int
    pool_used: float
    pool_cached: float
    host_used: float
    waiting_first: float
    waiting_second: float
