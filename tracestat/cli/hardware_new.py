"""``tracestat hardware new / estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracestat.cli.files import check_no_input, check_target, describe_file
from tracestat.cli.heads import files_document, plain_head
from tracestat.cli.options import Json, Quiet
from tracestat.cli.output import document, print_tables, remark
from tracestat.cli.screen import say
from tracestat.errors import UsageError

if TYPE_CHECKING:
    from tracestat.hardware import Hardware

__all__ = ["estimate_command", "new_command"]

Config = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="CONFIG",
        help="config.json of the model (Hugging Face), or its folder; gives the KV bytes per token.",
        show_default=False,
    ),
]
ModelName = Annotated[
    str | None, typer.Option("--model-name", metavar="NAME", help="What to call the model.", show_default=False)
]
KvDtype = Annotated[
    Literal["bf16", "fp16", "fp8"],
    typer.Option("--kv-dtype", metavar="DTYPE", help="KV cache: bf16, fp16 or fp8.", show_default=True),
]
Block = Annotated[
    int, typer.Option("--block", min=1, metavar="N", help="Tokens of a block (--block-size).", show_default=True)
]
Batched = Annotated[
    int,
    typer.Option(
        "--batched-tokens",
        min=1,
        metavar="N",
        help="Tokens of a step (--max-num-batched-tokens).",
        show_default=True,
    ),
]
Chunk = Annotated[
    int, typer.Option("--lmcache-chunk", min=1, metavar="N", help="Tokens of a chunk of LMCache.", show_default=True)
]
Parallel = Annotated[
    int, typer.Option("--tp", min=1, metavar="N", help="Cards that share each layer.", show_default=True)
]


def new_command(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Name of the set, which is the stem of its file.")],
    *,
    timings: Annotated[
        Path,
        typer.Option(
            "--timings", metavar="FILE", help="A .csv with the first line kind,tokens,ms, or a .json list of these."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="The file to write: ID.toml."),
    ],
    card: Annotated[str, typer.Option("--card", metavar="NAME", help="What to call the card.")],
    pool_tokens: Annotated[
        int, typer.Option("--pool-tokens", min=1, metavar="N", help="Tokens of KV cache that the engine says it has.")
    ],
    model: Config = None,
    model_name: ModelName = None,
    kv_bytes: Annotated[
        int | None,
        typer.Option(
            "--kv-bytes-per-token", min=1, metavar="N", help="In place of --model, over all cards.", show_default=False
        ),
    ] = None,
    weight_dtype: Annotated[
        Literal["bf16", "fp16", "fp8", "int8", "int4"] | None,
        typer.Option(
            "--weight-dtype", metavar="DTYPE", help="bf16, fp16, fp8, int8 or int4; tells s.", show_default=False
        ),
    ] = None,
    kv_dtype: KvDtype = "bf16",
    block: Block = 16,
    batched: Batched = 2048,
    chunk: Chunk = 256,
    tensor_parallel: Parallel = 1,
    base: Annotated[
        str | None,
        typer.Option(
            "--s-ms",
            metavar="MS",
            help="Base of a step, held, or free to fit it too; timings tell only o + s.  [default: by the card's "
            "public figures where --card, --model and --weight-dtype tell them, else 10]",
            show_default=False,
        ),
    ] = None,
    decode_read: Annotated[
        float | None,
        typer.Option(
            "--r-us",
            metavar="US",
            help="Decode cost per context token, us.  [default: likewise, else KV bytes at 918 GB/s]",
            show_default=False,
        ),
    ] = None,
    whole_hits: Annotated[
        bool,
        typer.Option("--whole-hits", help="Take reloads to compute nothing, not the last block."),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a hardware set to timings of your own machine, and say how well and what is assumed.

    Five timings at least: cold at two lengths or more, and reloads. Timings that no machine can have are refused. What
    to measure: tracestat hardware recipe.
    """
    from tracestat.api.hardware import fit_hardware

    _check_target(output, id_, [timings, model])
    machine = fit_hardware(
        timings,
        id=id_,
        card=card,
        pool_tokens=pool_tokens,
        model=model,
        model_name=model_name,
        kv_bytes_per_token=kv_bytes,
        weight_dtype=weight_dtype,
        kv_dtype=kv_dtype,
        block_tokens=block,
        max_batched_tokens=batched,
        lmcache_chunk=chunk,
        tensor_parallel=tensor_parallel,
        base=_base(base),
        decode_read=None if decode_read is None else decode_read / 1e6,
        whole_hits=whole_hits,
    )
    _finish("hardware_new", machine, output, json=json, quiet=quiet)


def _base(text: str | None) -> float | Literal["free"] | None:
    if text is None or text == "free":
        return "free" if text else None
    try:
        return float(text) / 1e3
    except ValueError:
        raise UsageError(f"--s-ms {text}: give milliseconds, or free") from None


def _check_target(output: Path, id_: str, inputs: list[Path | None]) -> None:
    check_target(output, "-o", (".toml",))
    check_no_input(output, "-o", inputs)
    if output.name[: -len(".toml")] != id_:
        raise UsageError(f"-o {output.name}: the id of a set is the stem of its file; write {id_}.toml")


def _finish(command: str, machine: Hardware, output: Path | None, *, json: bool, quiet: bool) -> None:
    """Write the file if there is one, read it again, and print what it holds."""
    from tracestat.charts.table_hardware import hardware_tables
    from tracestat.hardware import hardware_from_dict, hardware_to_dict, hardware_to_toml
    from tracestat.replacing import replacing

    # by the same checks as any file, so that nothing is written that cannot be read
    hardware_from_dict(hardware_to_dict(machine), where=f"{machine.id}.toml")
    files = []
    if output is not None:
        with replacing(output, f"-o {output.name}") as beside:
            beside.write_text(hardware_to_toml(machine), encoding="utf-8")
        files.append(describe_file(output, rows=None))
    if json:
        head = plain_head(command, notes=machine.notes)
        say(document({**files_document(head, files), "constants": hardware_to_dict(machine)}))
        return
    print_tables(hardware_tables(machine))
    if output is not None:
        remark(f"wrote {output.name}; use it as --hardware {output.name}", quiet=quiet)


def estimate_command(
    *,
    card: Annotated[str, typer.Option("--card", metavar="NAME", help="A card of data/cards.toml, as h100-80gb-sxm.")],
    model: Annotated[
        Path, typer.Option("--model", metavar="CONFIG", help="config.json of the model (Hugging Face), or its folder.")
    ],
    tensor_parallel: Parallel = 1,
    weight_dtype: Annotated[
        Literal["bf16", "fp16", "fp8", "int8", "int4"],
        typer.Option("--weight-dtype", metavar="DTYPE", help="bf16, fp16, fp8, int8 or int4.", show_default=True),
    ] = "bf16",
    kv_dtype: KvDtype = "bf16",
    batched: Batched = 2048,
    block: Block = 16,
    chunk: Chunk = 256,
    model_name: ModelName = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A .toml to write; its stem is the id.", show_default=False
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Estimate a hardware set from public figures of a card and the geometry of a model: nothing is measured.

    Good to a factor of two at best. Models whose cache does not grow with the context, as with sliding windows, are
    refused, and so is what does not fit.
    """
    from tracestat.api.hardware import estimate_hardware

    if output is not None:
        check_target(output, "-o", (".toml",))
        check_no_input(output, "-o", [model])
    machine = estimate_hardware(
        card,
        model,
        tensor_parallel=tensor_parallel,
        weight_dtype=weight_dtype,
        kv_dtype=kv_dtype,
        max_batched_tokens=batched,
        block_tokens=block,
        lmcache_chunk=chunk,
        model_name=model_name,
        id=None if output is None else output.name[: -len(".toml")],
    )
    _finish("hardware_estimate", machine, output, json=json, quiet=quiet)
