"""The pauses of a trace with keys that were tried and not kept; each is known when the pause starts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from tracestat.api.forecast_rows import rows_of
from tracestat.durations import select
from tracestat.durations.forecast import forecast_rows
from tracestat.forecast.keys import BAND_EDGES, HISTORY_KEYS, KEYS
from tracestat.forecast.rows import PauseRows
from tracestat.store import Trace

# other bands of the lengths of earlier pauses: every second edge of those in use, and twice as many
MIDDLES = tuple(float(np.sqrt(a * b)) for a, b in pairwise(BAND_EDGES))
OTHER_BANDS = {"{} in 5 bands": BAND_EDGES[1:8:2], "{} in 20 bands": tuple(sorted((*BAND_EDGES, *MIDDLES)))}


def study_rows(trace: Trace) -> dict[str, PauseRows]:
    """Read the pauses of each provider with the keys of a forecast and those that only this study has."""
    frame = with_more(forecast_rows(trace, select(trace)))
    out: dict[str, PauseRows] = {}
    for (provider,), part in sorted(frame.partition_by("provider", maintain_order=True, as_dict=True).items()):
        rows = rows_of(part, (*KEYS, "pauses_so_far"))
        codes, names = dict(rows.codes), dict(rows.names)
        banded: list[tuple[str, str, tuple[float, ...]]] = [
            (key, key, BAND_EDGES) for key in ("last_in_session", "previous_fingerprint")
        ]
        banded += [(name.format(key), key, edges) for name, edges in OTHER_BANDS.items() for key in HISTORY_KEYS]
        for key, column, edges in banded:
            seconds = part[column].to_numpy()
            codes[key] = np.where(np.isnan(seconds), 0, 1 + np.searchsorted(edges, seconds, side="right"))
            names[key] = (None, *(f"band {n}" for n in range(len(edges) + 1)))
        if told_afterwards(part):
            codes["asked_limit_seconds"] = np.zeros(part.height, dtype=np.int64)
        out[str(provider or "")] = replace(rows, codes=codes, names=names)
    return out


def told_afterwards(frame: pl.DataFrame) -> bool:
    """Tell whether limits stand only where they were reached, as in TraceLab's form: then one tells the outcome."""
    return not frame.select((pl.col("seconds") < pl.col("asked_limit_seconds")).any()).item()


def with_more(frame: pl.DataFrame) -> pl.DataFrame:
    """Add what came before in the session, whatever it was, and what came of the same command text before.

    Only of pauses that had ended strictly before this one started.
    """
    ended = frame.filter("observed").with_columns(
        ended_at=pl.col("started_at") + pl.duration(microseconds=(pl.col("seconds") * 1e6).round().cast(pl.Int64))
    )
    for name, by in (
        ("last_in_session", ["session_pk"]),
        ("previous_fingerprint", ["provider", "developer", "command_fingerprint"]),
    ):
        # of several that end at one instant the longest is the last
        last = ended.drop_nulls(by).group_by(*by, "ended_at").agg(pl.col("seconds").max().alias(name)).sort("ended_at")
        frame = frame.sort("started_at").join_asof(
            last,
            left_on="started_at",
            right_on="ended_at",
            by=by,
            allow_exact_matches=False,
            check_sortedness=False,
            coalesce=True,
        )
        frame = frame.select(pl.exclude("ended_at", "ended_at_right"))
    before = pl.col("started_at").rank("min").over("session_pk").cast(pl.Float64)  # 1 for the first
    return frame.with_columns(pauses_so_far=before.log(2).floor().cast(pl.Int64)).sort("started_at", "round_pk")
