"""The tables of ``forecast fit``: how far the keys of each level differ, asked limits, and calls side by side."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import key_words, made, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, bounds, count, counted, per_second, percent, plain, seconds
from tracestat.results import ForecastFit, ForecastPath, ForecastProvider

__all__ = ["forecast_fit_tables", "kappa_words", "path_words", "provider_words", "weight_words"]

_KAPPA = (
    "kappa: a key with r rows in a bin has weight r/(r + kappa) of its own there, what stands above it has the rest; "
    "session: serves only the fit, so that many rows of one session do not pass for many"
)
_PROFILE = "log likelihoods over kappa: --json or --chart"


def provider_words(provider: ForecastProvider) -> str:
    """Name a provider."""
    return "(no provider named)" if provider.provider is None else plain(provider.provider)


def path_words(path: ForecastPath) -> str:
    """Name a hierarchy.

    Examples
    --------
    >>> path = ForecastPath(
    ...     keys=("tool_class", "developer"), rounds="single", n_rows=0, alpha=1.0, last_seen=0.0, windows=(), levels=()
    ... )
    >>> path_words(path)
    'tool class > developer, rounds of one call'
    """
    words = " > ".join(key_words(key) for key in path.keys)
    return f"{words}, rounds of one call" if path.rounds == "single" else words


def kappa_words(value: float) -> str:
    """Write a precision with as many digits as tell keys apart.

    Examples
    --------
    >>> kappa_words(0.0498), kappa_words(29.64), kappa_words(162754.8)
    ('0.050', '30', '162,755')
    """
    return f"{value:,.0f}" if value >= 9.95 else per_second(value, 2)


def weight_words(value: float) -> str:
    """Write a weight in a pool, never as -0.00.

    Examples
    --------
    >>> weight_words(-1e-9), weight_words(-1.684)
    ('0.00', '-1.68')
    """
    return f"{round(value, 2) + 0.0:.2f}"


def forecast_fit_tables(result: ForecastFit, top: int | None) -> list[Table]:
    """Give the tables of the fit; ``top`` limits the hierarchies of each provider that are shown."""
    head = result.head
    title = titled("Forecast of pauses, fitted by provider", head)
    columns = (
        label_column("provider"),
        Column("rows"),
        Column("longest"),
        Column("deadlines with bins of their own", "left", "wrap"),
    )
    rows = tuple(
        (
            provider_words(p),
            count(p.n_rows),
            seconds(p.paths[0].last_seen),
            ", ".join(seconds(a / 0.995) for a, _ in p.paths[0].windows) or MISSING,
        )
        for p in result.providers
    )
    notes = tuple(f"{provider_words(p)}: {plain('; '.join(p.notes))}" for p in result.providers if p.notes)
    tables = [Table(title, columns, rows, tuple(made(head)), notes)]
    tables += [
        _levels(path, titled(f"Levels of {provider_words(provider)}", head))
        for provider in result.providers
        for path in provider.paths[:top]
    ]
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, _KAPPA, _PROFILE))
    if any(p.pool is not None for p in result.providers):
        tables.append(_pool(result.providers, titled("Weights of the hierarchies where all are asked", head)))
    tables += (
        [_limits(result.providers, titled("Asked limits", head))] if any(p.limits for p in result.providers) else []
    )
    tables.append(_together(result.providers, titled("Calls of one round side by side", head)))
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *head.notes))
    return tables


def _levels(path: ForecastPath, title: str) -> Table:
    columns = (
        Column("level", "left"),
        Column("keys\nseen"),
        Column("rows\na key"),
        Column("kappa"),
        Column("weight of\n10 rows"),
        Column("100 rows"),
        Column("", "left", "wrap"),
    )
    rows = tuple(
        (
            key_words(level.key),
            count(level.n_keys),
            per_second(path.n_rows / level.n_keys, 2) if level.n_keys else MISSING,
            kappa_words(level.kappa),
            percent(level.weight_10),
            percent(level.weight_100),
            plain(level.note or ""),
        )
        for level in path.levels
    )
    caption = f"{path_words(path)}; {counted(path.n_rows, 'row')}"
    return Table(title, columns, rows, (caption,))


def _pool(providers: Sequence[ForecastProvider], title: str) -> Table:
    columns = (
        label_column("provider"),
        Column("hierarchy", "left", "wrap"),
        Column("developer\nseen"),
        Column("not seen"),
    )
    rows: list[tuple[str, ...]] = []
    for provider in providers:
        if provider.pool is None:
            continue
        *members, base = provider.pool.weights
        for words, each in [*(("", each) for each in members), ("base: ", base)]:
            path = words + " > ".join(key_words(key) for key in each.keys)
            rows.append((provider_words(provider), path, weight_words(each.seen), weight_words(each.unseen)))
        decided = (_decided(provider.pool.rows_seen, "equal"), _decided(provider.pool.rows_unseen, "as seen"))
        rows.append((provider_words(provider), "decided by held-out rows", *decided))
    note = "weights of the differences from the base on the log-odds scale; the base has what they leave of 1"
    return Table(title, columns, tuple(rows), (), (note,))


def _decided(rows: int, else_words: str) -> str:
    return count(rows) if rows else else_words


def _limits(providers: Sequence[ForecastProvider], title: str) -> Table:
    columns = (
        label_column("provider"),
        Column("tool class", "left", "shorten"),
        Column("reached the limit"),
        Column("ended on it"),
        Column("mass there"),
    )
    rows = tuple(
        (
            provider_words(p),
            "all" if limit.tool_class is None else plain(limit.tool_class),
            count(limit.reached),
            count(limit.ended),
            percent(limit.mass),
        )
        for p in providers
        for limit in p.limits
    )
    return Table(title, columns, rows, (), ("pauses of one call; mass: (ended + 1/2)/(reached + 1)",))


def _together(providers: Sequence[ForecastProvider], title: str) -> Table:
    found = [(provider_words(p), p.dependence) for p in providers if p.dependence is not None]
    if not found:
        return Table(title, caption=("nothing is known of calls side by side: independence is taken",))
    columns = (
        label_column("provider"),
        Column("rounds"),
        Column("theta", "left"),
        Column("log likelihood over\nthat of independence"),
    )
    rows = tuple(
        (
            name,
            count(d.n_rounds),
            f"{d.theta:.2f}" if d.interval is None else f"{d.theta:.2f} {bounds(d.interval, lambda x: f'{x:.2f}')}",
            f"{max(d.log_likelihood - d.independent, 0.0):,.1f}",
        )
        for name, d in found
    )
    notes = [f"{name}: {plain(d.note)}" for name, d in found if d.note]
    return Table(
        title, columns, rows, (), (*notes, "theta of a Gumbel copula: 1 is independence, more is a common fate")
    )
