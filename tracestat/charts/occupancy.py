"""The chart of ``occupancy``: tokens held by paused caches over the number of agents, with the pool beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracestat.charts.captions import by_words, name_of
from tracestat.charts.style import COLORS, GREY, INK, finished, heading, message, panel_title, rows_of
from tracestat.charts.table_occupancy import agents_interval, beside, gigabytes, how_made, times, tokens
from tracestat.charts.words import count, counted, plain
from tracestat.results import OccupancyGroup, OccupancyResult

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_occupancy", "pool_marks"]

_MOST = 6
_WIDTH, _HEIGHT = 380, 260
_HALF, _TOP, _MEDIAN = "half the time at most", "99 % of the time at most", "99 %, had pauses lasted the median"
_MULTIPLES = (1, 2, 4, 10, 20, 40, 100, 200, 400, 1_000, 2_000, 4_000, 10_000)


def draw_occupancy(result: OccupancyResult) -> alt.TopLevelMixin:
    """Draw the tokens that paused caches hold, a panel per key for tools and one for tools and people.

    Parameters
    ----------
    result : OccupancyResult

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = f"Tokens held by paused caches, {by_words(head)}"
    first = sorted(result.groups, key=lambda group: -group.n)  # as the tables: most pauses first
    usable = [g for g in beside(first, result.groups) if g.curve and g.key["rows"] != "human"]
    groups = usable[:_MOST]
    lines = how_made(result)
    if len(groups) < len(usable):
        lines.append(f"the first {len(groups)} panels of {count(len(usable))}")
    if not groups:
        reasons = sorted({plain(note) for group in result.groups for note in group.notes})
        text = f"nothing to draw: {'; '.join(reasons) or 'no sessions are left'}"
        return finished(message(text), heading(title, [*lines, *head.notes], head, 560))
    lines += [
        "bar at the number asked for: 95 % interval of the 99 % point; grey: the KV pool of one GPU and its multiples",
        *head.notes,
    ]
    panels = [_panel(group, result) for group in groups]
    chart = alt.concat(*panels, columns=2, spacing=34).resolve_scale(color="shared", strokeDash="shared")
    return finished(chart, heading(title, lines, head, 2 * _WIDTH + 110 if len(groups) > 1 else _WIDTH + 180))


def pool_marks(largest: float, pool: int) -> list[tuple[int, float]]:
    """Give the multiples of the pool to mark up to the largest value: the pool itself, and at most three more.

    Examples
    --------
    >>> pool_marks(300_000, 81_408), pool_marks(50_000, 81_408)
    ([(1, 81408.0), (2, 162816.0)], [(1, 81408.0)])
    """
    kept: list[int] = []
    for multiple in reversed(_MULTIPLES):
        # marks closer than that would run into each other
        apart = min(multiple - 1, kept[-1] - multiple if kept else multiple) * pool >= 0.12 * largest
        if multiple * pool <= largest and apart:
            kept.append(multiple)
    return [(multiple, float(multiple * pool)) for multiple in (1, *sorted(kept[:3]))]


def _panel(group: OccupancyGroup, result: OccupancyResult) -> alt.LayerChart:
    import altair as alt

    top = group.tokens.p99
    largest = max([p.p99 for p in group.curve] + [p.if_median_p99 for p in group.curve] + [top.high or 0.0, 1.0])
    marks = pool_marks(largest, result.pool_tokens)
    most = max(point.agents for point in group.curve)
    domain = [0.0, 1.05 * max(largest, marks[-1][1])]
    x = alt.X(
        "agents:Q",
        title="agents",
        scale=alt.Scale(domain=[0, most], nice=False),
        axis=alt.Axis(format=",d", grid=False, tickMinStep=1),
    )
    label = "datum.value >= 1e9 ? format(datum.value / 1e9, ',~r') + ' G' : datum.value >= 1e6 ? "
    label += "format(datum.value / 1e6, '~r') + ' M' : datum.value >= 1e3 ? format(datum.value / 1e3, '~r') + ' k' : "
    label += "datum.value"

    def y(field: str) -> alt.Y:
        axis = alt.Axis(labelExpr=label, tickCount=6, grid=False)
        return alt.Y(f"{field}:Q", title="tokens held", scale=alt.Scale(domain=domain, nice=False), axis=axis)

    names = [_TOP, _HALF, _MEDIAN]
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolType="stroke", symbolSize=300)
    color = alt.Color("what:N", scale=alt.Scale(domain=names, range=[COLORS[1], COLORS[0], COLORS[2]]), legend=legend)
    dash = alt.StrokeDash("what:N", scale=alt.Scale(domain=names, range=[[1, 0], [1, 0], [5, 4]]), legend=legend)
    tips = [alt.Tooltip("agents:Q", title="agents", format=",d"), "what:N", alt.Tooltip("shown:N", title="tokens")]
    lines = (
        alt.Chart(rows_of(_rows(group)))
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=14))
        .encode(x=x, y=y("y"), color=color, strokeDash=dash, tooltip=tips)
    )
    pool_rows = [
        {"y": at, "agents": most, "words": "pool" if multiple == 1 else f"{multiple:,} pools"} for multiple, at in marks
    ]
    pools = alt.Chart(rows_of(pool_rows))
    rules = pools.mark_rule(color=GREY, strokeWidth=1, opacity=0.7).encode(y=y("y"))
    words = pools.mark_text(align="right", baseline="bottom", dx=-2, dy=-1, fontSize=10, color="#666666").encode(
        x=x, y=y("y"), text=alt.Text("words:N")
    )
    asked = alt.Chart(rows_of([{"agents": group.agents, "low": top.low, "high": top.high, "y": top.value}]))
    line = asked.mark_rule(color=INK, strokeDash=[2, 3], strokeWidth=1).encode(x=x)
    bar = (
        asked.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(color=COLORS[1], strokeWidth=5, opacity=0.45)
        .encode(x=x, y=y("low"), y2=alt.Y2("high"))
    )
    title = panel_title(_title(group), _told(group), _WIDTH)
    chart: alt.LayerChart = alt.LayerChart(layer=[rules, words, line, bar, lines]).properties(
        width=_WIDTH, height=_HEIGHT, title=title
    )
    return chart


def _title(group: OccupancyGroup) -> str:
    who = "paused by tools" if group.key["rows"] == "tool" else "paused by tools or people"
    name = name_of(group, without="rows") if len(group.key) > 1 else ""
    return f"{name}: {who}" if name else who.capitalize()


def _told(group: OccupancyGroup) -> Sequence[str]:
    tier = group.tier_for_p99
    return [
        f"{counted(group.n, 'pause')} of {counted(group.n_sessions, 'session')}, "
        f"{counted(group.n_developers, 'developer')}",
        f"{count(group.agents)} agents: {agents_interval(group.paused.mean)} paused on average; 99 % of the time "
        f"at most {_unbroken(tokens(group.tokens.p99.value))} tokens = {gigabytes(tier.bytes.value)} = "
        f"{times(tier.times_pool)} pools",
    ]


def _unbroken(text: str) -> str:
    """Keep a number and its unit on one line."""
    return text.replace(" ", "\u00a0")


def _rows(group: OccupancyGroup) -> list[Mapping[str, Any]]:
    return [
        {"agents": point.agents, "what": what, "y": value, "shown": tokens(value)}
        for point in group.curve
        for what, value in ((_TOP, point.p99), (_HALF, point.p50), (_MEDIAN, point.if_median_p99))
    ]
