"""Replay files read back by readers that know the formats alone: waits and tokens are the store's.

Also that the check can fail: a valid file whose waits stand one row too far is caught, for every format.
"""

from __future__ import annotations

import csv
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import tracestat
from tests.conftest import corpus_path
from tests.export.replay_readers import by_hand
from tests.export.replay_readers.formats import FORMATS, Format
from tests.export.replay_readers.model import Session
from tests.export.replay_readers.store import differences, sessions_of
from tests.traces import call, event, round_, write
from tracestat.durations.sequence import parse_human_gap, session_sequence
from tracestat.durations.subagents import subagent_links
from tracestat.export.attribution import about_path
from tracestat.ingest import ingest
from tracestat.store import Trace, open_store

RULES = ("cap:60", "keep", "drop")
OF_FORMAT = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
TEN_HOURS = 36_000.0


def due(trace: Trace, form: Format, rule: str = "cap:60") -> list[Session]:
    """What the file must say."""
    return sessions_of(trace, parse_human_gap(rule), form.block, context=form.context)


def exported(trace: Trace, folder: Path, form: Format, **options: Any) -> Path:
    """Write a file and give its path."""
    path = folder / f"replay{form.ending}"
    tracestat.export_replay(trace, path, format=form.name, **options)
    return path


def content(path: Path) -> dict[str, bytes]:
    """Give what an export left: names and bytes."""
    return {str(file.relative_to(path.parent)): file.read_bytes() for file in path.parent.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def sample() -> Iterator[Trace]:
    with tracestat.open() as trace:
        yield trace


@OF_FORMAT
@pytest.mark.first_case
def test_the_sample_comes_back(form: Format, sample: Trace, tmp_path: Path) -> None:
    # the formats that spell out every block of every prompt are large: a developer of the sample is enough for them
    where = "developer = 'user_e5c5af9e'" if form.block else None
    path = exported(sample, tmp_path, form, where=where)
    expected = sessions_of(sample, parse_human_gap("cap:60"), form.block, context=form.context, where=where)
    assert len(expected) == (12 if form.block else 120)
    assert differences(expected, form.read(path), form.within) == []


@pytest.mark.full
def test_the_real_trace_comes_back(real_trace: Path, tmp_path: Path) -> None:
    with tracestat.open(real_trace) as trace:
        steps = session_sequence(trace)[0]
        assert steps["tool_seconds"].max() > 600
        for form in FORMATS:
            if not form.block:
                path = tmp_path / f"replay{form.ending}"
                written = tracestat.export_replay(trace, path, format=form.name, human_gap="keep")
                assert differences(due(trace, form, "keep"), form.read(path), form.within) == [], form.name
                assert written.counts.steps == steps.height > 20_000
                assert written.counts.tool_us == pytest.approx(1e6 * steps["tool_seconds"].sum(), rel=1e-12)
                assert written.counts.human_us == pytest.approx(1e6 * steps["human_seconds"].sum(), rel=1e-12)


@pytest.mark.full
@OF_FORMAT
def test_every_block_of_the_real_trace_comes_back(form: Format, real_trace: Path, tmp_path: Path) -> None:
    with tracestat.open(real_trace) as trace:
        assert differences(due(trace, form), form.read(exported(trace, tmp_path, form)), form.within) == []


def session_rows(number: int, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make the rounds of one session: each a call or none, a pause of the tool, and perhaps a message after it."""
    rows, at = [], 1_000_000.0 * number
    said: float | None = at
    answered: dict[str, Any] | None = None
    for place, step in enumerate(steps):
        events = [] if said is None else [event("user_message", said)]
        if answered is not None:
            events.insert(0, event("tool_result", at, tool_call_id=answered["tool_call_id"]))
        start = (said if said is not None else at) + 1.0
        calls = [] if step["tool"] is None else [call(f"c{number}-{place}", start, start + step["tool"])]
        rows.append(
            round_(
                f"s{number}",
                place,
                calls,
                text=start,
                events=events,
                prefix_tokens=step["prefix"],
                newly_append_tokens=step["append"],
                output_tokens=step["output"],
            )
        )
        at = start + (step["tool"] or 0.0)
        said = None if step["human"] is None else at + step["human"]
        answered = calls[0] if calls else None
    return rows


STEP = st.fixed_dictionaries(
    {
        "tool": st.none() | st.sampled_from([0.0, 0.001, 1.5, TEN_HOURS]),
        "human": st.sampled_from([0.25, 59.0, 7200.0]),
        "asks": st.booleans(),
        "prefix": st.integers(0, 3000),
        "append": st.integers(0, 700),
        "output": st.integers(0, 300),
    }
).map(lambda step: step | {"human": step["human"] if step.pop("asks") or step["tool"] is None else None})
TRACES = st.lists(st.lists(STEP, min_size=1, max_size=6), min_size=1, max_size=5)


@settings(max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate])
@given(sessions=TRACES, rule=st.sampled_from(RULES))
def test_any_small_trace_comes_back(
    sessions: list[list[dict[str, Any]]], rule: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    comes_back(sessions, rule, tmp_path_factory)


@pytest.mark.full
@settings(max_examples=50, deadline=None)
@given(sessions=TRACES, rule=st.sampled_from(RULES))
def test_many_small_traces_come_back(
    sessions: list[list[dict[str, Any]]], rule: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    comes_back(sessions, rule, tmp_path_factory)


def comes_back(sessions: list[list[dict[str, Any]]], rule: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make a store of the sessions and read every format back."""
    folder = tmp_path_factory.mktemp("trace")
    rows = [row for number, steps in enumerate(sessions) for row in session_rows(number, steps)]
    ingest([write(folder / "rows.jsonl", rows)], folder / "store.duckdb")
    with open_store(folder / "store.duckdb") as trace:
        for form in FORMATS:
            target = folder / form.name
            target.mkdir()
            path = exported(trace, target, form, human_gap=rule)
            expected = due(trace, form, rule)
            assert len(expected) == len(sessions)
            assert differences(expected, form.read(path), form.within) == [], form.name


def long_pauses() -> list[dict[str, Any]]:
    """A session with a tool of ten hours, one of 1.5 s, a person of two hours; a second one of one round."""
    steps = [
        {"tool": TEN_HOURS, "human": None, "prefix": 0, "append": 1000, "output": 24},
        {"tool": 1.5, "human": None, "prefix": 1024, "append": 512, "output": 10},
        {"tool": None, "human": 7200.0, "prefix": 1546, "append": 100, "output": 10},
        {"tool": 3.0, "human": None, "prefix": 100, "append": 500, "output": 5},
    ]
    return session_rows(0, steps) + session_rows(1, steps[3:])


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    folder = tmp_path_factory.mktemp("long")
    ingest([write(folder / "rows.jsonl", long_pauses())], folder / "rows.duckdb")
    with open_store(folder / "rows.duckdb") as opened:
        yield opened


@OF_FORMAT
def test_a_tool_is_never_cut_short(form: Format, long: Trace, tmp_path: Path) -> None:
    for rule, human in {"cap:60": 60.0, "keep": 7200.0, "drop": 0.0}.items():
        folder = tmp_path / rule.replace(":", "")
        folder.mkdir()
        first, second = sorted(form.read(exported(long, folder, form, human_gap=rule)), key=lambda s: -len(s.steps))
        assert [step.after for step in first.steps] == pytest.approx([TEN_HOURS, 1.5, human, 0.0], abs=2e-6)
        assert [step.before for step in first.steps] == pytest.approx([0.0, TEN_HOURS, 1.5, human], abs=2e-6)
        assert [step.after for step in second.steps] == [0.0]
        if form.apart:
            assert [step.tool_after for step in first.steps] == pytest.approx([TEN_HOURS, 1.5, 0.0, 0.0])
            assert [step.human_after for step in first.steps] == pytest.approx([0.0, 0.0, human, 0.0])


def shift_rows(form: Format, path: Path) -> None:
    """Edit the file itself: every wait one row further within its session, all else as it was, still a valid file."""
    if form.name == "kv-cache-tester":
        for file in path.glob("*.json"):
            trace = json.loads(file.read_text())
            thinks = [0.0, 0.0, *(row["think_time"] for row in trace["requests"][1:-1])]
            free = trace["requests"][0]["t"]
            for row, think in zip(trace["requests"], thinks, strict=False):
                row["think_time"], row["t"] = think, free + think
                free = row["t"] + row["api_time"]
            file.write_text(json.dumps(trace))
    elif form.ending == ".csv":
        column = "think_time_us" if form.name == "blis-v2" else "tool_wait_after_ms"
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        _shift(rows, column, before=form.name == "blis-v2", least="1" if form.name == "blis-v2" else "0")
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    else:
        _shift_lines(form, path)


def _shift(rows: list[dict[str, Any]], column: str, *, before: bool, least: Any) -> None:
    for name in {row["session_id"] for row in rows}:
        mine = [row for row in rows if row["session_id"] == name]
        moved = mine[1:] if before else mine[:-1]
        for row, value in zip(moved, [least, *(row[column] for row in moved[:-1])], strict=False):
            row[column] = value


def _shift_lines(form: Format, path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    if form.name == "llmservingsim":
        for row in rows:
            subs = row["sub_requests"]
            values = [0, *(sub["tool_duration_ns"] for sub in subs[:-2])]
            for sub, value in zip(subs[:-1], values, strict=False):
                sub["tool_duration_ns"] = value
    elif form.name == "aiperf-mooncake":
        _shift(rows, "delay", before=True, least=0)
    else:
        flat = [row | row["dependencies"][0] for row in rows[1:] if row["dependencies"]]
        for column in ("delay_ms", "tool_wait_ms", "human_wait_ms"):
            values = [0.0, *(row[column] for row in flat[:-1])]
            for row, value in zip((row for row in rows[1:] if row["dependencies"]), values, strict=True):
                (row["dependencies"][0] if column == "delay_ms" else row)[column] = value
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@OF_FORMAT
def test_waits_on_the_wrong_row_are_caught(form: Format, long: Trace, tmp_path: Path) -> None:
    path = exported(long, tmp_path, form)
    assert differences(due(long, form), form.read(path), form.within) == []
    shift_rows(form, path)
    said = differences(due(long, form), form.read(path), form.within)
    assert any("step 1: after 0.0" in line or "step 1: after 1e-06" in line for line in said), said
    assert all("before" in line or "after" in line for line in said)


def test_sessions_begin_as_far_apart_as_recorded(store_of: Callable[..., Trace], tmp_path: Path) -> None:
    step = {"tool": 1.5, "human": None, "prefix": 0, "append": 70, "output": 5}
    trace = store_of([*session_rows(2, [step | {"append": 90}]), *session_rows(1, [step])])
    for form in FORMATS:
        if form.name == "kv-cache-tester":
            continue  # has no word for it, and refuses
        for start, due_ in (("zero", [(70, 0.0), (90, 0.0)]), ("recorded", [(70, 0.0), (90, 1_000_000.0)])):
            read = form.read(exported(trace, tmp_path, form, start=start))
            assert sorted((s.steps[0].prompt, s.arrival) for s in read) == due_, form.name


@OF_FORMAT
def test_the_same_bytes_twice_and_whose_they_are(form: Format, sample: Trace, tmp_path: Path) -> None:
    written = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = exported(sample, folder, form, sessions=4, licence="CC-BY-4.0", attribution="Müller & Söhne")
        written.append(content(path))
    assert written[0] == written[1]
    about = json.loads(about_path(path).read_text(encoding="utf-8"))
    assert (about["licence"], about["attribution"], about["synthetic"]) == ("CC-BY-4.0", "Müller & Söhne", True)
    notes = " ".join(about["notes"])
    assert "cap:60" in notes
    assert re.search(r"\bms\b|\bus\b|\bns\b|\bs\b", notes)
    assert not any(str(tmp_path).encode() in data for data in written[0].values())
    if form.name in ("blis-v2", "dynamo-agentic-mooncake"):
        inside = path.with_suffix(".yaml") if form.name == "blis-v2" else path
        head = inside.read_text(encoding="utf-8")
        head = head if form.name == "blis-v2" else head.splitlines()[0]
        assert "CC-BY-4.0" in head
        assert "Söhne" in head or json.dumps("Söhne")[1:-1] in head


def test_what_was_typed_by_hand_is_what_readers_read(tmp_path: Path) -> None:
    assert by_hand.write(tmp_path).keys() == {form.name for form in FORMATS}


@pytest.mark.full
@pytest.mark.parametrize("form", [form for form in FORMATS if form.block], ids=lambda form: form.name)
def test_sub_agents_hang_where_the_log_says(form: Format, tmp_path: Path) -> None:
    with tarfile.open(corpus_path("raw_claude_code.tar.gz")) as tar:
        tar.extractall(tmp_path / "logs", filter="data")
    ingest([tmp_path / "logs"], tmp_path / "store.duckdb")
    (tmp_path / "out").mkdir()
    with open_store(tmp_path / "store.duckdb") as trace:
        found = form.read(exported(trace, tmp_path / "out", form))
        expected = due(trace, form)
        links = subagent_links(trace).filter(pl.col("link") == "linked")
        assert differences(expected, found, form.within) == []
    tokens = {session.name: session.tokens for session in expected}
    said = sorted(
        (tokens[str(child)], tokens[str(parent)], place)
        for child, parent, place in links.select("session_pk", "parent_session_pk", "parent_place").iter_rows()
        if str(child) in tokens and str(parent) in tokens
    )
    named = {session.name: session.tokens for session in found}
    assert len(said) > 50
    assert said == sorted((s.tokens, named[s.parent[0]], s.parent[1]) for s in found if s.parent)
