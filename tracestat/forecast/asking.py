"""Asking one hierarchy about one pause: what its keys mean to it, and which level answers how far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.forecast.curves import curves_of
from tracestat.forecast.keys import BANDED, band_of
from tracestat.forecast.maximum import maximum_log_survival
from tracestat.forecast.model import PathModel, ProviderModel
from tracestat.forecast.remaining import RemainingLaw, remaining_law

__all__ = [
    "NONE",
    "UNSEEN",
    "PathAnswer",
    "PathLevel",
    "Value",
    "answer_path",
    "band_code",
    "code_book",
    "code_of",
    "law_of_round",
    "limit_mass",
]

Array = NDArray[np.float64]
Value = str | float | None
# how a text says that a key has no value
NONE = "none"
UNSEEN = -1


def code_book(path: PathModel, key: str) -> dict[str | None, int]:
    """Give the code of each value of a key as text.

    "none" is the missing value, unless some value is called so, and a whole number is found without its ".0", too.

    Parameters
    ----------
    path : PathModel
    key : str
        One of its keys, not a banded one.
    """
    book: dict[str | None, int] = {name: code for code, name in enumerate(path.names[key])}
    for name in [name for name in path.names[key] if name is not None and name.endswith(".0")]:
        book.setdefault(name.removesuffix(".0"), book[name])
    if None in book:
        book.setdefault(NONE, book[None])
    return book


def code_of(path: PathModel, key: str, value: Value) -> int:
    """Give the code that a path has for a value; -1 for one that was never seen.

    Parameters
    ----------
    path : PathModel
    key : str
        One of its keys.
    value : str, float or None
        None for "has none"; for a history key the seconds of earlier pauses, None where there was none. Not a number
        is None, too: frames have it where nothing is known.

    Raises
    ------
    UsageError
        A value that is neither text nor number, or a length that is no number of seconds from 0 on.
    """
    if key in BANDED:
        return band_code(key, value)
    number = None if isinstance(value, str) else _number(key, value)
    text = value if isinstance(value, str) else None if number is None else repr(number).removesuffix(".0")
    return code_book(path, key).get(text, UNSEEN)


def _number(key: str, value: float | None) -> float | None:
    """Read a number; not a number is what a frame has where there is none."""
    try:
        number = None if value is None else float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{key}={value}: give a text, a number or {NONE}") from None
    return None if number is None or isnan(number) else number


def band_code(key: str, value: Value) -> int:
    """Give the band of a history key: the same in every hierarchy.

    Raises
    ------
    UsageError
        As for :func:`code_of`.
    """
    return band_of(_length(key, value))


def _length(key: str, value: Value) -> float | None:
    """Read the length of earlier pauses."""
    if value == NONE:
        return None
    try:
        # a text that spells it is no missing value
        number = float(value) if isinstance(value, str) else _number(key, value)
    except ValueError:
        number = -1.0
    if number is not None and not number >= 0:
        raise UsageError(f"{key}={value}: give the seconds of earlier pauses, or {NONE} where there was none")
    return number


@dataclass(frozen=True, slots=True)
class PathLevel:
    """One level of a path, as far as it answers in one bin.

    Attributes
    ----------
    key : str
        ``provider`` for the root.
    value : str or None
        As the model knows it.
    given, seen : bool
        Whether the key was given, and whether this value was seen beneath those above it.
    anywhere : bool
        Whether the value was seen at all.
    reached : float
        Discounted rows that reach the bin, the r; 0 beyond the last edge, where all share one tail.
    weight : float
        ``r/(r + kappa)`` of its own rows against the levels above; 1 for the root.
    share : float
        Part of the hazard in this bin that is this level's own; all of them add up to 1.
    """

    key: str
    value: str | None
    given: bool
    seen: bool
    anywhere: bool
    reached: float
    weight: float
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class PathAnswer:
    """What a path says of one set of keys.

    Attributes
    ----------
    path : PathModel
    nodes : tuple of int
        From the top; one per level whose value was seen.
    log_survival : ndarray, shape (len(nodes) + 1, J + 1)
        ln S at the edges of the root and of every level seen; the last one answers.
    """

    path: PathModel
    nodes: tuple[int, ...]
    log_survival: Array

    @property
    def level_used(self) -> str:
        """Key of the level that answers, ``provider`` where it is the root."""
        return self.path.keys[len(self.nodes) - 1] if self.nodes else "provider"

    def law(self, level: int = -1) -> RemainingLaw:
        """Give the law of a level, by default of the one that answers."""
        return remaining_law(self.path.grid, self.log_survival[level].tolist(), self.path.alpha)

    def levels(self, keys: Mapping[str, Value], elapsed: float) -> tuple[PathLevel, ...]:
        """Say of every level how far it answers at an elapsed time.

        Parameters
        ----------
        keys : mapping of str to (str, float or None)
            Those that were asked about.
        elapsed : float
            Seconds.
        """
        path, depth = self.path, len(self.nodes)
        j = int(path.grid.place(elapsed))
        nodes = (0, *self.nodes)
        closed = j < path.grid.n_bins
        reached = [float(path.counts[i].reached[node, j]) if closed else 0.0 for i, node in enumerate(nodes)]
        weights = [1.0, *(r / (r + path.kappas[i].kappa) for i, r in enumerate(reached[1:]))]
        shares, left = [0.0] * (depth + 1), 1.0
        for i in range(depth, -1, -1):
            shares[i] = left * weights[i]
            left *= 1 - weights[i]
        made = [
            PathLevel(
                "provider", None, given=True, seen=True, anywhere=True, reached=reached[0], weight=1.0, share=shares[0]
            )
        ]
        for i, key in enumerate(path.keys, start=1):
            given = key in keys
            code = code_of(path, key, keys[key]) if given else UNSEEN
            named = path.names[key][code] if code >= 0 else None if not given else _text(keys[key])
            seen = i <= depth
            numbers = (reached[i], weights[i], shares[i]) if seen else (0.0, 0.0, 0.0)
            made.append(PathLevel(key, named, given, seen, code >= 0, *numbers))
        return tuple(made)


def _text(value: Value) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value:g}"


def answer_path(path: PathModel, keys: Mapping[str, Value]) -> PathAnswer:
    """Ask a path.

    Parameters
    ----------
    path : PathModel
    keys : mapping of str to (str, float or None)
        A key that is missing, or whose value was never seen, leaves the answer to the levels above it.

    Returns
    -------
    PathAnswer

    Raises
    ------
    UsageError
        As for :func:`code_of`.
    """
    codes: list[int] = []
    for key in path.keys:
        if key not in keys:
            break
        codes.append(code_of(path, key, keys[key]))
    nodes = path.nodes(codes)
    curves = curves_of(path.grid, np.stack(path.hazards(nodes)), path.alpha)
    return PathAnswer(path, nodes, curves.log_survival)


def law_of_round(members: Sequence[PathAnswer], theta: float) -> RemainingLaw:
    """Give the law of the pause of a round, which lasts until the last of its calls comes back.

    Parameters
    ----------
    members : sequence of PathAnswer
        One per call, of one hierarchy.
    theta : float
        Of their dependence, 1 for none; see :mod:`tracestat.forecast.maximum`.
    """
    path = members[0].path
    logs = maximum_log_survival(np.stack([member.log_survival[-1] for member in members]), theta)
    return remaining_law(path.grid, logs.tolist(), path.alpha)


def limit_mass(provider: ProviderModel, tool_class: Value) -> tuple[float, str | None, bool]:
    """Give the share of those that still run at the limit they asked for that end there.

    Parameters
    ----------
    provider : ProviderModel
    tool_class : str or None
        Where nothing is known of this class, all classes together answer.

    Returns
    -------
    mass : float
        In (0, 1]; 1 where the model does not know what share ends at a limit.
    whose : str or None
        The class that answered, None for all classes together.
    known : bool
        False where the model knows of none.
    """
    found = {limit.tool_class: limit for limit in provider.limits if limit.reached > 0}
    for whose in (tool_class, None):
        if whose in found:
            return found[whose].mass, whose if isinstance(whose, str) else None, True
    return 1.0, None, False
