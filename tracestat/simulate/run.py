"""One run of the simulator: forms in, forms out."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracestat.errors import UsageError
from tracestat.hardware import Hardware
from tracestat.simulate._jit import COMPILED
from tracestat.simulate.forms import (
    FIRST,
    LONGEST_EXPECTED,
    LRU,
    Counters,
    Plan,
    Requests,
    Settings,
    Start,
    Workload,
)
from tracestat.simulate.kernel import simulate
from tracestat.simulate.state import N_COUNTS, N_TOTALS, Machine, Replay, Rows, State

__all__ = ["run"]

INF = float("inf")
_HOST_EVICT = ("session", "tail", "head")
# what Counters holds as whole numbers
_WHOLE = frozenset(field.name for field in fields(Counters) if field.type == "int")


def run(
    workload: Workload, hardware: Hardware, settings: Settings, plan: Plan, start: Start, *, check: bool = False
) -> tuple[Requests, Counters]:
    """Replay sessions on one server in a closed loop under a policy.

    Parameters
    ----------
    workload : Workload
    hardware : Hardware
    settings : Settings
    plan : Plan
        With one row per round of the workload.
    start : Start
        With one row per slot of the settings.
    check : bool
        Check after every step that no block, token or request is lost (slow).

    Returns
    -------
    Requests
        All that arrived before the horizon, those of the warm-up too.
    Counters
        Of the time after the warm-up.

    Raises
    ------
    UsageError
        Settings out of range, forms of different sizes, no tokens to compute in a round.

    Notes
    -----
    Blocks count whole; a hit is ``floor16(min(resident, prefix))`` in the pool, ``floor_chunk(min(stored, prefix))`` in
    the host, and the last block of a prompt is computed. A preempted request loses its blocks, keeps what it has sent,
    and looks its prefix up in the host again. A request whose prefetch is under way is passed over until that ends.
    What is stored can be found from the moment its copy is queued. Blocks of a session that is over are not held by
    its copy. The first request of each slot counts as FIRST. With fast-forward the time integrals over decode steps
    are means of the two ends.

    Examples
    --------
    >>> import numpy as np
    >>> from tracestat.hardware import load_hardware
    >>> one = np.array([0])
    >>> workload = Workload(
    ...     off=np.array([0, 1]), prefix=one, append=one + 1024, out=one + 1, pause=one * 0.0,
    ...     kind=np.array([2], np.int8), deadline=one * np.nan, klass=one.astype(np.int32), tool=one.astype(np.int32),
    ...     class_names=("shell",), tool_names=("Bash",), providers=("claude",))
    >>> plan = Plan(rank=0, pin_s=one * 0.0, prefetch_at_s=one * np.nan)
    >>> settings = Settings(slots=1, horizon=0.1, warmup=0.0)
    >>> requests, counters = run(workload, load_hardware(), settings, plan, Start(order=one[:, None], start_round=one))
    >>> requests.ttft.round(5).tolist(), counters.steps
    ([0.06961, nan], 2)
    """
    _check(workload, hardware, settings, plan, start)
    machine = _machine(hardware, settings, plan, check)
    replay = _replay(workload, plan, start)
    n_rows = _rows_guess(workload, hardware, settings)
    while True:
        state, rows = _state(machine, replay, settings.slots, n_rows), _rows(n_rows)
        if simulate(machine, replay, state, rows):
            return _requests(workload, rows, state), _counters(state)
        n_rows *= 2


def _check(workload: Workload, hardware: Hardware, settings: Settings, plan: Plan, start: Start) -> None:
    rounds = workload.prefix.size
    chunk = _chunk(hardware, settings)
    wrong = {
        "slots: at least 1": settings.slots < 1,
        "horizon: above 0": not 0 < settings.horizon < INF,
        "warmup: from 0 to below the horizon": not 0 <= settings.warmup < settings.horizon,
        "host_tokens: at least 0": settings.host_tokens < 0,
        "max_num_seqs: at least 1": settings.max_num_seqs < 1,
        "prefill_threshold: at least 0": settings.prefill_threshold < 0,
        "cap_memory: from 0 to 1": not 0 <= settings.cap_memory <= 1,
        f"chunk_tokens: a multiple of the block of {hardware.block_tokens} tokens": chunk < 1
        or chunk % hardware.block_tokens != 0,
        f"start: one row for each of {settings.slots} slots": start.order.shape[:1] != (settings.slots,)
        or start.start_round.shape != (settings.slots,)
        or start.order.size == 0,
        f"plan: one row for each of {rounds} rounds": plan.pin_s.shape != (rounds,)
        or plan.prefetch_at_s.shape != (rounds,),
        "plan: a rank by expected time needs expected times": plan.rank == LONGEST_EXPECTED
        and plan.expected_remaining_s is None,
        "plan: no such rank": not LRU <= plan.rank <= LONGEST_EXPECTED,
        "workload: a session without rounds": bool(np.any(np.diff(workload.off) < 1)),
        "workload: prompts and answers have at least one token": bool(
            np.any(workload.prefix + workload.append < 1) or np.any(workload.out < 1) or np.any(workload.prefix < 0)
        ),
    }
    for message, found in wrong.items():
        if found:
            raise UsageError(f"simulation, {message}")


def _chunk(hardware: Hardware, settings: Settings) -> int:
    chosen = settings.chunk_tokens
    return hardware.stores[settings.store_path].chunk_tokens if chosen is None else chosen


def _machine(hardware: Hardware, settings: Settings, plan: Plan, check: bool) -> Machine:
    path, step = hardware.stores[settings.store_path], hardware.step
    chunk = _chunk(hardware, settings)
    return Machine(
        base=float(step.base),
        per_token=float(step.per_token),
        attention=float(step.attention),
        decode_read=float(step.decode_read),
        roofline=int(step.form == "roofline"),
        floor=float(step.floor),
        client=float(hardware.client),
        block=hardware.block_tokens,
        budget=hardware.max_batched_tokens,
        capacity=hardware.pool_tokens // hardware.block_tokens,
        host_capacity=settings.host_tokens // chunk * chunk,
        chunk=chunk,
        load_fixed=float(path.load_fixed),
        load_per_token=float(path.load_per_token),
        store_per_token=float(path.store_per_token),
        blocking=int(path.blocking),
        duplex=int(settings.link == "duplex"),
        max_seqs=settings.max_num_seqs,
        threshold=settings.prefill_threshold,
        cap_memory=float(settings.cap_memory),
        whole_sessions=int(settings.granularity == "session"),
        free_ended=int(settings.end == "free"),
        store_each_step=int(settings.store_when == "step"),
        host_evict=_HOST_EVICT.index(settings.host_evict),
        hold_stored=int(settings.store_holds_blocks and not path.blocking),
        load_first=int(settings.load_order == "before_scheduling"),
        fast=int(settings.fast_forward),
        rank=plan.rank,
        horizon=float(settings.horizon),
        warmup=float(settings.warmup),
        check=int(check),
    )


def _ints(values: ArrayLike) -> Any:
    """Numbers for the kernel: lists are faster in plain Python, arrays are what is compiled."""
    array = np.array(values, dtype=np.int64)
    return array if COMPILED else array.tolist()


def _floats(values: ArrayLike) -> Any:
    array = np.array(values, dtype=np.float64)
    return array if COMPILED else array.tolist()


def _replay(workload: Workload, plan: Plan, start: Start) -> Replay:
    prefix = workload.prefix.copy()
    prefix[workload.off[:-1]] = 0
    n = prefix.size
    at = np.where(np.isnan(plan.prefetch_at_s), INF, np.maximum(plan.prefetch_at_s, 0.0))
    return Replay(
        off=_ints(workload.off),
        prefix=_ints(prefix),
        prompt=_ints(workload.prefix + workload.append),
        out=_ints(workload.out),
        pause=_floats(workload.pause),
        kind=_ints(workload.kind),
        pin=_floats(np.nan_to_num(plan.pin_s)),
        prefetch=_floats(at),
        demote=_ints(np.zeros(n) if plan.demote_at_start is None else plan.demote_at_start),
        expected=_floats(np.zeros(n) if plan.expected_remaining_s is None else plan.expected_remaining_s),
        order=_ints(start.order.ravel()),
        n_order=start.order.shape[1],
        start=_ints(start.start_round),
    )


def _rows_guess(workload: Workload, hardware: Hardware, settings: Settings) -> int:
    """Guess how many requests will come; too few cost a second run."""
    cycle = float(np.mean(np.nan_to_num(workload.pause)) + np.mean(workload.out) * hardware.step.base)
    return 1024 + int(min(1e6, 2 * settings.slots * settings.horizon / max(cycle, 1e-3)))


def _state(m: Machine, w: Replay, slots: int, n_rows: int) -> State:
    """Give the state at the beginning: empty caches, each slot about to submit."""
    none, zeros, never = _ints(np.zeros(slots)), np.zeros(slots), np.full(slots, INF)
    first = [w.off[w.order[i * w.n_order]] + w.start[i] for i in range(slots)]
    counts = np.zeros(N_COUNTS)
    counts[0], counts[2] = m.capacity, m.host_capacity
    gone = n_rows + slots + 1
    return State(
        place=none.copy(),
        round=_ints(first),
        status=none.copy(),
        fails=none.copy(),
        arrival=_floats(zeros),
        load_end=_floats(never),
        prefetch=_floats(never),
        store_end=_floats(zeros),
        pin_until=_floats(zeros),
        arrived=_floats(zeros),
        used=_floats(zeros),
        key=_floats(zeros),
        blocks=none.copy(),
        host_low=none.copy(),
        host_high=none.copy(),
        host_used=_floats(zeros),
        context=none.copy(),
        todo=none.copy(),
        left=none.copy(),
        emitted=_ints(zeros - 1),
        chunk=none.copy(),
        row=none.copy(),
        running=none.copy(),
        queue=none.copy(),
        n=_ints(counts),
        link=_floats(np.zeros(3)),
        due=_floats([0.0, INF, INF]),
        total=_floats(np.zeros(N_TOTALS)),
        gone_key=_floats(np.zeros(gone)),
        gone_blocks=_ints(np.zeros(gone)),
        gone_host_key=_floats(np.zeros(gone)),
        gone_host=_ints(np.zeros(gone)),
    )


def _rows(n: int) -> Rows:
    zeros, unknown = np.zeros(n), np.full(n, np.nan)
    return Rows(
        round=_ints(zeros),
        slot=_ints(zeros),
        first=_ints(zeros),
        arrival=_floats(zeros),
        queue_wait=_floats(unknown),
        load_wait=_floats(unknown),
        ttft=_floats(unknown),
        gpu_hit=_ints(zeros),
        host_hit=_ints(zeros),
        computed=_ints(zeros),
        chunks=_ints(zeros),
    )


def _requests(workload: Workload, rows: Rows, state: State) -> Requests:
    n = int(state.n[N_COUNTS - 1])

    def whole(values: Any) -> NDArray[np.int64]:
        return np.array(values[:n], dtype=np.int64)

    def real(values: Any) -> NDArray[np.float64]:
        return np.array(values[:n], dtype=np.float64)

    rounds, first = whole(rows.round), whole(rows.first) > 0
    previous = np.maximum(rounds - 1, 0)
    return Requests(
        session=np.searchsorted(workload.off, rounds, side="right") - 1,
        round=rounds,
        slot=whole(rows.slot),
        before=np.where(first, FIRST, workload.kind[previous]).astype(np.int64),
        arrival=real(rows.arrival),
        queue_wait=real(rows.queue_wait),
        load_wait=real(rows.load_wait),
        ttft=real(rows.ttft),
        gpu_hit=whole(rows.gpu_hit),
        host_hit=whole(rows.host_hit),
        computed=whole(rows.computed),
        chunks=whole(rows.chunks),
        deadline_before=np.where(first, np.nan, workload.deadline[previous]),
    )


def _counters(state: State) -> Counters:
    names = [field.name for field in fields(Counters)]
    values = {name: float(value) for name, value in zip(names, state.total, strict=True)}
    return Counters(**{name: int(value) if name in _WHOLE else value for name, value in values.items()})  # type: ignore[arg-type]
