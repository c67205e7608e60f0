"""Where knowing the return pays: the oracle's gain over LRU by the price of a reload and the size of the tier."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from tracestat.errors import TracestatError
from tracestat.hardware import Hardware, load_hardware
from tracestat.hardware.timing import prefill_seconds
from tracestat.results import CapturedGain, SeedMedian
from tracestat.results.verdicts import BorderPoint, InsideBorder, MachinePoint, WhereCell, WhereMap, WhereVerdict
from tracestat.simulate.across_seeds import captured_share
from tracestat.simulate.verdicts.cells import Cell, Scalar, common, stable_under
from tracestat.simulate.verdicts.seeds import GAIN, captured, ratio, to_gain

__all__ = ["crossings", "reload_ratio_of", "where_of"]

ORACLE: Final = "P5-B"
TOKENS: Final = 32_768
_AXES: Final = ("reload_ratio", "host_gb")


def reload_ratio_of(hardware: Hardware, path: str = "lmcache") -> float:
    """Give the time to load 32,768 tokens over that to compute them.

    Examples
    --------
    >>> round(1 / reload_ratio_of(load_hardware()), 1)
    18.9
    """
    store = hardware.stores[path]
    return (store.load_fixed + store.load_per_token * TOKENS) / prefill_seconds(hardware, TOKENS)


def crossings(xs: Sequence[float], ys: Sequence[float | None], at: float) -> list[tuple[float, bool]]:
    """Give where a line through points crosses a height, on a logarithmic axis, and whether it rises there.

    Examples
    --------
    >>> [(round(x, 3), up) for x, up in crossings([0.01, 0.1, 1.0], [0.0, 0.2, None], 0.1)]
    [(0.032, True)]
    """
    out = []
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    for (x0, y0), (x1, y1) in pairwise(points):
        if (y0 > at) != (y1 > at):
            part = (at - y0) / (y1 - y0)
            out.append((math.exp(math.log(x0) + part * (math.log(x1) - math.log(x0))), y1 > y0))
    return out


def where_of(
    cells: Sequence[Cell], common_fields: Mapping[str, Any], draws: int, machines: Sequence[Hardware] = ()
) -> WhereVerdict:
    """Draw the maps; ``machines`` are the user's own."""
    remarks = list(common_fields["remarks"])
    points = [_point(machine, _path(cells), yours=True) for machine in machines]
    cards: dict[str, Hardware] = {}
    for name in sorted({str(cell.settings["hardware"]) for cell in cells}):
        try:
            cards[name] = load_hardware(name)
        except TracestatError as error:
            remarks.append(f"hardware {name} is not marked on the map: {error}")
    points += [
        _point(card, _path(cells), yours=False) for card in cards.values() if card.id not in {m.id for m in machines}
    ]
    groups: dict[tuple[Scalar, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.other(**dict.fromkeys(_AXES)), []).append(cell)
    differing = _differing(groups.values())
    maps = tuple(
        _map(own, {name: own[0].settings[name] for name in differing}, cards, draws) for own in groups.values()
    )
    return WhereVerdict(**{**common_fields, "remarks": tuple(remarks)}, maps=maps, machines=tuple(points))


def _path(cells: Sequence[Cell]) -> str:
    return str(cells[0].settings["store_path"]) if cells else "lmcache"


def _point(machine: Hardware, path: str, *, yours: bool) -> MachinePoint:
    used = path if path in machine.stores else next(iter(machine.stores))
    return MachinePoint(
        name=machine.id, reload_ratio=reload_ratio_of(machine, used), pool_tokens=machine.pool_tokens, yours=yours
    )


def _differing(groups: Iterable[Sequence[Cell]]) -> list[str]:
    firsts = [own[0] for own in groups]
    names = firsts[0].settings if firsts else ()
    return [
        name
        for name in names
        if name not in _AXES and (name in ("hardware", "load") or len({cell.settings[name] for cell in firsts}) > 1)
    ]


def _map(own: Sequence[Cell], key: dict[str, Scalar], cards: Mapping[str, Hardware], draws: int) -> WhereMap:
    # without a tier nothing is reloaded: its runs are the same at every price
    bare = next((cell for cell in own if not cell.settings["host_gb"]), None)
    own = [cell for cell in own if cell.settings["host_gb"] or cell is bare]
    made = [(cell, _place(cell, cards, draws)) for cell in own]
    places = tuple(sorted((place for _, place in made), key=lambda p: (p.times_pool, p.reload_ratio or 0)))
    border = []
    for times in sorted({place.times_pool for place in places}):
        row = [(p.reload_ratio, p.gain.value) for p in places if p.times_pool == times and p.reload_ratio]
        found = crossings([x for x, _ in row], [y for _, y in row], GAIN)
        border += [BorderPoint(times, x, "right" if up else "left") for x, up in found]
    inside = [place for place in places if place.inside]
    within = [cell for cell, place in made if place.inside and place.stable]
    return WhereMap(
        key=key,
        cells=places,
        border=tuple(border),
        n_inside=len(inside),
        n_stable_inside=sum(bool(place.stable) for place in inside),
        n_known=sum(place.inside is not None for place in places),
        inside=_inside(within, draws),
    )


def _place(cell: Cell, cards: Mapping[str, Hardware], draws: int) -> WhereCell:
    base, oracle = cell.of("P1"), cell.of(ORACLE)
    tier, given = cell.times_pool, cell.settings["reload_ratio"]
    price = None if given is None else float(str(given))
    card = cards.get(str(cell.settings["hardware"]))
    if tier == 0:
        price = None  # nothing is ever reloaded
    elif price is None and card is not None:
        price = reload_ratio_of(card, str(cell.settings["store_path"]))
    reason, gain, seeds = "", SeedMedian(), 0
    if base is None or oracle is None:
        reason = f"no {'P1' if base is None else ORACLE} in this configuration"
    else:
        (ours, theirs), left = common(oracle, base)
        seeds = ours.seeds.size
        gain = to_gain(ratio(ours, theirs, "post_tool_p99", draws))
        reason = (
            "no seed has a ratio"
            if gain.value is None
            else f"seeds that only one of P1 and {ORACLE} has, left out: {left}"
            if left
            else ""
        )
    return WhereCell(
        reload_ratio=price,
        times_pool=round(tier, 3),
        host_gb=cell.number("host_gb"),
        stable=stable_under(cell),
        seeds=seeds,
        gain=gain,
        inside=None if gain.value is None else gain.value > GAIN,
        captured={
            policy: captured(runs, base, oracle, draws)
            for (policy, eta), runs in cell.runs.items()
            if eta is None and policy not in ("P1", ORACLE)
        },
        reason=reason,
    )


def _inside(within: Sequence[Cell], draws: int) -> tuple[InsideBorder, ...]:
    """Give each policy its share over stable places inside the border; waits are over P1, so that each weighs 1."""
    policies = sorted({p for cell in within for p, eta in cell.runs if eta is None and p not in ("P1", ORACLE)})
    out = []
    for policy in policies:
        own = [cell for cell in within if cell.of(policy) is not None]
        parts = []
        for cell in own:
            some = [runs for name in (policy, "P1", ORACLE) if (runs := cell.of(name)) is not None]
            (ours, base, oracle), _ = common(*some)
            wait = base["post_tool_p99"]
            scaled = [
                np.divide(r["post_tool_p99"], wait, out=np.full(wait.size, np.nan), where=wait > 0)
                for r in (ours, oracle)
            ]
            parts.append(dict(zip(ours.seeds.tolist(), zip(*scaled, strict=True), strict=True)))
        shared = sorted(set.intersection(*(set(part) for part in parts)))
        table = np.array([[part[seed] for seed in shared] for part in parts]).reshape(len(parts), len(shared), 2)
        means = table.mean(axis=0)
        found = captured_share(means[:, 0], np.ones(len(shared)), means[:, 1], draws=draws)
        out.append(
            InsideBorder(policy=policy, captured=CapturedGain(found.share, found.n, found.reason), places=len(own))
        )
    return tuple(out)
