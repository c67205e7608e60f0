"""What a table of runs says: a function of the table, one kind of answer per kind of grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tracestat.errors import UsageError
from tracestat.hardware import Hardware
from tracestat.results import Head, TraceInfo
from tracestat.results.verdicts import NoVerdict, Verdict
from tracestat.simulate.across_seeds import DRAWS, LEAST_SEEDS
from tracestat.simulate.verdicts.cells import Cell, cells_of, fixed_of, stable_under
from tracestat.simulate.verdicts.eta import eta_of
from tracestat.simulate.verdicts.levers import levers_of
from tracestat.simulate.verdicts.questions import questions_of
from tracestat.simulate.verdicts.sensitivity import sensitivity_of
from tracestat.simulate.verdicts.success import success_of
from tracestat.simulate.verdicts.where import where_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KINDS", "verdict_of"]

KINDS: Final = ("success", "where", "levers", "eta", "questions", "sensitivity", "none")
_UNKNOWN: Final = Head(
    schema="tracestat.simulate_verdict/1",
    tracestat="",
    trace=TraceInfo("table of runs", "", 0, 0, 0),
    unit="pause",
    clock="wall",
    by=(),
    where=None,
    seed=0,
    rows="tool",
    synthetic=False,
)


def verdict_of(
    kind: str,
    frame: pl.DataFrame,
    *,
    head: Head | None = None,
    machines: Sequence[Hardware] = (),
    draws: int = DRAWS,
) -> Verdict:
    """Say what a table of runs says.

    Parameters
    ----------
    kind : {"success", "where", "levers", "eta", "questions", "sensitivity", "none"}
        What is asked.
    frame : polars.DataFrame
        One run per row, with the columns of `tracestat.simulate.runs.RUN_COLUMNS`; the order of rows does not matter.
    head : Head, optional
        Of the trace that was played; titles say from it whether that was invented.
    machines : sequence of Hardware
        The user's own, marked on the maps of ``where``.
    draws : int
        Bootstrap samples of each interval.

    Returns
    -------
    Verdict
        Of the class that belongs to the kind. What cannot be told is None, with the reason beside it.

    Raises
    ------
    UsageError
        No such kind, a column is missing, a run stands twice.
    """
    if kind not in KINDS:
        raise UsageError(f"verdict {kind}: there is none such; there are {', '.join(KINDS)}")
    cells = cells_of(frame)
    seeds = int(frame["seed"].n_unique())
    fields: dict[str, Any] = {
        "head": head or _UNKNOWN,
        "kind": kind,
        "runs": frame.height,
        "seeds": seeds,
        "configurations": len(cells),
        "fixed": fixed_of(cells),
        "remarks": tuple(_remarks(kind, cells, seeds)),
    }
    if kind == "where":
        return where_of(cells, fields, draws, machines)
    makers: Mapping[str, Any] = {
        "success": success_of,
        "levers": levers_of,
        "eta": eta_of,
        "questions": questions_of,
        "sensitivity": sensitivity_of,
    }
    made: Verdict = makers[kind](cells, fields, draws) if kind in makers else NoVerdict(**fields)
    return made


# policies without which a kind has nothing to say, and those that it would use
_NEEDED: Final = {
    "success": ("P1", "P2", "P5-B"),
    "where": ("P1", "P5-B"),
    "levers": ("P1",),
    "eta": ("P1", "P2"),
    "sensitivity": ("P1", "P2", "P4-D", "P5-B"),
}


def _remarks(kind: str, cells: Sequence[Cell], seeds: int) -> list[str]:
    if not cells:
        return ["the table has no runs: nothing is judged"]
    out = []
    for policy in _NEEDED.get(kind, ()):
        # only some policies read eta: where that alone is changed, the others are as they were
        own = [cell for cell in cells if not str(cell.settings["change"]).startswith("eta=")]
        lost = sum(not any(name == policy for name, _ in cell.runs) for cell in own)
        if lost:
            out.append(f"{policy} is missing in {lost:,} of {len(own):,} configurations")
    if seeds < LEAST_SEEDS:
        word = "1 seed" if seeds == 1 else f"{seeds} seeds"
        out.append(f"{word}: no interval below {LEAST_SEEDS}, and a p99 of so few seeds decides nothing")
    some = [runs for cell in cells for runs in cell.runs.values()]
    empty = sum(int(np.count_nonzero(~np.isfinite(runs["post_tool_p99"]))) for runs in some)
    if empty:
        out.append(f"{empty:,} runs have no request after a tool in their window: they have no wait, hence no ratio")
    sizes = {runs.seeds.size for runs in some}
    if len(sizes) > 1:
        out.append(f"not all have the same seeds ({min(sizes)} to {max(sizes)}): only common ones are compared")
    stable = [answer for cell in cells if (answer := stable_under(cell)) is not None]
    if stable and not any(stable):
        out.append("no configuration is stable: the queue grows under P1 in all of them")
    return out
