"""``tracestat memoryfulness``."""

from __future__ import annotations

from tracestat.cli.options import Output, Programs, Shown, expand
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["memoryfulness"]


@expand
def memoryfulness(*, programs: Programs, shown: Shown, output: Output) -> None:
    """Ask whether progress tells how many rounds are left.

    Over sessions and over requests, that is what one message of the user sets off: 1 where all have the same number of
    rounds, 0 where progress tells nothing, negative where having come far makes more rounds ahead likely.
    """
    with opened(programs, output) as trace:
        import tracestat

        show(tracestat.memoryfulness(trace, **programs.options()), output, shown, names=own_names(trace))
