"""LLMServingSim's agentic sessions: a JSON line per session, the pause after each of its requests, in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tracestat.export.replay.model import Family, ReplaySession
from tracestat.export.replay.settings import Settings, json_line

__all__ = ["llmservingsim_lines"]


def llmservingsim_lines(families: Iterable[Family], settings: Settings) -> Iterator[bytes]:
    """Give the lines of the file.

    Without ids of tokens the simulator's prefix cache finds nothing. With them every token of every prompt and output
    has one, so that the file grows with the sum of all prompts.
    """
    first = 1
    for family in families:
        for session in family.sessions:
            requests: list[dict[str, Any]] = [
                {"input_toks": prompt, "output_toks": output, "tool_duration_ns": pause * 1000}
                for prompt, output, pause in zip(
                    session.prompt.tolist(), session.output.tolist(), session.pause_after_us.tolist(), strict=True
                )
            ]
            if settings.token_ids:
                ids = list(_token_ids(session, first))
                first = ids[-1][1][-1] + 1
                requests = [
                    request | {"input_tok_ids": prompt, "output_tok_ids": output}
                    for request, (prompt, output) in zip(requests, ids, strict=True)
                ]
            yield json_line(
                {
                    "session_id": session.name,
                    "arrival_time_ns": session.start_us * 1000,
                    "sub_requests": requests,
                }
            )


def _token_ids(session: ReplaySession, first: int) -> Iterator[tuple[list[int], list[int]]]:
    """Give the ids of prompt and output of every step: the reusable prefix keeps those of the context before."""
    context: list[int] = []
    for prompt, prefix, output in zip(
        session.prompt.tolist(), session.prefix.tolist(), session.output.tolist(), strict=True
    ):
        end = first + prompt - prefix
        read = context[:prefix] + list(range(first, end))
        said = list(range(end, end + output))
        first = end + output
        context = read + said
        yield read, said
