"""Nothing that a forecast stands on may depend on what happens after the pause has started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.forecast.leaks import Outcomes, leaking
from tests.forecast.split_checks import made_rows
from tests.traces import call, round_
from tracestat.api.forecast_rows import rows_of
from tracestat.durations import select
from tracestat.durations.forecast import forecast_rows
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.grid import forecast_grid
from tracestat.forecast.keys import BAND_EDGES, HISTORY_KEYS, KEYS
from tracestat.forecast.methods import forecast_all, method_names
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.running import running_means
from tracestat.forecast.splits import parts
from tracestat.store import Trace

N_SESSIONS, N_ROUNDS = 12, 8
TOOLS = ("Bash", "Read", "Edit")
SESSION, ROUND = (part.ravel() for part in np.indices((N_SESSIONS, N_ROUNDS)))
# sessions side by side; four at a time start their rounds at the same moments
OUT = 40.0 * ROUND + np.array([0.0, 7.5, 21.0])[SESSION % 3]


def outcomes_of(seed: int) -> Outcomes:
    rng = np.random.default_rng(seed)
    made = np.round(rng.exponential(30.0, size=(OUT.size, 2)), 3)
    made[rng.random(made.shape) < 0.2] = 0.0
    made[rng.random(made.shape) < 0.05] = np.nan
    return made


def rounds_of(outcomes: Outcomes) -> Iterator[dict[str, Any]]:
    """Two calls per round, every fourth with one only: which of the two comes back last is an outcome."""
    for row, (session, number) in enumerate(zip(SESSION, ROUND, strict=True)):
        out = float(OUT[row])
        ends = [None if np.isnan(d) else out + float(d) for d in outcomes[row]]
        calls = [call(f"s{session}r{number}c0", out, ends[0], TOOLS[row % 3])]
        if row % 4:
            calls.append(call(f"s{session}r{number}c1", out, ends[1], TOOLS[(row + 1) % 3], index=1))
        yield round_(f"s{session}", int(number), calls, user=f"user_{session % 4}")


def known_at_start(trace: Trace) -> pl.DataFrame:
    """Give the codes of all keys, and all columns of the query but the outcomes."""
    frame = forecast_rows(trace, select(trace))
    rows = rows_of(frame, KEYS)
    raw = frame.drop("seconds", "observed", "session_pk", "round_pk")
    first = frame["round_pk"] - frame["round_pk"].min()
    # codes are numbers of values; values that no row has any more move them, so the values are compared
    named = {f"{key} code": [rows.names[key][c] for c in rows.codes[key]] for key in KEYS}
    return pl.concat([first.alias("row").to_frame(), raw, pl.DataFrame(named, strict=False)], how="horizontal")


def with_planted(trace: Trace) -> pl.DataFrame:
    """Give keys chosen by outcome: what came back last, and a band of the row's own length."""
    frame = trace.sql("SELECT round_pk, n_calls, last_returned_tool, seconds FROM pauses ORDER BY round_pk")
    bands = np.searchsorted(BAND_EDGES, frame["seconds"].to_numpy(), side="right")
    return frame.select(
        row=pl.col("round_pk") - pl.col("round_pk").min(),
        n_calls="n_calls",
        last_returned_tool="last_returned_tool",
        own_band=pl.Series(bands),
    )


@pytest.mark.parametrize(
    ("known", "expected"),
    [(known_at_start, set()), (with_planted, {"last_returned_tool", "own_band"})],
    ids=["what forecasts stand on", "planted leaks"],
)
@pytest.mark.first_case
def test_the_future_changes_nothing(
    store_of: Callable[..., Trace], known: Callable[[Trace], pl.DataFrame], expected: set[str]
) -> None:
    assert leaking(lambda outcomes: known(store_of(rounds_of(outcomes))), OUT, outcomes_of(0), cuts=3) == expected


def test_history_is_there_to_be_checked(store_of: Callable[..., Trace]) -> None:
    frame = known_at_start(store_of(rounds_of(outcomes_of(0))))
    assert {*KEYS} <= {name.removesuffix(" code") for name in frame.columns}
    for key in HISTORY_KEYS:
        assert frame[key].is_not_null().sum() > 5
        assert frame[f"{key} code"].n_unique() > 2


def test_a_pause_of_no_length_does_not_see_itself(store_of: Callable[..., Trace]) -> None:
    rounds = [round_("a", i, [call(f"a{i}", 10.0 * i, 10.0 * i + d)]) for i, d in enumerate([0.0, 3.0, 0.0, 0.0])]
    # another session starts at the very moment at which the first pause of a starts and ends
    rounds.append(round_("b", 0, [call("b0", 0.0, 0.0)]))
    trace = store_of(rounds)
    frame = forecast_rows(trace, select(trace))
    assert frame["seconds"].to_list() == [0, 0, 3, 0, 0]
    assert frame["previous"].to_list() == [None, None, 0, 3, 0]
    assert frame["previous_in_session"].to_list() == [None, None, 0, 3, 0]


def by_row(rows: PauseRows, outcomes: Outcomes) -> PauseRows:
    lost = np.isnan(outcomes[:, 0])
    seconds = np.where(lost, 1.0, outcomes[:, 0])
    return PauseRows(rows.codes, rows.names, rows.session, rows.developer, rows.started, seconds, ~lost)


def test_running_forecasts_know_the_past_only() -> None:
    rows = made_rows(0, 200)

    def known(outcomes: Outcomes) -> pl.DataFrame:
        changed = by_row(rows, outcomes)
        mean, moving = running_means(changed, changed)
        return pl.DataFrame({"row": np.arange(rows.size), "mean": mean, "moving": moving})

    def planted(outcomes: Outcomes) -> pl.DataFrame:
        changed = by_row(rows, outcomes)
        # all rows of the tool, ended or not
        sums = np.bincount(changed.codes["tool"], weights=changed.seconds)
        return known(outcomes).with_columns(planted=pl.Series(sums[changed.codes["tool"]]))

    outcomes = rows.seconds[:, None]
    assert leaking(known, rows.started, outcomes) == set()
    assert leaking(planted, rows.started, outcomes) == {"planted"}


@pytest.mark.parametrize("split", ["time", "developer"])
def test_no_curve_knows_how_the_tested_rows_ended(split: Any) -> None:
    rows, grid = made_rows(5, 250), forecast_grid()
    part = next(parts({"": rows}, split))
    test = part.test
    rng = np.random.default_rng(0)
    other = PauseRows(
        *(test.codes, test.names, test.session, test.developer, test.started),
        *(rng.permutation(test.seconds) * 3, rng.random(test.size) < 0.5),
    )
    here, there = forecast_all(part.train, test, grid), forecast_all(part.train, other, grid)
    assert tuple(f.name for f in here) == method_names()
    moved = set()
    for a, b in zip(here, there, strict=True):
        if isinstance(a, CurveForecast) and isinstance(b, CurveForecast):
            assert np.array_equal(a.place, b.place)
            assert np.array_equal(a.curves.log_survival, b.curves.log_survival)
            assert a.curves.alpha == b.curves.alpha
        elif isinstance(a, PointForecast) and not np.array_equal(a.seconds, b.seconds):
            moved.add(a.name)
    # these two run along with what has ended, which the check above holds to the past
    assert moved == {"running mean", "ewma"}
