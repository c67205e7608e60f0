"""What --by and --where accept, and that nothing else reaches the engine."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.errors import TracestatError, UsageError
from tracestat.filters import KEYS, check_keys, parse_where, render_keys, time_range, zone_name


@pytest.mark.parametrize(
    ("text", "sql", "values"),
    [
        ("tool = 'Bash'", '"tool" = $w0', ["Bash"]),
        ("'Bash' = tool", '"tool" = $w0', ["Bash"]),
        ("3 < n_calls", '"n_calls" > $w0', [3.0]),
        ("n_calls >= -1", '"n_calls" >= $w0', [-1.0]),
        ("n_calls BETWEEN 1 AND 3", '"n_calls" BETWEEN $w0 AND $w1', [1.0, 3.0]),
        ("tool IN ('a', 'b')", '"tool" IN ($w0, $w1)', ["a", "b"]),
        ("model LIKE 'claude%'", '"model" LIKE $w0', ["claude%"]),
        ("project IS NULL", '"project" IS NULL', []),
        ("project IS NOT NULL", 'NOT "project" IS NULL', []),
        ("day = '2026-03-01'", '"day" = $w0', [dt.date(2026, 3, 1)]),
        ("TOOL = 'x' -- note", '"tool" = $w0', ["x"]),
        ("NOT (tool = 'a' OR tool = 'b') AND n_calls != 2", None, ["a", "b", 2.0]),
    ],
)
def test_where_is_rendered_with_parameters(text: str, sql: str | None, values: list[object]) -> None:
    found = parse_where(text)
    assert found.text == text
    if sql is not None:
        assert found.sql == sql
    assert list(found.parameters.values()) == values
    assert "'" not in found.sql


def test_where_keeps_the_meaning_of_parentheses() -> None:
    assert parse_where("tool = 'a' AND (n_calls = 1 OR n_calls = 2)").sql == (
        '"tool" = $w0 AND ("n_calls" = $w1 OR "n_calls" = $w2)'
    )


def test_times_are_meant_in_the_given_zone() -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    assert parse_where("started_at >= '2026-07-01'", berlin).parameters["w0"] == dt.datetime(2026, 6, 30, 22)
    assert parse_where("started_at >= '2026-07-01T00:00Z'", berlin).parameters["w0"] == dt.datetime(2026, 7, 1)
    assert time_range("2026-07-01", None, berlin).parameters["since"] == dt.datetime(2026, 6, 30, 22)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seconds > 3", "outcome"),
        ("observed = 1", "outcome"),
        ("end_kind = 'deadline'", "outcome"),
        ("nothing = 1", "no such column"),
        ("tool = model", "only with a literal"),
        ("tool = 3", "needs a literal like 'Bash'"),
        ("n_calls = 'three'", "needs a literal like 3"),
        ("n_calls LIKE '3%'", "LIKE needs a text key"),
        ("day = 'yesterday'", "no date"),
        ("started_at > 'soon'", "not a date or time"),
        ("(SELECT 1)", "not allowed"),
        ("tool IN (SELECT tool FROM calls)", "not allowed"),
        ("tool = 'x'; DROP TABLE calls", "not allowed"),
        ("sqrt(n_calls) > 1", "needs a column"),
        ("calls.tool = 'x'", "needs a column"),
        ("tool ~ 'x'", "not allowed"),
        ("1 = 1", "needs a column"),
        ("tool", "tool: a column alone is no condition; compare it with 'Bash'"),
        ("tool = 'Bash' AND bad", "--where bad: no such column; columns are provider, "),
        ("NOT seconds", "outcome"),
        ("tool = 'x' AND", "not a condition"),
        ("tool = '" + "x" * 20_000 + "'", "longer than"),
        ("(" * 3_000 + "tool = 'x'" + ")" * 3_000, "nested too deeply"),
    ],
)
def test_where_refuses_everything_else(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)) as caught:
        parse_where(text)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_no_condition_is_true() -> None:
    assert parse_where(None).sql == parse_where("  ").sql == "TRUE"


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_a_usage_error(text: str) -> None:
    try:
        found = parse_where(text)
    except TracestatError:
        return
    # all that is left are quoted columns, operators and parameters
    left = re.sub(
        r'"(' + "|".join((*KEYS, "started_at")) + r')"|\$w\d+|AND|OR|NOT|IN|IS NULL|LIKE|BETWEEN|TRUE', "", found.sql
    )
    assert re.fullmatch(r"[\s()=<>,]*", left)


@given(st.text(max_size=40))
def test_a_literal_never_reaches_the_text(value: str) -> None:
    quoted = value.replace("'", "''")
    found = parse_where(f"tool = '{quoted}'")
    assert found.sql == '"tool" = $w0'
    assert found.parameters["w0"] == value


def test_keys() -> None:
    assert check_keys("provider, tool_class") == ("provider", "tool_class")
    assert check_keys(["tool"]) == ("tool",)
    assert check_keys("none") == check_keys(None) == check_keys([]) == ()
    assert check_keys("end_kind", outcomes=True) == ("end_kind",)
    assert render_keys(()) == '"pooled"'


@pytest.mark.parametrize(
    ("by", "says"), [("tools", "no such key"), ("", "(empty)"), ("tool,tool", "twice"), ("end_kind", "outcome")]
)
def test_keys_that_do_not_exist(by: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        check_keys(by)


def test_zones() -> None:
    assert zone_name("Europe/Berlin") == "Europe/Berlin"
    zoneinfo.ZoneInfo(zone_name(None))
    for wrong in ("Atlantis", "../../etc/passwd", "", "/etc/localtime"):
        with pytest.raises(UsageError, match="time zone"):
            zone_name(wrong)
