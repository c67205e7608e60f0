"""What a table of runs says: one form per kind of grid, each with what it counts and why something is missing.

A ratio is of the same seed, its median and interval are over seeds. Where there is no number, a reason stands beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from tracestat.results.base import Head, Result
from tracestat.results.simulation import CapturedGain, SeedMedian

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "AbsoluteCheck",
    "ArticleFigure",
    "BorderPoint",
    "CapCell",
    "CapMap",
    "ConfigurationVerdict",
    "CriterionCount",
    "EtaRow",
    "EtaVerdict",
    "InsideBorder",
    "LeverCheck",
    "LeverEffect",
    "LeversVerdict",
    "MachinePoint",
    "NoVerdict",
    "OptionRow",
    "PolicyTotals",
    "PolicyVerdict",
    "QuestionsVerdict",
    "ScalingCheck",
    "SeedSpread",
    "SensitivityRow",
    "SensitivityVerdict",
    "SuccessVerdict",
    "Verdict",
    "WhereCell",
    "WhereMap",
    "WhereVerdict",
]

Scalar: TypeAlias = str | float | int | bool | None


@dataclass(frozen=True, slots=True)
class ArticleFigure:
    """A figure that the article prints.

    Attributes
    ----------
    id : str
        In ``data/published.json``.
    says : str
    printed : str
    value : float
    """

    id: str
    says: str
    printed: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdict(Result):
    """What every verdict has.

    Attributes
    ----------
    head : Head
        Of the table of runs; not repeated where the verdict is part of a larger document.
    kind : str
    runs, seeds : int
        Rows of the table, and different seeds in it.
    configurations : int
        All that decides a run but policy and seed.
    fixed : mapping of str
        What is the same in all runs and is not the default.
    remarks : tuple of str
        What is missing or must be known, one line each.
    """

    head: Head = field(metadata={"json": None})
    kind: str
    runs: int
    seeds: int
    configurations: int
    fixed: Mapping[str, Scalar]
    remarks: tuple[str, ...]
    command: ClassVar[str] = "simulate_verdict"
    _rows: ClassVar[str] = ""

    def to_frame(self) -> pl.DataFrame:
        """Give a row per smallest thing judged: nested numbers are columns named by their path."""
        import polars as pl

        rows = [dict(_flat(row)) for row in getattr(self, self._rows, ())]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return pl.DataFrame([{name: row.get(name) for name in names} for row in rows], infer_schema_length=None)


def _flat(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Name each scalar by where it stands; lists are left out but for texts, which are joined."""
    if is_dataclass(value):
        for item in fields(value):
            yield from _flat(getattr(value, item.name), f"{path}_{item.name}" if path else item.name)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flat(item, f"{path}_{name}" if path and path != "key" else str(name))
    elif isinstance(value, tuple):
        if all(isinstance(item, str) for item in value):
            yield path, "; ".join(value)
    else:
        yield path, value


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVerdict:
    """One policy in one configuration.

    Attributes
    ----------
    policy : str
    eta : float or None
        In place of the estimated memoryfulness.
    seeds, left_out : int
        Common with P2, and those that only one of the two has.
    over_p2 : mapping of str to SeedMedian
        ``p99``, ``deadline_p99`` (waits, below 1 is better) and ``slo_sessions`` (a share, above 1 is better).
    over_p1 : SeedMedian
        ``p99``.
    captured : CapturedGain
        Of the gain of P5-B over P1 in p99.
    captured_p5 : CapturedGain
        Of that of P5.
    passes, every_seed : mapping of str to bool or None
        By criterion ``all``, ``deadline`` and ``slo``: in the median, and in each common seed; None: cannot be told.
    reasons : tuple of str
    """

    policy: str
    eta: float | None
    seeds: int
    left_out: int
    over_p2: Mapping[str, SeedMedian]
    over_p1: SeedMedian
    captured: CapturedGain
    captured_p5: CapturedGain
    passes: Mapping[str, bool | None]
    every_seed: Mapping[str, bool | None]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationVerdict:
    """All policies of one configuration.

    Attributes
    ----------
    key : mapping of str
        What tells it from the others.
    seeds : int
        Of P1.
    stable : bool or None
        Under P1; None without P1.
    waiting_ratio : SeedMedian
    counted : bool
        Stable, and with P2.
    policies : tuple of PolicyVerdict
    reasons : tuple of str
    """

    key: Mapping[str, Scalar]
    seeds: int
    stable: bool | None
    waiting_ratio: SeedMedian
    counted: bool
    policies: tuple[PolicyVerdict, ...]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionCount:
    """How often a policy passes a criterion.

    Attributes
    ----------
    passed, every_seed : int
        In the median, and of these in every seed.
    of : int
        Counted configurations in which the criterion has an answer.
    unknown : int
        Counted ones in which it has none.
    median, least, most : float or None
        Over those configurations, of the medians of the ratio to P2.
    published : tuple of ArticleFigure
    """

    passed: int
    every_seed: int
    of: int
    unknown: int
    median: float | None
    least: float | None
    most: float | None
    published: tuple[ArticleFigure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTotals:
    """A policy over all counted configurations, by criterion."""

    policy: str
    eta: float | None
    counts: Mapping[str, CriterionCount]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SuccessVerdict(Verdict):
    """The rule of success that was fixed beforehand, applied.

    Attributes
    ----------
    counted, unstable, unknown : int
        Configurations: judged; shown and not counted; without P1 or P2.
    totals : tuple of PolicyTotals
    each : tuple of ConfigurationVerdict
    published : tuple of ArticleFigure
    """

    counted: int
    unstable: int
    unknown: int
    totals: tuple[PolicyTotals, ...]
    each: tuple[ConfigurationVerdict, ...]
    published: tuple[ArticleFigure, ...]

    def to_frame(self) -> pl.DataFrame:
        """Give a row per configuration and policy."""
        import polars as pl

        rows = []
        for cell in self.each:
            own = {
                **cell.key,
                "stable": cell.stable,
                "counted": cell.counted,
                "waiting_ratio": cell.waiting_ratio.value,
            }
            rows += [own | dict(_flat(policy)) for policy in cell.policies]
        return pl.DataFrame(rows, infer_schema_length=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereCell:
    """One place of the map.

    Attributes
    ----------
    reload_ratio : float or None
        Time to reload over time to compute; None without a tier.
    times_pool : float
        Host tier over the pool; 0: none.
    host_gb : float
    stable : bool or None
    seeds : int
    gain : SeedMedian
        1 less the median ratio of P5-B to P1 in p99.
    inside : bool or None
        Whether the gain is above 10 %.
    captured : mapping of str to CapturedGain
    reason : str
    """

    reload_ratio: float | None
    times_pool: float
    host_gb: float
    stable: bool | None
    seeds: int
    gain: SeedMedian
    inside: bool | None
    captured: Mapping[str, CapturedGain]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BorderPoint:
    """Where, for one tier, the gain crosses 10 %: between two reload ratios, on the line through both gains.

    Attributes
    ----------
    times_pool : float
    reload_ratio : float
    above : {"right", "left"}
        On which side of it the gain is above 10 %.
    """

    times_pool: float
    reload_ratio: float
    above: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePoint:
    """A machine on the map: its own reload ratio at 32,768 tokens, and its tier where it is known."""

    name: str
    reload_ratio: float
    pool_tokens: int
    yours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideBorder:
    """What a policy has of the oracle's gain where that is above 10 %: each stable place weighs the same."""

    policy: str
    captured: CapturedGain
    places: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereMap:
    """One card under one load.

    Attributes
    ----------
    key : mapping of str
        ``hardware``, ``load`` and what else differs.
    cells : tuple of WhereCell
    border : tuple of BorderPoint
    n_inside, n_stable_inside, n_known : int
        Places with a gain above 10 %, the stable ones among them, and places with a gain at all.
    inside : tuple of InsideBorder
    """

    key: Mapping[str, Scalar]
    cells: tuple[WhereCell, ...]
    border: tuple[BorderPoint, ...]
    n_inside: int
    n_stable_inside: int
    n_known: int
    inside: tuple[InsideBorder, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WhereVerdict(Verdict):
    """Where knowing the return pays: maps of the oracle's gain over LRU."""

    maps: tuple[WhereMap, ...]
    machines: tuple[MachinePoint, ...]

    def to_frame(self) -> pl.DataFrame:
        """Give a row per place."""
        import polars as pl

        rows = [dict(drawn.key) | dict(_flat(cell)) for drawn in self.maps for cell in drawn.cells]
        return pl.DataFrame(rows, infer_schema_length=None)


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """A ratio over seeds: its median, and quantiles of the seeds themselves by name (``0.1`` ... ``0.9``)."""

    median: SeedMedian
    quantiles: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverCheck:
    """A published ratio beside ours.

    Attributes
    ----------
    figure : ArticleFigure
    measure : {"tail_mean", "p95", "p50"}
    ratio : float
        On over off, as published.
    quantile : float or None
        Share of our seeds below it, equal ones by half.
    inside : bool or None
        Within the range of our seeds.
    in_band : bool or None
        Our median within 0.15 of it; None where the article's rule does not name the measure.
    seeds_in_band : float or None
        Share of seeds for which that holds.
    direction : bool or None
        Same side of 1; None where we predict less than 15 %.
    passes : bool or None
        The band and the direction, as far as they can be told.
    """

    figure: ArticleFigure
    measure: str
    ratio: float
    quantile: float | None
    inside: bool | None
    in_band: bool | None
    seeds_in_band: float | None
    direction: bool | None
    passes: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverEffect:
    """One lever at one load.

    Attributes
    ----------
    lever : {"tier", "native", "cap"}
    off, on : str
        In words.
    load, shrink : float
    sessions : int
    times_pool : float
        Host tier over the pool, of the setting without the lever.
    key : mapping of str
        What else differs among the runs.
    seeds, left_out : int
    stable : bool or None
        Without the lever.
    ratios : mapping of str to SeedSpread
        On over off: ``tail_mean``, ``p95``, ``p50``.
    checks : tuple of LeverCheck
    """

    lever: str
    off: str
    on: str
    load: float
    shrink: float
    sessions: int
    times_pool: float
    key: Mapping[str, Scalar]
    seeds: int
    left_out: int
    stable: bool | None
    ratios: Mapping[str, SeedSpread]
    checks: tuple[LeverCheck, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteCheck:
    """A published time beside ours in a baseline: within 15 % or 30 ms passes."""

    figure: ArticleFigure
    key: Mapping[str, Scalar]
    ours: SeedMedian
    quantile: float | None
    inside: bool | None
    passes: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingCheck:
    """Whether a workload scaled down has the same ratio: its own less that at full scale, seed by seed.

    Attributes
    ----------
    lever, off, on : str
    load, shrink, times_pool : float
    key : mapping of str
        As for `LeverEffect`.
    seeds : int
    difference : mapping of str to SeedMedian
    differs : mapping of str to bool or None
        Whether the interval leaves out 0; None without one.
    """

    lever: str
    off: str
    on: str
    load: float
    shrink: float
    times_pool: float
    key: Mapping[str, Scalar]
    seeds: int
    difference: Mapping[str, SeedMedian]
    differs: Mapping[str, bool | None]


@dataclass(frozen=True, slots=True)
class CapCell:
    """The tail mean with a cap over that without, in a pool of ``pool_factor`` times its size."""

    threshold: int
    pool_factor: float
    ratio: SeedMedian
    stable: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapMap:
    """Cap by pool at one load; ``turns`` gives per cap the sizes of the pool at which help turns to harm."""

    load: float
    shrink: float
    key: Mapping[str, Scalar]
    cells: tuple[CapCell, ...]
    turns: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LeversVerdict(Verdict):
    """Engine settings beside the article's replays on an engine.

    Attributes
    ----------
    effects : tuple of LeverEffect
    absolute : tuple of AbsoluteCheck
    scaling : tuple of ScalingCheck
    maps : tuple of CapMap
    checks, passed : int
        Published figures in each setting that is like theirs, with an answer by the rule, and those that pass. How the
        article's engine was set is not printed in full, so that a figure may have several.
    figures, figures_passed : int
        The published figures themselves, and those that pass in some setting.
    published : tuple of ArticleFigure
        What the article says of its own check.
    """

    effects: tuple[LeverEffect, ...]
    absolute: tuple[AbsoluteCheck, ...]
    scaling: tuple[ScalingCheck, ...]
    maps: tuple[CapMap, ...]
    checks: int
    passed: int
    figures: int
    figures_passed: int
    published: tuple[ArticleFigure, ...]
    _rows: ClassVar[str] = "effects"


@dataclass(frozen=True, slots=True, kw_only=True)
class EtaRow:
    """P2 under one memoryfulness.

    Attributes
    ----------
    key : mapping of str
    eta : float or None
        None: as estimated.
    stable : bool or None
    seeds, left_out : int
    pinned : SeedMedian
        Share of tool pauses that the plan pins.
    over_p1 : mapping of str to SeedMedian
        ``p99``, ``tail_mean``, ``p95``, ``p50``.
    captured : CapturedGain
    within : bool or None
        The median of the p99 ratio lies within 10 % of 1.
    reasons : tuple of str
    """

    key: Mapping[str, Scalar]
    eta: float | None
    stable: bool | None
    seeds: int
    left_out: int
    pinned: SeedMedian
    over_p1: Mapping[str, SeedMedian]
    captured: CapturedGain
    within: bool | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EtaVerdict(Verdict):
    """What the TTL rule does under each memoryfulness."""

    rows: tuple[EtaRow, ...]
    published: tuple[ArticleFigure, ...]
    _rows: ClassVar[str] = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """An option against the same configuration without it.

    Attributes
    ----------
    option : str
        Column of the configuration.
    value, base : mapping of str
        With and without: settings by name.
    policy : str
    key : mapping of str
        What else differs among the runs.
    stable : bool or None
        The base.
    seeds, left_out : int
    ratios : mapping of str to SeedMedian
        Option over base: ``p50``, ``p95``, ``p99``, ``tail_mean``, ``recompute`` (share of requests), ``stored`` and
        ``reloaded`` bytes.
    option_is, base_is : mapping of str to SeedMedian
        The amounts themselves: seconds, shares, bytes.
    reasons : tuple of str
    """

    option: str
    value: Mapping[str, Scalar]
    base: Mapping[str, Scalar]
    policy: str
    key: Mapping[str, Scalar]
    stable: bool | None
    seeds: int
    left_out: int
    ratios: Mapping[str, SeedMedian]
    option_is: Mapping[str, SeedMedian]
    base_is: Mapping[str, SeedMedian]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QuestionsVerdict(Verdict):
    """The article's open questions as options."""

    rows: tuple[OptionRow, ...]
    published: tuple[ArticleFigure, ...]
    _rows: ClassVar[str] = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityRow:
    """A conclusion under one change.

    Attributes
    ----------
    policy, over : str
        The conclusion is the ratio of their p99.
    key : mapping of str
        The configuration.
    what, value : str
        What is changed, and to what.
    stable : bool or None
        Under the change.
    seeds, left_out : int
        Common to all four runs, and the others.
    base, changed : SeedMedian
    difference : SeedMedian
        Changed less base, seed by seed.
    flips_sign : bool or None
        The median moves to the other side of 1.
    flips_size : bool or None
        A gain above 10 % appears or goes.
    clear : bool or None
        What flips does so with both whole intervals; None where nothing flips.
    """

    policy: str
    over: str
    key: Mapping[str, Scalar]
    what: str
    value: str
    stable: bool | None
    seeds: int
    left_out: int
    base: SeedMedian
    changed: SeedMedian
    difference: SeedMedian
    flips_sign: bool | None
    flips_size: bool | None
    clear: bool | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SensitivityVerdict(Verdict):
    """How each headline conclusion moves with each constant and rule."""

    rows: tuple[SensitivityRow, ...]
    flips_sign: int
    flips_size: int
    _rows: ClassVar[str] = "rows"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoVerdict(Verdict):
    """A table of runs that asks for no verdict."""

    def to_frame(self) -> pl.DataFrame:
        """Give an empty frame."""
        import polars as pl

        return pl.DataFrame()
