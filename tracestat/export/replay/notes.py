"""What a reader of a replay file must know: what it holds, what was left out or changed, what to tell the consumer."""

from __future__ import annotations

from collections.abc import Iterator

from tracestat.export.replay.counts import Counts
from tracestat.export.replay.formats import ReplayFormat
from tracestat.export.replay.options import ReplayOptions
from tracestat.export.replay.plan import MOST_TOKENS, Plan
from tracestat.export.replay.settings import Settings

__all__ = ["replay_notes"]


def replay_notes(
    form: ReplayFormat, plan: Plan, options: ReplayOptions, counts: Counts, linked: int, settings: Settings
) -> tuple[str, ...]:
    """Say it, a line each."""
    return (
        *_content(form, options, counts),
        *_tokens(form, plan, options, counts, settings),
        *_sessions(form, plan, options, linked),
        *_advice(form, counts, settings),
    )


def _content(form: ReplayFormat, options: ReplayOptions, counts: Counts) -> Iterator[str]:
    yield f"format {form.name}: {_counted(counts.sessions, 'session')}, {_counted(counts.steps, 'step')}"
    yield f"the pause is {form.pause}; a step that follows by itself waits 0"
    yield (
        f"{_hours(counts.tool_us)} of tool pauses ({counts.tool_pauses:,}), never capped; {_hours(counts.human_us)} of "
        f"waits for people ({counts.human_pauses:,}) by human gap {options.human_gap}, which left out "
        f"{_hours(counts.human_cut_us)}; {form.parts}"
    )
    if counts.pauses_unknown:
        yield f"{_counted(counts.pauses_unknown, 'pause')} of unknown length written as 0"
    begin = "all sessions begin at 0" if options.start == "zero" else "sessions begin as far apart as recorded"
    yield f"closed loop: a step waits for the end of the one before it; {begin}"
    if form.name == "aiperf-mooncake" and options.start == "recorded":
        yield "aiperf begins them by the clock, as the first line has a timestamp; --no-fixed-schedule: as others end"


def _tokens(
    form: ReplayFormat, plan: Plan, options: ReplayOptions, counts: Counts, settings: Settings
) -> Iterator[str]:
    if form.accumulates:
        shrink = (
            "where a context shrank by a compaction, input_tokens_reset holds the whole prompt, which then reuses "
            "nothing; elsewhere"
            if form.resets
            else "the consumer's context never shrinks, so"
        )
        sent = counts.prompt_tokens + counts.extra_tokens
        yield (
            f"a step holds what is added to all that was said before; {shrink} {_counted(counts.longer, 'step')} after "
            f"a compaction or a dropped output have longer prompts than recorded: {sent:,} prompt tokens in all for "
            f"{counts.prompt_tokens:,} ({counts.extra_tokens / max(counts.prompt_tokens, 1):+.1%})"
        )
    if form.block_size is not None:
        yield (
            f"one id per block of {settings.block_size} tokens, no two sessions share one"
            + ("" if form.accumulates else "; of a reusable prefix, the whole blocks of the prompt before keep theirs")
        )
    if form.name == "llmservingsim" and not options.token_ids:
        yield "no ids of tokens, so the simulator's prefix cache finds nothing: --token-ids writes them; large"
    if counts.prefixes_cut:
        yield (
            f"{_counted(counts.prefixes_cut, 'step')} had more cached than their own session held: cut to that; what a "
            "first step had cached counts as new"
        )
    if counts.prompts_raised or counts.outputs_raised:
        yield (
            f"{_counted(counts.prompts_raised, 'prompt')} and {_counted(counts.outputs_raised, 'output')} of 0 tokens "
            "written as 1"
        )
    if plan.factor != 1.0:
        yield (
            f"all tokens multiplied by {plan.factor:.6g}, so that the 99th percentile of the sessions' peaks is "
            f"{options.scale_context:,}; appends are at least 16"
        )


def _sessions(form: ReplayFormat, plan: Plan, options: ReplayOptions, linked: int) -> Iterator[str]:
    if plan.left_out:
        yield (
            f"{_counted(plan.left_out, 'session')} ({_counted(plan.left_out_steps, 'step')}) left out: tokens unknown, "
            f"negative or above {MOST_TOKENS:,} in some step"
        )
    if plan.not_drawn:
        yield f"{_counted(len(plan.members), 'session')} drawn with seed {options.seed}; {plan.not_drawn:,} not"
    if not plan.members:
        yield "no sessions: nothing to replay"
    if plan.subagents:
        of = f"sub-agents: {_counted(plan.subagents, 'session')}"
        if form.depth:
            yield f"{of}, {linked:,} tied to the step that called them, {plan.subagents - linked:,} independent"
        else:
            yield f"{of}, all independent: this format cannot tie them to their callers"
    if linked and form.name == "kv-cache-tester":
        yield (
            "aiperf sends the step after a sub-agent as soon as that one has ended, whatever think_time says; "
            "dynamo-agentic-mooncake waits for both"
        )


def _advice(form: ReplayFormat, counts: Counts, settings: Settings) -> Iterator[str]:
    longest = max(1, -(-counts.longest_us // 1_000_000))
    for line in form.advice:
        yield line.format(longest=longest, peak=counts.peak_tokens, block=settings.block_size)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _hours(microseconds: int) -> str:
    return f"{microseconds / 3.6e9:,.2f} h"
