"""Runs of a grid in parts that stay: what is finished is kept beside the output, and a second start goes on there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from tracestat.api.simulation_inputs import Prepared
from tracestat.errors import TracestatError
from tracestat.replacing import replacing
from tracestat.simulate.configurations import Configuration
from tracestat.simulate.runs import RUN_COLUMNS, Row, run_once

if TYPE_CHECKING:
    from concurrent.futures import Future

    import loky

__all__ = ["RUN_SCHEMA", "Parts", "batches_of", "frame_of", "plan_of_sweep", "run_batches"]

RUN_SCHEMA: Final = pl.Schema({name: {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}[kind]
                               for name, kind in RUN_COLUMNS.items()})  # fmt: skip
# runs that are handed out, and kept, together: one with numba takes hundredths of a second
_RUNS_PER_BATCH: Final = 16
_PLAN: Final = "plan.json"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some runs of a grid, in order."""

    number: int
    runs: tuple[tuple[Configuration, int], ...]


def batches_of(configurations: Sequence[Configuration], seeds: int) -> tuple[Batch, ...]:
    """Part the runs of a grid: configuration by configuration, seed by seed.

    Examples
    --------
    >>> [len(batch.runs) for batch in batches_of([Configuration(), Configuration(load=2)], 10)]
    [16, 4]
    """
    runs = [(one, seed) for one in configurations for seed in range(seeds)]
    return tuple(
        Batch(place // _RUNS_PER_BATCH, tuple(runs[place : place + _RUNS_PER_BATCH]))
        for place in range(0, len(runs), _RUNS_PER_BATCH)
    )


def plan_of_sweep(configurations: Sequence[Configuration], seeds: int, of: Sequence[str]) -> str:
    """Give a digest of all that decides what the runs of a sweep say: parts of another one are none of this."""
    text = json.dumps([[astuple(one) for one in configurations], seeds, list(RUN_COLUMNS), list(of)])
    return hashlib.sha256(text.encode()).hexdigest()


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Make the table of runs."""
    return pl.DataFrame({name: [row[name] for row in rows] for name in RUN_SCHEMA}, schema=RUN_SCHEMA, strict=False)


@dataclass(frozen=True, slots=True)
class Parts:
    """A folder of finished batches.

    Attributes
    ----------
    folder : Path
    plan : str
        `plan_of_sweep`.
    """

    folder: Path
    plan: str

    def open(self) -> None:
        """Make the folder, or take the one that is there.

        Raises
        ------
        TracestatError
            It holds another sweep, or cannot be made.
        """
        try:
            self.folder.mkdir(exist_ok=True)
            mark = self.folder / _PLAN
            if not mark.exists():
                with replacing(mark) as beside:
                    beside.write_text(json.dumps({"plan": self.plan}), encoding="utf-8")
                return
            known = json.loads(mark.read_text(encoding="utf-8"))
        except OSError as error:
            why = error.strerror
            raise TracestatError(f"{self.folder.name}: cannot be used ({why}); name another output") from None
        except ValueError:
            known = None
        if not isinstance(known, dict) or known.get("plan") != self.plan:
            raise TracestatError(
                f"{self.folder.name}: holds finished runs of another grid, trace, constants or version; remove it, or "
                "name another output"
            )

    def path(self, batch: Batch) -> Path:
        """Give the file of a batch."""
        return self.folder / f"{batch.number:06d}.parquet"

    def read(self, batch: Batch) -> pl.DataFrame | None:
        """Give the runs of a finished batch; None where it is not finished, or its file is damaged."""
        path = self.path(batch)
        try:
            frame = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError):
            return None
        return frame if frame.schema == RUN_SCHEMA and frame.height == len(batch.runs) else None

    def write(self, batch: Batch, rows: Sequence[Row]) -> None:
        """Keep a finished batch."""
        with replacing(self.path(batch)) as beside:
            frame_of(rows).write_parquet(beside)

    def remove(self) -> None:
        """Take the folder away: its runs are in the output."""
        shutil.rmtree(self.folder, ignore_errors=True)


def run_batches(batches: Sequence[Batch], prepared: Prepared, *, jobs: int) -> Generator[tuple[Batch, list[Row]]]:
    """Run batches, in this process or in several, and give each when it is done, in whatever order.

    Raises
    ------
    UsageError, TracestatError
        As `run_once`; a process ended before its runs were done.
    """
    if jobs < 2 or len(batches) < 2:
        for batch in batches:
            yield batch, [_row(run, prepared) for run in batch.runs]
        return
    import loky
    from loky.process_executor import BrokenProcessPool

    with ExitStack() as opened:
        pool: loky.ProcessPoolExecutor = loky.ProcessPoolExecutor(jobs, initializer=_begin, initargs=(prepared,))
        opened.push(lambda kind, *_: pool.shutdown(kill_workers=kind is not None))
        left = list(reversed(batches))
        waiting: dict[Future[list[Row]], Batch] = {}
        try:
            while left or waiting:
                while left and len(waiting) < 2 * jobs:
                    batch = left.pop()
                    waiting[pool.submit(_work, batch)] = batch
                done = loky.wait(list(waiting), return_when=loky.FIRST_COMPLETED).done
                for future in done:
                    yield waiting.pop(future), future.result()
        except BrokenProcessPool:
            raise TracestatError(
                "simulation: a process ended before its runs were done, perhaps for want of memory; try --jobs 1"
            ) from None


_shared: list[Prepared] = []  # a process that runs has one sweep for all its life
_started_by: list[int] = []


def _begin(prepared: Prepared) -> None:
    """Make a process ready: it leaves an interrupt to the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _shared[:] = [prepared]
    _started_by[:] = [os.getppid()]


def _work(batch: Batch) -> list[Row]:
    rows = []
    for run in batch.runs:
        # killed without a word, the other one leaves batches behind that nobody waits for
        if os.getppid() != _started_by[0]:
            os._exit(1)
        rows.append(_row(run, _shared[0]))
    return rows


def _row(run: tuple[Configuration, int], prepared: Prepared) -> Row:
    one, seed = run
    return run_once(one, seed, prepared.inputs(one), prepared.machines[one.hardware]).row
