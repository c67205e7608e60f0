"""Splits: by hand, and what must never lie on both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracestat
from tests.forecast.split_checks import both_sides, made_rows
from tests.traces import call, round_
from tracestat.api.forecast_rows import rows_by_provider, rows_of
from tracestat.durations import Selection, select
from tracestat.durations.forecast import forecast_rows
from tracestat.errors import UsageError
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.splits import Fold, developer_folds, parts, time_split, untrained_developers
from tracestat.store import Trace


def rows_with(session: list[int], developer: list[int], started: list[float]) -> PauseRows:
    n = len(session)
    sessions, developers = np.array(session, dtype=np.intp), np.array(developer, dtype=np.intp)
    codes = {"developer": developers.astype(np.int64)}
    names = {"developer": tuple(f"dev{i}" for i in range(max(developer, default=-1) + 1))}
    return PauseRows(codes, names, sessions, developers, np.array(started), np.ones(n), np.ones(n, dtype=np.bool_))


def test_first_sessions_train() -> None:
    # developer 0: sessions 1 (5 rows), 0 (2: exactly 70 %), 2 (3); developer 1: one session; developer 2: the first
    # session holds more than 70 %
    session = [1] * 5 + [0] * 2 + [2] * 3 + [3] * 4 + [4] * 8 + [5] * 2
    developer = [0] * 10 + [1] * 4 + [2] * 10
    started = [*range(5), 5, 20, *range(6, 9), *range(4), *range(8), 50, 51]
    rows = rows_with(session, developer, [float(s) for s in started])
    (fold,) = time_split(rows)
    assert set(rows.session[fold.train]) == {0, 1}
    assert np.array_equal(fold.test, ~fold.train)
    assert untrained_developers(rows, fold) == 2


def test_a_session_that_crosses_the_line_is_tested_and_all_after_it() -> None:
    rows = rows_with([0] * 6 + [1] * 3 + [2], [0] * 10, [float(i) for i in range(10)])
    (fold,) = time_split(rows)
    assert set(rows.session[fold.train]) == {0}


def test_ties_go_by_number() -> None:
    rows = rows_with([2, 0, 1], [0, 0, 0], [7.0, 7.0, 7.0])
    (fold,) = time_split(rows)
    assert rows.session[fold.train].tolist() == [0, 1]


def test_developers_are_dealt_round() -> None:
    sizes = [3, 9, 5, 5, 1, 2, 7]
    developer = [d for d, n in enumerate(sizes) for _ in range(n)]
    rows = rows_with(developer, developer, [0.0] * len(developer))
    tested = [sorted({int(d) for d in rows.developer[fold.test]}) for fold in developer_folds(rows)]
    # by rows: 1 6 2 3 0 5 4
    assert tested == [[1, 5], [4, 6], [2], [3], [0]]


@pytest.mark.parametrize("n_developers", [0, 1, 2, 3])
def test_few_developers(n_developers: int) -> None:
    who = list(range(n_developers))
    rows = rows_with(who, who, [0.0] * n_developers)
    folds = developer_folds(rows)
    assert len(folds) == (n_developers if n_developers > 1 else 0)
    assert all(fold.train.any() and fold.test.any() for fold in folds)
    assert time_split(rows) == ()  # everybody has one session


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 120), st.integers(1, 15), st.integers(1, 9))
def test_nothing_on_both_sides(seed: int, n: int, n_sessions: int, n_developers: int) -> None:
    rows = made_rows(seed, n, n_sessions, n_developers)
    for fold in time_split(rows):
        assert not both_sides(rows.session, fold)
        for d in range(n_developers):
            own = rows.developer == d
            assert 10 * (own & fold.train).sum() <= 7 * own.sum()
            first = {s: rows.started[rows.session == s].min() for s in set(rows.session[own])}
            learned = [first[s] for s in set(rows.session[own & fold.train])]
            assert max(learned, default=0) <= min(
                (first[s] for s in set(rows.session[own & fold.test])), default=np.inf
            )
    folds = developer_folds(rows)
    for fold in folds:
        assert not both_sides(rows.developer, fold)
        assert not both_sides(rows.session, fold)
    if folds:
        assert np.array_equal(sum(fold.test.astype(int) for fold in folds), np.ones(n))


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_order_of_rows_is_irrelevant(seed: int) -> None:
    rows = made_rows(seed, 80)
    order = np.random.default_rng(seed + 1).permutation(rows.size)
    for split in (time_split, developer_folds):
        here, there = split(rows), split(rows.take(order))
        assert len(here) == len(there)
        assert all(np.array_equal(a.train[order], b.train) for a, b in zip(here, there, strict=True))


def test_a_split_by_rows_would_be_seen() -> None:
    rows = made_rows(1)
    half = np.random.default_rng(0).random(rows.size) < 0.5
    planted = Fold(half, ~half)
    assert both_sides(rows.session, planted)
    assert both_sides(rows.developer, planted)
    with pytest.raises(UsageError, match="never split at random"):
        next(parts({"claude": rows}, "random"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="2 or more"):
        developer_folds(rows, 1)


def test_nobody_who_is_tested_is_learned_from_elsewhere() -> None:
    claude = made_rows(1)
    other = made_rows(2)
    # the same people under other numbers
    codex = PauseRows(
        {**other.codes, "developer": 5 - other.codes["developer"]},
        {**other.names, "developer": tuple(reversed(other.names["developer"]))},
        *(other.session, other.developer, other.started, other.seconds, other.observed),
    )
    rows = {"claude": claude, "codex": codex}
    made = list(parts(rows, "developer"))
    assert {part.provider for part in made} == {"claude", "codex"}
    for part in made:
        (elsewhere,) = part.others.values()
        tested = {part.test.names["developer"][c] for c in part.test.codes["developer"]}
        learned = {elsewhere.names["developer"][c] for c in elsewhere.codes["developer"]}
        assert tested
        assert learned
        assert not tested & learned
        assert part.train.size + part.test.size == rows[part.provider].size
    for part in parts(rows, "time"):
        ((name, elsewhere),) = part.others.items()
        assert elsewhere.size == time_split(rows[name])[0].train.sum()


def identities(trace: Trace, pauses: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Give what makes two pauses copies of each other, by row: provider, first call, calls, start, end."""
    of_round = trace.sql(
        "SELECT p.round_pk, p.provider, min(c.tool_call_id) AS first_call, any_value(p.n_calls) AS n_calls,"
        " any_value(p.started_at) AS out_at, max(c.result_at) AS back_at"
        " FROM pauses AS p JOIN tool_calls AS c ON c.round_pk = p.round_pk GROUP BY ALL"
    )
    return (
        pauses.select("round_pk")
        .join(of_round, on="round_pk", how="left", maintain_order="left")
        .drop("round_pk")
        .rows()
    )


def folds_of(frame: pl.DataFrame) -> list[tuple[pl.DataFrame, Fold]]:
    made = []
    for part in frame.partition_by("provider", maintain_order=True):
        rows = rows_of(part, ["developer"])
        made += [(part, fold) for fold in (*time_split(rows), *developer_folds(rows))]
    return made


def with_copies(trace: Trace) -> pl.DataFrame:
    return trace.sql(
        "SELECT provider, developer, session_pk, round_pk, started_at, seconds, observed FROM pauses"
        " WHERE seconds IS NOT NULL ORDER BY started_at, round_pk"
    )


def test_no_copy_on_both_sides(store_of: Callable[..., Trace]) -> None:
    # session b is a fork of a that repeats its first round
    rounds = [round_("a", i, [call(f"a{i}", 10.0 * i, 10.0 * i + 2)]) for i in range(4)]
    rounds += [round_("b", 0, [call("a0", 0.0, 2.0)], round_id="round_a_0")]
    rounds += [round_("b", i, [call(f"b{i}", 100.0 + 10 * i, 105.0 + 10 * i)]) for i in (1, 2)]
    rounds += [round_("c", 0, [call("c0", 0.5, 3.0)], user="user_00000002")]
    trace = store_of(rounds)
    frame = forecast_rows(trace, select(trace))
    assert frame.height == 7
    for part, fold in folds_of(frame):
        assert not both_sides(identities(trace, part), fold)
    # planted: were copies kept, the same pause would lie on both sides of the time split
    kept = with_copies(trace)
    assert kept.height == 8
    rows = rows_of(kept, ["developer"])
    assert both_sides(identities(trace, kept), time_split(rows)[0])


def test_the_real_trace(real_trace: Path) -> None:
    with tracestat.open(real_trace) as trace:
        selection: Selection = select(trace)
        frame = forecast_rows(trace, selection)
        made = folds_of(frame)
        assert len(made) == 12
        for part, fold in made:
            assert not both_sides(identities(trace, part), fold)
            assert not both_sides(part["session_pk"].to_list(), fold)
        rows = rows_by_provider(trace, selection, ["developer"])
        # many of its developers have one session, or one that holds most of their rows
        assert [untrained_developers(own, time_split(own)[0]) for own in rows.values()] == [14, 12]
        planted = [
            both_sides(identities(trace, part), fold) for part, fold in folds_of(with_copies(trace)) if part.height
        ]
        assert any(planted)
