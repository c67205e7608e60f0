"""Recorded sessions as counts and quantiles: what drawing sessions that resemble them needs, and no more.

A step is a model request; what follows it is its state: the class of its calls, ``answer`` (no call, then a message or
the end) or ``none`` (no call, the next step comes by itself). States follow each other as a first-order chain.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from tracestat.results.profile import (
    Alike,
    Band,
    Chain,
    Compactions,
    Endings,
    Grid,
    HumanWaits,
    ProviderSessions,
    Recorded,
    grid_of,
    summaries,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ANSWER", "NONE", "provider_sessions", "recorded", "with_states"]

ANSWER: Final = "answer"
NONE: Final = "none"
HUMAN: Final = "human"
UNKNOWN: Final = "unknown"
# a context this much smaller than the one before was compacted (or the session was cleared)
_COMPACTED: Final = 0.7
_CONTEXT_EDGES: Final = (*(1e4 * k for k in range(1, 31)), 4e5, 6e5, 1e6)
# the first steps of a session read the most
_GROWTH_EDGES: Final = (2e4, 3e4, 4e4, 6e4, 8e4, 1.2e5, 2e5)
_GAP_EDGES_MS: Final = (60e3, 300e3, 3_600e3)
_OUTPUT_EDGES: Final = (8.0, 32.0, 128.0, 512.0, 2_048.0, 8_192.0)
_MEAN_EDGES: Final = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0)
_ROUNDS_EDGES: Final = (1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 32.0, 50.0, 80.0, 130.0, 200.0, 320.0, 500.0, 1_000.0)

Floats = NDArray[np.float64]


def with_states(steps: pl.DataFrame) -> pl.DataFrame:
    """Add to the steps of whole sessions what the parts of a profile are made of.

    Parameters
    ----------
    steps : polars.DataFrame
        `tracestat.durations.sequence.session_sequence`.

    Returns
    -------
    polars.DataFrame
        With ``state``; ``follows`` (state of the step before, ``message`` where a user's message came between,
        ``start``); ``then`` (state of the step after, or ``message``, or ``end``); ``context``, ``next_context``,
        ``next_prefix``, tokens.
    """
    import polars as pl

    def near(column: str, by: int) -> pl.Expr:
        return pl.col(column).shift(by).over("session_pk", order_by="place")

    frame = steps.with_columns(
        context=pl.col("prefix_tokens") + pl.col("append_tokens"),
        closes=near("request", -1).is_null() | (near("request", -1) > pl.col("request")),
        is_last=near("request", -1).is_null(),
        opens=near("request", 1).is_not_null() & (near("request", 1) < pl.col("request")),
        is_first=near("request", 1).is_null(),
    )
    frame = frame.with_columns(
        state=pl.when(pl.col("n_calls") > 0)
        .then(pl.col("tool_class").fill_null(UNKNOWN))
        .when(pl.col("closes"))
        .then(pl.lit(ANSWER))
        .otherwise(pl.lit(NONE))
    )
    return frame.with_columns(
        follows=pl.when("is_first")
        .then(pl.lit("start"))
        .when("opens")
        .then(pl.lit("message"))
        .otherwise(near("state", 1)),
        then=pl.when("is_last").then(pl.lit("end")).when("closes").then(pl.lit("message")).otherwise(near("state", -1)),
        next_context=near("context", -1),
        next_prefix=near("prefix_tokens", -1),
    )


def provider_sessions(frame: pl.DataFrame, provider: str) -> ProviderSessions:
    """Describe the sessions of one provider.

    Parameters
    ----------
    frame : polars.DataFrame
        Its steps, with `with_states`.
    provider : str

    Returns
    -------
    ProviderSessions
    """
    import polars as pl

    rounds = frame.group_by("session_pk").agg(n=pl.len(), requests=pl.col("request").n_unique()).sort("session_pk")
    requests = (
        frame.group_by("session_pk", "request")
        .agg(n=pl.len())
        .join(rounds.select("session_pk", mean=pl.col("n") / pl.col("requests")), on="session_pk")
        .sort("session_pk", "request")
    )
    calls = frame["n_calls"].to_numpy() > 0
    human = _floats(frame, "human_seconds") * 1e3
    closes, is_last, state = (frame[name].to_numpy() for name in ("closes", "is_last", "state"))
    message = ~is_last & closes
    context, after, cached = (_floats(frame, name) for name in ("context", "next_context", "next_prefix"))
    known = np.isfinite(context) & np.isfinite(after)
    smaller = known & (after < _COMPACTED * context)
    gap = _floats(frame, "tool_seconds") * 1e3 + human
    then = frame["then"].to_numpy()
    # what the next step adds comes of this one: of its calls, or of the message after it
    source = np.where(then == "message", "message", state)
    output, generation = _floats(frame, "output_tokens"), _floats(frame, "generation_seconds") * 1e3
    first = frame["is_first"].to_numpy()
    lost = frame["observed"].fill_null(True).to_numpy() == False  # noqa: E712 - an array
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(context > 0, cached / context, np.nan)
        first_hit = np.where(context > 0, _floats(frame, "prefix_tokens") / context, np.nan)
    return ProviderSessions(
        provider=provider,
        n_sessions=rounds.height,
        n_steps=frame.height,
        models=[(str(name), n) for name, n in sorted(Counter(frame["model"].drop_nulls().to_list()).items())],
        rounds_per_session=grid_of(rounds["n"].to_numpy()),
        requests_per_session=_bands(_floats(rounds, "n"), _floats(rounds, "requests"), _ROUNDS_EDGES),
        rounds_per_request=_bands(_floats(requests, "mean"), _floats(requests, "n"), _MEAN_EDGES),
        chain=_chain(frame),
        calls_per_round=_calls_per_round(frame.filter(pl.col("n_calls") > 0)),
        endings=Endings(
            answer=int((is_last & ~calls).sum()),
            result=int((is_last & calls & ~lost).sum()),
            open=int((is_last & calls & lost).sum()),
        ),
        human=HumanWaits(
            message=grid_of(human[message & ~calls]),
            asked=grid_of(human[~is_last & (state == HUMAN)]),
            after_call=grid_of(human[message & calls & (state != HUMAN)]),
        ),
        first_prompt=grid_of(context[first]),
        first_cached=grid_of(first_hit[first]),
        alike=Alike(
            tool=_alike(frame.filter((pl.col("n_calls") > 0) & (pl.col("state") != HUMAN) & ~pl.col("is_last"))),
            human=_alike(
                frame.filter(pl.col("human_seconds") > 0).with_columns(
                    tool_seconds="human_seconds", state=pl.lit(HUMAN)
                )
            ),
        ),
        growth={
            name: _bands(context[of], (after - context)[of], _GROWTH_EDGES)
            for name in sorted(set(source[known & ~smaller].tolist()))
            for of in (known & ~smaller & (source == name),)
        },
        compactions=_compactions(context[known], smaller[known]),
        most_context=int(np.nanmax(context, initial=0.0)),
        after_compaction=grid_of(after[smaller]),
        cached=_bands(gap[known & ~smaller], hit[known & ~smaller], _GAP_EDGES_MS),
        output_tokens={"call": grid_of(output[calls]), "text": grid_of(output[~calls])},
        generation=_bands(output, generation, _OUTPUT_EDGES),
        notes=_notes(context, output, generation),
    )


def recorded(frame: pl.DataFrame, provider: str) -> list[Recorded]:
    """Give the quantiles by which drawn sessions are compared with these.

    Parameters
    ----------
    frame : polars.DataFrame
        The steps of one provider, with `with_states`.
    provider : str
    """
    import polars as pl

    by_session = frame.group_by("session_pk").agg(
        n=pl.len(), tool=pl.col("tool_seconds").sum(), human=pl.col("human_seconds").sum()
    )
    tools = frame.filter((pl.col("n_calls") > 0) & (pl.col("state") != HUMAN) & ~pl.col("is_last"))
    return summaries(
        provider,
        {
            "tool_pause": _floats(tools.filter(pl.col("observed") & pl.col("pause_known")), "tool_seconds") * 1e3,
            "human_wait": _floats(frame.filter(pl.col("human_seconds") > 0), "human_seconds") * 1e3,
            "rounds_per_session": by_session["n"].to_numpy(),
            "rounds_per_request": frame.group_by("session_pk", "request").len()["len"].to_numpy(),
            "context": _floats(frame, "context"),
            "output": _floats(frame, "output_tokens"),
            "tool_paused_per_session": _floats(by_session, "tool") * 1e3,
            "paused_per_session": (_floats(by_session, "tool") + _floats(by_session, "human")) * 1e3,
        },
    )


def _floats(frame: pl.DataFrame, column: str) -> Floats:
    return frame[column].to_numpy().astype(np.float64)


def _bands(of: Floats, values: Floats, edges: tuple[float, ...]) -> list[Band]:
    """Give the quantiles of values by bands of another quantity; bands without values are left out."""
    use = np.isfinite(of) & np.isfinite(values)
    band = np.searchsorted(np.asarray(edges), of[use], side="left")
    grids: list[Grid] = [grid_of(values[use][band == i]) for i in range(len(edges) + 1)]
    ends = [*edges, None]
    return [Band(to, grid) for to, grid in zip(ends, grids, strict=True) if grid.n]


def _chain(frame: pl.DataFrame) -> Chain:
    pairs = Counter(zip(frame["state"].to_list(), frame["then"].to_list(), strict=True))
    # a session's first state, and the first after a message
    begun = frame.filter(frame["follows"].is_in(["start", "message"]))
    pairs += Counter(zip(begun["follows"].to_list(), begun["state"].to_list(), strict=True))
    own = sorted(set(frame["state"].to_list()))
    states = ["start", "message", *own, "end"]
    return Chain(states, [[pairs[a, b] for b in states] for a in states])


def _alike(frame: pl.DataFrame) -> float:
    """Give the correlation of the scores of two pauses of one session, each pause counting once; at least 0."""
    import polars as pl
    from scipy.special import ndtri

    frame = frame.filter(pl.col("pause_known")).with_columns(
        share=(pl.col("tool_seconds").rank("average").over("state") - 0.5) / pl.len().over("state")
    )
    z = ndtri(_floats(frame, "share"))
    session = np.unique(frame["session_pk"].to_numpy(), return_inverse=True)[1]
    n, total, squares = (np.bincount(session, weights=w) for w in (np.ones_like(z), z, z**2))
    several = n > 1
    if not several.any() or z.std() == 0:
        return 0.0
    pairs = ((total**2 - squares)[several] / (n[several] - 1)).sum() / n[several].sum()
    return float(f"{min(max(pairs / (squares.sum() / n.sum()), 0.0), 0.99):.4g}")


def _calls_per_round(frame: pl.DataFrame) -> dict[str, list[tuple[int, int]]]:
    out: dict[str, list[tuple[int, int]]] = {}
    for state, n_calls, n in frame.group_by("state", "n_calls").len().sort("state", "n_calls").iter_rows():
        out.setdefault(state, []).append((n_calls, n))
    return out


def _compactions(context: Floats, smaller: NDArray[np.bool_]) -> list[Compactions]:
    band = np.searchsorted(np.asarray(_CONTEXT_EDGES), context, side="left")
    steps = np.bincount(band, minlength=len(_CONTEXT_EDGES) + 1)
    those = np.bincount(band[smaller], minlength=len(_CONTEXT_EDGES) + 1)
    ends = [*_CONTEXT_EDGES, None]
    return [Compactions(to, int(n), int(k)) for to, n, k in zip(ends, steps, those, strict=True) if n]


def _notes(context: Floats, output: Floats, generation: Floats) -> list[str]:
    notes = []
    for what, values in (("context", context), ("output tokens", output), ("generation time", generation)):
        unknown = int((~np.isfinite(values)).sum())
        if unknown:
            notes.append(f"{what}: unknown for {unknown:,} of {values.size:,} steps, left out")
    return notes
