"""The chart of ``forecast evaluate``: skill by quantile and by elapsed time, calibration, and horizons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracestat.charts.forecast_panels import (
    calibration_panel,
    horizon_panel,
    main_methods,
    pit_panel,
    skill_by_landmark,
    skill_by_quantile,
)
from tracestat.charts.forecast_words import cut_interval, group_words, method_words, rows_words
from tracestat.charts.style import column_width, finished, heading, message, wrapped
from tracestat.charts.table_forecast_evaluation import how_judged
from tracestat.results import ForecastEvaluation, MethodEvaluation

if TYPE_CHECKING:
    import altair as alt

__all__ = ["draw_forecast_evaluation"]

_WIDTH = 1_040
_MOST_SPLITS = 8


def draw_forecast_evaluation(result: ForecastEvaluation) -> alt.TopLevelMixin:
    """Draw a block per split of a provider: skill above, calibration and horizons below.

    Parameters
    ----------
    result : ForecastEvaluation

    Returns
    -------
    altair chart
    """
    import altair as alt

    head = result.head
    title = "How well the end of a pause is forecast"
    lines = how_judged(result)
    some = [(who, main_methods(result, *who)) for who in result.groups_of()]
    drawn = [(who, methods) for who, methods in some if methods][:_MOST_SPLITS]
    if not drawn:
        reasons = [f"{group_words(item.provider, item.split)}: {'; '.join(item.notes)}" for item in result.counts]
        text = f"nothing to draw: {'; '.join(reasons) or 'no rows to judge'}"
        return finished(message(text), heading(title, [*lines, *head.notes], head, 560))
    bars = _bars(result)
    lines += [
        "skill: cut of the pinball loss on ln T against one curve for all (method global), percent, higher is better"
        + (f"; bars of ours: {bars}" if bars else ""),
        "coverage and tenths are of ours; a tenth of the forecast distribution should hold a tenth of the rows, and "
        "its rows are those after 0 s, censored ones spread over what is left",
        "Brier skill: cut of the squared error of the forecast share still paused after so long, against global",
        "landmarks and horizons that fewer than 20 judged rows outlast are not drawn; skill below -40 is drawn at -40",
        *head.notes,
    ]
    names = list(dict.fromkeys(m.name for _, methods in drawn for m in methods))
    blocks = [_block(result, who, methods, names) for who, methods in drawn]
    chart = alt.vconcat(*blocks, spacing=36).resolve_scale(color="shared")
    return finished(chart, heading(title, lines, head, _WIDTH))


def _bars(result: ForecastEvaluation) -> str:
    """Say what the bars of ours are; by which clusters differs between splits and elapsed times."""
    items = [item for m in result.methods if m.name == result.ours for at in m.landmarks for item in at.skill.values()]
    kinds = {item.method.partition(" ")[0]: item.level for item in items if item.method}
    if len(kinds) > 1:
        return f"{100 * max(kinds.values()):g} % intervals clustered by developer where 20 are judged, else by session"
    return "".join(f"{100 * level:g} % intervals clustered by {kind}" for kind, level in kinds.items())


def _block(
    result: ForecastEvaluation, who: tuple[str, str], methods: Sequence[MethodEvaluation], names: Sequence[str]
) -> alt.VConcatChart:
    import altair as alt

    words = [method_words(name, result.ours) for name in names]
    own = next((m for m in methods if m.name == result.ours), methods[-1])
    counts = next(item for item in result.counts if (item.provider, item.split) == who)
    told = [rows_words(counts)]
    cut = next(
        (c.cut for c in result.headline.table if (c.provider, c.split, c.loss, c.quantile) == (*who, "log", 0.9)), None
    )
    if cut is not None and cut.value is not None:
        published = result.headline.published
        ours = f"upper-quantile error (p .9, ln T, mean of the cuts after 0, 1, 4, 25 s) cut by {cut_interval(cut)} %"
        theirs = f"published, without landmark, loss or split: {published['least']:g} to {published['most']:g} %"
        told.append(f"{ours}; {theirs}" if counts.provider == "claude" else ours)
    told += list(counts.notes)
    upper = alt.hconcat(
        skill_by_quantile(methods, own, names, words), skill_by_landmark(methods, own, names, words), spacing=40
    ).resolve_scale(color="shared", shape="shared")
    panels = [calibration_panel(own), pit_panel(own), horizon_panel(methods, names, words)]
    lower = alt.hconcat(*[panel for panel in panels if panel is not None], spacing=40).resolve_scale(
        color="independent"
    )
    title = alt.TitleParams(
        text=wrapped([group_words(*who)], column_width(_WIDTH)),
        subtitle=wrapped(told, column_width(_WIDTH)),
        subtitleFontSize=11,
        subtitleColor="#555555",
        anchor="start",
        fontSize=14,
        offset=8,
    )
    return alt.vconcat(upper, lower, spacing=20).properties(title=title)
