"""One run of the server, in the part of Python that numba compiles: read from the bottom, ``simulate``, upwards."""

from __future__ import annotations

from tracestat.simulate._jit import jit
from tracestat.simulate.admission import ADMITTED, BLOCKED, admit, admit_loads, break_pin
from tracestat.simulate.memory import evict, evictable, first_of, grow, store, transfer
from tracestat.simulate.sessions import apply_events, arrive, finish
from tracestat.simulate.state import (
    ARRIVAL,
    BLOCKING_LOADS,
    BUSY,
    DECODE,
    FREE,
    GONE,
    GONE_END,
    HELD,
    HOST_FREE,
    HOST_GONE,
    HOST_GONE_END,
    HOST_USED,
    INF,
    LOAD,
    LOAD_BLOCKED,
    LOADING,
    LOADS,
    MEMORY_BLOCKED,
    N_LOADING,
    N_QUEUE,
    N_ROWS,
    N_RUN,
    N_TOTALS,
    POOL_CACHED,
    POOL_USED,
    PREFETCH,
    PREFILL,
    STEPS,
    STORE_BLOCKED,
    STORES,
    WAIT_STORE,
    WAITING_FIRST,
    WAITING_SECOND,
    Machine,
    Replay,
    Rows,
    State,
)

__all__ = ["simulate"]


@jit
def next_release(s: State, t: float) -> float:
    """Give when a pin or a copy next lets go of blocks."""
    soonest = INF
    pin_until, store_end = s.pin_until, s.store_end
    for i in range(len(pin_until)):
        if t < pin_until[i] < soonest:
            soonest = pin_until[i]
        if t < store_end[i] < soonest:
            soonest = store_end[i]
    return soonest


@jit
def growth(m: Machine, s: State, steps: int) -> int:
    """Count the blocks that the decoding requests need beyond theirs to take that many steps."""
    need = 0
    running, context, blocks, block = s.running, s.context, s.blocks, m.block
    for j in range(s.n[N_RUN]):
        i = running[j]
        more = -(-(context[i] + steps - 1) // block) - blocks[i]
        if more > 0:
            need += more
    return need


@jit
def steps_ahead(m: Machine, s: State, t: float, seconds: float, more: float) -> int:
    """Count the decode steps up to the next event: k of them last ``k seconds + more k (k - 1) / 2``.

    Events: an answer ends, an arrival, the end of a load, a prefetch, warm-up, the horizon, the pool is used up; and,
    if blocks are waited for or have to be evicted, the end of a pin or of a copy.
    """
    left, running = s.left, s.running
    steps = left[running[0]]
    for j in range(1, s.n[N_RUN]):
        if left[running[j]] < steps:
            steps = left[running[j]]
    if steps == 1:
        return 1
    event = min(s.due[ARRIVAL], s.due[LOAD], s.due[PREFETCH], m.horizon)
    if t < m.warmup:
        event = min(event, m.warmup)
    if s.n[N_QUEUE] > 0 or growth(m, s, steps) > s.n[FREE]:
        event = min(event, next_release(s, t))
    # the first step that ends at the event or after it is the last one
    if t + (steps * seconds + more * (steps * (steps - 1) // 2)) > event:
        low, high = 0, steps
        while high - low > 1:
            k = (low + high) // 2
            if t + (k * seconds + more * (k * (k - 1) // 2)) >= event:
                high = k
            else:
                low = k
        steps = high
    need = growth(m, s, steps)
    if need > s.n[FREE]:
        most = s.n[FREE] + evictable(s, t, INF, -1)
        if need > most:
            low, high = 1, steps
            while high - low > 1:
                k = (low + high) // 2
                if growth(m, s, k) <= most:
                    low = k
                else:
                    high = k
            steps = low
    return steps


@jit
def pass_time(m: Machine, s: State, t: float, until: float, blocked: bool, held: float, free: float) -> None:
    """Add up what lasts, from the warm-up to the horizon; ``held`` and ``free`` are means over the time."""
    begin = max(t, m.warmup)
    end = min(until, m.horizon)
    if end <= begin:
        return
    seconds = end - begin
    s.total[POOL_USED] += seconds * held * m.block
    s.total[POOL_CACHED] += seconds * (m.capacity - held - free) * m.block
    s.total[HOST_USED] += seconds * (m.host_capacity - s.n[HOST_FREE])
    if blocked:
        s.total[MEMORY_BLOCKED] += seconds
    half = (m.warmup + m.horizon) / 2
    s.total[WAITING_FIRST] += s.n[N_QUEUE] * max(0.0, min(end, half) - begin)
    s.total[WAITING_SECOND] += s.n[N_QUEUE] * max(0.0, end - max(begin, half))


@jit
def check(m: Machine, w: Replay, s: State, rows: Rows, t: float, before: float) -> None:
    """Raise if anything was lost or made up."""
    blocks, held, tokens = s.n[FREE], 0, s.n[HOST_FREE]
    for i in range(len(s.blocks)):
        blocks += s.blocks[i]
        tokens += s.host_high[i] - s.host_low[i]
        if s.status[i] >= LOADING and s.status[i] <= DECODE:
            held += s.blocks[i]
            k = s.row[i]
            if rows.gpu_hit[k] + rows.host_hit[k] + rows.computed[k] != w.prompt[rows.round[k]]:
                raise AssertionError("a prompt is not the sum of hits and computed tokens")
            if s.emitted[i] + s.left[i] != w.out[s.round[i]]:
                raise AssertionError("an answer has another length than asked")
            if s.status[i] == DECODE and s.context[i] > s.blocks[i] * m.block + 1:
                raise AssertionError("a request has outgrown its blocks")
            if s.status[i] != DECODE and s.context[i] + s.todo[i] != w.prompt[s.round[i]] + s.emitted[i]:
                raise AssertionError("prompt tokens were lost")
        if s.blocks[i] < 0 or s.host_low[i] < 0 or s.host_high[i] < s.host_low[i]:
            raise AssertionError("a slot holds less than nothing")
    for j in range(s.n[GONE], s.n[GONE_END]):
        blocks += s.gone_blocks[j]
    for j in range(s.n[HOST_GONE], s.n[HOST_GONE_END]):
        tokens += s.gone_host[j]
    if blocks != m.capacity or held != s.n[HELD] or s.n[FREE] < 0:
        raise AssertionError("blocks of the pool do not add up")
    if tokens != m.host_capacity or s.n[HOST_FREE] < 0:
        raise AssertionError("tokens of the host do not add up")
    if t < before:
        raise AssertionError("the clock ran backwards")


@jit
def schedule(m: Machine, w: Replay, s: State, rows: Rows, t: float) -> tuple[int, int, int, bool, bool]:
    """Choose the tokens of a step: running requests first, then the queue.

    Gives prefill tokens, decode tokens, their context, whether a request joined, whether memory holds up the head of
    the queue.
    """
    budget = m.budget
    cap = m.threshold if m.threshold > 0 else budget
    if m.threshold > 0 and m.cap_memory > 0 and s.n[FREE] + evictable(s, t, INF, -1) < m.cap_memory * m.capacity:
        cap = budget
    joined = m.load_first == 1 and admit_loads(m, w, s, rows, t)
    prefilled, decoding, context = 0, 0, 0
    running, chunk, contexts, blocks, status = s.running, s.chunk, s.context, s.blocks, s.status
    j = 0
    while j < s.n[N_RUN]:
        i = running[j]
        j += 1
        chunk[i] = 0
        if budget == 0:
            continue
        if status[i] == PREFILL:
            chunk[i] = min(s.todo[i], cap, budget)
            prefilled += chunk[i]
            budget -= chunk[i]
        elif contexts[i] <= blocks[i] * m.block or grow(m, s, t, i):
            # a decode token is one that reads no prompt
            chunk[i] = -1
            decoding += 1
            context += contexts[i]
            budget -= 1
    at = 0
    blocked = False
    while at < s.n[N_QUEUE] and budget > 0 and s.n[N_RUN] + s.n[N_LOADING] < m.max_seqs:
        i = s.queue[at]
        if s.load_end[i] < INF:
            # its prefetch is under way
            at += 1
            continue
        answer = admit(m, w, s, rows, t, at, False)
        if answer == BLOCKED:
            blocked = True
            break
        joined = True
        if answer == ADMITTED and s.status[i] == PREFILL:
            s.chunk[i] = min(s.todo[i], cap, budget)
            prefilled += s.chunk[i]
            budget -= s.chunk[i]
    return prefilled, decoding, context, joined, blocked


@jit
def copy_prompts(m: Machine, w: Replay, s: State, t: float) -> float:
    """Store the prompts that this step completes, or its chunks; give when the step ends."""
    computed = t
    lane = STORES if m.duplex else LOADS
    for j in range(s.n[N_RUN]):
        i = s.running[j]
        if s.chunk[i] > 0 and (m.store_each_step or s.chunk[i] == s.todo[i]):
            done = min(s.context[i] + s.chunk[i], w.prompt[s.round[i]])
            copied = store(m, s, computed, i, done // m.chunk * m.chunk)
            if copied > 0:
                end = transfer(s, t, lane, m.store_per_token * copied, WAIT_STORE)
                if m.blocking:
                    t = end
                elif m.hold_stored:
                    s.store_end[i] = end
    s.total[STORE_BLOCKED] += t - computed
    return t


@jit
def take_step(m: Machine, w: Replay, s: State, rows: Rows, t: float, steps: int) -> None:
    """Update the requests of one step, or of several that only decode; t is its end."""
    kept = 0
    running, chunk, context, left, emitted = s.running, s.chunk, s.context, s.left, s.emitted
    for j in range(s.n[N_RUN]):
        i = running[j]
        if chunk[i] > 0:
            s.context[i] += s.chunk[i]
            s.todo[i] -= s.chunk[i]
            if s.emitted[i] == 0:
                rows.chunks[s.row[i]] += 1
            if s.todo[i] == 0:
                if s.emitted[i] == 0 and t <= m.horizon:
                    rows.ttft[s.row[i]] = t - s.arrived[i] + m.client
                s.status[i] = DECODE
                s.context[i] += 1
                s.emitted[i] += 1
                s.left[i] -= 1
        elif chunk[i] < 0:
            context[i] += steps
            emitted[i] += steps
            left[i] -= steps
        chunk[i] = 0
        if left[i] == 0:
            finish(m, w, s, t, i)
        else:
            running[kept] = i
            kept += 1
    s.n[N_RUN] = kept


@jit
def fast_forward(m: Machine, s: State, t: float, steps: int) -> None:
    """Give the decoding requests the blocks of their next steps."""
    need = growth(m, s, steps)
    evict(m, s, t, need, INF, -1)
    s.n[FREE] -= need
    s.n[HELD] += need
    for j in range(s.n[N_RUN]):
        i = s.running[j]
        s.blocks[i] = max(s.blocks[i], -(-(s.context[i] + steps - 1) // m.block))


@jit
def simulate(m: Machine, w: Replay, s: State, rows: Rows) -> bool:
    """Run the server until the horizon; False: the rows are full, and it has to be run again with more."""
    t = 0.0
    counting = False
    while t < m.horizon:
        if not counting and t >= m.warmup:
            counting = True
            for j in range(N_TOTALS):
                s.total[j] = 0.0
        apply_events(m, w, s, rows, t)
        if s.n[N_ROWS] == len(rows.round):
            return False
        prefilled, decoding, context, joined, blocked = schedule(m, w, s, rows, t)
        before = t
        held, free = float(s.n[HELD]), float(s.n[FREE])
        waiting = s.n[N_QUEUE] > 0

        if prefilled + decoding == 0:
            if blocked and s.n[N_RUN] + s.n[N_LOADING] == 0 and break_pin(s, t):
                continue
            t = min(s.due[ARRIVAL], s.due[LOAD], s.due[PREFETCH], m.horizon)
            if waiting:
                t = min(t, next_release(s, before))
            t = max(t, before)
            pass_time(m, s, before, t, blocked, held, free)
        else:
            loads = max(0.0, s.link[BLOCKING_LOADS] - t)
            seconds = m.base + m.per_token * (prefilled + decoding)
            if m.roofline and prefilled > 0:
                seconds = max(m.base, m.floor + m.per_token * (prefilled + decoding))
            steps = 1
            if prefilled > 0:
                pairs = 0.0
                for j in range(s.n[N_RUN]):
                    c = s.chunk[s.running[j]]
                    if c > 0:
                        pairs += c * (s.context[s.running[j]] + c / 2)
                seconds += m.attention * pairs
            seconds += m.decode_read * context
            alone = prefilled == 0 and not joined and decoding == s.n[N_RUN]
            # evictions may give a request of the queue something to load
            if m.fast and alone and not (m.load_first and waiting):
                more = m.decode_read * decoding
                steps = steps_ahead(m, s, t, seconds, more)
                if steps > 1:
                    fast_forward(m, s, t, steps)
                    seconds = steps * seconds + more * (steps * (steps - 1) // 2)
                    held, free = (held + s.n[HELD]) / 2, (free + s.n[FREE]) / 2
            t = t + (loads + seconds)
            if prefilled > 0 and m.host_capacity > 0:
                t = copy_prompts(m, w, s, t)
            s.total[STEPS] += steps
            s.total[BUSY] += t - before
            s.total[LOAD_BLOCKED] += loads
            pass_time(m, s, before, t, blocked, held, free)
            take_step(m, w, s, rows, t, steps)
        if m.check:
            check(m, w, s, rows, t, before)
    # those who came during the last step
    while s.due[ARRIVAL] < m.horizon:
        if s.n[N_ROWS] == len(rows.round):
            return False
        i = first_of(s.arrival)
        if s.arrival[i] < m.horizon:
            arrive(m, w, s, rows, i)
            i = first_of(s.arrival)
        s.due[ARRIVAL] = s.arrival[i]
    return True
