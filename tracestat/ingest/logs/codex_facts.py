"""What one line of a Codex rollout says, kept without a word of its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

import msgspec

from tracestat.ingest.logs import codex_lines as lines
from tracestat.ingest.logs.amounts import count_of, micros_of
from tracestat.ingest.logs.codex_calls import CELLS, COMMANDS, Asking, asking, of_command, process_id, tool_name
from tracestat.ingest.logs.codex_kept import Answered, Asked, Cut, Ended, Kept, Opened, Ran, Spoke, Turn, Used
from tracestat.ingest.logs.codex_output import Printed, milliseconds_of, printed
from tracestat.ingest.logs.format import Facts, UnreadableError
from tracestat.ingest.logs.names import Names

__all__ = ["facts", "recognises"]

_ANY: Final = msgspec.json.Decoder(msgspec.Raw)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# the first 48 bits of an id of this kind are its time
_TIMED_ID: Final = re.compile(r"([0-9a-fA-F]{8})-([0-9a-fA-F]{4})-7[0-9a-fA-F]{3}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TYPE: Final = re.compile(r"(?=.{1,40}$)[A-Za-z]{1,24}(?:[-_.:][A-Za-z]{1,24}){0,4}")
_POLICIES: Final = frozenset({"never", "on-request", "on-failure", "untrusted", "unless-trusted", "granular", "reject"})
_NO_TIMES: Final = "a Codex log of mid 2025 or before: its lines have no times"

_At: TypeAlias = tuple[int, int | None]
_Reader: TypeAlias = Callable[[bytes, _At, Names], Kept | None]


def recognises(value: dict[str, Any]) -> bool:
    """Tell whether an object is a line of a rollout; the first of an old one has no payload, and is refused later."""
    kind = value.get("type")
    if isinstance(value.get("payload"), dict):
        return isinstance(value.get("timestamp"), str) and isinstance(kind, str) and kind in _TYPES
    return value.keys() >= {"id", "timestamp", "instructions"} or value.get("record_type") == "state"


def facts(raw: bytes, names: Names) -> Facts:
    """Read one line.

    Parameters
    ----------
    raw : bytes
        One JSON object.
    names : Names
        Makes pseudonyms.

    Returns
    -------
    Facts
        At most one fact.

    Raises
    ------
    UnreadableError
        A line without a time or a kind, or one whose id has another type.
    msgspec.DecodeError
        The text is no JSON.
    """
    try:
        head = lines.HEAD.decode(raw)
    except msgspec.ValidationError:
        raise _refusal(raw, "time, type or payload of another kind than in a Codex log") from None
    except RecursionError:
        raise UnreadableError("nested too deeply") from None
    kind, inner = head.type, None if head.payload is None else head.payload.type
    if head.timestamp is None or head.payload is None or kind is None:
        raise UnreadableError(_NO_TIMES if head.payload is None else "no time or no type")
    key = (kind, inner) if kind in _WITH_KINDS else (kind, None)
    try:
        reader = _READERS[key]
    except KeyError:
        return Facts(unknown=_unknown(key[1] or kind))
    if reader is None:
        return Facts()
    time_us = micros_of(_microseconds(head.timestamp), per_second=1_000_000)
    if time_us is None:
        raise UnreadableError("a time outside the years 1 to 9999")
    try:
        fact = reader(raw, (time_us, count_of(head.ordinal)), names)
    except msgspec.ValidationError:
        raise _refusal(raw, "a key of another type than in a Codex log") from None
    return Facts() if fact is None else Facts([fact])


def _refusal(raw: bytes, reason: str) -> UnreadableError:
    """Refuse an object; what is no JSON after all is for the reader of lines, who may find a record within."""
    _ANY.decode(raw)
    return UnreadableError(reason)


def _microseconds(time: datetime) -> int:
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _unknown(name: str) -> str:
    """Give the name of a type; what is no word of a harness may be somebody's."""
    return name if _TYPE.fullmatch(name) else "unnamed"


def _began_ms(text: str | None) -> int | None:
    """Give the time in an id that sorts by time."""
    match = _TIMED_ID.fullmatch(text) if text else None
    return None if match is None else int(match[1] + match[2], 16)


def _milliseconds(duration: lines.Duration | str | None) -> int | None:
    if not isinstance(duration, lines.Duration):
        return None
    return milliseconds_of(duration.secs + duration.nanos / 1e9)


def _meta(raw: bytes, at: _At, names: Names) -> Kept | None:
    meta = lines.META.decode(raw).payload
    own = meta.id or meta.session_id
    if own is None:
        return None
    subagent = meta.source.subagent if isinstance(meta.source, lines.Source) else None
    spawn = subagent.thread_spawn if isinstance(subagent, lines.Subagent) else None
    parents = (
        meta.forked_from_id,
        meta.parent_thread_id,
        spawn.parent_thread_id if spawn else None,
        meta.history_base.thread_id if meta.history_base else None,
        meta.session_id,  # of a sub-agent it is the parent's
    )
    place = meta.cwd or (meta.git.repository_url if meta.git else None)
    return Opened(
        *at,
        session=names.id("session", own),
        began_ms=_began_ms(own),
        parents=tuple(dict.fromkeys(names.id("session", parent) for parent in parents if parent and parent != own)),
        is_subagent=subagent is not None or meta.thread_source == "subagent" or meta.parent_thread_id is not None,
        history_start=count_of(meta.subagent_history_start_ordinal),
        project=names.project(place) if place else None,
    )


def _turn(raw: bytes, at: _At, names: Names) -> Kept | None:
    turn = lines.TURN.decode(raw).payload
    policy = turn.approval_policy
    if isinstance(policy, dict):
        policy = next(iter(policy), None)
    return Turn(
        *at,
        turn=names.id("turn", turn.turn_id) if turn.turn_id else None,
        began_ms=_began_ms(turn.turn_id),
        model=names.model(turn.model) if turn.model else None,
        permission_mode=None if policy is None else policy if policy in _POLICIES else "other",
    )


def _cut(raw: bytes, at: _At, names: Names) -> Kept | None:
    turn = lines.TURN.decode(raw).payload.turn_id
    return Cut(*at, turn=names.id("turn", turn) if turn else None)


def _function_call(raw: bytes, at: _At, names: Names) -> Kept | None:
    try:
        call = lines.FUNCTION_CALL.decode(raw).payload
    except msgspec.ValidationError:
        loose = lines.LOOSE.decode(raw).payload
        return _asked("function", loose.call_id, loose.name, None, at, names)
    return _asked("function", call.call_id, tool_name(call.name, call.namespace), call.arguments, at, names)


def _custom_call(raw: bytes, at: _At, names: Names) -> Kept | None:
    try:
        call = lines.CUSTOM_CALL.decode(raw).payload
    except msgspec.ValidationError:
        loose = lines.LOOSE.decode(raw).payload
        return _asked("custom", loose.call_id, loose.name, None, at, names)
    return _asked("custom", call.call_id, tool_name(call.name, call.namespace), call.input, at, names)


def _asked(
    line: Literal["function", "custom"], id_: str, tool: str | None, text: str | None, at: _At, names: Names
) -> Asked:
    runs: Literal["command", "cell", "other"] = "command" if tool in COMMANDS else "cell" if tool in CELLS else "other"
    asked = Asking() if text is None else asking(tool, text, names)
    return Asked(
        *at,
        line=line,
        id=names.id("call", id_),
        runs=runs,
        tool=None if tool is None else names.tool(tool),
        input_chars=None if text is None else len(text),
        limit_seconds=asked.limit_seconds,
        process=asked.process,
        shell=asked.shell,
    )


def _local_shell(raw: bytes, at: _At, names: Names) -> Kept | None:
    call = lines.LOCAL_SHELL.decode(raw).payload
    action = call.action or lines.LocalShellAction()
    asked = of_command(action.command, None if action.timeout_ms is None else action.timeout_ms / 1000, names)
    return Asked(
        *at,
        line="local_shell",
        id=names.id("call", call.call_id),
        runs="command",
        tool=names.tool("local_shell"),
        input_chars=None,
        limit_seconds=asked.limit_seconds,
        process=None,
        shell=asked.shell,
    )


def _function_output(raw: bytes, at: _At, names: Names) -> Kept | None:
    return _answered("function", raw, at, names)


def _custom_output(raw: bytes, at: _At, names: Names) -> Kept | None:
    return _answered("custom", raw, at, names)


def _answered(line: Literal["function", "custom"], raw: bytes, at: _At, names: Names) -> Answered:
    chars: int | None = None
    said = Printed()
    try:
        payload = lines.OUTPUT.decode(raw).payload
    except msgspec.ValidationError:
        call_id = lines.LOOSE.decode(raw).payload.call_id  # an output of a shape not met yet is still an output
    else:
        call_id, output = payload.call_id, payload.output
        success: bool | None = None
        if isinstance(output, lines.OutputText):
            success = output.success
        texts = lines.texts_of(output)
        chars = None if output is None else sum(map(len, texts))
        said = printed(texts)
        if success is not None and said.is_error is None:
            said = replace(said, is_error=not success)
    kind, _, number = (said.process or "").partition(" ")
    return Answered(
        *at,
        line=line,
        id=names.id("call", call_id),
        chars=chars,
        status=said.status,
        exit_code=said.exit_code,
        is_error=said.is_error,
        reported_ms=said.reported_ms,
        process=process_id(kind, number or None, names),
        limit_seconds=said.limit_seconds,
    )


def _message(raw: bytes, at: _At, _: Names) -> Kept | None:
    message = lines.MESSAGE.decode(raw).payload
    if message.role != "assistant":
        return None  # instructions and context that nobody typed
    return Spoke(*at, who="text", chars=sum(map(len, lines.texts_of(message.content))), item=False)


def _reasoning(_: bytes, at: _At, __: Names) -> Kept | None:
    return Spoke(*at, who="reasoning", chars=None, item=False)


def _user_message(raw: bytes, at: _At, _: Names) -> Kept | None:
    message = lines.USER_MESSAGE.decode(raw).payload.message
    return Spoke(*at, who="user_message", chars=None if message is None else len(message), item=False)


def _token_count(raw: bytes, at: _At, _: Names) -> Kept | None:
    info = lines.TOKENS.decode(raw).payload.info
    if info is None or info.total_token_usage is None or info.last_token_usage is None:
        return None
    total, last = info.total_token_usage, info.last_token_usage
    return Used(
        *at,
        totals=tuple(map(count_of, msgspec.structs.astuple(total))),
        input=count_of(last.input_tokens),
        cached=count_of(last.cached_input_tokens),
        output=count_of(last.output_tokens),
        reasoning=count_of(last.reasoning_output_tokens),
    )


def _exec_end(raw: bytes, at: _At, names: Names) -> Kept | None:
    end = lines.ENDED.decode(raw).payload
    is_error = None if end.exit_code is None else end.exit_code != 0
    return Ended(*at, "exec", names.id("call", end.call_id), is_error, _milliseconds(end.duration))


def _patch_end(raw: bytes, at: _At, names: Names) -> Kept | None:
    end = lines.ENDED.decode(raw).payload
    return Ended(*at, "patch", names.id("call", end.call_id), None if end.success is None else not end.success, None)


def _mcp_end(raw: bytes, at: _At, names: Names) -> Kept | None:
    end = lines.ENDED.decode(raw).payload
    is_error = None
    if end.result is not None:
        is_error = True if end.result.Ok is None else bool(end.result.Ok.isError)
    return Ended(*at, "mcp", names.id("call", end.call_id), is_error, _milliseconds(end.duration))


def _item(raw: bytes, at: _At, names: Names) -> Kept | None:
    done = lines.COMPLETED.decode(raw).payload
    item = done.item
    if item is None:
        return None
    if item.type == "UserMessage":
        return Spoke(*at, who="user_message", chars=sum(map(len, lines.texts_of(item.content))), item=True)
    if item.type not in _RUN or item.id is None:
        return None
    return Ran(
        *at,
        id=names.id("call", item.id),
        is_command=item.type == "CommandExecution",
        started_us=micros_of(done.started_at_ms, per_second=1000),
        ended_us=micros_of(done.completed_at_ms, per_second=1000),
        duration_ms=_milliseconds(item.duration),
        is_error=_ITEM_FAILED.get(item.status or "") if item.exit_code is None else item.exit_code != 0,
    )


_ITEM_FAILED: Final = {"completed": False, "failed": True, "declined": True}
_RUN: Final = frozenset({"CommandExecution", "McpToolCall", "FileChange"})
_WITH_KINDS: Final = frozenset({"response_item", "event_msg"})

# Understood, and nothing of it is kept: what others say again, what has no times of its own, what is only shown.
_NOTHING: Final = {
    "response_item": (
        "web_search_call tool_search_call tool_search_output ghost_snapshot compaction compaction_summary "
        "context_compaction compaction_trigger image_generation_call"
    ),
    "event_msg": (
        "agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break task_complete "
        "turn_complete context_compacted thread_name_updated thread_rolled_back thread_goal_updated "
        "thread_settings_applied web_search_begin web_search_end exec_command_begin exec_command_output_delta "
        "mcp_tool_call_begin patch_apply_begin patch_apply_updated view_image_tool_call image_generation_end "
        "turn_diff plan_update error stream_error warning background_event entered_review_mode exited_review_mode "
        "item_started collab_agent_spawn_begin collab_agent_spawn_end collab_agent_interaction_begin "
        "collab_agent_interaction_end collab_waiting_begin collab_waiting_end collab_close_begin collab_close_end "
        "collab_resume_begin collab_resume_end sub_agent_activity dynamic_tool_call_request dynamic_tool_call_response "
        "guardian_assessment model_reroute"
    ),
}
_READERS: Final[dict[tuple[str, str | None], _Reader | None]] = {
    **{(kind, inner): None for kind, names in _NOTHING.items() for inner in names.split()},
    **dict.fromkeys((("compacted", None), ("world_state", None), ("token_usage_record", None)), None),
    ("session_meta", None): _meta,
    ("turn_context", None): _turn,
    ("event_msg", "task_started"): _turn,
    ("event_msg", "turn_started"): _turn,
    ("event_msg", "turn_aborted"): _cut,
    ("response_item", "function_call"): _function_call,
    ("response_item", "custom_tool_call"): _custom_call,
    ("response_item", "local_shell_call"): _local_shell,
    ("response_item", "function_call_output"): _function_output,
    ("response_item", "custom_tool_call_output"): _custom_output,
    ("response_item", "message"): _message,
    ("response_item", "reasoning"): _reasoning,
    ("event_msg", "user_message"): _user_message,
    ("event_msg", "token_count"): _token_count,
    ("event_msg", "exec_command_end"): _exec_end,
    ("event_msg", "patch_apply_end"): _patch_end,
    ("event_msg", "mcp_tool_call_end"): _mcp_end,
    ("event_msg", "item_completed"): _item,
}
_TYPES: Final = frozenset(kind for kind, _ in _READERS)
