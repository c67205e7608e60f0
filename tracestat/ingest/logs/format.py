"""What a format of raw logs has to say: how to recognise it, the facts of one line, and the rounds of all logs.

Reading is cut in two so that a log that grows is read on from where it ended: ``facts`` looks at one JSON object of
one line and nothing else, and keeps no text; ``rounds`` sees the facts of every log of its kind at once, since calls,
results, copies and notices of one session may stand in several files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tracestat.ingest.logs.model import Round
from tracestat.ingest.logs.names import Names

__all__ = ["Facts", "Format", "Log", "LogRounds", "UnreadableError"]


class UnreadableError(Exception):
    """An object that cannot be a line of its format; the message is the reason and holds nothing of the text."""


@dataclass(slots=True)
class Facts:
    """What one object says.

    Attributes
    ----------
    facts : list of msgspec.Struct
        Of the format's own kinds; empty for a line that is understood and says nothing of use.
    unknown : str or None
        The type of a line that the format does not know; at most 40 characters of letters, digits and ``_-:/``.
    """

    facts: list[msgspec.Struct] = field(default_factory=list)
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """One log file, already read.

    Attributes
    ----------
    key : str
        Pseudonym of its place; also the order of logs whose first stamps are equal.
    developer : str or None
        Who worked, as the caller says.
    facts : callable
        Gives the facts in the order of the file, as often as it is called.
    """

    key: str
    developer: str | None
    facts: Callable[[], Iterator[Any]]


@dataclass(slots=True)
class LogRounds:
    """The rounds of one log that no earlier log has.

    Attributes
    ----------
    rounds : list of Round
        With private names still as tokens.
    left_out : dict of str to int
        Calls left out, by the reason in words (``copies of calls in another log``); shown by ``ingest``.
    counts : dict of str to int
        ``calls`` and ``results`` understood in the file, copies included; orphans and the like by name.
    """

    rounds: list[Round] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of raw logs.

    Attributes
    ----------
    kind : str
        Its name on screen, for example ``Claude Code log``.
    slug : str
        What stands before the hash of a file in ``sources``, for example ``claude-code``.
    document : bool
        The file is one JSON value rather than one per line: it is read whole and never read on.
    fact : type
        Union of the tagged msgspec structs that ``facts`` gives.
    recognises : callable
        Tells from one of the first objects of a file (of a document: from the whole value) whether it is of this
        format.
    facts : callable
        Gives what one object, as UTF-8 JSON, says. Raises msgspec.DecodeError when the text is not JSON, and
        UnreadableError when the object cannot be a line of the format.
    rounds : callable
        Gives one LogRounds per log, in the order of the logs.
    """

    kind: str
    slug: str
    document: bool
    fact: Any
    recognises: Callable[[dict[str, Any]], bool]
    facts: Callable[[bytes, Names], Facts]
    rounds: Callable[[Sequence[Log]], Iterator[LogRounds]]
