"""Grids of configurations: a TOML file whose lists are multiplied out.

A grid says what it is for, how many seeds each configuration gets, what is to be asked of the table of its runs, and
blocks ``[[runs]]``: the fields of a configuration, each a value or a list of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from tracestat.errors import TracestatError, UsageError
from tracestat.queries import data_path
from tracestat.simulate.configurations import Configuration

__all__ = ["VERDICTS", "Grid", "grid_from_dict", "grid_names", "load_grid"]

VERDICTS: Final = ("success", "where", "levers", "eta", "questions", "sensitivity", "none")
_TOP: Final = {"name", "about", "seeds", "verdict", "runs"}
# policies that a verdict compares with, in each configuration
_BASELINES: Final[Mapping[str, tuple[str, ...]]] = {
    "success": ("P1", "P2", "P5-B"),
    "where": ("P1", "P5-B"),
    "levers": ("P1",),
    "eta": ("P1", "P2"),
    "sensitivity": ("P1", "P2", "P4-D", "P5-B"),
}
_MOST_RUNS: Final = 1_000_000
_MOST_SEEDS: Final = 10_000
_NO_LIMIT: Final = "none"


@dataclass(frozen=True, slots=True)
class Grid:
    """What a sweep runs.

    Attributes
    ----------
    name, about : str
    seeds : int
        Each configuration is run with the seeds 0 to that less one.
    verdict : str
        What is asked of the table of runs; one of `VERDICTS`.
    configurations : tuple of Configuration
        Each once, in the order of the file.
    """

    name: str
    about: str
    seeds: int
    verdict: str
    configurations: tuple[Configuration, ...]

    @property
    def n_runs(self) -> int:
        """Configurations times seeds."""
        return len(self.configurations) * self.seeds


def grid_names() -> list[str]:
    """List the grids that ship with tracestat.

    Examples
    --------
    >>> "paired" in grid_names()
    True
    """
    return sorted(path.name.removesuffix(".toml") for path in data_path("grids").glob("*.toml"))


def load_grid(name: str | Path) -> Grid:
    """Read a grid.

    Parameters
    ----------
    name : str or Path
        One of `grid_names`, or a file that ends in ``.toml``.

    Raises
    ------
    UsageError
        There is none of this name.
    TracestatError
        The file cannot be read, or says something that is no grid.

    Examples
    --------
    >>> grid = load_grid("paired")
    >>> grid.seeds, grid.verdict
    (100, 'success')
    """
    text = str(name)
    if text in grid_names():
        path = data_path("grids") / f"{text}.toml"
    elif text.lower().endswith(".toml"):
        path = Path(name)
    else:
        raise UsageError(
            f"grid {Path(text).name or '(no name)'}: not known; it is one of {', '.join(grid_names())}, or a file that "
            "ends in .toml"
        )
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TracestatError(f"grid {path.name}: cannot be read ({error.strerror}); check the name") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TracestatError(f"grid {path.name}: is no TOML ({error}); correct it") from None
    return grid_from_dict(data, where=f"grid {path.name}")


def grid_from_dict(data: Mapping[str, Any], *, where: str = "grid") -> Grid:
    """Check what a file holds, and multiply its lists out.

    Parameters
    ----------
    data : mapping
    where : str
        How to call it in errors.

    Raises
    ------
    TracestatError
        A key that is not known, missing or of another kind, an empty list, a value that stands twice, a configuration
        without a policy that the verdict compares with.

    Examples
    --------
    >>> made = grid_from_dict({"name": "a", "about": "", "seeds": 2, "verdict": "none",
    ...     "runs": [{"policy": ["P0", "P1"], "host_gb": [20, 40]}]})
    >>> [(c.policy, c.host_gb) for c in made.configurations], made.n_runs
    ([('P0', 0.0), ('P1', 20.0), ('P1', 40.0)], 6)
    """
    _only(data, _TOP, where)
    for key in sorted(_TOP - data.keys()):
        raise TracestatError(f"{where}: {key} is missing; a grid has {', '.join(sorted(_TOP))}")
    name, about, seeds, verdict, blocks = (data[key] for key in ("name", "about", "seeds", "verdict", "runs"))
    if not isinstance(name, str) or not isinstance(about, str):
        raise TracestatError(f"{where}: name and about are texts")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= _MOST_SEEDS:
        raise TracestatError(f"{where}: seeds is a whole number from 1 to {_MOST_SEEDS:,}")
    if verdict not in VERDICTS:
        raise TracestatError(f"{where}: verdict is one of {', '.join(VERDICTS)}")
    if not isinstance(blocks, list) or not blocks or not all(isinstance(block, dict) for block in blocks):
        raise TracestatError(f"{where}: runs is a list of tables; write [[runs]] above each")
    found: dict[Configuration, None] = {}
    for place, block in enumerate(blocks, start=1):
        for one in _multiplied(block, f"{where}: runs {place}"):
            found[one] = None
            if len(found) * seeds > _MOST_RUNS:
                raise TracestatError(f"{where}: more than {_MOST_RUNS:,} runs; make it smaller")
    _check_baselines(found, verdict, where)
    return Grid(name, about, seeds, verdict, tuple(found))


def _check_baselines(configurations: Iterable[Configuration], verdict: str, where: str) -> None:
    """Refuse, before hours of runs, a configuration in which the verdict would have nothing to compare with."""
    policies: dict[Configuration, set[str]] = {}
    for one in configurations:
        # a time to live under another memoryfulness is no baseline, only compared with one
        own = policies.setdefault(one.under, set())
        own.add(one.policy if one.eta is None or verdict == "eta" else "")
    for under, own in policies.items():
        # P0 alone is what no tier costs; where only eta is changed, the policies that do not read it are as they were
        if own == {"P0"} or under.change.startswith("eta="):
            continue
        lost = [policy for policy in _BASELINES.get(verdict, ()) if policy not in own]
        if lost:
            raise TracestatError(
                f"{where}: verdict {verdict} compares with {', '.join(lost)}, missing at load = {under.load:g}, "
                f'host_gb = {under.host_gb:g}; add it, or write verdict = "none"'
            )


def _only(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise TracestatError(f"{where}: {key} is not known; there are {', '.join(sorted(allowed))}")


def _multiplied(block: Mapping[str, Any], where: str) -> list[Configuration]:
    hints = get_type_hints(Configuration)
    names = [field.name for field in fields(Configuration)]
    _only(block, set(names), where)
    lists: list[list[tuple[str, Any]]] = []
    for name in names:
        if name not in block:
            continue
        given = block[name] if isinstance(block[name], list) else [block[name]]
        if not given:
            raise TracestatError(f"{where}: {name} is an empty list; give values or leave it out")
        values = [_value(value, hints[name], f"{where}: {name}") for value in given]
        if len(set(values)) < len(values):
            raise TracestatError(f"{where}: {name} has a value twice")
        lists.append([(name, value) for value in values])
    if prod(len(values) for values in lists) > _MOST_RUNS:
        raise TracestatError(f"{where}: more than {_MOST_RUNS:,} runs; make it smaller")
    made = [Configuration(**dict(chosen)) for chosen in product(*lists)]
    # without a tier all sizes of it are the same run
    return [replace(one, host_gb=0.0) if one.policy == "P0" else one for one in made]


def _value(value: object, hint: Any, where: str) -> object:
    """Give a value of the kind that a field has; ``none`` stands for no value, which TOML cannot write."""
    kinds = get_args(hint) if get_origin(hint) not in (None, Literal) else (hint,)
    if value == _NO_LIMIT and type(None) in kinds:
        return None
    for kind in kinds:
        if get_origin(kind) is Literal and value in get_args(kind):
            return value
        if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if kind in (int, str, bool) and type(value) is kind:
            return value
    choices = [repr(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    wanted = ", ".join(choices) or " or ".join("none" if kind is type(None) else kind.__name__ for kind in kinds)
    raise TracestatError(f"{where}: {value!r} is none of its values; give {wanted}")
