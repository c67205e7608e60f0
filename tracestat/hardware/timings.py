"""Measured timings: read from a file, and refused where no machine can have them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from tracestat.errors import TracestatError
from tracestat.hardware.constants import Timing
from tracestat.hardware.timing import KINDS

__all__ = ["check_timings", "read_timings"]

_FEWEST = 5
# no request is sent, prefilled and answered in less
_LEAST_SECONDS = 0.001
_LARGEST_FILE = 1 << 22
_LONGEST = 1 << 40
_COLUMNS = ("kind", "tokens", "ms")


def read_timings(path: Path) -> tuple[Timing, ...]:
    """Read timings from a file.

    Parameters
    ----------
    path : Path
        ``.csv`` with the header ``kind,tokens,ms``, or ``.json`` with a list of objects that have these keys.

    Returns
    -------
    tuple of Timing
        As they stand in the file; see :func:`check_timings`.

    Raises
    ------
    TracestatError
        The file cannot be read, or a row is not a kind, a number of tokens and milliseconds.
    """
    where = f"timings {path.name}"
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise TracestatError(f"{where}: over 4 MiB, which no list of timings is; name another file")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TracestatError(f"{where}: cannot be read ({error.strerror}); check the name") from None
    except UnicodeDecodeError:
        raise TracestatError(f"{where}: is not UTF-8 text; write kind,tokens,ms as CSV or JSON") from None
    rows = _json_rows(text, where) if path.name.lower().endswith(".json") else _csv_rows(text, where)
    return tuple(_timing(row, f"{where}, row {number}") for number, row in enumerate(rows, 1))


def _csv_rows(text: str, where: str) -> list[Mapping[str, Any]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    reader = csv.DictReader(lines, skipinitialspace=True)
    named = [name.strip() for name in reader.fieldnames or ()]
    if sorted(named) != sorted(_COLUMNS):
        raise TracestatError(f"{where}: the first line is {','.join(named) or 'empty'}; it must be kind,tokens,ms")
    try:
        return [{str(key).strip(): value for key, value in row.items()} for row in reader]
    except csv.Error as error:
        raise TracestatError(f"{where}: is no CSV ({error}); write kind,tokens,ms") from None


def _json_rows(text: str, where: str) -> list[Mapping[str, Any]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TracestatError(f"{where}: is not valid ({str(error).splitlines()[0]}); correct it") from None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise TracestatError(f'{where}: is no list of objects; write [{{"kind": "cold", "tokens": 1024, "ms": 71}}]')
    return data


def _timing(row: Mapping[str, Any], where: str) -> Timing:
    if sorted(map(str, row)) != sorted(_COLUMNS):
        raise TracestatError(f"{where}: has {', '.join(map(str, row)) or 'nothing'}; it needs kind, tokens and ms")
    kind = row["kind"].strip() if isinstance(row["kind"], str) else row["kind"]
    if kind not in tuple(KINDS):
        raise TracestatError(f"{where}: kind {kind!r} is not known; it is one of {', '.join(KINDS)}")
    numbers = []
    for name in ("tokens", "ms"):
        try:
            if isinstance(row[name], bool):
                raise ValueError
            value = float(row[name])
        except (TypeError, ValueError, OverflowError):
            raise TracestatError(f"{where}: {name} is {row[name]!r}; give a number") from None
        if not math.isfinite(value) or value <= 0:
            raise TracestatError(f"{where}: {name} is {value:g}; it must be positive and finite")
        numbers.append(value)
    if numbers[0] != int(numbers[0]):
        raise TracestatError(f"{where}: tokens is {numbers[0]:g}; give a whole number")
    if numbers[0] > _LONGEST:
        raise TracestatError(f"{where}: tokens is {numbers[0]:g}, longer than any prompt; correct it")
    return Timing(str(kind), int(numbers[0]), numbers[1] / 1e3)


def _noise(seconds: float) -> float:
    """Give what repetitions of one measurement may differ by."""
    return max(0.15 * seconds, 0.004)


def check_timings(timings: Iterable[Timing]) -> tuple[Timing, ...]:
    """Refuse timings that no machine can have, and give one per kind and length.

    Parameters
    ----------
    timings : iterable of Timing
        Seconds. Repetitions are allowed where they agree within 15 % or 4 ms; their median is kept.

    Returns
    -------
    tuple of Timing
        By kind and length.

    Raises
    ------
    TracestatError
        One line: an unknown kind, a number that is not positive, a time below 1 ms, fewer than five, cold prompts of
        fewer than two lengths, repetitions that differ, times that fall with tokens, or reloads that are slower than
        computing.

    Examples
    --------
    >>> len(check_timings([Timing("cold", n, n / 1e4) for n in (100, 200, 300, 400, 500)]))
    5
    """
    given = tuple(timings)
    for timing in given:
        if timing.kind not in KINDS:
            raise TracestatError(f"timings: kind {timing.kind!r} is not known; it is one of {', '.join(KINDS)}")
        if timing.tokens < 1 or not (math.isfinite(timing.seconds) and timing.seconds > 0):
            raise TracestatError(f"timings: {_named(timing)} must have positive tokens and a positive, finite time")
        if timing.seconds < _LEAST_SECONDS:
            raise TracestatError(
                f"timings: {_named(timing)} is {timing.seconds * 1e3:g} ms, and no engine answers within 1 ms; give "
                "milliseconds, not seconds"
            )
    kept = _one_each(given)
    if len(kept) < _FEWEST:
        raise TracestatError(
            f"timings: {len(kept)} different ones, {_FEWEST} needed; see what to measure with tracestat hardware recipe"
        )
    cold = {timing.tokens for timing in kept if timing.kind.startswith("cold")}
    if len(cold) < 2:
        raise TracestatError(
            f"timings: cold prompts of {len(cold)} length{'' if len(cold) == 1 else 's'}, two needed at least; "
            "measure cold at 1024, 8192 and 32768 tokens"
        )
    for kind in KINDS:
        _check_rising([timing for timing in kept if timing.kind == kind])
    _check_reloads(kept)
    return kept


def _named(timing: Timing) -> str:
    return f"{timing.kind} at {timing.tokens:,} tokens"


def _one_each(given: Sequence[Timing]) -> tuple[Timing, ...]:
    order = list(KINDS)
    found: dict[tuple[int, int], list[float]] = {}
    for timing in given:
        found.setdefault((order.index(timing.kind), timing.tokens), []).append(timing.seconds)
    out = []
    for (kind, tokens), seconds in sorted(found.items()):
        timing = Timing(order[kind], tokens, median(seconds))
        if max(seconds) - min(seconds) > _noise(timing.seconds):
            raise TracestatError(
                f"timings: {_named(timing)} is {min(seconds) * 1e3:g} and {max(seconds) * 1e3:g} ms, more apart than "
                "noise; keep the right one"
            )
        out.append(timing)
    return tuple(out)


def _check_rising(timings: Sequence[Timing]) -> None:
    for one, other in pairwise(timings):
        if other.seconds < one.seconds - min(_noise(one.seconds), 0.05 * one.seconds + 0.001):
            raise TracestatError(
                f"timings: {one.kind} falls from {one.seconds * 1e3:g} ms at {one.tokens:,} tokens to "
                f"{other.seconds * 1e3:g} ms at {other.tokens:,}; more tokens cannot take less time"
            )


def _check_reloads(timings: Sequence[Timing]) -> None:
    cold: dict[int, float] = {}
    for timing in timings:
        if timing.kind.startswith("cold"):
            cold[timing.tokens] = min(timing.seconds, cold.get(timing.tokens, math.inf))
    for kind in KINDS:
        reloads = [timing for timing in timings if timing.kind == kind and kind.startswith("reload")]
        if reloads and all(timing.seconds >= _between(cold, timing.tokens) for timing in reloads):
            raise TracestatError(
                f"timings: {kind} is nowhere faster than cold; the host tier did not answer, or the two are exchanged"
            )


def _between(cold: Mapping[int, float], tokens: int) -> float:
    """Give the cold time at a length, in proportion between and beyond those measured."""
    lengths = sorted(cold)
    right = next((i for i, length in enumerate(lengths) if length >= tokens), len(lengths) - 1)
    low, high = lengths[max(right - 1, 0)], lengths[right]
    if tokens in cold or low == high:
        return cold.get(tokens, cold[high] * max(1.0, tokens / high))
    return cold[low] + (cold[high] - cold[low]) * (tokens - low) / (high - low)
