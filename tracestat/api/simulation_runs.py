"""Many runs of one workload: in this process while that is quick, then in several, always given in the same order."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tracestat.errors import TracestatError
from tracestat.hardware import Hardware
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.forms import Requests
from tracestat.simulate.runs import Inputs, Row, run_once

if TYPE_CHECKING:
    from concurrent.futures import Future

    import loky

__all__ = ["Played", "Task", "play"]

# another process needs about a second before its first run
_PATIENCE_SECONDS: Final = 1.0
# runs given to a process before the first of them is back: one that takes long holds the others up no longer than that
_AHEAD: Final = 8


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be run."""

    configuration: Configuration
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """What a run gave: a value per name of `RUN_COLUMNS`, and its requests where they were asked for."""

    task: Task
    row: Row
    requests: Requests | None


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    inputs: Inputs
    hardware: Hardware
    with_requests: bool


_shared: list[_Shared] = []  # a process that runs has one workload for all its life


def play(
    tasks: Sequence[Task], inputs: Inputs, hardware: Hardware, *, jobs: int, with_requests: bool = False
) -> Iterator[Played]:
    """Run tasks, and give each in the order of the tasks, whatever the number of processes.

    Parameters
    ----------
    tasks : sequence of Task
    inputs : Inputs
        Of all their configurations.
    hardware : Hardware
        That they name.
    jobs : int
        Processes at most; 1: this one alone.
    with_requests : bool
        Whether to give the single requests.

    Raises
    ------
    UsageError, TracestatError
        As `run_once`; a process ended before its run was done.
    """
    shared = _Shared(inputs, hardware, with_requests)
    began = time.monotonic()
    for place, task in enumerate(tasks):
        left = len(tasks) - place
        if jobs > 1 and left > 1 and time.monotonic() - began > _PATIENCE_SECONDS:
            yield from _play_beside(tasks[place:], shared, min(jobs, left))
            return
        yield _one(task, shared)


def _one(task: Task, shared: _Shared) -> Played:
    run = run_once(task.configuration, task.seed, shared.inputs, shared.hardware)
    return Played(task, run.row, run.requests if shared.with_requests else None)


def _play_beside(tasks: Sequence[Task], shared: _Shared, jobs: int) -> Iterator[Played]:
    import loky
    from loky.process_executor import BrokenProcessPool

    with ExitStack() as opened:
        # unlike the standard one, it does not run the caller's script again in each process
        pool: loky.ProcessPoolExecutor = loky.ProcessPoolExecutor(jobs, initializer=_begin, initargs=(shared,))
        opened.push(lambda kind, *_: pool.shutdown(kill_workers=kind is not None))
        try:
            # not its map: that cancels what waits, of which an interrupted pool then complains on stderr
            waiting: deque[Future[Played]] = deque()
            for task in tasks:
                waiting.append(pool.submit(_work, task))
                if len(waiting) >= _AHEAD * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise TracestatError(
                "simulation: a process ended before its run was done, perhaps for want of memory; try --jobs 1"
            ) from None


def _begin(shared: _Shared) -> None:
    """Make a process ready: it leaves an interrupt to the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # arrays that came from another process can be written to: made anew, they are read-only
    inputs = replace(shared.inputs, asked=replace(shared.inputs.asked), exact=replace(shared.inputs.exact))
    _shared[:] = [replace(shared, inputs=inputs)]


def _work(task: Task) -> Played:
    return _one(task, _shared[0])
