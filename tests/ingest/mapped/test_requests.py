from __future__ import annotations

import datetime as dt
from pathlib import Path

from tests.ingest.mapped.tables import NAMES, Read, csv_of, read

SECONDS = "session=chat,arrival:s=t0,end:s=t1"
WITH_TOOL = f"{SECONDS},tool=fn"
BASE = dt.datetime(1970, 1, 1)


def at(time: dt.datetime | None) -> float | None:
    return None if time is None else (time - BASE).total_seconds()


def pauses(found: Read) -> list[tuple[int, float | None, float | None]]:
    return [(c["row"], at(c["emitted_at"]), at(c["result_at"])) for c in found.calls]


def events(found: Read) -> list[tuple[int, str, float | None]]:
    return [(e["row"], e["event_type"], at(e["timestamp"])) for e in found.events]


def test_the_gap_is_the_pause(tmp_path: Path) -> None:
    rows = ["a,10,12", "b,11,13", "a,15,18", "a,18,19"]  # the last one arrives as the one before ends
    found = read(tmp_path, csv_of("chat,t0,t1", rows), SECONDS)
    assert pauses(found) == [(0, 12, 15), (1, 18, 18)]
    assert [(r["session_id"], r["round_index"]) for r in found.rounds] == [
        (NAMES.id("session", "a"), 0),
        (NAMES.id("session", "a"), 1),
        (NAMES.id("session", "a"), 2),
        (NAMES.id("session", "b"), 0),
    ]
    assert {c["tool_name"] for c in found.calls} == {None}
    assert {c["start_kind"] for c in found.calls} == {"emission"}
    assert events(found) == [
        (0, "user_message", 10),
        (0, "text", 12),
        (0, "tool_call", 12),
        (1, "tool_result", 15),
        (1, "text", 18),
        (1, "tool_call", 18),
        (2, "tool_result", 18),
        (2, "text", 19),
        (3, "user_message", 11),
        (3, "text", 13),
    ]
    assert found.told[-2:] == (
        "2 sessions whose last request is followed by nothing: no pause",
        "2 pauses from the end of a request to the next arrival of its session",
    )


def test_a_tool_is_that_of_the_pause_after(tmp_path: Path) -> None:
    rows = ["a,10,12,Bash", "a,15,18,", "a,30,31,Read", "b,1,2,Grep"]
    found = read(tmp_path, csv_of("chat,t0,t1,fn", rows), WITH_TOOL)
    # after 18 a human; Read and Grep were called and nothing came after
    assert pauses(found) == [(0, 12, 15), (2, 31, None), (3, 2, None)]
    assert [c["tool_name"] for c in found.calls] == [NAMES.tool(name) for name in ("Bash", "Read", "Grep")]
    assert [e for e in events(found) if e[1] == "user_message"] == [
        (0, "user_message", 10),
        (2, "user_message", 30),
        (3, "user_message", 1),
    ]
    assert [r["first_input_event_type"] for r in found.rounds] == [
        "user_message",
        "tool_result",
        "user_message",
        "user_message",
    ]


def test_requests_that_overlap_have_one_pause_after_them(tmp_path: Path) -> None:
    # 2-4 runs inside 0-10; the pause begins when the last of them has ended
    rows = ["a,0,10,Task", "a,2,4,Read", "a,12,13,Bash", "a,13,15,"]
    found = read(tmp_path, csv_of("chat,t0,t1,fn", rows), WITH_TOOL)
    assert pauses(found) == [(0, 10, 12), (2, 13, 13)]
    assert [c["tool_name"] for c in found.calls] == [NAMES.tool("Task"), NAMES.tool("Bash")]
    assert (1, "text", 4) in events(found)
    assert not [e for e in events(found) if e[0] == 1 and e[1] != "text"]  # it came from neither user nor tool
    assert "1 request that arrived while another of its session ran: no pause between" in found.told


def test_a_request_without_an_end(tmp_path: Path) -> None:
    rows = ["a,0,2", "a,5,", "a,9,10", "a,14,15"]
    found = read(tmp_path, csv_of("chat,t0,t1", rows), SECONDS)
    # the pause before it is known, the one after it is not
    assert pauses(found) == [(0, 2, 5), (2, 10, 14)]
    assert (1, "tool_result", 5) in events(found)
    assert "1 gap after a request without an end: no pause, since its start is not known" in found.told


def test_durations_stand_for_ends(tmp_path: Path) -> None:
    content = csv_of("chat,t0,took", ["a,0,2000", "a,5,500"])
    found = read(tmp_path, content, "session=chat,arrival:s=t0,duration_ms=took")
    assert pauses(found) == [(0, 2, 5)]


def test_what_belongs_to_the_call_goes_with_it(tmp_path: Path) -> None:
    rows = ["a,0,2,Bash,timeout,1.5,q1,100", "a,5,6,,,,q2,200", "a,5,6,Bash,ok,,q2,200"]
    spec = f"{WITH_TOOL},end_kind=how,asked_limit=limit,request_id=q,input_tokens=i"
    found = read(tmp_path, csv_of("chat,t0,t1,fn,how,limit,q,i", rows), spec)
    assert found.reasons() == [(4, "repeats the request_id of an earlier line of its session")]
    assert {reject.part for reject in found.rejects} == {"round"}
    (call,) = found.calls
    assert (call["command_status"], call["asked_limit_seconds"]) == ("timeout", 1.5)
    assert [(r["round_id"], r["input_tokens_total"]) for r in found.rounds] == [
        (NAMES.id("round", "q1"), 100),
        (NAMES.id("round", "q2"), 200),
    ]


def test_the_order_of_the_lines_does_not_matter(tmp_path: Path) -> None:
    rows = ["a,0,2", "a,5,9", "a,7,8", "a,12,13", "a,12,14"]
    one = read(tmp_path, csv_of("chat,t0,t1", rows), SECONDS)
    other = read(tmp_path, csv_of("chat,t0,t1", rows[::-1]), SECONDS)
    assert pauses(one) == pauses(other) == [(0, 2, 5), (1, 9, 12)]
    assert len({r["round_id"] for r in one.rounds}) == 5
