"""``tracestat deadlines``."""

from __future__ import annotations

from tracestat.cli.options import (
    Clocked,
    DeadlineMode,
    Estimated,
    Output,
    Selected,
    Shown,
    check_definition,
    expand,
    given,
)
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["deadlines"]


@expand
def deadlines(
    *,
    mode: DeadlineMode = None,
    estimated: Estimated,
    selected: Selected,
    clocked: Clocked,
    shown: Shown,
    output: Output,
) -> None:
    """Tell durations that a limit ended from those that the tool took.

    Exactly where calls say how they ended or what limit they asked for; else by a scan for spikes in the hazard, in
    which each session votes once. And what limits cost: polls, model rounds and tokens, written sleeps.
    """
    check_definition(estimated, selected, clocked)
    with opened(selected, output) as trace:
        import tracestat

        result = tracestat.deadlines(
            trace,
            **given(mode=mode),
            **selected.options(),
            **clocked.options(),
            **estimated.options(),
        )
        show(result, output, shown, names=own_names(trace))
