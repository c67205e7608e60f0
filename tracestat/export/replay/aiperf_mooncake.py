"""AIPerf's ``mooncake_trace``: a JSON line per turn, the pause before it.

AIPerf sends the turns of a session one after the other, each with all turns before it and the answers to them, so a
turn holds what is added. A context that shrinks cannot be said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tracestat.export.replay.hash_ids import BlockIds
from tracestat.export.replay.model import Family
from tracestat.export.replay.settings import Settings, json_line

__all__ = ["aiperf_lines"]


def aiperf_lines(families: Iterable[Family], settings: Settings) -> Iterator[bytes]:
    """Give the lines of the file.

    ``delay`` is whole milliseconds, each pause rounded for itself to the nearest (to even from the middle). A first
    turn has no delay, and a ``timestamp`` only where sessions begin as recorded: one in the first line would make
    AIPerf send by the clock.
    """
    ids = BlockIds(settings.block_size, partial=True)
    for family in families:
        for session in family.sessions:
            added = session.added().tokens.tolist()
            delays = np.rint(session.pause_before_us / 1000).astype(np.int64).tolist()
            for step, (tokens, delay, output) in enumerate(zip(added, delays, session.output.tolist(), strict=True)):
                row: dict[str, Any] = {"session_id": session.name}
                if step:
                    row["delay"] = delay
                elif settings.recorded_start:
                    row["timestamp"] = round(session.start_us / 1000)
                yield json_line(row | {"input_length": tokens, "output_length": output, "hash_ids": ids.fresh(tokens)})
