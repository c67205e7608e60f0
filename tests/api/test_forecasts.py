"""Fitting a whole forecast: what of a trace goes in, what is left out, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracestat
from tests.traces import Row, call, round_
from tracestat.api import forecasts
from tracestat.api.forecast_rows import rows_by_provider
from tracestat.api.forecasts import fitted_forecast
from tracestat.durations import select
from tracestat.durations.forecast import forecast_rows
from tracestat.errors import TracestatError, UsageError
from tracestat.forecast.keys import HISTORY_KEYS, PATHS, POOL_BASE
from tracestat.forecast.model import AskedLimit, ForecastModel
from tracestat.forecast.pool import fit_pool, pooled_forecast
from tracestat.forecast.rows import PauseRows

Make = Callable[..., tracestat.Trace]


@pytest.fixture(scope="module")
def sample() -> Iterator[tracestat.Trace]:
    with tracestat.open() as trace:
        yield trace


def waits(name: str, seconds: list[float], *, provider: str = "claude", **more: Any) -> list[Row]:
    return [
        round_(name, i, [call(f"{name}{i}", 5000.0 * i, 5000.0 * i + s, **more)], provider=provider, user=f"u_{name}")
        for i, s in enumerate(seconds)
    ]


def test_keys_given_are_the_one_path(sample: tracestat.Trace) -> None:
    model = tracestat.fit_forecast(sample, keys="tool_class, developer")
    assert sorted(model.providers) == ["claude", "codex"]
    for provider in model.providers.values():
        assert [path.keys for path in provider.paths] == [("tool_class", "developer")]
        assert provider.single is not None
        assert provider.single.keys == ("tool_class", "developer")
        assert provider.single.n_rows < provider.paths[0].n_rows
    assert (model.trace, model.synthetic, model.rows, model.where) == ("sample.jsonl.gz", True, "tool", None)
    assert model.rounds == sample.counts["rounds"]


def test_rows_are_those_of_the_other_commands(sample: tracestat.Trace) -> None:
    where = "tool_class = 'shell' AND provider = 'claude'"
    model, told = fitted_forecast(sample, keys=["tool"], where=where, rows="all")
    [group] = tracestat.residual(sample, where=where, rows="all", elapsed=[0], curve=False).groups
    assert list(model.providers) == ["claude"]
    assert (model.providers["claude"].paths[0].n_rows, model.rows, model.where) == (group.n, "all", where)
    assert told.head.where == where
    root = model.providers["claude"].paths[0].counts[0]
    # every row is at risk in the first bin, those of one group discounted
    assert 0 < root.reached[0, 0] < group.n


def test_without_keys_all_paths_are_fitted(store_of: Make) -> None:
    model = tracestat.fit_forecast(store_of(waits("a", [1.0, 2.0, 3.0])))
    assert tuple(path.keys for path in model.providers["claude"].paths) == PATHS
    assert model.providers["claude"].single is not None
    assert model.providers["claude"].single.keys == PATHS[0]
    pool = model.providers["claude"].pool
    assert pool is not None
    # too few sessions to hold some out
    assert (pool.base.keys, pool.held_out) == (POOL_BASE, (0, 0))
    assert pool.seen == pool.unseen == (round(1 / len(PATHS), 6),) * len(PATHS)
    assert any(note.startswith("too few sessions to weigh the hierarchies") for note in model.providers["claude"].notes)


def test_history_keys_may_be_the_one_path(sample: tracestat.Trace) -> None:
    [provider] = tracestat.fit_forecast(sample, keys=HISTORY_KEYS, where="provider = 'codex'").providers.values()
    assert provider.pool is None
    assert provider.single is not None
    assert provider.single.keys == HISTORY_KEYS
    assert provider.dependence is not None


@pytest.mark.full
def test_the_pool_is_the_one_of_the_fitted_trees(sample: tracestat.Trace) -> None:
    where = "provider = 'codex'"
    model, told = fitted_forecast(sample, where=where)
    rows = rows_by_provider(sample, select(sample, where=where), [key for path in PATHS for key in path])["codex"]
    grid = model.providers["codex"].paths[0].grid
    expected = fit_pool(rows, POOL_BASE, PATHS, grid)
    pool = model.providers["codex"].pool
    assert pool is not None
    assert (pool.seen, pool.unseen, pool.held_out) == (expected.seen, expected.unseen, expected.held_out)
    [provider] = told.providers
    assert provider.pool is not None
    assert [each.keys for each in provider.pool.weights] == [*PATHS, POOL_BASE]
    assert [each.seen for each in provider.pool.weights] == [*pool.seen, pytest.approx(1 - sum(pool.seen))]
    assert (provider.pool.rows_seen, provider.pool.rows_unseen) == pool.held_out
    # the rows of the trace, asked one by one and all at once
    part = rows.take(np.arange(0, rows.size, 67))
    ours = pooled_forecast("ours", expected, part)
    frame = forecast_rows(sample, select(sample, where=where)).gather_every(67)
    forecaster = tracestat.Forecaster(model)
    at_once = forecaster.batch(frame, horizon=[1.0, 60.0])
    for i, row in enumerate(frame.iter_rows(named=True)):
        asked = {key: row[key] for path in PATHS for key in path}
        for horizon, share in zip((1.0, 60.0), at_once[:, i], strict=True):
            pure = np.exp(ours.curves.log_survival_at([ours.place[i]], [horizon])[0])
            assert share == pytest.approx(pure, rel=1e-9)
            assert forecaster.remaining(asked).survival(horizon) == pytest.approx(pure, rel=1e-9)


def test_deadlines_have_bins_of_their_own(store_of: Make) -> None:
    rows = waits("a", [1.0, 2.0]) + waits("b", [1.0], provider="codex") + waits("c", [1.0], provider="other")
    trace = store_of(rows)

    def windows(**options: Any) -> dict[str, tuple[tuple[float, float], ...]]:
        model = tracestat.fit_forecast(trace, keys="tool", **options)
        return {name: each.paths[0].grid.windows for name, each in model.providers.items()}

    assert windows() == {
        "claude": ((4.975, 5.25), (119.4, 126.0), (597.0, 630.0)),
        "codex": ((0.995, 1.5), (4.975, 5.5), (9.95, 10.5), (29.85, 31.5)),
        "other": (),
    }
    assert windows(atoms=[60, 5]) == {
        "claude": ((4.975, 5.25), (59.7, 63.0)),
        "codex": ((4.975, 5.5), (59.7, 63.0)),
        "other": ((4.975, 5.25), (59.7, 63.0)),
    }
    assert set(windows(atoms=[]).values()) == {()}


@pytest.mark.parametrize("atoms", [[0.0], [-1.0], [float("nan")], [1e5], [float("inf")], [*range(1, 200)]])
def test_atoms_that_are_none(sample: tracestat.Trace, atoms: list[float]) -> None:
    with pytest.raises(UsageError, match=r"--atoms: give up to 100 deadlines"):
        tracestat.fit_forecast(sample, atoms=atoms)


@pytest.mark.parametrize("key", ["end_kind", "last_returned_tool", "seconds", "observed", "provider", "", "no_such"])
def test_outcomes_are_no_keys(sample: tracestat.Trace, key: str) -> None:
    with pytest.raises(UsageError):
        tracestat.fit_forecast(sample, keys=key)


@pytest.mark.parametrize("where", ["seconds > 1", "end_kind = 'completed'", "observed"])
def test_outcomes_choose_no_rows(sample: tracestat.Trace, where: str) -> None:
    with pytest.raises(UsageError):
        tracestat.fit_forecast(sample, keys="tool", where=where)


def test_nothing_to_fit(sample: tracestat.Trace, store_of: Make) -> None:
    for trace, options in (
        (sample, {"where": "tool = 'none such'"}),
        (sample, {"until": "2001-01-01"}),
        (store_of([round_("s", 0, text=1.0)]), {}),
        (store_of(waits("s", [2.0], tool="AskUserQuestion")), {}),
    ):
        with pytest.raises(TracestatError, match=r"no pauses to fit a forecast on; widen") as caught:
            tracestat.fit_forecast(trace, **options)
        assert len(str(caught.value).splitlines()) == 1


def test_few_rows_are_a_note_and_still_a_forecast(store_of: Make, tmp_path: Path) -> None:
    model = tracestat.fit_forecast(store_of(waits("a", [1.5])))
    [provider] = model.providers.values()
    assert provider.notes[0].startswith("1 row, 100 needed")
    assert provider.notes[1].startswith("1 session, 20 needed")
    assert provider.paths[0].kappas[0].note == "nothing to learn from"
    assert np.isfinite(provider.paths[0].hazards([0, 0, 0])[-1]).all()
    tracestat.save_forecast(model, tmp_path / "m.parquet")
    assert tracestat.load_forecast(tmp_path / "m.parquet").providers["claude"].notes == provider.notes


def test_few_held_out_rows_are_a_note(store_of: Make) -> None:
    [provider] = tracestat.fit_forecast(
        store_of([r for k in range(12) for r in waits(f"a{k}", [1.5, 4.0])])
    ).providers.values()
    assert provider.pool is not None
    words = f"the hierarchies are weighed by {provider.pool.held_out[0]} held-out rows, 100 needed for weights that can"
    assert any(note.startswith(words) for note in provider.notes)


def test_a_key_without_values_is_a_note(store_of: Make) -> None:
    model = tracestat.fit_forecast(store_of(waits("a", [1.0, 2.0])), keys="tool,asked_limit_seconds")
    assert "no value of asked_limit_seconds is known here: no difference by it" in model.providers["claude"].notes


def test_a_provider_that_is_not_named(store_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = store_of([*waits("a", [1.0, 2.0], provider="x"), *waits("b", [3.0])])

    def read(*asked: Any) -> dict[str, PauseRows]:
        """Leave one open, as a foreign store may."""
        return {name.replace("x", ""): part for name, part in sorted(rows_by_provider(*asked).items(), reverse=True)}

    monkeypatch.setattr(forecasts, "rows_by_provider", read)
    model, told = fitted_forecast(trace, keys="tool")
    assert list(model.providers) == ["", "claude"]
    assert [each.provider for each in told.providers] == [None, "claude"]
    assert model.providers[""].paths[0].n_rows == 2
    tracestat.save_forecast(model, tmp_path / "m.parquet")
    assert list(tracestat.load_forecast(tmp_path / "m.parquet").providers) == ["", "claude"]


def test_rounds_of_several_calls_are_not_in_the_law_of_one(store_of: Make) -> None:
    rows = waits("a", [1.0, 2.0, 3.0])
    rows += [round_("b", i, [call(f"x{i}", 0, 9), call(f"y{i}", 0, 4, index=1)]) for i in range(2)]
    provider = tracestat.fit_forecast(store_of(rows), keys="tool").providers["claude"]
    assert provider.single is not None
    assert (provider.paths[0].n_rows, provider.single.n_rows, provider.single.last_seen) == (5, 3, 3.0)
    only = tracestat.fit_forecast(store_of(rows[3:]), keys="tool").providers["claude"]
    assert only.single is None
    assert any("no round with a single call" in note for note in only.notes)


def asks(limit: float, seconds: float | None, status: str, i: int, **more: Any) -> Row:
    known = {"asked_limit_seconds": limit, "command_status": status, "start_kind": "emission"} | more
    begin = 1000.0 * i
    return round_("a", i, [call(f"a{i}", begin, None if seconds is None else begin + seconds, **known)])


def test_what_becomes_of_asked_limits(store_of: Make) -> None:
    rows = [
        asks(120, 3.0, "finished", 0),
        asks(120, 120.2, "timeout", 1),
        asks(10, 10.05, "running", 2),
        asks(120, 130.0, "finished", 3),
        asks(120, 150.0, "finished", 4, approval_seconds=60.0),  # it ran 90 s
        asks(600, 5.0, "finished", 5),
        asks(120, None, "finished", 6),
        asks(1, 2.0, "finished", 7),
        asks(7, 7.0, "finished", 8, tool_name="Read"),
    ]
    several = [call("p", 9000, 9130, asked_limit_seconds=120), call("q", 9000, 9001, index=1)]
    model = tracestat.fit_forecast(store_of([*rows, round_("a", 9, several)]), keys="tool")
    assert model.providers["claude"].limits == (
        AskedLimit(None, 2, 5, 2.5 / 6),
        AskedLimit("read", 0, 1, 0.25),
        AskedLimit("shell", 2, 4, 0.5),
    )
    some = tracestat.fit_forecast(store_of(rows), keys="tool", where="asked_limit_seconds = 10")
    assert some.providers["claude"].limits == (AskedLimit(None, 1, 1, 0.75), AskedLimit("shell", 1, 1, 0.75))


def test_limits_known_only_of_calls_that_ended_on_them_say_nothing(store_of: Make) -> None:
    rows = [asks(10, 10.05, "running", 0), asks(10, 10.1, "running", 1)]
    provider = tracestat.fit_forecast(store_of(rows), keys="tool").providers["claude"]
    assert provider.limits == ()
    assert any("known only of calls that ended on them (2)" in note for note in provider.notes)


def test_what_is_told_is_what_was_fitted(sample: tracestat.Trace) -> None:
    model, told = fitted_forecast(sample, keys="tool_class,developer")
    document = told.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    for each in told.providers:
        fitted = model.providers[each.provider or ""]
        assert [path.rounds for path in each.paths] == ["all", "single"]
        for path, kept in zip(each.paths, [*fitted.paths, fitted.single], strict=True):
            assert kept is not None
            assert [level.key for level in path.levels] == ["tool_class", "developer", "session"]
            assert [level.n_keys for level in path.levels[:-1]] == [level.size for level in kept.nesting.levels]
            for level, kappa in zip(path.levels, kept.kappas, strict=True):
                assert level.kappa == kappa.kappa
                assert level.weight_10 == pytest.approx(10 / (10 + kappa.kappa))
                assert level.weight_100 == pytest.approx(100 / (100 + kappa.kappa))
                assert level.log_likelihood >= max(y for _, y in level.profile) - 1e-6
    frame = told.to_frame()
    assert frame.height == 12
    assert frame["synthetic"].all()


def by_key(model: ForecastModel, provider: str, **codes: Any) -> Mapping[str, float]:
    path = model.providers[provider].paths[0]
    nodes = path.nodes([path.names[key].index(codes[key]) for key in path.keys])
    return {"reached": float(path.counts[len(nodes)].reached[nodes[-1], 0])}


def test_the_order_of_rows_does_not_matter(store_of: Make) -> None:
    rows = waits("a", [1.0, 2.0, 3.0]) + waits("b", [9.0, 8.0], tool="Read")
    one, other = (tracestat.fit_forecast(store_of(some), keys="tool,developer") for some in (rows, rows[::-1]))
    for name in ("u_a", "u_b"):
        tool = "Bash" if name == "u_a" else "Read"
        assert by_key(one, "claude", tool=tool, developer=name) == by_key(other, "claude", tool=tool, developer=name)
    mine, theirs = (each.providers["claude"].paths[0] for each in (one, other))
    assert mine.kappas == theirs.kappas


def test_the_real_trace(real_trace: Path, tmp_path: Path) -> None:
    model = tracestat.fit_forecast(real_trace, keys="tool_class,command_skeleton,developer")
    claude = model.providers["claude"].paths[0]
    assert claude.n_rows == 21_826
    # section 10 of the estimators has 11, 71, 4, 4, by an older rule for the key of a pause
    assert [round(fit.kappa) for fit in claude.kappas] == [11, 56, 4, 4]
    rows = tracestat.save_forecast(model, tmp_path / "m.parquet")
    assert rows > 100_000
    assert (tmp_path / "m.parquet").stat().st_size < 1_000_000
    loaded = tracestat.load_forecast(tmp_path / "m.parquet")
    assert loaded.providers["claude"].paths[0].kappas == claude.kappas


def test_limits_that_only_reached_ones_have_are_no_key() -> None:
    with pytest.raises(UsageError, match="only where a call reached them"):
        tracestat.fit_forecast(tracestat.open(), keys="tool_class,asked_limit_seconds")
