"""Which figures each section of ``summary`` gives: names, units, and of what sums or values they are made.

A figure is a ratio of sums per session, a mean or quantile of single values, or a plain total. The names are what
JSON, tables and the comparison with published figures call them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["RATIOS", "RULES", "SECTIONS", "TIMEOUTS", "TOTALS", "VALUES", "Ratio", "Rule", "Section", "Total", "Values"]

Section = Literal["sessions", "cache", "commands"]
Rule = Literal["tracelab", "tracestat"]
SECTIONS: tuple[Section, ...] = ("sessions", "cache", "commands")
RULES: tuple[Rule, ...] = ("tracelab", "tracestat")
TIMEOUTS = (1.0, 10.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14_400.0)


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sum of a session over another; ``only`` names a column that is 1 where a session counts."""

    name: str
    part: str
    whole: str
    unit: str
    words: str
    only: str | None = None
    rules: tuple[Rule, ...] = RULES


@dataclass(frozen=True, slots=True)
class Values:
    """Single values: their mean, and some of their quantiles."""

    statistic: str
    unit: str
    words: str
    quantiles: tuple[float, ...] = (0.5, 0.9)
    mean: bool = True
    censored: bool = False


@dataclass(frozen=True, slots=True)
class Total:
    """A plain sum over the trace, in the unit that one reads."""

    name: str
    column: str
    unit: str
    words: str
    only: str | None = None


_OWN: tuple[Rule, ...] = ("tracestat",)

RATIOS: Mapping[Section, tuple[Ratio, ...]] = {
    "sessions": (
        Ratio("time_share.human", "human_seconds", "span_seconds", "share", "session time: human", "timed"),
        Ratio(
            "time_share.generation", "generation_seconds", "span_seconds", "share", "session time: generation", "timed"
        ),
        Ratio("time_share.tools", "tool_seconds", "span_seconds", "share", "session time: tools", "timed"),
        Ratio(
            "time_share.asked",
            "asked_seconds",
            "span_seconds",
            "share",
            "of human: a tool asks",
            "timed",
            _OWN,
        ),
        Ratio("time_share.unknown", "unknown_seconds", "span_seconds", "share", "session time: unknown", "timed", _OWN),
        Ratio(
            "time_share_cap1h.human",
            "human_capped_seconds",
            "capped_seconds",
            "share",
            "waits cut at 1 h: human",
            "timed",
        ),
        Ratio(
            "time_share_cap1h.generation",
            "generation_seconds",
            "capped_seconds",
            "share",
            "waits cut at 1 h: generation",
            "timed",
        ),
        Ratio("time_share_cap1h.tools", "tool_seconds", "capped_seconds", "share", "waits cut at 1 h: tools", "timed"),
        Ratio("request_share.tools", "request_tool_seconds", "request_seconds", "share", "inside a request: tools"),
        Ratio(
            "request_share.generation",
            "request_generation_seconds",
            "request_seconds",
            "share",
            "inside a request: generation",
        ),
        Ratio(
            "request_share.asked",
            "request_asked_seconds",
            "request_seconds",
            "share",
            "inside a request: a tool asks",
            None,
            _OWN,
        ),
        Ratio(
            "human_seconds_per_session",
            "human_seconds",
            "n_sessions",
            "seconds",
            "human time of a session, mean",
            "timed",
        ),
        Ratio(
            "generation_seconds_per_step", "step_generation_seconds", "n_steps", "seconds", "generation per step, mean"
        ),
        Ratio("tool_seconds_per_step", "step_tool_seconds", "n_steps", "seconds", "tools per step, mean"),
        Ratio("human_waits.within_5min", "n_waits_5min", "n_waits", "share", "human waits over in 5 min"),
        Ratio("human_waits.within_1h", "n_waits_1h", "n_waits", "share", "human waits over in 1 h"),
        Ratio(
            "human_waits.time_within_5min", "wait_seconds_5min", "wait_seconds", "share", "time in those over in 5 min"
        ),
        Ratio("human_waits.time_within_1h", "wait_seconds_1h", "wait_seconds", "share", "time in those over in 1 h"),
        Ratio("sessions.without_wait", "no_wait", "n_sessions", "share", "sessions without a human wait"),
        Ratio("sessions.multiround", "multiround", "n_sessions", "share", "sessions of several steps"),
        Ratio("sessions.compacted", "compacted", "n_sessions", "share", "sessions with a compaction"),
        Ratio("compactions_per_session", "n_compactions", "n_sessions", "count", "compactions per session, mean"),
    ),
    "cache": (
        Ratio("hit_rate", "prefix_tokens", "tokens", "share", "hit rate, of tokens"),
        Ratio("hit_rate.after_user", "prefix_tokens_user", "tokens_user", "share", "hit rate after a message"),
        Ratio("hit_rate.after_tool", "prefix_tokens_tool", "tokens_tool", "share", "hit rate after a tool"),
        Ratio("fresh_share", "fresh_tokens", "append_tokens", "share", "fresh share of appended"),
        Ratio(
            "fresh_share.after_user", "fresh_tokens_user", "append_tokens_user", "share", "fresh share after a message"
        ),
        Ratio("fresh_share.after_tool", "fresh_tokens_tool", "append_tokens_tool", "share", "fresh share after a tool"),
        Ratio("amplification", "append_tokens", "fresh_tokens", "ratio", "prefill amplification"),
        Ratio(
            "saved_append_share",
            "saved_append_tokens",
            "all_append_tokens",
            "share",
            "appended, saved if kept for a person",
        ),
    ),
    "commands": (
        Ratio("executables.multiple", "n_multiple", "n_known", "share", "calls of several executables"),
        Ratio("executables.parsed", "n_parsed", "n_known", "share", "calls parsed completely"),
        Ratio("skeletons.share", "n_skeletons", "n_calls", "share", "calls with a skeleton"),
        Ratio("single.reads_zero", "n_zero_single", "n_single", "share", "of one executable: clock reads 0"),
    ),
}

VALUES: Mapping[Section, tuple[Values, ...]] = {
    "sessions": (
        Values("session_seconds", "seconds", "session, first to last stamp", (0.5, 0.9, 0.99)),
        Values("request_seconds", "seconds", "request", (0.5, 0.9)),
        Values("generation_seconds", "seconds", "generation", (0.5, 0.9)),
        Values("tool_call_seconds", "seconds", "tool call", (0.5, 0.9)),
        Values("human_wait_seconds", "seconds", "human wait", (0.5, 0.9, 0.99)),
        Values("human_wait_after_output_seconds", "seconds", "human wait from the output on", (0.5, 0.9, 0.99)),
        Values("requests_per_session", "count", "requests per session", (0.5, 0.99)),
        Values("steps_per_session", "count", "steps per session", (0.5, 0.99)),
        Values("tool_steps_per_session", "count", "steps after tools, per session", ()),
        Values("user_steps_per_session", "count", "steps after messages, per session", ()),
        Values("tool_steps_per_request", "count", "steps after tools, per request", (0.5, 0.9)),
        Values("calls_per_request", "count", "tool calls per request", (0.5, 0.9)),
        Values("calls_per_step", "count", "tool calls per step", (0.5, 0.9)),
    ),
    "cache": (
        Values("idle_before_user_seconds", "seconds", "idle before a message", (0.5, 0.9)),
        Values("idle_before_low_hit_user_seconds", "seconds", "  hit rate below 10 %", (0.5, 0.9)),
        Values("idle_before_tool_seconds", "seconds", "idle before a tool's result", (0.5, 0.9)),
        Values("prefix_tokens", "tokens", "prefix of a step", (0.5,)),
        Values("append_tokens", "tokens", "appended by a step", (0.5,)),
        Values("output_tokens", "tokens", "output of a step", (0.5,)),
    ),
    "commands": (
        Values("executables_per_call", "count", "executables per call", (0.5, 0.9)),
        Values("residual_seconds", "seconds", "wall less reported", (0.5, 0.9, 0.99)),
        Values("call_seconds", "seconds", "call", (0.5, 0.9), mean=False),
        Values("command_seconds", "seconds", "command", (0.5, 0.9), mean=False, censored=True),
    ),
}

TOTALS: Mapping[Section, tuple[Total, ...]] = {
    "sessions": (
        Total("sessions", "n_sessions", "count", "sessions"),
        Total("steps", "n_steps", "count", "steps"),
        Total("requests", "n_requests", "count", "requests"),
        Total("tool_calls", "n_calls", "count", "tool calls"),
        Total("session_hours", "span_seconds", "hours", "session time", "timed"),
        Total("human_hours", "human_seconds", "hours", "human time", "timed"),
        Total("generation_hours", "step_generation_seconds", "hours", "generation"),
        Total("request_hours", "request_seconds", "hours", "time of requests"),
        Total("compactions", "n_compactions", "count", "compactions"),
    ),
    "cache": (
        Total("prompt_tokens", "tokens", "tokens", "prompt tokens"),
        Total("append_tokens_total", "append_tokens", "tokens", "appended tokens"),
        Total("fresh_tokens_total", "fresh_tokens", "tokens", "fresh tokens"),
        Total("steps_covered", "n_covered", "count", "steps of the sweep"),
    ),
    "commands": (
        Total("shell_calls", "n_calls", "count", "shell calls"),
        Total("skeletons", "n_skeletons", "count", "with a skeleton"),
        Total("single.calls", "n_single", "count", "of one executable"),
        Total("single.finished", "n_single_finished", "count", "  seen to finish"),
        Total("single.unfinished", "n_single_unfinished", "count", "  not seen to finish"),
        Total("single.call_hours", "single_call_seconds", "hours", "of one executable, calls"),
        Total("single.command_hours", "single_command_seconds", "hours", "of one executable, commands"),
    ),
}
