"""``tracestat simulate``: the group of its commands."""

from __future__ import annotations

import typer

from tracestat.cli.simulate_calibrate import calibrate_command
from tracestat.cli.simulate_run import run_command
from tracestat.cli.simulate_sweep import sweep_command, verdict_command

__all__ = ["simulate"]


def _example(arguments: str) -> str:
    return f"\b\nExample:\n  tracestat {arguments}"


simulate = typer.Typer(
    help="What policies of paused caches do to the wait after a tool call, on a simulated server.",
    epilog=_example("simulate run trace.duckdb --policy P2,P3 --load 2"),
)
simulate.command("run", epilog=_example("simulate run trace.duckdb --policy P2,P3 --load 2 --seeds 100"))(run_command)
simulate.command("calibrate", epilog=_example("simulate calibrate --hardware rtx4090-llama3.1-8b-fp8"))(
    calibrate_command
)
simulate.command("sweep", epilog=_example("simulate sweep paired trace.duckdb -o runs.parquet"))(sweep_command)
simulate.command("verdict", epilog=_example("simulate verdict runs.parquet --chart verdict.html"))(verdict_command)
