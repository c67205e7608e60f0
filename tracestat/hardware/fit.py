"""The constants of a machine from timings: one joint least squares in relative errors.

The time to the first token is linear in the constants, so that the fit is a bounded linear least squares, each
equation divided by what was measured. Timings of one request at a time tell o + s and not o from s; s is therefore held
at a value unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracestat.errors import TracestatError
from tracestat.hardware.constants import Timing
from tracestat.hardware.timing import KINDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NAMES", "Layout", "Solution", "solve_timings"]

# o, s, b, q, then per store path what timings can tell: a fixed load cost only where two lengths were loaded
NAMES = (
    "client",
    "step.base",
    "step.per_token",
    "step.attention",
    "stores.lmcache.load_per_token",
    "stores.lmcache.store_per_token",
    "stores.native.load_fixed",
    "stores.native.load_per_token",
)
# beyond this the equations hardly tell the constants apart: noise of 1 % would move one by more than itself
_WORST_CONDITION = 1e4


@dataclass(frozen=True, slots=True)
class Layout:
    """What the timings were made with.

    Attributes
    ----------
    budget : int
        Tokens of a step.
    block : int
        Tokens of a block, the last of which a reload computes.
    chunks : mapping of str to int
        Tokens of a chunk of each store path.
    whole_hits : bool
        A reload computes nothing, as the shipped sets were fitted; otherwise the last block, as the simulator does.
    """

    budget: int
    block: int
    chunks: Mapping[str, int]
    whole_hits: bool = False


@dataclass(frozen=True, slots=True)
class Solution:
    """Constants in seconds, by their names in ``Hardware``.

    Attributes
    ----------
    values : mapping of str to float
        What was fitted, s among it where it was left free.
    ranges : mapping of str to tuple
        Bounds of 95 % where the timings scatter by equal parts of themselves, not below zero; empty where there are no
        more timings than constants.
    relative : tuple of float
        Model over measured less one, per timing.
    at_bound : tuple of str
        Constants that end at zero.
    """

    values: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]
    relative: tuple[float, ...]
    at_bound: tuple[str, ...]


def solve_timings(timings: Sequence[Timing], layout: Layout, *, base: float | None) -> Solution:
    """Fit o, b, q, loads and stores, and s where it is free, to timings.

    Parameters
    ----------
    timings : sequence of Timing
        Seconds.
    layout : Layout
    base : float or None
        s in seconds, held; None leaves it free.

    Returns
    -------
    Solution

    Raises
    ------
    TracestatError
        The timings do not tell the constants apart.

    Notes
    -----
    Minimises ``sum ((model - measured) / measured)^2`` over constants that are not negative, with
    ``model = o + n_steps s + b P + q sum c (k + c/2) + load + store`` of :mod:`tracestat.hardware.timing`.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> layout = Layout(2048, 16, {"lmcache": 256, "native": 16}, whole_hits=True)
    >>> solution = solve_timings(load_hardware().timings, layout, base=0.010)
    >>> round(solution.values["step.per_token"] * 1e6, 1), round(solution.values["client"] * 1e3, 1)
    (51.5, 5.1)
    """
    import numpy as np

    names = _columns(timings, free=base is None)
    rows = np.array([_equation(timing, layout) for timing in timings])
    measured = np.array([timing.seconds for timing in timings])
    held = rows[:, NAMES.index("step.base")] * (base or 0.0)
    matrix = rows[:, [NAMES.index(name) for name in names]] / measured[:, None]
    target = 1 - held / measured
    if not _told(matrix):
        raise TracestatError(
            f"timings: {len(timings)} of them do not tell {', '.join(_plain(name) for name in names)} apart; "
            "measure cold prompts of a third length, or hold s with --s-ms"
        )
    values = _least_squares(matrix, target)
    return Solution(
        values=dict(zip(names, map(float, values), strict=True)),
        ranges=_ranges(matrix, target, values, names),
        relative=tuple(map(float, matrix @ values - target)),
        at_bound=tuple(
            name
            # a constant that adds less than a thousandth to every timing that knows it is zero
            for name, value, column in zip(names, values, matrix.T, strict=True)
            if float(np.max(column) * value) < 1e-3
        ),
    )


def _plain(name: str) -> str:
    short = {"client": "o", "step.base": "s", "step.per_token": "b", "step.attention": "q"}
    return short.get(name, name.removeprefix("stores.").replace("_per_token", "").replace("_", " ").replace(".", " "))


def _columns(timings: Sequence[Timing], *, free: bool) -> tuple[str, ...]:
    """Say which constants these timings speak of."""
    kinds = {timing.kind for timing in timings}
    native = {timing.tokens for timing in timings if timing.kind == "reload_native"}
    wanted = {
        "client": True,
        "step.base": free,
        "step.per_token": True,
        "step.attention": True,
        "stores.lmcache.load_per_token": "reload_lmcache" in kinds,
        "stores.lmcache.store_per_token": "cold_lmcache" in kinds,
        "stores.native.load_fixed": len(native) > 1,
        "stores.native.load_per_token": bool(native),
    }
    return tuple(name for name in NAMES if wanted[name])


def _equation(timing: Timing, layout: Layout) -> list[float]:
    """Give what one timing counts of each constant."""
    tokens = timing.tokens
    path = KINDS[timing.kind]
    row = dict.fromkeys(NAMES, 0.0)
    row["client"] = 1.0
    if timing.kind.startswith("cold"):
        row["step.base"] = float(-(-tokens // layout.budget))
        row["step.per_token"] = float(tokens)
        row["step.attention"] = tokens * tokens / 2
        if path == "lmcache":
            row["stores.lmcache.store_per_token"] = float(tokens // layout.chunks[path] * layout.chunks[path])
        return [row[name] for name in NAMES]
    assert path is not None  # noqa: S101  a reload has a path by its name
    hit = min(tokens // layout.chunks[path] * layout.chunks[path], (tokens - 1) // layout.block * layout.block)
    loaded = tokens if layout.whole_hits else hit
    rest = tokens - loaded
    row["step.base"] = float(max(1, -(-rest // layout.budget)))
    row["step.per_token"] = float(rest)
    row["step.attention"] = rest * (loaded + rest / 2)
    row[f"stores.{path}.load_per_token"] = float(loaded)
    if path == "native":
        row["stores.native.load_fixed"] = 1.0
    return [row[name] for name in NAMES]


def _told(matrix: NDArray[np.float64]) -> bool:
    """Tell whether the equations determine every constant."""
    import numpy as np

    size = np.linalg.norm(matrix, axis=0)
    if matrix.shape[0] < matrix.shape[1] or not np.all(size > 0):
        return False
    return bool(np.linalg.cond(matrix / size) < _WORST_CONDITION)


def _least_squares(matrix: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np
    from scipy.optimize import lsq_linear

    # columns of one size, or the bounded solver takes nanoseconds for zeros
    size = np.max(np.abs(matrix), axis=0)
    found = lsq_linear(matrix / size, target, bounds=(0.0, np.inf), method="bvls", tol=1e-14)
    solution: NDArray[np.float64] = np.asarray(found.x, dtype=np.float64) / size
    return solution


def _ranges(
    matrix: NDArray[np.float64], target: NDArray[np.float64], values: NDArray[np.float64], names: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Give Student's bounds of 95 % of each constant, from the scatter of the timings about the fit."""
    import numpy as np
    from scipy.special import stdtrit

    spare = matrix.shape[0] - matrix.shape[1]
    if spare < 1:
        return {}
    size = np.max(np.abs(matrix), axis=0)
    off = matrix @ values - target
    spread = np.sqrt(off @ off / spare * np.diag(np.linalg.inv((matrix / size).T @ (matrix / size)))) / size
    half = float(stdtrit(spare, 0.975)) * spread
    return {
        name: (max(0.0, float(value - width)), float(value + width))
        for name, value, width in zip(names, values, half, strict=True)
    }
