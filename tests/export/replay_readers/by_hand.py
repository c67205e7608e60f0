"""One session of three requests and one of a single request, typed by hand in every format, and what they say.

s1 asks 1,000 tokens and gives 24; a tool runs 36,000 s (10 h); the prompt of 1,536 holds those 1,024 tokens and 512 new
ones, gives 10; a tool 1.5 s and a person 60 s; then the context was compacted: 600 tokens, 100 of them as before.
AIPerf has no word for that: its third prompt is the whole context and one token.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.export.replay_readers import (
    aiperf_mooncake,
    blis_v2,
    dynamo_agentic_mooncake,
    kv_cache_tester,
    llmservingsim,
    tracelab_csv,
)
from tests.export.replay_readers.model import Session, Step


def _s1(block: int | None, *, new: bool) -> Session:
    shared = {512: (0, 1, 0), 64: (0, 15, 1), None: (None, None, None)}[block]
    news = (1000, 512, 500) if new else (None, None, None)
    return Session(
        "s1",
        (
            Step(1000, 24, 0.0, 36000.0, news[0], shared[0], block),
            Step(1536, 10, 36000.0, 61.5, news[1], shared[1], block),
            Step(600, 5, 61.5, 0.0, news[2], shared[2], block),
        ),
    )


def _s2(block: int | None, *, new: bool) -> Session:
    return Session("s2", (Step(64, 1, 0.0, 0.0, 64 if new else None, 0 if block else None, block),))


_grown = Session(
    "s1",
    (
        Step(1000, 24, 0.0, 36000.0, 1000),
        Step(1536, 10, 36000.0, 61.5, 512),
        Step(1547, 5, 61.5, 0.0, 1),
    ),
)


def _lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


AIPERF = _lines(
    {"session_id": "s1", "input_length": 1000, "output_length": 24, "hash_ids": [1, 2]},
    {"session_id": "s1", "delay": 36000000, "input_length": 512, "output_length": 10, "hash_ids": [3]},
    {"session_id": "s1", "delay": 61500, "input_length": 1, "output_length": 5, "hash_ids": [4]},
    {"session_id": "s2", "input_length": 64, "output_length": 1, "hash_ids": [7]},
)


def _after(request: str, delay: float) -> list[dict[str, object]]:
    return [{"request_id": request, "trigger": "completion", "delay_ms": delay, "relation": "sequence"}]


def _request(name: str, tokens: tuple[int, int], ids: list[int], after: list[dict[str, object]]) -> dict[str, object]:
    session = name.partition(".")[0]
    return {
        "request_id": name,
        "play_id": session,
        "session_id": session,
        "model": "m",
        "input_length": tokens[0],
        "output_length": tokens[1],
        "hash_ids": ids,
        "not_before_ms": 0,
        "dependencies": after,
    }


DYNAMO = _lines(
    {
        "schema": "dynamo.agentic_mooncake",
        "version": 2,
        "block_size": 512,
        "hash_id_scope": "local",
        "source": {"format": "by hand", "digest": "sha256:" + "0" * 64},
    },
    _request("s1.1", (1000, 24), [1, 2], []),
    _request("s1.2", (1536, 10), [1, 3, 4], _after("s1.1", 36000000.0)),
    _request("s1.3", (600, 5), [5, 6], _after("s1.2", 61500)),
    _request("s2.1", (64, 1), [7], []),
)


def _call(at: float, api: float, think: float, tokens: tuple[int, int], ids: list[int]) -> dict[str, object]:
    return {
        "t": at,
        "type": "n",
        "model": "m",
        "in": tokens[0],
        "out": tokens[1],
        "hash_ids": ids,
        "api_time": api,
        "think_time": think,
    }


def _trace(name: str, *calls: dict[str, object]) -> str:
    head = {"id": name, "models": ["m"], "block_size": 64, "hash_id_scope": "local"}
    return json.dumps({**head, "requests": list(calls)})


KV_CACHE_TESTER = {
    "s1.json": _trace(
        "s1",
        _call(0.0, 2.5, 0.0, (1000, 24), list(range(1, 16))),
        _call(36002.5, 1.0, 36000.0, (1536, 10), list(range(1, 16)) + list(range(16, 25))),
        _call(36065.0, 0.5, 61.5, (600, 5), [1, *range(25, 33)]),
    ),
    "s2.json": _trace("s2", _call(0.0, 0.1, 0.0, (64, 1), [1])),
}

LLMSERVINGSIM = _lines(
    {
        "session_id": "s1",
        "arrival_time_ns": 0,
        "sub_requests": [
            {"input_toks": 1000, "output_toks": 24, "tool_duration_ns": 36_000_000_000_000},
            {"input_toks": 1536, "output_toks": 10, "tool_duration_ns": 61_500_000_000},
            {"input_toks": 600, "output_toks": 5, "tool_duration_ns": 0},
        ],
    },
    {
        "session_id": "s2",
        "arrival_time_ns": 0,
        "sub_requests": [{"input_toks": 64, "output_toks": 1, "tool_duration_ns": 0}],
    },
)

BLIS_HEADER = """# licence: none
trace_version: 2
time_unit: us
mode: generated
warm_up_requests: 0
session_context_growth: accumulate
"""


def _round(request: int, session: str, place: int, tokens: tuple[int, int], think: int, reset: str = "") -> str:
    head = f"{request},tracestat,,,{session},{place},,0,true,{tokens[0]},{tokens[1]}"
    return f"{head},{tokens[0]},0,0,0,0,,0,0,0,0,0,0,0,ok,,,{think},{reset}\n"


BLIS_DATA = (
    ",".join([*blis_v2.COLUMNS, "think_time_us", "input_tokens_reset"])
    + "\n"
    + _round(0, "s1", 0, (1000, 24), 0)
    + _round(1, "s1", 1, (512, 10), 36_000_000_000)
    + _round(2, "s1", 2, (500, 5), 61_500_000, "600")
    + _round(3, "s2", 0, (64, 1), 0)
)

TRACELAB = """session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms
s1,0,0,1000,24,36000000
s1,1,1024,512,10,61500.000
s1,2,100,500,5,0
s2,0,0,64,1,0
"""


def write(folder: Path) -> dict[str, list[Session]]:
    """Write every format into a folder and read it back."""
    files = {"aiperf.jsonl": AIPERF, "dynamo.jsonl": DYNAMO, "llm.jsonl": LLMSERVINGSIM, "tracelab.csv": TRACELAB}
    files |= {"blis.yaml": BLIS_HEADER, "blis.csv": BLIS_DATA}
    (folder / "weka").mkdir()
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    for name, content in KV_CACHE_TESTER.items():
        (folder / "weka" / name).write_text(content, encoding="utf-8")
    return {
        "aiperf-mooncake": aiperf_mooncake.read(folder / "aiperf.jsonl"),
        "dynamo-agentic-mooncake": dynamo_agentic_mooncake.read(folder / "dynamo.jsonl"),
        "kv-cache-tester": kv_cache_tester.read(folder / "weka"),
        "llmservingsim": llmservingsim.read(folder / "llm.jsonl"),
        "blis-v2": blis_v2.read(folder / "blis.yaml", folder / "blis.csv"),
        "tracelab-csv": tracelab_csv.read(folder / "tracelab.csv"),
    }


SAID = {
    "aiperf-mooncake": [_grown, _s2(None, new=True)],
    "dynamo-agentic-mooncake": [_s1(512, new=False), _s2(512, new=False)],
    "kv-cache-tester": [_s1(64, new=False), _s2(64, new=False)],
    "llmservingsim": [_s1(None, new=False), _s2(None, new=False)],
    "tracelab-csv": [_s1(None, new=True), _s2(None, new=True)],
}
