"""Does the hazard rise anywhere? One test over all neighbouring blocks (or pairs), and how large a rise may be.

A rise is where waiting longer makes a return more likely, the one thing that a policy could time. "Not significant"
does not mean "no rise", so every contrast carries the simultaneous upper limit of the rise that the data allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from tracestat.errors import TracestatError, UsageError
from tracestat.resample import sign_multipliers
from tracestat.survival.blocks import Block, block_sums
from tracestat.survival.intervals import active_clusters
from tracestat.survival.monotone import holm

__all__ = [
    "Family",
    "RiseContrast",
    "RiseGroup",
    "RiseTest",
    "draw_shared",
    "rise_test",
    "rise_tests",
    "rise_tests_together",
]

Family = Literal["adjacent", "any"]
_LEAST_SPREAD = 0.05  # a draw in which all of a few clusters pull one way has next to no spread of its own
_CHUNK = 128  # draws multiplied at a time, so that their floats stay in the cache


@dataclass(frozen=True, slots=True)
class RiseContrast:
    """The hazard of a later block against that of an earlier one.

    Attributes
    ----------
    start, stop : int
        Numbers of the earlier and the later block.
    log_ratio : float
        ln of the later hazard over the earlier one; above 0 is a rise.
    se : float or None
        Clustered standard error, or that of independent rows if it is larger; None if it does not exist (fewer than
        two clusters, or no variation).
    se_naive : float
        Standard error if rows were independent.
    p_adjusted : float or None
        One-sided p value of "no rise here", adjusted for all contrasts of the family (step-down).
    upper : float or None
        Upper limit of ratio - 1, simultaneous over the family: 0.33 reads "no rise above 33 %".
    """

    start: int
    stop: int
    log_ratio: float
    se: float | None
    se_naive: float
    p_adjusted: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class RiseTest:
    """One family of contrasts tested together, for one clustering.

    Attributes
    ----------
    family : str
        ``"adjacent"`` or ``"any"``.
    contrasts : tuple of RiseContrast
        In order of the blocks.
    significant : bool or None
        Whether any rise stands at the level; None if nothing could be tested.
    largest : RiseContrast or None
        The contrast with the largest simultaneous upper limit.
    largest_upper : float or None
        That limit.
    critical : float or None
        Quantile of the largest t statistic when nothing rises.
    n_clusters : int
        Clusters in range.
    level : float
        1 - the family-wise error.
    method : str
        ``"max-T"`` or ``"Holm"``.
    note : str
        Why there is no test; empty if there is one.
    """

    family: Family
    contrasts: tuple[RiseContrast, ...]
    significant: bool | None
    largest: RiseContrast | None
    largest_upper: float | None
    critical: float | None
    n_clusters: int
    level: float
    method: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RiseGroup:
    """One group of a table of rise tests.

    Attributes
    ----------
    D, X : ndarray, shape (G, J)
        Events and exposure per cluster and bin.
    blocks : tuple of (int, int)
        Blocks of bins.
    drawn : ndarray, shape (B, draws), or None
        Influence times multipliers, made before by `draw_shared`; None draws multipliers for this group alone.
    """

    D: NDArray[np.float64]
    X: NDArray[np.float64]
    blocks: tuple[Block, ...]
    drawn: NDArray[np.float64] | None = None


def draw_shared(groups: Sequence[RiseGroup], multipliers: NDArray[np.int8] | NDArray[np.float64]) -> list[RiseGroup]:
    """Draw once for several bin sets of the same clusters.

    Parameters
    ----------
    groups : sequence of RiseGroup
        Bin sets of one group: the same G clusters in the same order.
    multipliers : ndarray, shape (draws, G)
        From `tracestat.resample.sign_multipliers`.

    Returns
    -------
    list of RiseGroup
        The same with ``drawn`` filled; one matrix product serves all.

    Examples
    --------
    >>> group = RiseGroup(np.ones((40, 2)), np.ones((40, 2)), ((0, 1), (1, 2)))
    >>> draw_shared([group, group], sign_multipliers(40, 7))[1].drawn.shape
    (2, 7)
    """
    blocks = np.concatenate([_influence(group)[2].T for group in groups])
    # most blocks stand in several bin sets
    number: dict[bytes, int] = {}
    place = np.array([number.setdefault(block.tobytes(), len(number)) for block in blocks])
    drawn = _draw(blocks[np.unique(place, return_index=True)[1]], multipliers)
    ends = np.cumsum([len(group.blocks) for group in groups])
    return [
        replace(group, drawn=drawn[place[end - len(group.blocks) : end]])
        for group, end in zip(groups, ends, strict=True)
    ]


_Prepared: TypeAlias = tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], "NDArray[np.float64] | None", int
]


def rise_test(
    D_g: ArrayLike,
    X_g: ArrayLike,
    blocks: Sequence[Block],
    family: Family = "adjacent",
    *,
    draws: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> RiseTest:
    """Test whether the hazard rises between blocks, with control over the whole family.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.
    blocks : sequence of (int, int)
        Blocks of bins, from `tracestat.survival.blocks.merge_blocks` of the summed events.
    family : {"adjacent", "any"}
        Neighbouring blocks, or every later against every earlier block.
    draws : int, default 2,000
        Draws of the multipliers; 0 takes normal p values with Holm's correction.
    seed : int, default 0
        Seed of the draws.
    level : float, default 0.95
        1 - the family-wise error.

    Returns
    -------
    RiseTest
        The contrasts and what they say together.

    Raises
    ------
    TracestatError
        If a block holds no events.

    Notes
    -----
    With 20 to 60 clusters of uneven size the plain statistic rejects far too often (a quarter of tables with a
    constant hazard): its standard error can fall below that of independent rows, and draws that are not studentised
    have a normal tail. Both are mended here; the studies hold such designs.

    References
    ----------
    .. [1] Westfall and Young (1993), Resampling-Based Multiple Testing.
    .. [2] Webb (2014), Reworking wild bootstrap based inference for clustered errors.

    Examples
    --------
    >>> D_g, X_g = np.ones((40, 2)), np.random.default_rng(0).gamma(2.0, (1.0, 2.0), (40, 2))
    >>> test = rise_test(D_g, X_g, [(0, 1), (1, 2)])
    >>> test.significant, len(test.contrasts)
    (False, 1)
    """
    return rise_tests(D_g, X_g, blocks, (family,), draws=draws, seed=seed, level=level)[family]


def rise_tests(
    D_g: ArrayLike,
    X_g: ArrayLike,
    blocks: Sequence[Block],
    families: Sequence[Family] = ("adjacent", "any"),
    *,
    draws: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[Family, RiseTest]:
    """Run `rise_test` for several families on the same draws, at the price of one.

    Parameters
    ----------
    D_g, X_g : array_like, shape (G, J)
        Events and exposure per cluster and bin.
    blocks : sequence of (int, int)
        Blocks of bins.
    families : sequence of str
        Families to test; each is controlled by itself.
    draws, seed, level
        As in `rise_test`.

    Returns
    -------
    dict of RiseTest
        By family.

    Raises
    ------
    UsageError
        If a family does not exist.
    TracestatError
        As in `rise_test`.

    Examples
    --------
    >>> tests = rise_tests(np.ones((40, 3)), np.ones((40, 3)), [(0, 1), (1, 2), (2, 3)], draws=0)
    >>> len(tests["adjacent"].contrasts), len(tests["any"].contrasts)
    (2, 3)
    """
    group = RiseGroup(np.asarray(D_g, dtype=np.float64), np.asarray(X_g, dtype=np.float64), tuple(blocks))
    return rise_tests_together([group], families, draws=draws, seed=seed, level=level)[0]


def rise_tests_together(
    groups: Sequence[RiseGroup],
    families: Sequence[Family] = ("adjacent", "any"),
    *,
    draws: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> list[dict[Family, RiseTest]]:
    """Run `rise_tests` for the groups of one table, with each family controlled over all groups.

    Groups drawn before from one set of multipliers per cluster keep the dependence that shared clusters bring; the
    largest t statistic is taken over the contrasts of all groups.

    Parameters
    ----------
    groups : sequence of RiseGroup
        Events, exposure and blocks of each group, drawn before or not.
    families : sequence of str
        Families to test; each is controlled by itself.
    draws, seed, level
        As in `rise_test`; groups not drawn before draw multipliers of their own.

    Returns
    -------
    list of dict of RiseTest
        By group, by family.

    Raises
    ------
    UsageError, TracestatError
        As in `rise_tests`.

    Examples
    --------
    >>> group = RiseGroup(np.ones((40, 2)), np.random.default_rng(0).gamma(2.0, (1.0, 2.0), (40, 2)), ((0, 1), (1, 2)))
    >>> [t["adjacent"].significant for t in rise_tests_together([group, group], ["adjacent"])]
    [False, False]
    """
    for family in families:
        if family not in get_args(Family):
            raise UsageError(f"rise test: family {family} is not known; it is adjacent or any")
    if not 0 < level < 1 or draws < 0:
        raise UsageError("rise test: the level must lie between 0 and 1, and draws not below 0")
    prepared = [_prepare(group, draws, seed) for group in groups]
    tests = {family: _adjust(family, [_contrasts(family, *p) for p in prepared], level) for family in families}
    return [{family: tests[family][i] for family in families} for i in range(len(groups))]


def _influence(
    group: RiseGroup,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Give events and exposure per block, each cluster's influence on ln hazard, and which clusters are in range."""
    D_b, X_b = block_sums(group.D, group.blocks), block_sums(group.X, group.blocks)
    events, exposure = D_b.sum(axis=0), X_b.sum(axis=0)
    if not (np.all(events > 0) and np.all(exposure > 0)):
        raise TracestatError("rise test: a block without events; merge the bins first")
    return events, exposure, (D_b - X_b * (events / exposure)) / events, active_clusters(D_b, X_b)


def _prepare(group: RiseGroup, draws: int, seed: int) -> _Prepared:
    events, exposure, influence, active = _influence(group)
    n_clusters = int(np.count_nonzero(active))
    drawn = group.drawn
    if drawn is None and draws > 0 and n_clusters >= 2 and len(group.blocks) >= 2:
        # clusters out of range have no influence: their signs change nothing, but few in range need Webb's points
        drawn = _draw(influence[active].T, sign_multipliers(n_clusters, draws, seed))
    return events, exposure, influence, drawn, n_clusters


def _draw(influence: NDArray[np.float64], multipliers: NDArray[np.int8] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Give influence (B, G) times multipliers (draws, G), from which the draws of every contrast are differences."""
    if multipliers.shape[1] != influence.shape[1]:
        raise TracestatError(
            f"rise test: multipliers for {multipliers.shape[1]} clusters, data of {influence.shape[1]}"
        )
    drawn = np.empty((influence.shape[0], multipliers.shape[0]))
    for start in range(0, multipliers.shape[0], _CHUNK):
        some = slice(start, start + _CHUNK)
        drawn[:, some] = influence @ multipliers[some].astype(np.float64, copy=False).T
    return drawn


@dataclass(frozen=True, slots=True)
class _Contrasts:
    """The contrasts of one group before they are adjusted; null: their draws, a row each."""

    early: NDArray[np.intp]
    late: NDArray[np.intp]
    delta: NDArray[np.float64]
    se: NDArray[np.float64]
    se_naive: NDArray[np.float64]
    testable: NDArray[np.bool_]
    null: NDArray[np.float64] | None
    n_clusters: int

    @property
    def t(self) -> NDArray[np.float64]:
        """Statistics of the testable contrasts."""
        return self.delta[self.testable] / self.se[self.testable]


def _contrasts(
    family: Family,
    events: NDArray[np.float64],
    exposure: NDArray[np.float64],
    influence: NDArray[np.float64],
    drawn: NDArray[np.float64] | None,
    n_clusters: int,
) -> _Contrasts:
    early, late = _pairs(events.size, family)
    log_hazard = np.log(events / exposure)
    naive = np.sqrt(1 / events[early] + 1 / events[late])
    of_block = np.ascontiguousarray(influence.T)
    squares = np.empty(early.size)
    for a in range(events.size - 1):  # not all at once: with thousands of clusters the differences leave the cache
        pairs = early == a
        apart = of_block[late[pairs]] - of_block[a]
        squares[pairs] = np.einsum("bg,bg->b", apart, apart)
    # rounding alone gives about 1e-32
    testable = (squares > 1e-24) & (n_clusters >= 2)
    null = None
    if drawn is not None:
        null = (drawn[late[testable]] - drawn[early[testable]]) / np.sqrt(squares[testable])[:, None]
        # each draw is divided by its own standard error, as t is: with few clusters the tail is Student's, not normal
        spread = np.maximum(1 - null**2 / n_clusters, _LEAST_SPREAD) * (n_clusters / max(n_clusters - 1, 1))
        null /= np.sqrt(spread, out=spread)
    return _Contrasts(
        early,
        late,
        log_hazard[late] - log_hazard[early],
        # a few uneven clusters can look more alike than independent rows would be: never below the Poisson error
        np.maximum(np.sqrt(n_clusters / max(n_clusters - 1, 1) * squares), naive),
        naive,
        testable,
        null,
        n_clusters,
    )


def _adjust(family: Family, groups: Sequence[_Contrasts], level: float) -> list[RiseTest]:
    """Adjust the contrasts of all groups as one family and give each group its part."""
    tested = [group for group in groups if np.any(group.testable)]
    drawn = [group.null for group in tested if group.null is not None]
    method = "max-T" if len(drawn) == len(tested) and drawn else "Holm"
    critical, adjusted = None, np.empty(0)
    if tested:
        t = np.concatenate([group.t for group in tested])
        if method == "Holm":
            critical, adjusted = float(ndtri(1 - (1 - level) / t.size)), holm(ndtr(-t))
        else:
            null = np.concatenate(drawn)
            critical, adjusted = float(np.quantile(null.max(axis=0), level)), _step_down(t, null)
    tests, start = [], 0
    for group in groups:
        size = int(np.count_nonzero(group.testable))
        tests.append(_test_of(family, group, adjusted[start : start + size], critical, level, method))
        start += size
    return tests


def _test_of(
    family: Family, group: _Contrasts, adjusted: NDArray[np.float64], critical: float | None, level: float, method: str
) -> RiseTest:
    p = np.full(group.delta.size, np.nan)
    p[group.testable] = adjusted
    some = critical is not None and adjusted.size > 0
    upper = np.exp(group.delta + critical * group.se) - 1 if some and critical is not None else p
    columns = (group.testable, group.early, group.late, group.delta, group.se, group.se_naive, p, upper)
    contrasts = tuple(
        RiseContrast(early, late, delta, se, naive, p_adjusted, limit)
        if testable
        else RiseContrast(early, late, delta, None, naive, None, None)
        for testable, early, late, delta, se, naive, p_adjusted, limit in zip(
            *(c.tolist() for c in columns), strict=True
        )
    )
    if not some:
        note = "fewer than two clusters" if group.n_clusters < 2 else "clusters do not vary"
        note = note if contrasts else "fewer than two blocks"
        return RiseTest(family, contrasts, None, None, None, None, group.n_clusters, level, method, note)
    largest = contrasts[int(np.where(group.testable, upper, -np.inf).argmax())]
    significant = bool(np.any(adjusted <= 1 - level))
    return RiseTest(family, contrasts, significant, largest, largest.upper, critical, group.n_clusters, level, method)


def _pairs(n_blocks: int, family: Family) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if family == "adjacent":
        return np.arange(n_blocks - 1), np.arange(1, n_blocks)
    early, late = np.triu_indices(n_blocks, 1)
    return early, late


def _step_down(t: NDArray[np.float64], null: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust each p value over the contrasts not larger than it, then make them monotone (Westfall and Young)."""
    ascending = np.argsort(t, kind="stable")
    largest_so_far = null[ascending]
    np.maximum.accumulate(largest_so_far, axis=0, out=largest_so_far)
    p = np.empty(t.size)
    reached = np.count_nonzero(largest_so_far >= t[ascending, None], axis=1) / null.shape[1]
    p[ascending] = np.maximum.accumulate(reached[::-1])[::-1]
    return p
