"""``tracestat forecast evaluate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from tracestat.cli.options import Located, Output, Seed, expand, given
from tracestat.cli.output import show
from tracestat.cli.progress import progress_bar
from tracestat.cli.reading import opened, own_names

__all__ = ["evaluate_command"]


@dataclass(frozen=True, slots=True)
class Evaluated(Located):
    """Which trace, which of its pauses, and how forecasts of them are judged."""

    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only pauses for which EXPR holds: keys and started_at compared with literals, as in "
            "\"provider = 'claude'\".  [default: all]",
        ),
    ] = None
    split: Annotated[
        Literal["time", "developer", "both"],
        typer.Option(
            "--split",
            metavar="SPLIT",
            help="time (train on the first sessions of each developer), developer (train on other developers) or both.",
            show_default=True,
        ),
    ] = "both"
    keys: Annotated[
        str | None,
        typer.Option(
            "--keys",
            metavar="KEY[,KEY]",
            help="One hierarchy for ours, from the top, as tool_class,command_skeleton,developer.  "
            "[default: several hierarchies, pooled]",
        ),
    ] = None
    draws: Annotated[
        int,
        typer.Option(
            "--draws",
            min=0,
            metavar="N",
            help="Samples of the percentile bootstrap; 0: the jackknife, which covers better.",
            show_default=True,
        ),
    ] = 0
    seed: Seed = 0

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        return given(
            split=self.split,
            keys=self.keys,
            where=self.where,
            since=self.since,
            until=self.until,
            tz=self.tz,
            draws=self.draws,
            seed=self.seed,
        )


@expand
def evaluate_command(*, evaluated: Evaluated, output: Output) -> None:
    """Judge forecasts of how long a pause still lasts, on pauses they have not seen.

    Ours against one curve for all, a curve per tool, the rules in use and point forecasts: quantile errors, log score,
    calibration, and how often each says rightly which of two paused sessions returns later.
    """
    with opened(evaluated, output) as trace:
        import tracestat

        with progress_bar("judging forecasts", quiet=output.quiet, in_bytes=False) as progress:
            result = tracestat.evaluate_forecast(trace, **evaluated.options(), progress=progress)
        show(result, output, names=own_names(trace))
