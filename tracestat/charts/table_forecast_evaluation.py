"""The tables of ``forecast evaluate``: the headline, every method, ours by elapsed time and against each baseline."""

from __future__ import annotations

from collections.abc import Sequence

from tracestat.charts.captions import headline_method, made, titled
from tracestat.charts.forecast_verdicts import against_words, measure_words
from tracestat.charts.forecast_words import SPLITS, cut_interval, group_words, label_of, method_words
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.words import MISSING, count, counted, p_value, percent, plain, slope
from tracestat.results import Comparison, ForecastEvaluation, Interval, MethodEvaluation

__all__ = ["evaluation_tables", "how_judged", "shown_methods"]

_UPPER = ("0.9", "0.95", "0.99", "0.5", "0.1")
_AT_ONCE = ("0.5", "0.9", "0.95", "0.99")
_PUBLISHED_OF = "claude"
_PUBLISHED = "the source states neither landmark, loss nor split"
_MARK = "* its own interval excludes 0"
_ADJUSTED = (
    "* p at most 0.05, adjusted for all {n} comparisons of this provider and split, at other landmarks too (Holm); "
    "+ only its own interval excludes 0"
)
_LRU = "lru"
_ORDERED = (_LRU, "global", "tool", "effective counts", "mixing k=20", "running mean", "ewma")
_CLOCKS = {"trace": "as they met", "superposed": "many agents"}


def how_judged(result: ForecastEvaluation) -> list[str]:
    """Say how the result was made, and what ours is."""
    paths = [method_words(" > ".join(path)) for path in result.paths]
    keys = paths[0] if len(paths) == 1 else f"a pool of {', '.join(paths[:-1])} and {paths[-1]}"
    return [
        *made(result.head),
        f"ours: {keys}; each row is forecast by a model that saw no row of its session "
        f"(time split) or of its developer (leave-developer-out); losses of min(T, {result.tau:,.0f} s)",
    ]


def shown_methods(result: ForecastEvaluation, provider: str, split: str) -> tuple[MethodEvaluation, ...]:
    """Give the methods of one split of one provider, ours last."""
    methods = result.of(provider, split)
    return (*(m for m in methods if m.name != result.ours), *(m for m in methods if m.name == result.ours))


def evaluation_tables(result: ForecastEvaluation, top: int | None) -> list[Table]:
    """Give the tables, or one that says why there are none.

    Parameters
    ----------
    result : ForecastEvaluation
    top : int, optional
        Show so many methods at most, the last ones of the list, ours among them; default all.
    """
    head = result.head
    title = titled("Forecasts of pauses, judged by rows they have not seen", head)
    caption = how_judged(result)
    if not result.methods:
        return [Table(title, caption=(*caption, "nothing to judge"), notes=(*_notes(result), *head.notes))]
    tables = [_rows(result, title, caption), *_headline(result)]
    for provider, split in result.groups_of():
        if result.of(provider, split):
            tables.append(_methods(result, provider, split, top))
    tables += [_by_landmark(result)]
    for provider, split in result.groups_of():
        some = [item for item in result.against if (item.provider, item.split) == (provider, split)]
        if some:
            tables.append(_against(result, some, provider, split))
    tables += [_coverage(result), *_order(result), _short(result)]
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *head.notes))
    return tables


def _notes(result: ForecastEvaluation) -> list[str]:
    noted = [item for item in result.counts if item.notes]
    return [f"{group_words(item.provider, item.split)}: {'; '.join(item.notes)}" for item in noted]


def _rows(result: ForecastEvaluation, title: str, caption: Sequence[str]) -> Table:
    columns = (
        label_column(),
        Column("trained\non rows"),
        Column("sessions"),
        Column("devel-\nopers"),
        Column("judged\nby rows"),
        Column("sessions"),
        Column("devel-\nopers"),
        Column("without\npinball"),
    )
    rows = tuple(
        (
            label_of(item.provider, item.split),
            *map(count, (item.train_rows, item.train_sessions, item.train_developers)),
            *map(count, (item.rows, item.sessions, item.developers, item.pinball_left_out)),
        )
        for item in result.counts
    )
    notes = ["without pinball: rows lost from sight before their end and before the losses end"]
    if any(item.folds > 1 for item in result.counts):
        notes.append("developer: leave-developer-out; trained on is its smallest fold, and every row is judged once")
    new = [item for item in result.counts if item.split == "time" and item.developers_without_training]
    notes += [
        f"{group_words(item.provider, item.split)}: {counted(item.developers_without_training, 'developer')} of the "
        "judged have no row to train on"
        for item in new
    ]
    return Table(title, columns, rows, tuple(caption), (*notes, *_notes(result)))


def _headline(result: ForecastEvaluation) -> list[Table]:
    """Give the cut of the quantile error under each definition."""
    tables = []
    for provider, split in result.groups_of():
        cuts = [c for c in result.headline.table if (c.provider, c.split) == (provider, split)]
        ways = list(dict.fromkeys((c.loss, c.landmarks) for c in cuts))
        if not cuts:
            continue
        found = {(c.loss, c.landmarks, f"{c.quantile:g}"): c.cut for c in cuts}
        columns = (Column("quantile", "left"), *(Column(_way(*way), "left") for way in ways))
        rows = tuple(
            (p, *(cut_interval(found.get((*way, p))) for way in ways))
            for p in _UPPER
            if any((*way, p) in found for way in ways)
        )
        name = f"Headline: cut of the quantile error by ours, {group_words(provider, split)}"
        tables.append(Table(titled(name, result.head), columns, rows))
    if tables:
        published = result.headline.published
        method = headline_method(c.cut for c in result.headline.table)
        mean = "the mean is over the cuts after 0, 1, 4 and 25 s"
        least, most = (published[name] for name in ("least", "most"))
        notes = (
            f"percent of the pinball loss of one curve for all (method global), on ln T or on seconds; {mean}",
            f"published for Claude: {least:g} to {most:g} % of the upper-quantile error; {_PUBLISHED}",
            *([method] if method else []),
        )
        last = tables[-1]
        tables[-1] = Table(last.title, last.columns, last.rows, last.caption, notes)
    return tables


def _way(loss: str, landmarks: tuple[float, ...]) -> str:
    when = "mean" if len(landmarks) > 1 else f"after {landmarks[0]:g} s"
    return f"{'ln T' if loss == 'log' else 'seconds'},\n{when}"


def _marked(item: Interval | None) -> str:
    """Write a cut with a star where its interval excludes 0."""
    if item is None or item.value is None:
        return MISSING
    sure = item.low is not None and item.high is not None and (item.low > 0 or item.high < 0)
    return f"{slope(item.value, 1)}{'*' if sure else ' '}"


def _methods(result: ForecastEvaluation, provider: str, split: str, top: int | None) -> Table:
    methods = shown_methods(result, provider, split)
    kept = methods if top is None else methods[-top:]
    columns = (
        label_column("method"),
        Column("log score"),
        *(Column(f"p {p[1:]}") for p in _AT_ONCE),
        Column("p .9 after\n4 s"),
        Column("p .9 after\n25 s"),
    )
    rows = []
    for m in kept:
        start, four, later = m.at(0.0), m.at(4.0), m.at(25.0)
        rows.append(
            (
                method_words(m.name, result.ours),
                MISSING if start is None else slope(start.log_score),
                *(_marked(start.skill.get(p)) if start else MISSING for p in _AT_ONCE),
                _marked(four.skill.get("0.9")) if four else MISSING,
                _marked(later.skill.get("0.9")) if later else MISSING,
            )
        )
    cut = [f"the last {len(kept)} of {len(methods)} methods"] if len(kept) < len(methods) else []
    notes = (
        "log score: mean ln P(bin of T), higher is better; p: cut of the pinball loss on ln T at once (after 0 s) "
        f"against global, percent; {_MARK}, not adjusted for their number",
        "the log score takes no probability below 1e-9: where raw counts never saw an end, it hangs on few rows",
        "a point forecast has a median only; intervals: --json and -o FILE",
    )
    title = titled(f"Methods, {group_words(provider, split)}", result.head)
    return Table(title, columns, tuple(rows), tuple(cut), notes)


def _own(result: ForecastEvaluation) -> list[MethodEvaluation]:
    return [m for m in result.methods if m.name == result.ours]


def _by_landmark(result: ForecastEvaluation) -> Table:
    columns = (
        label_column(),
        Column("after"),
        Column("rows"),
        Column("log\nscore"),
        *(Column(f"p .{p}", "left") for p in ("5", "9", "95")),
    )
    rows = []
    for m in _own(result):
        for place, at in enumerate(m.landmarks):
            rows.append(
                (
                    label_of(m.provider, m.split) if place == 0 else "",
                    f"{at.elapsed:g} s",
                    count(at.n),
                    slope(at.log_score, 2),
                    *(cut_interval(at.skill.get(p)) for p in ("0.5", "0.9", "0.95")),
                )
            )
    method = headline_method(item for m in _own(result) for at in m.landmarks for item in at.skill.values())
    notes = ("p: cut of the pinball loss on ln T against global, percent", *([method] if method else []))
    return Table(titled("Ours by the time already waited", result.head), columns, tuple(rows), (), notes)


def _against(result: ForecastEvaluation, some: Sequence[Comparison], provider: str, split: str) -> Table:
    """Give the comparison at once, after 0 s, a row per baseline."""
    start = [item for item in some if item.elapsed == 0]
    names = list(dict.fromkeys(measure_words(item) for item in start))
    columns = (label_column("ours against"), *(Column(name.replace(" ", "\n", 2), "right") for name in names))
    rows = []
    for baseline in dict.fromkeys(item.baseline for item in start):
        found = {measure_words(item): item for item in start if item.baseline == baseline}
        rows.append((method_words(baseline), *(_gain(found.get(name)) for name in names)))
    notes = [
        "log score: gain per row, nats; p: cut of the pinball loss of the baseline, percent; above 0 ours is better",
        _ADJUSTED.format(n=f"{sum(item.p_value is not None for item in some):,}"),
        "intervals, p and other landmarks: --json and -o FILE",
    ]
    title = titled(f"Ours against each baseline, {group_words(provider, split)}", result.head)
    return Table(title, columns, tuple(rows), (), tuple(notes))


def _gain(item: Comparison | None) -> str:
    if item is None or item.gain.value is None:
        return MISSING
    value = slope(item.gain.value) if item.cut is None else slope(item.cut, 1)
    mark = "*" if item.verdict != "cannot tell" else "+" if item.verdict_alone != "cannot tell" else " "
    return f"{value}{mark}"


def _coverage(result: ForecastEvaluation) -> Table:
    own = [m for m in _own(result) if m.calibration is not None]
    shares = list(dict.fromkeys(p for m in own if m.calibration for at in m.calibration.coverage.values() for p in at))
    columns = (label_column(), Column("after"), *(Column(f"p {p.removeprefix('0')}") for p in shares))
    rows: list[tuple[str, ...]] = []
    off: list[str] = []
    notes = ["share of the rows that had ended by the quantile forecast; where calibrated, it is p"]
    for m in own:
        if m.calibration is None:
            continue
        name = label_of(m.provider, m.split)
        for place, (elapsed, found) in enumerate(m.calibration.coverage.items()):
            cells = (slope(found.get(p)) for p in shares)
            rows.append((name if place == 0 else "", f"{float(elapsed):g} s", *cells))
        if m.calibration.largest_deviation is not None:
            off.append(f"{name} {percent(m.calibration.largest_deviation)} ({p_value(m.calibration.p_value)})")
    if off:
        notes.append(
            "a tenth of the forecast distribution should hold 10 % of the rows; furthest from it, with the p of all "
            f"ten by clusters: {'; '.join(off)}"
        )
    return Table(titled("Calibration of ours", result.head), columns, tuple(rows), (), tuple(notes))


def _order(result: ForecastEvaluation) -> list[Table]:
    shown = [item for item in result.order if item.pairs and item.name in (*_ORDERED, result.ours)]
    if not shown:
        return []
    columns = (
        label_column(),
        Column("method", "left"),
        Column("pairs\nright, %", "left"),
        Column("over LRU,\npoints", "left"),
        Column("same\nas LRU"),
        Column("right where\ndifferent"),
    )
    rows = []
    pairs = []
    last: tuple[str, ...] = ()
    for item in shown:
        who = (item.provider, item.split, item.clock)
        if who != last:
            rows.append((label_of(item.provider, item.split), _CLOCKS[item.clock], "", "", "", ""))
            pairs.append(f"{label_of(item.provider, item.split)}, {_CLOCKS[item.clock]}: {count(item.pairs)}")
        last = who
        lru = item.name == _LRU
        rows.append(
            (
                "",
                "LRU" if lru else method_words(item.name, result.ours),
                cut_interval(item.pairs_right.times(100.0)),
                MISSING if lru else cut_interval(item.over_lru.times(100.0)),
                MISSING if lru else percent(item.same_as_lru),
                MISSING if lru else percent(item.right_where_different),
            )
        )
    method = headline_method(item.pairs_right for item in shown)
    notes = (
        "of two sessions paused at the same moment, which returns later? LRU says the one that has paused longest; "
        "censored pairs are out, ties are half right; right where different: ties are out",
        "as they met: pauses that overlap on the trace's own clock; many agents: sessions shifted so that many run at "
        "once",
        f"pairs: {'; '.join(pairs)}",
        *([method] if method else []),
    )
    return [Table(titled("Order of return", result.head), columns, tuple(rows), (), notes)]


def _short(result: ForecastEvaluation) -> Table:
    """Say in words what the tables give."""
    least, most = (result.headline.published[name] for name in ("least", "most"))
    lines = []
    for name, cut in result.headline.upper_quantile_cut.get("provider", {}).items():
        if cut.value is None:
            continue
        where = ""
        if name == _PUBLISHED_OF:
            where = f", {_beside(cut, cut.value, least, most)}"
        lines.append(
            f"{plain(name) or '(none)'}: the upper-quantile error is cut by {cut_interval(cut)} %{where} (p .9, ln T, "
            f"mean of four landmarks, {SPLITS['developer' if result.split == 'developer' else 'time']})"
        )
    upper = [c for c in result.headline.table if c.quantile >= 0.9 and c.provider == _PUBLISHED_OF]
    known = [c.cut.value for c in upper if c.cut.value is not None]
    if known:
        inside = sum(least <= value <= most for value in known)
        lines.append(
            f"{_PUBLISHED_OF}: of {counted(len(known), 'way')} to define it (split, loss, landmark, quantile .9, .95, "
            f".99) {inside} lie within {least:g} to {most:g} %, {sum(value < least for value in known)} below, "
            f"{sum(value > most for value in known)} above"
        )
    for provider, split in result.groups_of():
        some = [item for item in result.against if (item.provider, item.split) == (provider, split)]
        if some:
            lines.append(f"{group_words(provider, split)}: {against_words(some)}")
    return Table(titled("In short", result.head), caption=tuple(lines))


def _beside(cut: Interval, value: float, least: float, most: float) -> str:
    """Compare a cut with the published ones.

    Examples
    --------
    >>> _beside(Interval(20, 10, 30), 20, 27, 37), _beside(Interval(20, 15, 25), 20, 27, 37)
    ('below the published 27 to 37 %, which its interval reaches', 'below the published 27 to 37 %')
    """
    place = "within" if least <= value <= most else "below" if value < least else "above"
    words = f"{place} the published {least:g} to {most:g} %"
    if place == "within" or cut.low is None or cut.high is None or cut.low > most or cut.high < least:
        return words
    return f"{words}, which its interval reaches"
