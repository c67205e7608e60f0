"""What a forecast learns from and what it is judged by: whole sessions, or whole developers, never rows at random.

Pauses of one session are alike, and so are those of one developer. A random half of a session would tell the forecast
of the other half, so a split by rows does not exist here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.forecast.rows import PauseRows

__all__ = ["Fold", "Part", "Split", "developer_folds", "parts", "time_split", "untrained_developers"]

Split: TypeAlias = Literal["time", "developer"]
_TENTHS = 7
_N_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows to learn from and rows to be judged by; every row is one of the two.

    Attributes
    ----------
    train, test : ndarray of bool, shape (N,)
    """

    train: NDArray[np.bool_]
    test: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One fold of one provider, with what the other providers may lend to a method that learns from all of them.

    Attributes
    ----------
    provider : str
    fold : Fold
    train, test : PauseRows
        Rows of the two sides.
    others : mapping of str to PauseRows
        Rows of the other providers to learn from: their own first sessions in the time split, the rows of developers
        who are not tested in the developer split.
    """

    provider: str
    fold: Fold
    train: PauseRows
    test: PauseRows
    others: Mapping[str, PauseRows]


def time_split(rows: PauseRows) -> tuple[Fold, ...]:
    """Learn from the first sessions of every developer, test on the later ones.

    The sessions of a developer are taken in the order of their first pause, ties by number, as long as they hold no
    more than 70 % of the developer's rows together. The one that crosses the line is tested, and all after it. So
    somebody with a single session is only tested, see :func:`untrained_developers`.

    Parameters
    ----------
    rows : PauseRows
        Of one provider.

    Returns
    -------
    tuple of Fold
        One, or none where either side would be empty.

    Examples
    --------
    >>> rows = PauseRows(
    ...     {}, {}, np.array([0, 1, 1, 0, 2]), np.zeros(5, int), np.arange(5.0), np.ones(5), np.ones(5, bool)
    ... )
    >>> time_split(rows)[0].train.tolist()
    [True, False, False, True, False]
    """
    n_rows = np.bincount(rows.session, minlength=rows.n_sessions)
    first = np.full(rows.n_sessions, np.inf)
    np.minimum.at(first, rows.session, rows.started)
    owner = np.zeros(rows.n_sessions, dtype=np.intp)
    owner[rows.session] = rows.developer
    order = np.lexsort((np.arange(rows.n_sessions), first, owner))
    sums = np.cumsum(n_rows[order])
    total = np.bincount(owner, weights=n_rows, minlength=rows.n_developers).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(total)[:-1]])[: total.size]
    learns = np.zeros(rows.n_sessions, dtype=np.bool_)
    learns[order] = 10 * (sums - before[owner[order]]) <= _TENTHS * total[owner[order]]
    return _of_use([learns[rows.session]])


def developer_folds(rows: PauseRows, n: int = _N_FOLDS) -> tuple[Fold, ...]:
    """Test developers of whom nothing was learned.

    Developers are sorted by their rows, most first, ties by number, and dealt round to n folds.

    Parameters
    ----------
    rows : PauseRows
        Of one provider.
    n : int, default 5
        At least 2.

    Returns
    -------
    tuple of Fold
        One per fold that has a developer; none where there is only one developer.

    Raises
    ------
    UsageError
        ``n`` below 2.

    Examples
    --------
    >>> who = np.array([0, 1, 1, 2])
    >>> rows = PauseRows({}, {}, who, who, np.arange(4.0), np.ones(4), np.ones(4, bool))
    >>> [fold.test.tolist() for fold in developer_folds(rows, 2)]
    [[False, True, True, True], [True, False, False, False]]
    """
    if n < 2:
        raise UsageError(f"{n} folds of developers: give 2 or more")
    n_rows = np.bincount(rows.developer, minlength=rows.n_developers)
    rank = np.empty(n_rows.size, dtype=np.intp)
    rank[np.lexsort((np.arange(n_rows.size), -n_rows))] = np.arange(n_rows.size)
    fold = (rank % n)[rows.developer]
    return _of_use([fold != k for k in range(n)])


def _of_use(trained: list[NDArray[np.bool_]]) -> tuple[Fold, ...]:
    return tuple(Fold(train, ~train) for train in trained if train.any() and not train.all())


def untrained_developers(rows: PauseRows, fold: Fold) -> int:
    """Count the developers who are tested and of whom no row is learned from."""
    return int(np.setdiff1d(rows.developer[fold.test], rows.developer[fold.train]).size)


def parts(rows: Mapping[str, PauseRows], split: Split) -> Iterator[Part]:
    """Cut the rows of all providers, fold by fold.

    Parameters
    ----------
    rows : mapping of str to PauseRows
        Per provider, with the key ``developer``: one person may work with several providers.
    split : {"time", "developer"}

    Yields
    ------
    Part
        Provider by provider; none for a provider that cannot be split.

    Raises
    ------
    UsageError
        Another split.
    """
    if split not in ("time", "developer"):
        raise UsageError(f"--split {split}: use time or developer; rows are never split at random")
    folds = {name: time_split(own) if split == "time" else developer_folds(own) for name, own in rows.items()}
    for name, own in rows.items():
        for fold in folds[name]:
            others: dict[str, PauseRows] = {}
            for other, theirs in rows.items():
                if other == name:
                    continue
                if split == "time":
                    others[other] = theirs.take(folds[other][0].train) if folds[other] else theirs.take(_none(theirs))
                else:
                    others[other] = theirs.take(~_of(theirs, _names(own, fold.test)))
            yield Part(name, fold, own.take(fold.train), own.take(fold.test), others)


def _none(rows: PauseRows) -> NDArray[np.bool_]:
    return np.zeros(rows.size, dtype=np.bool_)


def _names(rows: PauseRows, some: NDArray[np.bool_]) -> set[str | None]:
    return {rows.names["developer"][code] for code in np.unique(rows.codes["developer"][some])}


def _of(rows: PauseRows, developers: set[str | None]) -> NDArray[np.bool_]:
    """Tell which rows are those of somebody named."""
    named = np.array([name in developers for name in rows.names["developer"]], dtype=np.bool_)
    return np.asarray(named[rows.codes["developer"]])
