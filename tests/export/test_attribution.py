"""Whose data a file is made of: releases by digest, files beside sources, the caller's words, and no guesses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import tracestat
from tests.traces import call, round_, write
from tracestat.errors import TracestatError, UsageError
from tracestat.export import attribution
from tracestat.export.attribution import Attribution, about_path, attribution_of, write_about
from tracestat.fetch import RELEASES
from tracestat.ingest import ingest
from tracestat.ingest.about import UNKNOWN
from tracestat.store import Trace, open_store

Make = Callable[..., Trace]


@pytest.fixture
def source(tmp_path: Path) -> Callable[[str], Path]:
    """Give a function that writes a small trace; another name gives other rows."""

    def make(name: str, *, synthetic: bool = False) -> Path:
        rows = [round_(name, i, [call(f"{name}{i}", 1, 2)], text=0.5) for i in range(2)]
        marked = [{**row, "store": ".synthetic"} for row in rows] if synthetic else rows
        return write(tmp_path / f"{name}.jsonl", marked)

    return make


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, str], None]:
    """Give a function that makes a file pass for an asset of a release."""
    known = {tag: dict(kinds) for tag, kinds in RELEASES.items()}

    def declare(path: Path, tag: str) -> None:
        kinds = known.setdefault(tag, {})
        some = next(iter(next(iter(RELEASES.values())).values()))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        kinds[f"test {path.name}"] = replace(some, sha256=digest)  # type: ignore[index]
        monkeypatch.setattr(attribution, "RELEASES", known)

    return declare


def about(tmp_path: Path, *sources: Path, **words: str) -> Attribution:
    out = tmp_path / "t.duckdb"
    out.unlink(missing_ok=True)
    ingest(sources, out)
    with open_store(out) as trace:
        return attribution_of(trace, "none", **words)


def beside(path: Path, licence: str | None, whom: str) -> Path:
    """Write what an export would have written beside a source."""
    return write_about(
        path, Attribution("x", "sha256:0", synthetic=False, licence=licence, attribution=whom, changes="c")
    )


@pytest.mark.full
def test_a_release_is_known_by_its_digest(
    tmp_path: Path, source: Callable[[str], Path], release: Callable[..., None]
) -> None:
    path = source("a")
    assert about(tmp_path, path).licence is None
    release(path, "v0.0.2")
    found = about(tmp_path, path)
    assert found.licence == "CC-BY-4.0"
    assert found.attribution.startswith("TraceLab v0.0.2 by Zhu, ")
    assert (found.source, found.synthetic, found.changes) == ("t.duckdb", False, "none")
    assert found.fingerprint.startswith("sha256:")


def test_two_releases_are_named_together(
    tmp_path: Path, source: Callable[[str], Path], release: Callable[..., None]
) -> None:
    one, two = source("a"), source("b")
    release(one, "v0.0.2")
    release(two, "v0.0.1")
    found = about(tmp_path, one, two)
    assert (found.licence, found.attribution.split(" by ")[0]) == ("CC-BY-4.0", "TraceLab v0.0.1 and v0.0.2")


def test_a_file_that_two_releases_share_is_named_after_the_one_people_know(
    tmp_path: Path, source: Callable[[str], Path], release: Callable[..., None]
) -> None:
    path = source("a")
    for tag in ("v2026-06-08-syfi-trace", "v0.0.1"):
        release(path, tag)
    assert about(tmp_path, path).attribution.startswith("TraceLab v0.0.1 by ")


def test_of_a_mixture_no_licence_is_claimed(
    tmp_path: Path, source: Callable[[str], Path], release: Callable[..., None]
) -> None:
    one, two = source("a"), source("b")
    release(one, "v0.0.2")
    found = about(tmp_path, one, two)
    assert found.licence is None
    assert found.attribution.startswith("in part TraceLab v0.0.2 by ")
    assert ", CC-BY-4.0; for the rest the source states no licence" in found.attribution


@pytest.mark.full
def test_another_source_is_unknown_and_nothing_is_guessed(tmp_path: Path, source: Callable[[str], Path]) -> None:
    found = about(tmp_path, source("a"))
    assert (found.licence, found.attribution) == (None, UNKNOWN)
    assert "licence: unknown" in found.lines
    path = source("b")
    beside(path, None, UNKNOWN)
    assert about(tmp_path, path).attribution == UNKNOWN
    with open_store(tmp_path / "t.duckdb") as trace:
        assert trace.sql("SELECT note FROM sources")["note"].to_list() == [None]
    assert not any("SYNTHETIC" in line for line in found.lines)


def test_a_synthetic_trace_is_no_evidence_and_says_so(tmp_path: Path, source: Callable[..., Path]) -> None:
    for found in (about(tmp_path, source("a", synthetic=True)), attribution_of(tracestat.open(), "none")):
        assert (found.licence, found.synthetic, found.lines[0]) == ("Apache-2.0", True, "SYNTHETIC")
        assert "no evidence" in found.attribution


@pytest.mark.full
def test_the_callers_words_come_first(
    tmp_path: Path, source: Callable[[str], Path], release: Callable[..., None]
) -> None:
    path = source("a")
    release(path, "v0.0.2")
    found = about(tmp_path, path, licence=" CC0-1.0 ", attribution="Ünal's group")
    assert (found.licence, found.attribution) == ("CC0-1.0", "Ünal's group")
    assert about(tmp_path, path, licence="MIT").attribution.startswith("TraceLab")


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\r\nb", "a\x1b[31mb", "a\u2028b", "x" * 1001])
@pytest.mark.parametrize("option", ["licence", "attribution"])
def test_what_is_not_one_line_is_refused(option: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"--{option}: give one line"):
        attribution_of(tracestat.open(), "none", **{option: text})


# ---- what stands beside a source


@pytest.mark.full
def test_what_an_export_said_of_a_source_is_carried_on(tmp_path: Path, source: Callable[[str], Path]) -> None:
    path = source("a")
    beside(path, "CC-BY-4.0", "the Zürich group")
    found = about(tmp_path, path)
    assert (found.licence, found.attribution) == ("CC-BY-4.0", "the Zürich group")
    # with a source of which nothing is known
    found = about(tmp_path, path, source("b"))
    assert (found.licence, found.attribution) == (
        None,
        f"in part the Zürich group, CC-BY-4.0; for the rest {UNKNOWN}",
    )


def test_sources_of_one_licence_keep_it_and_name_all(tmp_path: Path, source: Callable[[str], Path]) -> None:
    one, two = source("a"), source("b")
    beside(one, "CC-BY-4.0", "one group")
    beside(two, "CC-BY-4.0", "another group")
    found = about(tmp_path, one, two)
    assert (found.licence, found.attribution) == ("CC-BY-4.0", "one group; another group")


def test_a_release_is_what_its_digest_says(
    tmp_path: Path, source: Callable[[str], Path], release: Callable[..., None]
) -> None:
    path = source("a")
    release(path, "v0.0.2")
    beside(path, "CC0-1.0", "somebody")
    assert about(tmp_path, path).licence == "CC-BY-4.0"


def test_what_is_said_of_other_content_is_not_taken(tmp_path: Path, source: Callable[[str], Path]) -> None:
    path = source("a")
    beside(path, "CC-BY-4.0", "the Zürich group")
    path.write_text(path.read_text() + path.read_text().replace("round_a", "round_b"))
    assert about(tmp_path, path).licence is None
    with open_store(tmp_path / "t.duckdb") as trace:
        (note,) = trace.sql("SELECT note FROM sources")["note"]
    assert note == "a.jsonl.about.json speaks of other content: its licence is not taken"


@pytest.mark.parametrize(
    "change",
    [
        {"attribution": "a\nb"},
        {"attribution": None},
        {"attribution": "x" * 1001},
        {"licence": 5},
        {"licence": "a\x1b[31mb"},
        {"schema": "tracestat.about/2"},
    ],
    ids=lambda change: str(change)[:30],
)
@pytest.mark.first_case
def test_what_is_damaged_is_not_taken(tmp_path: Path, source: Callable[[str], Path], change: dict[str, object]) -> None:
    path = source("a")
    place = beside(path, "CC-BY-4.0", "the Zürich group")
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    assert about(tmp_path, path).licence is None
    with open_store(tmp_path / "t.duckdb") as trace:
        (note,) = trace.sql("SELECT note FROM sources")["note"]
    assert note == "a.jsonl.about.json is damaged or of a newer tracestat: its licence is not taken"


def test_words_that_come_later_are_noticed_without_an_ingest(source: Callable[[str], Path]) -> None:
    path = source("a")
    with tracestat.open(path) as trace:
        assert attribution_of(trace, "none").licence is None
    beside(path, "CC-BY-4.0", "the Zürich group")
    with tracestat.open(path) as trace:
        assert attribution_of(trace, "none").licence == "CC-BY-4.0"


# ---- the file beside an export


def test_the_file_beside_says_all_of_it_and_no_path(tmp_path: Path, source: Callable[[str], Path]) -> None:
    path = source("a")
    found = about(tmp_path, path)
    place = write_about(path, found, notes=("pauses stand after a step",))
    assert place == about_path(path) == tmp_path / "a.jsonl.about.json"
    body = json.loads(place.read_text(encoding="utf-8"))
    assert body == {
        "schema": "tracestat.about/1",
        "tracestat": tracestat.__version__,
        "file": "a.jsonl",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "source": "t.duckdb",
        "fingerprint": found.fingerprint,
        "synthetic": False,
        "licence": None,
        "attribution": found.attribution,
        "changes": "none",
        "notes": ["pauses stand after a step"],
    }
    assert str(tmp_path) not in place.read_text()
    assert not any(str(tmp_path) in line for line in found.lines)
    before = place.read_bytes()
    assert write_about(path, found, notes=("pauses stand after a step",)).read_bytes() == before


def test_a_file_that_cannot_be_described_is_one_line(tmp_path: Path) -> None:
    found = attribution_of(tracestat.open(), "none")
    with pytest.raises(TracestatError, match=r"^none.jsonl: No such file"):
        write_about(tmp_path / "none.jsonl", found)
    (tmp_path / "a").write_text("x")
    (tmp_path / "a.about.json").mkdir()
    with pytest.raises(TracestatError, match=r"a.about.json: cannot be written"):
        write_about(tmp_path / "a", found)
