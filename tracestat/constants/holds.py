"""The laws that a file of constants holds, and the holds that follow from them.

Whoever has another benefit than those of the file, as a simulator whose queue changes, takes the law and asks
`tracestat.policy`; the holds of the file are made in the same way, and a reader makes them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, get_args

from tracestat.constants.forms import HoldFor, KeyConstants, Rule
from tracestat.policy import (
    Hold,
    PauseLaw,
    continuum_hold,
    exponential_hold,
    hazard_hold,
    hold_of,
    law_of_curve,
    least_benefit,
)
from tracestat.results import NOT_AVAILABLE

__all__ = ["find_difference", "holds_of", "least_of", "own_law", "paper_law", "shrunken_law"]

_SAME: Final = 1e-9
_RULES: Final[tuple[Rule, ...]] = get_args(Rule)


def own_law(key: KeyConstants, grid: Sequence[float]) -> PauseLaw | None:
    """Give the law of a key's own pauses; None where too few were seen for a curve.

    Parameters
    ----------
    key : KeyConstants
    grid : sequence of float
        Seconds; `Workload.grid`.
    """
    n = len(key.survival)
    if not n:
        return None
    times, survival = tuple(grid[:n]), key.survival
    if not key.n_censored and survival[-1] > 0 and key.last_seconds > times[-1]:
        # the curve stops at the grid, but the last pause is known to end
        times, survival = (*times, key.last_seconds), (*survival, 0.0)
    return law_of_curve(times, survival, _places(key), at_zero=key.at_zero)


def shrunken_law(key: KeyConstants, grid: Sequence[float]) -> PauseLaw:
    """Give the law of a key shrunken towards the ones above it; parameters as `own_law`."""
    return law_of_curve(grid, key.used, _places(key))


def paper_law(key: KeyConstants, everything: KeyConstants, grid: Sequence[float]) -> PauseLaw | None:
    """Give the law that Continuum's rule uses for a key; None where it has none, and starts cold.

    Parameters
    ----------
    key, everything : KeyConstants
        The key, and that of all tools of its provider.
    grid : sequence of float
    """
    of = {"own": key, "all": everything, "cold": None}[key.law_from]
    return None if of is None else own_law(of, grid)


def holds_of(
    key: KeyConstants, everything: KeyConstants, grid: Sequence[float], benefits: Sequence[float]
) -> tuple[HoldFor, ...]:
    """Give the best holds of a key, rule by rule, for each benefit.

    Parameters
    ----------
    key, everything : KeyConstants
        The key, and that of all tools of its provider.
    grid, benefits : sequence of float
        Seconds; seconds of holding.
    """
    return tuple(_rows(key, everything, grid, benefits))


def _rows(
    key: KeyConstants, everything: KeyConstants, grid: Sequence[float], benefits: Sequence[float]
) -> Iterator[HoldFor]:
    shrunken = shrunken_law(key, grid)
    paper = paper_law(key, everything, grid)
    for rule in _RULES:
        law = shrunken if paper is None or rule.endswith("_shrunken") else paper
        for benefit in benefits:
            if rule == "continuum" and paper is None:
                # its cold start, judged by the law that we have
                hold = hold_of(law, exponential_hold(1.0, benefit), benefit=benefit, whole=True)
            else:
                hold = (continuum_hold if rule.startswith("continuum") else hazard_hold)(law, benefit)
            yield _row(rule, benefit, hold)


def _row(rule: Rule, benefit: float, hold: Hold) -> HoldFor:
    return HoldFor(
        rule=rule,
        benefit=float(benefit),
        tau=hold.tau,
        pin_share=hold.pin_share,
        mean_hold=min(hold.mean_hold, hold.tau),
        worth=hold.value,
        returned=NOT_AVAILABLE,
    )


def least_of(key: KeyConstants, everything: KeyConstants, grid: Sequence[float]) -> float | None:
    """Give the benefit above which any hold pays by the hazard rule; parameters as `holds_of`."""
    return least_benefit(paper_law(key, everything, grid) or shrunken_law(key, grid), whole=False)


def find_difference(
    key: KeyConstants, everything: KeyConstants, grid: Sequence[float], benefits: Sequence[float]
) -> str | None:
    """Say which number of a key is not what follows from its law; None where all do. Parameters as `holds_of`."""
    if [(hold.rule, hold.benefit) for hold in key.holds] != [(r, b) for r in _RULES for b in benefits]:
        return "holds are not rule by rule for each benefit of the file"
    for i, (given, best) in enumerate(zip(key.holds, holds_of(key, everything, grid, benefits), strict=True)):
        for name in ("tau", "pin_share", "mean_hold", "worth"):
            if not _close(getattr(given, name), getattr(best, name)):
                return f"holds[{i}].{name} is not what follows from the law of its key"
    least = least_of(key, everything, grid)
    if (least is None) != (key.pays_from is None) or not _close(key.pays_from or 0.0, least or 0.0):
        return "pays_from is not what follows from the law of its key"
    return None


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= _SAME * max(1.0, abs(a), abs(b))


def _places(key: KeyConstants) -> list[tuple[float, float]]:
    """Give where the pauses of each point mass are back, and its mass."""
    return [(atom.seconds + atom.late, atom.mass.value or 0.0) for atom in key.atoms]
