"""The pool, the host tier and the link between them: what leaves first, what is copied when."""

from __future__ import annotations

from tracestat.simulate._jit import jit
from tracestat.simulate.state import (
    FREE,
    GONE,
    GONE_END,
    HELD,
    HOST_FREE,
    HOST_GONE,
    HOST_GONE_END,
    INF,
    LINK_BUSY,
    N_QUEUE,
    N_RUN,
    PREEMPTIONS,
    STORED,
    WAITING,
    Floats,
    Machine,
    State,
)

__all__ = ["evict", "evictable", "first_of", "grow", "preempt", "store", "transfer"]


@jit
def first_of(times: Floats) -> int:
    """Give the slot whose time is the earliest, the first of equal ones."""
    best = 0
    for i in range(1, len(times)):
        if times[i] < times[best]:
            best = i
    return best


@jit
def may_leave(s: State, i: int, t: float) -> bool:
    """Say whether nothing refers to the blocks of a slot: it pauses or waits, unpinned, and is not being copied."""
    return (
        s.blocks[i] > 0
        and s.status[i] <= WAITING
        and s.pin_until[i] <= t
        and s.load_end[i] == INF
        and s.store_end[i] <= t
    )


@jit
def evictable(s: State, t: float, below: float, but: int) -> int:
    """Count the blocks that may leave and rank before ``below``; those of slot ``but`` stay."""
    blocks = 0
    for j in range(s.n[GONE], s.n[GONE_END]):
        blocks += s.gone_blocks[j]
    # names of their own: loops over slots are where the time goes
    held, key, status, pin_until, load_end, store_end = s.blocks, s.key, s.status, s.pin_until, s.load_end, s.store_end
    for i in range(len(held)):
        if (
            held[i] > 0
            and status[i] <= WAITING
            and i != but
            and key[i] < below
            and pin_until[i] <= t
            and load_end[i] == INF
            and store_end[i] <= t
        ):
            blocks += held[i]
    return blocks


@jit
def evict(m: Machine, s: State, t: float, need: int, below: float, but: int) -> None:
    """Free blocks in the order of the rank, from the tails of sessions, until ``need`` are free; there are enough."""
    if s.n[FREE] >= need:
        return
    blocks, key = s.blocks, s.key
    while s.n[FREE] < need:
        best = -1
        lowest = below
        for i in range(len(blocks)):
            if key[i] < lowest and i != but and may_leave(s, i, t):
                best = i
                lowest = key[i]
        gone = s.n[GONE]
        if gone < s.n[GONE_END] and (best < 0 or s.gone_key[gone] <= s.key[best]):
            taken = s.gone_blocks[gone] if m.whole_sessions else min(need - s.n[FREE], s.gone_blocks[gone])
            s.gone_blocks[gone] -= taken
            if s.gone_blocks[gone] == 0:
                s.n[GONE] += 1
        else:
            taken = s.blocks[best] if m.whole_sessions else min(need - s.n[FREE], s.blocks[best])
            s.blocks[best] -= taken
        s.n[FREE] += taken


@jit
def grow(m: Machine, s: State, t: float, i: int) -> bool:
    """Give a decoding request one more block, if need be that of the youngest; False: the youngest is itself."""
    while s.n[FREE] == 0 and evictable(s, t, INF, -1) == 0:
        victim = s.running[s.n[N_RUN] - 1]
        preempt(s, victim)
        if victim == i:
            return False
    evict(m, s, t, 1, INF, -1)
    s.n[FREE] -= 1
    s.n[HELD] += 1
    s.blocks[i] += 1
    return True


@jit
def preempt(s: State, i: int) -> None:
    """Put the last of the running requests at the head of the queue, without its blocks."""
    s.n[N_RUN] -= 1
    for j in range(s.n[N_QUEUE], 0, -1):
        s.queue[j] = s.queue[j - 1]
    s.queue[0] = i
    s.n[N_QUEUE] += 1
    s.n[FREE] += s.blocks[i]
    s.n[HELD] -= s.blocks[i]
    s.blocks[i] = 0
    s.status[i] = WAITING
    s.chunk[i] = 0
    s.total[PREEMPTIONS] += 1


# --- the host tier and the link ---


@jit
def shrink(m: Machine, s: State, i: int, tokens: int) -> None:
    """Take tokens of a session from the host: all of them, its tail or its head."""
    if m.host_evict == 0 or tokens >= s.host_high[i] - s.host_low[i]:
        tokens = s.host_high[i] - s.host_low[i]
        s.host_low[i] = 0
        s.host_high[i] = 0
    elif m.host_evict == 1:
        s.host_high[i] -= tokens
    else:
        s.host_low[i] += tokens
    s.n[HOST_FREE] += tokens


@jit
def make_room(m: Machine, s: State, need: int, but: int) -> None:
    """Evict from the host what was longest unused, but for one session and what is being loaded."""
    while s.n[HOST_FREE] < need:
        best = -1
        for i in range(len(s.blocks)):
            if (
                i != but
                and s.host_high[i] > 0
                and s.load_end[i] == INF
                and (best < 0 or s.host_used[i] < s.host_used[best])
            ):
                best = i
        gone = s.n[HOST_GONE]
        if gone < s.n[HOST_GONE_END] and (best < 0 or s.gone_host_key[gone] <= s.host_used[best]):
            taken = s.gone_host[gone]
            if m.host_evict:
                taken = min(taken, -(-(need - s.n[HOST_FREE]) // m.chunk) * m.chunk)
            s.gone_host[gone] -= taken
            s.n[HOST_FREE] += taken
            if s.gone_host[gone] == 0:
                s.n[HOST_GONE] += 1
        elif best >= 0:
            shrink(m, s, best, -(-(need - s.n[HOST_FREE]) // m.chunk) * m.chunk)
        else:
            return


@jit
def store(m: Machine, s: State, t: float, i: int, tokens: int) -> int:
    """Put what is missing of the first ``tokens`` tokens into the host; give how many were copied."""
    s.host_used[i] = t
    low = s.host_low[i]
    missing = low + max(0, tokens - s.host_high[i])
    if missing == 0:
        return 0
    make_room(m, s, missing, i)
    if low and s.n[HOST_FREE] < low:
        # without its head the rest is worth nothing
        s.n[HOST_FREE] += s.host_high[i] - low
        s.host_low[i] = 0
        s.host_high[i] = 0
        low = 0
        missing = tokens
    copied = min(missing, s.n[HOST_FREE] // m.chunk * m.chunk)
    s.host_low[i] = 0
    s.host_high[i] += copied - low
    s.n[HOST_FREE] -= copied
    s.total[STORED] += copied
    return copied


@jit
def transfer(s: State, t: float, lane: int, seconds: float, cause: int) -> float:
    """Queue a transfer on the link; give its end."""
    begin = max(t, s.link[lane])
    s.link[lane] = begin + seconds
    s.total[LINK_BUSY] += seconds
    s.total[cause] += begin - t
    return s.link[lane]
