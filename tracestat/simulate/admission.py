"""Which requests of the queue join the batch, or begin to load."""

from __future__ import annotations

from tracestat.simulate._jit import jit
from tracestat.simulate.memory import evict, evictable, transfer
from tracestat.simulate.sessions import next_session
from tracestat.simulate.state import (
    BLOCKING_LOADS,
    FREE,
    HELD,
    INF,
    LOAD,
    LOADED,
    LOADING,
    LOADS,
    N_LOADING,
    N_QUEUE,
    N_RUN,
    NAN,
    PIN_BROKEN,
    PREFILL,
    TOO_LARGE,
    WAIT_LOAD,
    Machine,
    Replay,
    Rows,
    State,
)

__all__ = ["ADMITTED", "BLOCKED", "admit", "admit_loads", "break_pin"]

# what admission says
ADMITTED, BLOCKED, ENDED, NOTHING_TO_LOAD = 0, 1, 2, 3


@jit
def admit(m: Machine, w: Replay, s: State, rows: Rows, t: float, at: int, only_loads: bool) -> int:
    """Admit the request at a place of the queue, if all of its prompt and a token fit; it runs, or loads."""
    i = s.queue[at]
    r = s.round[i]
    prompt = w.prompt[r] + s.emitted[i]
    most = (prompt - 1) // m.block * m.block
    hit = min(min(s.blocks[i] * m.block, w.prefix[r]) // m.block * m.block, most)
    extra = 0
    if s.host_low[i] == 0:
        extra = max(0, min(min(s.host_high[i], w.prefix[r]) // m.chunk * m.chunk, most) - hit)
    if only_loads and extra == 0:
        return NOTHING_TO_LOAD
    need = -(-(prompt + 1) // m.block)
    if need > m.capacity:
        if only_loads:
            return NOTHING_TO_LOAD
        leave_queue(s, at)
        s.fails[i] += 1
        s.total[TOO_LARGE] += 1
        next_session(m, w, s, t, i)
        return ENDED
    room = s.n[FREE] + s.blocks[i]
    if room < need and room + evictable(s, t, INF, i) < need:
        return BLOCKED
    leave_queue(s, at)
    s.status[i] = PREFILL
    s.pin_until[i] = 0.0
    s.n[FREE] += s.blocks[i] - hit // m.block
    s.blocks[i] = need
    evict(m, s, t, need - hit // m.block, INF, i)
    s.n[FREE] -= need - hit // m.block
    s.n[HELD] += need
    s.context[i] = hit + extra
    s.todo[i] = prompt - hit - extra
    s.host_used[i] = t
    if s.emitted[i] == 0:
        k = s.row[i]
        before = 0.0 if rows.load_wait[k] != rows.load_wait[k] else rows.load_wait[k]
        rows.load_wait[k] = before
        rows.queue_wait[k] = t - s.arrived[i] - before
        rows.gpu_hit[k] = hit
        rows.host_hit[k] = extra
        rows.computed[k] = s.todo[i]
        rows.chunks[k] = 0
    if extra > 0:
        s.total[LOADED] += extra
        end = transfer(s, t, LOADS, m.load_fixed + m.load_per_token * extra, WAIT_LOAD)
        if not m.blocking:
            s.load_end[i] = end
            s.due[LOAD] = min(s.due[LOAD], end)
            s.status[i] = LOADING
            s.n[N_LOADING] += 1
            if s.emitted[i] == 0:
                rows.load_wait[s.row[i]] = NAN
            return ADMITTED
        s.link[BLOCKING_LOADS] = end
        if s.emitted[i] == 0:
            rows.load_wait[s.row[i]] += end - t
    s.running[s.n[N_RUN]] = i
    s.n[N_RUN] += 1
    return ADMITTED


@jit
def leave_queue(s: State, at: int) -> None:
    """Take one request out of the queue."""
    s.n[N_QUEUE] -= 1
    for j in range(at, s.n[N_QUEUE]):
        s.queue[j] = s.queue[j + 1]


@jit
def admit_loads(m: Machine, w: Replay, s: State, rows: Rows, t: float) -> bool:
    """Begin the loads of all that waits and fits, ahead of the running requests; say whether any began."""
    at = 0
    any_began = False
    while at < s.n[N_QUEUE] and s.n[N_RUN] + s.n[N_LOADING] < m.max_seqs:
        answer = NOTHING_TO_LOAD
        if s.load_end[s.queue[at]] == INF:
            answer = admit(m, w, s, rows, t, at, True)
        if answer == BLOCKED:
            return any_began
        if answer == NOTHING_TO_LOAD:
            at += 1
        else:
            any_began = True
    return any_began


@jit
def break_pin(s: State, t: float) -> bool:
    """Break the pin that would last longest, unless something is still being copied or loaded; False: wait."""
    last = -1
    for i in range(len(s.blocks)):
        if s.load_end[i] < INF or (s.blocks[i] > 0 and s.store_end[i] > t):
            return False
        if (
            i != s.queue[0]
            and s.blocks[i] > 0
            and s.pin_until[i] > t
            and (last < 0 or s.pin_until[i] > s.pin_until[last])
        ):
            last = i
    if last < 0:
        return False
    s.pin_until[last] = 0.0
    s.total[PIN_BROKEN] += 1
    return True
