"""The facts of whole sessions, where one session stands in several logs: rotated segments, exports made again.

A session is given with the last log that says anything of it, so that only sessions that go over the end of a log are
held; what else is kept across logs is one number per session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tracestat.ingest.logs.format import Log

__all__ = ["Gathered", "gather"]

F = TypeVar("F")


@dataclass(slots=True)
class Gathered(Generic[F]):
    """All that the logs say of one session.

    Attributes
    ----------
    key : str
        Pseudonym of the session.
    developer : str or None
        Of the first log that has it.
    facts : list
        In the order of the logs and their lines.
    """

    key: str
    developer: str | None
    facts: list[F] = field(default_factory=list)


def gather(logs: Sequence[Log], key_of: Callable[[Any], str]) -> Iterator[list[Gathered[Any]]]:
    """Give, for each log, the sessions that no later log goes on with.

    Parameters
    ----------
    logs : sequence of Log
        In order.
    key_of : callable
        Session of a fact; facts of no session have an empty key, and are never held for a later log.

    Yields
    ------
    list of Gathered
        In the order of their first facts.
    """
    last: dict[str, int] = {}
    if len(logs) > 1:
        for number, log in enumerate(logs):
            for fact in log.facts():
                if key := key_of(fact):
                    last[key] = number
    held: dict[str, Gathered[Any]] = {}
    for number, log in enumerate(logs):
        for fact in log.facts():
            key = key_of(fact)
            if key not in held:
                held[key] = Gathered(key, log.developer)
            held[key].facts.append(fact)
        done = [key for key in held if last.get(key, number) == number]
        yield [held.pop(key) for key in done]
