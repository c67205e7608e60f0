"""Which of two paused sessions returns later: how often a forecast says it rightly, beside least recently used (LRU).

An engine short of memory needs no more than this order: it drops the cache that is wanted last. LRU takes the one that
has been paused longest. Where all pauses share one law with a falling hazard that is the best order there is, so a
forecast gains only by what it knows of the two that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.forecast.forecasts import CurveForecast, PointForecast
from tracestat.forecast.order_pairs import Clock, Meetings, PairCounts, meetings_of
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.scores import TAU
from tracestat.resample import jackknife_interval, sum_by
from tracestat.results import Interval
from tracestat.survival.headline import headline

__all__ = ["LRU", "OrderScore", "OrderSummary", "Ranking", "merge_orders", "order_scores", "summarise_order"]

Array = NDArray[np.float64]
Ranking = Literal["median", "mean", "probability"]
LRU = "lru"
# columns of the sums
_PAIRS, _RIGHT, _RIGHT_LRU, _SAME, _OPPOSITE, _RIGHT_OPPOSITE = range(6)
_EQUAL = 1e-9  # two numbers this close (relative) are a tie: no rounding decides an order
_NODES = (np.arange(16) + 0.5) / 16


@dataclass(frozen=True, slots=True, eq=False)
class OrderScore:
    """What one method made of the pairs, in sums that folds add up.

    Attributes
    ----------
    name : str
        Of the method; ``"lru"`` for least recently used.
    clock : {"trace", "superposed"}
        How the pairs came together, see :func:`tracestat.forecast.order_pairs.meetings_of`.
    total : ndarray, shape (6,)
        Pairs; pairs ordered rightly; the same by LRU; pairs ordered as LRU does; pairs ordered the other way round;
        those of them ordered rightly. A tie, of the forecasts or of the returns, is half of each of the two that it
        lies between; the last two columns hold no tie of the forecasts.
    by_session : ndarray, shape (S, 6)
        The same over the pairs that a session takes part in; a pair has two sessions.
    by_developer : ndarray, shape (D, 6)
        Likewise; a pair of one developer counts once.
    counts : PairCounts
        What became of the pairs that met.
    """

    name: str
    clock: Clock
    total: Array
    by_session: Array
    by_developer: Array
    counts: PairCounts

    @property
    def n_pairs(self) -> int:
        """Pairs judged."""
        return int(self.total[_PAIRS])


@dataclass(frozen=True, slots=True)
class OrderSummary:
    """How well a method orders pairs.

    Attributes
    ----------
    name : str
    clock : {"trace", "superposed"}
    pairs : int
        Pairs judged.
    pairs_right : Interval
        Share of them ordered rightly.
    over_lru : Interval
        The same less that of LRU, on the same pairs.
    same_as_lru : Interval
        Share ordered as LRU does.
    right_where_different : Interval
        Share ordered rightly of those ordered the other way round; above 1/2 the method beats LRU.
    notes : tuple of str
    """

    name: str
    clock: Clock
    pairs: int
    pairs_right: Interval
    over_lru: Interval
    same_as_lru: Interval
    right_where_different: Interval
    notes: tuple[str, ...] = ()


def order_scores(
    rows: PauseRows,
    forecasts: Sequence[CurveForecast | PointForecast],
    *,
    clock: Clock = "trace",
    ranking: Ranking = "median",
    window: float = TAU,
    seed: int = 0,
    most_pairs: int = 20_000,
) -> tuple[OrderScore, ...]:
    """Judge how methods order the pauses of one provider that last at the same moment.

    Parameters
    ----------
    rows : PauseRows
        Test rows: what no method was fitted on.
    forecasts : sequence of CurveForecast or PointForecast
        For these very rows.
    clock : {"trace", "superposed"}
        Pairs that really met, or those of a moment at which many agents run; see
        :func:`tracestat.forecast.order_pairs.meetings_of` for both.
    ranking : {"median", "mean", "probability"}
        What of a curve puts two pauses in order, given how long both have lasted: the median of the remaining time,
        its mean within ``window``, or whether the one returns before the other with a probability above 1/2. A point
        forecast has only its own remaining time.
    window : float
        Nothing is asked of a pause that has lasted longer, seconds: by then no engine holds its cache.
    seed : int
    most_pairs : int
        Above it pairs are a uniform sample.

    Returns
    -------
    tuple of OrderScore
        LRU first, then the forecasts in their order, all on the same pairs.

    Raises
    ------
    UsageError
        A forecast for another number of rows; another clock or ranking; a limit that is not positive.

    Examples
    --------
    One that knows the truth, and LRU, which is wrong where the longer pause started later:

    >>> one = np.arange(3)
    >>> rows = PauseRows({}, {}, one, one, np.array([0.0, 4, 30]), np.array([10.0, 40, 2]), np.ones(3, dtype=bool))
    >>> [(s.name, float(s.total[1] / s.total[0])) for s in order_scores(rows, [PointForecast("truth", rows.seconds)])]
    [('lru', 0.5), ('truth', 1.0)]
    """
    if ranking not in get_args(Ranking):
        raise UsageError(f"ranking {ranking!r}: use one of {', '.join(get_args(Ranking))}")
    for forecast in forecasts:
        size = forecast.place.size if isinstance(forecast, CurveForecast) else forecast.seconds.size
        if size != rows.size:
            raise UsageError(f"forecast {forecast.name}: it is for {size} rows, and there are {rows.size}")
    met = meetings_of(rows, clock, window=window, seed=seed, most_pairs=most_pairs)
    left = rows.seconds[met.row] - met.elapsed
    later = _later(left, met)
    longest_paused = _later(met.elapsed, met)
    lru = _score(LRU, clock, rows, met, later, longest_paused, longest_paused)
    return (
        lru,
        *(
            _score(f.name, clock, rows, met, later, longest_paused, _forecast_later(f, met, ranking, window))
            for f in forecasts
        ),
    )


def _later(value: Array, met: Meetings) -> Array:
    """Give 1 where the first of a pair has the larger value, -1 where the second has, 0 for a tie."""
    a, b = value[met.first], value[met.second]
    return np.where(np.abs(a - b) <= _EQUAL * (np.abs(a) + np.abs(b)), 0.0, np.sign(a - b))


def _forecast_later(forecast: CurveForecast | PointForecast, met: Meetings, ranking: Ranking, window: float) -> Array:
    """Give which of each pair the method expects to return later, as :func:`_later` does."""
    s = met.elapsed
    if isinstance(forecast, PointForecast):
        return _later(forecast.at(met.row, s) - s, met)
    curves, place = forecast.curves, forecast.place[met.row]
    if ranking == "median":
        return _later(curves.quantile(place, 0.5, s) - s, met)
    if ranking == "mean":
        return _later(curves.mean_remaining(place, s, window), met)
    outlives = _outlives(forecast, met, met.first, met.second)
    falls_short = _outlives(forecast, met, met.second, met.first)
    return np.where(np.abs(outlives - falls_short) <= _EQUAL, 0.0, np.sign(outlives - falls_short))


def _outlives(forecast: CurveForecast, met: Meetings, one: NDArray[np.intp], other: NDArray[np.intp]) -> Array:
    """Give P(the one returns after the other): its mean survival over quantiles of the remaining time of the other."""
    curves, place, s = forecast.curves, forecast.place[met.row], met.elapsed
    here = curves.log_survival_at(place, s)[one]
    total = np.zeros(one.size)
    for p in _NODES:
        return_of_other = (curves.quantile(place, p, s) - s)[other]
        total += np.exp(curves.log_survival_at(place[one], s[one] + return_of_other) - here)
    return total / _NODES.size


def _score(
    name: str, clock: Clock, rows: PauseRows, met: Meetings, truth: Array, longest_paused: Array, says: Array
) -> OrderScore:
    opposite = says * longest_paused < 0
    right = (1 + says * truth) / 2
    columns = [
        np.ones(truth.size),
        right,
        (1 + longest_paused * truth) / 2,
        np.where(says == longest_paused, 1.0, np.where(opposite, 0.0, 0.5)),
        opposite,
        opposite * right,
    ]
    values = np.stack(columns, axis=1).astype(np.float64)
    a, b = met.row[met.first], met.row[met.second]
    return OrderScore(
        name,
        clock,
        values.sum(axis=0),
        _by_cluster(values, rows.session[a], rows.session[b], rows.n_sessions),
        _by_cluster(values, rows.developer[a], rows.developer[b], rows.n_developers),
        met.counts,
    )


def _by_cluster(values: Array, a: NDArray[np.intp], b: NDArray[np.intp], n: int) -> Array:
    """Add up the pairs that each cluster takes part in, one inside a cluster once."""
    return sum_by(values, a, n) + sum_by(values * (a != b)[:, None], b, n)


def merge_orders(folds: Sequence[OrderScore]) -> OrderScore:
    """Add up what one method made of several folds, whose sessions and developers have the same numbers.

    Raises
    ------
    UsageError
        None at all, or scores of different methods or clocks.
    """
    if len({(fold.name, fold.clock) for fold in folds}) != 1:
        raise UsageError("order: only the scores of one method on one clock add up")
    counts = zip(*(astuple(fold.counts) for fold in folds), strict=True)
    return replace(
        folds[0],
        total=np.sum([fold.total for fold in folds], axis=0),
        by_session=_padded_sum([fold.by_session for fold in folds]),
        by_developer=_padded_sum([fold.by_developer for fold in folds]),
        counts=PairCounts(*(sum(each) for each in counts)),
    )


def _padded_sum(parts: Sequence[Array]) -> Array:
    out = np.zeros((max(part.shape[0] for part in parts), parts[0].shape[1]))
    for part in parts:
        out[: part.shape[0]] += part
    return out


def summarise_order(score: OrderScore, level: float = 0.95) -> OrderSummary:
    """Turn sums into shares with their intervals.

    Parameters
    ----------
    score : OrderScore
    level : float
        Nominal coverage.

    Returns
    -------
    OrderSummary
        Shares without pairs have no value, and a note says so.

    Notes
    -----
    A pair belongs to two clusters. The jackknife leaves out one session (developer) at a time with all pairs that it
    takes part in: the delete-one jackknife of a statistic of pairs, with Student's t on one degree of freedom less
    than there are clusters with a pair. Noise of the single pair counts twice in it, so it errs to the wide side.

    References
    ----------
    .. [1] Arvesen (1969), Jackknifing U-statistics.
    .. [2] Efron and Stein (1981), The jackknife estimate of variance.
    """
    unit = np.eye(6)
    pairs = unit[_PAIRS]
    notes = [] if score.n_pairs else ["no two sessions are paused at the same time"]
    if score.n_pairs and not score.total[_OPPOSITE] and score.name != LRU:
        notes.append("orders no pair otherwise than LRU")
    return OrderSummary(
        score.name,
        score.clock,
        score.n_pairs,
        _share(score, unit[_RIGHT], pairs, level),
        _ratio(score, unit[_RIGHT] - unit[_RIGHT_LRU], pairs, level),
        _share(score, unit[_SAME], pairs, level),
        _share(score, unit[_RIGHT_OPPOSITE], unit[_OPPOSITE], level),
        tuple(notes),
    )


def _share(score: OrderScore, above: Array, below: Array, level: float) -> Interval:
    return _ratio(score, above, below, level).with_bounds(lambda bound: min(max(bound, 0.0), 1.0))


def _ratio(score: OrderScore, above: Array, below: Array, level: float) -> Interval:
    """Give the ratio of two combinations of the columns with the jackknife of both clusterings."""
    numerator, denominator = float(score.total @ above), float(score.total @ below)
    if not denominator:
        return Interval(None, level=level)
    value = numerator / denominator
    found = []
    for sums in (score.by_session, score.by_developer):
        own = sums[sums @ below > 0]
        rest = denominator - own @ below
        # sums of halves are exact, so nothing left is 0
        replicates = np.divide(numerator - own @ above, rest, out=np.full(rest.shape, np.nan), where=rest > 0)
        found.append(jackknife_interval(value, replicates, level))
    return headline(*found)
