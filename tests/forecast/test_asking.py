"""Which path and level answers, with what weight; shrinkage at its ends; many questions as one by one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forecast.models import CLASSES, DEVELOPERS, HISTORY, LIMITS, PLAIN, SKELETONS, path, rows, with_kappa
from tracestat.errors import UsageError
from tracestat.forecast.asking import Value, answer_path, code_book, code_of, law_of_round, limit_mass
from tracestat.forecast.batch import Cut, Finder, lay_out, remaining_quantiles, remaining_survival
from tracestat.forecast.grid import forecast_grid
from tracestat.forecast.keys import BAND_EDGES
from tracestat.forecast.model import PathModel, ProviderModel
from tracestat.forecast.remaining import remaining_law
from tracestat.forecast.tree import fit_tree

SHELL: dict[str, Value] = {"tool_class": "shell", "command_skeleton": "make", "developer": "bob"}


@cache
def made(keys: tuple[str, ...] = PLAIN) -> PathModel:
    return path(keys)


@pytest.mark.parametrize("keys", [PLAIN, HISTORY])
def test_an_answer_is_the_curve_of_the_tree(keys: tuple[str, ...]) -> None:
    known = rows()
    tree = fit_tree(known, keys, forecast_grid(made(keys).grid.windows))
    place = tree.place(known)
    for row in (0, 7, 400):
        asked: dict[str, Value] = {key: known.names[key][known.codes[key][row]] for key in PLAIN}
        band = int(known.codes["previous"][row])
        asked["previous"] = None if band == 0 else 0.0 if band == 1 else BAND_EDGES[band - 2]
        found = answer_path(made(keys), asked)
        assert found.log_survival[-1] == pytest.approx(tree.curves().log_survival[place[row]], rel=1e-12)
        assert found.level_used == "developer"


def test_what_was_never_seen_falls_to_its_parent() -> None:
    whole = answer_path(made(), SHELL)
    stranger = answer_path(made(), {**SHELL, "developer": "eve"})
    assert stranger.level_used == "command_skeleton"
    assert stranger.log_survival[-1].tolist() == whole.log_survival[-2].tolist()
    assert answer_path(made(), {**SHELL, "command_skeleton": "rm"}).level_used == "tool_class"
    assert answer_path(made(), {"tool_class": "web"}).level_used == "provider"
    assert answer_path(made(), {}).level_used == "provider"
    # known elsewhere, but not beneath this class
    assert answer_path(made(), {**SHELL, "command_skeleton": "Edit"}).level_used == "tool_class"
    # a key below one that is not given has nothing to stand on
    assert answer_path(made(), {"tool_class": "shell", "developer": "bob"}).level_used == "tool_class"


@pytest.mark.parametrize("elapsed", [0.0, 3.0, 5.1, 40.0, 1e6])
def test_shares_of_the_levels_add_up_and_make_the_hazard(elapsed: float) -> None:
    found = answer_path(made(), SHELL)
    levels = found.levels(SHELL, elapsed)
    assert [level.key for level in levels] == ["provider", *PLAIN]
    assert sum(level.share for level in levels) == pytest.approx(1.0, rel=1e-12)
    j = int(made().grid.place(elapsed))
    if j == made().grid.n_bins:
        assert [level.share for level in levels] == [1.0, 0.0, 0.0, 0.0]
        return
    own: list[float] = []
    for counts, node in zip(made().counts, (0, *found.nodes), strict=True):
        d, r = counts.ended[node, j], counts.reached[node, j]
        own.append((d + 0.5) / (r + 1) if not own else d / r if r else 0.0)
    hazard = -np.expm1(found.log_survival[-1, j + 1] - found.log_survival[-1, j])
    assert sum(level.share * q for level, q in zip(levels, own, strict=True)) == pytest.approx(hazard, rel=1e-9)
    for level, fit in zip(levels[1:], made().kappas, strict=False):
        assert level.weight == pytest.approx(level.reached / (level.reached + fit.kappa), rel=1e-12)


def test_precision_without_end_gives_the_parent_and_none_the_raw_key() -> None:
    parent = answer_path(with_kappa(made(), 1e15), SHELL)
    assert parent.log_survival[-1] == pytest.approx(parent.log_survival[0], rel=1e-9)
    raw = answer_path(with_kappa(made(), 1e-12), SHELL)
    counts, node = made().counts[3], raw.nodes[-1]
    many = counts.reached[node] > 0
    q = -np.expm1(np.diff(raw.log_survival[-1]))[many]
    expected = np.minimum(counts.ended[node] / np.maximum(counts.reached[node], 1e-300), 1 - 1e-9)[many]
    assert q == pytest.approx(expected, abs=1e-9)


def test_values_and_their_codes() -> None:
    assert code_of(made(), "tool_class", None) == code_of(made(), "tool_class", "none") == CLASSES.index(None)
    # a developer who is called so
    assert code_of(made(), "developer", "none") == DEVELOPERS.index("none")
    assert code_of(made(), "developer", None) == -1
    assert code_of(made(), "command_skeleton", "sed, awk") == SKELETONS.index("sed, awk")
    bands = [code_of(made(HISTORY), "previous", value) for value in (None, "none", float("nan"), 0.0, "0", 1e9)]
    assert bands == [0, 0, 0, 1, 1, len(BAND_EDGES) + 1]
    for wrong in ("soon", -1.0, "-1", "nan"):
        with pytest.raises(UsageError, match="previous="):
            code_of(made(HISTORY), "previous", wrong)


def test_a_number_is_found_however_it_is_written() -> None:
    plain = made()
    named = PathModel(
        **{f: getattr(plain, f) for f in PathModel.__slots__} | {"names": {"hour": ("120.0", "7", "0.5")}}
    )
    assert [code_of(named, "hour", value) for value in (120, 120.0, "120", "120.0", 7, "7", 0.5, 8)] == [
        *(0, 0, 0, 0, 1, 1, 2, -1)
    ]
    assert None not in code_book(named, "hour")


def test_mass_of_a_limit() -> None:
    provider = ProviderModel((made(),), limits=LIMITS)
    assert limit_mass(provider, "shell") == (0.95, "shell", True)
    assert limit_mass(provider, "edit") == (30.5 / 41, None, True)
    assert limit_mass(provider, None) == (30.5 / 41, None, True)
    assert limit_mass(ProviderModel((made(),)), "shell") == (1.0, None, False)


def test_a_round_of_independent_calls_multiplies() -> None:
    one, two = answer_path(made(), SHELL), answer_path(made(), {"tool_class": "edit"})
    law = law_of_round([one, two], 1.0)
    j = 20
    both = -np.expm1(one.log_survival[-1, j]) * -np.expm1(two.log_survival[-1, j])
    assert law.survival(float(made().grid.edges[j])) == pytest.approx(1 - both, rel=1e-9)
    same = law_of_round([one], 1.0)
    assert same.fallen == pytest.approx(one.law().fallen, rel=1e-12)
    slower = law_of_round([one, two], 3.0)
    assert all(a >= b - 1e-12 for a, b in zip(slower.fallen, law.fallen, strict=True))


@settings(max_examples=10)
@given(
    st.lists(
        st.tuples(st.integers(-1, 4), st.integers(-1, 14), st.integers(-1, 9), st.integers(-1, 4), st.floats(0, 1e5)),
        min_size=1,
        max_size=30,
    ),
    st.floats(0, 0.999),
)
def test_many_questions_are_answered_as_one_by_one(asked: list[tuple[int, int, int, int, float]], p: float) -> None:
    chosen = made(HISTORY)
    codes = [np.array([row[i] for row in asked], dtype=np.int32) for i in range(4)]
    elapsed = np.array([row[4] for row in asked])
    limit = np.where(elapsed > 50, elapsed * 1.5, np.inf)
    cut = Cut(limit, np.full(limit.shape, 0.6))
    laid = lay_out(chosen, Finder(chosen).places(codes, len(asked)))
    curves, which = laid.curves, laid.which
    assert curves.size == len(set(which.tolist()))
    found = remaining_quantiles(laid, elapsed, [p, 0.5])
    later = remaining_survival(laid, elapsed, [0.0, 30.0])
    capped = remaining_quantiles(laid, elapsed, [p], cut)[0]
    capped_later = remaining_survival(laid, elapsed, [70.0], cut)[0]
    for i, row in enumerate(asked):
        nodes = chosen.nodes(row[:4])
        logs = np.append(0.0, np.cumsum(np.log1p(-np.minimum(chosen.hazards(nodes)[-1], 1 - 1e-9))))
        assert curves.log_survival[which[i]] == pytest.approx(logs, rel=1e-12)
        law = remaining_law(chosen.grid, logs.tolist(), chosen.alpha)
        near = 1e-9 * (1 + row[4])
        assert found[0, i] == pytest.approx(law.quantile(p, row[4]) - row[4], rel=1e-7, abs=near)
        assert found[1, i] == pytest.approx(law.quantile(0.5, row[4]) - row[4], rel=1e-7, abs=near)
        assert later[:, i] == pytest.approx([1.0, law.survival(30.0, row[4])], rel=1e-9)
        if np.isfinite(limit[i]):
            law = law.cut(limit[i], 0.6)
        assert capped[i] == pytest.approx(law.quantile(p, row[4]) - row[4], rel=1e-7, abs=near)
        assert capped_later[i] == pytest.approx(law.survival(70.0, row[4]), rel=1e-9)


def test_a_search_answers_where_the_table_of_pairs_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    codes = [rng.integers(-1, most, 3000).astype(np.int32) for most in (4, 13, 8, 4)]
    by_table = Finder(made(HISTORY)).places(codes, 3000)
    monkeypatch.setattr("tracestat.forecast.batch._MOST_PAIRS", 0)
    assert Finder(made(HISTORY)).places(codes, 3000).tolist() == by_table.tolist()
    assert len(set(by_table.tolist())) > 20


def test_no_question_has_no_answer() -> None:
    places = Finder(made()).places([np.empty(0, dtype=np.int32)], 0)
    assert remaining_quantiles(lay_out(made(), places), 0.0, [0.5]).shape == (1, 0)
    # no key is asked about: the root answers
    assert Finder(made()).places([], 2).tolist() == [0, 0]
