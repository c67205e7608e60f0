"""What is printed, for small results made by hand; the golden texts were read line by line."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.errors import UsageError
from tracestat.results import HazardResult, Result, SurvivalResult

GOLDEN = Path(__file__).parent / "golden"
KINDS = ["hazard", "summary", "survival", "keys", "calls"]
PAIR = ["claude", "codex"]
MANY = [f"tool_{i}" for i in range(200)]


@pytest.fixture(name="cases")
def cases_fixture(make: Any, tracelab: Any, hostile: list[str]) -> dict[str, Any]:
    return {
        **{kind: make(kind, PAIR) for kind in KINDS},
        "hazard_single": make("hazard", []),
        "hazard_hostile": make("hazard", hostile),
        "summary_hostile": make("summary", hostile),
        "calls_hostile": make("calls", hostile),
        "survival_many": make("survival", MANY[:5]),
        "summary_tracelab": tracelab(),
        "hazard_synthetic": make(
            "hazard", PAIR[:1], synthetic=True, where="n_calls = 1", since="2026-03-01", zone="UTC"
        ),
    }


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden(path: Path, cases: dict[str, Any], tmp_path: Path) -> None:
    text = to_text(tables_of(cases[path.stem])) + "\n"
    actual = tmp_path / path.name
    actual.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"if this is meant, read {actual} and copy it to {path.name}"


def test_every_case_has_its_golden_text(cases: dict[str, Any]) -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(cases)


@pytest.mark.parametrize("kind", KINDS)
def test_repr_is_what_the_command_line_prints(make: Any, kind: str) -> None:
    result = make(kind, PAIR)
    assert repr(result) == to_text(tables_of(result))
    assert result._repr_html_() == to_html(tables_of(result))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("synthetic", [True, False])
def test_synthetic_stands_in_every_title_or_in_none(make: Any, kind: str, synthetic: bool) -> None:
    titles = [table.title for table in tables_of(make(kind, PAIR, synthetic=synthetic))]
    assert all(title.startswith("SYNTHETIC: ") for title in titles) if synthetic else "SYNTHETIC" not in str(titles)


def test_synthetic_stands_in_the_titles_of_tracelab_too(tracelab: Any) -> None:
    assert all(table.title.startswith("SYNTHETIC: ") for table in tables_of(tracelab(synthetic=True)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_three_choices_and_the_trace_are_stated_once(make: Any, kind: str) -> None:
    text = " ".join(to_text(tables_of(make(kind, PAIR))).split())
    assert text.count("left out: 1,214 copies, 139 human waits, 2 censored at zero") == 1
    assert text.count("29,916 rounds, 35,705 calls, 3 lines rejected") == 1
    assert "tool rows" in text


def test_nothing_left_out_is_said(make: Any) -> None:
    assert "nothing left out" in to_text(tables_of(make("hazard", PAIR, excluded={"copies": 0})))


def test_conditions_are_stated(make: Any) -> None:
    text = to_text(tables_of(make("survival", PAIR, where="n_calls < 3", until="2026-04-01", zone="Asia/Tokyo")))
    assert "where n_calls < 3; until 2026-04-01; times in Asia/Tokyo" in text


names = st.text(max_size=30) | st.sampled_from(["<script>", "x" * 300, "工" * 50, "-1.23 [4, 5]"])


@settings(deadline=None, max_examples=10)
@given(st.lists(names, max_size=6), st.sampled_from(KINDS))
def test_fits_80_columns(make: Any, labels: list[str], kind: str) -> None:
    for line in to_text(tables_of(make(kind, labels))).split("\n"):
        assert cell_len(line) <= 80


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_escaped(make: Any, kind: str, hostile: list[str]) -> None:
    page = to_html(tables_of(make(kind, hostile)))
    assert "<script" not in page
    assert "\x1b" not in page
    # `keys` cuts the value, the others show it whole
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("kind", ["hazard", "summary", "survival"])
@pytest.mark.first_case
def test_long_tables_are_cut_with_a_line_that_says_how_to_see_all(make: Any, kind: str) -> None:
    result = make(kind, MANY)
    total = len(result.groups)
    short = to_text(tables_of(result))
    assert f"20 of {total} groups; --top {total} shows all" in short
    assert "tool_19" in short or kind == "summary"
    assert "tool_20" not in short
    whole = to_text(tables_of(result, top=total))
    assert "--top 2" not in whole
    assert "tool_199" in whole


def test_calls_are_cut_only_where_asked(make: Any) -> None:
    result = make("calls", MANY)
    assert "tool_199" in to_text(tables_of(result))
    assert "7 of 200 waits; --top 200 shows all" in to_text(tables_of(result, top=7))


def test_bins_are_shown_for_few_groups_only(make: Any) -> None:
    def titles(result: Any) -> list[str]:
        return [table.title for table in tables_of(result)]

    few, many = titles(make("hazard", PAIR)), titles(make("hazard", MANY[:3]))
    assert "Hazard per second, claude" in few
    assert "Slope within keys, claude" in few
    assert not any("per second" in title for title in many)
    assert "--top 3" in to_text(tables_of(make("hazard", MANY[:3])))


def order(result: Any, sort: str) -> list[str]:
    return [row[0] for row in tables_of(result, sort=sort)[0].rows]


def test_order(make: Any, group: Any) -> None:
    base = make("hazard", [])
    keys: list[tuple[Any, int, float]] = [(None, 50, 9.0), (10, 10, 30.0), (9, 30, 20.0), ("b", 20, 40.0)]
    groups = tuple(group({"n_calls": k}, n=n, total_seconds=t) for k, n, t in keys)
    result = HazardResult(dataclasses.replace(base.head, by=("n_calls",)), groups)
    assert order(result, "n") == ["(none)", "9", "b", "10"]
    assert order(result, "time") == ["b", "10", "9", "(none)"]
    assert order(result, "name") == ["9", "10", "b", "(none)"]


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_order_and_top_are_usage_errors(make: Any, kind: str) -> None:
    with pytest.raises(UsageError, match="--sort size: choose one of n, time, name"):
        tables_of(make(kind, PAIR), sort="size")
    with pytest.raises(UsageError, match="--top 0: give at least 1"):
        tables_of(make(kind, PAIR), top=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_without_groups_says_so(make: Any, kind: str) -> None:
    result = make(kind, [])
    field = next(f.name for f in dataclasses.fields(result) if f.name in ("groups", "keys", "calls"))
    text = to_text(tables_of(dataclasses.replace(result, **{field: ()})))
    assert kind == "keys" or "nothing is left" in text


def test_notes_stand_once_and_name_their_groups(make: Any) -> None:
    text = to_text(tables_of(make("hazard", PAIR)))
    assert text.count("12 sessions, 20 needed") == 1
    assert "web: 12 sessions, 20 needed; 12 events, 100 needed" in text


def test_a_note_of_many_groups_names_some_of_them(make: Any, group: Any) -> None:
    base = make("hazard", [])
    groups = tuple(group({"tool": f"t{i}"}, notes=("few",)) for i in range(9))
    assert "t0, t1, t2, t3 and 5 more: few" in to_text(tables_of(HazardResult(base.head, groups)))


def test_notes_of_the_head_stand_at_the_end(make: Any) -> None:
    for kind in KINDS:
        tables = tables_of(make(kind, PAIR, notes=("3 durations count as zero",)))
        assert tables[-1].notes[-1] == "3 durations count as zero", kind
        assert to_text(tables).count("3 durations count as zero") == 1, kind


def test_single_clustering_stands_in_its_own_column(make: Any) -> None:
    result = make("survival", PAIR[:1])
    shown = result.groups[0]
    curve = tuple(
        dataclasses.replace(p, S=dataclasses.replace(p.S, session=None, developer=None, method="session log-log"))
        for p in shown.curve
    )
    one = SurvivalResult(result.head, (dataclasses.replace(shown, curve=curve),))
    row = tables_of(one)[-1].rows[3]
    assert row[2].startswith("[")
    assert row[3] == "-"


def test_long_curves_are_thinned_and_said(make: Any) -> None:
    result = make("survival", PAIR[:1])
    shown = result.groups[0]
    point = shown.curve[5]
    curve = tuple(dataclasses.replace(point, t=0.1 * (i + 1)) for i in range(200))
    table = tables_of(SurvivalResult(result.head, (dataclasses.replace(shown, curve=curve),)))[-1]
    assert len(table.rows) == 24
    assert (table.rows[0][0], table.rows[-1][0]) == ("0.10 s", "20 s")
    assert "24 of 200 times; --json and -o give all" in table.notes


def test_more_quantiles_than_fit_show_the_usual_ones(make: Any) -> None:
    result = make("survival", PAIR[:1])
    shown = result.groups[0]
    quantiles = {**shown.quantiles, "0.95": shown.quantiles["0.9"]}
    table = tables_of(SurvivalResult(result.head, (dataclasses.replace(shown, quantiles=quantiles),)))[1]
    assert [column.header for column in table.columns] == ["", "half", "90 %", "99 %"]


def test_other_results_have_no_tables(make: Any) -> None:
    class Untold(Result):
        def to_frame(self) -> pl.DataFrame:
            return pl.DataFrame()

    with pytest.raises(TypeError, match="Untold has no tables"):
        tables_of(Untold(make("keys", []).head))


@pytest.mark.parametrize("kind", ["hazard", "summary", "survival"])
def test_tables_of_one_clustering_say_where_both_are(make: Any, kind: str) -> None:
    found = [note for table in tables_of(make(kind, PAIR)) for note in table.notes if note.startswith("[ ] is the")]
    assert found
    assert all(note.endswith("; --json and -o FILE.json hold both clusterings") for note in found)
