"""A forecast for engines: one question in microseconds where its keys come again, a million at once in a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracestat.api.forecast_predictions import LONGEST, WINDOW, as_model, check_keys, known_keys, provider_of
from tracestat.errors import UsageError
from tracestat.forecast.asking import UNSEEN, Value, answer_path, band_code, code_book, code_of, limit_mass
from tracestat.forecast.asking_pool import answer_pool, serving_pool
from tracestat.forecast.batch import Cut, Finder, LaidOut, lay_out, remaining_quantiles, remaining_survival
from tracestat.forecast.batch_pool import lay_out_pool
from tracestat.forecast.keys import BAND_EDGES, BANDED
from tracestat.forecast.model import ForecastModel, PathModel
from tracestat.forecast.remaining import RemainingLaw
from tracestat.survival.threads import two_at_a_time

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike, NDArray

    Column = ArrayLike | Sequence[Value]

__all__ = ["Forecaster", "Remaining"]

_MOST_CURVES = 4096
_MISSING: Any = object()
_WHO = "developer"


@dataclass(frozen=True, slots=True)
class Remaining:
    """The remaining time of one pause; all times count from now, in seconds.

    Attributes
    ----------
    law : RemainingLaw
    elapsed : float
    """

    law: RemainingLaw
    elapsed: float

    def survival(self, ahead: float) -> float:
        """Give the share that still runs ``ahead`` seconds from now."""
        if not ahead >= 0:
            raise UsageError(f"ahead {ahead}: give seconds from 0")
        return self.law.survival(ahead, self.elapsed)

    def quantile(self, p: float) -> float:
        """Give the time from now by which a share p, in [0, 1), has ended."""
        if not 0 <= p < 1:
            raise UsageError(f"p {p}: a share lies from 0 to below 1")
        return self.law.quantile(p, self.elapsed) - self.elapsed

    def mean(self, window: float = WINDOW) -> float:
        """Give the mean remaining time, where what lasts longer than ``window`` counts as the window."""
        if not window >= 0:
            raise UsageError(f"window {window}: give seconds from 0")
        return self.law.mean(self.elapsed, window)


class Forecaster:
    """One provider of a model, held ready for many questions.

    Parameters
    ----------
    model : ForecastModel, str or Path
    provider : str, optional
        Needed where the model knows several.
    most_curves : int
        How many curves are kept for keys that come again; the ones unused for longest go first.

    Examples
    --------
    >>> import tracestat
    >>> model = tracestat.fit_forecast(tracestat.open(), where="provider = 'claude'")
    >>> forecaster = tracestat.Forecaster(model)
    >>> left = forecaster.remaining({"tool_class": "shell"}, elapsed=20.0)
    >>> some = forecaster.batch({"tool_class": ["shell", "edit"]}, elapsed=20.0, p=0.5)
    >>> some.shape, bool(abs(some[0] / left.quantile(0.5) - 1) < 1e-9)
    ((2,), True)
    """

    def __init__(
        self, model: ForecastModel | str | Path, provider: str | None = None, *, most_curves: int = _MOST_CURVES
    ) -> None:
        self._name, self._provider = provider_of(as_model(model), provider)
        names = known_keys(self._provider)
        self._keys = tuple((name, name in BANDED) for name in names)
        self._known = frozenset(names)
        self._law: Callable[[tuple[Value, ...]], RemainingLaw] = lru_cache(maxsize=most_curves)(self._made)
        self._finders: dict[PathModel, Finder] = {}

    def remaining(
        self, keys: Mapping[str, Value], elapsed: float = 0.0, *, asked_limit: float | None = None
    ) -> Remaining:
        """Ask about one pause.

        Parameters
        ----------
        keys, asked_limit
            As for :func:`tracestat.predict_remaining`.
        elapsed : float
            Seconds that it has lasted.
        """
        if not keys.keys() <= self._known:
            check_keys(self._provider, keys)
        if not 0 <= elapsed <= LONGEST:
            raise UsageError(f"elapsed {elapsed}: give seconds from 0, at most {LONGEST:g}")
        if asked_limit is not None and not asked_limit > 0:
            raise UsageError(f"asked_limit {asked_limit}: give seconds above 0")
        values = []
        for key, banded in self._keys:
            value = keys.get(key, _MISSING)
            # one curve per band, not per length; the band's begin stands for all of it
            values.append(_begin(key, value) if banded and value is not _MISSING else value)
        law = self._law(tuple(values))
        if asked_limit is not None and asked_limit > elapsed:
            law = law.cut(asked_limit, limit_mass(self._provider, keys.get("tool_class"))[0])
        return Remaining(law, elapsed)

    def _made(self, values: tuple[Value, ...]) -> RemainingLaw:
        keys = {key: value for (key, _), value in zip(self._keys, values, strict=True) if value is not _MISSING}
        pool = serving_pool(self._provider, keys)
        if pool is not None:
            return answer_pool(self._provider, pool, keys).law()
        return answer_path(self._provider.paths[0], keys).law()

    def batch(
        self,
        columns: pl.DataFrame | Mapping[str, Column],
        *,
        elapsed: ArrayLike = 0.0,
        p: float | Sequence[float] | None = None,
        horizon: float | Sequence[float] | None = None,
        asked_limit: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Ask about many pauses: quantiles of their remaining time, or the share that still runs later.

        Parameters
        ----------
        columns : polars.DataFrame or mapping of str to array_like, each of shape (N,)
            A column per key; a key without one is not given. A missing value is the value "none" of its key. Other
            columns of a frame are not looked at; in a mapping they are an error. With columns of all history keys the
            hierarchies answer together, else the first one does.
        elapsed : array_like, shape (N,) or ()
            Seconds that each has lasted.
        p : float or sequence of float
            In [0, 1); default 0.5 where no horizon is given.
        horizon : float or sequence of float
            Seconds from now, in place of ``p``.
        asked_limit : array_like, shape (N,) or (), optional
            Limits that the calls asked for, seconds from their start; NaN for none.

        Returns
        -------
        ndarray, shape (N,), or (k, N) for a sequence of k
            Seconds from now for ``p``, shares for ``horizon``.

        Raises
        ------
        UsageError
            No column is a key of the model, columns of unlike lengths, or times and shares that are none.
        """
        import polars as pl

        if p is not None and horizon is not None:
            raise UsageError("batch: ask for p or for a horizon, not for both")
        if not isinstance(columns, pl.DataFrame):
            check_keys(self._provider, list(columns))
        given = {key: _series(key, columns[key]) for key, _ in self._keys if key in _names(columns)}
        if not given:
            raise UsageError(f"batch: no column is a key of this model; it has {', '.join(k for k, _ in self._keys)}")
        size = len(next(iter(given.values())))
        if any(len(column) != size for column in given.values()):
            raise UsageError(
                f"batch: columns of unlike lengths ({', '.join(f'{k} {len(c)}' for k, c in given.items())})"
            )
        start = _each("elapsed", elapsed, size)
        if not ((start >= 0) & (start <= LONGEST)).all():
            raise UsageError(f"batch: elapsed is seconds from 0, at most {LONGEST:g}, for every row")
        laid = self._laid(given, size)
        cut = (
            None if asked_limit is None else self._cut(given.get("tool_class"), _each("asked_limit", asked_limit, size))
        )
        if horizon is not None:
            times, alone = _some(horizon)
            if not all(0 <= t < np.inf for t in times):
                raise UsageError("batch: a horizon is seconds from 0")
            found = remaining_survival(laid, start, times, cut)
        else:
            shares, alone = _some(0.5 if p is None else p)
            if not all(0 <= share < 1 for share in shares):
                raise UsageError("batch: p lies from 0 to below 1")
            found = remaining_quantiles(laid, start, shares, cut)
        return found[0] if alone else found

    def _laid(self, given: Mapping[str, pl.Series], size: int) -> LaidOut:
        """Find the curves of all rows."""
        pool, paths = serving_pool(self._provider, given), self._provider.paths
        asked = paths[:1] if pool is None else (pool.base, *paths)
        for key, banded in self._keys:
            if banded and key in given:
                _lengths(key, given[key])
        # hierarchies of one fit give a key the same codes, which are looked up once
        used = {path: tuple(takewhile(given.__contains__, path.keys)) for path in asked}
        needed = {(key, path.names[key]): path for path, keys in used.items() for key in keys}
        # whose weights count is asked also where a key above the developer is not given
        who = [path for path in paths if pool is not None and _WHO in path.keys and _WHO in given]
        needed |= {(_WHO, path.names[_WHO]): path for path in who}
        made = two_at_a_time(lambda item: _codes(item[1], item[0][0], given[item[0][0]]), needed.items())
        codes = dict(zip(needed, made, strict=True))
        places = {
            path: self._finder(path).places([codes[key, path.names[key]] for key in keys], size)
            for path, keys in used.items()
        }
        if pool is None:
            return lay_out(paths[0], places[paths[0]])
        known = np.zeros(size, dtype=np.bool_)
        for path in who:
            known |= codes[_WHO, path.names[_WHO]] != UNSEEN
        return lay_out_pool(pool, paths, [places[path] for path in asked], known)

    def _finder(self, path: PathModel) -> Finder:
        if path not in self._finders:
            self._finders[path] = Finder(path)
        return self._finders[path]

    def _cut(self, tool_class: pl.Series | None, limit: NDArray[np.float64]) -> Cut:
        import polars as pl

        limits = np.where(np.isnan(limit), np.inf, limit)
        if not (limits > 0).all():
            raise UsageError("batch: an asked limit is above 0")
        pooled = limit_mass(self._provider, None)[0]
        if tool_class is None:
            return Cut(limits, np.full(limits.shape, pooled))
        text = tool_class.cast(pl.String)
        masses = {name: limit_mass(self._provider, name)[0] for name in text.unique().drop_nulls().to_list()}
        mass = text.replace_strict(list(masses), list(masses.values()), default=pooled, return_dtype=pl.Float64)
        return Cut(limits, mass.to_numpy())


def _begin(key: str, value: Value) -> Value:
    band = band_code(key, value)
    return None if band == 0 else 0.0 if band == 1 else BAND_EDGES[band - 2]


def _names(columns: pl.DataFrame | Mapping[str, Column]) -> Sequence[str]:
    return list(columns.keys()) if isinstance(columns, Mapping) else columns.columns


def _series(key: str, values: Any) -> pl.Series:
    import polars as pl

    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UsageError(f"batch: {key} is one value; give a value per row")
    if isinstance(values, np.ndarray) and values.dtype.kind in "USO":
        values = values.tolist()
    elif isinstance(values, Iterator):
        values = list(values)
    try:
        try:
            found = pl.Series(key, values)
        except (TypeError, pl.exceptions.PolarsError):
            # texts beside numbers; not a number is what is missing there
            found = pl.Series(key, [None if each != each else each for each in values], strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise UsageError(f"batch: {key} is no column of texts or numbers") from None
    if found.dtype.is_nested() or found.dtype == pl.Object:
        raise UsageError(f"batch: {key} is no column of texts or numbers")
    return found


def _each(name: str, values: ArrayLike, size: int) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim and found.shape != (size,):
        raise UsageError(f"batch: {name} has the shape {found.shape}, the columns have {size} rows")
    return np.broadcast_to(found, (size,))


def _some(values: float | Sequence[float]) -> tuple[list[float], bool]:
    found = np.asarray(values, dtype=np.float64)
    return found.ravel().tolist(), found.ndim == 0


def _lengths(key: str, values: pl.Series) -> NDArray[np.float64]:
    """Give the lengths of earlier pauses, NaN where there was none."""
    import polars as pl

    if not (values.dtype.is_numeric() or values.dtype == pl.Null):
        raise UsageError(f"batch: {key} is the seconds of earlier pauses, as numbers, missing where there was none")
    seconds = values.cast(pl.Float64).to_numpy()
    if (seconds < 0).any():
        raise UsageError(f"batch: {key} is below 0 s")
    return seconds


def _codes(path: PathModel, key: str, values: pl.Series) -> NDArray[np.int32]:
    """Give the code of each row; the text is looked up by polars, in a table made once per call."""
    import polars as pl

    if key in BANDED:
        seconds = _lengths(key, values)
        band = 1 + np.searchsorted(BAND_EDGES, seconds, side="right")
        return np.where(np.isnan(seconds), 0, band).astype(np.int32)
    book = code_book(path, key)
    missing = book.get(None, UNSEEN)
    if values.dtype.is_numeric():
        values = values.fill_nan(None) if values.dtype.is_float() else values
        known = values.unique().drop_nulls()
        found = [code_of(path, key, float(value)) for value in known.to_list()]
        made = values.replace_strict(known, pl.Series(found, dtype=pl.Int32), default=missing, return_dtype=pl.Int32)
        return made.to_numpy()
    texts = [name for name in book if name is not None]
    table = np.array([*(book[name] for name in texts), UNSEEN], dtype=np.int32)
    # what the table does not hold becomes null, as does what was null
    place = values.cast(pl.String).cast(pl.Enum(texts), strict=False).to_physical().fill_null(len(texts))
    codes: NDArray[np.int32] = table[place.to_numpy()]
    if values.null_count():
        codes[values.is_null().to_numpy()] = missing
    return codes
