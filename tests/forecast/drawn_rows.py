"""Rows of known laws for the tests of a forecast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracestat.forecast.rows import PauseRows


def rows_with(
    codes: dict[str, Sequence[int] | NDArray[np.int64]],
    session: Sequence[int] | NDArray[np.intp],
    seconds: Sequence[float] | NDArray[np.float64],
    observed: Sequence[bool] | NDArray[np.bool_] | None = None,
) -> PauseRows:
    """Make rows; the developer is the code of that name, or one for all."""
    n = len(seconds)
    arrays = {key: np.asarray(code, dtype=np.int64) for key, code in codes.items()}
    developer = arrays.get("developer", np.zeros(n, dtype=np.int64)).astype(np.intp)
    names = {key: tuple(str(c) for c in range(int(code.max(initial=-1)) + 1)) for key, code in arrays.items()}
    return PauseRows(
        arrays,
        names,
        session=np.asarray(session, dtype=np.intp),
        developer=developer,
        started=np.arange(n, dtype=np.float64),
        seconds=np.asarray(seconds, dtype=np.float64),
        observed=np.ones(n, dtype=bool) if observed is None else np.asarray(observed, dtype=bool),
    )
