"""Sessions as rows of a trace, and constants as a file: what tests of the simulator's commands read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.simulate.policies.rounds import constants
from tests.traces import Row, call, event, round_
from tracestat.constants import Constants
from tracestat.constants.files import constants_to_dict

__all__ = ["agents", "constants_file"]

_PAUSES = (0.2, 3.0, 0.5, 12.0, 1.0, 30.0)


def agents(
    n: int = 8, rounds: int = 6, *, name: str = "s", append: int = 900, out: int = 20, gap: float = 400.0
) -> list[Row]:
    """Make sessions of one provider that call Bash and Read in turn and grow by ``append + out`` tokens a round."""
    rows = []
    for number in range(n):
        at, context = gap * number, 0
        for place in range(rounds):
            session, wait = f"{name}{number}", _PAUSES[(number + place) % len(_PAUSES)]
            tokens: dict[str, Any] = {"prefix_tokens": context, "newly_append_tokens": append, "output_tokens": out}
            tokens["input_tokens_total"] = context + append
            asked = [] if place else [event("user_message", at)]
            if place:
                asked = [event("tool_result", at, tool_call_id=f"{session}-{place - 1}")]
            calls = [call(f"{session}-{place}", at + 2, at + 2 + wait, ("Bash", "Read")[place % 2])]
            last = place == rounds - 1
            more = {"text": at + 2} if last else {"calls": calls}
            rows.append(round_(session, place, events=asked, user=f"user_{number % 3:08d}", **tokens, **more))
            at += 2 + wait
            context += append + out
    return rows


def constants_file(path: Path, made: Constants | None = None) -> Path:
    """Write constants of one provider, whose keys are those of `agents`."""
    path.write_text(json.dumps(constants_to_dict(made or constants())), encoding="utf-8")
    return path
