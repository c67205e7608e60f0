"""``simulate sweep``: every run of a grid to one Parquet file, and what the table says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

import tracestat
from tracestat.api.common import Progress, TraceLike, as_trace, head_of
from tracestat.api.simulate_workload import SimulationWorkload
from tracestat.api.simulation_inputs import Prepared, prepare
from tracestat.api.sweep_parts import RUN_SCHEMA, Parts, batches_of, plan_of_sweep, run_batches
from tracestat.constants import Constants, constants_to_dict
from tracestat.durations.tracelab import choose_sessions
from tracestat.errors import TracestatError, UsageError
from tracestat.export.attribution import attribution_of
from tracestat.export.durations import METADATA, check_ending
from tracestat.replacing import replacing
from tracestat.results import Head, TraceInfo
from tracestat.results.verdicts import Verdict
from tracestat.simulate.grids import Grid, load_grid
from tracestat.simulate.policies import POLICIES
from tracestat.simulate.verdicts import verdict_of

__all__ = ["SCHEMA", "digest_of", "read_sweep", "sweep"]

SCHEMA: Final = "tracestat.runs/1"
_CHANGES: Final = "sessions as workload of a simulated server, by tracestat: a row per simulated run"
_MOST_SEEDS: Final = 10_000
_PARTS: Final = 100


def sweep(
    trace: TraceLike,
    grid: str | Path | Grid,
    out: str | Path,
    *,
    seeds: int | None = None,
    hours: float | None = None,
    constants: str | Path | Constants | None = None,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    licence: str | None = None,
    attribution: str | None = None,
    jobs: int = 2,
    progress: Progress | None = None,
) -> Verdict:
    """Run every configuration of a grid under every seed, write a row per run, and say what the table says.

    Finished runs are kept in a folder beside the output, ``OUT.parts``, until all are done: the same call goes on where
    an interrupted one ended.

    Parameters
    ----------
    trace : Trace, str or Path
    grid : str, Path or Grid
        A name of `tracestat.simulate.grids.grid_names`, or a file.
    out : str or Path
        ``.parquet``; a file that is there is replaced once all runs are done.
    seeds : int, optional
        In place of the grid's.
    hours : float, optional
        Simulated hours of each run in place of the grid's, for a trial; the warm-up shrinks with it.
    constants : str, Path or Constants, optional
        As for `tracestat.run_simulation`.
    where, since, until, tz : str, optional
        Which sessions.
    licence, attribution : str, optional
        Of the source, where it is not known.
    jobs : int
        Processes at most; the file does not depend on it.
    progress : callable, optional
        Called with (runs done, runs in all).

    Returns
    -------
    Verdict
        Of the kind that the grid asks for.

    Raises
    ------
    UsageError
        No such grid, another ending, a number out of range.
    TracestatError
        A file that cannot be read or written, finished runs of another sweep beside the output.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> from tracestat.constants import Constants
    >>> from tracestat.simulate.grids import Grid
    >>> from tracestat.simulate.configurations import Configuration
    >>> small = Grid("small", "", 1, "none", (Configuration(load=1),))
    >>> nothing = Constants(tracestat.load_hardware(), None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = tracestat.sweep(tracestat.open(), small, f"{folder}/a.parquet", hours=0.02, constants=nothing)
    ...     made.runs, tracestat.read_sweep(f"{folder}/a.parquet").runs
    (1, 1)
    """
    made = _asked(grid if isinstance(grid, Grid) else load_grid(grid), seeds, hours)
    target = Path(out)
    check_ending(target)
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: give 1 or more processes")
    opened = as_trace(trace)
    about = attribution_of(opened, _CHANGES, licence=licence, attribution=attribution)
    chosen: dict[str, Any] = {"where": where, "since": since, "until": until, "tz": tz}
    prepared = prepare(opened, made.configurations, constants=constants, **chosen)
    batches = batches_of(made.configurations, made.seeds)
    which = (str(chosen[name]) for name in sorted(chosen))
    of = [opened.fingerprint, tracestat.__version__, digest_of(prepared, made), *which]
    parts = Parts(target.with_name(f"{target.name}.parts"), plan_of_sweep(made.configurations, made.seeds, of))
    parts.open()
    left = [batch for batch in batches if parts.read(batch) is None]
    done = made.n_runs - sum(len(batch.runs) for batch in left)
    if progress is not None:
        progress(done, made.n_runs)
    # closed at once, so that an interrupt while a part is written ends the processes too
    with closing(run_batches(left, prepared, jobs=jobs)) as batches_done:
        for batch, rows in batches_done:
            parts.write(batch, rows)
            done += len(rows)
            if progress is not None:
                progress(done, made.n_runs)
    found = [part for batch in batches if (part := parts.read(batch)) is not None]
    frame = pl.concat(found) if found else pl.DataFrame(schema=RUN_SCHEMA)
    if frame.height != made.n_runs:
        raise TracestatError(f"{parts.folder.name}: finished runs are missing; run the same command again")
    notes = (*prepared.notes, *_notes(prepared))
    head = head_of(opened, choose_sessions(by=None, **chosen), "simulate_verdict", notes=notes)
    head = replace(head, unit="pause", clock="wall")
    _write(frame, target, made, head, about.to_dict(), prepared)
    parts.remove()
    return verdict_of(made.verdict, frame, head=head)


def _asked(grid: Grid, seeds: int | None, hours: float | None) -> Grid:
    if seeds is not None:
        if not 1 <= seeds <= _MOST_SEEDS:
            raise UsageError(f"--seeds {seeds}: give 1 to {_MOST_SEEDS:,}")
        grid = replace(grid, seeds=seeds)
    if hours is not None:
        if not 0 < hours < float("inf"):
            raise UsageError(f"--hours {hours:g}: give a number above 0")
        shorter = (
            replace(one, hours=float(hours), warmup_s=one.warmup_s * min(1.0, hours / one.hours))
            for one in grid.configurations
        )
        grid = replace(grid, configurations=tuple(dict.fromkeys(shorter)))
    return grid


def digest_of(prepared: Prepared, grid: Grid) -> str:
    """Give what decides the runs beside the grid, as text: constants, machines, sessions, policies from outside."""
    machines = [asdict(prepared.machines[name]) for name in sorted(prepared.machines)]
    # the sessions themselves: the fingerprint of a trace does not tell which classes its calls were put in
    sessions = [_hash_of(prepared.workloads[key]) for key in sorted(prepared.workloads, key=repr)]
    outside = sorted({one.policy for one in grid.configurations} - POLICIES.keys())
    files = [hashlib.sha256(Path(name.rpartition(":")[0]).read_bytes()).hexdigest() for name in outside]
    told = [constants_to_dict(prepared.constants), machines, sessions, files]
    return json.dumps(told, sort_keys=True, default=str)


def _hash_of(made: SimulationWorkload) -> str:
    found = hashlib.sha256(made.exact_deadline.tobytes())
    for field in fields(made.workload):
        value = getattr(made.workload, field.name)
        found.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return found.hexdigest()


def _notes(prepared: Prepared) -> list[str]:
    """Say what holds of the workload, whatever its scale."""
    workload = next(iter(prepared.workloads.values()))
    return [note for note in workload.notes if "sub-agents" in note or "limits stand" in note]


def _write(
    frame: pl.DataFrame, path: Path, grid: Grid, head: Head, about: Mapping[str, Any], prepared: Prepared
) -> None:
    metadata = {
        "schema": SCHEMA,
        "tracestat": tracestat.__version__,
        "synthetic": head.synthetic,
        "attribution": about,
        "grain": "one row per configuration and seed; waits in seconds, tokens and shares of 1 as their names say",
        "grid": {"name": grid.name, "about": grid.about, "seeds": grid.seeds, "verdict": grid.verdict},
        "constants_from": prepared.constants_from,
        "head": asdict(head),
    }
    with replacing(path) as beside:
        frame.write_parquet(beside, compression="zstd", metadata={METADATA: json.dumps(metadata, ensure_ascii=False)})


def read_sweep(path: str | Path, *, verdict: str | None = None, hardware: Sequence[str | Path] = ()) -> Verdict:
    """Say what a finished table of runs says.

    Parameters
    ----------
    path : str or Path
        A file of `sweep`.
    verdict : str, optional
        Another question than its grid's, of `tracestat.simulate.grids.VERDICTS`.
    hardware : sequence of str or Path
        Machines to mark on the map of ``where``.

    Raises
    ------
    TracestatError
        It cannot be read, or is no table of runs.
    """
    file = Path(path)
    try:
        told = json.loads(pl.read_parquet_metadata(file)[METADATA])
        frame = pl.read_parquet(file)
        kind = verdict or told["grid"]["verdict"]
        given: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in told["head"].items()}
        given["trace"] = TraceInfo(**given["trace"])
        head = Head(**given)
    except OSError as error:
        raise TracestatError(f"{file.name}: cannot be read ({error.strerror}); check the name") from None
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise TracestatError(f"{file.name}: is no table of runs; give a file of `tracestat simulate sweep`") from None
    if dict(frame.schema) != dict(RUN_SCHEMA):
        raise TracestatError(f"{file.name}: its columns are not those of this version; sweep again")
    machines = [tracestat.load_hardware(name) for name in hardware]
    return verdict_of(kind, frame, head=head, machines=machines)
