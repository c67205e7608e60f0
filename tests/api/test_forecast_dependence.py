"""Which calls a round waits for, what was known of them, and how far they end together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tracestat
from tests.traces import Row, call, round_
from tracestat.api.forecast_dependence import dependence_of, laws_of_members
from tracestat.api.forecast_rows import rows_of
from tracestat.durations import select
from tracestat.durations.forecast import forecast_members, forecast_rows
from tracestat.forecast.grid import forecast_grid
from tracestat.forecast.keys import HISTORY_KEYS, PATHS
from tracestat.forecast.model import PathModel, path_model
from tracestat.forecast.splits import time_split
from tracestat.forecast.tree import fit_tree

Make = Callable[[list[Row]], Any]
KEYS = PATHS[0]
COLUMNS = ["tool_index", "tool", "tool_class", "command_skeleton", "lag_seconds", "previous", "seconds", "observed"]


@pytest.fixture(scope="module")
def sample() -> Iterator[tracestat.Trace]:
    with tracestat.open() as trace:
        yield trace


def members(trace: tracestat.Trace, where: str | None = None) -> pl.DataFrame:
    return forecast_members(trace, select(trace, where=where))


def singles(trace: tracestat.Trace) -> dict[str, PathModel]:
    frame = forecast_rows(trace, select(trace)).filter(pl.col("n_calls") == 1)
    made = {}
    for (name,), part in frame.partition_by("provider", as_dict=True).items():
        rows = rows_of(part, KEYS)
        made[str(name)] = path_model(fit_tree(rows, KEYS, forecast_grid()), rows)
    return made


def test_members_of_a_round(store_of: Make) -> None:
    rows = [
        round_("a", 0, [call("c0", 0, 2, "Bash", command_skeleton="go test")]),
        round_(
            "a",
            1,
            [
                call("c1", 10, 11, "Read", index=0),
                call("c2", 10.5, 19, "Bash", index=1, command_skeleton="go test"),
                call("c3", 12, 14, "Grep", index=2),
            ],
        ),
        round_("a", 2, [call("c4", 30, 31, "Read")]),
    ]
    frame = members(store_of(rows))
    # c1 had returned when the pause began at 12; what a round waits for is no earlier pause of itself
    assert frame.select(COLUMNS).rows() == [
        (1, "Bash", "shell", "go test", 1.5, 2.0, 7.0, True),
        (2, "Grep", "read", "Grep", 0.0, None, 7.0, True),
    ]
    assert frame["n_calls"].to_list() == [3, 3]


def test_a_call_without_result_is_waited_for(store_of: Make) -> None:
    rows = [
        round_("a", 0, [call("c0", 0, None), call("c1", 1, 3, index=1)]),
        round_("a", 1, [call("c2", 50, 51)]),
    ]
    frame = members(store_of(rows))
    assert frame.select("tool_index", "lag_seconds", "observed").rows() == [(0, 1.0, False), (1, 0.0, False)]


def test_a_round_whose_calls_had_all_returned_has_no_members(store_of: Make) -> None:
    calls = [call("c0", 0, 1), call("c1", 1, 3, index=1)]
    assert members(store_of([round_("a", 0, calls, text=5), round_("a", 1, [call("c2", 50, 51)])])).is_empty()


def test_rounds_are_those_of_the_selection(sample: tracestat.Trace) -> None:
    pauses = forecast_rows(sample, select(sample))
    everything = members(sample)
    assert set(everything["round_pk"]) <= set(pauses.filter(pl.col("n_calls") > 1)["round_pk"])
    assert everything["lag_seconds"].min() == 0
    assert everything.select("round_pk", "tool_index").is_unique().all()
    per_round = everything.group_by("round_pk").agg(pl.struct("seconds", "observed").n_unique(), pl.len().alias("n"))
    joined = per_round.join(pauses.select("round_pk", "n_calls"), on="round_pk")
    assert (joined["seconds"] == 1).all()
    assert (joined["n"] <= joined["n_calls"]).all()
    # every column that a filter may name is there once
    some = members(sample, "provider = 'codex' and tool_class = 'shell' and developer is not null and n_calls < 9")
    shell = pauses.filter((pl.col("provider") == "codex") & (pl.col("tool_class") == "shell") & (pl.col("n_calls") > 1))
    assert 0 < some["round_pk"].n_unique() <= shell.height
    assert set(some["round_pk"]) <= set(shell["round_pk"])


def test_history_of_a_call_is_that_of_a_pause_of_the_same_command(sample: tracestat.Trace) -> None:
    same = ["round_pk", "tool", "tool_class", "command_skeleton"]
    both = members(sample).join(forecast_rows(sample, select(sample)), on=same, suffix="_of_pause", nulls_equal=True)
    assert both.height > 100
    for key in HISTORY_KEYS:
        assert both[key].equals(both[f"{key}_of_pause"], null_equal=True), key
        assert both[key].null_count() < both.height


def test_synthetic_calls_are_independent(sample: tracestat.Trace) -> None:
    found = dependence_of(sample, select(sample), singles(sample))
    assert set(found) == {"claude", "codex"}
    for fit in found.values():
        assert fit.n_rounds >= 30
        assert 1 <= fit.theta < 1.3
        assert fit.interval is None or fit.interval[0] < 1.05


def test_providers_without_rounds_of_several_calls_are_left_out(store_of: Make) -> None:
    trace = store_of([round_("a", k, [call(f"c{k}", 10 * k, 10 * k + 1)]) for k in range(4)])
    assert dependence_of(trace, select(trace), singles(trace)) == {}


def test_too_few_rounds_and_rounds_that_wait_for_one_call(store_of: Make) -> None:
    pairs = [
        round_(
            "a", k, [call(f"a{k}", 10 * k, 10 * k + 1 + 4 * (k > 0)), call(f"b{k}", 10 * k + 2, 10 * k + 3, index=1)]
        )
        for k in range(4)
    ]
    trace = store_of([*pairs, round_("a", 9, [call("c", 100, 101)])])
    [fit] = dependence_of(trace, select(trace), singles(trace)).values()
    assert (fit.theta, fit.n_rounds, fit.interval) == (1.0, 3, None)
    assert fit.note == (
        "3 rounds with several calls, 30 needed: taken as independent; "
        "rounds that waited for one call only when their pause started, left out: 1"
    )


def test_nobody_waits_for_two(store_of: Make) -> None:
    pair = [call("a", 10, 11), call("b", 12, 13, index=1)]
    trace = store_of([round_("a", 0, pair, user=None), round_("a", 1, [call("c", 100, 101)], user=None)])
    [fit] = dependence_of(trace, select(trace), singles(trace)).values()
    assert (fit.theta, fit.n_rounds, fit.log_likelihood) == (1.0, 0, 0.0)


def scores(trace: tracestat.Trace, provider: str) -> dict[str, float]:
    """Give the mean log score of later rounds with several calls: by their key, and by the maximum of their calls."""
    from tracestat.forecast.maximum import fit_dependence

    frame = forecast_rows(trace, select(trace)).filter(pl.col("provider") == provider)
    rows = rows_of(frame, [*KEYS, "n_calls"])
    [fold] = time_split(rows)
    grid = forecast_grid()
    keyed = fit_tree(rows.take(fold.train), KEYS, grid)
    alone = rows.take(fold.train & (frame["n_calls"] == 1).to_numpy())
    single = path_model(fit_tree(alone, KEYS, grid), alone)
    waiting = members(trace).filter((pl.col("provider") == provider) & (pl.len().over("round_pk") > 1))
    parts = [
        waiting.filter(pl.col("round_pk").is_in(frame["round_pk"].filter(pl.Series(s)).implode()))
        for s in (fold.train, fold.test)
    ]
    fits = []
    for aged in (False, True):
        train, test = (laws_of_members(part, single, aged=aged) for part in parts)
        once = np.zeros(train.starts.size)
        fits.append((fit_dependence(train, once, once), test))
    fit, test = max(fits, key=lambda each: each[0].log_likelihood)
    judged = frame["round_pk"].is_in(parts[1]["round_pk"].implode()).to_numpy()
    asked = rows.take(judged)
    place, bins = keyed.place(asked), grid.place(asked.seconds)
    logs = np.column_stack([keyed.curves().log_survival, np.full(keyed.curves().size, -np.inf)])
    reach = logs[place, bins]
    by_key = reach + np.where(asked.observed, np.log(-np.expm1(logs[place, bins + 1] - reach)), 0.0)
    return {
        "rounds": float(judged.sum()),
        "key": float(by_key.mean()),
        "theta": fit.theta,
        "maximum": float(test.log_likelihood(fit.theta).mean()),
        "independent": float(test.log_likelihood(1.0).mean()),
    }


@pytest.mark.parametrize("provider", ["claude", "codex"])
def test_the_maximum_beats_the_key_of_one_call_on_synthetic_rounds(sample: tracestat.Trace, provider: str) -> None:
    found = scores(sample, provider)
    assert found["rounds"] > 30
    assert found["maximum"] > found["key"] + 0.05


def test_real_rounds(real_trace: Path) -> None:
    with tracestat.open(real_trace) as trace:
        claude, codex = scores(trace, "claude"), scores(trace, "codex")
        fits = dependence_of(trace, select(trace), singles(trace))
    # Claude: little dependence, and better than the key; Codex: calls made together are shorter than calls alone
    assert claude["maximum"] > claude["key"]
    assert 1 <= fits["claude"].theta < 2
    assert fits["codex"].theta > 10
    assert codex["maximum"] > codex["independent"] + 0.5
