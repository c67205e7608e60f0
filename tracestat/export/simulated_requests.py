"""Every request of simulated runs in one Parquet file, run after run: memory does not grow with their number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tracestat
from tracestat.export.attribution import Attribution
from tracestat.export.durations import METADATA, Described, check_ending
from tracestat.replacing import replacing
from tracestat.simulate.forms import FIRST, HUMAN, TOOL, Requests, Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "SCHEMA", "RequestSource", "writing_requests"]

SCHEMA: Final = "tracestat.simulated_requests/1"
_BEFORE: Final = {TOOL: "tool", HUMAN: "human", FIRST: "first"}

COLUMNS: Final[Mapping[str, Described]] = {
    "policy": Described("string", None, "id of the policy, or FILE.py:FUNCTION"),
    "seed": Described("int64", None, "of the order of sessions and the rounds at which they start"),
    "slot": Described("int64", None, "which of the sessions that are live at once"),
    "session_pk": Described("int64", None, "recorded session that is played, as in the store"),
    "round_pk": Described("int64", None, "recorded round that is played, as in the store"),
    "before": Described("string", None, "what was waited for before: tool, human (or nobody), or first of its session"),
    "tool_class": Described("string", None, "class of the tool that was waited for; null: none"),
    "in_window": Described("bool", None, "arrives after the warm-up: only these are in summaries"),
    "arrival_s": Described("float64", "seconds", "from the begin of the run"),
    "queue_wait_s": Described("float64", "seconds", "from arrival to admission; null: not admitted by the end"),
    "load_wait_s": Described("float64", "seconds", "wait for the load from the host; null: not loaded by the end"),
    "ttft_s": Described("float64", "seconds", "from arrival to the first token; null: none by the end, or too large"),
    "gpu_hit": Described("int64", "tokens", "prompt tokens found on the GPU"),
    "host_hit": Described("int64", "tokens", "prompt tokens loaded from the host"),
    "computed": Described("int64", "tokens", "prompt tokens computed"),
    "chunks": Described("int64", "steps", "engine steps that computed the prompt"),
    "deadline_before_s": Described(
        "float64", "seconds", "limit on which the pause before ended, from its start; null: none"
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class RequestSource:
    """What requests are numbered by.

    Attributes
    ----------
    workload : Workload
    session_pk, round_pk : ndarray of int, shape (S,) and (R,)
        Of the store.
    warmup : float
        Seconds that are not counted.
    """

    workload: Workload
    session_pk: NDArray[np.int64]
    round_pk: NDArray[np.int64]
    warmup: float


@contextmanager
def writing_requests(
    path: Path, source: RequestSource, about: Attribution, made: Mapping[str, Any]
) -> Iterator[Callable[[str, int, Requests], None]]:
    """Give a function that takes the requests of one run: (policy, seed, requests).

    Parameters
    ----------
    path : Path
        ``.parquet``; it stands there when the block ends well.
    source : RequestSource
    about : Attribution
        Of the trace.
    made : mapping
        How the runs were made, JSON data: it goes into the metadata.

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The file cannot be written; what was there before still is.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_ending(path)
    metadata = {
        "schema": SCHEMA,
        "tracestat": tracestat.__version__,
        "synthetic": about.synthetic,
        "attribution": about.to_dict(),
        "grain": "one row per policy, seed and request, in order of arrival; those of the warm-up too",
        "made": made,
        "columns": {
            name: {"type": column.kind, "unit": column.measured_in, "description": column.says}
            for name, column in COLUMNS.items()
        },
    }
    schema = _schema().with_metadata({METADATA: json.dumps(metadata, ensure_ascii=False)})
    with (
        replacing(path, f"--requests {path.name}") as beside,
        pq.ParquetWriter(beside, schema, compression="zstd", write_page_checksum=True) as file,
    ):

        def write(policy: str, seed: int, requests: Requests) -> None:
            file.write_table(pa.Table.from_pydict(_columns(policy, seed, requests, source), schema=schema))

        yield write


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    return pa.schema(
        [
            pa.field(
                name,
                kinds[column.kind],
                metadata={"description": column.says, **({"unit": column.measured_in} if column.measured_in else {})},
            )
            for name, column in COLUMNS.items()
        ]
    )


def _columns(policy: str, seed: int, requests: Requests, source: RequestSource) -> dict[str, Any]:
    import pyarrow as pa

    n = requests.arrival.size
    work = source.workload
    # the pause before a request is that after the round before
    codes = work.klass[np.maximum(requests.round - 1, 0)].tolist()
    kinds = requests.before.tolist()

    def seconds(values: NDArray[np.float64]) -> pa.Array:
        return pa.array(values, from_pandas=True)  # NaN becomes null

    return {
        "policy": [policy] * n,
        "seed": np.full(n, seed, np.int64),
        "slot": requests.slot.astype(np.int64),
        "session_pk": source.session_pk[requests.session],
        "round_pk": source.round_pk[requests.round],
        "before": [_BEFORE[kind] for kind in kinds],
        "tool_class": [
            work.class_names[code] if kind == TOOL else None for kind, code in zip(kinds, codes, strict=True)
        ],
        "in_window": requests.arrival >= source.warmup,
        "arrival_s": requests.arrival,
        "queue_wait_s": seconds(requests.queue_wait),
        "load_wait_s": seconds(requests.load_wait),
        "ttft_s": seconds(requests.ttft),
        "gpu_hit": requests.gpu_hit.astype(np.int64),
        "host_hit": requests.host_hit.astype(np.int64),
        "computed": requests.computed.astype(np.int64),
        "chunks": requests.chunks.astype(np.int64),
        "deadline_before_s": seconds(requests.deadline_before),
    }
