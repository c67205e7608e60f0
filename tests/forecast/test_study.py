"""The study of what was tried: its own keys know nothing of the future, its numbers are those of the package."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tracestat
from tests.studies import forecast_keys
from tests.studies.forecast_keys import Candidate, Difference, candidates, verdict
from tests.studies.forms import SPEC, Bench, Form, later_half, losses
from tests.studies.study_rows import study_rows, told_afterwards, with_more
from tracestat.api.forecast_rows import provider_grid
from tracestat.forecast.evaluation import score
from tracestat.forecast.keys import PATHS, POOL_BASE
from tracestat.forecast.pool import fit_pool
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.splits import time_split
from tracestat.results import Interval

DEFAULT = Form(PATHS, pooled=True)


@pytest.fixture(scope="module")
def rows() -> dict[str, PauseRows]:
    with tracestat.open() as trace:
        return study_rows(trace)


@pytest.fixture(scope="module")
def bench(rows: dict[str, PauseRows]) -> Bench:
    own = rows["codex"]
    (fold,) = time_split(own)
    return Bench(own.take(fold.train), own.take(fold.test), provider_grid("codex"))


def frame(*pauses: tuple[str, float, float, bool, str | None]) -> pl.DataFrame:
    """Make pauses of (session, start, seconds, observed, fingerprint) of one developer."""
    begin = dt.datetime(2026, 3, 2)
    return pl.DataFrame(
        {
            "provider": "claude",
            "developer": "a",
            "session_pk": [p[0] for p in pauses],
            "round_pk": range(len(pauses)),
            "started_at": [begin + dt.timedelta(seconds=p[1]) for p in pauses],
            "seconds": [p[2] for p in pauses],
            "observed": [p[3] for p in pauses],
            "command_fingerprint": pl.Series([p[4] for p in pauses], dtype=pl.String),
        }
    )


def test_what_came_before_had_ended_before() -> None:
    made = with_more(
        frame(
            ("s", 0, 4.0, True, "f"),
            ("s", 1, 3.0, True, None),  # ends with the first: the longer one counts as the last
            ("s", 4, 1.0, True, "f"),  # starts in that very instant, which is not before
            ("s", 4.5, 0.1, False, None),  # its end was not seen
            ("t", 4.6, 9.0, True, "f"),
            ("s", 4.7, 9.0, True, "g"),
            ("s", 6, 9.0, True, None),
        )
    )
    assert made["last_in_session"].to_list() == [None, None, None, 4.0, None, 4.0, 1.0]
    assert made["previous_fingerprint"].to_list() == [None, None, None, None, 4.0, None, None]
    # 0, 1, 2 to 4, 3 to 6 before: bands by powers of two
    assert made["pauses_so_far"].to_list() == [0, 1, 1, 2, 0, 2, 2]


def test_history_of_a_session_is_found_one_by_one(rows: dict[str, PauseRows]) -> None:
    own = rows["claude"]
    ended = np.where(own.observed, own.started + own.seconds, np.inf)
    for n in range(0, own.size, 97):
        before = np.flatnonzero((own.session == own.session[n]) & (ended < own.started[n] - 1e-6))
        got = own.names["last_in_session"][own.codes["last_in_session"][n]]
        assert (got is None) == (before.size == 0)


def test_a_limit_that_stands_only_where_it_was_reached_is_no_key(rows: dict[str, PauseRows]) -> None:
    limits = {"asked_limit_seconds": [None, 10.0, 30.0]}
    assert told_afterwards(pl.DataFrame({"seconds": [1.0, 10.1, 30.0], **limits}))
    assert not told_afterwards(pl.DataFrame({"seconds": [1.0, 10.1, 2.0], **limits}))
    assert not told_afterwards(pl.DataFrame({"seconds": [1.0], "asked_limit_seconds": [9.0]}))
    assert rows["codex"].names["asked_limit_seconds"] != (None,)  # the sample has such limits
    assert not rows["codex"].codes["asked_limit_seconds"].any()


def test_later_half_keeps_whole_sessions_of_every_developer() -> None:
    session = np.array([0, 3, 1, 0, 2, 1, 3])  # by start: 0, 3, 1, 2
    developer = np.array([0, 1, 0, 0, 0, 0, 1])
    rows = PauseRows({}, {}, session, developer, np.arange(7.0), np.ones(7), np.ones(7, bool))
    assert later_half(rows).session.tolist() == [3, 1, 2, 1, 3]


def test_losses_are_those_of_the_evaluation(bench: Bench, rows: dict[str, PauseRows]) -> None:
    n = rows["codex"].n_sessions
    for form in (Form((SPEC,)), DEFAULT):
        forecast = bench.forecast(form)
        sums, counts = losses(forecast, bench.test, n)
        (judged,) = score([forecast], bench.test, n)
        whole = [judged.loss("log_score")[:, 0], *(judged.loss("pinball_log", p)[:, 0] for p in (0.5, 0.9, 0.95))]
        np.testing.assert_allclose(sums, np.stack(whole, axis=1), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(counts[:, 0], judged.n[:, 0])
        np.testing.assert_array_equal(counts[:, 1:], np.repeat(judged.n_known[:, :1], 3, axis=1))


def test_pools_are_those_of_the_package(bench: Bench) -> None:
    for form in (Form(PATHS[:1], pooled=True), DEFAULT):  # the second uses what the first has left
        ours, theirs = bench.pool(form), fit_pool(bench.train, POOL_BASE, form.paths, bench.grid)
        assert (ours.seen, ours.unseen, ours.held_out) == (theirs.seen, theirs.unseen, theirs.held_out)
    assert sum(bench.pool(replace(DEFAULT, weights="equal")).seen) == pytest.approx(1)
    one = bench.pool(replace(DEFAULT, weights="one"))
    assert one.unseen == one.seen == bench.pool(DEFAULT).seen


def found(provider: str, *gains: tuple[float, float]) -> list[Difference]:
    one = Candidate("", "", DEFAULT, DEFAULT)
    return [
        Difference(one, provider, split, (Interval((low + high) / 2, session=(low, high), developer=(low, high)),))
        for split, (low, high) in zip(forecast_keys.SPLITS, gains, strict=False)
    ]


def test_the_rule() -> None:
    better, neither, worse = (0.1, 0.3), (-0.1, 0.1), (-0.3, -0.1)
    wins = found("claude", better, better)
    assert verdict([*wins, *found("codex", neither, better)], "claude") == "yes"
    assert verdict([*wins, *found("codex", neither, worse)], "claude") == "no"
    assert verdict(found("claude", better, neither), "claude") == "no"
    assert verdict(found("claude", better), "claude") == "no"  # only one split could be made
    assert verdict(found("codex", better, better), "claude") == "-"


def test_every_candidate_differs_from_its_reference() -> None:
    tried = list(candidates())
    assert all(one.form != one.against for one in tried)
    assert len({(one.group, one.name) for one in tried}) == len(tried)
    assert {path for one in tried for path in one.form.paths} >= set(PATHS)


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    some = [one for one in candidates() if one.name in ("class > skeleton", "asked limit", "a pool of one")]
    monkeypatch.setattr(forecast_keys, "candidates", lambda: iter(some))
    with tracestat.open() as trace:
        path = str(trace.path)
    forecast_keys.main([path, "--all", "--csv", str(tmp_path / "all.csv")])
    head, *_, last = printed = capsys.readouterr().out.splitlines()
    assert head.startswith("Synthetic trace. claude: ")
    assert max(map(len, printed)) <= 110
    assert last.startswith("| a pool of one")
    asked = next(line for line in printed if line.startswith("| asked limit"))
    assert asked.split(" | ")[-1] == "-    |"
    long = pl.read_csv(tmp_path / "all.csv")
    assert long.height == 2 * 2 * 2 * 4
    assert long.filter(pl.col("low") > pl.col("gain")).is_empty()
