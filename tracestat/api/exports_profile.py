"""``export profile``: the laws of a corpus as one file, from which sessions can be drawn again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tracestat.api.common import Progress, TraceLike, as_trace
from tracestat.api.key_laws import key_laws
from tracestat.api.memoryfulness import memoryfulness
from tracestat.durations.sequence import session_sequence
from tracestat.export.attribution import Attribution, attribution_of
from tracestat.export.profile import check_ending, profile_of, programs_of, write_profile
from tracestat.export.profile_sessions import provider_sessions, recorded, with_states
from tracestat.fetch import RELEASES
from tracestat.queries import query_text

if TYPE_CHECKING:
    from tracestat.results.profile import Profile
    from tracestat.store import Trace

__all__ = ["ProfileExport", "export_profile"]

_CHANGES = (
    "reduced by tracestat to the laws of keys and to counts and quantiles of sessions; no row of the source is kept"
)


@dataclass(frozen=True, slots=True)
class ProfileExport:
    """What was written.

    Attributes
    ----------
    path : Path
        The file.
    profile : Profile
        Its content.
    about : Attribution
    """

    path: Path
    profile: Profile
    about: Attribution

    @property
    def n_keys(self) -> int:
        """Keys, of all levels."""
        return len(self.profile.keys)


def export_profile(
    trace: TraceLike,
    path: str | Path,
    *,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    min_n: int | None = None,
    seed: int = 0,
    licence: str | None = None,
    attribution: str | None = None,
    progress: Progress | None = None,
) -> ProfileExport:
    """Write the laws of a trace as ``tracestat-profile``, JSON with times in milliseconds.

    Keys hold the law of tool pauses (wall clock, tool rows), programs the law of the number of rounds, sessions what
    ``tracestat synth --from`` draws from. Nothing of a single session is in it, but for keys that occur once.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    path : str or Path
        ``.json``; a file that is there is replaced once the new one is complete.
    where : str, optional
        Condition on what a whole session has once: provider, developer, project, session, day, week, hour, weekday.
    since, until, tz : str, optional
        Sessions (and, for the laws, pauses) that started then.
    min_n : int, optional
        Keys with fewer rows show counts only.
    seed : int
        Seed of all random numbers.
    licence, attribution : str, optional
        What is known of the source, in place of what is found.
    progress : callable, optional
        As of `key_laws`.

    Returns
    -------
    ProfileExport

    Raises
    ------
    UsageError
        Another ending; a key that sessions do not have once.
    TracestatError
        The trace cannot be read, or the file not be written.

    Examples
    --------
    >>> import tempfile
    >>> import tracestat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_profile(tracestat.open(), f"{folder}/profile.json").profile.duration.definition
    'pause'
    """
    from tracestat.results.profile import QUANTILE_LEVELS

    target = Path(path)
    check_ending(target)
    opened = as_trace(trace)
    about = attribution_of(opened, _CHANGES, licence=licence, attribution=attribution)
    steps, _ = session_sequence(opened, by="provider", where=where, since=since, until=until, tz=tz)
    steps = with_states(steps)
    laws = key_laws(
        opened,
        unit="pause",
        where=where,
        since=since,
        until=until,
        tz=tz,
        min_n=min_n,
        laws=False,
        seed=seed,
        progress=progress,
    )
    turns = [
        memoryfulness(opened, by=by, where=where, since=since, until=until, tz=tz, seed=seed)
        for by in ("provider", "none")
    ]
    parts = {str(name): own for (name,), own in steps.partition_by("provider", as_dict=True).items()}
    profile = profile_of(
        laws,
        programs_of(*turns),
        [provider_sessions(parts[name], name) for name in sorted(parts)],
        [row for name in sorted(parts) for row in recorded(parts[name], name)],
        about,
        version=_release(opened),
        levels=QUANTILE_LEVELS,
        notes=[] if steps.height else ["no sessions: there is nothing to draw from"],
    )
    write_profile(profile, target)
    return ProfileExport(target, profile, about)


def _release(trace: Trace) -> str | None:
    """Name the release that all sources are of."""
    tags = {asset.sha256: tag for tag, kinds in RELEASES.items() for asset in kinds.values()}
    found = {tags.get(digest) for digest in trace.run(query_text("ingest_sources"))["sha256"].to_list()}
    return found.pop() if len(found) == 1 else None
