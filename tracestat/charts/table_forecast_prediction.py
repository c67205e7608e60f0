"""The tables of ``forecast predict``: the answer, which level gives it, the curve at some times, what lies ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracestat.charts.captions import key_words, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.table_forecast_fit import weight_words
from tracestat.charts.words import MISSING, count, counted, percent, plain, seconds, shorten
from tracestat.forecast.keys import HISTORY_KEYS
from tracestat.results import AtomAhead, ForecastPrediction, LevelAnswer, PoolAnswer, RemainingTime

__all__ = ["about", "key_line", "named_level", "prediction_tables", "window_words"]

_AHEAD = (1.0, 5.0, 30.0, 60.0, 300.0, 1800.0, 3600.0)
_CALLS = 20
_NAME = 30
_FAR = "*"


def named_level(name: str) -> str:
    """Give a level, or what a forecast is compared with, as words; the level of everything is called by what it holds.

    Examples
    --------
    >>> named_level("command_skeleton"), named_level("provider")
    ('command skeleton', 'whole provider')
    """
    return "whole provider" if name == "provider" else key_words(name)


def key_line(key: Mapping[str, str | float | None]) -> str:
    """Write what was asked about on one line.

    Examples
    --------
    >>> key_line({"tool_class": "shell", "previous": 2.5, "developer": None})
    'tool class shell, previous 2.5 s, developer none'
    """
    return ", ".join(f"{key_words(name)} {_value(value)}{_unit(name, value)}" for name, value in key.items())


def _value(value: str | float | None) -> str:
    if value is None:
        return "none"
    return plain(value) if isinstance(value, str) else f"{value:,g}"


def _unit(name: str, value: str | float | None) -> str:
    return " s" if name in HISTORY_KEYS and isinstance(value, float | int) else ""


def about(result: ForecastPrediction) -> list[str]:
    """Say what was asked, of which model, and what the model was fitted on."""
    head = result.head
    asked = [counted(len(result.calls), "call") + " of one round"] if result.calls else []
    asked += [key_line(result.key)] if result.key else []
    lines = [f"asked: {', '.join(asked)}"] if asked else []
    if result.limit is not None:
        whose = "all classes" if result.limit.tool_class is None else plain(result.limit.tool_class)
        source = f", as among {whose}" if result.limit.known else ""
        mass = percent(result.limit.mass)
        lines.append(f"asked limit {seconds(result.limit.seconds)}: {mass} of what still runs then ends there{source}")
    provider = plain(result.provider) or "(none)"
    only = f", where {plain(head.where)}" if head.where else ""
    kind = "rounds of one call" if result.calls else "pauses"
    by = _path_words(result.path)
    if result.pool is not None:
        by = f"pool of {counted(len(result.pool.members), 'hierarchy', 'hierarchies')}"
    lines.append(
        f"model: provider {provider}, {by}; fitted on "
        f"{count(result.n_rows)} {kind} of {plain(head.trace.path)} ({head.rows} rows{only}), {head.clock} clock"
    )
    return lines


def _path_words(keys: Sequence[str]) -> str:
    return " > ".join(key_words(key) for key in keys)


def prediction_tables(result: ForecastPrediction, top: int | None) -> list[Table]:
    """Give the tables of a forecast; ``top`` says how many calls of a round are listed."""
    tables = [_answer(result)]
    if result.calls:
        tables.append(_calls(result, _CALLS if top is None else top))
    elif result.pool is not None:
        tables += [_pool(result.pool), _levels(result.weights, "The first hierarchy, at this elapsed time")]
    else:
        tables.append(_levels(result.weights, "Who answers, at this elapsed time"))
    tables.append(_curve(result))
    if result.atoms:
        tables.append(_ahead(result.atoms))
    last = tables[-1]
    tables[-1] = Table(
        last.title, last.columns, last.rows, last.caption, (*last.notes, *result.notes, *result.head.notes)
    )
    return tables


def _answer(result: ForecastPrediction) -> Table:
    title = f"Remaining time after {_waited(result.elapsed)}" if result.elapsed else "Time until the return"
    rows = [_numbers(named_level(result.answered_by), result.remaining)]
    notes = []
    if result.dependence is not None:
        found = result.dependence
        bounds = "" if found.interval is None else f" [{found.interval[0]:.2f}, {found.interval[1]:.2f}]"
        rows = [
            _numbers("together", result.remaining),
            _numbers("if independent", found.independent),
        ]
        notes.append(
            f"together: dependence theta {found.theta:.2f}{bounds} of {counted(found.n_rounds, 'round')}; "
            "1 is independence"
        )
    columns = (
        label_column("who answers"),
        *(Column(words) for words in ("10 %", "50 %", "90 %", "95 %", "99 %", "mean in 1 h")),
    )
    if any(_FAR in cell for row in rows for cell in row):
        notes.append(f"{_FAR} extrapolated beyond the longest pause that was fitted")
    return Table(titled(title, result.head), columns, tuple(rows), tuple(about(result)), tuple(notes))


def _waited(elapsed: float) -> str:
    return f"a wait of {elapsed:,.10g} s"


def _numbers(name: str, told: RemainingTime) -> tuple[str, ...]:
    shown = ("q10", "q50", "q90", "q95", "q99", "mean_restricted")
    return (name, *(f"{seconds(getattr(told, one))}{_FAR if one in told.extrapolated else ''}" for one in shown))


def _pool(pool: PoolAnswer) -> Table:
    columns = (
        Column("hierarchy", "left", "wrap"),
        Column("who answers", "left"),
        Column("rows\nlike it"),
        Column("weight"),
        Column("50 %\nalone"),
    )
    rows = tuple(
        (
            f"{words}{_path_words(each.keys)}",
            named_level(each.level_used),
            f"{next(level.reached for level in reversed(each.levels) if level.seen):,.1f}",
            weight_words(each.weight),
            seconds(each.q50),
        )
        for words, each in [*(("", each) for each in pool.members), ("base: ", pool.base)]
    )
    who = "a developer the model knows" if pool.developer_seen else "a developer the model does not know, or none given"
    note = "weights of the differences from the base on the log-odds scale; the base has what they leave of 1"
    return Table("The hierarchies that answer together", columns, rows, (f"weights for {who}",), (note,))


def _levels(levels: Sequence[LevelAnswer], title: str) -> Table:
    columns = (
        Column("level", "left"),
        Column("value", "left", "shorten"),
        Column("", "left"),
        Column("rows\nlike it"),
        Column("own\nweight"),
        Column("share of\nanswer"),
    )
    rows = tuple(
        (
            named_level(each.key),
            "" if each.key == "provider" else MISSING if not each.given else _value(each.value),
            "" if each.seen else "not given" if not each.given else "never seen",
            f"{each.reached:,.1f}" if each.seen else MISSING,
            percent(each.weight) if each.seen else MISSING,
            percent(each.share) if each.seen else MISSING,
        )
        for each in levels
    )
    note = "rows like it: that lasted as long, discounted for what they share; own weight: against all levels above it"
    return Table(title, columns, rows, (), (note,))


def _calls(result: ForecastPrediction, most: int) -> Table:
    columns = (
        label_column("call, as if alone"),
        Column("who answers", "left"),
        *(Column(words) for words in ("10 %", "50 %", "90 %")),
    )
    rows = tuple(
        (
            shorten(", ".join(_value(value) for value in call.key.values()), _NAME),
            named_level(call.level_used),
            *(seconds(getattr(call.remaining, name)) for name in ("q10", "q50", "q90")),
        )
        for call in result.calls[:most]
    )
    cut = [f"{most} of {len(result.calls)} calls; --json shows all"] if len(result.calls) > most else []
    return Table("The calls of the round", columns, rows, tuple(cut))


def _curve(result: ForecastPrediction) -> Table:
    curves = {"still running": dict(result.survival)}
    if result.parents:
        last = result.parents[-1]
        alone = named_level(last.name) if result.pool is not None else f"{named_level(last.name)} alone"
        curves["if independent" if result.calls else alone] = dict(last.survival)
    times = [t for t in _AHEAD if all(t in curve for curve in curves.values())]
    columns = (Column("", "left"), *(Column(seconds(t)) for t in times))
    rows = tuple((name, *(percent(curve[t]) for t in times)) for name, curve in curves.items())
    return Table("Share that still runs, from now on", columns, rows)


def _ahead(atoms: Sequence[AtomAhead]) -> Table:
    columns = (
        Column("ahead", "left"),
        Column("from the start", "left"),
        Column("from now", "left"),
        Column("reached"),
        Column("ends there,\nof those"),
        Column("as neighbours\nwould"),
    )
    rows = tuple(
        (
            atom.kind,
            window_words(atom.window),
            window_words(atom.from_now),
            percent(atom.reached),
            percent(atom.hazard),
            percent(atom.expected) if atom.kind == "deadline" else MISSING,
        )
        for atom in atoms
    )
    return Table("Deadlines ahead", columns, rows)


def window_words(pair: tuple[float, float]) -> str:
    """Write a window in seconds: in minutes one of two digits would have no width."""
    low, high = (f"{value:,.0f}" if value >= 1e4 else f"{value:.4g}" for value in pair)
    return f"{low} s" if low == high else f"{low}-{high} s"
