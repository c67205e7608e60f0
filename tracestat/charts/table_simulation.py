"""The tables of ``simulate run``: the wait, the same over LRU, the oracle's gain, origins, and what the server did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracestat.charts.captions import cut_line, group_notes, headline_method, made, titled
from tracestat.charts.table import Column, Table, label_column
from tracestat.charts.table_occupancy import gigabytes
from tracestat.charts.words import MISSING, bounds, count, counted, percent, plain, seconds
from tracestat.results import Interval, SeedMedian, SimulatedPolicy, SimulationResult

__all__ = ["how_run", "ratio_words", "seconds_words", "simulation_tables"]

_POLICIES = 20


def simulation_tables(result: SimulationResult, top: int | None) -> list[Table]:
    """Give the tables of the first policies.

    Parameters
    ----------
    result : SimulationResult
    top : int, optional
        How many policies at most; default 20.
    """
    head = result.head
    groups = result.groups[: _POLICIES if top is None else top]
    cut = cut_line(len(groups), len(result.groups), "policies")
    caption = (*how_run(result), *([cut] if cut else []))
    title = titled("Wait for the first token after a tool, s", head)
    over = [group for group in groups if group.ratio]
    tables = [
        _waits(groups, title, caption),
        _tails(groups, titled("Its tail, and who is served within 1 s", head)),
        *([_ratios(over, titled("The same over P1, seed by seed", head))] if over else []),
        *([_seeds(over, result, titled("Range of the seeds, and what of the oracle's gain", head))] if over else []),
        *([_gains(over, titled("Gain over P1 in the mean wait, in parts", head))] if over else []),
        _origins(groups, titled("Where prompts came from", head)),
        _server(groups, titled("What policies and server did", head)),
        _traffic(groups, titled("Per run of the window", head)),
    ]
    last = tables[-1]
    notes = (*last.notes, *group_notes(groups), *head.notes)
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, notes)
    return tables


def how_run(result: SimulationResult) -> list[str]:
    """Say what was run, on which machine, for how long, and what policies know."""
    host = "no host tier" if not result.host_bytes else f"host tier of {gigabytes(result.host_bytes)}"
    pool = result.pool_tokens * result.kv_bytes_per_token
    times = result.host_bytes / pool if pool else 0.0
    settings = result.configuration
    gap = {"keep": "as recorded", "drop": "left out", "end": "end the session"}.get(
        str(settings["human_gap"]), f"at most {seconds(float(str(settings['human_gap']).partition(':')[2] or 0))}"
    )
    scale = settings["scale_context"]
    contexts = "as recorded" if scale is None else f"times {result.context_scale:.3g} ({scale:,} at the 99 % point)"
    lines = [
        f"load x{result.load:g}: {counted(result.sessions, 'session')} at once, {result.sessions} x mean context "
        f"{result.mean_context:,.0f} tokens = {result.contexts_over_pool:.2f} of the pool",
        f"{plain(result.hardware)}: pool {gigabytes(pool)}, {host}"
        f"{f' = {times:.2f} pools' if times else ''}; store path {settings['store_path']}",
        f"{result.hours:g} h simulated, the first {result.warmup_seconds:g} s not counted; "
        f"{counted(result.seeds, 'seed')}, the same for all policies",
        f"waits for a person {gap}; contexts {contexts}; policies know {plain(result.constants_from)}",
    ]
    usual = _Usual()
    changed = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in settings.items()
        if name not in usual.told and value != usual.of(name)
    ]
    return [
        *lines,
        *([f"set: {', '.join(plain(text) for text in changed)}"] if changed else []),
        *made(result.head)[1:],
    ]


class _Usual:
    """What a configuration is by default, and what of it the lines above say already."""

    told = frozenset(("load", "host_gb", "hardware", "scale_context", "human_gap", "hours", "warmup_s", "store_path"))

    def __init__(self) -> None:
        from tracestat.simulate.configurations import Configuration

        self._made = Configuration()

    def of(self, name: str) -> object:
        return getattr(self._made, name, None)


def _policy_column() -> Column:
    return label_column("policy")


def _name(group: SimulatedPolicy) -> str:
    return plain(group.policy)


def _plain_seconds(value: float) -> str:
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.0995:
        return f"{value:.3f}"
    return f"{value:.2f}" if size < 9.95 else f"{value:.1f}" if size < 99.5 else f"{value:,.0f}"


def _with(item: Interval, write: Callable[[float], str]) -> str:
    if item.value is None:
        return MISSING
    pair = bounds((item.low, item.high), write)
    return write(item.value) if pair == MISSING else f"{write(item.value)} {pair}"


def seconds_words(item: SeedMedian) -> str:
    """Write seconds with their interval, without the unit.

    Examples
    --------
    >>> seconds_words(SeedMedian(0.3142, 0.29, 0.41)), seconds_words(SeedMedian(12.3)), seconds_words(SeedMedian())
    ('0.31 [0.29, 0.41]', '12.3', '-')
    """
    return _with(item.interval, _plain_seconds)


def ratio_words(item: SeedMedian) -> str:
    """Write a ratio with its interval.

    Examples
    --------
    >>> ratio_words(SeedMedian(0.956, 0.9, 1.021))
    '0.96 [0.90, 1.02]'
    """
    return _with(item.interval, _ratio)


def _ratio(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 99.5 else f"{value:,.0f}"


def _share(item: SeedMedian) -> str:
    """Write a share in percent with its interval, without the sign."""
    return _with(item.interval, lambda x: f"{100 * x:.1f}" if 5e-4 <= x < 0.9995 else f"{100 * x:.0f}")


def _range(item: SeedMedian, write: Callable[[float], str]) -> str:
    if item.least is None or item.most is None:
        return MISSING
    return f"{write(item.least)} to {write(item.most)}"


def _method(groups: Sequence[SimulatedPolicy]) -> list[str]:
    method = headline_method([group.ttft["p99"].interval for group in groups])
    few = groups and groups[0].seeds < 5
    return [method] if method else ["below 5 seeds there are no intervals"] if few else []


def _waits(groups: Sequence[SimulatedPolicy], title: str, caption: Sequence[str]) -> Table:
    columns = (_policy_column(), Column("p50", "left"), Column("p95", "left"), Column("p99", "left"))
    rows = tuple(
        (_name(group), *(seconds_words(group.ttft[name]) for name in ("p50", "p95", "p99"))) for group in groups
    )
    return Table(title, columns, rows, tuple(caption), ("medians over the seeds", *_method(groups)))


def _tails(groups: Sequence[SimulatedPolicy], title: str) -> Table:
    columns = (
        _policy_column(),
        Column("mean of the\nslowest 5 %, s", "left"),
        Column("p99 after a\ndeadline, s", "left"),
        Column("requests\n%", "left"),
        Column("sessions\n%", "left"),
    )
    rows = tuple(
        (
            _name(group),
            seconds_words(group.ttft["tail_mean"]),
            seconds_words(group.deadline_subset["p99"]),
            _share(group.requests_within_slo),
            _share(group.sessions_within_slo),
        )
        for group in groups
    )
    notes = [f"after a deadline: {counted(groups[0].n_deadline, 'request')} under {_name(groups[0])}"] if groups else []
    notes.append("a session is within 1 s where 95 % of its waits are")
    return Table(title, columns, rows, (), tuple(notes))


def _ratios(groups: Sequence[SimulatedPolicy], title: str) -> Table:
    columns = (_policy_column(), Column("p95", "left"), Column("p99", "left"), Column("slowest 5 %", "left"))
    rows = tuple(
        (_name(group), *(ratio_words(group.ratio[name]) for name in ("p95", "p99", "tail_mean"))) for group in groups
    )
    return Table(title, columns, rows, (), ("below 1 is better; P1 is LRU with the host tier",))


def _seeds(groups: Sequence[SimulatedPolicy], result: SimulationResult, title: str) -> Table:
    columns = (
        _policy_column(),
        Column("p99 over P1\nof any seed", "left"),
        Column("slowest 5 %\nof any seed", "left"),
        Column("of the oracle's\ngain in p99, %", "left"),
        Column("in the\nmean, %", "left"),
    )

    def captured(group: SimulatedPolicy, name: str) -> str:
        found = group.captured[name]
        if found.share.value is None:
            return "not defined"
        return _with(found.share, lambda x: f"{100 * x:.0f}")

    rows = tuple(
        (
            _name(group),
            _range(group.ratio["p99"], _ratio),
            _range(group.ratio["tail_mean"], _ratio),
            captured(group, "p99"),
            captured(group, "mean"),
        )
        for group in groups
    )
    stable = "stable" if result.stable else "not stable"
    without = result.seeds - result.waiting_ratio.n
    endless = f", and endless in {counted(without, 'seed')} where none waited in the first" if without else ""
    notes = [
        "the oracle is P5-B (Belady, with prefetch in time); its gain is over P1, in the means of all seeds",
        f"this configuration is {stable}: waiting in the second half of the window over the first under P1 "
        f"{ratio_words(result.waiting_ratio)}, seeds {_range(result.waiting_ratio, _ratio)}{endless}",
    ]
    return Table(title, columns, rows, (), tuple(notes))


def _gains(groups: Sequence[SimulatedPolicy], title: str) -> Table:
    columns = (_policy_column(), Column("gain\nms"), Column("reload"), Column("queueing"), Column("compute"))

    def ms(value: float) -> str:
        text = f"{1e3 * value:+,.1f}"
        return "0.0" if float(text.replace(",", "")) == 0 else text

    rows = tuple(
        (_name(group), *((MISSING,) * 4 if g is None else (ms(g.total), ms(g.reload), ms(g.queueing), ms(g.compute))))
        for group in groups
        for g in (group.gain,)
    )
    note = "means over the seeds, above 0 is better; compute: below 0 where more had to be computed"
    return Table(title, columns, rows, (), (note,))


def _origins(groups: Sequence[SimulatedPolicy], title: str) -> Table:
    columns = (
        _policy_column(),
        Column("resident\n%"),
        Column("reload"),
        Column("partial"),
        Column("full\nrecompute"),
        Column("nothing\nto reuse"),
        Column("recompute in\nthe slowest 5 %", "left"),
    )

    def part(group: SimulatedPolicy, name: str) -> str:
        value = group.shares.get(name)
        return MISSING if value is None else f"{100 * value:.1f}"

    rows = tuple(
        (
            _name(group),
            *(part(group, name) for name in ("resident", "reload", "partial", "recompute", "nothing")),
            _share(group.slowest_recompute),
        )
        for group in groups
    )
    return Table(title, columns, rows, (), ("shares of the requests after a tool, means over the seeds",))


def _server(groups: Sequence[SimulatedPolicy], title: str) -> Table:
    columns = (
        _policy_column(),
        Column("pauses\npinned"),
        Column("pre-\nfetched"),
        Column("T\ns"),
        Column("link\nbusy"),
        Column("pool\nused"),
        Column("pool\ncached"),
        Column("host\nused"),
        Column("engine\nbusy"),
    )
    rows = tuple(
        (
            _name(group),
            percent(group.pinned_share),
            percent(group.prefetched_share),
            MISSING if group.queueing_seconds is None else _plain_seconds(group.queueing_seconds),
            percent(group.link_utilisation),
            percent(group.pool["used"]),
            percent(group.pool["cached"]),
            percent(group.host_used),
            percent(group.busy),
        )
        for group in groups
    )
    notes = (
        "pinned: of the tool pauses, by the plan; prefetched: of all pauses, by the plan; T: queueing delay that the "
        "time to live was made with",
    )
    return Table(title, columns, rows, (), notes)


def _traffic(groups: Sequence[SimulatedPolicy], title: str) -> Table:
    columns = (
        _policy_column(),
        Column("stored\nGB"),
        Column("reloaded\nGB"),
        Column("prefetched\nGB"),
        Column("pre-\nempted"),
        Column("s blocked\nby stores"),
        Column("by\nloads"),
        Column("by\nmemory"),
        Column("cen-\nsored"),
        Column("too\nlarge"),
    )
    rows = tuple(
        (
            _name(group),
            *(f"{size / 1e9:,.1f}" for size in (group.stored_bytes, group.loaded_bytes, group.prefetched_bytes)),
            f"{group.preemptions:,.1f}",
            *(f"{group.blocked[f'{cause}_seconds']:,.1f}" for cause in ("store", "load", "memory")),
            count(group.n_censored),
            count(group.too_large),
        )
        for group in groups
    )
    notes = (
        "means over the seeds; censored (requests without a first token at the end) and too large (sessions with a "
        "prompt beyond the pool) are of all seeds together",
    )
    return Table(title, columns, rows, (), notes)
