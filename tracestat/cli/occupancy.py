"""``tracestat occupancy``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tracestat.cli.options import Located, Output, Seed, Shown, expand, given
from tracestat.cli.output import show
from tracestat.cli.reading import opened, own_names

__all__ = ["occupancy"]

Agents = Annotated[int, typer.Option("--agents", min=1, metavar="N", help="How many agents share the machine.")]
Hardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="ID|FILE",
        help="Constants of a machine, for bytes per token, pool and block; see tracestat hardware list.  "
        "[default: rtx4090-llama3.1-8b-fp8]",
    ),
]
HumanGap = Annotated[
    str | None,
    typer.Option(
        "--human-gap",
        metavar="RULE",
        help="Waits for a person: keep, cap:SECONDS or drop. Tool pauses are never cut.  [default: keep]",
    ),
]
ScaleContext = Annotated[
    int | None,
    typer.Option(
        "--scale-context",
        min=1,
        metavar="TOKENS",
        help="Scale contexts: 99 % of the sessions' largest are then at most TOKENS.  [default: as recorded]",
    ),
]


@dataclass(frozen=True, slots=True)
class Sessions(Located):
    """Which trace, and which of its whole sessions."""

    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="KEY[,KEY]",
            help="Keys of whole sessions to group by, or none: provider, developer, project, session.",
            show_default=True,
        ),
    ] = "provider"
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only sessions for which EXPR holds: these keys and started_at compared with literals, as in "
            "\"provider = 'claude'\".  [default: all]",
        ),
    ] = None
    min_n: Annotated[
        int | None,
        typer.Option(
            "--min-n", min=1, metavar="N", help="Groups with fewer pauses show counts only.  [default: no such minimum]"
        ),
    ] = None
    seed: Seed = 0

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        return given(
            by=self.by,
            where=self.where,
            since=self.since,
            until=self.until,
            tz=self.tz,
            min_n=self.min_n,
            seed=self.seed,
        )


@expand
def occupancy(
    *,
    agents: Agents,
    sessions: Sessions,
    hardware: Hardware = None,
    human_gap: HumanGap = None,
    scale_context: ScaleContext = None,
    shown: Shown,
    output: Output,
) -> None:
    """Ask how many caches of N agents are paused at once, how many tokens they hold, and what the tail does to it.

    Agents play recorded sessions one after another, each drawn whole; mean, half-time and 99 % point over time,
    computed and not simulated, with the host memory that holds the last.
    """
    with opened(sessions, output) as trace:
        import tracestat

        result = tracestat.occupancy(
            trace,
            agents=agents,
            **sessions.options(),
            **given(hardware=hardware, human_gap=human_gap, scale_context=scale_context),
        )
        show(result, output, shown, names=own_names(trace))
