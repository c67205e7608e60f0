"""``tracestat reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tracestat.cli.options import Located, Output, Seed, Whole, expand
from tracestat.cli.output import remark, show
from tracestat.cli.progress import progress_bar
from tracestat.cli.reading import opened, own_names

__all__ = ["reproduce"]

Only = Annotated[
    str | None,
    typer.Option("--only", metavar="ID", help="Figures whose id begins with ID, as article.mrl.  [default: all]"),
]
Origin = Annotated[
    Literal["article", "tracelab", "others", "all"] | None,
    typer.Option(
        "--source",
        metavar="SOURCE",
        help="Figures of article, tracelab, others or all.  [default: article; all that --only names]",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option("--figures", metavar="DIR", help="Also re-draw the article's figures into DIR, with their numbers."),
]
Rows = Annotated[
    int | None, typer.Option("--top", min=1, metavar="N", help="Show only the first N rows; files and JSON have all.")
]


@expand
def reproduce(
    *,
    whole: Whole,
    only: Only = None,
    source: Origin = None,
    figures: Figures = None,
    top: Rows = None,
    seed: Seed = 0,
    output: Output,
) -> None:
    """Put each published figure beside ours, under the stated definition and the range over others.

    It is said to agree or to differ only where the trace is the very release that the figure speaks of; on other traces
    ours is higher, lower, or overlaps. Below each table stand the commands that print its rows.
    """
    located = Located(trace=whole.trace, mine=whole.mine, classes=whole.classes)
    with opened(located, output) as trace:
        import tracestat
        from tracestat.cli.options import Shown

        result = tracestat.reproduce(trace, only=only, source=source, seed=seed)
        if figures is not None:
            from tracestat.api.figures import write_figures

            with progress_bar("drawing", quiet=output.quiet) as progress:
                written = write_figures(trace, figures, progress=progress)
            for figure in written:
                remark(f"wrote {figures.name}/{figure.files[0].stem}: {figure.title}", quiet=output.quiet)
        show(result, output, Shown(top=top), names=own_names(trace))
