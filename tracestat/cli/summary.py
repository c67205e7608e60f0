"""``tracestat summary``."""

from __future__ import annotations

from tracestat.cli.options import (
    Clocked,
    Estimated,
    Output,
    SectionName,
    Selected,
    Shown,
    check_definition,
    expand,
    given,
)
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names
from tracestat.errors import UsageError

__all__ = ["summary"]


@expand
def summary(
    *,
    section: SectionName = None,
    estimated: Estimated,
    selected: Selected,
    clocked: Clocked,
    shown: Shown,
    output: Output,
) -> None:
    """Sum up how many, how long, and where time and token-seconds go.

    Quantiles, shares within 1, 10 and 60 s, shares of the long ones, what waits for a human, and how the durations
    ended; for pauses and for calls. With --section: what TraceLab publishes of sessions (time by state, waits,
    requests, steps, compaction), of the prefix cache (hits, fresh tokens, time-outs) or of commands (executables,
    whole processes, two clocks).
    """
    if section is not None:
        _check_section(section, estimated, selected, clocked)
    check_definition(estimated, selected, clocked)
    with opened(selected, output) as trace:
        import tracestat

        if section is None:
            result = tracestat.summary(trace, **selected.options(), **clocked.options(), **estimated.options())
            show(result, output, shown, names=own_names(trace))
        else:
            found = tracestat.summary_section(trace, section, **selected.options(), **estimated.options())
            show(found, output, shown, names=own_names(trace))


def _check_section(section: str, estimated: Estimated, selected: Selected, clocked: Clocked) -> None:
    """Refuse the choices that durations have and sections have not."""
    asked = given(unit=selected.unit, rows=selected.rows, clock=clocked.clock, definition=estimated.definition)
    for option, value in asked.items():
        why = "it shows both definitions" if option == "definition" else "it is about whole sessions, not durations"
        raise UsageError(f"--{option} {value}: not with --section {section}, since {why}; leave it out")
