"""The SQL of tracestat lives in ``queries/*.sql``; this module finds a file and fills its two slots.

A query may have ``{keys}`` (a list of columns to group by) and ``{where}`` (a condition). Both are filled only with
what :mod:`tracestat.filters` rendered from a checked expression tree; every value is a bound parameter. Nothing else
in the package writes SQL.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tracestat.errors import TracestatError

__all__ = ["data_path", "query_names", "query_text"]

_PACKAGE = Path(__file__).parent
_SLOT = re.compile(r"\{(keys|where)\}")


def _folder(installed: str, in_repository: str) -> Path:
    """Give the folder inside the installed package, or the one beside it in a checkout."""
    inside = _PACKAGE / installed
    return inside if inside.is_dir() else _PACKAGE.parent / in_repository


def data_path(name: str) -> Path:
    """Give the path of a file that ships in ``data/``.

    Examples
    --------
    >>> data_path("tool_classes.toml").name
    'tool_classes.toml'
    """
    return _folder("_data", "data") / name


def query_names() -> list[str]:
    """List every query by name."""
    return sorted(path.stem for path in _folder("_queries", "queries").glob("*.sql"))


@cache
def _read(name: str) -> str:
    path = _folder("_queries", "queries") / f"{name}.sql"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TracestatError(f"query {name!r} is missing from this installation: reinstall tracestat") from None


def query_text(name: str, *, keys: str | None = None, where: str | None = None) -> str:
    """Read a query and fill its slots.

    Parameters
    ----------
    name : str
        File name without ``.sql``.
    keys : str, optional
        What to put for ``{keys}``: rendered by :func:`tracestat.filters.render_keys`.
    where : str, optional
        What to put for ``{where}``: rendered by :func:`tracestat.filters.render_where`. Default ``TRUE``.

    Returns
    -------
    str
        SQL ready to run with bound parameters.

    Raises
    ------
    TracestatError
        The file does not exist, or it has a ``{keys}`` slot and no keys were given.

    Examples
    --------
    >>> query_text("calls").startswith("-- grain:")
    True
    """
    filled = {"keys": keys, "where": where or "TRUE"}

    def fill(match: re.Match[str]) -> str:
        value = filled[match.group(1)]
        if value is None:
            raise TracestatError(f"query {name!r} groups by keys and got none: this is a bug, please report it")
        return value

    return _SLOT.sub(fill, _read(name))
