"""Which session is a sub-agent's, and in which step of which session it ran.

No log that is read says both: some name a session as a sub-agent's, none names the call that started it. The call is
inferred from time, and only where no other one can be meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracestat.durations.tracelab import make_sequence
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["subagent_links"]


def subagent_links(trace: Trace) -> pl.DataFrame:
    """Give every session of a sub-agent with its parent session and the step of it in whose call it ran.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    polars.DataFrame
        A row per sub-agent session, ordered by session_pk: ``queries/sequence_agents.sql``. ``session_pk``,
        ``parent_session_pk`` and ``parent_place`` are those of `tracestat.durations.sequence.session_sequence`;
        ``parent_session_pk`` is null where no session or more than one can be meant, ``parent_place`` also where
        several steps of one can; ``link`` says which (linked, ambiguous, unknown), ``known_by`` how the session is
        known as a sub-agent's (log, time).

    Notes
    -----
    All sessions take part, whatever is chosen later: a parent may lie outside of what an export chooses.

    Examples
    --------
    >>> import tracestat
    >>> set(subagent_links(tracestat.open())["link"]) <= {"linked", "ambiguous", "unknown"}
    True
    """
    make_sequence(trace)
    return trace.run(query_text("sequence_agents"))
