"""Policies by id, and policies from outside: ``FILE.py:FUNCTION``, a function (view, constants) -> Plan.

What such a file does when it is imported is its author's affair: it runs with the rights of whoever names it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

from tracestat.constants import Constants
from tracestat.errors import TracestatError, UsageError
from tracestat.simulate.forms import LATEST_RETURN, LONGEST_EXPECTED, LRU, Plan
from tracestat.simulate.policies.progress import ProgressView
from tracestat.simulate.policies.views import OracleView, SchedulerView

__all__ = ["Policy", "View", "ask", "load_policy", "view_type"]

View: TypeAlias = SchedulerView | ProgressView | OracleView
Policy: TypeAlias = Callable[..., Plan]
_VIEWS: Final = (SchedulerView, ProgressView, OracleView)
_FORM: Final = "write it as function(view, constants) -> Plan"


def load_policy(place: str) -> Policy:
    """Take a policy out of a file.

    Parameters
    ----------
    place : str
        ``FILE.py:FUNCTION``.

    Returns
    -------
    callable
        What it reads is the type that it gives its first argument, as `view_type`.

    Raises
    ------
    UsageError
        No such file or function, or one that cannot be called as a policy.
    TracestatError
        The file raises an error when it is imported.
    """
    path_text, _, name = place.rpartition(":")
    path = Path(path_text)
    if path.suffix != ".py" or not name.isidentifier():
        raise UsageError(f"policy {path.name or place}: give FILE.py:FUNCTION")
    if not path.is_file():
        raise UsageError(f"policy {path.name}: there is no such file; check the name")
    function = getattr(_import(path), name, None)
    where = f"policy {path.name}:{name}"
    if not callable(function):
        raise UsageError(f"{where}: the file has no such function")
    _check(function, where)
    return function  # type: ignore[no-any-return]


def _import(path: Path) -> ModuleType:
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(path.read_bytes(), path.name, "exec"), module.__dict__)  # noqa: S102
    except (Exception, SystemExit) as error:
        raise TracestatError(f"policy {path.name}: fails when imported ({_said(error)}); correct it") from None
    return module


def _said(error: BaseException) -> str:
    line = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _check(function: Policy, where: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(f"{where}: its signature cannot be read; {_FORM}") from None
    try:
        signature.bind(None, None)
    except TypeError:
        raise UsageError(f"{where}: cannot be called with two arguments; {_FORM}") from None
    view_type(function, where=where)


def view_type(policy: Policy, *, where: str = "policy") -> type[View]:
    """Say what a policy reads: the type of its first argument, `SchedulerView` where it says none.

    Raises
    ------
    UsageError
        It is none of the three views.
    """
    parameters = list(inspect.signature(policy).parameters.values())
    given: Any = parameters[0].annotation if parameters else inspect.Parameter.empty
    if given is inspect.Parameter.empty:
        return SchedulerView
    for view in _VIEWS:
        # written out, or left as text by a file that puts its annotations off
        if given is view or (isinstance(given, str) and given.strip("'\"").rpartition(".")[2] == view.__name__):
            return view
    names = ", ".join(view.__name__ for view in _VIEWS)
    raise UsageError(f"{where}: its first argument is none of {names}; {_FORM}")


def ask(policy: Policy, view: View, constants: Constants, *, where: str = "policy") -> Plan:
    """Ask a policy from outside for its plan, and check that it is one.

    Parameters
    ----------
    policy : callable
    view : SchedulerView, ProgressView or OracleView
        Of its `view_type`.
    constants : Constants
    where : str
        What to call it in errors.

    Raises
    ------
    UsageError
        It was given another view.
    TracestatError
        It fails, or gives something that is no plan for this view.
    """
    reads = view_type(policy, where=where)
    if type(view) is not reads:
        raise UsageError(f"{where}: reads {reads.__name__}, not {type(view).__name__}")
    try:
        plan = policy(view, constants)
    except TracestatError:
        raise
    except Exception as error:
        raise TracestatError(f"{where}: fails ({_said(error)}); correct it") from None
    seen = view if isinstance(view, SchedulerView) else view.scheduler
    problem = _wrong(plan, seen.context.size)
    if problem:
        raise TracestatError(f"{where}: {problem}")
    return plan


def _wrong(plan: object, n: int) -> str | None:
    """Say what keeps this from being a plan for n rounds; None where nothing does."""
    if not isinstance(plan, Plan):
        return f"gives {type(plan).__name__} and no Plan"
    if plan.rank not in (LRU, LATEST_RETURN, LONGEST_EXPECTED):
        return "rank is none of LRU, LATEST_RETURN, LONGEST_EXPECTED"
    if plan.rank == LONGEST_EXPECTED and plan.expected_remaining_s is None:
        return "rank LONGEST_EXPECTED needs expected_remaining_s"
    for name in ("pin_s", "prefetch_at_s", "expected_remaining_s", "demote_at_start"):
        values = getattr(plan, name)
        if values is None and name in ("expected_remaining_s", "demote_at_start"):
            continue
        if not isinstance(values, np.ndarray) or values.shape != (n,):
            return f"{name} is no array of one value for each of {n} rounds"
        if values.dtype != (np.bool_ if name == "demote_at_start" else np.float64):
            return f"{name} is of type {values.dtype}, not {'bool' if name == 'demote_at_start' else 'float64'}"
        if name == "demote_at_start":
            continue
        known = values[~np.isnan(values)] if name == "prefetch_at_s" else values
        if not np.all(np.isfinite(known) & (known >= 0)):
            return f"{name} holds what is not finite seconds of 0 or more"
    return None
