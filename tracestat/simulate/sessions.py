"""Sessions in their slots: arrival, pause, prefetch, end.

Ties: the end of a load before an arrival before a prefetch; then the slot.
"""

from __future__ import annotations

from tracestat.simulate._jit import jit
from tracestat.simulate.forms import END, LATEST_RETURN, LONGEST_EXPECTED, LRU
from tracestat.simulate.memory import evict, evictable, first_of, transfer
from tracestat.simulate.state import (
    ARRIVAL,
    DEMOTED,
    FREE,
    GONE,
    GONE_END,
    HELD,
    HOST_FREE,
    HOST_GONE,
    HOST_GONE_END,
    INF,
    LOAD,
    LOADING,
    LOADS,
    N_LOADING,
    N_QUEUE,
    N_ROWS,
    N_RUN,
    OVER,
    PAUSED,
    PINNED,
    PREFETCH,
    PREFETCHED,
    PREFETCHES,
    PREFILL,
    WAIT_PREFETCH,
    WAITING,
    Machine,
    Replay,
    Rows,
    State,
)

__all__ = ["apply_events", "arrive", "finish", "next_session"]


@jit
def leave_behind(m: Machine, s: State, i: int) -> None:
    """Take what a session that is over holds from its slot: by last use it stays in both tiers until it is evicted."""
    if s.blocks[i] > 0 and m.free_ended:
        s.n[FREE] += s.blocks[i]
    elif s.blocks[i] > 0:
        j = s.n[GONE_END]
        key = s.used[i] if m.rank == LRU else -INF
        while j > s.n[GONE] and s.gone_key[j - 1] > key:
            s.gone_key[j] = s.gone_key[j - 1]
            s.gone_blocks[j] = s.gone_blocks[j - 1]
            j -= 1
        s.gone_key[j] = key
        s.gone_blocks[j] = s.blocks[i]
        s.n[GONE_END] += 1
    s.blocks[i] = 0
    tokens = s.host_high[i] - s.host_low[i]
    if tokens > 0:
        j = s.n[HOST_GONE_END]
        while j > s.n[HOST_GONE] and s.gone_host_key[j - 1] > s.host_used[i]:
            s.gone_host_key[j] = s.gone_host_key[j - 1]
            s.gone_host[j] = s.gone_host[j - 1]
            j -= 1
        s.gone_host_key[j] = s.host_used[i]
        s.gone_host[j] = tokens
        s.n[HOST_GONE_END] += 1
    s.host_low[i] = 0
    s.host_high[i] = 0


@jit
def next_session(m: Machine, w: Replay, s: State, t: float, i: int) -> None:
    """End the session of a slot; the next one submits at once, unless none of the slot's fits the pool."""
    leave_behind(m, s, i)
    s.place[i] = (s.place[i] + 1) % w.n_order
    s.round[i] = w.off[w.order[i * w.n_order + s.place[i]]]
    s.pin_until[i] = 0.0
    s.store_end[i] = 0.0
    s.prefetch[i] = INF
    s.emitted[i] = 0
    s.status[i] = PAUSED
    if s.fails[i] < w.n_order:
        s.arrival[i] = t
        s.due[ARRIVAL] = min(s.due[ARRIVAL], t)
    else:
        s.status[i] = OVER


@jit
def finish(m: Machine, w: Replay, s: State, t: float, i: int) -> None:
    """Begin the pause after a request that is done."""
    r = s.round[i]
    s.n[HELD] -= s.blocks[i]
    s.used[i] = t
    s.emitted[i] = 0
    s.fails[i] = 0
    if w.kind[r] == END or r + 1 == w.off[w.order[i * w.n_order + s.place[i]] + 1]:
        next_session(m, w, s, t, i)
        return
    s.status[i] = PAUSED
    s.round[i] = r + 1
    s.arrival[i] = t + w.pause[r]
    s.due[ARRIVAL] = min(s.due[ARRIVAL], s.arrival[i])
    if w.pin[r] > 0:
        s.pin_until[i] = t + w.pin[r]
        s.total[PINNED] += 1
    s.prefetch[i] = t + w.prefetch[r]
    s.due[PREFETCH] = min(s.due[PREFETCH], s.prefetch[i])
    if m.rank == LATEST_RETURN:
        s.key[i] = -s.arrival[i]
    elif m.rank == LONGEST_EXPECTED:
        s.key[i] = -w.expected[r]
    else:
        s.key[i] = t
    if w.demote[r]:
        s.key[i] -= DEMOTED


@jit
def arrive(m: Machine, w: Replay, s: State, rows: Rows, i: int) -> None:
    """Put a request into the queue."""
    r = s.round[i]
    k = s.n[N_ROWS]
    s.n[N_ROWS] += 1
    s.row[i] = k
    rows.round[k] = r
    rows.slot[k] = i
    rows.first[k] = s.emitted[i] < 0 or r == w.off[w.order[i * w.n_order + s.place[i]]]
    rows.arrival[k] = s.arrival[i]
    s.emitted[i] = 0
    s.arrived[i] = s.arrival[i]
    s.left[i] = w.out[r]
    s.arrival[i] = INF
    s.prefetch[i] = INF
    s.status[i] = WAITING
    s.queue[s.n[N_QUEUE]] = i
    s.n[N_QUEUE] += 1
    if m.rank == LATEST_RETURN:
        s.key[i] = -s.arrived[i]
    elif m.rank == LONGEST_EXPECTED:
        # after all that pause; of those that wait, who waits longest leaves last
        s.key[i] = 1.0 + m.horizon - s.arrived[i]
    else:
        s.key[i] = s.used[i]
    # what was stored beyond a compaction is of no use
    stale = s.host_high[i] - max(s.host_low[i], w.prefix[r] // m.chunk * m.chunk)
    if stale > 0:
        s.host_high[i] -= stale
        s.n[HOST_FREE] += stale
        if s.host_high[i] == s.host_low[i]:
            s.host_low[i] = 0
            s.host_high[i] = 0


@jit
def loaded(m: Machine, s: State, rows: Rows, t: float, i: int) -> None:
    """End a load: its request joins the batch, or a prefetch is there."""
    if s.status[i] == LOADING:
        s.status[i] = PREFILL
        s.running[s.n[N_RUN]] = i
        s.n[N_RUN] += 1
        s.n[N_LOADING] -= 1
        if s.emitted[i] == 0:
            rows.load_wait[s.row[i]] = t - s.arrived[i] - rows.queue_wait[s.row[i]]
    else:
        s.used[i] = s.load_end[i]
        if m.rank == LRU:
            s.key[i] = s.used[i]
        if s.status[i] == WAITING:
            rows.load_wait[s.row[i]] = s.load_end[i] - s.arrived[i]
    s.load_end[i] = INF


@jit
def prefetch(m: Machine, s: State, t: float, i: int) -> None:
    """Load what the host has and the pool has not, as far as it goes into free blocks or those of a lower rank."""
    s.prefetch[i] = INF
    if s.host_low[i] > 0:
        return
    missing = s.host_high[i] // m.block - s.blocks[i]
    if s.key[i] < -DEMOTED / 2 and m.rank != LRU:
        s.key[i] += DEMOTED
    below = INF if m.rank == LRU else s.key[i]
    blocks = min(missing, s.n[FREE] + evictable(s, t, below, i))
    if blocks <= 0:
        return
    evict(m, s, t, blocks, below, i)
    s.n[FREE] -= blocks
    s.blocks[i] += blocks
    s.host_used[i] = t
    tokens = blocks * m.block
    s.load_end[i] = transfer(s, t, LOADS, m.load_fixed + m.load_per_token * tokens, WAIT_PREFETCH)
    s.due[LOAD] = min(s.due[LOAD], s.load_end[i])
    s.total[PREFETCHED] += tokens
    s.total[PREFETCHES] += 1


@jit
def apply_events(m: Machine, w: Replay, s: State, rows: Rows, t: float) -> None:
    """Apply all that has happened up to now."""
    while s.due[LOAD] <= t:
        i = first_of(s.load_end)
        if s.load_end[i] <= t:
            loaded(m, s, rows, t, i)
            i = first_of(s.load_end)
        s.due[LOAD] = s.load_end[i]
    while s.due[ARRIVAL] <= t and s.n[N_ROWS] < len(rows.round):
        i = first_of(s.arrival)
        if s.arrival[i] <= t:
            arrive(m, w, s, rows, i)
            i = first_of(s.arrival)
        s.due[ARRIVAL] = s.arrival[i]
    while s.due[PREFETCH] <= t:
        i = first_of(s.prefetch)
        if s.prefetch[i] <= t:
            prefetch(m, s, t, i)
            i = first_of(s.prefetch)
        s.due[PREFETCH] = s.prefetch[i]
