"""Every option once: what it is called, what it takes, what it does, and its default.

Options that go together are a dataclass; :func:`expand` lets a command take the dataclass as one argument while the
user sees the single options.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from tracestat.errors import UsageError

__all__ = [
    "Above",
    "ChartMixing",
    "Clocked",
    "CutAt",
    "DeadlineMode",
    "Elapsed",
    "Estimated",
    "FirstEdge",
    "Json",
    "Licensed",
    "Located",
    "Longest",
    "MinRows",
    "NumberOfBins",
    "Output",
    "Perfetto",
    "Programs",
    "Quiet",
    "Rows",
    "SectionName",
    "Seed",
    "Selected",
    "Session",
    "Shown",
    "Source",
    "Steps",
    "TopValues",
    "Whole",
    "WholeSessions",
    "Window",
    "check_definition",
    "expand",
    "given",
]

Unit = Literal["call", "pause", "command"]
Clock = Literal["wall", "internal", "effective"]
Rows = Literal["tool", "human", "all"]
Definition = Literal["tracestat", "tracelab"]
Sort = Literal["n", "time", "name"]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no remarks on stderr; errors remain.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of all random numbers.", show_default=True)]

CutAt = Annotated[
    str | None,
    typer.Option(
        "--cut-at",
        metavar="SECONDS",
        help="Deadlines to cut out, as 5,120,600, or none.  [default: the known ones of each provider]",
    ),
]
DeadlineMode = Annotated[
    Literal["auto", "scan", "status", "asked"] | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="scan (spikes in the hazard), status (what rows say of their end), asked (limits that calls asked for) or "
        "auto, all that the trace can answer.  [default: auto]",
    ),
]
Above = Annotated[
    float | None,
    typer.Option(
        "--above",
        metavar="SECONDS",
        help="Fit the laws of what lasts longer than this, 0.0055 to 10000.  [default: 0.0055]",
    ),
]
NumberOfBins = Annotated[
    int | None,
    typer.Option("--bins", min=2, max=60, metavar="N", help="Number of log bins.  [default: 18]"),
]
FirstEdge = Annotated[
    float | None,
    typer.Option(
        "--from", metavar="SECONDS", help="Search for the first edge from here, above 0 to 10000.  [default: 0.1]"
    ),
]
ChartMixing = Annotated[
    Path | None,
    typer.Option(
        "--chart-mixing",
        metavar="FILE",
        help="Also draw how much of the fall is mixing of unlike keys: .html, .svg, .png or .pdf.",
    ),
]
Longest = Annotated[
    int, typer.Option("--longest", min=1, max=1_000_000, metavar="N", help="How many calls to list.", show_default=True)
]
Elapsed = Annotated[
    str | None,
    typer.Option(
        "--elapsed",
        metavar="SECONDS",
        help="Times already waited, as 4,25,146.  [default: 0,1,4,25,146,600]",
    ),
]
Window = Annotated[
    float | None,
    typer.Option(
        "--window", metavar="SECONDS", help="The mean counts so many seconds from there on, no more.  [default: 3600]"
    ),
]
SectionName = Annotated[
    Literal["sessions", "cache", "commands"] | None,
    typer.Option(
        "--section",
        metavar="NAME",
        help="In place of durations: sessions, cache or commands, by TraceLab's rules and ours.  [default: durations]",
    ),
]
MinRows = Annotated[
    int | None,
    typer.Option(
        "--min-n", min=1, metavar="N", help="Keys with fewer rows show counts only, no estimates.  [default: 20]"
    ),
]
TopValues = Annotated[
    int, typer.Option("--top", min=1, metavar="N", help="How many values of each key to list.", show_default=True)
]

Session = Annotated[
    str,
    typer.Argument(
        metavar="SESSION",
        help="The id of a session or the begin of it; DEVELOPER/ID where several have it; longest or latest.",
        show_default=False,
    ),
]
Steps = Annotated[
    int | None,
    typer.Option("--top", min=1, metavar="N", help="Show the first N steps; files and JSON have all.  [default: 30]"),
]
Perfetto = Annotated[
    Path | None,
    typer.Option("--perfetto", metavar="FILE", help="Also write a trace that ui.perfetto.dev opens: FILE.json."),
]


@dataclass(frozen=True, slots=True)
class Source:
    """Which trace, as it is."""

    trace: Annotated[
        Path | None,
        typer.Argument(
            metavar="TRACE",
            help="A .duckdb made by ingest, or anything that ingest reads: a TraceLab release, a folder of logs.  "
            "[default: the bundled sample]",
            show_default=False,
        ),
    ] = None
    mine: Annotated[
        bool, typer.Option("--mine", help="Read the logs of this user's Claude Code and Codex in place of a TRACE.")
    ] = False


@dataclass(frozen=True, slots=True)
class Whole(Source):
    """Which trace, read as a whole."""

    classes: Annotated[
        Path | None,
        typer.Option("--classes", metavar="FILE", help="A .toml of tool classes.  [default: the bundled one]"),
    ] = None


@dataclass(frozen=True, slots=True)
class Located:
    """Which trace, and which stretch of time."""

    trace: Annotated[
        Path | None,
        typer.Argument(
            metavar="TRACE",
            help="A .duckdb made by ingest, or anything that ingest reads: a TraceLab release, a folder of logs.  "
            "[default: the bundled sample]",
            show_default=False,
        ),
    ] = None
    mine: Annotated[
        bool, typer.Option("--mine", help="Read the logs of this user's Claude Code and Codex in place of a TRACE.")
    ] = False
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Only what started at or after TIME, as 2026-03-01 or 2026-03-01T12:30.  [default: from the start]",
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Only what started before TIME.  [default: to the end]"),
    ] = None
    tz: Annotated[
        str | None,
        typer.Option("--tz", metavar="ZONE", help="Time zone of days, hours, TIME.  [default: that of this machine]"),
    ] = None
    classes: Annotated[
        Path | None,
        typer.Option("--classes", metavar="FILE", help="A .toml of tool classes.  [default: the bundled one]"),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        return given(since=self.since, until=self.until, tz=self.tz)


@dataclass(frozen=True, slots=True)
class Selected(Located):
    """Which trace, and which of its rows."""

    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only rows for which EXPR holds: keys and started_at compared with literals, as in "
            "\"tool = 'Bash' AND n_calls = 1\".  [default: all rows]",
        ),
    ] = None
    unit: Annotated[
        Unit | None,
        typer.Option(
            "--unit",
            metavar="UNIT",
            help="What one duration is: call, pause or command.  [default: pause; calls: call; summary: pause "
            "and call; export durations: all three]",
        ),
    ] = None
    rows: Annotated[
        Rows | None,
        typer.Option("--rows", metavar="ROWS", help="tool, human (waits for a person) or all.  [default: tool]"),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        return given(where=self.where, since=self.since, until=self.until, tz=self.tz, unit=self.unit, rows=self.rows)


@dataclass(frozen=True, slots=True)
class WholeSessions(Located):
    """Which trace, and which of its sessions, each whole."""

    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only sessions for which EXPR holds: provider, developer, project, session and started_at compared "
            "with literals, as in \"provider = 'claude'\".  [default: all]",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        return given(where=self.where, since=self.since, until=self.until, tz=self.tz)


@dataclass(frozen=True, slots=True)
class Programs(Located):
    """Which trace, and which of its sessions and requests."""

    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="KEY[,KEY]",
            help="Keys to group by, or none: provider, developer, project, session, model, day, week, hour, weekday.",
            show_default=True,
        ),
    ] = "provider"
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Only programs for which EXPR holds: these keys and started_at compared with literals, as in "
            "\"provider = 'claude'\".  [default: all]",
        ),
    ] = None
    min_n: Annotated[
        int | None,
        typer.Option(
            "--min-n",
            min=1,
            metavar="N",
            help="Groups with fewer programs show counts only.  [default: no such minimum]",
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


@dataclass(frozen=True, slots=True)
class Clocked:
    """Which clock."""

    clock: Annotated[
        Clock | None,
        typer.Option(
            "--clock",
            metavar="CLOCK",
            help="wall, internal (what the tool reports) or effective (internal where known, else wall); the last "
            "two for unit call only.  [default: wall]",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes."""
        return given(clock=self.clock)


@dataclass(frozen=True, slots=True)
class Estimated:
    """How an estimate is made."""

    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="KEY[,KEY]", help="Keys to group by, or none; see tracestat keys.", show_default=True
        ),
    ] = "provider"
    min_n: Annotated[
        int | None,
        typer.Option(
            "--min-n", min=1, metavar="N", help="Groups with fewer rows show counts only.  [default: no such minimum]"
        ),
    ] = None
    definition: Annotated[
        Definition | None,
        typer.Option(
            "--definition",
            metavar="NAME",
            help="tracestat, or tracelab: the published definition (calls, effective clock, positive only, copies "
            "kept, all rows, no intervals).  [default: tracestat]",
        ),
    ] = None
    seed: Seed = 0

    def options(self) -> dict[str, Any]:
        """Give what the api takes."""
        return given(by=self.by, min_n=self.min_n, definition=self.definition, seed=self.seed)


@dataclass(frozen=True, slots=True)
class Output:
    """Where the result goes."""

    json: Json = False
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write the numbers to FILE: .parquet, .csv or .json."),
    ] = None
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Also draw the result to FILE: .html, .svg, .png or .pdf."),
    ] = None
    with_names: Annotated[
        bool,
        typer.Option(
            "--with-names",
            help="Also put the true names that ingest --keep-names kept into files and JSON.  [default: screen only]",
        ),
    ] = False
    quiet: Quiet = False


@dataclass(frozen=True, slots=True)
class Licensed:
    """Whose data an exported file is made of, in the caller's words."""

    licence: Annotated[
        str | None,
        typer.Option(
            "--licence",
            metavar="TEXT",
            help="Licence of the data, as CC-BY-4.0: it goes into the file or beside it.  [default: that of a known "
            "release, or of the export that TRACE was read from, else unknown]",
        ),
    ] = None
    attribution: Annotated[
        str | None,
        typer.Option(
            "--attribution",
            metavar="TEXT",
            help="Whom to name for the data.  [default: as for --licence]",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Give what the api takes, without what the user left open."""
        return given(licence=self.licence, attribution=self.attribution)


@dataclass(frozen=True, slots=True)
class Shown:
    """Which groups the tables show, and in which order."""

    sort: Annotated[
        Sort | None,
        typer.Option("--sort", metavar="ORDER", help="Order of the groups: n, time or name.  [default: n]"),
    ] = None
    top: Annotated[
        int | None,
        typer.Option(
            "--top", min=1, metavar="N", help="Show only the first N groups; files and JSON have all.  [default: 20]"
        ),
    ] = None


def given(**options: Any) -> dict[str, Any]:
    """Leave out what is None, so that the defaults of the api hold.

    Examples
    --------
    >>> given(unit=None, seed=0)
    {'seed': 0}
    """
    return {name: value for name, value in options.items() if value is not None}


def check_definition(estimated: Estimated, selected: Selected, clocked: Clocked) -> None:
    """Refuse choices that contradict those of TraceLab's definition.

    Raises
    ------
    UsageError
        A unit, clock or choice of rows was given beside the definition that fixes another.

    Examples
    --------
    >>> check_definition(Estimated(definition="tracelab"), Selected(unit="call"), Clocked())
    """
    if estimated.definition != "tracelab":
        return
    for option, value, fixed in (
        ("--unit", selected.unit, "call"),
        ("--clock", clocked.clock, "effective"),
        ("--rows", selected.rows, "all"),
    ):
        if value not in (None, fixed):
            raise UsageError(
                f"{option} {value}: --definition tracelab fixes unit call, clock effective and rows all; leave "
                f"{option} out"
            )


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command in which each parameter that is a dataclass of options is replaced by these options.

    Examples
    --------
    >>> @expand
    ... def show(output: Output, clocked: Clocked) -> None:
    ...     print(output.json, clocked.clock)
    >>> list(inspect.signature(show).parameters)
    ['json', 'output', 'chart', 'quiet', 'clock']
    >>> show(json=True, output=None, chart=None, quiet=False, clock="wall")
    True wall
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = kind
        of_field = get_type_hints(kind, include_extras=True)
        parameters.extend(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=of_field[field.name]
            )
            for field in dataclasses.fields(kind)
        )

    def expanded(**values: Any) -> None:
        built = {
            name: kind(**{field.name: values.pop(field.name) for field in dataclasses.fields(kind)})
            for name, kind in groups.items()
        }
        command(**built, **values)

    expanded.__name__ = command.__name__
    expanded.__doc__ = command.__doc__
    expanded.__module__ = command.__module__
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # how a signature is stated
    return expanded
