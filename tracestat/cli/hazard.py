"""``tracestat hazard``."""

from __future__ import annotations

from pathlib import Path

from tracestat.cli.files import check_no_input, check_target
from tracestat.cli.options import (
    ChartMixing,
    Clocked,
    CutAt,
    Estimated,
    FirstEdge,
    NumberOfBins,
    Output,
    Selected,
    Shown,
    check_definition,
    expand,
    given,
)
from tracestat.cli.output import CHART_ENDINGS, show, write_chart
from tracestat.cli.reading import opened, own_names
from tracestat.errors import UsageError

__all__ = ["hazard"]

_LATEST = 1e4


@expand
def hazard(
    *,
    estimated: Estimated,
    cut_at: CutAt = None,
    bins: NumberOfBins = None,
    first_edge: FirstEdge = None,
    chart_mixing: ChartMixing = None,
    selected: Selected,
    clocked: Clocked,
    shown: Shown,
    output: Output,
) -> None:
    """Ask whether there is a moment at which a return becomes likely.

    The hazard per log bin with deadlines kept and cut, its log-log slope, a test for any rise, and how much of the
    fall is mixing of unlike keys, which --chart-mixing draws. Intervals are clustered by session and by developer.
    """
    check_definition(estimated, selected, clocked)
    if first_edge is not None and not 0 < first_edge <= _LATEST:
        raise UsageError(f"--from {first_edge:g}: give seconds above 0, at most {_LATEST:g}")
    cuts = None if cut_at is None else _seconds(cut_at)
    _check_mixing(chart_mixing, selected, output)
    with opened(selected, output) as trace:
        import tracestat

        result = tracestat.hazard(
            trace,
            **selected.options(),
            **clocked.options(),
            **estimated.options(),
            **given(cut_at=cuts, bins=bins, first_edge=first_edge),
        )
        names = own_names(trace)
        if chart_mixing is not None:
            outside = names if output.with_names else {}
            write_chart(result.mixing_chart(), chart_mixing, outside, quiet=output.quiet)
        show(result, output, shown, names=names)


def _check_mixing(path: Path | None, selected: Selected, output: Output) -> None:
    """Refuse a file that cannot be written, that is read, or that another option names."""
    check_target(path, "--chart-mixing", CHART_ENDINGS)
    check_no_input(path, "--chart-mixing", (selected.trace, selected.classes))
    if path is not None and output.chart is not None and path.absolute() == output.chart.absolute():
        raise UsageError(f"--chart-mixing {path.name}: --chart names the same file; give it another name")


def _seconds(text: str) -> tuple[float, ...]:
    """Read ``--cut-at``: numbers joined by commas, or none."""
    if text.strip().lower() == "none":
        return ()
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = (-1.0,)
    if not all(0 < value < float("inf") for value in values):
        raise UsageError(f"--cut-at {text}: write positive seconds joined by commas, as 5,120,600, or none")
    return values
