"""Real logs of both harnesses, through the whole ingest: what is counted, once, and in which end."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.conftest import corpus_path
from tracestat.ingest import ingest
from tracestat.store import Trace, open_store


@dataclass(frozen=True)
class Part:
    """Some of the logs of Claude Code, all of Codex', and what is known of them."""

    developers: Sequence[str]  # none: all of Claude Code's
    calls: tuple[int, int, float]
    nested: tuple[int, int, float]
    copies: int
    rows: int
    threads: int | None


# those with logs of sub-agents, with copies of calls in other logs, and with limits that were reached
SOME = Part(("dev_9e7fed", "dev_fc303f"), (6_584, 6_574, 64_639.661), (1_406, 1_404, 2_693.497), 1293, 50_373, 1)
ALL = Part((), (20_192, 20_163, 367_620.922), (3_269, 3_267, 23_856.411), 1294, 117_940, None)


@pytest.fixture(
    scope="module", params=[pytest.param(SOME, id="some"), pytest.param(ALL, id="all", marks=pytest.mark.full)]
)
def part(request: pytest.FixtureRequest) -> Part:
    part: Part = request.param
    return part


@pytest.fixture(scope="module")
def trace(part: Part, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    folder = tmp_path_factory.mktemp("logs")
    for name in ("raw_claude_code.tar.gz", "raw_codex.tar.gz"):
        with tarfile.open(corpus_path(name)) as archive:
            archive.extractall(folder / "logs", filter="data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACESTAT_KEY", "a key of the tests")
        claude = folder / "logs" / "claude"
        report = ingest(
            [*([claude / name for name in part.developers] or [claude]), folder / "logs" / "codex"],
            folder / "a.duckdb",
            developer_from="parent",
            threads=part.threads,
        )
    left_out = sum(source.left_out.get("copies of calls in another log", 0) for source in report.sources)
    assert left_out == part.copies
    with open_store(folder / "a.duckdb") as opened:
        yield opened


def test_every_call_counts_once(part: Part, trace: Trace) -> None:
    counts = trace.sql(
        "SELECT provider, is_subagent, count(*) AS calls, count(DISTINCT tool_call_id) AS ids, "
        "count(result_at) AS done, sum(date_diff('microsecond', emitted_at, result_at)) / 1e6 AS seconds "
        "FROM tool_calls JOIN rounds USING (round_pk) GROUP BY ALL ORDER BY ALL"
    ).rows()
    assert counts == [
        (provider, nested, n, n, done, pytest.approx(seconds, abs=1e-6))
        for provider, nested, (n, done, seconds) in (
            ("claude", False, part.calls),
            ("claude", True, part.nested),
            ("codex", False, (2_708, 2_701, 10_144.059)),
        )
    ]


@pytest.mark.parametrize(("tool", "limit", "ended"), [("write_stdin", 30.0, 113), ("Bash", 120.0, 9)])
def test_the_limits_of_the_harnesses_show(trace: Trace, tool: str, limit: float, ended: int) -> None:
    rows = trace.sql(
        "SELECT count(*) AS asked, count(*) FILTER (WHERE end_kind IN ('deadline', 'timeout')) AS ended, "
        "min(seconds) FILTER (WHERE end_kind IN ('deadline', 'timeout')) AS least "
        f"FROM calls WHERE tool = '{tool}' AND asked_limit_seconds = {limit}"
    ).to_dicts()
    (found,) = rows
    assert found["asked"] > found["ended"] >= 1
    assert found["ended"] == ended
    assert limit - 0.2 <= found["least"] <= limit + 5


def test_nothing_is_lost_and_the_rest_is_told(part: Part, trace: Trace) -> None:
    sources = trace.sql(
        "SELECT sum(rows_read) AS read, sum(rows_kept) AS kept, sum(rows_rejected) AS rejected FROM sources"
    )
    assert sources.rows() == [(part.rows, part.rows, 0)]
    developers = len(part.developers) + 2 if part.developers else 7
    assert trace.sql("SELECT count(DISTINCT developer) AS n FROM pauses")["n"].item() == developers
