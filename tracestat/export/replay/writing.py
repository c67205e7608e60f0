"""Write a trace as one of the formats, with a file about it beside."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tracestat.errors import TracestatError, UsageError
from tracestat.export.attribution import Attribution, about_path, write_about
from tracestat.export.replay.blis import blis_header
from tracestat.export.replay.counts import Counts
from tracestat.export.replay.formats import ReplayFormat
from tracestat.export.replay.kv_cache_tester import weka_files
from tracestat.export.replay.loading import families
from tracestat.export.replay.model import Family
from tracestat.export.replay.notes import replay_notes
from tracestat.export.replay.options import ReplayOptions
from tracestat.export.replay.plan import plan_replay
from tracestat.export.replay.settings import Settings
from tracestat.export.writing import replacing_lines
from tracestat.replacing import replacing

if TYPE_CHECKING:
    from tracestat.durations.selection import Selection
    from tracestat.store import Trace

__all__ = ["ReplayExport", "check_options", "write_replay"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ReplayExport:
    """What was written.

    Attributes
    ----------
    path : Path
        The file, or the folder.
    sha256 : str
        Of the file; of a folder, over names, lengths and contents of its files.
    size : int
        Bytes.
    beside : tuple of Path
        The header where the format has one, and the file about it.
    about : Attribution
    format : str
    counts : Counts
        Of the written sessions.
    left_out : int
        Sessions whose tokens are unknown or cannot be.
    subagents, linked : int
        Sessions of sub-agents among the written, and those of them that are tied to the step that called them.
    notes : tuple of str
        What a reader must know; the file about it has them too.
    """

    path: Path
    sha256: str
    size: int
    beside: tuple[Path, ...]
    about: Attribution
    format: str
    counts: Counts
    left_out: int
    subagents: int
    linked: int
    notes: tuple[str, ...]

    def numbers(self) -> dict[str, int]:
        """Give all that was counted."""
        return {**asdict(self.counts), "left_out": self.left_out, "subagents": self.subagents, "linked": self.linked}


def check_options(form: ReplayFormat, path: Path, options: ReplayOptions) -> None:
    """Refuse what the format cannot do, before anything is computed.

    Raises
    ------
    UsageError
    """
    if options.start not in ("zero", "recorded"):
        raise UsageError(f"--start {options.start}: give zero or recorded")
    if options.start == "recorded" and not form.has_start:
        raise UsageError(f"--start recorded: {form.name} cannot say when a session begins; leave it out")
    if options.block_size is not None and form.block_size is None:
        raise UsageError(f"--block-size: {form.name} has no cache blocks; leave it out")
    if options.block_size is not None and options.block_size < 1:
        raise UsageError(f"--block-size {options.block_size}: give 1 or more")
    if options.token_ids and form.name != "llmservingsim":
        raise UsageError(f"--token-ids: {form.name} has none; leave it out")
    if form.endings and not path.name.lower().endswith(form.endings):
        raise UsageError(f"-o {path.name}: the name must end in {' or '.join(form.endings)} for {form.name}")
    if not form.endings:
        _check_folder(path)
    for beside in _beside(form, path):
        if beside.is_dir():
            raise UsageError(
                f"-o {path.name}: {beside.name} is to stand beside it, and is a folder; choose another name"
            )


def _beside(form: ReplayFormat, path: Path) -> tuple[Path, ...]:
    return (*((path.with_suffix(".yaml"),) if form.name == "blis-v2" else ()), about_path(path))


def _check_folder(path: Path) -> None:
    if not path.name:
        raise UsageError(f"-o {path}: give the folder a name of its own")
    if path.exists() and not path.is_dir():
        raise UsageError(f"-o {path.name}: kv-cache-tester takes a folder with a file per session; this is a file")
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(f"-o {path.name}: the folder has files in it; name a new or an empty one")


def write_replay(
    trace: Trace,
    path: Path,
    form: ReplayFormat,
    selection: Selection,
    options: ReplayOptions,
    about: Attribution,
    *,
    progress: Progress | None = None,
) -> ReplayExport:
    """Write the chosen sessions, a bounded number of them in memory at a time.

    Parameters
    ----------
    trace : Trace
    path : Path
        Replaced once the new file is complete; a folder must be new or empty.
    form : ReplayFormat
    selection : Selection
        Of whole sessions.
    options : ReplayOptions
    about : Attribution
    progress : callable, optional
        Called with (steps done, steps in all).

    Returns
    -------
    ReplayExport

    Raises
    ------
    UsageError
        An option that the format does not have, another ending, a folder with files in it.
    TracestatError
        The store cannot be read, or the file not be written.
    """
    check_options(form, path, options)
    plan = plan_replay(
        trace,
        selection,
        recorded_start=options.start == "recorded",
        scale_context=options.scale_context,
        sessions=options.sessions,
        seed=options.seed,
        depth=form.depth,
    )
    settings = Settings(
        options.block_size or form.block_size or 1, options.start == "recorded", options.token_ids, about
    )
    tally = _Tally()
    read = tally.counted(
        families(trace, plan, options.human_gap, form=form),
        sum(member.steps for member in plan.members),
        progress,
    )
    written = _Digest()
    if form.lines is None:
        _write_folder(path, written.named(weka_files(read, settings)))
    else:
        with replacing_lines(path, form.endings) as write:
            for line in form.lines(read, settings):
                write(written.passed(line))
    *header, _ = _beside(form, path)
    for target in header:
        _write_header(target, settings)
    linked = sum(member.parent is not None for member in plan.members)
    notes = replay_notes(form, plan, options, tally.counts, linked, settings)
    beside = (*header, write_about(path, about, notes=notes, digest=written.sha256))
    return ReplayExport(
        path=path,
        sha256=written.sha256,
        size=written.size,
        beside=beside,
        about=about,
        format=form.name,
        counts=tally.counts,
        left_out=plan.left_out,
        subagents=plan.subagents,
        linked=linked,
        notes=notes,
    )


class _Tally:
    """Counts what passes through."""

    def __init__(self) -> None:
        self.counts = Counts()

    def counted(self, read: Iterable[tuple[Family, Counts]], steps: int, progress: Progress | None) -> Iterator[Family]:
        for family, counts in read:
            yield family
            self.counts = self.counts + counts
            if progress is not None:
                progress(self.counts.steps, steps)


class _Digest:
    """Hashes and counts what passes through."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def passed(self, content: bytes) -> bytes:
        self._hash.update(content)
        self.size += len(content)
        return content

    def named(self, contents: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        for name, content in contents:
            self._hash.update(f"{name}\0{len(content)}\0".encode())
            yield name, self.passed(content)


def _write_header(path: Path, settings: Settings) -> None:
    with replacing(path) as beside:
        beside.write_bytes(blis_header(settings))


def _write_folder(path: Path, contents: Iterable[tuple[str, bytes]]) -> None:
    """Write a folder that stands in its place once all its files do."""
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{secrets.token_hex(6)}.{target.name}")
    try:
        beside.mkdir()
        for name, content in contents:
            with (beside / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        if target.is_dir():
            target.rmdir()
        beside.rename(target)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise TracestatError(f"{path.name}: cannot be written ({reason}); choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(beside, ignore_errors=True)
