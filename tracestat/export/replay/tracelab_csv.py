"""TraceLab's ``session_runner``: a row of CSV per round, the pause after it in milliseconds.

It takes two headers; the one without arrivals is written, unless sessions begin as recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracestat.export.replay.model import Family
from tracestat.export.replay.settings import Settings, thousands

__all__ = ["tracelab_lines"]


def tracelab_lines(families: Iterable[Family], settings: Settings) -> Iterator[bytes]:
    """Give the rows of the file: ``input_len`` is what the reusable prefix leaves of the prompt."""
    timed = settings.recorded_start
    yield (
        b"id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len\n"
        if timed
        else b"session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
    )
    for family in families:
        for session in family.sessions:
            start = thousands(session.start_us)
            rows = zip(
                session.prefix.tolist(),
                (session.prompt - session.prefix).tolist(),
                session.output.tolist(),
                session.pause_after_us.tolist(),
                strict=True,
            )
            lines = []
            for step, (prefix, tokens, output, pause) in enumerate(rows):
                wait = thousands(pause)
                lines.append(
                    f"{session.name},{tokens},{output},{start},{step},{wait},{prefix}\n"
                    if timed
                    else f"{session.name},{step},{prefix},{tokens},{output},{wait}\n"
                )
            yield "".join(lines).encode()
