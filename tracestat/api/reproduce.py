"""``reproduce``: each published figure beside ours, under the stated definition and the range over others."""

from __future__ import annotations

import hashlib
import math
import shlex
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from tracestat.api.answers import Answer, Question, Source, answer_of
from tracestat.api.common import TraceLike, as_trace, head_of
from tracestat.durations import Selection
from tracestat.errors import UsageError
from tracestat.published import BASE_UNITS, Asked, Definition, Figure, Origin, known_release, load_published, verdict_of
from tracestat.queries import data_path
from tracestat.results import NOT_AVAILABLE, ReproducedFigure, ReproduceResult
from tracestat.store import fingerprint_of

if TYPE_CHECKING:
    from tracestat.store import Trace

__all__ = ["reproduce"]

_OTHER_RELEASE = "the figure is about {release}, this trace is {ours}"


def reproduce(
    trace: TraceLike, *, only: str | None = None, source: Origin | Literal["all"] | None = None, seed: int = 0
) -> ReproduceResult:
    """Put each published figure beside ours.

    Parameters
    ----------
    trace : Trace, str or Path
        What to read.
    only : str, optional
        Figures whose id begins so.
    source : {"article", "tracelab", "others", "all"}, optional
        Figures of this kind of source; default the article's, or all that ``only`` names.
    seed : int
        Seed of the bootstrap draws.

    Returns
    -------
    ReproduceResult
        A row per published number. Ours stands first under the stated or most likely definition, with its interval;
        behind it the range over all definitions and the one that comes nearest, since sources state few.

    Raises
    ------
    UsageError
        No published figure has such an id, or there is no such kind of source.

    Notes
    -----
    ``agrees`` and ``differs`` are said only where the trace is the release that the figure speaks of, known by the
    hash of its file. Elsewhere a figure is about other sessions, and ours is higher, lower, or overlaps.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.reproduce(tracestat.open(), only="article.lt1s")
    >>> [(row.id, row.published) for row in result.rows]
    [('article.lt1s', 0.7)]
    """
    kinds = (*get_args(Origin), "all")
    if source is not None and source not in kinds:
        raise UsageError(f"--source {source}: not known; it is one of {', '.join(kinds)}")
    chosen = source or ("article" if only is None else "all")
    origin = None if chosen == "all" else chosen
    published = load_published()
    figures = published.select(only=only, origin=origin)
    if not figures:
        elsewhere = sorted({figure.origin for figure in published.select(only=only)})
        if only is not None and elsewhere:
            raise UsageError(
                f"--only {only} --source {chosen}: figures whose id begins so are of {' and '.join(elsewhere)}; "
                f"leave out --source, or give --source {elsewhere[0]}"
            )
        heads = sorted({figure.id.partition(".")[0] for figure in published.select(origin=origin)})
        raise UsageError(
            f"--only {only}: no published figure has an id that begins so; ids begin with {', '.join(heads)}"
        )
    opened = as_trace(trace)
    asked = Source(opened, seed)
    release = known_release(opened.fingerprint)
    named = _named(opened)
    rows = tuple(_row(asked, figure, release, named) for figure in figures)
    head = head_of(opened, Selection(rows="all"), "reproduce", seed=seed, notes=_notes(opened, release))
    others: Counter[str] = Counter(figure.origin for figure in published.select(only=only) if figure.origin != origin)
    not_shown: dict[str, int] = {} if origin is None else dict(others)
    return ReproduceResult(replace(head, unit=None, clock=None), release, rows, not_shown)


def _notes(trace: Trace, release: str | None) -> tuple[str, ...]:
    if release is not None:
        return (f"this trace is TraceLab {release}, by the hash of its file",)
    if trace.synthetic:
        return ("this trace is synthetic: what it shows is how it was made",)
    return ("this trace is no known TraceLab release: it can be higher or lower than a figure, not contradict it",)


def _named(trace: Trace) -> str:
    """Give the trace as a command names it; the bundled sample needs no name."""
    sample = hashlib.sha256(data_path("sample.jsonl.gz").read_bytes()).hexdigest()
    if trace.fingerprint == fingerprint_of([sample]):
        return ""
    return "--mine" if trace.shown.startswith("logs/") else shlex.quote(trace.shown)


def _row(source: Source, figure: Figure, release: str | None, named: str) -> ReproducedFigure:
    answer = Answer(NOT_AVAILABLE, figure.no_answer or "")
    numbers: list[tuple[Definition, float | None]] = []
    first = nearest = None
    if figure.answer is not None:
        first = figure.answer.definitions[0]
        answer, numbers = _asked(source, figure.answer, figure.unit)
        nearest = _nearest(figure.value, numbers)
    same = release is not None and release == figure.release
    why = answer.why if answer.value.value is None else ""
    if answer.value.value is not None and release is not None and figure.release is not None and not same:
        why = _OTHER_RELEASE.format(release=figure.release, ours=release)
    known = [number for _, number in numbers if number is not None]
    command = answer.command
    own = command is None
    words = ["tracestat", *(("reproduce",) if command is None else (command.name,)), *([named] if named else [])]
    words += ["--only", shlex.quote(figure.id)] if command is None else map(shlex.quote, command.arguments[1:])
    return ReproducedFigure(
        id=figure.id,
        of=figure.of,
        origin=figure.origin,
        theme=figure.theme,
        statement=figure.statement,
        provider=figure.provider,
        corpus=figure.corpus,
        release=figure.release,
        unit=figure.unit,
        printed=figure.printed,
        published=figure.value,
        published_low=figure.low,
        published_high=figure.high,
        source=figure.source,
        definition=None if first is None else first.text,
        ours=answer.value,
        range=(min(known), max(known)) if known else None,
        nearest_definition=None if nearest is None else nearest[0].text,
        nearest=None if nearest is None else nearest[1],
        by_definition=tuple((definition.text, number) for definition, number in numbers),
        verdict=verdict_of(figure.low, figure.high, answer.value, same_trace=same),
        why=why,
        note=answer.why if answer.value.value is not None else "",
        command=" ".join([*words, "--json"]),
        at=f"rows[id={figure.id}]/ours/value" if command is None else command.at,
        times=1.0 if own or command is None else command.times / BASE_UNITS.get(figure.unit, 1.0),
    )


def _asked(source: Source, asked: Asked, unit: str) -> tuple[Answer, list[tuple[Definition, float | None]]]:
    """Answer under each definition, in the unit of the figure; the first with its interval."""
    size = BASE_UNITS.get(unit, 1.0)
    first = Answer(NOT_AVAILABLE)
    numbers: list[tuple[Definition, float | None]] = []
    for place, definition in enumerate(asked.definitions):
        question = Question(asked.parameters, definition.choices, definition.provider, interval=place == 0)
        answer = answer_of(source, asked.name, question)
        answer = replace(answer, value=answer.value.times(1 / size))
        if place == 0:
            first = answer
        numbers.append((definition, answer.value.value))
    return first, numbers


def _nearest(
    published: float | None, numbers: list[tuple[Definition, float | None]]
) -> tuple[Definition, float] | None:
    """Give the definition that comes nearest, by ratio where both numbers are positive; of equals the first."""
    known = [(definition, number) for definition, number in numbers if number is not None]
    if published is None or not known:
        return None

    def distance(item: tuple[Definition, float]) -> tuple[bool, float]:
        number = item[1]
        if published > 0 and number > 0:
            return False, abs(math.log(number / published))
        return published > 0, abs(number - published)

    return min(known, key=distance)
