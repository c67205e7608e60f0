"""``tracestat forecast predict``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Annotated

import typer

from tracestat.cli.options import Output, Shown, expand
from tracestat.cli.output import check_output, show
from tracestat.errors import UsageError

__all__ = ["predict_command"]

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A .parquet that forecast fit wrote.", show_default=False)]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        metavar="KEY=VALUE",
        help="What is known of the pause, as tool_class=shell; may be given several times. command_skeleton is the "
        "tool's name where it runs no command. What earlier pauses took: see above.",
    ),
]
WaitedFor = Annotated[
    float, typer.Option("--elapsed", metavar="SECONDS", help="How long it has lasted.", show_default=True)
]
Limit = Annotated[
    float | None,
    typer.Option("--asked-limit", metavar="SECONDS", help="The limit that the call asked for.  [default: none known]"),
]
Provider = Annotated[
    str | None,
    typer.Option("--provider", metavar="NAME", help="Whose law; needed where the model knows several."),
]
Calls = Annotated[
    list[str] | None,
    typer.Option(
        "--call",
        metavar="KEY=VALUE,...",
        help="One of several calls of one round, as 'tool_class=shell,command_skeleton=go test'; give two or more. "
        "--key holds for all.",
    ),
]
Listed = Annotated[
    int | None, typer.Option("--top", min=1, metavar="N", help="List the first N calls of a round.  [default: 20]")
]


@expand
def predict_command(
    *,
    model: Model,
    key: Keys = None,
    elapsed: WaitedFor = 0.0,
    asked_limit: Limit = None,
    provider: Provider = None,
    call: Calls = None,
    top: Listed = None,
    output: Output,
) -> None:
    """Forecast how much longer a pause lasts, by a model that forecast fit made.

    Quantiles and mean of the remaining time, which level of the model answers how far, and the deadlines ahead.

    Earlier pauses, ended before this one began, in seconds (none: there was none); with all of them the forecast is
    sharpest:

    \b
      recent                of this command and developer: mean of the last five
      previous              of this command and developer: the last one
      previous_in_class     of this tool class and developer: the last one
      previous_in_session   of this tool in this session: the last one
    """  # noqa: D301  the character itself keeps typer from folding the lines
    check_output(output, (model,))
    import tracestat

    for text in key or []:
        if len(_parts(text)) > 1:
            raise UsageError(f"--key {text}: one key each; give --key again for the next one")
    found = tracestat.load_forecast(model)
    result = tracestat.predict_remaining(
        found,
        _pairs("--key", key or []),
        elapsed=elapsed,
        provider=provider,
        asked_limit=asked_limit,
        calls=[_call(text) for text in call or []],
    )
    show(result, output, Shown(top=top), names={})


def _pairs(option: str, texts: Sequence[str]) -> Mapping[str, str | float | None]:
    """Read KEY=VALUE; the length of an earlier pause becomes a number where it is one."""
    from tracestat.forecast.keys import BANDED

    found: dict[str, str | float | None] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not text.isascii() and text != text.encode(errors="replace").decode():
            raise UsageError(f"{option} {name}: bytes that are no UTF-8; write it in UTF-8")
        if not (name and equals and value):
            raise UsageError(f"{option} {text}: write KEY=VALUE, as tool_class=shell")
        if name in found:
            raise UsageError(f"{option} {name}: given twice")
        found[name] = _length(value) if name in BANDED else value
    return found


def _length(value: str) -> str | float | None:
    if value == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        return value
    return value if isnan(number) else number


def _call(text: str) -> Mapping[str, str | float | None]:
    """Read the keys of one call."""
    return _pairs("--call", _parts(text))


def _parts(text: str) -> list[str]:
    """Part a text at the commas that another key follows; others may be of a skeleton."""
    from tracestat.forecast.keys import KEYS

    return re.split(rf",(?=\s*(?:{'|'.join(KEYS)})\s*=)", text)
