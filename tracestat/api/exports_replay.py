"""Sessions for load generators and simulators."""

from __future__ import annotations

from pathlib import Path

from tracestat.api.common import Progress, TraceLike, as_trace
from tracestat.durations.sequence import parse_human_gap
from tracestat.durations.tracelab import choose_sessions
from tracestat.export.attribution import attribution_of
from tracestat.export.replay.formats import format_named
from tracestat.export.replay.options import ReplayOptions, Start
from tracestat.export.replay.writing import ReplayExport, check_options, write_replay

__all__ = ["export_replay"]


def export_replay(
    trace: TraceLike,
    path: str | Path,
    *,
    format: str,  # noqa: A002  the option's name
    human_gap: str = "cap:60",
    start: Start = "zero",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    block_size: int | None = None,
    scale_context: int | None = None,
    sessions: int | None = None,
    seed: int = 0,
    token_ids: bool = False,
    licence: str | None = None,
    attribution: str | None = None,
    progress: Progress | None = None,
) -> ReplayExport:
    """Write recorded sessions in the form that another tool replays.

    Tokens, order and pauses are those of the trace; the place and unit of the pause are the format's own. Pauses for
    tools are never capped. A file ``<name>.about.json`` beside says whose data it is, what was left out or changed,
    and what to tell the consumer.

    Parameters
    ----------
    trace : Trace, str or Path
        What to write.
    path : str or Path
        ``.jsonl`` or ``.csv``, by the format; replaced once the new file is complete. ``kv-cache-tester``: a new or
        empty folder. ``blis-v2``: its header goes beside, as ``.yaml``.
    format : str
        ``aiperf-mooncake``, ``dynamo-agentic-mooncake``, ``kv-cache-tester``, ``llmservingsim``, ``blis-v2`` or
        ``tracelab-csv``.
    human_gap : str
        What becomes of people's time: ``cap:SECONDS``, ``keep`` or ``drop``.
    start : {"zero", "recorded"}
        When sessions begin: all at once, or as far apart as recorded.
    where, since, until, tz : str, optional
        Whole sessions, by provider, developer, project, session and their first stamp.
    block_size : int, optional
        Tokens per cache block; 512 for aiperf-mooncake, else 64.
    scale_context : int, optional
        Multiply all tokens so that the 99th percentile of the sessions' largest contexts is this.
    sessions : int, optional
        Draw so many of them.
    seed : int
        Of that drawing.
    token_ids : bool
        llmservingsim: an id for every token, which its prefix cache needs; large.
    licence, attribution : str, optional
        What the caller knows of the source.
    progress : callable, optional
        Called with (steps done, steps in all).

    Returns
    -------
    ReplayExport
        What was written, and the notes.

    Raises
    ------
    UsageError
        A format, option, column or ending that does not exist or do not go together.
    TracestatError
        The trace cannot be read, or the file not be written.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> with tempfile.TemporaryDirectory() as folder, tracestat.open() as trace:
    ...     written = tracestat.export_replay(trace, f"{folder}/sample.jsonl", format="aiperf-mooncake")
    ...     written.counts.tool_pauses > 0
    True
    """
    form = format_named(format)
    options = ReplayOptions(
        human_gap=parse_human_gap(human_gap),
        start=start,
        block_size=block_size,
        scale_context=scale_context,
        sessions=sessions,
        seed=seed,
        token_ids=token_ids,
    )
    check_options(form, Path(path), options)
    selection = choose_sessions(by=None, where=where, since=since, until=until, tz=tz)
    opened = as_trace(trace)
    about = attribution_of(
        opened,
        f"sessions as {form.name} for replay, human gap {options.human_gap}, made by tracestat",
        licence=licence,
        attribution=attribution,
    )
    return write_replay(opened, Path(path), form, selection, options, about, progress=progress)
