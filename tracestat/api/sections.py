"""``summary --section``: sessions, prefix cache and shell commands, by TraceLab's rules and by ours side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, get_args

from tracestat.api.common import TraceLike, as_trace, head_of, sorted_groups
from tracestat.api.section_estimates import (
    AT,
    GRID,
    grouped,
    ratio_figures,
    residual_figures,
    sweep_of,
    value_figures,
)
from tracestat.durations import Selection
from tracestat.durations.section_figures import RULES, VALUES, Rule, Section
from tracestat.durations.tracelab import (
    LEAST_CALLS,
    cache_sweep,
    choose_sessions,
    residual_sums,
    section_cells,
    section_counts,
    section_influence,
    section_sums,
    sessions_at_once,
)
from tracestat.errors import UsageError
from tracestat.results import NOT_AVAILABLE, Interval
from tracestat.results.sections import (
    CacheSummary,
    CommandsSummary,
    SectionFigure,
    SectionGroup,
    SectionResult,
    SessionsSummary,
    TimeoutSweep,
)
from tracestat.survival.headline import ENOUGH_CLUSTERS, FEW_DEVELOPERS

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = ["summary_section"]

_KIND: dict[Section, type[SectionResult]] = {
    "sessions": SessionsSummary,
    "cache": CacheSummary,
    "commands": CommandsSummary,
}
_COUNTED: dict[Section, str] = {"sessions": "n_steps", "cache": "n_steps", "commands": "n_calls"}
_NO_TOKENS = "no step tells how many tokens of its prompt were cached and appended"
_ONE_SESSION = "one session: no interval"
_FEW_BY_ID = (
    "rule tracelab: fewer than 20 developers ({n}, a session_id counts for the first that has it): its intervals are "
    "by session, those of rule tracestat by developer"
)
_RULES = (
    "rule tracelab: TraceLab's (a session is a session_id, copies kept, effective latency, parallel calls added up); "
    "rule tracestat: ours (a session is of one developer, copied steps once, wall clock, states do not overlap)"
)
_NOTES: dict[Section, tuple[str, ...]] = {
    "sessions": (
        "rule tracelab: parts may overlap and exceed the whole; one session_id of two developers is one session, whose "
        "steps step back in time",
        "rule tracelab counts a tool that asks a person as tools; rule tracestat as human, and says how much it is",
        "rule tracelab knows no generation of a step that lists its own results before its output (Codex since 0.130); "
        "rule tracestat takes the time of results from their calls",
        "what looks like a person's message may be an injected line, or what an agent asks its sub-agent; totals and "
        "sessions at once have no interval",
    ),
    "cache": (
        "a step hits in full within the time-out and misses in full beyond it; storage: time that prefixes are kept, "
        "over time that generates; prefilled per fresh: tokens computed over those never seen before (1 is ideal); "
        "time that generates: its share of generation and idle times within the time-out",
        "rule tracestat: idle from the model's last output to the last input of the step; fresh tokens never negative",
        "the saving in cost is not given: it needs the prices of every model",
    ),
    "commands": (
        f"executables with at least {LEAST_CALLS} calls of their own; call: one tool call; command: the process with "
        "its polls, which rule tracelab leaves out if not seen to finish and rule tracestat counts as censored",
        "rule tracelab raises calls that read 0 s to 1 ms; rule tracestat takes the wall clock",
    ),
}


def summary_section(
    trace: TraceLike,
    section: Section,
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    items: Collection[str] | None = None,
    min_n: int | None = None,
    seed: int = 0,
) -> SectionResult:
    """Give the figures that TraceLab publishes of sessions, prefix cache or shell commands, and ours beside them.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    section : {"sessions", "cache", "commands"}
        Sessions: time by state, human waits, requests, steps, compaction. Cache: hit rates, fresh tokens, the
        time-out sweep. Commands: executables, whole processes, and what the tool's own clock leaves out.
    by : str or sequence of str, optional
        Of provider, developer, project, session. A group of everything is added.
    where, since, until, tz : str, optional
        Conditions on these and on the first stamp of a session: whole sessions are chosen.
    items : collection of str, optional
        The executables and tools whose durations are given; all by default.
    min_n : int, optional
        Groups with fewer sessions show counts only.
    seed : int
        Of the bootstrap of the effective time-out.

    Returns
    -------
    SectionResult
        Every share, mean and quantile with its interval by session and by developer.

    Raises
    ------
    UsageError
        A section, key or column that does not exist.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.summary_section(tracestat.open(), "sessions")
    >>> 0 <= result.group().figure("time_share.human").tracestat.value <= 1
    True
    """
    if section not in get_args(Section):
        raise UsageError(f"--section {section}: not known; it is one of {', '.join(get_args(Section))}")
    opened = as_trace(trace)
    selection = choose_sessions(by=by, where=where, since=since, until=until, tz=tz)
    whole = dataclasses.replace(selection, keys=())
    sums = section_sums(opened, section, whole)
    read = _read(opened, section, selection, items)
    groups = _groups(opened, section, selection, sums, read, min_n or 0, seed)
    if selection.keys:
        groups += _groups(opened, section, whole, sums, _pooled(read), min_n or 0, seed)
    steps = {rule: int(sums.filter(sums["rule"] == rule)[_COUNTED[section]].sum()) for rule in RULES}
    head = head_of(
        opened,
        selection,
        f"summary_{section}",
        seed=seed,
        excluded={"copies": max(0, steps["tracelab"] - steps["tracestat"])},
        notes=(_RULES, *_NOTES[section]),
    )
    return _KIND[section](dataclasses.replace(head, unit=None, clock=None), tuple(groups))


@dataclasses.dataclass(frozen=True, slots=True)
class _Read:
    """What the queries give of the groups of a section; the sweep and the two clocks have a row per session."""

    counts: pl.DataFrame
    cells: pl.DataFrame
    sweep: pl.DataFrame | None
    residual: pl.DataFrame | None


def _read(trace: Trace, section: Section, chosen: Selection, items: Collection[str] | None) -> _Read:
    counts, cells = section_counts(trace, section, chosen), section_cells(trace, section, chosen, AT)
    if items is not None:
        counts, cells = (f.filter(f["item"].is_null() | f["item"].is_in(list(items))) for f in (counts, cells))
    return _Read(
        counts,
        cells,
        cache_sweep(trace, chosen, GRID) if section == "cache" else None,
        residual_sums(trace, chosen) if section == "commands" else None,
    )


def _pooled(read: _Read) -> _Read:
    """Make of the rows of all groups those of everything: a session is of one group, so that cells stay as they are."""
    import polars as pl

    counts = read.counts.group_by("statistic", "item", "rule", "value").agg(pl.col("n_event", "n_censored").sum())
    everything = pl.lit(value=True).alias("pooled")
    return dataclasses.replace(
        read, counts=counts.sort("value").with_columns(everything), cells=read.cells.with_columns(everything)
    )


def _groups(
    trace: Trace, section: Section, chosen: Selection, sums: pl.DataFrame, read: _Read, min_n: int, seed: int
) -> list[SectionGroup]:
    keys = chosen.keys
    frames = grouped(sums, keys)
    value_keys = [*(keys or ("pooled",)), "statistic", "item"]
    counts, cells = _by_statistic(read.counts, value_keys), _by_statistic(read.cells, value_keys)
    for statistic in (spec.statistic for spec in VALUES[section] if spec.censored):
        scored = _by_statistic(section_influence(trace, section, chosen, statistic, AT), value_keys)
        cells = {place: {**found, **scored.get(place, {})} for place, found in cells.items()}
    sweeps = {} if read.sweep is None else grouped(read.sweep, keys)
    residual = {} if read.residual is None else grouped(read.residual, (*keys, "item"))
    at_once = grouped(sessions_at_once(trace, chosen), keys or ("pooled",)) if section == "sessions" else {}
    made = []
    for key in sorted_groups(frames):
        place = key or (True,)
        figures = ratio_figures(section, frames[key])
        figures += residual_figures({items[-1]: parts for items, parts in residual.items() if items[:-1] == key})
        figures += value_figures(section, counts.get(place, {}), cells.get(place, {}))
        if place in at_once:
            figures.append(_most_at_once(at_once[place]))
        swept: list[TimeoutSweep] = []
        notes: list[str] = []
        for rule, frame in sorted(sweeps.get(key, {}).items()):
            sweep, more = sweep_of(rule, frame, seed)
            swept.append(sweep)
            notes += more
        made.append(_group(section, dict(zip(keys, key, strict=True)), frames[key], figures, swept, notes, min_n))
    return made


def _by_statistic(frame: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[Any, ...], dict[tuple[str, str | None], Any]]:
    found: dict[tuple[Any, ...], dict[tuple[str, str | None], Any]] = {}
    for (*key, statistic, item), rules in grouped(frame, keys).items():
        found.setdefault(tuple(key), {})[statistic, item] = rules
    return found


def _most_at_once(frames: dict[Rule, pl.DataFrame]) -> SectionFigure:
    most = {
        rule: (float(frame["most_active"].item()), int(frame["n_sessions"].item())) for rule, frame in frames.items()
    }
    values = {rule: Interval(most[rule][0]) if rule in most else NOT_AVAILABLE for rule in RULES}
    return SectionFigure(
        name="sessions.most_at_once",
        item=None,
        unit="count",
        what="most sessions at once",
        tracelab=values["tracelab"],
        tracestat=values["tracestat"],
        n_tracelab=most.get("tracelab", (0, 0))[1],
        n_tracestat=most.get("tracestat", (0, 0))[1],
    )


def _group(
    section: Section,
    key: dict[str, Any],
    frames: dict[Rule, pl.DataFrame],
    figures: list[SectionFigure],
    sweeps: list[TimeoutSweep],
    notes: list[str],
    min_n: int,
) -> SectionGroup:
    own = frames.get("tracestat", frames[next(iter(frames))])
    n_sessions, n_developers = own.height, own["developer_id"].n_unique()
    if n_sessions < min_n:
        figures = [_bare(figure) for figure in figures]
        sweeps, notes = [], [f"{n_sessions} sessions, {min_n} asked for"]
    elif n_sessions < 2:
        notes = [*notes, _ONE_SESSION]
    elif n_developers < ENOUGH_CLUSTERS:
        notes = [*notes, FEW_DEVELOPERS.format(n=n_developers)]
    elif "tracelab" in frames and (n := frames["tracelab"]["developer_id"].n_unique()) < ENOUGH_CLUSTERS:
        notes = [*notes, _FEW_BY_ID.format(n=n)]
    if section == "cache" and not float(own["tokens"].sum()):
        notes = [*notes, _NO_TOKENS]
    n = int(own[_COUNTED[section]].sum())
    seconds = {"sessions": "span_seconds", "commands": "single_command_seconds"}.get(section)
    return SectionGroup(
        key=key,
        n=n,
        n_events=n,
        n_censored=0,
        n_sessions=n_sessions,
        n_developers=n_developers,
        total_seconds=float(own[seconds].sum()) if seconds else 0.0,
        notes=tuple(notes),
        figures=tuple(figures),
        sweeps=tuple(sweeps),
    )


def _bare(figure: SectionFigure) -> SectionFigure:
    """Keep the counts of a group that is too small, and nothing else."""
    if figure.unit == "count" and not figure.tracestat.method and "." not in figure.name:
        return figure
    return dataclasses.replace(figure, tracelab=NOT_AVAILABLE, tracestat=NOT_AVAILABLE)
