"""Real logs of both harnesses, through the whole ingest: what is counted, once, and in which end."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator

import pytest

from tests.conftest import corpus_path
from tracestat.ingest import ingest
from tracestat.store import Trace, open_store


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    folder = tmp_path_factory.mktemp("logs")
    for name in ("raw_claude_code.tar.gz", "raw_codex.tar.gz"):
        with tarfile.open(corpus_path(name)) as archive:
            archive.extractall(folder / "logs", filter="data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACESTAT_KEY", "a key of the tests")
        report = ingest(
            [folder / "logs" / "claude", folder / "logs" / "codex"], folder / "a.duckdb", developer_from="parent"
        )
    left_out = sum(source.left_out.get("copies of calls in another log", 0) for source in report.sources)
    assert left_out == 1294
    with open_store(folder / "a.duckdb") as opened:
        yield opened


def test_every_call_counts_once(trace: Trace) -> None:
    counts = trace.sql(
        "SELECT provider, is_subagent, count(*) AS calls, count(DISTINCT tool_call_id) AS ids, "
        "count(result_at) AS done, sum(date_diff('microsecond', emitted_at, result_at)) / 1e6 AS seconds "
        "FROM tool_calls JOIN rounds USING (round_pk) GROUP BY ALL ORDER BY ALL"
    ).rows()
    assert counts == [
        ("claude", False, 20_192, 20_192, 20_163, pytest.approx(367_620.922, abs=1e-6)),
        ("claude", True, 3_269, 3_269, 3_267, pytest.approx(23_856.411, abs=1e-6)),
        ("codex", False, 2_708, 2_708, 2_701, pytest.approx(10_144.059, abs=1e-6)),
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


def test_nothing_is_lost_and_the_rest_is_told(trace: Trace) -> None:
    sources = trace.sql(
        "SELECT sum(rows_read) AS read, sum(rows_kept) AS kept, sum(rows_rejected) AS rejected FROM sources"
    )
    assert sources.rows() == [(117_940, 117_940, 0)]
    assert trace.sql("SELECT count(DISTINCT developer) AS n FROM pauses")["n"].item() == 7
