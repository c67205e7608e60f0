from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.logs.rounds_from import NAMES, calls_of, kept, read, rounds_of, seconds
from tracestat.ingest.logs import otel
from tracestat.ingest.logs.format import UnreadableError
from tracestat.ingest.logs.model import Call, Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.otel import OTEL

Json = dict[str, Any]
T0 = 1_780_000_000_000_000_000


def value(of: object) -> Json:
    if isinstance(of, bool):
        return {"boolValue": of}
    if isinstance(of, int):
        return {"intValue": str(of)}
    return {"doubleValue": of} if isinstance(of, float) else {"stringValue": of}


def attributes(given_: dict[str, Any]) -> list[Json]:
    return [{"key": key, "value": value(of)} for key, of in given_.items()]


def span(name: str, start: float, end: float | None, *, id: str = "", parent: str = "", **more: Any) -> Json:  # noqa: A002
    """Make a span; keyword arguments are attributes with `_` for `.`, unless they begin with a capital."""
    own = {key.lower(): of for key, of in more.items() if key[0].isupper()}
    told = {key.replace("__", "."): of for key, of in more.items() if key[0].islower()}
    return {
        "traceId": own.get("trace", "t1"),
        "spanId": id or f"{name}@{start}",
        "parentSpanId": parent,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(T0 + round(start * 1e9)),
        "endTimeUnixNano": "0" if end is None else str(T0 + round(end * 1e9)),
        "attributes": attributes(told),
        "status": own.get("status", {}),
    }


def export(*spans: Json, **resource: Any) -> Json:
    shared = attributes({key.replace("__", "."): of for key, of in resource.items()})
    return {
        "resourceSpans": [{"resource": {"attributes": shared}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]
    }


def chat(start: float, end: float | None, **more: Any) -> Json:
    return span("chat m", start, end, gen_ai__operation__name="chat", parent=more.pop("parent", "agent"), **more)


def tool(name: str, start: float, end: float | None, **more: Any) -> Json:
    told = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": name,
        "gen_ai__tool__call__id": f"c-{start}",
    }
    return span(f"execute_tool {name}", start, end, parent=more.pop("parent", "agent"), **(told | more))


AGENT = span("invoke_agent coder", 0, 100, id="agent", gen_ai__operation__name="invoke_agent")
USAGE = {"gen_ai__usage__input_tokens": 900, "gen_ai__usage__output_tokens": 40}


def us(seconds_: float) -> int:
    return (T0 + round(seconds_ * 1e9) + 500) // 1000


def only(*spans: Json) -> Call:
    (call,) = calls_of(rounds_of(OTEL, [export(*spans)]))
    return call


def test_a_tool_span_is_a_call_of_the_request_before_it() -> None:
    first, second = rounds_of(
        OTEL, [export(AGENT, chat(0, 5, **USAGE), tool("grep", 5.25, 7.5), chat(8, 9, gen_ai__provider__name="openai"))]
    )
    (call,) = first.calls
    assert (call.emitted_us, call.result_us, call.approval_seconds) == (us(5), us(7.5), 0.25)
    assert (call.start_kind, call.status, call.is_error, call.reported_ms) == ("real", "finished", False, None)
    assert (call.tool, call.is_subagent) == (NAMES.tool("grep"), False)
    assert [(e.type, e.time_us) for e in first.events] == [("tool_call", us(5))]
    assert [(e.type, e.time_us) for e in second.events] == [("tool_result", us(7.5)), ("text", us(9))]
    assert [first.round_index, second.round_index] == [0, 1]
    assert [first.provider, second.provider] == ["otel", "openai"]


@pytest.mark.parametrize("key", ["gen_ai__provider__name", "gen_ai__system"])
def test_both_vocabularies(key: str) -> None:
    names = {"gen_ai__usage__prompt_tokens": 900, "gen_ai__usage__completion_tokens": 40}
    for usage in (USAGE, names):
        (made,) = rounds_of(
            OTEL,
            [export(chat(0, 5, gen_ai__request__model="gpt-5.5", **usage, **{key: "anthropic"}), service__name="x")],
        )
        assert (made.provider, made.model) == ("anthropic", "gpt-5.5")
        assert (made.input_tokens_total, made.output_tokens) == (900, 40)
        assert made.project == NAMES.project("x")


def test_a_provider_of_ones_own_is_not_named() -> None:
    (made,) = rounds_of(OTEL, [export(chat(0, 5, gen_ai__provider__name="secret-gateway"))])
    assert made.provider == "otel"


def test_cached_tokens_are_part_of_the_input_unless_they_are_more() -> None:
    def tokens(**more: int) -> tuple[int | None, ...]:
        usage = {f"gen_ai__usage__{key}__input_tokens": n for key, n in more.items()}
        (made,) = rounds_of(OTEL, [export(chat(0, 5, **USAGE, **usage))])
        return made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens

    assert tokens() == (900, None, None)
    assert tokens(cache_read=800) == (900, 800, 100)
    assert tokens(cache_read=5_000, cache_creation=100) == (6_000, 5_000, 1_000)


@pytest.mark.parametrize(
    ("more", "status", "is_error"),
    [
        ({"Status": {"code": 2}}, "failed", True),
        ({"Status": {"code": "STATUS_CODE_ERROR", "message": "secret"}}, "failed", True),
        ({"error__type": "TimeoutError"}, "failed", True),
        ({"Status": {"code": 1}}, "finished", False),
        ({}, "finished", False),
    ],
)
def test_status(more: Json, status: str, is_error: bool) -> None:
    call = only(AGENT, chat(0, 5), tool("grep", 6, 7, **more))
    assert (call.status, call.is_error) == (status, is_error)


def test_a_span_without_an_end_is_open() -> None:
    call = only(AGENT, chat(0, 5), tool("grep", 6, None))
    assert (call.result_us, call.status, call.is_error) == (None, None, None)


def test_times_may_be_numbers() -> None:
    spans = [AGENT, chat(0, 5), tool("grep", 6, 7)]
    for each in spans:
        for key in ("startTimeUnixNano", "endTimeUnixNano"):
            each[key] = int(each[key])
    assert seconds(only(*spans)) == 2.0


def test_nanoseconds_lose_nothing_above_a_microsecond() -> None:
    each = tool("grep", 6, 7)
    each["startTimeUnixNano"], each["endTimeUnixNano"] = "1780000006123456499", "1780000007123457500"
    call = only(each)
    assert (call.emitted_us, call.result_us) == (1780000006123456, 1780000007123458)


def test_serial_tools_wait_for_each_other_and_parallel_ones_do_not() -> None:
    spans = [AGENT, chat(0, 5), tool("a", 5.5, 8), tool("b", 5.5, 9, id="b"), tool("c", 9.25, 10)]
    (made,) = rounds_of(OTEL, [export(*spans)])
    assert [c.approval_seconds for c in made.calls] == [0.5, 0.5, 0.25]


def test_a_tool_may_start_before_the_answer_is_complete() -> None:
    call = only(AGENT, chat(0, 5), tool("grep", 4, 7))
    assert (call.emitted_us, seconds(call), call.approval_seconds) == (us(4), 3.0, 0)


def test_a_tool_that_runs_inside_of_its_request() -> None:
    (made,) = rounds_of(OTEL, [export(AGENT, chat(0, 20, id="q"), tool("grep", 6, 7, parent="q"))])
    (call,) = made.calls
    assert (call.emitted_us, seconds(call), call.approval_seconds) == (us(6), 1.0, None)
    assert [(e.type, e.time_us) for e in made.events] == [("tool_call", us(6))]  # no output after the result


def test_a_tool_inside_of_a_request_of_another_session_is_not_lost() -> None:
    talk = {"gen_ai__conversation__id": "one"}
    spans = [chat(0, 20, id="q", **talk), tool("grep", 6, 7, parent="q", gen_ai__conversation__id="two")]
    rounds = rounds_of(OTEL, [export(*spans)])
    assert [len(r.calls) for r in rounds] == [0, 1]
    assert len({r.session_id for r in rounds}) == 2


def test_a_tool_before_any_request_stands_alone() -> None:
    alone, _ = rounds_of(OTEL, [export(AGENT, tool("grep", 1, 2), chat(3, 5))])
    assert (alone.model, alone.events, [c.approval_seconds for c in alone.calls]) == (None, [], [None])


def test_spans_of_no_meaning_still_join_others() -> None:
    between = span("event_loop_cycle", 0, 50, id="cycle", parent="agent")
    call = only(AGENT, between, chat(0, 5, parent="cycle"), tool("grep", 6, 7, parent="agent"))
    assert (call.emitted_us, call.is_subagent) == (us(5), False)


def test_agents_side_by_side_do_not_share_calls() -> None:
    other = span("invoke_agent b", 0, 100, id="other", gen_ai__operation__name="invoke_agent")
    spans = [AGENT, other, chat(0, 5), chat(6, 9, parent="other", id="o"), tool("grep", 7, 8)]
    first, second = rounds_of(OTEL, [export(*spans)])
    assert ([len(first.calls), len(second.calls)], first.calls[0].emitted_us) == ([1, 0], us(5))


def test_an_agent_inside_of_a_tool_is_a_session_of_its_own() -> None:
    inner = span("invoke_agent helper", 6, 20, id="inner", parent="task", gen_ai__operation__name="invoke_agent")
    rounds = rounds_of(
        OTEL,
        [
            export(
                AGENT,
                chat(0, 5),
                tool("task", 6, 20, id="task"),
                inner,
                chat(7, 9, parent="inner"),
                tool("grep", 10, 11, parent="inner"),
                chat(21, 22),
            )
        ],
    )
    own = [r for r in rounds if r.session_id == rounds[0].session_id]
    (theirs,) = (r for r in rounds if r.session_id != rounds[0].session_id)
    assert [len(r.calls) for r in own] == [1, 0]
    assert [(c.is_subagent, c.emitted_us) for c in theirs.calls] == [(True, us(9))]
    assert [c.is_subagent for c in calls_of(own)] == [False]


def test_whether_it_is_a_sub_agent_is_not_known_where_a_parent_is_missing() -> None:
    assert only(chat(0, 5), tool("grep", 6, 7)).is_subagent is None


def test_a_conversation_goes_over_traces() -> None:
    first = [chat(0, 5, gen_ai__conversation__id="talk"), tool("grep", 6, 7)]
    second = [chat(50, 55, Trace="t2", gen_ai__conversation__id="talk"), tool("grep", 56, 57, Trace="t2")]
    rounds = rounds_of(OTEL, [export(*second), export(*first)])
    assert {r.session_id for r in rounds} == {NAMES.id("session", "otel\0talk")}
    assert [r.round_index for r in rounds] == [0, 1]
    assert rounds[0].calls[0].emitted_us == us(5)


def test_without_a_conversation_the_trace_is_the_session() -> None:
    rounds = rounds_of(OTEL, [export(chat(0, 5)), export(chat(50, 55, Trace="t2"))])
    assert len({r.session_id for r in rounds}) == 2


def test_parents_in_a_circle_end() -> None:
    call = only(tool("grep", 6, 7, id="x", parent="y"), span("loop", 0, 9, id="y", parent="x"))
    assert seconds(call) == 1.0


def test_an_export_tried_again_is_a_copy() -> None:
    whole = export(AGENT, chat(0, 5), tool("grep", 6, 7))
    (log,) = read(OTEL, [whole, whole])
    assert (len(calls_of(log.rounds)), log.left_out) == (1, {"copies of calls in another log": 1})
    assert log.counts == {"calls": 1, "results": 1}


def test_the_old_name_of_scopes_and_other_signals() -> None:
    old = export(chat(0, 5))
    (resource,) = old["resourceSpans"]
    resource["instrumentationLibrarySpans"] = resource.pop("scopeSpans")
    assert len(rounds_of(OTEL, [old])) == 1
    assert OTEL.recognises(old)
    assert OTEL.facts(b'{"resourceLogs": []}', NAMES).unknown == "resourceLogs"
    with pytest.raises(UnreadableError, match="not an export of spans"):
        OTEL.facts(b'{"secret": 1}', NAMES)


CLAUDE = {"session__id": "s1"}


def claude(*, decision: str = "accept", success: bool = True, ran: bool = True) -> list[Json]:
    spans = [
        span("claude_code.interaction", 0, 60, id="turn", user_prompt="secret", user_prompt_length=6, **CLAUDE),
        span(
            "claude_code.llm_request",
            1,
            5,
            parent="turn",
            model="claude-opus-4-8",
            input_tokens=2,
            cache_read_tokens=800,
            cache_creation_tokens=98,
            output_tokens=40,
            **CLAUDE,
        ),
        span(
            "claude_code.tool",
            5.5,
            40,
            id="w",
            parent="turn",
            tool_name="Bash",
            tool_use_id="toolu_1",
            full_command="ls",
        ),
        span("claude_code.tool.blocked_on_user", 5.5, 35, parent="w", decision=decision),
    ]
    return spans + ([span("claude_code.tool.execution", 35.5, 39, parent="w", success=success)] if ran else [])


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> list[str | Sequence[str]]:
    asked: list[str | Sequence[str]] = []

    def shell_of(command: str | Sequence[str], _: Names) -> Shell:
        asked.append(command)
        return Shell(("ls",), "success", None, "ls")

    monkeypatch.setattr(otel, "shell_of", shell_of)
    return asked


def test_claude_code_tells_the_wait_for_a_human_apart(shell: list[str | Sequence[str]]) -> None:
    (made,) = rounds_of(OTEL, [export(*claude())])
    (call,) = made.calls
    assert (call.emitted_us, call.result_us, call.approval_seconds) == (us(5), us(39), 29.5)
    assert (call.start_kind, call.status, call.is_error) == ("real", "finished", False)
    assert call.tool == NAMES.tool("Bash")
    assert call.shell == Shell(("ls",), "success", None, "ls")
    assert shell == ["ls"]
    assert (made.provider, made.session_id) == ("claude", NAMES.id("session", "otel\0s1"))
    assert (made.input_tokens_total, made.prefix_tokens, made.newly_append_tokens) == (900, 800, 100)
    assert made.claude_uncached_input_tokens == 2
    assert (made.claude_cache_creation_input_tokens, made.claude_cache_read_input_tokens) == (98, 800)
    assert [(e.type, e.time_us, e.content_chars) for e in made.events] == [
        ("user_message", us(0), 6),
        ("tool_call", us(5), None),
    ]


@pytest.mark.usefixtures("shell")
def test_claude_code_end_kinds() -> None:
    (failed,) = calls_of(rounds_of(OTEL, [export(*claude(success=False))]))
    assert (failed.status, failed.is_error) == ("failed", True)
    (refused,) = calls_of(rounds_of(OTEL, [export(*claude(decision="reject", ran=False))]))
    assert (refused.status, refused.is_error, refused.start_kind) == ("refused", None, "emission")
    assert (refused.result_us, refused.approval_seconds) == (us(40), 29.5)


@pytest.mark.usefixtures("shell")
def test_a_sub_agent_of_claude_code_has_an_id() -> None:
    own = [
        span("claude_code.llm_request", 36, 37, parent="e", agent_id="a7", **CLAUDE),
        span("claude_code.tool", 37, 38, parent="e", agent_id="a7", tool_name="Read", tool_use_id="toolu_2", **CLAUDE),
    ]
    rounds = rounds_of(OTEL, [export(*claude(), *own)])
    assert [[c.is_subagent for c in r.calls] for r in rounds] == [[False], [True]]
    assert len({r.session_id for r in rounds}) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"command": "ls -l", "timeout": 5}', ["ls -l"]),
        ('{"cmd": ["bash", "-lc", "ls"]}', [["bash", "-lc", "ls"]]),
        ('{"command": 5}', []),
        ("[1]", []),
        ("no json", []),
    ],
)
def test_the_command_of_a_shell_tool_is_parsed(
    shell: list[str | Sequence[str]], arguments: str, expected: list[str]
) -> None:
    only(tool("bash", 6, 7, gen_ai__tool__call__arguments=arguments))
    only(tool("grep", 6, 7, gen_ai__tool__call__arguments=arguments))
    assert shell == expected


def test_nothing_of_the_text_is_kept() -> None:
    content = export(
        chat(
            0, 5, gen_ai__input__messages="secret", gen_ai__conversation__id="secret", gen_ai__request__model="secret"
        ),
        tool("secret", 6, 7, gen_ai__tool__call__arguments="secret", gen_ai__tool__call__result="secret", id="secret"),
        span("secret", 6, 7, parent="secret", user_prompt="secret"),
        span("claude_code.secret", 6, 7, user__email="secret"),
        service__name="secret",
    )
    assert b"secret" not in b"".join(kept(OTEL, [content]))


@pytest.mark.parametrize("bad", ["yesterday", "-5", "9" * 25, ""])
def test_a_span_without_a_time_is_counted(bad: str) -> None:
    each = tool("grep", 6, 7)
    each["startTimeUnixNano"] = bad
    (log,) = read(OTEL, [export(each, chat(0, 5))])
    assert (len(log.rounds), calls_of(log.rounds), log.counts) == (1, [], {"spans without a time": 1})


SPANS = [
    AGENT,
    chat(0, 5),
    tool("a", 5.5, 8),
    tool("b", 5.6, 7),
    chat(9, 10),
    tool("task", 11, 30, id="task"),
    span("invoke_agent helper", 11, 29, id="inner", parent="task", gen_ai__operation__name="invoke_agent"),
    chat(12, 13, parent="inner"),
    tool("c", 14, 15, parent="inner"),
    chat(31, 32),
]


WORDS = st.sampled_from(["", "q", "w", "x", "y", "z"])
ANY_SPAN = st.builds(
    lambda kind, start, took, id, parent, talk: span(  # noqa: A006
        kind, start, start + took, id=id, parent=parent, **({"gen_ai__conversation__id": talk} if talk else {})
    ),
    st.sampled_from(
        ["chat m", "execute_tool t", "invoke_agent a", "step", "claude_code.tool", "claude_code.llm_request"]
    ),
    st.integers(0, 9),
    st.integers(0, 9),
    WORDS.filter(bool),
    WORDS,
    WORDS,
)


@given(st.lists(ANY_SPAN, max_size=8, unique_by=lambda each: each["spanId"]))
def test_no_tool_and_no_request_is_lost_whatever_spans_say_of_each_other(spans: list[Json]) -> None:
    rounds = rounds_of(OTEL, [export(*spans)])
    kinds = [each["name"] for each in spans]
    tools = kinds.count("execute_tool t") + kinds.count("claude_code.tool")
    assert len({call.id for call in calls_of(rounds)}) == len(calls_of(rounds)) == tools
    requests = {each["spanId"] for each in spans if each["name"] in ("chat m", "claude_code.llm_request")}
    assert {r.round_id for r in rounds} >= {NAMES.id("span", f"t1\0{name}") for name in requests}


@given(st.permutations(SPANS), st.lists(st.integers(0, len(SPANS)), min_size=2, max_size=2).map(sorted))
def test_neither_the_order_of_spans_nor_how_they_were_exported_matters(spans: list[Json], cuts: list[int]) -> None:
    first, second = cuts
    logs = [[export(*spans[:first]), export(*spans[first:second])], [export(*spans[second:])]]
    got, expected = rounds_of(OTEL, *logs), rounds_of(OTEL, [export(*SPANS)])
    assert [(r.session_id, r.round_index, r.events, r.calls) for r in got] == [
        (r.session_id, r.round_index, r.events, r.calls) for r in expected
    ]
    assert len(calls_of(got)) == 4
