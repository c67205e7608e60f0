"""OpenTelemetry spans of agents, as OTLP writes them in JSON: one export per line, or one document.

Two vocabularies are read: the GenAI conventions, in which spans ``chat`` and ``execute_tool`` stand side by side under
an agent (the provider is ``gen_ai.provider.name``, formerly ``gen_ai.system``), and Claude Code's own, in which
``claude_code.tool`` holds the wait for a human (``blocked_on_user``) and the run (``execution``) as spans of their own.

Attributes hold prompts, arguments and results where somebody asked for them. None is kept; of the command of a shell
call its skeleton is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from tracestat.ingest.logs.amounts import count_of, micros_of
from tracestat.ingest.logs.format import Facts, Format, Log, LogRounds, UnreadableError
from tracestat.ingest.logs.gather import gather
from tracestat.ingest.logs.model import Shell
from tracestat.ingest.logs.names import Names
from tracestat.ingest.logs.otel_rounds import OTHER_PROVIDER, Chat, Fact, Link, Tool, Untimed, began_us, rounds_of
from tracestat.ingest.logs.shell import shell_of

__all__ = ["OTEL"]

_CHATS: Final = frozenset({"chat", "text_completion", "generate_content", "claude_code.llm_request"})
_TOOLS: Final = frozenset({"execute_tool", "claude_code.tool"})
_LINKS: Final[dict[str, str]] = {
    "invoke_agent": "agent",
    "claude_code.interaction": "interaction",
    "claude_code.tool.blocked_on_user": "blocked",
    "claude_code.tool.execution": "execution",
}
# The well-known values of the conventions, and Claude Code's spelling; any other name may be somebody's own.
_PROVIDERS: Final = frozenset(
    {
        "anthropic",
        "aws.bedrock",
        "azure.ai.inference",
        "azure.ai.openai",
        "cohere",
        "deepseek",
        "gcp.gemini",
        "gcp.gen_ai",
        "gcp.vertex_ai",
        "groq",
        "ibm.watsonx.ai",
        "mistral_ai",
        "openai",
        "perplexity",
        "x_ai",
    }
)
_SHELL_TOOLS: Final = frozenset(
    {
        "Bash",
        "PowerShell",
        "bash",
        "shell",
        "exec_command",
        "shell_command",
        "run_shell_command",
        "execute_command",
        "run_command",
    }
)
_OTHER_SIGNALS: Final = ("resourceLogs", "resourceMetrics", "resourceProfiles")
_ERROR: Final = (2, "STATUS_CODE_ERROR")


class _Value(msgspec.Struct):
    stringValue: str | None = None  # noqa: N815 - the names of OTLP
    intValue: int | str | None = None  # noqa: N815
    doubleValue: float | None = None  # noqa: N815
    boolValue: bool | None = None  # noqa: N815


class _Attribute(msgspec.Struct):
    key: str
    value: _Value | None = None


class _Status(msgspec.Struct):
    code: int | str | None = None


class _Span(msgspec.Struct, rename="camel"):
    trace_id: str
    span_id: str
    name: str = ""
    parent_span_id: str | None = None
    start_time_unix_nano: int | str | None = None
    end_time_unix_nano: int | str | None = None
    attributes: list[_Attribute] | None = None
    status: _Status | None = None


class _Scope(msgspec.Struct):
    spans: list[_Span] = []


class _Resource(msgspec.Struct):
    attributes: list[_Attribute] | None = None


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_Scope] | None = None
    instrumentation_library_spans: list[_Scope] | None = None  # before OTLP 0.19


class _Export(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] | None = None


_EXPORT: Final = msgspec.json.Decoder(_Export)
_KEYS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_COMMAND: Final = msgspec.json.Decoder(dict[str, Any])

_Plain = str | int | float | bool
_Attributes = dict[str, _Plain]


def _recognises(value: dict[str, Any]) -> bool:
    exports = value.get("resourceSpans")
    if not isinstance(exports, list) or not exports:
        return False
    first = exports[0]
    return isinstance(first, dict) and ("scopeSpans" in first or "instrumentationLibrarySpans" in first)


def _facts(content: bytes, names: Names) -> Facts:
    export = _EXPORT.decode(content)
    if export.resource_spans is None:
        signal = next((name for name in _OTHER_SIGNALS if name in _KEYS.decode(content)), None)
        if signal is None:
            raise UnreadableError("not an export of spans")
        return Facts(unknown=signal)
    facts: list[msgspec.Struct] = []
    for resource in export.resource_spans:
        shared = _plain(resource.resource.attributes if resource.resource else None)
        for scope in (*(resource.scope_spans or ()), *(resource.instrumentation_library_spans or ())):
            for span in scope.spans:
                fact = _Reader(span, shared, names).fact()
                if fact is not None:
                    facts.append(fact)
    return Facts(facts)


def _plain(attributes: Sequence[_Attribute] | None) -> _Attributes:
    plain: _Attributes = {}
    for attribute in attributes or ():
        value = attribute.value
        if value is None:
            continue
        for found in (value.stringValue, value.intValue, value.doubleValue, value.boolValue):
            if found is not None:
                plain[attribute.key] = found
                break
    return plain


@lru_cache(maxsize=256)
def _provider(name: str) -> str:
    return name if name in _PROVIDERS else OTHER_PROVIDER


class _Reader:
    """Reads one span."""

    def __init__(self, span: _Span, shared: _Attributes, names: Names) -> None:
        self._span = span
        self._names = names
        self._shared = shared
        self._is_claude = span.name.startswith("claude_code.")
        self._attributes = _plain(span.attributes)

    def fact(self) -> Fact | None:
        """Give what the span says; a span of anything else may still stand between two that matter."""
        span = self._span
        start = _nanos(span.start_time_unix_nano)
        kind = span.name if self._is_claude else self._text("gen_ai.operation.name") or span.name.partition(" ")[0]
        if start is None:
            return Untimed(self._names.id("trace", span.trace_id)) if kind in _CHATS | _TOOLS else None
        if kind in _CHATS:
            return self._chat(start)
        if kind in _TOOLS:
            return self._tool(start)
        return self._link(_LINKS.get(kind, ""), start)

    def _ids(self) -> tuple[str, str, str | None]:
        """Give the pseudonyms of the trace, the span and its parent."""
        span, names = self._span, self._names
        parent = span.parent_span_id
        return (
            names.id("trace", span.trace_id),
            names.id("span", f"{span.trace_id}\0{span.span_id}"),
            names.id("span", f"{span.trace_id}\0{parent}") if parent else None,
        )

    def _conversation(self) -> str | None:
        key = "session.id" if self._is_claude else "gen_ai.conversation.id"
        found = self._text(key) or str(self._shared.get(key) or "")
        # never the pseudonym that a session log makes of the same id: their rounds would mix
        return self._names.id("session", f"otel\0{found}") if found else None

    def _agent(self) -> str | None:
        """Give the pseudonym of the sub-agent that Claude Code says was at work."""
        agent = self._text("agent_id") if self._is_claude else None
        return self._names.id("session", f"otel\0{self._text('session.id')}\0{agent}") if agent else None

    def _text(self, *keys: str) -> str | None:
        for key in keys:
            found = self._attributes.get(key)
            if found is not None and found != "":
                return str(found)
        return None

    def _count(self, *keys: str) -> int | None:
        for key in keys:
            found = self._attributes.get(key)
            if isinstance(found, str):
                found = int(found) if found.isascii() and found.isdigit() and len(found) < 20 else None
            if found is not None and not isinstance(found, bool):
                return count_of(found)
        return None

    def _failed(self) -> bool | None:
        """Tell whether the span failed; None where nothing says how it ended."""
        success = self._attributes.get("success")
        if success is not None:
            return str(success).lower() == "false"
        status = self._span.status.code if self._span.status else None
        if status in _ERROR or self._text("error.type"):
            return True
        return False if _nanos(self._span.end_time_unix_nano) is not None else None

    def _chat(self, start: int) -> Chat:
        trace, span, parent = self._ids()
        model = self._text("gen_ai.response.model", "gen_ai.request.model", "model")
        project = None if self._is_claude else str(self._shared.get("service.name") or "")
        return Chat(
            trace=trace,
            span=span,
            parent=parent,
            start_us=start,
            end_us=_nanos(self._span.end_time_unix_nano),
            conversation=self._conversation(),
            agent=self._agent(),
            provider="claude"
            if self._is_claude
            else _provider(self._text("gen_ai.provider.name", "gen_ai.system") or ""),
            model=self._names.model(model) if model else None,
            project=self._names.project(project) if project else None,
            input_tokens=self._count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "input_tokens"),
            read_tokens=self._count("gen_ai.usage.cache_read.input_tokens", "cache_read_tokens"),
            written_tokens=self._count("gen_ai.usage.cache_creation.input_tokens", "cache_creation_tokens"),
            output_tokens=self._count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "output_tokens"),
        )

    def _tool(self, start: int) -> Tool:
        trace, span, parent = self._ids()
        name = self._text("gen_ai.tool.name", "tool_name")
        call = self._text("gen_ai.tool.call.id", "tool_use_id")
        return Tool(
            trace=trace,
            span=span,
            parent=parent,
            start_us=start,
            end_us=_nanos(self._span.end_time_unix_nano),
            conversation=self._conversation(),
            agent=self._agent(),
            # call ids are only as unique as the provider makes them
            call=self._names.id("call", f"{self._span.trace_id}\0{call or self._span.span_id}"),
            is_claude=self._is_claude,
            tool=self._names.tool(name) if name else None,
            failed=self._failed(),
            shell=self._shell(name),
        )

    def _shell(self, tool: str | None) -> Shell | None:
        if tool not in _SHELL_TOOLS:
            return None
        command: Any = self._text("full_command")
        arguments = self._text("gen_ai.tool.call.arguments")
        if command is None and arguments is not None:
            try:
                given = _COMMAND.decode(arguments)
            except (msgspec.DecodeError, UnicodeEncodeError):
                return None
            command = given.get("command", given.get("cmd"))
        if isinstance(command, list) and all(isinstance(word, str) for word in command):
            return shell_of(command, self._names)
        return shell_of(command, self._names) if isinstance(command, str) and command != "<REDACTED>" else None

    def _link(self, kind: str, start: int) -> Link:
        trace, span, parent = self._ids()
        return Link(
            trace=trace,
            span=span,
            parent=parent,
            start_us=start,
            end_us=_nanos(self._span.end_time_unix_nano),
            conversation=self._conversation(),
            kind=kind,
            failed=self._failed() if kind == "execution" else None,
            refused=self._text("decision") == "reject" if kind == "blocked" else None,
            chars=self._count("user_prompt_length") if kind == "interaction" else None,
        )


def _nanos(value: int | str | None) -> int | None:
    """Give a time in microseconds; OTLP writes 64-bit numbers as texts, and 0 for a time that is not known."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
    return micros_of(value, per_second=1_000_000_000) if value else None


def _trace_of(fact: Fact) -> str:
    return fact.trace


def _rounds(logs: Sequence[Log]) -> Iterator[LogRounds]:
    numbers: dict[str, int] = {}
    for traces in gather(logs, _trace_of):
        made = LogRounds()
        for trace in sorted(traces, key=lambda trace: (began_us(trace), trace.key)):
            rounds_of(trace, made, numbers)
        yield made


OTEL: Final = Format(
    kind="OpenTelemetry spans",
    slug="otel",
    document=True,
    fact=Fact,
    recognises=_recognises,
    facts=_facts,
    rounds=_rounds,
)
