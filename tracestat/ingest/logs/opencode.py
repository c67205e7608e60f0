"""OpenCode session exports: one JSON document per session, its messages with their parts.

A step of an assistant message is one request to the model. The start of a tool part is the moment when the model had
written the call: a wait for permission lies behind it. ``time.compacted`` is a later clean-up of the output and no
end. Of texts and outputs only their lengths are kept, and what a few fixed sentences say about the end of a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from tracestat.ingest.logs.amounts import count_of, micros_of
from tracestat.ingest.logs.format import Facts, Format, Log, LogRounds
from tracestat.ingest.logs.gather import gather
from tracestat.ingest.logs.model import CommandStatus, EventType, Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.opencode_rounds import Fact, Lost, Prompt, Said, Step, Tool, rounds_of
from tracestat.ingest.logs.shell import shell_of

__all__ = ["OPENCODE"]

_SAID: Final[dict[str, EventType]] = {"text": "text", "reasoning": "reasoning"}
_SHELL_TOOLS: Final = ("bash", "shell")
# The unit of `input.timeout`, per second; other tools may mean anything by it.
_TIMEOUT_UNITS: Final = {"bash": 1000, "shell": 1000, "webfetch": 1}
# How an error begins when the call did not run, or did not run to its end.
_ENDS: Final[tuple[tuple[str, CommandStatus], ...]] = (
    ("The user rejected permission", "refused"),
    ("The user has specified a rule which prevents", "refused"),
    ("Rule prevents tool usage", "refused"),
    ("Permission denied by ruleset", "refused"),
    ("Tool execution aborted", "aborted"),
)
# What the shell tool writes below the output of a command that it had to end.
_NOTE: Final = re.compile(r"<(bash|shell)_metadata>(.*?)</\1_metadata>\s*\Z", re.DOTALL)
_NOTE_CHARS: Final = 1000


class _Time(msgspec.Struct):
    created: float | None = None
    start: float | None = None
    end: float | None = None


class _Cache(msgspec.Struct):
    read: float | None = None
    write: float | None = None


class _Tokens(msgspec.Struct):
    input: float | None = None
    output: float | None = None
    reasoning: float | None = None
    cache: _Cache = msgspec.field(default_factory=_Cache)


class _SessionInfo(msgspec.Struct):
    id: str
    projectID: str | None = None  # noqa: N815 - the names of OpenCode
    directory: str | None = None
    parentID: str | None = None  # noqa: N815


class _MessageInfo(msgspec.Struct):
    id: str
    role: str
    time: _Time = msgspec.field(default_factory=_Time)
    modelID: str | None = None  # noqa: N815
    tokens: _Tokens | None = None


class _Message(msgspec.Struct):
    info: _MessageInfo
    parts: list[msgspec.Raw] = []


class _Document(msgspec.Struct):
    info: _SessionInfo
    messages: list[msgspec.Raw]


class _Metadata(msgspec.Struct):
    exit: float | None = None
    interrupted: bool | None = None


class _Input(msgspec.Struct):
    command: Any = None
    timeout: Any = None


class _State(msgspec.Struct):
    status: str
    input: _Input = msgspec.field(default_factory=_Input)
    time: _Time = msgspec.field(default_factory=_Time)
    output: str | None = None
    error: str | None = None
    metadata: _Metadata | None = None


class _Part(msgspec.Struct):
    type: str
    text: str | None = None
    synthetic: bool | None = None
    time: _Time | None = None
    tokens: _Tokens | None = None
    callID: str | None = None  # noqa: N815
    tool: str | None = None
    state: _State | None = None


_DOCUMENT: Final = msgspec.json.Decoder(_Document)
_MESSAGE: Final = msgspec.json.Decoder(_Message)
_PART: Final = msgspec.json.Decoder(_Part)


def _recognises(value: dict[str, Any]) -> bool:
    info, messages = value.get("info"), value.get("messages")
    if not isinstance(info, dict) or not isinstance(messages, list) or not isinstance(info.get("id"), str):
        return False
    if not messages:
        return "projectID" in info or "directory" in info
    first = messages[0]
    return isinstance(first, dict) and isinstance(first.get("info"), dict) and isinstance(first.get("parts"), list)


def _facts(content: bytes, names: Names) -> Facts:
    document = _DOCUMENT.decode(content)
    reader = _Reader(document.info, names)
    for raw in document.messages:
        reader.message(raw)
    return Facts(reader.facts)


class _Reader:
    """Gathers what the messages of a session say."""

    def __init__(self, info: _SessionInfo, names: Names) -> None:
        place = info.directory or info.projectID
        self._session = names.id("session", info.id)
        self._project = names.project(place) if place else None
        self._is_subagent = info.parentID is not None
        self._names = names
        self.facts: list[msgspec.Struct] = []

    def message(self, raw: msgspec.Raw) -> None:
        """Take in one message; one that cannot be read is counted and does not take the others with it."""
        try:
            message = _MESSAGE.decode(raw)
        except msgspec.ValidationError:
            self.facts.append(Lost(self._session, "messages"))
            return
        parts: list[_Part] = []
        for each in message.parts:
            try:
                parts.append(_PART.decode(each))
            except msgspec.ValidationError:
                self.facts.append(Lost(self._session, "parts"))
        if message.info.role == "user":
            self._prompt(message.info, parts)
        elif message.info.role == "assistant":
            self._steps(message.info, parts)

    def _prompt(self, info: _MessageInfo, parts: Sequence[_Part]) -> None:
        texts = [part for part in parts if part.type == "text"]
        at = _millis(info.time.created)
        if at is not None and not (texts and all(part.synthetic for part in texts)):  # some are the harness's own
            chars = sum(len(part.text or "") for part in texts if not part.synthetic)
            self.facts.append(Prompt(self._session, self._names.id("round", info.id), at, chars))

    def _steps(self, info: _MessageInfo, parts: Sequence[_Part]) -> None:
        """Part a message into steps; an old one may have several, each with its own tokens."""
        steps: list[list[_Part]] = [[]]
        for part in parts:
            if part.type == "step-start" and steps[-1]:
                steps.append([])
            steps[-1].append(part)
        for index, step in enumerate(steps):
            self._step(info, index, step, only=len(steps) == 1)

    def _step(self, info: _MessageInfo, index: int, parts: Sequence[_Part], *, only: bool) -> None:
        tokens = next((part.tokens for part in parts if part.type == "step-finish" and part.tokens), None)
        if tokens is None and only:
            tokens = info.tokens
        tokens = tokens or _Tokens()
        names = self._names
        self.facts.append(
            Step(
                session=self._session,
                id=names.id("round", f"{info.id}\0{index}" if index else info.id),
                is_subagent=self._is_subagent,
                project=self._project,
                created_us=_millis(info.time.created),
                model=names.model(info.modelID) if info.modelID else None,
                input_tokens=count_of(tokens.input),
                read_tokens=count_of(tokens.cache.read),
                written_tokens=count_of(tokens.cache.write),
                output_tokens=count_of(tokens.output),
                reasoning_tokens=count_of(tokens.reasoning),
                said=tuple(said for part in parts if (said := _said(part)) is not None),
                tools=tuple(self._tool(part, part.state) for part in parts if part.type == "tool" and part.state),
            )
        )

    def _tool(self, part: _Part, state: _State) -> Tool:
        name = part.tool or ""
        command = state.input.command if name in _SHELL_TOOLS else None
        limit = state.input.timeout if name in _TIMEOUT_UNITS else None
        is_limit = isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0
        ended = state.status in ("completed", "error")
        return Tool(
            id=self._names.id("call", part.callID or f"{self._session}\0{state.time.start}"),
            tool=self._names.tool(name) if name else None,
            start_us=_millis(state.time.start),
            end_us=_millis(state.time.end) if ended else None,
            status=_status(name, state) if ended else None,
            is_error=state.status == "error" if ended else None,
            exit_code=None if state.metadata is None else _exit(state.metadata.exit),
            limit_seconds=float(limit) / _TIMEOUT_UNITS[name] if is_limit and limit is not None else None,
            result_chars=len(state.output) if state.output is not None else None,
            shell=self._shell(command),
        )

    def _shell(self, command: object) -> Shell | None:
        return shell_of(command, self._names) if isinstance(command, str) else None


def _said(part: _Part) -> Said | None:
    kind = _SAID.get(part.type)
    at = _millis(part.time.end) if part.time is not None else None
    return Said(kind, at, len(part.text or "")) if kind is not None and at is not None else None


def _status(tool: str, state: _State) -> CommandStatus:
    if state.metadata is not None and state.metadata.interrupted:
        return "aborted"
    if state.status == "error":
        error = state.error or ""
        return next((status for start, status in _ENDS if error.startswith(start)), "failed")
    note = _NOTE.search(state.output or "", max(0, len(state.output or "") - _NOTE_CHARS))
    if tool in _SHELL_TOOLS and note is not None:
        if "terminated command after exceeding timeout" in note.group(2):
            return "timeout"
        if "User aborted the command" in note.group(2):
            return "aborted"
    return "finished"


def _exit(code: float | None) -> int | None:
    return round(code) if code is not None and abs(code) < 2**31 else None


def _millis(value: float | None) -> int | None:
    return micros_of(value, per_second=1000)


def _session_of(fact: Fact) -> str:
    return fact.session


def _rounds(logs: Sequence[Log]) -> Iterator[LogRounds]:
    known: set[tuple[str, int]] = set()
    for sessions in gather(logs, _session_of):
        made = LogRounds()
        for session in sessions:
            rounds_of(session, made, known)
        yield made


OPENCODE: Final = Format(
    kind="OpenCode session export",
    slug="opencode",
    document=True,
    fact=Fact,
    recognises=_recognises,
    facts=_facts,
    rounds=_rounds,
)
