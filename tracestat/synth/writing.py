"""`synth_trace`: write a trace, session by session, and its truth beside it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, overload

from tracestat.errors import TracestatError, UsageError
from tracestat.ingest.about import write_said
from tracestat.replacing import replacing
from tracestat.synth import known
from tracestat.synth.catalogue import PROVIDERS
from tracestat.synth.claude import claude_session
from tracestat.synth.codex import codex_session
from tracestat.synth.life import Developer, Plan, Round, Shop
from tracestat.synth.like_figures import targets
from tracestat.synth.like_tracelab import DEFAULT_SESSIONS, LikeTruth, write_like
from tracestat.synth.population import members, people, plans
from tracestat.synth.rows import row
from tracestat.synth.tally import Tally
from tracestat.synth.truth import SynthTruth

if TYPE_CHECKING:
    from tracestat.synth.from_profile_truth import ProfileTruth

__all__ = ["VERSION", "synth_trace", "truth_path"]

VERSION = "1"
"""Version of the generator: it changes whenever the same seed gives other rows."""

LEAST_LIKE = 20
DRAWN = 200
_SUFFIXES = (".jsonl.gz", ".jsonl")
_LIVES: dict[str, Callable[[Plan, Shop], Iterator[Round]]] = {"claude": claude_session, "codex": codex_session}
_TEXT_BYTES = 1 << 20  # rows are handed to the compressor in pieces of about this size


def truth_path(path: str | os.PathLike[str]) -> Path:
    """Give the place of the truth file of a trace.

    Parameters
    ----------
    path : str or path-like
        Ends in ``.jsonl`` or ``.jsonl.gz``.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        For another suffix.

    Examples
    --------
    >>> truth_path("t.jsonl.gz").name
    't.truth.json'
    """
    path = Path(path)
    for suffix in _SUFFIXES:
        if path.name.endswith(suffix) and path.name != suffix:
            return path.with_name(path.name[: -len(suffix)] + ".truth.json")
    msg = f"{path.name}: a synthetic trace is written as .jsonl or .jsonl.gz; give it one of these suffixes"
    raise UsageError(msg)


@overload
def synth_trace(
    path: str | os.PathLike[str],
    *,
    sessions: int,
    seed: int = 0,
    developers: int | None = None,
    codex_share: float = 0.34,
    progress: Callable[[int, int], None] | None = None,
    like: None = None,
    shifts: None = None,
) -> SynthTruth: ...


@overload
def synth_trace(
    path: str | os.PathLike[str],
    *,
    sessions: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    like: Literal["tracelab"],
    shifts: Mapping[str, float] | None = None,
) -> LikeTruth: ...


@overload
def synth_trace(
    path: str | os.PathLike[str],
    *,
    sessions: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    profile: str | os.PathLike[str],
) -> ProfileTruth: ...


def synth_trace(
    path: str | os.PathLike[str],
    *,
    sessions: int | None = None,
    seed: int = 0,
    developers: int | None = None,
    codex_share: float = 0.34,
    progress: Callable[[int, int], None] | None = None,
    like: Literal["tracelab"] | None = None,
    shifts: Mapping[str, float] | None = None,
    profile: str | os.PathLike[str] | None = None,
) -> SynthTruth | LikeTruth | ProfileTruth:
    """Write a trace with known truth in TraceLab's v0.0.2 form, and ``<stem>.truth.json`` beside it.

    Memory does not depend on the size: one session is held at a time. The rows are a function of the arguments
    alone; both files replace older ones only when they are complete.

    Parameters
    ----------
    path : str or path-like
        ``.jsonl`` or ``.jsonl.gz``.
    sessions : int
        At least 1. A session has about 80 rounds; 8,058 sessions make a trace of the size of TraceLab v0.0.2. With
        `like`, at least 20, and 1,000 by default.
    seed : int
        Not negative.
    developers : int, optional
        At most `sessions`. By default one for every 25 sessions, but at least 24 and at most 52, as far as there
        are sessions.
    codex_share : float
        Share of the sessions that are Codex', in [0, 1].
    progress : callable, optional
        Called with (sessions done, sessions in all).
    like : "tracelab", optional
        Meet the published figures of TraceLab v0.0.2 by construction; see `tracestat.synth.like_tracelab`. Memory then
        grows with the size, some 400 MB at the full one.
    shifts : mapping of str to float, optional
        With `like`: factor by figure, to miss it on purpose.
    profile : str or path-like, optional
        A file of ``tracestat export profile``: sessions are drawn from it alone, 200 by default. Its licence and whom
        to name stand in ``<path>.about.json``, which ingest reads.

    Returns
    -------
    SynthTruth, LikeTruth or ProfileTruth

    Raises
    ------
    UsageError
        For arguments outside these bounds.
    TracestatError
        When the folder does not exist or cannot be written to; when `profile` is damaged or of a later version.

    References
    ----------
    1. F. Proschan (1963). Theoretical explanation of observed decreasing failure rate. Technometrics 5, 375-383.
    2. J. W. Vaupel, A. I. Yashin (1985). Heterogeneity's ruses. The American Statistician 39, 176-185.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     truth = synth_trace(f"{folder}/t.jsonl", sessions=2)
    >>> truth.written["claude"].sessions, truth.written["codex"].sessions
    (1, 1)
    """
    target = Path(path)
    beside = truth_path(target)
    if profile is not None:
        if like is not None or developers is not None or shifts:
            raise UsageError("profile: sessions and seed are all that can be chosen beside it")
        return _from_profile(target, beside, Path(profile), DRAWN if sessions is None else sessions, seed, progress)
    if like is not None:
        if like != "tracelab":
            raise UsageError(f"like = {like}: there is only tracelab")
        if developers is not None:
            raise UsageError("developers: their number is a figure here; shift article.sessions.developers")
        return _like(target, beside, DEFAULT_SESSIONS if sessions is None else sessions, seed, shifts or {}, progress)
    if shifts:
        raise UsageError("shifts: only the figures of a stand-in can be shifted; give like as well")
    if sessions is None:
        raise UsageError("sessions: say how many")
    if sessions < 1:
        msg = f"sessions = {sessions}: a trace needs at least one session"
        raise UsageError(msg)
    if seed < 0:
        msg = f"seed = {seed}: give a seed of 0 or more"
        raise UsageError(msg)
    if not 0.0 <= codex_share <= 1.0:
        msg = f"codex_share = {codex_share}: give a share between 0 and 1"
        raise UsageError(msg)
    if developers is None:
        developers = min(sessions, max(24, min(52, sessions // 25)))
    if not 1 <= developers <= sessions:
        msg = f"developers = {developers}: give at least 1 and at most one per session ({sessions})"
        raise UsageError(msg)
    who = people(seed, developers)
    codex = round(sessions * codex_share)
    shares = {"claude": sessions - codex, "codex": codex}
    shops = {name: Shop(provider) for name, provider in PROVIDERS.items()}
    tallies = {name: Tally(provider) for name, provider in PROVIDERS.items()}
    with replacing(beside) as truth_file, replacing(target) as trace_file, trace_file.open("wb") as file:
        with _sink(file, target) as write:
            first = 0
            for name, some in shares.items():
                done = None if progress is None else _counting_on(progress, first, sessions)
                _write_provider(write, shops[name], tallies[name], seed, some, first, who, done)
                first += some
        truth = SynthTruth(
            file=target.name,
            version=VERSION,
            seed=seed,
            sessions=sessions,
            developers=developers,
            codex_share=codex_share,
            laws=tuple(law for shop in shops.values() for law in known.laws(shop)),
            classes=tuple(c for name, s in shops.items() for c in known.classes(s, tallies[name], who)),
            effects=tuple(known.effects(shops, who)),
            atoms=tuple(a for name, p in PROVIDERS.items() for a in known.atoms(p, tallies[name])),
            turns=tuple(t for p in PROVIDERS.values() for t in known.turns(p)),
            waits=tuple(w for p in PROVIDERS.values() for w in known.waits(p)),
            written={name: tally.written() for name, tally in tallies.items()},
            developers_written=len(set().union(*(tally.users for tally in tallies.values()))),
        )
        truth_file.write_bytes(json.dumps(truth.to_dict(), indent=1, allow_nan=False).encode() + b"\n")
    return truth


def _from_profile(
    target: Path,
    beside: Path,
    profile: Path,
    sessions: int,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> ProfileTruth:
    if sessions < 1:
        raise UsageError(f"sessions = {sessions}: a trace needs at least one session")
    if seed < 0:
        raise UsageError(f"seed = {seed}: give a seed of 0 or more")
    # msgspec is imported for profiles only
    from tracestat.synth.from_profile import write_from_profile
    from tracestat.synth.from_profile_reading import read_profile

    read = read_profile(profile)
    if not read.profile.sessions.providers:
        raise TracestatError(f"{read.file}: it has no sessions to draw from - at `$.sessions.providers`")
    with replacing(beside) as truth_file, replacing(target) as trace_file, trace_file.open("wb") as file:
        with _sink(file, target) as write:
            truth = write_from_profile(
                write, read, file=target.name, version=VERSION, sessions=sessions, seed=seed, progress=progress
            )
        truth_file.write_bytes(json.dumps(truth.to_dict(), indent=1, allow_nan=False).encode() + b"\n")
    # what is drawn of a corpus keeps its licence: a later ingest reads this file
    write_said(target, truth.said())
    return truth


def _like(
    target: Path,
    beside: Path,
    sessions: int,
    seed: int,
    shifts: Mapping[str, float],
    progress: Callable[[int, int], None] | None,
) -> LikeTruth:
    if sessions < LEAST_LIKE:
        raise UsageError(f"sessions = {sessions}: a stand-in needs at least {LEAST_LIKE} sessions")
    if seed < 0:
        raise UsageError(f"seed = {seed}: give a seed of 0 or more")
    asked = targets(sessions, shifts)
    with replacing(beside) as truth_file, replacing(target) as trace_file, trace_file.open("wb") as file:
        with _sink(file, target) as write:
            truth = write_like(write, asked, file=target.name, version=VERSION, seed=seed, progress=progress)
        truth_file.write_bytes(json.dumps(truth.to_dict(), indent=1, allow_nan=False).encode() + b"\n")
    return truth


def _counting_on(progress: Callable[[int, int], None], start: int, total: int) -> Callable[[], None]:
    numbers = count(start + 1)
    return lambda: progress(next(numbers), total)


def _write_provider(
    write: Callable[[bytes], object],
    shop: Shop,
    tally: Tally,
    seed: int,
    sessions: int,
    first: int,
    who: tuple[Developer, ...],
    done: Callable[[], None] | None,
) -> None:
    provider = shop.provider
    live = _LIVES[provider.name]
    lines: list[str] = []
    size = 0
    kept: list[tuple[str, Round]] = []  # the session before, as far as the next one copies it
    kept_id, end_ms = "", 0
    for plan, keep in plans(provider, seed, sessions, first, members(provider, who)):
        tally.begin(plan)
        if done is not None:
            done()
        own: list[tuple[str, Round]] = []
        past = _copied(kept) if plan.resumes else []
        if past:
            for text, r in past:
                copy = text.replace(kept_id, plan.session_id)
                lines.append(copy)
                size += len(copy)
                own.append((copy, r))
                tally.copied(r)
            latest = past[-1][1]
            plan.first_round = latest.index + 1
            plan.context_tokens = latest.prefix + latest.uncached + latest.created
            plan.start_ms = max(plan.start_ms, end_ms + 3_600_000)
        for r in live(plan, shop):
            tally.add(plan, r)
            text = row(plan, r)
            lines.append(text)
            size += len(text)
            if keep:
                own.append((text, r))
            end_ms = max(r.last_output, r.reported or 0, *(c.result or 0 for c in r.calls), 0)
            if size > _TEXT_BYTES:
                write(("\n".join(lines) + "\n").encode())
                lines, size = [], 0
        tally.end()
        kept, kept_id = own if keep else [], plan.session_id
    if lines:
        write(("\n".join(lines) + "\n").encode())


def _copied(kept: list[tuple[str, Round]]) -> list[tuple[str, Round]]:
    """Cut the past that is copied after its last answered request, so that no result is left hanging."""
    answered = [i + 1 for i, (_, r) in enumerate(kept) if r.ending == "answer"]
    return kept[: answered[-1]] if answered else []


@contextmanager
def _sink(file: BinaryIO, target: Path) -> Iterator[Callable[[bytes], object]]:
    """Give what takes the bytes of the rows: the file, or a compressor before it."""
    if target.suffix != ".gz":
        yield file.write
        return
    # no name and no time in the header: equal rows give equal files
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=8, mtime=0) as packed:
        yield packed.write
