"""A chart becomes a file: beside its place first, then renamed, so that an interrupted run leaves the old one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracestat.charts.words import plain
from tracestat.errors import UsageError
from tracestat.replacing import replacing

if TYPE_CHECKING:
    import altair as alt

__all__ = ["ENDINGS", "save"]

ENDINGS = (".html", ".svg", ".png", ".pdf")


class _ForPages(json.JSONEncoder):
    """JSON that can stand inside a script of a page: no text in it can end the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def save(chart: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart to a file; its ending says how.

    Parameters
    ----------
    chart : altair chart
    path : str or Path
        ``.html`` (one page with everything in it, opens offline), ``.svg``, ``.png`` (two pixels per point) or
        ``.pdf``. A file that is there is replaced, once the new one is written whole.

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The file cannot be written.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{plain(target.name)}: a chart is written as {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    content = _content(chart, ending)
    with replacing(target, plain(target.name)) as beside:
        beside.write_bytes(content)


def _content(chart: alt.TopLevelMixin, ending: str) -> bytes:
    if ending == ".html":
        page: str = chart.to_html(inline=True, json_kwds={"cls": _ForPages})
        return page.encode("utf-8")
    import vl_convert

    spec = chart.to_dict(context={"pre_transform": False})
    version = _version(spec)
    if ending == ".svg":
        return vl_convert.vegalite_to_svg(spec, vl_version=version).encode("utf-8")
    if ending == ".png":
        return vl_convert.vegalite_to_png(spec, vl_version=version, scale=2)
    return vl_convert.vegalite_to_pdf(spec, vl_version=version)


def _version(spec: dict[str, Any]) -> str:
    """Give the version of Vega-Lite that a specification was written for, as its converter names it: 6.4."""
    name = str(spec["$schema"]).rsplit("/", 1)[-1].removeprefix("v").removesuffix(".json")
    return ".".join(name.split(".")[:2])
