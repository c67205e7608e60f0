"""Published figures: how a printed number is read, what the verdict is, and that every entry is accounted for."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tracestat.api.answers import Question, check_question
from tracestat.errors import TracestatError
from tracestat.published import (
    RELEASES,
    known_release,
    load_published,
    number_at,
    read_printed,
    verdict_of,
)
from tracestat.queries import data_path
from tracestat.results import Interval
from tracestat.store import fingerprint_of

FIGURES = load_published().figures
TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": ["number", "null"]}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["schema", "definitions", "figures"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": "tracestat.published/1"},
        "definitions": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["says", "choices"],
                "additionalProperties": False,
                "properties": {"says": TEXT, "choices": {"type": "object"}},
            },
        },
        "figures": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    *("id", "of", "theme", "statement", "printed", "value", "low", "high", "unit", "corpus"),
                    *("release", "provider", "source"),
                ],
                "additionalProperties": False,
                "oneOf": [{"required": ["answer"]}, {"required": ["no_answer"]}],
                "properties": {
                    **dict.fromkeys(("id", "of", "theme", "statement", "printed", "unit", "corpus", "source"), TEXT),
                    **dict.fromkeys(("value", "low", "high"), NUMBER),
                    "release": {"enum": ["v0.0.1", "v0.0.2", None]},
                    "provider": {"enum": ["claude", "codex", "all", None]},
                    "no_answer": TEXT,
                    "answer": {
                        "type": "object",
                        "required": ["name", "parameters", "definitions"],
                        "additionalProperties": False,
                        "properties": {
                            "name": TEXT,
                            "parameters": {"type": "object"},
                            "definitions": {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize(
    ("printed", "unit", "expected"),
    [
        ("743,819", "calls", (743_819, 743_818.5, 743_819.5)),
        ("3.4 %", "fraction", (0.034, 0.0335, 0.0345)),
        ("~70 %", "fraction", (0.7, 0.69, 0.71)),
        ("~67k", "calls", (67_000, 66_000, 68_000)),
        ("159k", "calls", (159_000, 158_500, 159_500)),
        ("1.4 min", "s", (84, 81, 87)),
        ("13.9 h", "s", (50_040, 49_860, 50_220)),
        ("36 ms", "ms", (36, 35.5, 36.5)),
        ("2,782.7 h", "h", (2782.7, 2782.65, 2782.75)),
        ("<3 %", "fraction", (0.03, None, 0.03)),
        (">80 %", "fraction", (0.8, 0.8, None)),
        ("-0.35", "coefficient", (-0.35, -0.355, -0.345)),
        ("-41 %", "fraction", (-0.41, -0.415, -0.405)),
        ("~1,000,000±50000", "tokens", (1_000_000, 950_000, 1_050_000)),
        ("9e-05", "s", (9e-5, 8.5e-5, 9.5e-5)),
        ("0", "count", (0, -0.5, 0.5)),
    ],
)
def test_a_printed_number_stands_for_its_rounding(printed: str, unit: str, expected: tuple[float, Any, Any]) -> None:
    assert read_printed(printed, unit) == expected


@pytest.mark.parametrize("text", ["", "about 3", "3 apples", "3.4.5 %", "-", "~", "NaN"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        read_printed(text, "s")


@given(st.floats(0.001, 1e6), st.integers(0, 4), st.booleans())
def test_rounding_holds_what_rounds_to_it(x: float, decimals: int, about: bool) -> None:
    value, low, high = read_printed(f"{'~' if about else ''}{x:.{decimals}f}", "s")
    assert low is not None
    assert high is not None
    slack = 1e-9 * max(1.0, x)
    assert low - slack <= x <= high + slack
    assert high - low == pytest.approx((2 if about else 1) * 10.0**-decimals, rel=1e-6)
    assert low < value < high


def bounded(numbers: tuple[float, float, float]) -> Interval:
    low, value, high = sorted(numbers)
    return Interval(value, low, high)


number = st.floats(-1e3, 1e3)
optional = st.none() | number


@given(optional, optional, st.tuples(number, number, number), st.booleans(), st.booleans())
def test_verdicts(low: float | None, high: float | None, ours: Any, with_bounds: bool, same: bool) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    interval = bounded(ours) if with_bounds else Interval(sorted(ours)[1])
    said = verdict_of(low, high, interval, same_trace=same)
    value = interval.value
    assert value is not None
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    if same:
        assert said == ("agrees" if least - 1e-6 <= value <= most + 1e-6 else "differs") or (
            min(abs(value - least), abs(value - most)) < 1e-6
        )
        return
    assert said in ("higher", "lower", "overlaps")
    if said == "higher":  # the whole interval lies above, so the value does
        assert value > most
        assert interval.low is None or interval.low > most
    if said == "lower":
        assert value < least
        assert interval.high is None or interval.high < least
    if least <= value <= most:
        assert said == "overlaps"


def test_without_a_number_nothing_is_said() -> None:
    assert verdict_of(0.0, 1.0, Interval(None), same_trace=True) == "cannot tell"
    assert verdict_of(None, None, Interval(None), same_trace=False) == "cannot tell"


def test_a_wider_interval_only_turns_a_difference_into_an_overlap() -> None:
    assert verdict_of(0.69, 0.71, Interval(0.65, 0.64, 0.66), same_trace=False) == "lower"
    assert verdict_of(0.69, 0.71, Interval(0.65, 0.56, 0.74), same_trace=False) == "overlaps"
    assert verdict_of(0.69, 0.71, Interval(0.65, 0.56, 0.74), same_trace=True) == "differs"


def test_releases_are_known_by_the_hash_of_their_only_file() -> None:
    assert set(RELEASES.values()) == {"v0.0.1", "v0.0.2"}
    for sha256, release in RELEASES.items():
        assert len(sha256) == 64
        assert known_release(fingerprint_of([sha256])) == release
    first, second = list(RELEASES)[:2]
    assert known_release(fingerprint_of([first, second])) is None
    assert known_release("sha256:00") is None


def test_the_file_keeps_to_its_schema() -> None:
    document = json.loads(data_path("published.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(SCHEMA)
    assert [f"{e.json_path}: {e.message[:200]}" for e in Draft202012Validator(SCHEMA).iter_errors(document)] == []
    used = {name.partition("@")[0] for f in document["figures"] for name in f.get("answer", {}).get("definitions", ())}
    assert used == set(document["definitions"])


def test_every_published_statement_is_there() -> None:
    assert len({figure.of for figure in FIGURES}) == 219
    assert len({figure.id for figure in FIGURES}) == len(FIGURES) >= 500
    assert all(figure.id == figure.of or figure.id.startswith(f"{figure.of}.") for figure in FIGURES)
    origins = {
        origin: sum(figure.origin == origin for figure in FIGURES) for origin in ("article", "tracelab", "others")
    }
    assert min(origins.values()) > 80


def test_every_rounding_is_that_of_the_printed_number() -> None:
    for figure in FIGURES:
        told = (figure.value, figure.low, figure.high)
        wanted = (None, None, None) if figure.unit == "words" else read_printed(figure.printed, figure.unit)
        assert told == wanted, figure.id


def test_every_figure_has_an_answer_or_a_reason() -> None:
    for figure in FIGURES:
        assert (figure.answer is None) == bool(figure.no_answer), figure.id
        if figure.answer is None:
            continue
        texts = [definition.text for definition in figure.answer.definitions]
        assert len(set(texts)) == len(texts), figure.id
        for definition in figure.answer.definitions:
            question = Question(figure.answer.parameters, definition.choices, definition.provider, interval=False)
            check_question(figure.answer.name, question)


def test_a_provider_that_the_source_leaves_open_is_named_by_the_definition_alone() -> None:
    left_open = [figure for figure in FIGURES if figure.of.startswith(("article.mrl.", "article.gt1m"))]
    assert len(left_open) == 8
    assert {figure.provider for figure in left_open} == {"all"}
    assert {figure.answer.definitions[0].provider for figure in left_open if figure.answer} == {"claude"}


def test_what_a_section_gives_is_asked_of_it() -> None:
    named = {"steps_per_session.mean", "human_wait_after_output_seconds.p50", "generation_seconds.mean"}
    asked = {figure.answer.parameters.get("name") for figure in FIGURES if figure.answer and figure.origin == "others"}
    assert named <= asked
    assert not [figure.id for figure in FIGURES if "of a kind that" in (figure.no_answer or "")]


def test_what_nothing_answers_is_refused() -> None:
    with pytest.raises(TracestatError, match=r"nothing answers law\.gravity"):
        check_question("law.gravity", Question({}, {}, None, interval=False))
    with pytest.raises(TracestatError, match="takes"):
        check_question("latency.mean", Question({"colour": 1}, {}, None, interval=False))
    with pytest.raises(TracestatError, match="takes"):
        check_question("latency.quantile", Question({}, {}, None, interval=False))


def test_numbers_are_found_in_documents() -> None:
    document = {
        "a": {"0.5": {"value": 3}},
        "groups": [
            {"key": {"provider": "claude", "unit": "call"}, "n": 1},
            {"key": {"provider": "claude", "unit": "pause"}, "n": 2, "ok": True},
            {"key": {}, "n": 3},
        ],
        "rows": [{"id": "v1.cat.File write/edit.calls", "n": 4}],
    }
    assert number_at(document, "a/0.5/value") == 3
    assert number_at(document, "groups[provider=claude,unit=pause]/n") == 2
    assert number_at(document, "groups[provider=None]/n") == 3
    assert number_at(document, "rows[id=v1.cat.File write/edit.calls]/n") == 4
    assert number_at(document, "groups[provider=codex]/n") is None
    assert number_at(document, "groups[unit=pause]/ok") is None
    assert number_at(document, "b/c") is None
