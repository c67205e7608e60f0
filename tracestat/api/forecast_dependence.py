"""How far the calls of one round end together, fitted on the rounds of a trace that have several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tracestat.api.forecast_rows import rows_of
from tracestat.durations import Selection
from tracestat.durations.forecast import forecast_members
from tracestat.forecast.batch import Finder, lay_out
from tracestat.forecast.maximum import LEAST_ROUNDS, MemberLaws, fit_dependence, member_laws
from tracestat.forecast.model import Dependence, PathModel

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from tracestat.store import Trace

__all__ = ["dependence_of", "laws_of_members"]


def dependence_of(
    trace: Trace, selection: Selection, single_by_provider: Mapping[str, PathModel]
) -> dict[str, Dependence]:
    """Fit the dependence of each provider.

    Parameters
    ----------
    trace : Trace
    selection : Selection
        Of pauses.
    single_by_provider : mapping of str to PathModel
        Law of rounds with one call; ``""`` for a provider that is not named.

    Returns
    -------
    dict of str to Dependence
        Of the providers that have rounds with several calls.

    Notes
    -----
    A pause starts at the last output of its round. A call that has returned by then costs nothing and is left out; a
    round that then waits for one call only says nothing of dependence and is counted in the note. Whether a call that
    still runs has run since it was emitted, or waited for the end of the message, the log does not say: both are
    fitted, the likelier is kept, and the note says so where it is the former.
    """
    import polars as pl

    frame = forecast_members(trace, selection).with_columns(pl.col("provider").fill_null(""))
    parts = frame.partition_by("provider", maintain_order=True, as_dict=True)
    members = {str(name): part for (name,), part in parts.items()}
    return {name: _fit(members[name], single) for name, single in single_by_provider.items() if name in members}


def _fit(members: pl.DataFrame, single: PathModel) -> Dependence:
    import polars as pl

    n_running = pl.len().over("round_pk")
    several = members.filter(n_running > 1)
    first = several.filter(pl.int_range(pl.len()).over("round_pk") == 0)
    session, developer = (first[key].rank("dense").fill_null(0).to_numpy() for key in ("session_pk", "developer"))
    waited, aged = (
        fit_dependence(laws_of_members(several, single, aged=aged), session, developer) for aged in (False, True)
    )
    # too few rounds tell nothing of this either
    best = aged if aged.log_likelihood > waited.log_likelihood and first.height >= LEAST_ROUNDS else waited
    alone = members["round_pk"].n_unique() - first.height
    notes = [best.note] if best.note else []
    if best is aged:
        notes.append("calls count as running since they were emitted")
    if alone:
        notes.append(f"rounds that waited for one call only when their pause started, left out: {alone:,}")
    return replace(best, note="; ".join(notes) or None)


def laws_of_members(members: pl.DataFrame, single: PathModel, *, aged: bool) -> MemberLaws:
    """Read the members' curves at the bins of their rounds.

    Parameters
    ----------
    members : DataFrame
        Rows of :func:`tracestat.durations.forecast.forecast_members`, of one provider.
    single : PathModel
        Law of a round with one call.
    aged : bool
        Whether a call counts as running since it was emitted; else since the pause started.

    Returns
    -------
    MemberLaws
    """
    import polars as pl

    rows = rows_of(members, single.keys)
    codes = [_coded(rows.codes[k], rows.names[k], single.names[k]) for k in single.keys]
    laid = lay_out(single, Finder(single).places(codes, members.height))
    start = members.select(pl.int_range(pl.len()).over("round_pk") == 0).to_series().to_numpy()
    starts = np.flatnonzero(start)
    sizes = np.diff(np.append(starts, members.height))
    lag = members["lag_seconds"].to_numpy() if aged else 0.0
    return member_laws(laid.curves, laid.which, lag, sizes, rows.seconds[start], rows.observed[start])


def _coded(
    codes: NDArray[np.int64], names: tuple[str | None, ...], fitted: tuple[str | None, ...]
) -> NDArray[np.int32]:
    """Turn codes of these rows into those of the fitted ones, -1 for a value that was not fitted."""
    book = {name: code for code, name in enumerate(fitted)}
    return np.array([book.get(name, -1) for name in names], dtype=np.int32)[codes]
