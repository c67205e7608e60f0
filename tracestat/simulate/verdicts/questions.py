"""The article's open questions: each option of the simulator against the same configuration without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracestat.results.verdicts import OptionRow, QuestionsVerdict
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.verdicts.article import QUESTIONS
from tracestat.simulate.verdicts.cells import Cell, Key, Runs, Variant, common, keys_of, stable_under
from tracestat.simulate.verdicts.seeds import median, ratio

__all__ = ["OPTIONS", "questions_of"]

OPTIONS: Final = ("host_evict", "store_holds_blocks", "load_order", "chunk_tokens", "cap_memory")
# what the option of a name needs beside it; without it nothing changes
_WITH: Final = {"cap_memory": "prefill_threshold", "store_holds_blocks": "store_path"}
_MEASURES: Final = {
    "p50": "post_tool_p50",
    "p95": "post_tool_p95",
    "p99": "post_tool_p99",
    "tail_mean": "post_tool_tail_mean",
    "recompute": "origin_full_recompute",
    "stored": "stored_tokens",
    "reloaded": "loaded_tokens",
}
_BYTES: Final = ("stored", "reloaded")


def questions_of(cells: Sequence[Cell], common_fields: Mapping[str, Any], draws: int) -> QuestionsVerdict:
    """Compare every configuration that has an option on with the same without it; also without what it needs."""
    usual = Configuration()
    where = {cell.key: cell for cell in cells}
    keys: dict[Key, dict[str, Any]] = {
        cell.key: key for cell, key in zip(cells, keys_of(cells, ("load",)), strict=True)
    }
    rows, alone = [], []
    for cell in cells:
        for option in OPTIONS:
            default = getattr(usual, option)
            if cell.settings[option] == default:
                continue
            resets: list[dict[str, Any]] = [{option: default}]
            if option in _WITH:
                needed = _WITH[option]
                resets.append({option: default, needed: getattr(usual, needed)})
            bases = [(reset, where[cell.other(**reset)]) for reset in resets if cell.other(**reset) in where]
            if not bases:
                alone.append(f"{option} {cell.settings[option]}: the same without it is not in the table")
            rows += [
                _row(option, reset, variant, cell, base, keys[cell.key], draws)
                for reset, base in bases
                for variant in cell.runs
                if variant in base.runs
            ]
    remarks = (*common_fields["remarks"], *dict.fromkeys(alone))
    return QuestionsVerdict(**{**common_fields, "remarks": remarks}, rows=tuple(rows), published=QUESTIONS)


def _amount(runs: Runs, name: str) -> Any:
    values = runs[_MEASURES[name]]
    return values * runs["kv_bytes_per_token"] if name in _BYTES else values


def _row(
    option: str,
    reset: Mapping[str, Any],
    variant: Variant,
    cell: Cell,
    base: Cell,
    key: Mapping[str, Any],
    draws: int,
) -> OptionRow:
    (ours, theirs), left = common(cell.runs[variant], base.runs[variant])
    ratios = {name: ratio(ours, theirs, column, draws) for name, column in _MEASURES.items()}
    lost = [name for name, found in ratios.items() if found.value is None]
    # what the base lacks is named on both sides; what is as usual is not named
    changed = [name for name in reset if cell.settings[name] != base.settings[name]]
    usual = Configuration()
    told = {n: v for n, v in key.items() if n == "load" or (n not in changed and v != getattr(usual, n))}
    return OptionRow(
        option=option,
        value={name: cell.settings[name] for name in changed},
        base={name: base.settings[name] for name in changed},
        policy=variant[0],
        key={n: v for n, v in told.items() if n not in changed},
        stable=stable_under(base),
        seeds=ours.seeds.size,
        left_out=left,
        ratios=ratios,
        option_is={name: median(_amount(ours, name), draws) for name in _MEASURES},
        base_is={name: median(_amount(theirs, name), draws) for name in _MEASURES},
        reasons=(f"no seed has a ratio of {', '.join(lost)}",) if lost else (),
    )
