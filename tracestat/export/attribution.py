"""Whose data a file is made of, under which licence: it travels in every exported file, or beside it.

A release of TraceLab is known by its SHA-256. Of any other source the licence is what the caller says, else what a
``FILE.about.json`` of an earlier export said when the source was read, else unknown: nothing is guessed from a format.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from tracestat.errors import UsageError
from tracestat.fetch import RELEASES
from tracestat.ingest.about import MOST_CHARS, UNKNOWN, about_path, licence_in, write_said
from tracestat.queries import query_text
from tracestat.store import Trace

__all__ = ["Attribution", "about_path", "attribution_of", "write_about"]

_TRACELAB = (
    "TraceLab {release} by Zhu, Jacob, Ma, Pan, Wang, Krishnamurthy and Kasikci (SyFI Lab, University of Washington; "
    "arXiv 2606.30560)"
)
_SYNTHETIC = "synthetic, made by tracestat synth: no evidence about anything"
_INVENTED = ("Apache-2.0", _SYNTHETIC)


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where numbers come from and what may be done with them.

    Attributes
    ----------
    source : str
        Name of the trace, as results show it.
    fingerprint : str
        ``sha256:`` over its sources.
    synthetic : bool
    licence : str or None
        SPDX identifier or the caller's words; None where unknown.
    attribution : str
        Whom to name, or what is unknown.
    changes : str
        What was done to the data (licences of the CC BY kind ask for it).
    """

    source: str
    fingerprint: str
    synthetic: bool
    licence: str | None
    attribution: str
    changes: str

    def to_dict(self) -> dict[str, str | bool | None]:
        """Give JSON data."""
        return asdict(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """Give it as text, a line each, for formats that have comments."""
        mark = ("SYNTHETIC",) if self.synthetic else ()
        return (
            *mark,
            f"source: {self.source} ({self.fingerprint})",
            f"licence: {self.licence or 'unknown'}",
            f"attribution: {self.attribution}",
            f"changes: {self.changes}",
        )


def attribution_of(
    trace: Trace, changes: str, *, licence: str | None = None, attribution: str | None = None
) -> Attribution:
    """Say whose data a trace is.

    Parameters
    ----------
    trace : Trace
    changes : str
        What the exporter did, for example ``"durations per key, by tracestat"``.
    licence, attribution : str, optional
        What the caller knows of the source, in place of what is found.

    Returns
    -------
    Attribution

    Raises
    ------
    UsageError
        An empty licence or attribution, or one of more than a line or 1,000 characters.

    Examples
    --------
    >>> import tracestat
    >>> attribution_of(tracestat.open(), "none").licence
    'Apache-2.0'
    """
    for option, text in (("--licence", licence), ("--attribution", attribution)):
        if text is not None and (not text.strip() or not text.strip().isprintable() or len(text) > MOST_CHARS):
            raise UsageError(f"{option}: give one line of text, at most {MOST_CHARS:,} characters")
    found, whom = _found(trace)
    return Attribution(
        trace.shown,
        trace.fingerprint,
        trace.synthetic,
        found if licence is None else licence.strip(),
        whom if attribution is None else attribution.strip(),
        changes,
    )


def _found(trace: Trace) -> tuple[str | None, str]:
    """Put together what is known of the sources: by their digests, else by what stood beside them when read."""
    # two tags share a file: the first of the list names it
    tags = {asset.sha256: tag for tag, kinds in reversed(list(RELEASES.items())) for asset in kinds.values()}
    sources = trace.run(query_text("ingest_sources"))
    digests = sources["sha256"].to_list()
    released = _TRACELAB.format(release=" and ".join(sorted({tags[digest] for digest in digests if digest in tags})))
    said = [licence_in(note) for note in sources["note"]]
    if trace.synthetic:
        claims = [claim or _INVENTED for claim in said] or [_INVENTED]
        claims = [(licence, whom if "synthetic" in whom else f"{_SYNTHETIC}; {whom}") for licence, whom in claims]
    else:
        claims = [
            ("CC-BY-4.0", released) if digest in tags else claim or (None, UNKNOWN)
            for digest, claim in zip(digests, said, strict=True)
        ] or [(None, UNKNOWN)]
    distinct = list(dict.fromkeys(claims))
    if len({licence for licence, _ in distinct}) == 1:
        return distinct[0][0], "; ".join(whom for _, whom in distinct)
    parts = [f"in part {whom}, {licence}" for licence, whom in distinct if licence is not None]
    rest = [f"for the rest {whom}" for licence, whom in distinct if licence is None]
    return None, "; ".join((*parts, *rest))


def write_about(path: Path, about: Attribution, *, notes: tuple[str, ...] = (), digest: str | None = None) -> Path:
    """Write what a reader must know of a finished file beside it.

    Parameters
    ----------
    path : Path
        The file, complete.
    about : Attribution
    notes : tuple of str
        What else a reader must know, a line each.
    digest : str, optional
        The SHA-256 of what is no single file; that of the file by default.

    Returns
    -------
    Path
        `about_path` of the file.

    Raises
    ------
    TracestatError
        It cannot be written.
    """
    return write_said(path, about.to_dict(), notes=notes, digest=digest)
