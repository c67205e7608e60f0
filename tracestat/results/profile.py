"""The file ``tracestat-profile``: the laws of a corpus, and enough of its sessions to draw new ones from.

These are its types, for the writer and for every reader. Times are milliseconds, as policies outside of this project
write them. A field may be added in a later version, none renamed; JSON Schema: ``schemas/profile.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "QUANTILE_LEVELS",
    "QUANTITIES",
    "SCHEMA",
    "VERSION",
    "Alike",
    "Band",
    "Chain",
    "Compactions",
    "Corpus",
    "Duration",
    "Endings",
    "Eta",
    "EtaInterval",
    "Grid",
    "HazardBin",
    "HumanWaits",
    "Profile",
    "ProfileKey",
    "Programs",
    "ProviderSessions",
    "Recorded",
    "Sessions",
    "Source",
    "Tail",
    "TurnLaw",
    "grid_of",
    "summaries",
]

SCHEMA: Final = "tracestat-profile"
VERSION: Final = 1
# every per cent, and finer towards both ends
QUANTILE_LEVELS: Final = (
    0.0, 0.0005, 0.001, 0.002, 0.005, *(k / 100 for k in range(1, 100)), 0.995, 0.998, 0.999, 0.9995, 1.0,
)  # fmt: skip
# what is compared between recorded and drawn sessions, with its unit
QUANTITIES: Final = {
    "tool_pause": "ms",
    "human_wait": "ms",
    "rounds_per_session": "rounds",
    "rounds_per_request": "rounds",
    "context": "tokens",
    "output": "tokens",
    "tool_paused_per_session": "ms",
    "paused_per_session": "ms",
}

Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(ge=0)]


class Corpus(Struct, frozen=True):
    """What was measured; ``sha256`` is over all sources, ``version`` that of a release that is known."""

    name: str
    version: str | None
    sha256: str
    extracted: str | None
    provider: str


class Duration(Struct, frozen=True):
    """What one duration is."""

    definition: Literal["internal", "wall", "inter_request", "pause"]
    positive_only: bool
    parallel: Literal["per_call", "merged"]
    approvals: Literal["included", "excluded"]
    continuations: Literal["per_call", "chained"]
    resolution_ms: Positive
    time_unit: Literal["ms"]
    unit: str
    clock: str
    rows: str
    n_excluded: dict[str, Count]


class HazardBin(Struct, frozen=True):
    """Ends and exposure within [lo, hi), milliseconds; the last bin has no end."""

    lo: Positive
    hi: Positive | None
    events: Count
    exposure_ms: Positive


class Tail(Struct, frozen=True):
    """What may be assumed beyond the last point of ``survival``."""

    kind: Literal["none", "pareto"]
    alpha: Annotated[float, Meta(gt=0)] | None = None


class ProfileKey(Struct, frozen=True):
    """The law of one key; ``survival`` is shrunk, ``own_survival`` Kaplan-Meier of its own rows, both whole."""

    key: dict[str, str | None]
    n: Count
    n_censored: Count
    n_units: Count
    unit: Literal["session", "developer"]
    level: str
    level_used: str
    shrink_weight: Share
    survival: list[tuple[Positive, Share]]
    own_survival: list[tuple[Positive, Share]]
    atoms: list[tuple[Positive, Share, Literal["deadline", "timeout", "sleep"]]]
    quantiles: dict[str, Positive | None]
    mrl: list[tuple[Positive, Positive, Positive | None, Positive | None]]
    median_residual: list[tuple[Positive, Positive]]
    hazard: list[HazardBin]
    tail: Tail
    last_support_ms: Positive
    notes: list[str]


class TurnLaw(Struct, frozen=True):
    """Survival of the number of rounds: ``[n, P(N >= n)]``, of the programs that had ended."""

    unit: Literal["session", "request"]
    provider: str
    n_programs: Count
    points: list[tuple[Count, Share]]


class Eta(Struct, frozen=True):
    """Memoryfulness by unit, over all providers."""

    session: float | None
    request: float | None


class EtaInterval(Struct, frozen=True):
    """Its intervals, ``[low, high]``, and how they were made."""

    session: tuple[float | None, float | None]
    request: tuple[float | None, float | None]
    method: str | None


class Programs(Struct, frozen=True):
    """How many rounds sessions and requests have, and whether progress tells how many are left."""

    unit: list[str]
    law_of_n: list[TurnLaw]
    eta: Eta
    eta_interval: EtaInterval | None
    eta_by_provider: dict[str, Eta]
    notes: list[str]


class Grid(Struct, frozen=True):
    """Quantiles of ``n`` values at the levels of ``Sessions.levels``; empty where ``n`` is 0."""

    n: Count
    values: list[float]


class Band(Struct, frozen=True):
    """Quantiles of one quantity, of what has at most ``to`` of another; the last band has no end."""

    to: Positive | None
    grid: Grid


class Chain(Struct, frozen=True):
    """How often one state follows another: ``counts[i][j]`` from ``states[i]`` to ``states[j]``."""

    states: list[str]
    counts: list[list[Count]]


class Compactions(Struct, frozen=True):
    """How many steps with a context of at most ``to`` tokens had a next one, and how often it was far smaller."""

    to: Positive | None
    steps: Count
    compactions: Count


class Endings(Struct, frozen=True):
    """How sessions end: with an answer, on a tool's result, on a call without result."""

    answer: Count
    result: Count
    open: Count


class HumanWaits(Struct, frozen=True):
    """Milliseconds until a person writes after an answer, answers a tool, writes after a tool came back."""

    message: Grid
    asked: Grid
    after_call: Grid


class Alike(Struct, frozen=True):
    """Correlation of the normal scores of two tool pauses (within their class), and two waits, of one session."""

    tool: Share
    human: Share


class ProviderSessions(Struct, frozen=True):
    """What the sessions of one provider look like."""

    provider: str
    n_sessions: Count
    n_steps: Count
    models: list[tuple[str, Count]]
    rounds_per_session: Grid
    requests_per_session: list[Band]
    rounds_per_request: list[Band]
    chain: Chain
    calls_per_round: dict[str, list[tuple[Count, Count]]]
    endings: Endings
    human: HumanWaits
    alike: Alike
    first_prompt: Grid
    first_cached: Grid
    growth: dict[str, list[Band]]
    compactions: list[Compactions]
    most_context: Count
    after_compaction: Grid
    cached: list[Band]
    output_tokens: dict[str, Grid]
    generation: list[Band]
    notes: list[str]


class Sessions(Struct, frozen=True):
    """What drawing sessions needs; counts and quantiles only."""

    levels: list[Share]
    providers: list[ProviderSessions]


class Recorded(Struct, frozen=True):
    """Three quantiles of one quantity of the recorded sessions."""

    provider: str
    quantity: str
    n: Count
    p50: float | None
    p95: float | None
    p99: float | None


class Source(Struct, frozen=True):
    """Whose data it is: `tracestat.export.attribution.Attribution`."""

    source: str
    fingerprint: str
    synthetic: bool
    licence: str | None
    attribution: str
    changes: str


class Profile(Struct, frozen=True, kw_only=True):
    """The whole file."""

    schema: Literal["tracestat-profile"] = SCHEMA
    version: Annotated[int, Meta(ge=1)] = VERSION
    tracestat: str
    synthetic: bool
    corpus: Corpus
    duration: Duration
    keys: list[ProfileKey]
    programs: Programs
    sessions: Sessions
    recorded: list[Recorded]
    attribution: Source
    notes: list[str]

    def to_bytes(self) -> bytes:
        """Write it: a line per key, so that two files can be compared line by line.

        Raises
        ------
        ValueError
            A number is NaN or infinite.
        """
        import json

        def text(value: object) -> str:
            return json.dumps(msgspec.to_builtins(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

        lines = []
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, list) and value:
                parts = ",\n".join(text(part) for part in value)
                lines.append(f"{text(name)}:[\n{parts}\n]")
            else:
                lines.append(f"{text(name)}:{text(value)}")
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def grid_of(values: ArrayLike) -> Grid:
    """Give the quantiles of values (the least value that so large a share does not exceed), to six digits.

    What is not finite is left out.

    Examples
    --------
    >>> grid = grid_of([1.0, 3.0])
    >>> grid.n, grid.values[0], grid.values[-1]
    (2, 1.0, 3.0)
    """
    import numpy as np

    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    if x.size == 0:
        return Grid(0, [])
    return Grid(int(x.size), [float(f"{q:.6g}") for q in np.quantile(x, QUANTILE_LEVELS, method="inverted_cdf")])


def summaries(provider: str, values: Mapping[str, ArrayLike]) -> list[Recorded]:
    """Summarise each of `QUANTITIES` of one provider's sessions by the three quantiles that are compared.

    Examples
    --------
    >>> summaries("claude", {"output": [1.0, 2.0, 3.0]})[5].p50
    2.0
    """
    import numpy as np

    out = []
    for name in QUANTITIES:
        x = np.asarray(values.get(name, ()), dtype=np.float64)
        x = x[np.isfinite(x)]
        found = [float(f"{q:.6g}") for q in np.quantile(x, (0.5, 0.95, 0.99))] if x.size else [None, None, None]
        out.append(Recorded(provider, name, int(x.size), *found))
    return out
