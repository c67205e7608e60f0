"""``tracestat keys``."""

from __future__ import annotations

from tracestat.cli.options import Output, Selected, TopValues, expand
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["keys"]


@expand
def keys(*, top: TopValues = 5, selected: Selected, output: Output) -> None:
    """List what one can group by and filter on.

    Every key that --by and --where take, how many values it has in this trace, and the most frequent ones.
    """
    with opened(selected, output) as trace:
        import tracestat

        show(tracestat.keys(trace, top=top, **selected.options()), output, names=own_names(trace))
