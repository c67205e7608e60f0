"""A stored pool answers as the fitted one does: one by one and many at once, with keys never seen, and by parents."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.forecast.models import DEVELOPERS, HISTORY, PLAIN, SESSION, model, pool, rows
from tracestat.forecast import batch_pool
from tracestat.forecast.asking import Value, answer_path
from tracestat.forecast.asking_pool import answer_pool, developer_seen, missing_history, serving_pool
from tracestat.forecast.batch import Finder, remaining_quantiles, remaining_survival
from tracestat.forecast.batch_pool import lay_out_pool
from tracestat.forecast.keys import BAND_EDGES
from tracestat.forecast.model import PooledPaths, ProviderModel
from tracestat.forecast.pool import pooled_forecast
from tracestat.forecast.rows import PauseRows

Rows = NDArray[np.intp]
ALL = (*PLAIN, "previous", "previous_in_session")


@cache
def provider() -> ProviderModel:
    return model().providers["claude"]


def its_pool() -> PooledPaths:
    found = provider().pool
    assert found is not None
    return found


def begin(band: int) -> float | None:
    return None if band == 0 else 0.0 if band == 1 else BAND_EDGES[band - 2]


def keys_of(some: PauseRows, row: int) -> dict[str, Value]:
    asked: dict[str, Value] = {
        key: some.names[key][code] if (code := int(some.codes[key][row])) < len(some.names[key]) else "strange"
        for key in PLAIN
    }
    return asked | {key: begin(int(some.codes[key][row])) for key in ALL if key not in PLAIN}


def strange_rows() -> PauseRows:
    """Give rows some of whose skeletons and developers were never seen."""
    some = rows(200, seed=9)
    codes = dict(some.codes)
    codes["command_skeleton"] = np.where(np.arange(200) % 3 == 0, 99, codes["command_skeleton"])
    unseen = np.arange(200) % 4 == 0
    codes["developer"] = np.where(unseen, 98, codes["developer"])
    return replace(some, codes=codes, developer=np.where(unseen, 98, some.developer).astype(np.intp))


def test_it_answers_as_the_pure_layer_does() -> None:
    some = strange_rows()
    expected = pooled_forecast("ours", pool(), some)
    for row in range(0, some.size, 7):
        found = answer_pool(provider(), its_pool(), keys_of(some, row))
        assert found.log_survival == pytest.approx(expected.curves.log_survival[expected.place[row]], rel=1e-10)
        assert found.developer_seen == (row % 4 != 0)
        assert found.weights == (pool().seen if row % 4 else pool().unseen)


def places(some: PauseRows) -> list[Rows]:
    """Find the nodes of rows in the base and in every member."""
    return [
        Finder(path).places(
            [np.where(some.codes[k] < len(path.names[k]), some.codes[k], -1).astype(np.int32) for k in path.keys],
            some.size,
        )
        for path in (its_pool().base, *provider().paths)
    ]


@pytest.mark.parametrize(("block", "most"), [(4096, 1 << 62), (7, 1 << 62), (64, 100)])
@pytest.mark.first_case
def test_many_are_answered_as_one_by_one(block: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_pool, "_MOST_CODE", most)
    some = strange_rows()
    known = np.arange(some.size) % 4 != 0
    laid = replace(lay_out_pool(its_pool(), provider().paths, places(some), known), block=block)
    elapsed = np.where(np.arange(some.size) % 2, 0.0, 5.1)
    ends = remaining_quantiles(laid, elapsed, [0.5, 0.95])
    later = remaining_survival(laid, elapsed, [3.0])[0]
    for row in range(some.size):
        law = answer_pool(provider(), its_pool(), keys_of(some, row)).law()
        s = float(elapsed[row])
        assert ends[:, row] == pytest.approx([law.quantile(p, s) - s for p in (0.5, 0.95)], rel=1e-8, abs=1e-9)
        assert later[row] == pytest.approx(law.survival(3.0, s), rel=1e-9)


def test_a_combination_is_pooled_once() -> None:
    some = rows(400)
    laid = lay_out_pool(its_pool(), provider().paths, places(some), np.ones(400, dtype=np.bool_))
    part, curves, which = laid.part(0)
    combinations = {tuple(int(some.codes[key][i]) for key in ALL) for i in range(400)}
    assert curves.size == len(combinations) < 400
    assert sorted(np.asarray(part).tolist()) == list(range(400))
    assert which.max() == curves.size - 1


def test_what_nobody_has_seen_leaves_the_base() -> None:
    asked: dict[str, Value] = {"tool_class": "web", **dict.fromkeys(ALL[1:], "9")}
    found = answer_pool(provider(), its_pool(), asked)
    assert {each.level_used for each in (found.base, *found.members)} == {"provider"}
    # their roots differ only by what they discount
    root = answer_path(its_pool().base, {}).log_survival[-1]
    assert found.log_survival == pytest.approx(root, rel=0.2, abs=0.01)
    alone = replace(its_pool(), seen=(0.0, 0.0, 0.0), unseen=(0.0, 0.0, 0.0))
    assert answer_pool(provider(), alone, asked).log_survival == pytest.approx(root, rel=1e-9)


def test_all_weight_on_one_hierarchy_is_that_one() -> None:
    asked = keys_of(rows(50), 3)
    for number, path in enumerate(provider().paths):
        weights = tuple(float(number == i) for i in range(3))
        found = answer_pool(provider(), replace(its_pool(), seen=weights), asked)
        assert found.log_survival == pytest.approx(answer_path(path, asked).log_survival[-1], rel=1e-9)


def test_a_parent_answers_for_a_key_that_is_missing() -> None:
    asked = keys_of(rows(50), 3)
    found = answer_pool(provider(), its_pool(), {**asked, "command_skeleton": "strange"})
    assert [each.level_used for each in found.members] == ["tool_class", "previous", "previous_in_session"]
    without = {key: value for key, value in asked.items() if key not in ("command_skeleton", "developer")}
    less = answer_pool(provider(), replace(its_pool(), unseen=its_pool().seen), without)
    assert less.log_survival == pytest.approx(found.log_survival, rel=1e-12)


def test_the_pool_answers_where_all_history_is_given() -> None:
    assert missing_history(provider(), PLAIN) == ("previous", "previous_in_session")
    assert missing_history(provider(), [*PLAIN, "previous"]) == ("previous_in_session",)
    assert serving_pool(provider(), PLAIN) is None
    assert serving_pool(provider(), ["previous", "previous_in_session"]) is its_pool()
    bare = ProviderModel(provider().paths[:1])
    assert missing_history(bare, []) == ()
    assert serving_pool(bare, ALL) is None
    assert {key for path in (HISTORY, SESSION) for key in path if key.startswith("previous")} == {
        "previous",
        "previous_in_session",
    }


def test_who_was_seen() -> None:
    assert [developer_seen(provider(), {"developer": name}) for name in (*DEVELOPERS, "eve", None)] == [
        *(True, True, True, False, False)
    ]
    assert not developer_seen(provider(), {})
