"""The figures of the article re-drawn from a trace, as files: drawings, their numbers, and how to print them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tracestat.api.common import TraceLike, as_trace
from tracestat.api.redrawn import residual_life, shares
from tracestat.api.redrawn_hazards import deadline_hazards, hazards
from tracestat.charts import save
from tracestat.charts.captions import titled
from tracestat.charts.figures import Redrawn, draw_shares, figure_frame
from tracestat.charts.figures_deadlines import draw_deadlines
from tracestat.charts.figures_hazard import draw_hazards
from tracestat.charts.figures_residual import draw_residual_life
from tracestat.errors import TracestatError
from tracestat.replacing import replacing

if TYPE_CHECKING:
    import altair as alt

    from tracestat.store import Trace

__all__ = ["WrittenFigure", "write_figures"]

DRAWINGS = (".svg", ".png", ".html")
# what makes the rows of each figure, and what draws them
_FIGURES: tuple[tuple[Callable[[Trace], Redrawn], Callable[[Redrawn], alt.TopLevelMixin]], ...] = (
    (shares, draw_shares),
    (residual_life, draw_residual_life),
    (hazards, draw_hazards),
    (deadline_hazards, draw_deadlines),
)


@dataclass(frozen=True, slots=True)
class WrittenFigure:
    """A figure that was written: its title, the command that prints its numbers, and its files.

    The files are the drawing as .svg, .png and .html, the numbers as .csv, and the command as .txt.
    """

    name: str
    title: str
    command: str
    files: tuple[Path, ...]


def write_figures(
    trace: TraceLike, folder: str | Path, *, progress: Callable[[int, int], None] | None = None
) -> tuple[WrittenFigure, ...]:
    """Draw the figures of the article's first section from a trace, ours beside the published numbers.

    Parameters
    ----------
    trace : Trace, str or Path
    folder : str or Path
        Where to write; it is made if its own folder exists. Files of the same names are replaced.
    progress : callable, optional
        Is told (figures done, figures in all).

    Returns
    -------
    tuple of WrittenFigure
        In the order of their numbers.

    Raises
    ------
    TracestatError
        The folder cannot be made or written to.
    """
    opened, place = as_trace(trace), Path(folder)
    _make(place)
    written = []
    for number, (make, draw) in enumerate(_FIGURES, start=1):
        figure = make(opened)
        written.append(_write(figure, draw(figure), place / f"{number}_{figure.name}"))
        if progress is not None:
            progress(number, len(_FIGURES))
    return tuple(written)


def _make(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise TracestatError(f"{folder.name}: this is a file; name a folder for the figures")
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        raise TracestatError(f"{folder.name}: its folder does not exist; create it first") from None
    except OSError as error:
        raise TracestatError(f"{folder.name}: cannot be made ({error.strerror}); choose another place") from None


def _write(figure: Redrawn, chart: alt.TopLevelMixin, stem: Path) -> WrittenFigure:
    """Write a figure under one name with several endings."""
    files = []
    for ending in DRAWINGS:
        files.append(stem.with_name(stem.name + ending))
        save(chart, Path(os.path.realpath(files[-1])))  # a link stays a link
    files.append(stem.with_name(f"{stem.name}.csv"))
    with replacing(files[-1]) as beside:
        figure_frame(figure).write_csv(beside)
    files.append(stem.with_name(f"{stem.name}.txt"))
    with replacing(files[-1]) as beside:
        beside.write_text(f"{titled(figure.title, figure.head)}\n{figure.command}\n", encoding="utf-8")
    return WrittenFigure(stem.name, titled(figure.title, figure.head), figure.command, tuple(files))
