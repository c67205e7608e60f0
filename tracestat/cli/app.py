"""The commands and what their help says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import tracestat
from tracestat.cli.cache import clear_command, list_command
from tracestat.cli.calls import calls
from tracestat.cli.deadlines import deadlines
from tracestat.cli.export import tracelab_command
from tracestat.cli.export_constants import constants_command
from tracestat.cli.export_durations import durations_command
from tracestat.cli.export_profile import profile_command
from tracestat.cli.export_replay import replay_command
from tracestat.cli.fetch import fetch
from tracestat.cli.fit import fit
from tracestat.cli.forecast_evaluate import evaluate_command
from tracestat.cli.forecast_fit import fit_command
from tracestat.cli.forecast_predict import predict_command
from tracestat.cli.hardware import list_command as list_hardware
from tracestat.cli.hardware import recipe_command, show_command
from tracestat.cli.hardware_new import estimate_command, new_command
from tracestat.cli.hazard import hazard
from tracestat.cli.ingest import ingest
from tracestat.cli.keys import keys
from tracestat.cli.memoryfulness import memoryfulness
from tracestat.cli.occupancy import occupancy
from tracestat.cli.reproduce import reproduce
from tracestat.cli.residual import residual
from tracestat.cli.screen import say
from tracestat.cli.simulate import simulate
from tracestat.cli.summary import summary
from tracestat.cli.survival import survival
from tracestat.cli.synth import synth
from tracestat.cli.timeline import timeline
from tracestat.cli.welcome import welcome

__all__ = ["app"]


def _example(arguments: str) -> str:
    r"""Give the last lines of a help text; the \b keeps typer from folding them."""
    return f"\b\nExample:\n  tracestat {arguments}"


# Plain help: the framed one costs twice the time and does not survive a pipe.
app = typer.Typer(
    name="tracestat",
    help="The law of tool-pause durations of coding agents, with honest intervals.",
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_example("hazard --by provider,tool_class"),
)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Say what to run next when no command is given."""
    if version:
        say(f"tracestat {tracestat.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        welcome()


_EXAMPLES: dict[Callable[..., None], str] = {
    ingest: "ingest release.jsonl.gz -o trace.duckdb",
    keys: "keys trace.duckdb --top 10",
    calls: "calls trace.duckdb --longest 50 --where \"provider = 'codex'\"",
    summary: "summary trace.duckdb --by provider,tool_class --sort time",
    survival: "survival trace.duckdb --by tool_class --chart curves.html",
    residual: "residual trace.duckdb --elapsed 4,25,146 --by tool_class --chart residual.html",
    hazard: "hazard trace.duckdb --by provider,tool_class --cut-at 5,120,600 -o hazard.parquet",
    deadlines: "deadlines trace.duckdb --by provider --chart deadlines.html",
    memoryfulness: "memoryfulness trace.duckdb --by provider,model --chart rounds.html",
    occupancy: "occupancy trace.duckdb --agents 32 --by provider --chart held.html",
    reproduce: "reproduce trace.duckdb --only article.mrl --figures drawn",
    fit: "fit trace.duckdb --by tool_class --above 1 --chart laws.html",
    timeline: "timeline longest trace.duckdb --chart session.html --perfetto session.json",
    fetch: "fetch -o data --release v0.0.2",
    synth: "synth -o big.jsonl.gz --sessions 5000 --developers 40 --seed 1",
}
for _command, _arguments in _EXAMPLES.items():
    app.command(epilog=_example(_arguments))(_command)

_cache = typer.Typer(help="What lies in the cache of traces that were read before.", epilog=_example("cache list"))
_cache.command("list", epilog=_example("cache list --json"))(list_command)
_cache.command("clear", epilog=_example("cache clear"))(clear_command)
app.add_typer(_cache, name="cache")

_export = typer.Typer(
    help="A trace, its sessions or its laws as files for other tools.",
    epilog=_example("export tracelab trace.duckdb -o trace.jsonl.gz"),
)
_export.command("tracelab", epilog=_example("export tracelab trace.duckdb -o trace.jsonl.gz"))(tracelab_command)
_export.command("durations", epilog=_example("export durations trace.duckdb -o durations.parquet"))(durations_command)
_export.command("replay", epilog=_example("export replay trace.duckdb --format aiperf-mooncake -o replay.jsonl"))(
    replay_command
)
_export.command("constants", epilog=_example("export constants trace.duckdb -o constants.json --benefit 0.5,5,40"))(
    constants_command
)
_export.command("profile", epilog=_example("export profile trace.duckdb -o profile.json"))(profile_command)
app.add_typer(_export, name="export")

_forecast = typer.Typer(
    help="How long a pause still lasts, given what it runs, whose it is and how long it has lasted.",
    epilog=_example("forecast fit trace.duckdb -o model.parquet"),
)
_forecast.command("fit", epilog=_example("forecast fit trace.duckdb -o model.parquet"))(fit_command)
_forecast.command(
    "evaluate", epilog=_example("forecast evaluate trace.duckdb --split developer --chart forecast.html")
)(evaluate_command)
_forecast.command(
    "predict",
    epilog=_example("forecast predict model.parquet --provider claude --key tool_class=shell --elapsed 20"),
)(predict_command)
app.add_typer(_forecast, name="forecast")

_hardware = typer.Typer(
    help="The constants of a machine: known ones, and how to measure, fit or estimate others.",
    epilog=_example("hardware show rtx4090-llama3.1-8b-fp8"),
)
_hardware.command("list", epilog=_example("hardware list"))(list_hardware)
_hardware.command("show", epilog=_example("hardware show h100like-llama3.1-8b-fp8"))(show_command)
_hardware.command("recipe", epilog=_example("hardware recipe"))(recipe_command)
_hardware.command(
    "new",
    epilog=_example(
        "hardware new mine --timings timings.csv --card h100-80gb-sxm --model config.json --weight-dtype fp8 "
        "--pool-tokens 400000 -o mine.toml"
    ),
)(new_command)
_hardware.command(
    "estimate",
    epilog=_example("hardware estimate --card h100-80gb-sxm --model config.json --tp 2 --weight-dtype fp8"),
)(estimate_command)
app.add_typer(_hardware, name="hardware")
app.add_typer(simulate, name="simulate")
