"""``tracestat hardware list / show / recipe``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracestat.cli.heads import plain_head
from tracestat.cli.options import Json, Quiet
from tracestat.cli.output import document, print_tables
from tracestat.cli.screen import say

if TYPE_CHECKING:
    from tracestat.hardware import Hardware
    from tracestat.results import Json as Data

__all__ = ["list_command", "recipe_command", "show_command"]


def list_command(
    *,
    json: Json = False,
    quiet: Quiet = False,  # noqa: ARG001  everywhere, so that scripts may always give it
) -> None:
    """List the machines that ship with tracestat, and what a prompt of 32K takes on each."""
    from tracestat.charts.table_hardware import known_tables
    from tracestat.hardware import DEFAULT_HARDWARE, hardware_ids, load_hardware

    ids = hardware_ids()
    machines = [load_hardware(id_) for id_ in sorted(ids, key=lambda id_: (id_ != DEFAULT_HARDWARE, id_))]
    if json:
        say(document({**plain_head("hardware_list"), "machines": [_summary(machine) for machine in machines]}))
        return
    print_tables(known_tables(machines))


def _summary(machine: Hardware) -> Data:
    from tracestat.charts.table_hardware import LADDER_TOKENS, ladder, largest_residual
    from tracestat.hardware import DEFAULT_HARDWARE

    return {
        "id": machine.id,
        "default": machine.id == DEFAULT_HARDWARE,
        "card": machine.card,
        "model": machine.model,
        "weight_dtype": machine.weight_dtype,
        "kv_bytes_per_token": machine.kv_bytes_per_token,
        "pool_tokens": machine.pool_tokens,
        "pool_bytes": machine.pool_bytes,
        "max_batched_tokens": machine.max_batched_tokens,
        "estimate": machine.estimate,
        "first_token": {"tokens": LADDER_TOKENS, **ladder(machine)},
        "n_timings": len(machine.timings),
        "largest_residual": largest_residual(machine),
    }


def show_command(
    hardware: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID|FILE]",
            help="An id of hardware list, or a .toml or .json file.  [default: the RTX 4090 set]",
            show_default=False,
        ),
    ] = None,
    *,
    json: Json = False,
    quiet: Quiet = False,  # noqa: ARG001  as above
) -> None:
    """Show every number of a machine: value, range, where it comes from, and how well it meets its timings."""
    from tracestat.charts.table_hardware import hardware_tables
    from tracestat.hardware import DEFAULT_HARDWARE, hardware_to_dict, load_hardware

    machine = load_hardware(hardware or DEFAULT_HARDWARE)
    if json:
        say(document({**plain_head("hardware_show", notes=machine.notes), "constants": hardware_to_dict(machine)}))
        return
    print_tables(hardware_tables(machine))


def recipe_command(
    *,
    json: Json = False,
    quiet: Quiet = False,  # noqa: ARG001  as above
) -> None:
    """Say what to measure on a machine of your own: in which order, with which flags, how often, written where."""
    from tracestat.cli.hardware_recipe import recipe, recipe_tables

    steps = recipe()
    if json:
        say(document({**plain_head("hardware_recipe"), "steps": [step.to_dict() for step in steps]}))
        return
    print_tables(recipe_tables(steps))
