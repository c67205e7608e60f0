"""Steps and the pauses after them: known answers by hand, laws that hold for any rows, and the real trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracestat
from tests.traces import Row, call, event, round_, stamp, write
from tracestat.durations.sequence import DEFAULT_HUMAN_GAP, HumanGap, parse_human_gap, session_sequence, with_pauses
from tracestat.durations.tracelab import choose_sessions, session_shares
from tracestat.errors import UsageError
from tracestat.ingest import ingest
from tracestat.store import Trace, open_store

Make = Callable[[Iterable[Mapping[str, Any]]], Trace]
Pause = tuple[float, float, str]


def message(at: float) -> Row:
    return event("user_message", at)


def result(call_id: str, at: float) -> Row:
    return event("tool_result", at, tool_call_id=call_id)


def steps(trace: Trace) -> pl.DataFrame:
    return session_sequence(trace, by=None)[0]


def pauses(trace: Trace) -> list[Pause]:
    """Tool seconds, human seconds and kind after every step."""
    return [tuple(row) for row in steps(trace).select("tool_seconds", "human_seconds", "kind").iter_rows()]


# ---- known answers: a session of two or three steps, what it pauses for after each

LAST = (0.0, 0.0, "end")


def then(*events: Row, text: float, index: int = 1) -> Row:
    """The step after."""
    return round_("s", index, text=text, events=events)


def after(*calls: Row, text: float | None = None) -> Row:
    """The first step, which answers a message at 0."""
    return round_("s", 0, list(calls), text=text, events=[message(0)])


KNOWN: dict[str, tuple[list[Row], list[Pause]]] = {
    "one step": ([after(text=5)], [LAST]),
    "a call that is the last thing": ([after(call("a", 5, 9))], [LAST]),
    "an open call that is the last thing": ([after(call("a", 5, None))], [LAST]),
    "a tool": ([after(call("a", 5, 12)), then(result("a", 12), text=20)], [(7, 0, "tool"), LAST]),
    "a tool of ten hours": (
        [after(call("a", 5, 36_005)), then(result("a", 36_005), text=36_020)],
        [(36_000, 0, "tool"), LAST],
    ),
    "a tool that takes no time": (
        [after(call("a", 5, 6), text=7), then(result("a", 6), text=20)],
        [(0, 0, "tool"), LAST],
    ),
    "text after the call": ([after(call("a", 5, 12), text=8), then(result("a", 12), text=20)], [(4, 0, "tool"), LAST]),
    "parallel calls: the longest": (
        [after(call("a", 5, 12), call("b", 5.5, 30.5, index=1)), then(result("a", 12), result("b", 30.5), text=40)],
        [(25, 0, "tool"), LAST],
    ),
    "a message": ([after(text=5), then(message(105), text=110)], [(0, 100, "human"), LAST]),
    "a message after a tool": (
        [after(call("a", 5, 12)), then(result("a", 12), message(100), text=110)],
        [(7, 88, "human"), LAST],
    ),
    "a message while the tool runs": (
        [after(call("a", 5, 12)), then(message(8), result("a", 12), text=20)],
        [(7, 0, "tool"), LAST],
    ),
    "a call that the user interrupts, then the message": (
        [after(call("a", 5, 15, command_status="aborted")), then(result("a", 15), message(40), text=50)],
        [(10, 25, "human"), LAST],
    ),
    "a tool that asks a person": (
        [after(call("a", 5, 65, "AskUserQuestion")), then(result("a", 65), text=70)],
        [(0, 60, "human"), LAST],
    ),
    "a tool that asks a person, beside another one": (
        [
            after(call("a", 5, 9), call("b", 5, 65, "AskUserQuestion", index=1)),
            then(result("a", 9), result("b", 65), text=70),
        ],
        [(0, 60, "human"), LAST],
    ),
    "a tool that asks a person who then writes": (
        [after(call("a", 5, 65, "AskUserQuestion")), then(result("a", 65), message(70), text=80)],
        [(0, 65, "human"), LAST],
    ),
    "a lost result, then a message": (
        [after(call("a", 5, None)), then(message(95), text=99)],
        [(0, 90, "human"), LAST],
    ),
    "a lost result, and nothing told why it went on": (
        # the next output is all that is known
        [after(call("a", 5, None)), then(text=30)],
        [(25, 0, "tool"), LAST],
    ),
    "one of two results lost": (
        # it went on with the other one: what follows is the answer to it, no tool
        [after(call("a", 5, 12), call("b", 5, None, index=1)), then(result("a", 12), text=30)],
        [(7, 0, "tool"), LAST],
    ),
    "superseded: the next step did not wait for all": (
        [after(call("a", 5, 12), call("b", 5, 50, index=1)), then(result("a", 12), text=30)],
        [(7, 0, "tool"), LAST],
    ),
    "superseded by a message": (
        [after(call("a", 5, 50)), then(message(11), text=30)],
        [(6, 0, "tool"), LAST],
    ),
    "background: the call returns at once": (
        [after(call("a", 5, 5.5, command_status="background")), then(result("a", 5.5), text=9)],
        [(0.5, 0, "tool"), LAST],
    ),
    "the notice of a job is no person's": (
        [
            after(call("a", 5, 6, command_status="background", job_ended_at=stamp(600))),
            then(result("a", 6), text=9),
            then(message(600.4), text=610, index=2),
        ],
        [(1, 0, "tool"), (591.4, 0, "tool"), LAST],
    ),
    "a message while a job runs is a person's": (
        [
            after(call("a", 5, 6, command_status="background", job_ended_at=stamp(600))),
            then(result("a", 6), text=9),
            then(message(300), text=310, index=2),
        ],
        [(1, 0, "tool"), (0, 291, "human"), LAST],
    ),
    "nothing in between": ([after(text=5), then(text=8)], [(0, 0, "none"), LAST]),
    "a message before the output it follows": ([after(text=5), then(message(3), text=8)], [(0, 0, "none"), LAST]),
}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Pause]]:
    """Answer all cases in one store, a session for each."""
    folder = tmp_path_factory.mktemp("known")
    rows = [own_session(row, n) for n, (case, _) in enumerate(KNOWN.values()) for row in case]
    ingest([write(folder / "rows.jsonl", rows)], folder / "a.duckdb")
    with open_store(folder / "a.duckdb") as trace:
        frame = steps(trace).join(trace.run("SELECT round_pk, session_id FROM rounds"), on="round_pk")
    sessions = frame.partition_by("session_id", as_dict=True)
    return {
        case: list(sessions[f"claude:s{n}",].select("tool_seconds", "human_seconds", "kind").iter_rows())
        for n, case in enumerate(KNOWN)
    }


def own_session(row: Row, n: int) -> Row:
    """Copy a round of the session "s" into another, with other ids."""

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(part) for part in value]
        if isinstance(value, dict):
            return {key: f"{part}-{n}" if key == "tool_call_id" else named(part) for key, part in value.items()}
        return value

    more = {"session_id": f"{row['session_id']}{n}", "round_id": f"{row['round_id']}-{n}"}
    copy: Row = named(row) | more
    return copy


@pytest.mark.parametrize("case", KNOWN)
def test_known_answers(known: dict[str, list[Pause]], case: str) -> None:
    assert known[case] == [(pytest.approx(tool), pytest.approx(human), kind) for tool, human, kind in KNOWN[case][1]]


def test_a_step_says_what_it_took_and_what_its_pause_was_for(store_of: Make) -> None:
    tokens = {"prefix_tokens": 3, "newly_append_tokens": 40, "input_tokens_total": 43, "output_tokens": 7}
    asked = call("a", 5, 12, command_skeleton="make", executables=["make"], asked_limit_seconds=120.0)
    rows = [
        round_("s", 0, [asked], events=[message(2)], project="p", model="m", **tokens),
        then(result("a", 12), text=20),
    ]
    first, second = steps(store_of(rows)).iter_rows(named=True)
    assert {name: first[name] for name in ("place", "request", "project", "model", "pause_known", "n_calls")} == {
        "place": 1, "request": 1, "project": "p", "model": "m", "pause_known": True, "n_calls": 1,
    }  # fmt: skip
    assert (first["prefix_tokens"], first["append_tokens"], first["output_tokens"]) == (3, 40, 7)
    assert (first["generation_seconds"], second["generation_seconds"]) == (3.0, 8.0)
    assert (first["tool"], first["command_skeleton"], first["asked_limit_seconds"]) == ("Bash", "make", 120.0)
    assert (first["end_kind"], first["observed"]) == ("completed", True)
    assert (second["end_kind"], second["tool"], second["n_calls"], second["place"]) == (None, None, 0, 2)


def test_stamps_that_tell_the_end_only_leave_the_pause_unknown(store_of: Make) -> None:
    rows = [after(call("a", 12, 12, start_kind="false")), then(result("a", 12), text=20)]
    first, last = steps(store_of(rows)).iter_rows(named=True)
    assert (first["tool_seconds"], first["kind"], first["pause_known"]) == (0.0, "tool", False)
    assert last["pause_known"]


def test_unknown_tokens_stay_unknown(store_of: Make) -> None:
    nothing = dict.fromkeys(("prefix_tokens", "newly_append_tokens", "input_tokens_total", "output_tokens"))
    (row,) = steps(store_of([round_("s", 0, text=5, **nothing)])).iter_rows(named=True)
    assert (row["prefix_tokens"], row["append_tokens"], row["output_tokens"]) == (None, None, None)
    assert (row["submitted_at"], row["generation_seconds"]) == (None, None)


def test_a_resumed_session_has_only_its_own_steps(store_of: Make) -> None:
    original = [after(call("a", 5, 12)), then(result("a", 12), text=20)]
    copies = [{**row, "session_id": "claude:t", "trace_key": f"claude:t:{i}"} for i, row in enumerate(original)]
    own = round_("t", 2, text=1000, events=[message(900)])
    frame = steps(store_of([*original, *copies, own]))
    assert frame.select("session", "place", "kind").rows() == [
        ("claude:s", 1, "tool"),
        ("claude:s", 2, "end"),
        ("claude:t", 1, "end"),
    ]


def test_one_session_id_of_two_developers_is_two_sessions(store_of: Make) -> None:
    rows = [
        round_("s", 0, text=5, events=[message(0)]),
        round_("s", 0, text=6, events=[message(1)], user="user_00000002"),
        round_("s", 1, text=100, events=[message(50)]),
        round_("s", 1, text=100, events=[message(60)], user="user_00000002"),
    ]
    found = steps(store_of(rows))
    assert found.select("developer", "place", "human_seconds").rows() == [
        ("user_00000001", 1, 45.0),
        ("user_00000001", 2, 0.0),
        ("user_00000002", 1, 54.0),
        ("user_00000002", 2, 0.0),
    ]
    assert found["session_pk"].n_unique() == 2


def test_whole_sessions_are_chosen(store_of: Make) -> None:
    rows = [after(text=5), then(message(9), text=10), round_("late", 0, text=90_000, events=[message(89_000)])]
    trace = store_of(rows)
    assert session_sequence(trace, where="session = 'claude:s'")[0].height == 2
    assert session_sequence(trace, since="2026-03-03", tz="UTC")[0]["session"].to_list() == ["claude:late"]
    assert session_sequence(trace, where="session = 'none'")[0].is_empty()
    with pytest.raises(UsageError, match="whole sessions"):
        session_sequence(trace, where="tool = 'Bash'")


# ---- human gaps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cap:60", HumanGap("cap", 60.0)),
        ("cap:0.5", HumanGap("cap", 0.5)),
        ("cap:1234567.25", HumanGap("cap", 1234567.25)),
        ("keep", HumanGap("keep")),
        ("drop", HumanGap("drop")),
    ],
)
def test_a_human_gap_is_read_and_written(text: str, expected: HumanGap) -> None:
    assert parse_human_gap(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    "text", ["", "cap", "cap:", "cap:0", "cap:-1", "cap:nan", "cap:inf", "keep:5", "drop:", "Cap:60", "end"]
)
def test_another_human_gap_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--human-gap"):
        parse_human_gap(text)


def test_a_session_ends_at_a_human_gap_only_where_that_is_allowed() -> None:
    assert parse_human_gap("end", may_end=True) == HumanGap("end")
    with pytest.raises(UsageError, match="keep, drop or end"):
        parse_human_gap("end:5", may_end=True)


@pytest.mark.parametrize(
    ("gap", "expected"),
    [(DEFAULT_HUMAN_GAP, [7267.0, 60.0]), (HumanGap("keep"), [7307.0, 60.0]), (HumanGap("drop"), [7207.0, 0.0])],
    ids=str,
)
def test_the_rule_never_touches_the_tools_time(gap: HumanGap, expected: Sequence[float]) -> None:
    frame = pl.DataFrame({"tool_seconds": [7207.0, 0.0], "human_seconds": [100.0, 60.0]})
    found = with_pauses(frame, gap)
    assert found["pause_after_seconds"].to_list() == expected
    assert found["tool_seconds"].to_list() == [7207.0, 0.0]


# ---- laws that hold for any rows

_MOMENT = st.integers(0, 40).map(float)
_STATUS = st.sampled_from([None, "running", "aborted", "background", "timeout", "refused"])


@st.composite
def _any_session(draw: st.DrawFn, name: str) -> list[Row]:
    """A session in which anything may come at any time."""
    rows = []
    for index in range(draw(st.integers(1, 4))):
        calls = [
            call(
                f"{name}{index}{n}",
                begin := draw(_MOMENT),
                draw(st.none() | st.integers(0, 30).map(lambda more, begin=begin: begin + more)),  # type: ignore[misc]
                draw(st.sampled_from(["Bash", "Task", "AskUserQuestion"])),
                index=n,
                command_status=draw(_STATUS),
            )
            for n in range(draw(st.integers(0, 2)))
        ]
        events = [message(draw(_MOMENT)) for _ in range(draw(st.integers(0, 1)))]
        rows.append(round_(name, index, calls, text=draw(st.none() | _MOMENT), events=events))
    return rows


@st.composite
def _coherent_session(draw: st.DrawFn, name: str) -> list[Row]:
    """A session in order: a step starts when all its results, and a message if there is one, are in."""
    at = draw(_MOMENT)
    rows: list[Row] = []
    inputs = [message(at)]
    for index in range(draw(st.integers(1, 5))):
        output = at + draw(st.integers(1, 9))
        ends = [output + draw(st.integers(0, 50)) for _ in range(draw(st.integers(0, 2)))]
        tool = st.sampled_from(["Bash", "AskUserQuestion"])
        calls = [call(f"{name}{index}{n}", output, end, draw(tool), index=n) for n, end in enumerate(ends)]
        rows.append(round_(name, index, calls, text=output, events=inputs))
        inputs = [result(f"{name}{index}{n}", end) for n, end in enumerate(ends)]
        at = max([output, *ends])
        if not calls or draw(st.booleans()):
            at += draw(st.integers(1, 500))
            inputs.append(message(at))
    return rows


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sequence")


def _checked(folder: Path, rows: list[Row]) -> pl.DataFrame:
    out = folder / "rows.duckdb"
    out.unlink(missing_ok=True)
    ingest([write(folder / "rows.jsonl", rows)], out)
    with open_store(out) as trace:
        frame = steps(trace)
        assert frame.height == len(rows) == trace.counts["rounds"]
    for session in frame.partition_by("session_pk", maintain_order=True):
        assert session["place"].to_list() == list(range(1, session.height + 1))
        assert (session["kind"] == "end").to_list() == [False] * (session.height - 1) + [True]
    assert frame["tool_seconds"].min() >= 0  # type: ignore[operator]
    assert frame["human_seconds"].min() >= 0  # type: ignore[operator]
    assert not frame.select(pl.any_horizontal(pl.col("tool_seconds", "human_seconds").is_null())).to_series().any()
    still = frame.filter(pl.col("kind").is_in(["end", "none"]))
    assert still["tool_seconds"].sum() + still["human_seconds"].sum() == 0
    human = frame["kind"] == "human"
    asks = (frame["tool_class"] == "human").fill_null(value=False) | (frame["human_seconds"] > 0)
    assert not (human & ~asks & (frame["end_kind"] != "lost")).any()
    assert not ((frame["human_seconds"] > 0) & ~human).any()
    assert frame.filter(pl.col("kind") == "tool", pl.col("n_calls") == 0, pl.col("tool_seconds") == 0).is_empty()
    return frame


# a store takes half a second, so that an example is many sessions
_EXAMPLES = settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
_NAMES = [f"s{n}" for n in range(12)]


@_EXAMPLES
@given(sessions=st.tuples(*map(_any_session, _NAMES)))
@pytest.mark.full
def test_any_rows_give_each_step_once_and_no_negative_part(kept: Path, sessions: tuple[list[Row], ...]) -> None:
    _checked(kept, [row for session in sessions for row in session])


@_EXAMPLES
@given(sessions=st.tuples(*map(_coherent_session, _NAMES)))
@pytest.mark.full
def test_parts_add_up_from_the_last_output_to_the_next_submission(kept: Path, sessions: tuple[list[Row], ...]) -> None:
    frame = _checked(kept, [row for session in sessions for row in session])
    gap = (pl.col("submitted_at").shift(-1).over("session_pk") - pl.col("last_output")).dt.total_microseconds() / 1e6
    off = frame.with_columns(off=pl.col("tool_seconds") + pl.col("human_seconds") - gap).filter(pl.col("kind") != "end")
    assert off["off"].is_not_null().all()
    assert (off["off"].abs() < 1e-6).all()


# ---- the real trace


@pytest.fixture(scope="module")
def real(real_trace: Path) -> Iterable[Trace]:
    with tracestat.open(real_trace) as trace:
        yield trace


def test_real_steps_are_the_rounds_without_copies(real: Trace) -> None:
    frame = steps(real)
    shares = session_shares(real, choose_sessions(by=None)).filter(pl.col("rule") == "tracestat")
    assert frame.height == int(shares["n_steps"].sum())
    assert frame["session_pk"].n_unique() == shares.height
    assert frame["round_pk"].n_unique() == frame.height
    copies = real.counts["rounds"] - frame.height
    assert 0 < copies < 0.1 * frame.height


def test_real_pauses_are_those_of_the_table_pauses(real: Trace) -> None:
    frame = steps(real).join(real.run("SELECT round_pk, seconds FROM pauses"), on="round_pk", how="left")
    whole = frame.filter(pl.col("kind") != "end", pl.col("seconds").is_not_null())
    cut = pl.col("end_kind").is_in(["lost", "superseded"])
    asked = (pl.col("tool_class") == "human").fill_null(value=False)
    as_they_are = whole.filter(~cut, ~asked)
    assert as_they_are["tool_seconds"].to_list() == as_they_are["seconds"].clip(lower_bound=0.0).to_list()
    assert whole.filter(asked, pl.col("tool_seconds") > 0).is_empty()
    assert (whole.filter(cut)["tool_seconds"] <= whole.filter(cut)["seconds"]).all()
    assert as_they_are.height > 0.99 * whole.filter(~asked).height


def test_real_pauses_fill_the_gaps_between_steps(real: Trace) -> None:
    gap = (pl.col("submitted_at").shift(-1).over("session_pk") - pl.col("last_output")).dt.total_microseconds() / 1e6
    frame = steps(real).with_columns(gap=gap).filter(pl.col("kind") != "end", pl.col("gap").is_not_null())
    off = (frame["tool_seconds"] + frame["human_seconds"] - frame["gap"]).abs()
    assert int((off > 1e-6).sum()) <= 4  # agents that took turns in one log
    assert frame.height > 28_000


def test_real_totals_agree_with_the_section_of_sessions(real: Trace) -> None:
    parts = ("tool_seconds", "human_seconds", "generation_seconds")
    ours = steps(real).group_by("session_pk").agg(pl.col(parts).sum().name.prefix("sum_"))
    section = session_shares(real, choose_sessions(by=None)).filter(pl.col("rule") == "tracestat")
    both = ours.join(section, on="session_pk")
    assert both.height == ours.height
    for name in parts:
        # the section also counts what the last step of a session waited for
        assert float(both[f"sum_{name}"].sum()) == pytest.approx(float(both[name].sum()), rel=0.005)
    over = both.select(pl.sum_horizontal([f"sum_{name}" for name in parts]) - pl.col("span_seconds").cast(pl.Float64))
    assert int((over.to_series() > 1e-3).sum()) <= 1  # agents that took turns in one log
