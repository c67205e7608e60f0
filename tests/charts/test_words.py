"""Numbers as a reader sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tracestat.charts import words
from tracestat.results import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 s"),
        (0.0001, "0.0001 s"),
        (0.004, "0.004 s"),
        (0.1285, "0.13 s"),
        (0.8755, "0.88 s"),
        (0.996, "1.0 s"),
        (9.96, "10 s"),
        (99.4, "99 s"),
        (99.6, "1.7 min"),
        (138.0, "2.3 min"),
        (5969.0, "99 min"),
        (7200.0, "2.0 h"),
        (40_182.3, "11 h"),
        (172_800.0, "2.0 d"),
        (3.2e7, "370 d"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert words.seconds(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.1285, 0.2435, "0.13 to 0.24 s"),
        (77.0805, 146.1245, "77 s to 2.4 min"),
        (0.0, 0.1285, "0 to 0.13 s"),
        (0.0, 600.0, "0 to 10 min"),
        (12857.8, None, "3.6 h and more"),
    ],
)
def test_span(low: float, high: float | None, text: str) -> None:
    assert words.span(low, high) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.654, "65.4 %"),
        (0.0095, "0.95 %"),
        (0.00024, "0.024 %"),
        (0.9999, "100.0 %"),
    ],
)
def test_percent(value: float | None, text: str) -> None:
    assert words.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.288, "1.29"), (0.00638, "0.00638"), (0.000615, "6.15e-4"), (123_456.0, "1.23e5"), (0.1, "0.100")],
)
def test_per_second(value: float, text: str) -> None:
    assert words.per_second(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (9_999.0, "9,999"), (12_345.0, "12.3 k"), (2.47e10, "24.7 G"), (1.5e15, "1,500 T")],
)
def test_amount(value: float | None, text: str) -> None:
    assert words.amount(value) == text


@pytest.mark.parametrize(
    ("write", "item", "text"),
    [
        (words.seconds_interval, None, "-"),
        (words.seconds_interval, Interval(None), "-"),
        (words.seconds_interval, Interval(None, 30.0), "over 30 s"),
        (words.seconds_interval, Interval(58.0, 47.0, 120.0), "58 s [47, 120]"),
        (words.seconds_interval, Interval(210.5, 170.0, None), "3.5 min [2.8, -]"),
        (words.percent_interval, Interval(0.031, 0.027, 0.035), "3.1 % [2.7, 3.5]"),
        (words.percent_interval, Interval(0.031), "3.1 %"),
        (words.rate_interval, Interval(0.0, 0.0, 0.0083), "0 [0, 0.0083]"),
        (words.rate_interval, Interval(None), "-"),
        (words.slope_interval, Interval(-0.7551, -0.97, -0.001), "-0.755 [-0.97, 0.00]"),
        (words.slope_interval, Interval(None), "-"),
    ],
)
def test_a_number_stands_with_its_interval(write: object, item: Interval | None, text: str) -> None:
    assert callable(write)
    assert write(item) == text


def test_p_values_never_read_zero() -> None:
    assert [words.p_value(p) for p in (0.0, 0.0009, 0.001, 0.0341)] == [
        "p < 0.001",
        "p < 0.001",
        "p = 0.001",
        "p = 0.034",
    ]


def test_what_steers_a_terminal_is_spelled_out() -> None:
    assert words.plain("a\x1b[31m\tb\u202ec\ud800\u2028") == "a\\x1b[31m\\x09b\\u202ec\\ud800\\u2028"
    assert words.plain("👩\u200d💻 naïve 工具") == "👩\u200d💻 naïve 工具"


def test_no_label_of_a_chart_can_open_or_close_a_tag() -> None:
    assert words.drawn("</script><img src=x><!--<?x") == "‹/script›‹img src=x›‹!--‹?x"
    assert words.drawn("git <substitution>") == "git ‹substitution›"
    assert words.drawn("<10ms, a < b, <") == "<10ms, a < b, <"


@given(st.text(max_size=60), st.integers(1, 40))
def test_shortened_to_the_width(text: str, width: int) -> None:
    short = words.shorten(text, width, cell_len)
    assert cell_len(short) <= width
    if cell_len(text) <= width:
        assert short == text
    elif width >= 5 and text.isascii():
        assert short[: width // 2] == text[: width // 2]
        assert short[-((width - 1) // 2) :] == text[-((width - 1) // 2) :]


@given(st.lists(st.sampled_from(["a", "a (2)", "b" * 30, "b" * 15 + "c" + "b" * 15, ""]), max_size=12))
def test_labels_of_a_chart_differ(labels: list[str]) -> None:
    names = words.distinct(labels, 9)
    assert len(set(names)) == len(labels)
    assert all(names)


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_longer_never_reads_shorter(a: float, b: float) -> None:
    units = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

    def read(text: str) -> float:
        number, unit = text.split()
        return float(number.replace(",", "")) * units[unit]

    low, high = sorted((a, b))
    # the change of unit may round up by less than one in its last digit
    assert read(words.seconds(low)) <= read(words.seconds(high)) * 1.06
    assert read(words.seconds(high)) == pytest.approx(high, rel=0.06, abs=6e-4)
