"""Engine settings on and off: our distribution over seeds, and the article's engine replays in it.

The article's rule for its own check: a ratio on/off within 0.15 of the engine's, on p95 and on the tail mean; an
absolute time within 15 % or 30 ms; the right direction where an effect of over 15 % is predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tracestat.results import SeedMedian
from tracestat.results.verdicts import (
    AbsoluteCheck,
    ArticleFigure,
    CapCell,
    CapMap,
    LeverCheck,
    LeverEffect,
    LeversVerdict,
    ScalingCheck,
)
from tracestat.simulate.configurations import SESSIONS_AT_LOAD_1
from tracestat.simulate.verdicts.article import CAPTION_OF_CHECK, LEVERS, P99_AT_16, ratio_of
from tracestat.simulate.verdicts.cells import Cell, Key, Runs, Scalar, common, stable_under
from tracestat.simulate.verdicts.seeds import difference, median, place_of, ratio, ratios_of, spread
from tracestat.simulate.verdicts.where import crossings

__all__ = ["MEASURES", "levers_of"]

MEASURES: Final = ("tail_mean", "p95", "p50")
BAND: Final = 0.15
_NAMED: Final = frozenset(("tail_mean", "p95"))  # the measures of the article's rule
_RELATIVE, _ABSOLUTE_S = 0.15, 0.030
_TIERS: Final = (1.9, 3.7)
_ALIKE: Final = 0.05  # tiers over the pool that differ by less are the same setting
_LEVERS: Final = {"tier": "host_gb", "native": "store_path", "cap": "prefill_threshold"}
_POOL: Final = "pool_tokens"


def levers_of(cells: Sequence[Cell], common_fields: Mapping[str, Any], draws: int) -> LeversVerdict:
    """Compare each setting with the one without the lever, among runs of P1."""
    own = {cell.key: cell for cell in cells if cell.of("P1") is not None}
    pairs = [pair for pair in _pairs(own) if not pair[1].settings["change"]]
    rest = _rest(own.values())
    effects = tuple(_effect(lever, off, on, rest, draws) for lever, off, on in pairs)
    scaling = tuple(_scaled(pairs, rest, draws))
    absolute = tuple(_absolute(own.values(), rest, draws))
    judged: list[LeverCheck | AbsoluteCheck] = [
        check for effect in effects for check in effect.checks if check.passes is not None
    ]
    judged += [check for check in absolute if check.passes is not None]
    return LeversVerdict(
        **common_fields,
        effects=effects,
        absolute=absolute,
        scaling=scaling,
        maps=tuple(_maps(own, rest, draws)),
        checks=len(judged),
        passed=sum(bool(check.passes) for check in judged),
        figures=len({check.figure.id for check in judged}),
        figures_passed=len({check.figure.id for check in judged if check.passes}),
        published=CAPTION_OF_CHECK,
    )


def _rest(cells: Any) -> list[str]:
    """Name what differs among runs beside the levers and their scale."""
    told = {*_LEVERS.values(), "load", "shrink", "change"}
    some = list(cells)
    return [n for n in (some[0].settings if some else ()) if n not in told and len({c.settings[n] for c in some}) > 1]


def _pairs(own: Mapping[Key, Cell]) -> Iterator[tuple[str, Cell, Cell]]:
    """Give (lever, off, on): next larger tier, native for LMCache, each cap for none, all else the same."""
    for cell in own.values():
        larger = sorted(
            (other for other in own.values() if other.other(host_gb=0.0) == cell.other(host_gb=0.0)),
            key=lambda c: c.number("host_gb"),
        )
        place = next(i for i, other in enumerate(larger) if other is cell)
        if place + 1 < len(larger) and cell.number("host_gb") > 0:
            yield "tier", cell, larger[place + 1]
        if cell.settings["store_path"] == "lmcache" and (on := own.get(cell.other(store_path="native"))):
            yield "native", cell, on
        if cell.settings["prefill_threshold"] == 0:
            caps = {int(str(c.settings["prefill_threshold"])) for c in own.values()} - {0}
            for cap in sorted(caps):
                if on := own.get(cell.other(prefill_threshold=cap)):
                    yield "cap", cell, on


def _words(lever: str, cell: Cell) -> str:
    if lever == "tier":
        return f"{cell.times_pool:.1f}x"
    value = cell.settings[_LEVERS[lever]]
    return ("off" if not value else str(value)) if lever == "cap" else str(value)


def _p1(cell: Cell) -> Runs:
    found = cell.of("P1")
    if found is None:
        raise AssertionError("only configurations with P1 are compared")
    return found


def _alike(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    return all(abs(a - b) <= _ALIKE * b for a, b in zip(ours, theirs, strict=True))


def _key(lever: str, off: Cell, rest: Sequence[str]) -> dict[str, Scalar]:
    """Give what else must be told of a pair: what differs among all runs, and levers that are on in both."""
    others = {
        name: off.settings[name]
        for other, name in _LEVERS.items()
        if other not in (lever, "tier") and off.settings[name] not in (0, "lmcache")
    }
    return {name: off.settings[name] for name in rest} | others


def _effect(lever: str, off: Cell, on: Cell, rest: Sequence[str], draws: int) -> LeverEffect:
    (ours, theirs), left = common(_p1(on), _p1(off))
    key = _key(lever, off, rest)
    each = {name: ratios_of(ours, theirs, f"post_tool_{name}") for name in MEASURES}
    ratios = {name: spread(values, draws) for name, values in each.items()}
    load = off.number("load")
    published: Sequence[tuple[str, ArticleFigure]] = LEVERS.get((lever, load), ())
    alike = lever != "tier" or _alike((off.times_pool, on.times_pool), _TIERS)
    plain = not {"store_path", "prefill_threshold"} & set(key)
    return LeverEffect(
        lever=lever,
        off=_words(lever, off),
        on=_words(lever, on),
        load=load,
        shrink=off.number("shrink"),
        sessions=round(SESSIONS_AT_LOAD_1 * load),
        times_pool=round(off.times_pool, 3),
        key=key,
        seeds=ours.seeds.size,
        left_out=left,
        stable=stable_under(off),
        ratios=ratios,
        checks=tuple(
            _check(figure, name, each[name], ratios[name].median) for name, figure in published if alike and plain
        ),
    )


def _check(figure: ArticleFigure, measure: str, each: Any, ours: SeedMedian) -> LeverCheck:
    published = ratio_of(figure)
    quantile, inside = place_of(published, each)
    known = each[np.isfinite(each)]
    middle = ours.value
    if middle is None:
        return LeverCheck(
            figure=figure, measure=measure, ratio=published, quantile=None, inside=None,
            in_band=None, seeds_in_band=None, direction=None, passes=None,
        )  # fmt: skip
    named = measure in _NAMED
    in_band = abs(middle - published) <= BAND + 1e-9 if named else None
    seeds_in_band = float(np.mean(np.abs(known - published) <= BAND + 1e-9)) if named else None
    direction = (middle > 1) == (published > 1) if abs(middle - 1) > BAND else None
    told = [answer for answer in (in_band, direction) if answer is not None]
    return LeverCheck(
        figure=figure,
        measure=measure,
        ratio=published,
        quantile=quantile,
        inside=inside,
        in_band=in_band,
        seeds_in_band=seeds_in_band,
        direction=direction,
        passes=all(told) if told else None,
    )


def _absolute(cells: Any, rest: Sequence[str], draws: int) -> Iterator[AbsoluteCheck]:
    """Put the one absolute time that the article prints beside each baseline of 16 sessions without a lever."""
    for cell in cells:
        s = cell.settings
        if s["load"] != 2 or s["store_path"] != "lmcache" or s["prefill_threshold"] or s["change"]:
            continue
        values = _p1(cell)["post_tool_p99"]
        ours = median(values, draws)
        quantile, inside = place_of(P99_AT_16.value, values)
        tell = {name: s[name] for name in (*rest, "host_gb", "shrink")}
        off = None if ours.value is None else abs(ours.value - P99_AT_16.value)
        passes = None if off is None else off <= max(_RELATIVE * P99_AT_16.value, _ABSOLUTE_S)
        yield AbsoluteCheck(figure=P99_AT_16, key=tell, ours=ours, quantile=quantile, inside=inside, passes=passes)


def _scaled(pairs: Sequence[tuple[str, Cell, Cell]], rest: Sequence[str], draws: int) -> Iterator[ScalingCheck]:
    """Pair each scaled-down lever with the full-scale one of the same tiers over the pool."""

    def shape(lever: str, off: Cell, on: Cell) -> tuple[object, ...]:
        return (lever, off.other(shrink=1.0, host_gb=0.0), on.other(shrink=1.0, host_gb=0.0))

    full = [pair for pair in pairs if pair[1].settings["shrink"] == 1]
    for pair in pairs:
        lever, off, on = pair
        if off.settings["shrink"] == 1:
            continue
        tiers = (off.times_pool, on.times_pool)
        alike = [p for p in full if shape(*p) == shape(*pair) and _alike(tiers, (p[1].times_pool, p[2].times_pool))]
        if not alike:
            continue
        whole = alike[0]
        runs, _ = common(*(_p1(cell) for cell in (on, off, whole[2], whole[1])))
        found = {}
        for name in MEASURES:
            column = f"post_tool_{name}"
            found[name] = difference(ratios_of(runs[0], runs[1], column), ratios_of(runs[2], runs[3], column), draws)
        yield ScalingCheck(
            lever=lever,
            off=_words(lever, off),
            on=_words(lever, on),
            load=off.number("load"),
            shrink=off.number("shrink"),
            times_pool=round(off.times_pool, 3),
            key=_key(lever, off, rest),
            seeds=runs[0].seeds.size,
            difference=found,
            differs={
                n: None if d.low is None or d.high is None else not d.low <= 0 <= d.high for n, d in found.items()
            },
        )


def _factor(change: Scalar) -> float | None:
    """Give what the pool is multiplied with; None where something else is changed."""
    name, _, number = str(change).partition("=")
    return 1.0 if not change else float(number) if name == _POOL else None


def _maps(own: Mapping[Key, Cell], rest: Sequence[str], draws: int) -> Iterator[CapMap]:
    groups: dict[Key, list[tuple[float, int, Cell, Cell]]] = {}
    for cell in own.values():
        cap, factor = int(str(cell.settings["prefill_threshold"])), _factor(cell.settings["change"])
        base = own.get(cell.other(prefill_threshold=0))
        if cap and factor is not None and base is not None:
            groups.setdefault(cell.other(prefill_threshold=0, change=""), []).append((factor, cap, base, cell))
    for found in groups.values():
        if len({factor for factor, *_ in found}) < 2:
            continue  # one pool is no map
        places = sorted(found, key=lambda item: (item[1], item[0]))
        made = tuple(
            CapCell(cap, factor, ratio(_p1(on), _p1(base), "post_tool_tail_mean", draws), stable_under(base))
            for factor, cap, base, on in places
        )
        turns = {}
        for cap in sorted({cell.threshold for cell in made}):
            line = [cell for cell in made if cell.threshold == cap]
            at = crossings([cell.pool_factor for cell in line], [cell.ratio.value for cell in line], 1.0)
            turns[str(cap)] = tuple(x for x, _ in at)
        first = places[0][2]
        yield CapMap(
            load=first.number("load"),
            shrink=first.number("shrink"),
            key=_key("cap", first, rest) | {"host_gb": first.settings["host_gb"]},
            cells=made,
            turns=turns,
        )
