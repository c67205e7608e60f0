"""From the frame of pauses to the arrays that a forecast is made of, one set per provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tracestat.api.hazard_plan import CUT_AT
from tracestat.durations import Selection
from tracestat.durations.forecast import forecast_rows
from tracestat.errors import UsageError
from tracestat.forecast.grid import Grid, forecast_grid
from tracestat.forecast.keys import BAND_EDGES, BANDED, band_labels
from tracestat.forecast.rows import PauseRows
from tracestat.survival.bins import deadline_window

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from tracestat.store import Trace

__all__ = ["coded", "provider_grid", "rows_by_provider", "rows_of"]

_LIMIT = "asked_limit_seconds"


def provider_grid(provider: str, atoms: Sequence[float] | None = None) -> Grid:
    """Lay the bins of a provider, with windows of its known deadlines, or of the ``atoms`` (seconds) in their place."""
    known, overhead = CUT_AT.get(provider, ((), 0.0))
    return forecast_grid([deadline_window(t, overhead) for t in (known if atoms is None else atoms)])


def rows_by_provider(trace: Trace, selection: Selection, keys: Sequence[str]) -> dict[str, PauseRows]:
    """Read the pauses of a selection; a provider that is not named is ``""``.

    Parameters
    ----------
    keys : sequence of str
        Keys to give codes for, of `tracestat.forecast.keys.KEYS`.

    Raises
    ------
    UsageError
        Asked limits are a key, and the trace tells them only of calls that reached them.
    """
    import polars as pl

    # only what is used: the rows of a whole release are most of the memory that a fit takes
    used = dict.fromkeys((*keys, "session_pk", "developer", "started_at", "seconds", "observed"))
    frame = forecast_rows(trace, selection).select(pl.col("provider").fill_null(""), *used)
    parts = frame.partition_by("provider", maintain_order=True, as_dict=True)
    if _LIMIT in used:
        for (name,), part in parts.items():
            _check_limits(str(name), part)
    return {str(name): rows_of(part, keys) for (name,), part in sorted(parts.items())}


def _check_limits(provider: str, frame: pl.DataFrame) -> None:
    """Refuse limits that are told afterwards, as in TraceLab's form: there a limit tells that the pause reached it."""
    limit = frame[_LIMIT]
    if limit.null_count() < frame.height and not (frame["seconds"] < limit).any():
        raise UsageError(
            f"--keys {_LIMIT}: this trace tells limits of {provider or 'its provider'} only where a call reached them, "
            "which nobody knows when a pause starts; leave it out"
        )


def rows_of(frame: pl.DataFrame, keys: Sequence[str]) -> PauseRows:
    """Turn the pauses of one provider into arrays."""
    codes: dict[str, NDArray[np.int64]] = {}
    names: dict[str, tuple[str | None, ...]] = {}
    for key in dict.fromkeys(keys):
        if key in BANDED:
            value = frame[key].to_numpy()
            codes[key] = np.where(np.isnan(value), 0, 1 + np.searchsorted(BAND_EDGES, value, side="right"))
            names[key] = band_labels()
        else:
            codes[key], names[key] = coded(frame[key])
    return PauseRows(
        codes,
        names,
        session=coded(frame["session_pk"])[0].astype(np.intp),
        developer=coded(frame["developer"])[0].astype(np.intp),
        started=frame["started_at"].dt.epoch("us").to_numpy() / 1e6,
        seconds=frame["seconds"].to_numpy(),
        observed=frame["observed"].to_numpy(),
    )


def coded(values: pl.Series) -> tuple[NDArray[np.int64], tuple[str | None, ...]]:
    """Give numbers to the values in their order, missing ones last: codes must not depend on the order of rows."""
    import polars as pl

    text = values.cast(pl.String)
    known = text.unique().drop_nulls().sort()
    place = pl.Series(range(known.len()), dtype=pl.Int64)
    codes = text.replace_strict(known, place, default=known.len(), return_dtype=pl.Int64)
    names: list[str | None] = [*known.to_list(), *([None] if text.null_count() else [])]
    return codes.to_numpy(), tuple(names)
