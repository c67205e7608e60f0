"""What was tried to forecast better than the specification: ``python -m tests.studies.forecast_keys TRACE``.

Every candidate is fitted and judged as `forecast evaluate` does it, on pauses it has not seen, and compared with a
named reference on the same pauses. The table printed is that of the README; ``--all`` adds the rows left out there,
``--csv FILE`` keeps every difference with its interval.

The rule: a candidate is kept if its log score is better than that of the stage before on both splits, with intervals
by developer that exclude zero, for the provider with the most developers, and worse with such an interval for no other.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path as FilePath

import numpy as np
import polars as pl
from numpy.typing import NDArray

import tracestat
from tests.studies.forms import PINBALL, SPEC, Array, Bench, Form, losses
from tests.studies.study_rows import OTHER_BANDS, study_rows
from tracestat.api.forecast_rows import provider_grid
from tracestat.forecast.evaluation import developer_of_session
from tracestat.forecast.keys import HISTORY_KEYS, PATHS
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.skill import paired_difference
from tracestat.forecast.splits import Split, parts
from tracestat.results import Interval

SPLITS: tuple[Split, ...] = ("time", "developer")
MEASURES = ("log score", *(f"pinball {p:g}" for p in PINBALL))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A form and the one it is measured against."""

    group: str
    name: str
    form: Form
    against: Form
    needs: str = ""  # key that not every trace has
    main: bool = True


_SPEC, _SPEC_ALONE = Form((SPEC,)), Form((SPEC,), pooled=True)
_DEFAULT = Form(PATHS, pooled=True)
_SHORT = {
    "tool_class": "class",
    "command_skeleton": "skeleton",
    "previous_in_class": "in class",
    "previous_in_session": "in session",
}
_ORDERS = (
    ("tool_class", "developer", "command_skeleton"),
    ("developer", "tool_class", "command_skeleton"),
    ("command_skeleton", "developer"),
    ("tool_class", "command_skeleton"),
    ("tool_class", "tool", "command_skeleton", "developer"),
    ("tool_class", "command_class", "command_skeleton", "developer"),
)
# key, what it is, and the groups in which it stands in the short table
_FEATURES = (
    ("recent", "last five of this command, weighted", "member"),
    ("previous", "last of this command", "level member"),
    ("previous_in_class", "last of this class", "member"),
    ("previous_in_session", "last of this tool in the session", "member"),
    ("last_in_session", "last of the session, any tool", "member"),
    ("previous_fingerprint", "last of the same command text", ""),
    ("n_calls", "calls of the round", "default"),
    ("context_band", "tokens of context", "member"),
    ("hour", "hour of day", "level member"),
    ("weekday", "weekday", ""),
    ("model", "model", "member"),
    ("project", "project", ""),
    ("permission_mode", "permission mode", ""),
    ("asked_limit_seconds", "asked limit", ""),
    ("pauses_so_far", "pauses of the session so far", ""),
)


def named(path: Sequence[str]) -> str:
    """Write a hierarchy as short as the table needs."""
    return " > ".join(_SHORT.get(key, key) for key in path)


def candidates() -> Iterator[Candidate]:
    """Give everything that was tried, group by group."""
    group = f"Against {named(SPEC)}, the specification's path"
    for order in _ORDERS:
        yield Candidate(group, named(order), Form((order,)), _SPEC, main="command_class" not in order)
    crossed = Form((("tool_class", "command_skeleton"), ("tool_class", "developer")), pooled=True)
    yield Candidate(group, "crossed: class > skeleton, class > dev", crossed, _SPEC)
    yield Candidate(group, "later half of the training sessions", replace(_SPEC, later=True), _SPEC)
    for key, what, shown in _FEATURES:
        top = Form((("tool_class", key, *SPEC[1:]),))
        yield Candidate(group, f"below class: {what}", top, _SPEC, key, "level" in shown)
    group = "One more member, class > this, against a pool of the specification's path alone"
    for key, what, shown in _FEATURES:
        yield Candidate(group, what, Form((SPEC, ("tool_class", key)), True), _SPEC_ALONE, key, "member" in shown)
    group = "The default built up, each against the stage before"
    stage = _SPEC
    for n in range(1, len(PATHS) + 1):
        form = Form(PATHS[:n], pooled=True)
        yield Candidate(group, "a pool of one" if n == 1 else f"+ {named(PATHS[n - 1])}", form, stage)
        stage = form
    group = "Against the default"
    for key, what, shown in _FEATURES:
        if not any(key in path for path in PATHS):
            form = Form((*PATHS, ("tool_class", key)), pooled=True)
            yield Candidate(group, f"+ class > {what}", form, _DEFAULT, key, "default" in shown)
    nested = Form((("tool_class", "recent", "previous", *SPEC[1:]),))
    yield Candidate(group, "one path: class > recent > previous >", nested, _DEFAULT)
    apart = tuple(("tool_class", key) for path in PATHS[1:] for key in path if key in HISTORY_KEYS)
    yield Candidate(group, "history keys as members of their own", Form((SPEC, *apart), True), _DEFAULT, main=False)
    yield Candidate(group, "equal weights", replace(_DEFAULT, weights="equal"), _DEFAULT)
    yield Candidate(group, "same weights for unseen developers", replace(_DEFAULT, weights="one"), _DEFAULT)
    for name in OTHER_BANDS:
        paths = tuple(tuple(name.format(key) if key in HISTORY_KEYS else key for key in path) for path in PATHS)
        yield Candidate(group, name.format("earlier lengths"), Form(paths, pooled=True), _DEFAULT)
    yield Candidate(group, "later half of the training sessions", replace(_DEFAULT, later=True), _DEFAULT, main=False)


Judged = Mapping[Form, tuple[Array, Array]]


def judge(rows: Mapping[str, PauseRows], split: Split, forms: Iterable[Form]) -> Iterator[tuple[str, Judged]]:
    """Add up the losses of every form over the folds of a split, a provider at a time."""
    wanted = list(dict.fromkeys(forms))
    for provider, folds in groupby(parts(rows, split), key=lambda part: part.provider):
        total: dict[Form, tuple[Array, Array]] = {}
        for part in folds:
            bench = Bench(part.train, part.test, provider_grid(provider))
            for form in wanted:
                sums, counts = losses(bench.forecast(form), part.test, rows[provider].n_sessions)
                before = total.get(form, (0.0, 0.0))
                total[form] = (before[0] + sums, before[1] + counts)
        yield provider, total


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better a candidate is than its reference, per pause; above 0 it is better."""

    candidate: Candidate
    provider: str
    split: Split
    gains: tuple[Interval, ...]  # one per measure

    @classmethod
    def of(
        cls, candidate: Candidate, provider: str, split: Split, judged: Judged, owner: NDArray[np.intp]
    ) -> Difference:
        """Compare two forms on the same rows."""
        (a, n), (b, _) = judged[candidate.form], judged[candidate.against]
        gains = [paired_difference(b[:, k], a[:, k], n[:, k], owner) for k in range(len(MEASURES))]
        return cls(candidate, provider, split, tuple(gains))

    def bounds(self, measure: int) -> tuple[float | None, float | None]:
        """Give the interval by developer, by session where there is one developer."""
        gain = self.gains[measure]
        by = gain.developer if gain.developer and gain.developer[0] is not None else gain.session
        return by or (None, None)

    def sign(self, measure: int) -> int:
        """Give 1 for better, -1 for worse, 0 where the interval holds zero."""
        low, high = self.bounds(measure)
        return 0 if low is None or high is None else int(low > 0) - int(high < 0)

    def cell(self) -> str:
        """Write the gain in log score in thousandths, half its interval, and the signs of the pinball losses."""
        value, (low, _) = self.gains[0].value, self.bounds(0)
        if value is None or low is None:
            return "-"
        signs = "".join("=+-"[self.sign(k)] for k in range(1, len(MEASURES)))
        return f"{1000 * value:+.0f}±{1000 * (value - low):.0f} {signs}"


def study(rows: Mapping[str, PauseRows], tried: Sequence[Candidate]) -> list[Difference]:
    """Measure every candidate; a key that a provider's rows all share is left out there."""
    out: list[Difference] = []
    forms = [form for one in tried for form in (one.form, one.against)]
    for split in SPLITS:
        for provider, judged in judge(rows, split, forms):
            own = rows[provider]
            owner = developer_of_session(own, own.n_sessions)
            able = (one for one in tried if not one.needs or np.ptp(own.codes[one.needs]))
            out.extend(Difference.of(one, provider, split, judged, owner) for one in able)
    return out


def verdict(found: Iterable[Difference], deciding: str) -> str:
    """Apply the rule to the differences of one candidate."""
    found = list(found)
    own = [one.sign(0) for one in found if one.provider == deciding]
    if not own:
        return "-"
    return "yes" if own == [1] * len(SPLITS) and all(one.sign(0) >= 0 for one in found) else "no"


def table(differences: Sequence[Difference], tried: Sequence[Candidate], rows: Mapping[str, PauseRows]) -> list[str]:
    """Write the table as Markdown."""
    deciding = max(rows, key=lambda provider: rows[provider].n_developers)
    columns = [(provider, split) for provider in rows for split in SPLITS]
    heads = (f"{provider}, {'dev.' if split == 'developer' else split}" for provider, split in columns)
    lines = [["candidate", *heads, "rule"]]
    groups: dict[int, str] = {}  # before which line
    for group, members in groupby(tried, key=lambda one: one.group):
        groups[len(lines)] = group
        for one in members:
            found = {(d.provider, d.split): d for d in differences if d.candidate == one}
            cells = [found[column].cell() if column in found else "-" for column in columns]
            lines.append([one.name, *cells, verdict(found.values(), deciding)])
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    out: list[str] = []
    for n, (name, *cells, rule) in enumerate(lines):
        if n in groups:
            out.append(f"| **{groups[n]}** |" + " |" * (len(cells) + 1))
        right = (cell.rjust(w) for cell, w in zip(cells, width[1:-1], strict=True))
        out.append(" | ".join([f"| {name.ljust(width[0])}", *right, f"{rule.ljust(width[-1])} |"]))
    marks = ["-" * width[0], *("-" * (w - 1) + ":" for w in width[1:-1]), "-" * width[-1]]
    return [out[0], "| " + " | ".join(marks) + " |", *out[1:]]


def long_frame(differences: Iterable[Difference]) -> pl.DataFrame:
    """Give every difference with its interval by developer, a row each."""
    return pl.DataFrame(
        [
            {
                "group": one.candidate.group,
                "candidate": one.candidate.name,
                "provider": one.provider,
                "split": one.split,
                "measure": measure,
                "gain": one.gains[k].value,
                "low": one.bounds(k)[0],
                "high": one.bounds(k)[1],
            }
            for one in differences
            for k, measure in enumerate(MEASURES)
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.studies.forecast_keys", description=__doc__)
    parser.add_argument("trace", help="a store, a trace or a folder of raw logs")
    parser.add_argument("--all", action="store_true", help="also the rows that the README leaves out")
    parser.add_argument("--csv", type=FilePath, help="every difference with its interval")
    options = parser.parse_args(arguments)
    tried = [one for one in candidates() if one.main or options.all]
    with tracestat.open(options.trace) as trace:
        rows, mark = study_rows(trace), "Synthetic trace. " if trace.synthetic else ""
    differences = study(rows, tried)
    sizes = (f"{name}: {own.size:,} pauses of {np.unique(own.developer).size} developers" for name, own in rows.items())
    print(f"{mark}{'; '.join(sizes)}.")
    print(
        "Log score gained, 1/1000 nat per pause, ± half the 95 % interval by developer (by session where there is one);"
    )
    print("then the pinball losses of ln T at .5, .9, .95: + better, - worse, = neither.\n")
    print("\n".join(table(differences, tried, rows)))
    if options.csv:
        long_frame(differences).write_csv(options.csv)


if __name__ == "__main__":
    main()
