from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from tests.ingest.mapped.tables import CALLS_MAP, NAMES, csv_of, read
from tracestat.errors import UsageError
from tracestat.ingest.logs.model import Shell

SECONDS = "session=chat,tool=fn,start:s=t0,end:s=t1"
REQUESTED = f"{SECONDS},request_id=req"
BASE = dt.datetime(1970, 1, 1)


def at(time: dt.datetime | None) -> float | None:
    return None if time is None else (time - BASE).total_seconds()


def test_a_proxy_log(tmp_path: Path) -> None:
    content = csv_of(
        "conversation_id,function,called_at,returned_at,model_name,prompt",
        [
            "c-1,run_shell,2026-03-01T10:00:00Z,2026-03-01T10:00:04.5Z,gpt-5,private words",
            "c-2,lookup,2026-03-01T10:00:01Z,2026-03-01T10:00:02Z,our-model,private words",
            "c-1,lookup,2026-03-01T10:00:09Z,2026-03-01T10:00:10Z,gpt-5,private words",
        ],
    )
    spec = "session=conversation_id,tool=function,start=called_at,end=returned_at,model=model_name"
    found = read(tmp_path, content, spec)
    assert [(r["session_id"], r["round_index"], r["model"]) for r in found.rounds] == [
        (NAMES.id("session", "c-1"), 0, NAMES.model("gpt-5")),
        (NAMES.id("session", "c-1"), 1, NAMES.model("gpt-5")),
        (NAMES.id("session", "c-2"), 0, NAMES.model("our-model")),
    ]
    assert [(c["row"], c["tool_index"], c["tool_name"]) for c in found.calls] == [
        (0, 0, NAMES.tool("run_shell")),
        (1, 0, NAMES.tool("lookup")),
        (2, 0, NAMES.tool("lookup")),
    ]
    assert found.seconds() == [4.5, 1.0, 1.0]
    assert [c["tool_wall_latency_ms"] for c in found.calls] == [4500, 1000, 1000]
    assert {r["provider"] for r in found.rounds} == {"table"}
    words = repr((found.rounds, found.calls, found.events))
    assert "private" not in words
    assert "our-model" not in words
    assert "c-1" not in words


def test_what_a_table_does_not_say_is_null(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("chat,fn,t0,t1", ["a,x,1,2"]), SECONDS)
    known = {"row", "provider", "session_id", "round_index", "round_id", "trace_key", "current_tool_result_count"}
    assert {name for name, value in found.rounds[0].items() if value is not None} == known
    known = {"row", "tool_index", "tool_name", "tool_call_id", "emitted_at", "result_at", "tool_wall_latency_ms"}
    assert {name for name, value in found.calls[0].items() if value is not None} == known


def test_calls_that_overlap_are_of_one_round(tmp_path: Path) -> None:
    # 0-5 and 3-9 overlap; 9-10 begins when they have ended; 20 has no end; 20-21 begins with it; 30 alone
    rows = ["a,x,0,5", "a,y,3,9", "a,z,9,10", "a,v,20,", "a,w,20,21", "a,u,30,31"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1", rows), SECONDS)
    assert [(c["row"], c["tool_index"], at(c["emitted_at"])) for c in found.calls] == [
        (0, 0, 0),
        (0, 1, 3),
        (1, 0, 9),
        (2, 0, 20),
        (2, 1, 20),
        (3, 0, 30),
    ]
    assert [r["round_index"] for r in found.rounds] == [0, 1, 2, 3]
    assert "1 session, 4 rounds of up to 2 calls: a round is the calls that overlap" in found.told[5]
    assert found.told[6] == "1 call without an end: the pause is open"


def test_sessions_do_not_overlap_each_other(tmp_path: Path) -> None:
    rows = ["b,x,0,9", "a,x,1,9", "b,x,2,3", "a,x,20,21"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1", rows), SECONDS)
    assert [(r["session_id"], r["round_index"]) for r in found.rounds] == [
        (NAMES.id("session", "b"), 0),
        (NAMES.id("session", "a"), 0),
        (NAMES.id("session", "a"), 1),
    ]


def test_a_session_is_of_one_developer_and_provider(tmp_path: Path) -> None:
    rows = ["a,x,0,9,ann", "a,x,1,9,bob", "a,x,2,9,", "a,x,3,9,"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1,who", rows), f"{SECONDS},developer=who,provider==proxy")
    assert [(r["user"], r["round_index"], r["provider"]) for r in found.rounds] == [
        ("ann", 0, "proxy"),
        ("bob", 0, "proxy"),
        (None, 0, "proxy"),
    ]
    assert [c["row"] for c in found.calls] == [0, 1, 2, 2]


def test_the_request_says_what_a_round_is(tmp_path: Path) -> None:
    # r2 ran its calls one after the other; two rows name no request
    rows = ["a,x,0,5,r1", "a,y,3,9,r1", "a,z,10,12,r2", "a,z,12,13,r2", "a,v,20,25,", "a,w,21,22,"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1,req", rows), REQUESTED)
    assert [c["row"] for c in found.calls] == [0, 0, 1, 1, 2, 3]
    assert [r["round_id"] for r in found.rounds][:2] == [NAMES.id("round", "r1"), NAMES.id("round", "r2")]


def output_times(found: object) -> list[float | None]:
    return [at(e["timestamp"]) for e in found.events if e["event_type"] == "tool_call"]  # type: ignore[attr-defined]


def test_calls_that_waited_in_line_had_been_written_before(tmp_path: Path) -> None:
    # together; one after the other; three of which two can run at once
    rows = ["a,x,0,5,r1", "a,y,2,9,r1", "a,x,20,25,r2", "a,y,25,30,r2", "a,x,40,45,r3", "a,y,41,60,r3", "a,z,45,50,r3"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1,req", rows), REQUESTED)
    assert output_times(found) == [0, 2, 20, 20, 40, 41, 41]
    assert [at(c["emitted_at"]) for c in found.calls] == [0, 2, 20, 25, 40, 41, 45]


def test_a_result_goes_into_the_next_round(tmp_path: Path) -> None:
    rows = ["a,x,0,5", "a,y,1,4", "a,z,10,12", "b,x,0,1"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1", rows), SECONDS)
    assert [(e["row"], e["event_index"], e["event_type"], at(e["timestamp"])) for e in found.events] == [
        (0, 1, "tool_call", 0),
        (0, 2, "tool_call", 1),
        (1, 1, "tool_result", 4),
        (1, 2, "tool_result", 5),
        (1, 3, "tool_call", 10),
        (1, 4, "tool_result", 12),  # no later round takes it in
        (2, 1, "tool_call", 0),
        (2, 2, "tool_result", 1),
    ]
    assert [(r["current_tool_result_count"], r["first_input_event_type"]) for r in found.rounds] == [
        (0, None),
        (2, "tool_result"),
        (0, None),
    ]
    ids = [c["tool_call_id"] for c in found.calls]
    assert [e["tool_call_id"] for e in found.events] == [ids[i] for i in (0, 1, 1, 0, 2, 2, 3, 3)]
    assert {e["source"] for e in found.events} == {"table"}


def test_durations_stand_for_ends(tmp_path: Path) -> None:
    content = csv_of("chat,fn,t0,took", ["a,x,0,1500", "a,x,10,0.25", "a,x,20,", "a,x,30,-1", "a,x,40,soon"])
    found = read(tmp_path, content, "session=chat,tool=fn,start:s=t0,duration_ms=took")
    assert found.seconds() == [1.5, 0.00025, None]
    assert found.reasons() == [(5, "duration is no number from 0 up"), (6, "duration is no number from 0 up")]
    found = read(tmp_path, content, "session=chat,tool=fn,start:s=t0,duration=took")
    assert found.seconds() == [1500.0, 0.25, None]


def test_tokens(tmp_path: Path) -> None:
    spec = f"{SECONDS},input_tokens=i,cached_tokens=c,output_tokens=o"
    rows = [
        "a,x,0,5,100,80,7",
        "a,x,1,5,,,9",
        "a,x,10,11,50,,",
        "a,x,20,21,50,51,1",
        "a,x,30,31,1.5,,",
        "a,x,40,41,-1,,",
    ]
    found = read(tmp_path, csv_of("chat,fn,t0,t1,i,c,o", rows), spec)
    names = ("input_tokens_total", "prefix_tokens", "newly_append_tokens", "output_tokens")
    assert [tuple(r[name] for name in names) for r in found.rounds] == [(100, 80, 20, 7), (50, None, None, None)]
    assert found.reasons() == [
        (5, "cached_tokens is more than input_tokens, of which it is a part"),
        (6, "input_tokens is no whole number from 0 up"),
        (7, "input_tokens is no whole number from 0 up"),
    ]


def test_end_kinds_and_limits(tmp_path: Path) -> None:
    words = ["completed", "OK", " success", "error", "failed", "deadline", "running", "timeout", "refused"]
    words += ["interrupted", "cancelled", "background", "", "exploded"]
    rows = [f"a,x,{10 * i},{10 * i + 1},{word},3" for i, word in enumerate(words)]
    found = read(tmp_path, csv_of("chat,fn,t0,t1,how,limit", rows), f"{SECONDS},end_kind=how,asked_limit_ms=limit")
    assert [(c["command_status"], c["is_error"]) for c in found.calls] == [
        ("finished", None),
        ("finished", False),
        ("finished", False),
        ("failed", True),
        ("failed", True),
        ("running", None),
        ("running", None),
        ("timeout", None),
        ("refused", None),
        ("aborted", None),
        ("aborted", None),
        ("background", None),
        (None, None),
    ]
    assert {c["asked_limit_seconds"] for c in found.calls} == {0.003}
    ((line, reason),) = found.reasons()
    assert line == 15
    assert reason.startswith("end_kind is none of completed, ok, success, error")
    assert "exploded" not in reason


def test_errors_overrule_the_end_kind(tmp_path: Path) -> None:
    rows = ["a,x,0,1,ok,true", "a,x,2,3,error,", "a,x,4,5,,0", "a,x,6,7,,maybe", "a,x,8,9,failed,No"]
    found = read(tmp_path, csv_of("chat,fn,t0,t1,how,bad", rows), f"{SECONDS},end_kind=how,is_error=bad")
    assert [c["is_error"] for c in found.calls] == [True, True, False, False]
    assert found.reasons() == [(5, "is_error is neither true nor false")]


def test_a_repeated_call_id_is_read_once(tmp_path: Path) -> None:
    rows = [
        "a,x,0,1,k1",
        "a,x,0,1,k1",
        "b,x,0,1,k1",
        "a,x,2,3,",
        "a,x,4,5,",
        "a,x,6,7,k2",
        "a,x,bad,7,k3",
        "a,x,8,9,k3",
    ]
    found = read(tmp_path, csv_of("chat,fn,t0,t1,id", rows), f"{SECONDS},call_id=id")
    assert found.reasons() == [(3, "repeats the call_id of an earlier line of its session"), (8, "start is no time")]
    ids = [c["tool_call_id"] for c in found.calls]
    assert [ids[i] for i in (0, 3, 4, 5)] == [NAMES.id("call", key) for key in ("k1", "k2", "k3", "k1")]
    assert len(set(ids)) == 5


def test_ids_that_are_made_do_not_depend_on_the_order_of_the_lines(tmp_path: Path) -> None:
    rows = ["a,x,0,5", "a,y,1,4", "a,z,10,12", "b,x,0,1", "b,x,7,"]
    one = read(tmp_path, csv_of("chat,fn,t0,t1", rows), SECONDS)
    other = read(tmp_path, csv_of("chat,fn,t0,t1", rows[::-1]), SECONDS)
    assert {c["tool_call_id"] for c in one.calls} == {c["tool_call_id"] for c in other.calls}
    assert {r["round_id"] for r in one.rounds} == {r["round_id"] for r in other.rounds}
    assert len({c["tool_call_id"] for c in one.calls}) == 5
    grown = read(tmp_path, csv_of("chat,fn,t0,t1", [*rows[:4], "b,x,7,8", "b,x,9,10"]), SECONDS)
    assert {c["tool_call_id"] for c in one.calls} < {c["tool_call_id"] for c in grown.calls}


def test_ends_before_starts_are_kept_and_told(tmp_path: Path) -> None:
    found = read(tmp_path, csv_of("chat,fn,t0,t1", ["a,x,0,1", "a,x,10,9.9999", "a,x,20,22"]), SECONDS)
    assert found.seconds() == [1.0, -0.0001, 2.0]
    assert [c["tool_wall_latency_ms"] for c in found.calls] == [1000, -1, 2000]
    assert "1 row with an end before its beginning: kept as it is" in found.told


def test_start_and_end_swapped(tmp_path: Path) -> None:
    content = csv_of("chat,fn,t0,t1", ["a,x,5,1", "a,x,15,11", "a,x,20,22"])
    with pytest.raises(UsageError, match="2 of 3 rows end before they begin: are start and end swapped"):
        read(tmp_path, content, SECONDS)
    assert read(tmp_path, content, SECONDS, force=True).seconds() == [-4.0, -4.0, 2.0]


def test_of_a_command_the_skeleton_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def shell_of(command: object, _: object) -> Shell:
        seen.append(command)
        return Shell(("make", "?0123456789ab"), "success", None, "make && ?0123456789ab", "f00d")

    monkeypatch.setattr("tracestat.ingest.mapped.rows.shell_of", shell_of)
    content = (
        '{"chat": "a", "t0": 1, "t1": 2, "cmd": "make && /home/me/secret.sh"}\n'
        '{"chat": "a", "t0": 3, "t1": 4, "cmd": ["make", "-j 4"]}\n'
        '{"chat": "a", "t0": 5, "t1": 6, "cmd": "[ -f x ] && make"}\n'
        '{"chat": "a", "t0": 7, "t1": 8}\n'
    )
    spec = "session=chat,tool==Bash,start:s=t0,end:s=t1,command=cmd"
    found = read(tmp_path, content, spec, name="t.jsonl")
    assert seen == ["make && /home/me/secret.sh", ["make", "-j 4"], "[ -f x ] && make"]
    kept = [(c["executables"], c["command_skeleton"], c["command_fingerprint"]) for c in found.calls]
    assert kept == [(["make", "?0123456789ab"], "make && ?0123456789ab", "f00d")] * 3 + [(None, None, None)]
    assert [c["executable_parse_status"] for c in found.calls] == ["success"] * 3 + [None]
    assert "secret" not in repr(found)


def test_a_tool_is_needed(tmp_path: Path) -> None:
    rows = ["a,x,0,1", ",x,0,1", "a,,0,1", "a,x,,1", "a,x,10,11", "a,x,20,21"]
    assert read(tmp_path, csv_of("chat,fn,t0,t1", rows), SECONDS).reasons() == [
        (3, "missing session"),
        (4, "missing tool"),
        (5, "missing start"),
    ]


def test_nothing_in_it(tmp_path: Path) -> None:
    found = read(tmp_path, "chat,fn,t0,t1\n", CALLS_MAP)
    assert (found.rounds, found.calls, found.events, found.rejects, found.read) == ([], [], [], [], 0)
    assert found.told[0] == "table.csv: a table of tool calls: 0 rows = 0 kept + 0 rejected"
