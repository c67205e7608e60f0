"""Traces with known truth, in TraceLab's v0.0.2 form, of any size.

An estimator is only as good as the data it was tried on, and no real trace comes with its hazard law. `synth_trace`
writes one that does: what was drawn from, what was written, both in the truth file beside it.

**A synthetic trace says so.** Every row carries ``"store": ".synthetic"``; a reader marks a store as synthetic as
soon as one row has it. Ids have the forms of a release and do not tell.

Reproduced from real traces:

- both harnesses with their event sources and order: Claude's results are listed by the next round, Codex lists a
  round's own results before its calls and closes it with the usage report (0.130 and later);
- tool mix, medians, sizes, errors, reported (internal) times with Codex' ``0.0000`` for fast commands;
- a few percent of the calls hold most of the time; slopes that are steeper pooled than within a key;
- Codex yields at 1, 5, 10 and 30 s and the polls that follow, Claude's limits of 120 and 600 s;
- waits for humans, calls of one round side by side, interruptions, results that come too late or never;
- sessions resumed with a copy of their past, in Claude's rows;
- contexts that grow, are read from the cache, go cold, and are compacted.

Left out: outputs of a Codex batch held back in call order; approval times inside Bash, Edit and Write; hooks that
stop one developer's edits at five seconds; sub-agents as sessions of their own; ``exec`` cells that yield; commands
that fail to launch and polls of dead sessions; injected user lines; holes in ``round_index``; Codex 0.129 and
earlier; times that step back. MCP and web tools follow power laws here, which they do not in life.

Requests and sessions have known turn laws, so memoryfulness is known as well. What holds for which unit (call,
pause, command) stands in `tracestat.synth.truth.UNITS` and in every truth file.

``like="tracelab"`` makes another kind of trace: one whose figures are the published ones, or miss them on purpose, with
no law of single keys behind it (`tracestat.synth.like_tracelab`).

``profile=FILE`` draws sessions from what ``tracestat export profile`` wrote of any trace: they resemble the recorded
ones as far as its laws, quantiles and first-order chain say, and the truth file compares both
(`tracestat.synth.from_profile`).

The bundled ``data/sample.jsonl.gz`` is ``tracestat synth -o data/sample.jsonl.gz --sessions 120 --seed 0``.
"""

from __future__ import annotations

from tracestat.synth.like_tracelab import LikeTruth
from tracestat.synth.truth import SynthTruth
from tracestat.synth.writing import synth_trace

__all__ = ["LikeTruth", "SynthTruth", "synth_trace"]
