"""``tracestat residual``."""

from __future__ import annotations

from tracestat.cli.options import (
    Clocked,
    Elapsed,
    Estimated,
    Output,
    Selected,
    Shown,
    Window,
    check_definition,
    expand,
    given,
)
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names
from tracestat.errors import UsageError

__all__ = ["residual"]


@expand
def residual(
    *,
    estimated: Estimated,
    elapsed: Elapsed = None,
    window: Window = None,
    selected: Selected,
    clocked: Clocked,
    shown: Shown,
    output: Output,
) -> None:
    """Ask how much longer, having waited t: mean within a window, median and 90 % of the remaining time.

    Intervals are clustered by session and by developer. Without --rows, tool rows and all rows stand beside each other.
    """
    check_definition(estimated, selected, clocked)
    times = None if elapsed is None else _seconds(elapsed)
    with opened(selected, output) as trace:
        import tracestat

        result = tracestat.residual(
            trace,
            **selected.options(),
            **clocked.options(),
            **estimated.options(),
            **given(elapsed=times, window=window),
        )
        show(result, output, shown, names=own_names(trace))


def _seconds(text: str) -> tuple[float, ...]:
    """Read ``--elapsed``: numbers from 0 on, joined by commas."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = (-1.0,)
    if not all(0 <= value < float("inf") for value in values):
        raise UsageError(f"--elapsed {text}: write seconds from 0 on joined by commas, as 4,25,146")
    return values
