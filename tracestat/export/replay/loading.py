"""Steps of the store as sessions to replay, a bounded number of them in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tracestat.durations.sequence import HumanGap, with_pauses
from tracestat.export.replay.counts import Counts
from tracestat.export.replay.formats import ReplayFormat
from tracestat.export.replay.model import Family, Ints, ReplaySession
from tracestat.export.replay.plan import Member, Plan
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["families"]

# Steps that are in memory at once, unless one family has more: some megabytes.
_STEPS: Final = 20_000
_LEAST_APPEND: Final = 16  # when contexts are scaled (simulator.md section 7)


def families(trace: Trace, plan: Plan, human_gap: HumanGap, *, form: ReplayFormat) -> Iterator[tuple[Family, Counts]]:
    """Give the families of a plan in its order, each with its numbers.

    Parameters
    ----------
    trace : Trace
    plan : Plan
    human_gap : HumanGap
        What becomes of people's time.
    form : ReplayFormat
        For which the prompts that an accumulating consumer sends are counted.
    """
    for part in _parts(plan.families):
        chosen = [member.session_pk for family in part for member in family]
        steps = with_pauses(trace.run(query_text("replay_steps"), {"sessions": chosen}), human_gap)
        by_session = {int(frame["session_pk"][0]): frame for frame in steps.partition_by("session_pk")}
        for family in part:
            made: dict[int, ReplaySession] = {}
            counts = Counts()
            places: dict[int, list[int]] = {}
            for member in family:
                frame = by_session[member.session_pk]
                places[member.number] = frame["place"].to_list()
                made[member.number], own = _session(member, frame, plan.factor, places)
                counts = (
                    counts + own + (_longer(made[member.number], resets=form.resets) if form.accumulates else Counts())
                )
            yield Family(tuple(made.values())), counts


def _parts(all_families: Sequence[tuple[Member, ...]]) -> Iterator[list[tuple[Member, ...]]]:
    part: list[tuple[Member, ...]] = []
    steps = 0
    for family in all_families:
        size = sum(member.steps for member in family)
        if part and steps + size > _STEPS:
            yield part
            part, steps = [], 0
        part.append(family)
        steps += size
    if part:
        yield part


def _session(
    member: Member, frame: pl.DataFrame, factor: float, places: dict[int, list[int]]
) -> tuple[ReplaySession, Counts]:
    prefix, append, output = _scaled(frame, factor)
    prompt = np.maximum(prefix + append, 1)
    written = np.maximum(output, 1)
    context = ReplaySession.before(prompt + written)
    reusable = np.minimum(np.minimum(prefix, prompt), context)
    tool = _us(frame["tool_seconds"])
    human = _us(frame["human_after_seconds"])
    parent = member.parent
    session = ReplaySession(
        number=member.number,
        start_us=member.start_us,
        prompt=prompt,
        prefix=reusable,
        output=written,
        tool_us=tool,
        human_us=human,
        generation_us=_us(frame["generation_seconds"].fill_null(0.0)),
        submitted_us=_stamps(frame["submitted_us"]),
        last_output_us=_stamps(frame["last_output_us"]),
        kind=tuple(frame["kind"].to_list()),
        calls=frame["n_calls"].to_numpy() > 0,
        models=tuple(model or "" for model in frame["model"].to_list()),
        parent=None if parent is None else parent.number,
        parent_step=None
        if parent is None or member.parent_place is None
        else places[parent.number].index(member.parent_place),
    )
    return session, Counts(
        sessions=1,
        steps=session.steps,
        tool_pauses=int(np.count_nonzero(tool)),
        human_pauses=int(np.count_nonzero(human)),
        tool_us=int(tool.sum()),
        human_us=int(human.sum()),
        human_cut_us=int(_us(frame["human_seconds"]).sum() - human.sum()),
        pauses_unknown=int((~frame["pause_known"]).sum()),
        generation_unknown=frame["generation_seconds"].null_count(),
        prefixes_cut=int(np.count_nonzero(prefix[1:] > context[1:])),
        prompts_raised=int(np.count_nonzero(prefix + append < 1)),
        outputs_raised=int(np.count_nonzero(output < 1)),
        prompt_tokens=int(prompt.sum()),
        longest_us=int((tool + human).max()),
        peak_tokens=int((prompt + written).max()),
    )


def _longer(session: ReplaySession, *, resets: bool) -> Counts:
    sent = session.added(resets=resets).sent
    extra = sent - session.prompt
    return Counts(
        longer=int(np.count_nonzero(extra)),
        extra_tokens=int(extra.sum()),
        peak_tokens=int((sent + session.output).max()),
    )


def _scaled(frame: pl.DataFrame, factor: float) -> tuple[Ints, Ints, Ints]:
    prefix, append, output = (
        frame[name].to_numpy().astype(np.int64) for name in ("prefix_tokens", "append_tokens", "output_tokens")
    )
    if factor == 1.0:
        return prefix, append, output
    prefix, append, output = (np.rint(tokens * factor).astype(np.int64) for tokens in (prefix, append, output))
    return prefix, np.maximum(append, _LEAST_APPEND), np.maximum(output, 1)


def _us(seconds: pl.Series) -> Ints:
    return np.rint(seconds.to_numpy() * 1e6).astype(np.int64)


def _stamps(values: pl.Series) -> Ints:
    return values.fill_null(-1).to_numpy().astype(np.int64)
