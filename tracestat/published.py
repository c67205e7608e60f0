"""Figures that others have published: what they say, how they were rounded, and when ours agrees.

``data/published.json`` holds one entry per number. The text of a number as it was printed gives the interval that its
rounding stands for: ``3.4 %`` means 3.35 to 3.45 %. Nothing here reads a trace.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from tracestat.queries import data_path
from tracestat.results import Interval
from tracestat.store import fingerprint_of

__all__ = [
    "BASE_UNITS",
    "RELEASES",
    "Asked",
    "Definition",
    "Figure",
    "Origin",
    "Published",
    "Verdict",
    "known_release",
    "load_published",
    "number_at",
    "read_printed",
    "verdict_of",
]

Origin = Literal["article", "tracelab", "others"]
Verdict = Literal["agrees", "differs", "higher", "lower", "overlaps", "cannot tell"]

# SHA-256 of the files of each TraceLab release; an older tag has v0.0.1's JSONL and a DuckDB file of its own
RELEASES: Mapping[str, str] = {
    "9d265eae69a31cae203848bea936f018148eed7ca8bf56050c5abe96da0b4e6b": "v0.0.1",
    "97715265367cc72376475f5d444c8e1900b88cab1482aa7b9a742894d9f15619": "v0.0.1",
    "5d2ef12486cdfc26d770e8432fb45fd17381377be739a4d8e5b8556587721507": "v0.0.1",
    "11ce51ec0a25e3d1d95b025bca2f7d1647e47571eb7cc968acd5fc64d4b4fb65": "v0.0.2",
    "a7bab286bc640844560850965ccf47975cf66407154132abaab90f27ec9be744": "v0.0.2",
}
# how many base units (seconds, fraction, count) a unit is; units that are not here count as they are
BASE_UNITS: Mapping[str, float] = {"ms": 1e-3, "min": 60.0, "h": 3600.0, "months": 86_400 * 365.25 / 12}
_PRINTED = re.compile(
    r"(?P<sign>[~<>]?)(?P<number>-?[\d,]+(?:\.\d+)?(?:e-?\d+)?)(?P<scale>[kM]?) ?(?P<unit>%|ms|s|min|h)?"
    r"(?:±(?P<give>[\d.]+))?"
)
_SCALE = {"": 1.0, "k": 1e3, "M": 1e6}


def read_printed(text: str, unit: str) -> tuple[float, float | None, float | None]:
    """Read a number as it was printed, with the interval that its rounding stands for.

    Parameters
    ----------
    text : str
        ``~`` before it means "about": one unit of the last digit either way in place of half a one. ``<`` and ``>``
        make it a bound. ``k`` and ``M`` are thousands and millions; ``±`` names the leeway itself, in the digits
        before it.
    unit : str
        The unit to give it in; the printed one may be another (minutes for seconds).

    Returns
    -------
    tuple of (value, low, high)
        ``low`` or ``high`` is None where a bound leaves that side open.

    Raises
    ------
    ValueError
        The text is no such number.

    Examples
    --------
    >>> read_printed("3.4 %", "fraction")
    (0.034, 0.0335, 0.0345)
    >>> read_printed("~67k", "calls"), read_printed("1.4 min", "s"), read_printed("<3 %", "fraction")
    ((67000.0, 66000.0, 68000.0), (84.0, 81.0, 87.0), (0.03, None, 0.03))
    """
    found = _PRINTED.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a number as one prints it")
    digits = found["number"].replace(",", "")
    mantissa, _, power = digits.partition("e")
    last = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    give = float(found["give"]) if found["give"] else last * (1.0 if found["sign"] == "~" else 0.5)
    size = _SCALE[found["scale"]] * (0.01 if found["unit"] == "%" else 1.0)
    if found["unit"] and found["unit"] != "%":
        size *= BASE_UNITS.get(found["unit"], 1.0) / BASE_UNITS.get(unit, 1.0)
    # what was printed in decimals stays so: 0.0335, not 0.033500000000000002
    value, low, high = (float(f"{x * size:.12g}") for x in (float(digits), float(digits) - give, float(digits) + give))
    if found["sign"] == "<":
        return value, None, value
    if found["sign"] == ">":
        return value, value, None
    return value, low, high


@dataclass(frozen=True, slots=True)
class Definition:
    """One way to read what a figure means: in words, and as choices of the function that answers it."""

    name: str
    says: str
    choices: Mapping[str, Any]
    provider: str | None

    @property
    def text(self) -> str:
        """The words, with the provider before them."""
        who = {"claude": "Claude", "codex": "Codex", "all": "both providers"}.get(self.provider or "")
        return f"{who}; {self.says}" if who else self.says


@dataclass(frozen=True, slots=True)
class Asked:
    """The function that answers a figure, its parameters, and the definitions, the stated or most likely one first."""

    name: str
    parameters: Mapping[str, Any]
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One published number.

    Attributes
    ----------
    id, of : str
        Its name, and that of the statement it is part of.
    value, low, high : float or None
        The number and the interval of its rounding, in ``unit``; None leaves a side open. Words have none.
    release : str or None
        The TraceLab release it speaks of.
    answer : Asked or None
        What answers it; where nothing does, ``no_answer`` says why.
    """

    id: str
    of: str
    theme: str
    statement: str
    printed: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    corpus: str
    release: str | None
    provider: str | None
    source: str
    answer: Asked | None
    no_answer: str | None

    @property
    def origin(self) -> Origin:
        """Who published it: ``article``, ``tracelab`` or ``others``."""
        head = self.id.partition(".")[0]
        if head == "article":
            return "article"
        return "tracelab" if head in ("v1", "v2", "paper") else "others"


@dataclass(frozen=True, slots=True)
class Published:
    """All published figures, in the order of their sources."""

    figures: tuple[Figure, ...]

    def select(self, *, only: str | None = None, origin: Origin | None = None) -> tuple[Figure, ...]:
        """Give those whose id begins with ``only`` and that come from one kind of source."""
        return tuple(
            figure
            for figure in self.figures
            if (only is None or figure.id.startswith(only)) and (origin is None or figure.origin == origin)
        )


@cache
def load_published() -> Published:
    """Read ``data/published.json``.

    Examples
    --------
    >>> figure = load_published().select(only="article.lt1s")[0]
    >>> figure.value, figure.low, figure.high
    (0.7, 0.695, 0.705)
    """
    document = json.loads(data_path("published.json").read_text(encoding="utf-8"))
    definitions = document["definitions"]

    def definition(name: str, provider: str | None) -> Definition:
        plain, _, other = name.partition("@")
        return Definition(name, definitions[plain]["says"], definitions[plain]["choices"], other or provider)

    figures = []
    for entry in document["figures"]:
        answer = entry.get("answer")
        asked = None
        if answer is not None:
            ways = tuple(definition(name, entry["provider"]) for name in answer["definitions"])
            asked = Asked(answer["name"], answer["parameters"], ways)
        plain = {key: value for key, value in entry.items() if key != "answer"}
        figures.append(Figure(**{"no_answer": None, **plain, "answer": asked}))
    return Published(tuple(figures))


def known_release(fingerprint: str) -> str | None:
    """Give the TraceLab release that a trace is, by the hash of its only source.

    Examples
    --------
    >>> known_release(fingerprint_of([next(iter(RELEASES))])), known_release("sha256:other")
    ('v0.0.1', None)
    """
    return {fingerprint_of([sha256]): name for sha256, name in RELEASES.items()}.get(fingerprint)


def number_at(document: Any, at: str) -> float | None:
    """Give the number at a place of a JSON document; None where nothing is there.

    Parameters
    ----------
    document : dict
    at : str
        Keys parted by slashes; ``name[key=value,...]`` takes of a list the item with these values, in itself or in its
        ``key``.

    Examples
    --------
    >>> document = {"groups": [{"key": {"provider": "codex"}, "q": {"0.5": {"value": 2}}}]}
    >>> number_at(document, "groups[provider=codex]/q/0.5/value"), number_at(document, "groups[provider=claude]/q")
    (2.0, None)
    """
    found = document
    # a slash inside the brackets belongs to a value
    for part in re.split(r"/(?![^\[\]]*\])", at):
        name, _, wanted = part.removesuffix("]").partition("[")
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
        if wanted:
            pairs = dict(pair.split("=", 1) for pair in re.split(r",(?=[a-z_]+=)", wanted))
            found = next((item for item in found if _matches(item, pairs)), None)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _matches(item: Any, pairs: Mapping[str, str]) -> bool:
    held = {**item.get("key", {}), **item}
    return all(str(held.get(name)) == value for name, value in pairs.items())


def verdict_of(low: float | None, high: float | None, ours: Interval, *, same_trace: bool) -> Verdict:
    """Compare a number of ours with the interval that a published one stands for.

    Parameters
    ----------
    low, high : float or None
        Interval of the published number; None leaves a side open.
    ours : Interval
        The estimate in the same unit, and its interval where it has one.
    same_trace : bool
        Whether ours was made from the very file that the published number speaks of.

    Returns
    -------
    {"agrees", "differs", "higher", "lower", "overlaps", "cannot tell"}
        On the same trace ours agrees when it lies within the rounding, else it differs. On another one it is higher or
        lower when its whole interval lies above or below the rounding, else they overlap.

    Examples
    --------
    >>> verdict_of(0.695, 0.705, Interval(0.7031), same_trace=True)
    'agrees'
    >>> verdict_of(0.695, 0.705, Interval(0.65, 0.56, 0.74), same_trace=False)
    'overlaps'
    """
    if ours.value is None:
        return "cannot tell"
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    # what floats lose in a change of units is no difference
    slack = 1e-9 * max(1.0, abs(ours.value))
    if same_trace:
        return "agrees" if least - slack <= ours.value <= most + slack else "differs"
    below = ours.value if ours.low is None else ours.low
    above = ours.value if ours.high is None else ours.high
    if below > most + slack:
        return "higher"
    return "lower" if above < least - slack else "overlaps"
