"""BLIS's TraceV2 (inference-sim): a header in YAML, a row of CSV per request, the pause before it in microseconds.

With ``session_context_growth: accumulate`` a request holds what is added to all that the session said before, as in
BLIS's own converters. Where a context shrank by a compaction, ``input_tokens_reset`` holds the whole prompt; versions
of BLIS that do not know this column go on growing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tracestat.export.replay.model import Family
from tracestat.export.replay.settings import Settings

__all__ = ["blis_header", "blis_lines"]

_COLUMNS: Final = (
    "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,streaming,"
    "input_tokens,output_tokens,text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model,deadline_us,"
    "server_input_tokens,arrival_time_us,send_time_us,first_chunk_time_us,last_chunk_time_us,num_chunks,status,"
    "error_message,finish_reason,think_time_us,input_tokens_reset"
)


def blis_header(settings: Settings) -> bytes:
    """Give the header file: the reader refuses keys that it does not know, so whose data it is stands in comments."""
    comments = ("".join(c if c.isprintable() else "?" for c in line) for line in settings.about.lines)
    head = (
        *(f"# {comment}" for comment in comments),
        "trace_version: 2",
        "time_unit: microseconds",
        "mode: generated",
        "warm_up_requests: 0",
        "session_context_growth: accumulate",
    )
    return ("\n".join(head) + "\n").encode()


def blis_lines(families: Iterable[Family], settings: Settings) -> Iterator[bytes]:
    """Give the rows of the data file.

    A think time of 0 means that none was recorded, so a pause of 0 is written as 1; the first row of a session has
    none. No model is named: a name would send requests only to instances of that model.
    """
    del settings
    yield f"{_COLUMNS}\n".encode()
    request = 0
    for family in families:
        for session in family.sessions:
            name = session.name
            added = session.added(resets=True)
            rows = zip(
                added.tokens.tolist(),
                added.whole.tolist(),
                session.output.tolist(),
                (session.at_us + session.start_us).tolist(),
                session.pause_before_us.tolist(),
                strict=True,
            )
            lines = []
            for step, (tokens, whole, output, at, pause) in enumerate(rows):
                think = max(1, pause) if step else 0
                lines.append(
                    f"{request},{name},,,{name},{step},,0,false,{tokens},{output},{tokens},0,0,0,0,,0,0,"
                    f"{at},{at},0,0,0,ok,,,{think},{whole or ''}\n"
                )
                request += 1
            yield "".join(lines).encode()
