"""The parts of ``deadlines`` that need no test: rows that say that they ended on a limit, and asked limits.

Both are counts of counts per session; only their uncertainty is estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracestat.api.common import split_by_key
from tracestat.api.deadline_scans import known_limits
from tracestat.durations import Selection, summary_limits
from tracestat.durations.deadlines import asked_rows, status_rows
from tracestat.resample import sum_by
from tracestat.results import NOT_AVAILABLE, DeadlineAtom, Interval
from tracestat.survival.deadline_scan import label_of
from tracestat.survival.headline import headline
from tracestat.survival.proportion import clustered_share

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["ExactPart", "asked_limits", "asked_parts", "status_parts"]

Key = tuple[Any, ...]
Floats = NDArray[np.float64]
_ENOUGH_ASKED = 10  # fewer rows cannot fill a window of the scan
_ALL = -1.0
_UNTOLD = "no call here says how it ended: status is not known"
_SOME_UNTOLD = "{n:,} rows of {providers} do not say how they ended and are not in here"
_UNKNOWN_LIMIT = "{n:,} rows ended on a limit that is not known: in the share of all, in no line"
_NEVER_ASKED = "no call here is known to have asked for a limit"
_ONLY_ENDED = "limits are known only of calls that ended on them: no part of those that asked can be given"
_MIN_N = "{n} rows, {min_n} asked for"


@dataclass(frozen=True, slots=True)
class ExactPart:
    """What status or asked limits say of one group; counts are of the rows that it is about."""

    n: int
    n_events: int
    n_sessions: int
    n_developers: int
    total_seconds: float
    atoms: tuple[DeadlineAtom, ...]
    share: Interval
    hours: float | None
    available: bool
    notes: tuple[str, ...]


class _Sessions:
    """The sessions of one group, in the order in which arrays over them stand."""

    def __init__(self, frame: pl.DataFrame) -> None:
        ids, first, codes = np.unique(frame["session_pk"].to_numpy(), return_index=True, return_inverse=True)
        self.n = ids.size
        self.place = {int(value): i for i, value in enumerate(ids)}
        developers, code = np.unique(frame["developer_id"].to_numpy(), return_inverse=True)
        self.developer = code[first].astype(np.intp)
        self.n_developers = developers.size
        self.rows = sum_by(frame["n"].to_numpy().astype(np.float64), codes, self.n)

    def of(self, frame: pl.DataFrame, column: str) -> Floats:
        """Sum a column per session."""
        where = [self.place[int(value)] for value in frame["session_pk"].to_list()]
        return sum_by(frame[column].to_numpy().astype(np.float64), where, self.n)

    def share(self, did: Floats, whole: Floats) -> Interval:
        """Give a share by session and by developer."""
        session = clustered_share(did, whole)
        developer = clustered_share(
            sum_by(did, self.developer, self.n_developers), sum_by(whole, self.developer, self.n_developers)
        )
        return NOT_AVAILABLE if session is None or developer is None else headline(session, developer)

    def by_developer(self, did: Floats) -> Floats:
        return sum_by(did, self.developer, self.n_developers)


def _seconds_between(frame: pl.DataFrame) -> tuple[float | None, float | None]:
    first, last = frame["first_seconds"].min(), frame["last_seconds"].max()
    return (
        float(first) if isinstance(first, int | float) else None,
        float(last) if isinstance(last, int | float) else None,
    )


def _spread(sessions: _Sessions, ended: Floats) -> dict[str, Any]:
    """Say whose the ends are: of how many, and of one mostly."""
    ends = sessions.by_developer(ended)
    any_ended = bool(ends.sum())
    return {
        "label": label_of(ends) if any_ended else None,
        "n_developers": int(np.count_nonzero(ends)),
        "n_sessions": int(np.count_nonzero(ended)),
        "largest_developer": float(ends.max() / ends.sum()) if any_ended else None,
    }


def status_parts(trace: Trace, selection: Selection, min_n: int) -> dict[Key, ExactPart]:
    """Count the rows of every group that say that they ended on a limit.

    Parameters
    ----------
    trace : Trace
    selection : Selection
        As :func:`tracestat.durations.select` has just set it.
    min_n : int
        Rows below which nothing is estimated.
    """
    frames = split_by_key(status_rows(trace, selection), selection)
    return {key: _status(frame, min_n) for key, frame in frames.items()}


def _status(frame: pl.DataFrame, min_n: int) -> ExactPart:
    whole = frame.filter(frame["limit_seconds"] == _ALL).rename({"n_at_risk": "n"})
    telling = whole.filter(whole["tells"])
    about = telling if telling.height else whole
    sessions = _Sessions(about)
    n = int(about["n"].sum())
    notes: list[str] = []
    atoms: list[DeadlineAtom] = []
    share, hours = NOT_AVAILABLE, None
    if not telling.height:
        notes.append(_UNTOLD)
    elif n < min_n:
        notes.append(_MIN_N.format(n=n, min_n=min_n))
    else:
        silent = whole.filter(~whole["tells"])
        if silent.height:
            names = ", ".join(sorted({str(name) for name in silent["provider_of"].to_list()}))
            notes.append(_SOME_UNTOLD.format(n=int(silent["n"].sum()), providers=names))
        ended = frame.filter(frame["limit_seconds"].is_null() | (frame["limit_seconds"] != _ALL))
        unknown = int(ended.filter(ended["limit_seconds"].is_null())["n_ended"].sum())
        if unknown:
            notes.append(_UNKNOWN_LIMIT.format(n=unknown))
        share = sessions.share(sessions.of(telling, "n_ended"), sessions.rows)
        hours = float(ended["seconds"].sum()) / 3600
        known = known_limits(sorted({str(name) for name in telling["provider_of"].to_list()}))
        for (limit,), part in ended.filter(ended["limit_seconds"].is_not_null()).group_by(
            "limit_seconds", maintain_order=True
        ):
            if part["n_ended"].sum():
                atoms.append(_status_atom(sessions, float(limit), part, known))
    return ExactPart(
        n=n,
        n_events=int(about["n_seen"].sum()),
        n_sessions=sessions.n,
        n_developers=sessions.n_developers,
        total_seconds=float(about["seconds"].sum()),
        atoms=tuple(sorted(atoms, key=lambda atom: atom.seconds)),
        share=share,
        hours=hours,
        available=bool(telling.height),
        notes=tuple(notes),
    )


def _status_atom(sessions: _Sessions, limit: float, part: pl.DataFrame, known: Iterable[float]) -> DeadlineAtom:
    ended, at_risk = sessions.of(part, "n_ended"), sessions.of(part, "n_at_risk")
    return DeadlineAtom(
        seconds=limit,
        window=_seconds_between(part),
        mass=sessions.share(ended, at_risk),
        share=sessions.share(ended, sessions.rows),
        events=int(ended.sum()),
        expected=None,
        q_value=None,
        known=True,  # the row itself names the limit
        known_limit=limit if limit in known else None,
        n_at_risk=int(at_risk.sum()),
        **_spread(sessions, ended),
    )


def asked_limits(trace: Trace, selection: Selection) -> dict[Key, tuple[float, ...]]:
    """Give the limits that calls of each group asked for at least ten times, whether they ended on them or not.

    Parameters
    ----------
    trace : Trace
    selection : Selection
        Calls, as :func:`tracestat.durations.select` has just set them.
    """
    out: dict[Key, tuple[float, ...]] = {}
    for key, frame in _complete(trace, selection).items():
        sums: dict[float, int] = {}
        for limit, n in frame.select("limit_seconds", "n").iter_rows():
            sums[limit] = sums.get(limit, 0) + n
        out[key] = tuple(sorted(limit for limit, n in sums.items() if n >= _ENOUGH_ASKED))
    return out


def _complete(trace: Trace, selection: Selection) -> Mapping[Key, pl.DataFrame]:
    """Give calls per asked limit, of sources that know the limits also of calls that ended otherwise."""
    frame = summary_limits(trace, selection)
    return split_by_key(frame.filter(frame["complete"]), selection)


def asked_parts(trace: Trace, selection: Selection, min_n: int) -> dict[Key, ExactPart]:
    """Say of every limit that calls asked for what part of them ended on it.

    Parameters
    ----------
    trace : Trace
    selection : Selection
        Calls, as :func:`tracestat.durations.select` has just set them.
    min_n : int
        Rows below which nothing is estimated.
    """
    everything = summary_limits(trace, selection)
    complete = split_by_key(everything.filter(everything["complete"]), selection)
    some = split_by_key(everything, selection)
    out = {}
    for key, frame in split_by_key(asked_rows(trace, selection), selection).items():
        reason = _ONLY_ENDED if key in some else _NEVER_ASKED
        out[key] = _asked(frame, complete.get(key), reason, min_n)
    return out


def _asked(frame: pl.DataFrame, limits: pl.DataFrame | None, reason: str, min_n: int) -> ExactPart:
    whole = frame.filter(frame["limit_seconds"] == _ALL)
    sessions = _Sessions(whole)
    n = int(whole["n"].sum())
    notes: list[str] = []
    atoms: list[DeadlineAtom] = []
    share, hours = NOT_AVAILABLE, None
    if limits is None:
        notes.append(reason)
    elif n < min_n:
        notes.append(_MIN_N.format(n=n, min_n=min_n))
    else:
        share = sessions.share(sessions.of(limits, "n_ended"), sessions.rows)
        hours = float(limits["seconds_ended"].sum()) / 3600
        names = ["limit_provider", "limit_tool", "limit_seconds"]
        ran = dict(frame.group_by(names))
        for key, part in limits.group_by(names, maintain_order=True):
            atoms.append(_asked_atom(sessions, part, ran[key], known_limits([str(key[0])])))
    return ExactPart(
        n=n,
        n_events=int(whole["n_seen"].sum()),
        n_sessions=sessions.n,
        n_developers=sessions.n_developers,
        total_seconds=float(whole["seconds"].sum()),
        atoms=tuple(sorted(atoms, key=lambda atom: (-(atom.n_asked or 0), str(atom.tool), atom.seconds))),
        share=share,
        hours=hours,
        available=limits is not None,
        notes=tuple(notes),
    )


def _asked_atom(sessions: _Sessions, part: pl.DataFrame, ran: pl.DataFrame, known: Iterable[float]) -> DeadlineAtom:
    limit, tool = float(part["limit_seconds"][0]), part["limit_tool"][0]
    ended = sessions.of(part, "n_ended")
    seen = sessions.of(part, "n") - sessions.of(part, "n_unseen")
    at_risk = np.maximum(sessions.of(ran, "n_at_risk"), ended)
    notes = []
    unseen = int(part["n_unseen"].sum())
    if unseen:
        notes.append(f"{unseen} without a result: in no part of those that asked")
    return DeadlineAtom(
        seconds=limit,
        window=_seconds_between(ran),
        mass=sessions.share(ended, at_risk) if at_risk.sum() else NOT_AVAILABLE,
        share=sessions.share(ended, sessions.rows),
        events=int(ended.sum()),
        expected=None,
        q_value=None,
        known=True,  # it was asked for
        known_limit=limit if limit in known else None,
        tool=tool,
        n_at_risk=int(at_risk.sum()),
        n_asked=int(part["n"].sum()),
        of_asked=sessions.share(ended, seen) if seen.sum() else NOT_AVAILABLE,
        notes=tuple(notes if at_risk.sum() else [*notes, "no call ran so long: no mass"]),
        **_spread(sessions, ended),
    )
