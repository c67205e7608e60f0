"""``tracestat timeline``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tracestat.cli.files import check_no_input, check_target
from tracestat.cli.options import Located, Output, Perfetto, Session, Shown, Steps, expand
from tracestat.cli.output import remark, show, with_names
from tracestat.cli.reading import opened, own_names
from tracestat.errors import UsageError
from tracestat.replacing import replacing

if TYPE_CHECKING:
    from tracestat.results import TimelineResult

__all__ = ["timeline"]


@expand
def timeline(
    *, session: Session, located: Located, top: Steps = None, perfetto: Perfetto = None, output: Output
) -> None:
    """Draw one session.

    What it did step by step: the model's answers, tools, polls, waits for a person, sub-agents, and how each ended.
    With --chart as a picture, with --perfetto as a trace to walk through.
    """
    _check(session, located, perfetto, output)
    with opened(located, output) as trace:
        import tracestat

        result = tracestat.session_timeline(trace, session, **located.options())
        names = own_names(trace)
        if perfetto is not None:
            _write(result, perfetto, names if output.with_names else {}, quiet=output.quiet)
        show(result, output, Shown(top=top), names=names)


def _check(session: str, located: Located, perfetto: Path | None, output: Output) -> None:
    """Refuse a trace in place of a session, and files that cannot be written."""
    if located.trace is None and not located.mine and session.strip() and Path(session).exists():
        name = Path(session).name
        raise UsageError(f"{name} is a trace, not a session: write tracestat timeline SESSION {name}")
    check_target(perfetto, "--perfetto", (".json",))
    check_no_input(perfetto, "--perfetto", (located.trace, located.classes))
    if perfetto is not None and output.output is not None and perfetto.absolute() == output.output.absolute():
        raise UsageError(f"--perfetto {perfetto.name}: -o names the same file; give it another name")


def _write(result: TimelineResult, path: Path, names: Mapping[str, str], *, quiet: bool) -> None:
    text = json.dumps(with_names(result.to_perfetto(), names), ensure_ascii=False, allow_nan=False)
    with replacing(path, f"--perfetto {path.name}") as beside:
        beside.write_text(f"{text}\n", encoding="utf-8")
    remark(f"wrote {path.name}; open it at ui.perfetto.dev, which keeps it on this machine", quiet=quiet)
