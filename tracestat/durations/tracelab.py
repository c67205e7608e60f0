"""Sessions, prefix cache and shell commands of a trace, by TraceLab's rules and by ours side by side.

Every function runs one query of ``queries/``; its frame has a column ``rule`` (``tracelab`` or ``tracestat``) and a row
per session, so that ratios, their intervals, and sums over groups follow from it. What the queries share (the steps of
all sessions, waits, requests) is made once per open trace, as temporary tables that may spill to disk.

The rules of TraceLab [1]_ are those of its published analyses: a session is a ``session_id``, steps come in the order
of the file, copies are kept, effective latency, parallel calls added up. Ours: a session is (provider, developer,
session_id), copied steps count once, wall clock, and the states of a session never overlap.

References
----------
.. [1] Zhu et al. (2026), arXiv 2606.30560, and the analyses in github.com/uw-syfi/TraceLab.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tracestat.durations.section_figures import RATIOS, RULES, TOTALS, VALUES, Section
from tracestat.durations.selection import Selection, run_on
from tracestat.errors import UsageError
from tracestat.filters import check_keys, parse_where, time_range, zone_name
from tracestat.queries import query_text

if TYPE_CHECKING:
    import polars as pl

    from tracestat.store import Trace

__all__ = [
    "LEAST_CALLS",
    "SESSION_KEYS",
    "cache_hits",
    "cache_sweep",
    "choose_sessions",
    "make_sequence",
    "make_steps",
    "named_numbers",
    "quantile_of_counts",
    "residual_sums",
    "section_cells",
    "section_counts",
    "section_influence",
    "section_sums",
    "session_shares",
    "sessions_at_once",
    "shell_shares",
]

SESSION_KEYS = ("provider", "developer", "project", "session")
LEAST_CALLS = 30
_CAP = 3600.0
_COMPACTION = {"drop": 64_000, "near": 0.75, "back": 0.75, "steps": 3}
_STEPS = ("sessions_steps", "sessions_waits", "sessions_spells", "sessions_requests", "sessions_time")
_TABLES: dict[Section, tuple[str, ...]] = {
    "sessions": (*_STEPS, "sessions_compactions"),
    "cache": (*_STEPS, "cache_steps"),
    "commands": ("sessions_steps", "commands_shell", "commands_residual"),
}
_PARAMETERS: dict[str, dict[str, object]] = {"sessions_time": {"cap": _CAP}, "sessions_compactions": {**_COMPACTION}}
_made: WeakKeyDictionary[Trace, set[str]] = WeakKeyDictionary()


def choose_sessions(
    *,
    by: str | Sequence[str] | None = "provider",
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
) -> Selection:
    """Check keys and conditions of a section: they choose whole sessions.

    Parameters
    ----------
    by : str or sequence of str, optional
        Of provider, developer, project, session; None pools everything.
    where : str, optional
        A condition on these and on ``started_at``, the first stamp of the session.
    since, until, tz : str, optional
        As everywhere; of the first stamp of the session.

    Raises
    ------
    UsageError
        Another key or column.

    Examples
    --------
    >>> choose_sessions(by="provider,project").keys
    ('provider', 'project')
    """
    zone = zone_name(tz)
    info = zoneinfo.ZoneInfo(zone)
    keys = check_keys(by)
    for key in keys:
        if key not in SESSION_KEYS:
            raise UsageError(f"--by {key}: whole sessions are grouped; choose among {', '.join(SESSION_KEYS)}")
    condition = parse_where(where, info)
    for column in re.findall(r'"(\w+)"', condition.sql):
        if column not in (*SESSION_KEYS, "started_at"):
            allowed = ", ".join((*SESSION_KEYS, "started_at"))
            raise UsageError(f"--where {column}: whole sessions are chosen; columns are {allowed}")
    return Selection(
        rows="all",
        keys=keys,
        where=condition,
        period=time_range(since, until, info),
        zone=zone,
        since=since,
        until=until,
    )


def make_steps(trace: Trace) -> None:
    """Make the temporary table of the steps of all sessions, once per open trace: ``queries/sessions_steps.sql``."""
    _make(trace, ("sessions_steps",))


def make_sequence(trace: Trace) -> None:
    """Make the temporary table of steps and the pauses after them, once per open trace: ``queries/sequence.sql``."""
    _make(trace, ("sessions_steps", "sequence"))


def _prepare(trace: Trace, section: Section) -> None:
    """Make the temporary tables of a section, once per open trace."""
    _make(trace, _TABLES[section])


def _make(trace: Trace, names: Sequence[str]) -> None:
    done = _made.setdefault(trace, set())
    for name in names:
        if name not in done:
            trace.run(query_text(name), _PARAMETERS.get(name))
            done.add(name)


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn DuckDB's wide sums into floats."""
    import polars as pl
    import polars.selectors as cs

    return frame.with_columns(
        cs.decimal().cast(pl.Float64), cs.by_name("developer_id", require_all=False).cast(pl.UInt64)
    )


def session_shares(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum the time of every session by state (human, generation, tools), and count its steps, requests and waits.

    ``queries/sessions_shares.sql``, with capped_seconds (human waits no longer than 1 h, plus generation and tools) and
    unknown_seconds (what no state of ours explains).
    """
    import polars as pl

    _prepare(trace, "sessions")
    states = pl.col("generation_seconds") + pl.col("tool_seconds")
    return _numbers(run_on(trace, "sessions_shares", selection)).with_columns(
        capped_seconds=pl.col("human_capped_seconds") + states,
        unknown_seconds=(pl.col("span_seconds") - pl.col("human_seconds") - states).clip(lower_bound=0.0),
    )


def sessions_at_once(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Give the largest number of sessions that were going on at once: ``queries/sessions_active.sql``."""
    _prepare(trace, "sessions")
    return _numbers(run_on(trace, "sessions_active", selection))


def cache_hits(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum prompt, cached, appended and fresh tokens of every session: ``queries/cache_hits.sql``."""
    _prepare(trace, "cache")
    return _numbers(run_on(trace, "cache_hits", selection))


def cache_sweep(trace: Trace, selection: Selection, timeouts: Sequence[float]) -> pl.DataFrame:
    """Sum tokens and idle time of every session between time-outs: ``queries/cache_sweep.sql``.

    Parameters
    ----------
    timeouts : sequence of float
        Seconds, ascending; step k holds idle times in (timeouts[k-1], timeouts[k]], the last one those beyond, and step
        -1 the generation time of the session.
    """
    _prepare(trace, "cache")
    return _numbers(run_on(trace, "cache_sweep", selection, **_intervals(timeouts)))


def shell_shares(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Count the shell calls of every session and what they run: ``queries/commands_shares.sql``."""
    _prepare(trace, "commands")
    return _numbers(run_on(trace, "commands_shares", selection))


def residual_sums(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Sum wall, reported and residual time of calls with both clocks: ``queries/commands_residual_sums.sql``."""
    _prepare(trace, "commands")
    return _numbers(run_on(trace, "commands_residual_sums", selection))


def section_sums(trace: Trace, section: Section, selection: Selection) -> pl.DataFrame:
    """Give the frame of sums per session that the ratios and totals of a section are made of."""
    return {"sessions": session_shares, "cache": cache_hits, "commands": shell_shares}[section](trace, selection)


def _ask(trace: Trace, section: Section) -> None:
    """Let the view ``section_values`` stand for the single values of a section."""
    _prepare(trace, section)
    trace.run(query_text("set_least_calls"), {"least": LEAST_CALLS})
    trace.run(query_text(f"{section}_values"))


def section_counts(trace: Trace, section: Section, selection: Selection) -> pl.DataFrame:
    """Count what was seen at every distinct value of a section's statistics: ``queries/section_counts.sql``."""
    _ask(trace, section)
    return run_on(trace, "section_counts", selection)


def section_cells(trace: Trace, section: Section, selection: Selection, at: Sequence[float]) -> pl.DataFrame:
    """Count and sum the values of every session between chosen values: ``queries/section_cells.sql``.

    Parameters
    ----------
    at : sequence of float
        Ascending; step k holds the values in (at[k-1], at[k]], step len(at) those beyond.
    """
    _ask(trace, section)
    return run_on(trace, "section_cells", selection, **_intervals(at))


def section_influence(
    trace: Trace, section: Section, selection: Selection, statistic: str, at: Sequence[float]
) -> pl.DataFrame:
    """Sum what every session adds to the curve of a censored statistic: ``queries/section_influence.sql``."""
    _ask(trace, section)
    return run_on(trace, "section_influence", selection, statistic=statistic, **_intervals(at))


def _intervals(at: Sequence[float]) -> dict[str, list[float]]:
    values = [float(value) for value in at]
    return {"step": list(range(len(values) + 1)), "above": [-1.0, *values], "at_most": [*values, 1e300]}


def named_numbers(trace: Trace, section: Section, selection: Selection | None = None) -> pl.DataFrame:
    """Give every figure of a section as a bare number, under the name that the answer of ``summary`` calls it by.

    Parameters
    ----------
    trace : Trace
    section : {"sessions", "cache", "commands"}
    selection : Selection, optional
        From :func:`choose_sessions`; by provider by default.

    Returns
    -------
    polars.DataFrame
        A row per name, item, rule and group: name, item, rule, unit, the keys (null for everything pooled), value, and
        n (values, or sessions). Quantiles of rule ``tracelab`` are interpolated linearly, as TraceLab's are; those of
        rule ``tracestat`` are the smallest value that enough values do not exceed. Neither quantiles of censored values
        nor the time-out sweep are among them: see ``tracestat.summary_section`` for both.

    Examples
    --------
    >>> import tracestat
    >>> numbers = named_numbers(tracestat.open(), "sessions")
    >>> set(numbers["rule"]) == {"tracelab", "tracestat"}
    True
    """
    import polars as pl

    chosen = choose_sessions() if selection is None else selection
    whole = Selection(rows="all", where=chosen.where, period=chosen.period, zone=chosen.zone)
    rows: list[dict[str, object]] = []
    sums = section_sums(trace, section, chosen)
    residual = residual_sums(trace, chosen) if section == "commands" else None
    for keys in dict.fromkeys((chosen.keys, ())):
        for key, part in _parts(sums, keys):
            rows += _ratio_rows(section, key, part)
        if residual is not None:
            for key, part in _parts(residual, (*keys, "item")):
                rows += _residual_rows(key, part)
        for key, part in _parts(
            section_counts(trace, section, chosen if keys else whole), (*keys, "statistic", "item")
        ):
            rows += _value_rows(section, key, part)
    columns = {"name": pl.String, "item": pl.String, "rule": pl.String, "unit": pl.String}
    columns |= dict.fromkeys(chosen.keys, pl.String)
    return pl.DataFrame(rows, schema={**columns, "value": pl.Float64, "n": pl.Int64})


def _parts(frame: pl.DataFrame, keys: Sequence[str]) -> list[tuple[dict[str, object], pl.DataFrame]]:
    names = [*keys, "rule"]
    return [(part.select(names).row(0, named=True), part) for part in frame.partition_by(names, maintain_order=True)]


def _ratio_rows(section: Section, key: dict[str, object], part: pl.DataFrame) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for ratio in RATIOS[section]:
        used = part if ratio.only is None else part.filter(part[ratio.only] == 1)
        whole = float(used[ratio.whole].sum())
        if key["rule"] in ratio.rules and whole > 0:
            value = float(used[ratio.part].sum()) / whole
            rows.append({**key, "name": ratio.name, "unit": ratio.unit, "value": value, "n": used.height})
    for total in TOTALS[section]:
        used = part if total.only is None else part.filter(part[total.only] == 1)
        value = float(used[total.column].sum()) / (3600.0 if total.unit == "hours" else 1.0)
        rows.append({**key, "name": total.name, "unit": total.unit, "value": value, "n": used.height})
    return rows


def _residual_rows(key: dict[str, object], part: pl.DataFrame) -> list[dict[str, object]]:
    sums = {name: float(part[f"{name}_seconds"].sum()) for name in ("wall", "internal", "residual")}
    n = int(part["n"].sum())
    rows: list[dict[str, object]] = [
        {**key, "name": f"residual.{name}_hours", "unit": "hours", "value": value / 3600.0, "n": n}
        for name, value in sums.items()
    ]
    rows.append({**key, "name": "residual.calls", "unit": "count", "value": float(n), "n": n})
    rows.append({**key, "name": "residual.share", "unit": "share", "value": sums["residual"] / sums["wall"], "n": n})
    return rows


def _value_rows(section: Section, key: dict[str, object], part: pl.DataFrame) -> list[dict[str, object]]:
    (spec,) = (spec for spec in VALUES[section] if spec.statistic == key["statistic"])
    count = part["n_event"] + part["n_censored"]
    n = int(count.sum())
    shown = {name: value for name, value in key.items() if name != "statistic"}
    rows: list[dict[str, object]] = []
    if spec.mean:
        mean = float((part["value"] * count).sum()) / n
        rows.append({**shown, "name": f"{spec.statistic}.mean", "unit": spec.unit, "value": mean, "n": n})
    if not int(part["n_censored"].sum()):
        for q in spec.quantiles:
            value = quantile_of_counts(part["value"], count, q, interpolated=key["rule"] == RULES[0])
            rows.append({**shown, "name": f"{spec.statistic}.p{100 * q:g}", "unit": spec.unit, "value": value, "n": n})
    return rows


def quantile_of_counts(value: pl.Series, count: pl.Series, q: float, *, interpolated: bool) -> float:
    """Give a quantile of values that occur so often; the values ascend.

    Parameters
    ----------
    value, count : polars.Series
    q : float
    interpolated : bool
        Between neighbours, linearly; else the smallest value that at least the share q does not exceed.

    Examples
    --------
    >>> import polars as pl
    >>> value, count = pl.Series([1.0, 2.0, 4.0]), pl.Series([1, 1, 2])
    >>> [quantile_of_counts(value, count, 0.5, interpolated=yes) for yes in (True, False)]
    [3.0, 2.0]
    """
    reach = count.cum_sum()
    n = int(reach[-1])
    if not interpolated:
        return float(value[reach.search_sorted(max(q * n - 1e-9, 1e-9))])
    place = q * (n - 1)
    below = int(place)
    low = float(value[reach.search_sorted(below + 1)])
    high = float(value[reach.search_sorted(min(below + 2, n))])
    return low + (high - low) * (place - below)
