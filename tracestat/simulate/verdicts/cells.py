"""A table of runs, put in order: configurations, their policies, and the seeds of each, ready to be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracestat.errors import UsageError
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.metrics import is_stable
from tracestat.simulate.runs import CONFIGURATION_COLUMNS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CELL_COLUMNS", "Cell", "Key", "Runs", "Scalar", "Variant", "cells_of", "common", "keys_of", "stable_under"]

Floats: TypeAlias = NDArray[np.float64]
Scalar: TypeAlias = str | float | int | bool | None
Key: TypeAlias = tuple[Scalar, ...]
Variant: TypeAlias = tuple[str, float | None]

CELL_COLUMNS: Final = tuple(name for name in CONFIGURATION_COLUMNS if name not in ("policy", "eta"))
_NUMBERS: Final = (
    *(f"post_tool_{name}" for name in ("p50", "p95", "p99", "tail_mean")),
    "deadline_p99",
    "slo_sessions",
    "origin_full_recompute",
    "waiting_ratio",
    "stored_tokens",
    "loaded_tokens",
    "plan_pinned",
    "kv_bytes_per_token",
    "pool_tokens",
)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of one policy in one configuration.

    Attributes
    ----------
    seeds : ndarray of int, shape (S,)
        Ascending.
    numbers : mapping of str to ndarray, shape (S,)
        NaN where a run has none.
    """

    seeds: NDArray[np.int64]
    numbers: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        return self.numbers[name]

    def only(self, seeds: NDArray[np.int64]) -> Runs:
        """Give the runs of some of its seeds."""
        if seeds.size == self.seeds.size:
            return self
        rows = np.searchsorted(self.seeds, seeds)
        return Runs(seeds, {name: values[rows] for name, values in self.numbers.items()})


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A configuration without its policy.

    Attributes
    ----------
    settings : mapping of str
        One value per name of `CELL_COLUMNS`.
    runs : mapping of (policy, eta) to Runs
    """

    settings: Mapping[str, Scalar]
    runs: Mapping[Variant, Runs]

    @property
    def key(self) -> Key:
        """The settings, as one thing to look up."""
        return tuple(self.settings.values())

    def other(self, **settings: Scalar) -> Key:
        """Give the key of the same with some settings changed."""
        return tuple((dict(self.settings) | settings).values())

    def of(self, policy: str) -> Runs | None:
        """Give the runs of a policy with nothing put in the place of what it estimates."""
        return self.runs.get((policy, None))

    @property
    def times_pool(self) -> float:
        """Host tier over the pool."""
        first = next(iter(self.runs.values()))
        pool = float(first["pool_tokens"][0] * first["kv_bytes_per_token"][0])
        return float(str(self.settings["host_gb"])) * 1e9 / pool if pool > 0 else 0.0

    def number(self, name: str) -> float:
        """Give a setting that is a number."""
        return float(str(self.settings[name]))


def cells_of(frame: pl.DataFrame) -> list[Cell]:
    """Give the configurations of a table of runs.

    Parameters
    ----------
    frame : polars.DataFrame
        With the columns of `RUN_COLUMNS`; the order of rows and columns does not matter.

    Returns
    -------
    list of Cell
        In the order of their settings. P0 has no host tier: where it has runs of one tier only, or of a tier of 0, they
        stand in all configurations that differ in the tier alone.

    Raises
    ------
    UsageError
        A column is missing, or a run stands twice.
    """
    wanted = (*CONFIGURATION_COLUMNS, "seed", *_NUMBERS)
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise UsageError(f"table of runs: no column {', '.join(missing[:4])}; make it with tracestat simulate sweep")
    numbers = {name: _floats(frame, name) for name in _NUMBERS}
    seeds = frame["seed"].to_numpy().astype(np.int64)
    where: dict[Key, dict[Variant, list[int]]] = {}
    settings = zip(*(frame[name].to_list() for name in CELL_COLUMNS), strict=True)
    for row, (key, policy, eta) in enumerate(zip(settings, frame["policy"], frame["eta"], strict=True)):
        where.setdefault(tuple(key), {}).setdefault((policy, eta), []).append(row)

    def runs_of(variant: Variant, rows: list[int]) -> Runs:
        order = np.array(rows)[np.argsort(seeds[rows], kind="stable")]
        own = seeds[order]
        if np.any(own[1:] == own[:-1]):
            twice = int(own[1:][own[1:] == own[:-1]][0])
            raise UsageError(f"table of runs: policy {variant[0]} has seed {twice} twice in one configuration")
        return Runs(own, {name: values[order] for name, values in numbers.items()})

    cells = [
        Cell(
            dict(zip(CELL_COLUMNS, key, strict=True)),
            {v: runs_of(v, rows) for v, rows in sorted(variants.items(), key=lambda item: _ordered(item[0]))},
        )
        for key, variants in sorted(where.items(), key=lambda item: _ordered(item[0]))
    ]
    return _without_tier(cells)


def _without_tier(cells: list[Cell]) -> list[Cell]:
    """Let runs of P0 stand in each configuration that differs in the tier alone."""
    alone: dict[Key, Runs] = {}
    for cell in cells:
        found = cell.of("P0")
        if found is not None:
            alone.setdefault(cell.other(host_gb=0.0), found)
    out = []
    seated = {cell.other(host_gb=0.0) for cell in cells if set(cell.runs) != {("P0", None)}}
    for cell in cells:
        bare = cell.other(host_gb=0.0)
        if set(cell.runs) == {("P0", None)} and bare in seated:
            continue
        if bare in alone and ("P0", None) not in cell.runs:
            cell = Cell(cell.settings, {("P0", None): alone[bare], **cell.runs})
        out.append(cell)
    return out


def _floats(frame: pl.DataFrame, name: str) -> Floats:
    return np.asarray(frame[name].cast(float).fill_null(float("nan")).to_numpy(), np.float64)


def _ordered(key: Iterable[Scalar]) -> tuple[tuple[int, float, str], ...]:
    """Order keys whose values may be missing, numbers or texts."""
    return tuple(
        (0, 0.0, "")
        if value is None
        else (1, float(value), "")
        if isinstance(value, int | float)
        else (2, 0.0, str(value))
        for value in key
    )


def common(*runs: Runs) -> tuple[tuple[Runs, ...], int]:
    """Give the runs of the seeds that all have, and how many seeds only some have.

    Examples
    --------
    >>> a, b = (Runs(np.array(seeds), {"x": np.array(seeds) * 1.0}) for seeds in ([0, 1, 2], [1, 2, 5]))
    >>> (ours, theirs), left = common(a, b)
    >>> ours.seeds.tolist(), theirs["x"].tolist(), left
    ([1, 2], [1.0, 2.0], 2)
    """
    shared, union = runs[0].seeds, runs[0].seeds
    for one in runs[1:]:
        shared = np.intersect1d(shared, one.seeds, assume_unique=True)
        union = np.union1d(union, one.seeds)
    return tuple(one.only(shared) for one in runs), int(union.size - shared.size)


def stable_under(cell: Cell) -> bool | None:
    """Say whether a configuration is stable under P1; None without P1."""
    base = cell.of("P1")
    return None if base is None else is_stable(base["waiting_ratio"])


def keys_of(cells: Sequence[Cell], always: Sequence[str] = ()) -> Iterator[dict[str, Scalar]]:
    """Give of each configuration what differs among them, and what is always told."""
    told = [name for name in CELL_COLUMNS if name in always or len({cell.settings[name] for cell in cells}) > 1]
    for cell in cells:
        yield {name: cell.settings[name] for name in told}


def fixed_of(cells: Sequence[Cell]) -> dict[str, Scalar]:
    """Give what is the same in all configurations and is not the default."""
    usual = Configuration()
    return {
        name: cells[0].settings[name]
        for name in CELL_COLUMNS
        if cells
        and len({cell.settings[name] for cell in cells}) == 1
        and cells[0].settings[name] != getattr(usual, name)
    }
