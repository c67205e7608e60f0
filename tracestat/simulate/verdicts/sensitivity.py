"""How each headline conclusion moves with each constant and each rule: its ratio under a change less that without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracestat.results import SeedMedian
from tracestat.results.verdicts import SensitivityRow, SensitivityVerdict
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.verdicts.cells import Cell, Key, Runs, common, stable_under
from tracestat.simulate.verdicts.seeds import GAIN, difference, median, ratios_of

__all__ = ["CHANGES", "CONCLUSIONS", "sensitivity_of"]

CONCLUSIONS: Final = (("P4-D", "P1"), ("P5-B", "P1"), ("P2", "P1"), ("P4-D", "P2"), ("P5-B", "P2"))
CHANGES: Final = ("change", "human_gap", "cache_misses", "end", "granularity", "link", "store_when", "hardware")
_COLUMN: Final = "post_tool_p99"


def sensitivity_of(cells: Sequence[Cell], common_fields: Mapping[str, Any], draws: int) -> SensitivityVerdict:
    """Compare every configuration in which one thing is changed with the same in which it is not."""
    where = {cell.key: cell for cell in cells}
    pairs: list[tuple[str, Cell, Cell]] = []
    alone = []
    machines = {str(cell.settings["hardware"]) for cell in cells}
    for cell in cells:
        changed = _changed(cell, machines)
        if len(changed) == 1:
            name, value = next(iter(changed.items()))
            base = where.get(cell.other(**{name: value}))
            if base is None:
                alone.append(f"{name} {cell.settings[name]}: the same without the change is not in the table")
            else:
                pairs.append((name, base, cell))
        elif changed:
            alone.append(f"{' and '.join(changed)} are changed together: not a sensitivity to one of them")
    bases = list({id(base): base for _, base, _ in pairs}.values())
    told = [n for n in (bases[0].settings if bases else ()) if n == "load" or len({b.settings[n] for b in bases}) > 1]
    made: dict[tuple[Key, str, str], SeedMedian] = {}
    rows = [
        row
        for policy, over in CONCLUSIONS
        for name, base, cell in pairs
        if (row := _row(policy, over, name, base, cell, {n: base.settings[n] for n in told}, made, draws)) is not None
    ]
    lost = [
        f"{p} to {o}: not in the table"
        for p, o in CONCLUSIONS
        if pairs and not any((r.policy, r.over) == (p, o) for r in rows)
    ]
    remarks = (*common_fields["remarks"], *dict.fromkeys(alone), *lost)
    return SensitivityVerdict(
        **{**common_fields, "remarks": remarks},
        rows=tuple(rows),
        flips_sign=sum(bool(row.flips_sign) for row in rows),
        flips_size=sum(bool(row.flips_size) for row in rows),
    )


def _changed(cell: Cell, machines: set[str]) -> dict[str, Any]:
    """Give what is not as usual, and what it usually is: of machines, the one whose id theirs goes on from."""
    usual = Configuration()
    out = {n: getattr(usual, n) for n in CHANGES if n != "hardware" and cell.settings[n] != getattr(usual, n)}
    machine = str(cell.settings["hardware"])
    origin = min((name for name in machines if machine.startswith(f"{name}-")), key=len, default=None)
    if origin is not None:
        out["hardware"] = origin
    return out


def _runs(cell: Cell, base: Cell, policy: str) -> Runs | None:
    """Give the runs of a policy; those of a policy that reads no eta are the base's where only eta is changed."""
    found = cell.of(policy)
    if found is None and str(cell.settings["change"]).startswith("eta="):
        return base.of(policy)
    return found


def _row(
    policy: str,
    over: str,
    name: str,
    base: Cell,
    cell: Cell,
    key: Mapping[str, Any],
    made: dict[tuple[Key, str, str], SeedMedian],
    draws: int,
) -> SensitivityRow | None:
    if cell.of(policy) is None and cell.of(over) is None:
        return None  # nothing that reads what is changed
    parts = [_runs(cell, base, policy), _runs(cell, base, over), base.of(policy), base.of(over)]
    known = [runs for runs in parts if runs is not None]
    if len(known) < len(parts):
        return None
    (ours, theirs, base_ours, base_theirs), left = common(*known)
    after, before = ratios_of(ours, theirs, _COLUMN), ratios_of(base_ours, base_theirs, _COLUMN)
    place = (base.key, policy, over)
    if left or place not in made:
        first = median(before, draws)
        if not left:
            made[place] = first
    else:
        first = made[place]
    changed = median(after, draws)
    sides = None if first.value is None or changed.value is None else (first.value, changed.value)
    return SensitivityRow(
        policy=policy,
        over=over,
        key=key,
        what=name,
        value=str(cell.settings[name]),
        stable=stable_under(cell if cell.of("P1") is not None else base),
        seeds=ours.seeds.size,
        left_out=left,
        base=first,
        changed=changed,
        difference=difference(after, before, draws),
        flips_sign=None if sides is None else (sides[0] < 1) != (sides[1] < 1),
        flips_size=None if sides is None else (sides[0] < 1 - GAIN) != (sides[1] < 1 - GAIN),
        clear=_clear(first, changed),
    )


def _clear(first: SeedMedian, changed: SeedMedian) -> bool | None:
    """Say whether each flip is one of whole intervals; None without a flip."""
    if first.value is None or changed.value is None:
        return None
    flips = [at for at in (1.0, 1 - GAIN) if (first.value < at) != (changed.value < at)]
    return all(_beside(first, at) and _beside(changed, at) for at in flips) if flips else None


def _beside(item: SeedMedian, at: float) -> bool:
    return item.low is not None and item.high is not None and not item.low <= at <= item.high
