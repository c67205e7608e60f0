"""Tables and charts of verdicts: they say what was judged, hold on a narrow page, and draw."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.charts.conftest import HOSTILE, STEERING, head
from tests.simulate.verdicts.frames import noisy, runs, table
from tracestat.charts import draw
from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.charts.verdict_where import borders
from tracestat.charts.verdict_words import captured_words, key_label, pass_words
from tracestat.hardware import load_hardware
from tracestat.results import CapturedGain, Interval
from tracestat.results.verdicts import Verdict
from tracestat.simulate.verdicts import KINDS, verdict_of

SEEDS = 6
POOL_GB = 10.67
Rows = Iterator[dict[str, Any]]


def waits(wait: float, seed: int = 0) -> list[float]:
    return noisy(SEEDS, wait, 0.2, seed)


def success() -> Rows:
    for load, waiting in ((1.0, 1.0), (4.0, 9.0)):
        for number, (policy, factor) in enumerate(
            {"P0": 3.0, "P1": 1.0, "P2": 1.02, "P4-D": 0.85, "P5-B": 0.7}.items()
        ):
            yield from runs(policy, waits(factor * load, number), load=load, waiting_ratio=waiting)


def where() -> Rows:
    for reload, tier, gain in (
        (0.01, 1.0, 0.0),
        (0.1, 1.0, 0.05),
        (0.01, 2.0, 0.0),
        (0.1, 2.0, 0.3),
        (None, 0.0, 0.02),
    ):
        told = {"reload_ratio": reload, "host_gb": tier * POOL_GB}
        for policy, factor in (("P1", 1.0), ("P5-B", 1 - gain), ("P3", 1 - gain / 3)):
            yield from runs(policy, waits(2 * factor), **told)


def levers() -> Rows:
    for load in (2.0, 4.0):
        for told, factor in (
            ({}, 1.0),
            ({"host_gb": 40.0}, 0.6),
            ({"store_path": "native"}, 0.9),
            ({"prefill_threshold": 512}, 1.1),
            ({"host_gb": 4.0, "shrink": 5.0}, 1.0),
            ({"host_gb": 8.0, "shrink": 5.0}, 0.7),
            ({"change": "pool_tokens=2"}, 0.5),
            ({"change": "pool_tokens=2", "prefill_threshold": 512}, 0.4),
        ):
            yield from runs("P1", waits(8 * factor), load=load, **told)


def eta() -> Rows:
    yield from runs("P1", waits(1.0))
    yield from runs("P5-B", waits(0.8))
    for value, pinned in ((None, 0.03), (-0.35, 0.034), (1.0, 0.6)):
        yield from runs("P2", waits(1 + pinned), eta=value, plan_pinned=pinned)


def questions() -> Rows:
    for told in (
        {},
        {"host_evict": "head"},
        {"store_path": "native"},
        {"store_path": "native", "store_holds_blocks": True},
    ):
        yield from runs("P1", waits(1 + len(told)), **told)


def sensitivity() -> Rows:
    for told, factor in (
        ({}, 0.95),
        ({"change": "step.base=1.1"}, 1.05),
        ({"change": "step.base=0.9"}, 0.8),
        ({"end": "free"}, 0.94),
    ):
        for policy, own in (("P1", 1.0), ("P2", 1.0), ("P4-D", factor), ("P5-B", factor * factor)):
            yield from runs(policy, waits(own), **told)


MADE: dict[str, Callable[[], Rows]] = {
    "success": success,
    "where": where,
    "levers": levers,
    "eta": eta,
    "questions": questions,
    "sensitivity": sensitivity,
    "none": lambda: runs("P1", [1.0]),
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    machines = [load_hardware()]
    return {kind: verdict_of(kind, table(make()), machines=machines, draws=50) for kind, make in MADE.items()}


@pytest.fixture(scope="module")
def drawn(verdicts: dict[str, Verdict]) -> Callable[[str], dict[str, Any]]:
    """Draw each kind once."""
    return cache(lambda kind: draw(verdicts[kind]).to_dict())


# what each table must say, by kind
SAID = {
    "success": [
        "1 configuration counted, 1 unstable and 0 without a baseline not counted",
        "P5-B    1 of 1 (0)",
        "P5-B gains over 10",
        "~x4",
        "below -100 %",
    ],
    "where": ["x4, rtx4090", "tier 2x: 10 % are crossed at 0.022", "30* [", "rtx4090 (yours)", "0.053", "P3"],
    "levers": [
        "tier 1.9x-3.7x, x4, full",
        "tail mean -71 %",
        "0.29",
        "p99 at 16 sessions on the engine: 10.29 s",
        "Scaled down less full scale",
        "0.10",
        "turns at",
    ],
    "eta": ["as estimated 3.0 [3.0, 3.0]", "-0.35", "~66.7 %", "below -100 %"],
    "questions": ["host evict head", "not session", "x4, sto…native", "reloaded"],
    "sensitivity": ["P4-D/P1", "step.base x1.1", "0.95 to 1.05", "sign*", "free"],
    "none": ["Runs without a verdict"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_say_it_on_a_page_of_80(kind: str, verdicts: dict[str, Verdict]) -> None:
    text = to_text(tables_of(verdicts[kind]))
    assert max(len(line) for line in text.split("\n")) <= 80
    for words in SAID[kind]:
        assert words in text, text
    assert "nan" not in text.lower().split()
    assert "None" not in text
    assert f"{verdicts[kind].runs} run" in text


@pytest.mark.parametrize("kind", KINDS)
def test_machine_output_has_no_nan_and_no_second_head(kind: str, verdicts: dict[str, Verdict]) -> None:
    told = verdicts[kind].to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["kind"] == kind
    assert "head" not in told


# a chart of many panels takes a second to put together
SLOW = ("levers", "questions", "sensitivity", "success")
DRAWN = [pytest.param(kind, marks=[pytest.mark.full] * (kind in SLOW)) for kind in KINDS]


@pytest.mark.parametrize("kind", DRAWN)
def test_charts_name_their_runs(
    kind: str, verdicts: dict[str, Verdict], drawn: Callable[[str], dict[str, Any]]
) -> None:
    chart = json.dumps(drawn(kind), allow_nan=False)
    assert f"{verdicts[kind].runs} run" in chart
    assert ("nothing to draw" in chart) == (kind == "none")


@pytest.mark.first_case
@pytest.mark.parametrize("kind", ["where", "levers", "success", "eta", "questions", "sensitivity"])
def test_charts_become_pictures(kind: str, drawn: Callable[[str], dict[str, Any]]) -> None:
    import vl_convert as vlc

    picture = vlc.vegalite_to_png(drawn(kind), scale=0.5)
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 10_000


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_says_so_in_table_and_chart(kind: str) -> None:
    found = verdict_of(kind, table([]))
    assert "the table has no runs: nothing is judged" in to_text(tables_of(found))
    # a line of a chart may be broken after any word
    assert "the table has no runs" in json.dumps(draw(found).to_dict())


def test_invented_traces_say_so() -> None:
    invented = head("simulate_verdict", synthetic=True, notes=("a note of the runs",))
    for kind, make in MADE.items():
        tables = tables_of(verdict_of(kind, table(make()), head=invented, draws=20))
        assert all(item.title.startswith("SYNTHETIC") for item in tables)
        assert "29,916 rounds" in to_text(tables)
        assert to_text(tables).count("a note of the runs") == 1
    drawn = draw(verdict_of("none", table([]), head=invented)).to_dict()
    assert "SYNTHETIC" in json.dumps(drawn["title"])


def test_labels_that_mean_harm_are_spelled_out() -> None:
    rows = [r | {"hardware": name} for name in (HOSTILE, STEERING) for r in eta()]
    found = verdict_of("eta", table(rows), draws=20)
    assert "\x1b" not in to_text(tables_of(found))
    assert "<script" not in to_html(tables_of(found))
    assert "<script" not in json.dumps(draw(found).to_dict())


def test_few_rows_are_cut_with_a_line() -> None:
    found = verdict_of("success", table(success()), draws=50)
    assert "1 of 2 configurations; --top 2 shows all" in to_text(tables_of(found, top=1))


def test_words() -> None:
    assert key_label({"load": 1.0, "host_gb": 0.0, "shrink": 5.0}) == "x1, no tier, 1/5"
    assert key_label({"store_holds_blocks": True, "scale_context": None}) == "store holds blocks on, as recorded"
    assert captured_words(CapturedGain(Interval(0.5, -20.0, 20.0), 9)) == "50 % [-999, 999]"
    assert captured_words(CapturedGain(Interval(0.5), 2)) == "50 %"
    assert pass_words(1, 2, 0) == "1 of 2 (0)"


def test_the_border_goes_between_places_and_around_what_is_not_known() -> None:
    edges = [1.0, 2.0, 4.0]
    assert borders([[True, True]], edges) == []
    assert borders([[True, None]], edges) == []
    assert borders([[False, False], [False, True]], edges) == [
        {"x": 2.0, "x2": 4.0, "y": 1, "y2": 1},
        {"x": 2.0, "x2": 2.0, "y": 1, "y2": 2},
    ]
