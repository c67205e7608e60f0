"""What the kernel works on: scalars and sequences of scalars, lists in plain Python and arrays once compiled."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import NamedTuple

__all__ = [
    "ARRIVAL",
    "BLOCKING_LOADS",
    "BUSY",
    "DECODE",
    "DEMOTED",
    "FREE",
    "GONE",
    "GONE_END",
    "HELD",
    "HOST_FREE",
    "HOST_GONE",
    "HOST_GONE_END",
    "HOST_USED",
    "INF",
    "LINK_BUSY",
    "LOAD",
    "LOADED",
    "LOADING",
    "LOADS",
    "LOAD_BLOCKED",
    "MEMORY_BLOCKED",
    "NAN",
    "N_COUNTS",
    "N_LOADING",
    "N_QUEUE",
    "N_ROWS",
    "N_RUN",
    "N_TOTALS",
    "OVER",
    "PAUSED",
    "PINNED",
    "PIN_BROKEN",
    "POOL_CACHED",
    "POOL_USED",
    "PREEMPTIONS",
    "PREFETCH",
    "PREFETCHED",
    "PREFETCHES",
    "PREFILL",
    "STEPS",
    "STORED",
    "STORES",
    "STORE_BLOCKED",
    "TOO_LARGE",
    "WAITING",
    "WAITING_FIRST",
    "WAITING_SECOND",
    "WAIT_LOAD",
    "WAIT_PREFETCH",
    "WAIT_STORE",
    "Machine",
    "Replay",
    "Rows",
    "State",
]

INF = float("inf")
NAN = float("nan")
# of a slot
PAUSED, WAITING, LOADING, PREFILL, DECODE, OVER = 0, 1, 2, 3, 4, 5
# State.n: free and referenced blocks, free host tokens, lengths of lists, first and end of what sessions left behind
FREE, HELD, HOST_FREE, N_RUN, N_QUEUE, N_LOADING, GONE, GONE_END, HOST_GONE, HOST_GONE_END, N_ROWS = range(11)
N_COUNTS = 11
# State.link: two lanes, the first for stores too where it is shared; and the end of the loads that hold up a step
LOADS, STORES, BLOCKING_LOADS = 0, 1, 2
# State.due
ARRIVAL, LOAD, PREFETCH = 0, 1, 2
# State.total, in the order of forms.Counters
STEPS, PREEMPTIONS, BUSY, STORED, LOADED, PREFETCHED, PREFETCHES = range(7)
LINK_BUSY, WAIT_LOAD, WAIT_STORE, WAIT_PREFETCH, STORE_BLOCKED, LOAD_BLOCKED, MEMORY_BLOCKED = range(7, 14)
TOO_LARGE, PINNED, PIN_BROKEN, POOL_USED, POOL_CACHED, HOST_USED, WAITING_FIRST, WAITING_SECOND = range(14, 22)
N_TOTALS = 22
# a demoted session leaves before all that are not
DEMOTED = 1e9

Ints = MutableSequence[int]
Floats = MutableSequence[float]


class Machine(NamedTuple):
    """Constants and settings of a run; switches are 0 or 1."""

    base: float
    per_token: float
    attention: float
    decode_read: float
    roofline: int
    floor: float
    client: float
    block: int
    budget: int  # tokens of a step
    capacity: int  # blocks of the pool
    host_capacity: int  # tokens
    chunk: int
    load_fixed: float
    load_per_token: float
    store_per_token: float
    blocking: int
    duplex: int
    max_seqs: int
    threshold: int
    cap_memory: float
    whole_sessions: int  # eviction takes all of a session
    free_ended: int
    store_each_step: int
    host_evict: int  # 0 session, 1 tail, 2 head
    hold_stored: int
    load_first: int
    fast: int
    rank: int
    horizon: float
    warmup: float
    check: int


class Replay(NamedTuple):
    """What is replayed, by round; ``order`` holds ``n_order`` sessions for each slot, one slot after the other."""

    off: Ints
    prefix: Ints  # 0 in first rounds
    prompt: Ints
    out: Ints
    pause: Floats
    kind: Ints
    pin: Floats
    prefetch: Floats  # seconds into the pause; infinite: none
    demote: Ints
    expected: Floats
    order: Ints
    n_order: int
    start: Ints


class State(NamedTuple):
    """By slot, but for the last six."""

    place: Ints  # of the session in the slot's order
    round: Ints
    status: Ints
    fails: Ints  # sessions in a row that were too large
    arrival: Floats  # next submission, infinite once it is there
    load_end: Floats  # infinite: nothing is loading
    prefetch: Floats  # start of the next prefetch, infinite: none
    store_end: Floats  # until then blocks are referenced by a copy
    pin_until: Floats
    arrived: Floats
    used: Floats  # last use
    key: Floats  # smallest leaves first
    blocks: Ints
    host_low: Ints  # the host holds tokens host_low .. host_high, a hit only from 0
    host_high: Ints
    host_used: Floats
    context: Ints  # tokens of this request that are computed, or the next to be read
    todo: Ints
    left: Ints
    emitted: Ints
    chunk: Ints  # prompt tokens in this step
    row: Ints
    running: Ints  # slots in order
    queue: Ints
    n: Ints  # counts, see the names above
    link: Floats  # when each lane is idle
    due: Floats  # earliest arrival, load end, prefetch
    total: Floats  # counters
    gone_key: Floats  # sessions that are over, in the pool: oldest first
    gone_blocks: Ints
    gone_host_key: Floats
    gone_host: Ints


class Rows(NamedTuple):
    """Requests in order of arrival."""

    round: Ints
    slot: Ints
    first: Ints
    arrival: Floats
    queue_wait: Floats
    load_wait: Floats
    ttft: Floats
    gpu_hit: Ints
    host_hit: Ints
    computed: Ints
    chunks: Ints
