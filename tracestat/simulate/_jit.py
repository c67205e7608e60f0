"""Compile the kernel where numba is installed (``pip install tracestat[fast]``); otherwise it is ordinary Python.

numba keeps what it compiled beside the source and looks at the file of a function only: after a change to a file that
the kernel imports, touch ``kernel.py`` too.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["COMPILED", "jit"]

# numba's own switch leaves functions as they are, so lists are faster then
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0") and importlib.util.find_spec("numba") is not None

_F = TypeVar("_F", bound=Callable[..., object])


def jit(function: _F) -> _F:
    """Compile a function at its first call; without numba it stays what it is."""
    if not COMPILED:
        return function
    numba: Any = importlib.import_module("numba")
    return cast("_F", numba.njit(cache=True, error_model="numpy")(function))
