"""Work on the items of an iterator in threads, with the results in the order of the items and bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Queue
from typing import Final, TypeVar

__all__ = ["in_order"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Results that may wait for the caller, per worker: enough to keep the workers busy through a long write.
_AHEAD: Final = 12


def in_order(work: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """Apply a function to items in threads.

    Parameters
    ----------
    work : callable
        Releases the interpreter lock for most of its time, or nothing is gained.
    items : iterable
        Read in a thread of its own.
    workers : int
        Threads that work.

    Yields
    ------
    object
        ``work(item)`` for each item, in order.

    Raises
    ------
    Exception
        Whatever ``items`` or ``work`` raised, in its place in the order.

    Examples
    --------
    >>> list(in_order(lambda x: x * x, range(4), 2))
    [0, 1, 4, 9]
    """
    results: Queue[Future[Result] | BaseException | None] = Queue()
    room = threading.Semaphore(_AHEAD * workers)
    stopped = threading.Event()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="tracestat-work")

    def read() -> None:
        try:
            for item in items:
                room.acquire()
                if stopped.is_set():
                    return
                results.put(pool.submit(work, item))
            results.put(None)
        except BaseException as error:  # raised again where the results are taken
            results.put(error)

    reader = threading.Thread(target=read, name="tracestat-read", daemon=True)
    reader.start()
    try:
        while (entry := results.get()) is not None:
            if isinstance(entry, BaseException):
                raise entry
            result = entry.result()
            room.release()
            yield result
    finally:
        stopped.set()
        room.release()
        reader.join()
        pool.shutdown(cancel_futures=True)
