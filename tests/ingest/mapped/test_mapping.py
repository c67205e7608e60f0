from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.errors import TracestatError, UsageError
from tracestat.ingest.mapped import Mapping, load_mapping
from tracestat.ingest.mapped.mapping import FIELDS, Served


def test_four_columns_are_a_mapping() -> None:
    mapping = load_mapping("session=chat,tool=fn,start=t0,end=t1")
    assert mapping.form == "calls"
    assert mapping.columns == ("chat", "fn", "t0", "t1")
    assert mapping.get("tool") == Served("tool", "fn")
    assert mapping.get("model") is None


def test_three_are_one_of_requests() -> None:
    assert load_mapping("arrival=t0,session=chat,end=t1").form == "requests"


def test_a_name_may_hold_anything_in_quotes() -> None:
    mapping = load_mapping('session="chat, id",tool=a=b,start="t0" , end= t1 ,provider=="the proxy, ours"')
    assert mapping.columns == ("chat, id", "a=b", "t0", "t1")
    assert mapping.get("provider") == Served("provider", value="the proxy, ours")


def test_units_and_second_names() -> None:
    mapping = load_mapping("session=s,tool=t,start:us=a,duration_ms=d,asked_limit=l")
    assert mapping.get("start") == Served("start", "a", unit="us")
    assert mapping.get("duration") == Served("duration", "d", unit="ms")
    assert mapping.get("asked_limit") == Served("asked_limit", "l")
    assert load_mapping("session=s,tool=t,start=a,duration:ms=d").get("duration") == mapping.get("duration")


def test_one_column_may_serve_twice() -> None:
    assert load_mapping("session=s,tool=t,start=a,end=b,developer=s").columns == ("s", "t", "a", "b")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must name either start"),
        ("session", "'session' is no FIELD=COLUMN"),
        ("sesion=s,tool=t,start=a,end=b", "no field 'sesion': there are session, tool, start, arrival"),
        ("session=,tool=t,start=a,end=b", "session names no column"),
        ("session=s,tool=t,start=a,end=b,session=x", "session is named twice"),
        ("session=s,tool=t,start=a,end=b,arrival=c", "must name either start"),
        ("session=s,start=a,end=b", "does not say which column is tool"),
        ("tool=t,start=a,end=b", "does not say which column is session"),
        ("session=s,tool=t,start=a", "one of end, duration and duration_ms"),
        ("session=s,tool=t,start=a,end=b,duration=c", "one of end, duration and duration_ms"),
        ("session=s,tool=t,start=a,duration=c,duration_ms=d", "duration is named twice"),
        ("session=s,tool=t,start:h=a,end=b", "units are s, ms, us, ns"),
        ("session=s,tool:ms=t,start=a,end=b", "tool is no time and has no unit"),
        ("session=s,tool=t,start=a,duration_ms:s=b", "duration_ms:s is not known"),
        ("session=s,tool=t,start==now,end=b", "start needs a column"),
        ("session=s,arrival=a,end=b,end_kind=k", "end_kind speaks of a tool call, but no column is tool"),
        ('session="s,tool=t', "a double quote is not closed"),
    ],
)
def test_what_does_not_go(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        load_mapping(text)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


names = st.text(min_size=1, max_size=12)


@given(columns=st.lists(names, min_size=6, max_size=6), unit=st.sampled_from(["s", "ms", "us", "ns"]))
def test_a_mapping_file_gives_the_same_mapping(
    tmp_path_factory: pytest.TempPathFactory, columns: list[str], unit: str
) -> None:
    session, tool, start, end, model, provider = columns
    mapping = Mapping(
        (
            Served("session", session),
            Served("tool", tool),
            Served("start", start, unit=unit),  # type: ignore[arg-type]
            Served("end", end),
            Served("model", model),
            Served("provider", value=provider),
        )
    )
    assert tuple(served.field for served in mapping.served) == ("session", "tool", "start", "end", "model", "provider")
    file = tmp_path_factory.mktemp("map") / "table.toml"
    file.write_text(mapping.to_toml(), encoding="utf-8")
    again = load_mapping(str(file))
    assert set(again.served) == set(mapping.served)
    places = [list(FIELDS).index(served.field) for served in again.served]
    assert places == sorted(places)


def test_second_names_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('[map]\nsession = "s"\ntool = { value = "Bash" }\nstart = "a"\nduration_ms = "d"\n')
    mapping = load_mapping(file)
    assert mapping.get("tool") == Served("tool", value="Bash")
    assert mapping.get("duration") == Served("duration", "d", unit="ms")
    assert tomllib.loads(mapping.to_toml())["map"]["duration"] == {"column": "d", "unit": "ms"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"session = ", "is not a TOML file"),
        (b"\xff\xfe", "is not a TOML file"),
        (b"x = 1", "has no [map] table"),
        (b"[map]\nsession = 3", "session is neither a column name nor"),
        (b"[map]\nsession = { column = 'a', value = 'b' }", "session may have column and unit, or value"),
        (b"[map]\nsession = { unit = 'ms' }", "session may have column and unit, or value"),
        (b"[map]\nsession = 'a'", "m.toml must name either start"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "m.toml"
    file.write_bytes(content)
    with pytest.raises(TracestatError) as error:
        load_mapping(file)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)
    assert str(tmp_path) not in str(error.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(TracestatError, match=r"^none.toml: no such file$"):
        load_mapping(str(tmp_path / "none.toml"))
