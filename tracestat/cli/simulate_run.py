"""``tracestat simulate run``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tracestat.cli.files import check_no_input, check_target
from tracestat.cli.options import Licensed, Output, WholeSessions, expand, given
from tracestat.cli.output import check_output, remark, show
from tracestat.cli.progress import progress_bar
from tracestat.cli.reading import opened, own_names
from tracestat.cli.screen import complain
from tracestat.errors import UsageError

__all__ = ["run_command"]


@dataclass(frozen=True, slots=True)
class Served:
    """The load, the machine and the time."""

    load: Annotated[float, typer.Option("--load", metavar="X", help="8 sessions at once per unit.")] = 4.0
    host_gb: Annotated[
        float, typer.Option("--host-gb", metavar="GB", help="Host tier, 10^9 bytes; 0: none.", show_default=True)
    ] = 20.0
    hardware: Annotated[
        str | None,
        typer.Option(
            "--hardware",
            metavar="ID|FILE",
            help="Constants of a machine; see tracestat hardware list.  [default: rtx4090-llama3.1-8b-fp8]",
        ),
    ] = None
    hours: Annotated[float, typer.Option("--hours", metavar="H", help="Simulated hours of each run.")] = 1.0
    warmup: Annotated[
        float, typer.Option("--warmup", metavar="SECONDS", help="Seconds of them that are not counted.")
    ] = 600.0
    human_gap: Annotated[
        str,
        typer.Option(
            "--human-gap",
            metavar="RULE",
            help="Waits for a person: cap:SECONDS, keep, drop, or end (the session ends there). Tool pauses are never "
            "cut.",
        ),
    ] = "cap:60"
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            metavar="TOKENS|none",
            help="Scale contexts: 99 % of the sessions' largest are then at most TOKENS; none: as recorded.",
        ),
    ] = "32768"
    eta: Annotated[
        float | None,
        typer.Option(
            "--eta",
            metavar="X",
            help="Memoryfulness in place of the estimated one, for P2 and P2-S; -1 to 1.  [default: estimated]",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes."""
        return {
            "load": self.load,
            "host_gb": self.host_gb,
            "hours": self.hours,
            "warmup_s": self.warmup,
            "human_gap": self.human_gap,
            "scale_context": _tokens(self.scale),
            **given(hardware=self.hardware, eta=self.eta),
        }


@dataclass(frozen=True, slots=True)
class Engine:
    """How the server is run: switches whose effect is to be seen."""

    store_path: Annotated[
        Literal["lmcache", "native"] | None,
        typer.Option(
            "--store-path",
            metavar="NAME",
            help="lmcache (copies hold up the step) or native (they run beside it).  [default: lmcache]",
        ),
    ] = None
    prefill_threshold: Annotated[
        int | None,
        typer.Option(
            "--prefill-threshold",
            min=0,
            metavar="TOKENS",
            help="Prompt tokens that one request may have in a step; 0: no cap.  [default: 0]",
        ),
    ] = None
    cap_memory: Annotated[
        float | None,
        typer.Option(
            "--cap-memory",
            metavar="SHARE",
            help="That cap holds only while so much of the pool is free or evictable.  [default: 0]",
        ),
    ] = None
    max_num_seqs: Annotated[
        int | None,
        typer.Option("--max-num-seqs", min=1, metavar="N", help="Requests that run at once.  [default: 256]"),
    ] = None
    link: Annotated[
        Literal["shared", "duplex"] | None,
        typer.Option(
            "--link", metavar="KIND", help="shared (one transfer at a time) or duplex.  [default: the machine's]"
        ),
    ] = None
    chunk_tokens: Annotated[
        int | None,
        typer.Option(
            "--chunk-tokens", min=1, metavar="N", help="Tokens of a chunk of the host tier.  [default: the path's]"
        ),
    ] = None
    host_evict: Annotated[
        Literal["session", "tail", "head"] | None,
        typer.Option(
            "--host-evict",
            metavar="WHAT",
            help="What the host tier gives up: whole sessions, or chunks from the tail or head.  [default: session]",
        ),
    ] = None
    store_when: Annotated[
        Literal["completion", "step"] | None,
        typer.Option(
            "--store-when", metavar="WHEN", help="Prompts are stored at completion or step by step.  [default: "
            "completion]"
        ),
    ] = None  # fmt: skip
    store_holds_blocks: Annotated[
        bool, typer.Option("--store-holds-blocks", help="Blocks stay referenced until their copy ends (native).")
    ] = False
    load_order: Annotated[
        Literal["at_admission", "before_scheduling"] | None,
        typer.Option(
            "--load-order", metavar="WHEN", help="Loads begin at_admission or before_scheduling.  [default: "
            "at_admission]"
        ),
    ] = None  # fmt: skip
    granularity: Annotated[
        Literal["tail", "session"] | None,
        typer.Option(
            "--granularity", metavar="WHAT", help="Eviction takes the tail of a session or all.  [default: tail]"
        ),
    ] = None
    end: Annotated[
        Literal["cached", "free"] | None,
        typer.Option("--end", metavar="WHAT", help="Blocks of sessions that are over: cached or free.  "
                     "[default: cached]"),
    ] = None  # fmt: skip
    cache_misses: Annotated[
        Literal["recorded", "reused"] | None,
        typer.Option(
            "--cache-misses",
            metavar="WHAT",
            help="Prompts that the provider's cache had lost: recorded (recomputed) or reused.  [default: recorded]",
        ),
    ] = None
    reload_ratio: Annotated[
        float | None,
        typer.Option(
            "--reload-ratio",
            metavar="X",
            help="Seconds to reload 32K tokens over those to compute them.  [default: the machine's]",
        ),
    ] = None
    change: Annotated[
        str | None,
        typer.Option(
            "--change",
            metavar="NAME=FACTOR",
            help="Multiply one constant, as step.per_token=1.1.  [default: none]",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        return given(
            store_path=self.store_path,
            prefill_threshold=self.prefill_threshold,
            cap_memory=self.cap_memory,
            max_num_seqs=self.max_num_seqs,
            link=self.link,
            chunk_tokens=self.chunk_tokens,
            host_evict=self.host_evict,
            store_when=self.store_when,
            store_holds_blocks=self.store_holds_blocks,
            load_order=self.load_order,
            granularity=self.granularity,
            end=self.end,
            cache_misses=self.cache_misses,
            reload_ratio=self.reload_ratio,
            change=self.change,
        )


@expand
def run_command(
    *,
    sessions: WholeSessions,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar="ID[,ID]",
            help="P0 to P9, as P2, P2-R, P2-S, P3, P4-D, P4-H, P5, P6 ..., or FILE.py:FUNCTION. P1 and P5-B always "
            "run beside them.",
            show_default=True,
        ),
    ] = "P2,P3,P4-D",
    served: Served,
    constants: Annotated[
        Path | None,
        typer.Option(
            "--constants",
            metavar="FILE",
            help="What policies know: a .json of export constants.  [default: the earlier half of the sessions; the "
            "later half is played]",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", help="Seeds 0 to N - 1; 100 for a claim.", show_default=True)
    ] = 5,
    engine: Engine,
    requests: Annotated[
        Path | None,
        typer.Option("--requests", metavar="FILE", help="Also write every request of every run to FILE: .parquet."),
    ] = None,
    licensed: Licensed,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Processes at most.", show_default=True)] = 2,
    output: Output,
) -> None:
    """Simulate what policies of paused caches do to the wait for the first token after a tool.

    One GPU with a host tier serves the sessions of the trace in a closed loop. Each policy beside LRU (P1) and an
    oracle (P5-B) on the same seeds: waits, ratios, where prompts came from, what the server did.
    """
    reads = (sessions.trace, sessions.classes, constants, _file(served.hardware, (".toml", ".json")))
    policies = [_file(name.rpartition(":")[0], (".py",)) for name in policy.split(",")]
    check_output(output, (*reads, *policies))
    check_target(requests, "--requests", (".parquet",))
    check_no_input(requests, "--requests", (*reads, *policies))
    if requests is not None and output.output is not None and requests.absolute() == output.output.absolute():
        raise UsageError(f"--requests {requests.name}: -o names the same file; write to another one")
    with opened(sessions, output) as trace:
        import tracestat

        try:
            with progress_bar("simulating", quiet=output.quiet, in_bytes=False) as progress:
                result = tracestat.run_simulation(
                    trace,
                    policy,
                    seeds=seeds,
                    constants=constants,
                    requests=requests,
                    jobs=jobs,
                    progress=progress,
                    **sessions.options(),
                    **licensed.options(),
                    **served.options(),
                    **engine.options(),
                )
        except KeyboardInterrupt:
            complain("interrupted: no run is kept and no file was written; for what can go on later see simulate sweep")
            raise
        if requests is not None:
            remark(f"wrote {requests.name}", quiet=output.quiet)
        show(result, output, names=own_names(trace))


def _tokens(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise UsageError(f"--scale {text}: give a whole number of tokens above 0, or none")
    return int(text)


def _file(text: str | None, endings: tuple[str, ...]) -> Path | None:
    """Give the file that an option names, where it names one."""
    return Path(text) if text and text.lower().endswith(endings) else None
