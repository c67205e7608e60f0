"""The limits and waits of the real raw logs, against the rows of the store counted one by one."""

from __future__ import annotations

import math
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

import tracestat
from tests.conftest import corpus_path
from tracestat.ingest import ingest
from tracestat.results import AskedLimit, SummaryGroup, SummaryResult
from tracestat.store import open_store


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tracestat.Trace]:
    folder = tmp_path_factory.mktemp("raw")
    for name in ("raw_claude_code.tar.gz", "raw_codex.tar.gz"):
        with tarfile.open(corpus_path(name)) as archive:
            archive.extractall(folder / name.partition(".")[0], filter="data")
    ingest([folder], folder / "raw.duckdb")
    with open_store(folder / "raw.duckdb") as opened:
        yield opened


@pytest.fixture(scope="module")
def result(trace: tracestat.Trace) -> SummaryResult:
    return tracestat.summary(trace)


def group_of(result: SummaryResult, provider: str) -> SummaryGroup:
    (found,) = (g for g in result.groups if g.key == {"unit": "call", "provider": provider})
    return found


def limit_of(result: SummaryResult, provider: str, tool: str, seconds: float) -> AskedLimit:
    limits = group_of(result, provider).limits
    (found,) = (limit for limit in limits if (limit.tool, limit.asked_limit_seconds) == (tool, seconds))
    return found


@pytest.mark.full
def test_the_limits_of_polls_and_of_bash_show(result: SummaryResult) -> None:
    poll, bash = limit_of(result, "codex", "write_stdin", 30), limit_of(result, "claude", "Bash", 120)
    assert (poll.n_asked, poll.n_ended, poll.n_unseen) == (141, 113, 0)
    assert (bash.n_asked, bash.n_ended, bash.n_unseen) == (6466, 9, 3)
    for limit, low, high in ((poll, 0.2, 1.0), (bash, 0.0005, 0.003)):
        assert limit.share.low is not None
        assert limit.share.high is not None
        assert low < limit.share.low < (limit.share.value or 0) < limit.share.high < high
        # none ended before its limit, and most soon after it
        assert limit.asked_limit_seconds * limit.n_ended <= limit.seconds_ended
    assert poll.seconds_ended < 1.1 * 30 * 113
    text = repr(result)
    assert "write_stdin" in text
    assert re.search(r"^claude +Bash +120 s +6,466 +9 ", text, re.MULTILINE)


def test_every_limit_is_what_its_rows_add_up_to(trace: tracestat.Trace, result: SummaryResult) -> None:
    rows = trace.sql(
        "SELECT provider, tool, asked_limit_seconds, end_kind, observed, seconds, session_pk FROM calls "
        "WHERE asked_limit_seconds IS NOT NULL AND NOT is_copy AND seconds >= -0.1 AND (observed OR seconds > 0) "
        "AND end_kind NOT IN ('refused', 'background') AND tool_class IS DISTINCT FROM 'background'"
    ).rows(named=True)
    direct: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        direct[row["provider"], row["tool"], row["asked_limit_seconds"]].append(row)
    ours = {
        (provider, limit.tool, limit.asked_limit_seconds): limit
        for provider in ("claude", "codex")
        for limit in group_of(result, provider).limits
    }
    assert ours.keys() == direct.keys()
    assert len(ours) > 40
    for key, limit in ours.items():
        ended = [row for row in direct[key] if row["end_kind"] in ("deadline", "timeout")]
        seen = [row for row in direct[key] if row["observed"]]
        assert (limit.n_asked, limit.n_ended) == (len(direct[key]), len(ended))
        assert limit.n_unseen == len(direct[key]) - len(seen)
        assert limit.seconds_ended == pytest.approx(sum(row["seconds"] for row in ended), abs=1e-5)
        assert limit.n_sessions == len({row["session_pk"] for row in seen})
        assert limit.share.value == (pytest.approx(len(ended) / len(seen)) if seen else None)


def test_the_interval_is_that_of_sessions_left_out_one_by_one(trace: tracestat.Trace, result: SummaryResult) -> None:
    limit = limit_of(result, "codex", "write_stdin", 30)
    rows = trace.sql(
        "SELECT session_pk, end_kind = 'deadline' FROM calls WHERE tool = 'write_stdin' AND asked_limit_seconds = 30 "
        "AND NOT is_copy"
    ).rows()
    share = sum(ended for _, ended in rows) / len(rows)
    without = []
    for session in {session for session, _ in rows}:
        rest = [ended for other, ended in rows if other != session]
        without.append(sum(rest) / len(rest))
    G = len(without)
    se = math.sqrt((G - 1) / G * sum((one - share) ** 2 for one in without))
    assert G == 7
    scale = 2.446912 * se / ((1 - share) * -math.log(1 - share))  # t with 6 degrees of freedom
    bounds = tuple(1 - (1 - share) ** math.exp(sign * scale) for sign in (-1, 1))
    assert (limit.share.low, limit.share.high) == pytest.approx(bounds, rel=1e-5)


def test_waits_by_permission_mode(trace: tracestat.Trace, result: SummaryResult) -> None:
    waits = {wait.permission_mode: wait for wait in group_of(result, "claude").start_waits}
    assert group_of(result, "codex").start_waits == ()
    assert sum(wait.n for wait in waits.values()) == group_of(result, "claude").n
    assert {mode: wait.n_known for mode, wait in waits.items() if wait.n_known} == {
        "acceptEdits": 337,
        "default": 275,
        "bypassPermissions": 226,
        None: 162,
        "plan": 6,
    }
    rows = trace.sql(
        "SELECT permission_mode, approval_seconds, seconds FROM calls WHERE approval_seconds IS NOT NULL "
        "AND NOT is_copy AND end_kind <> 'refused' AND (observed OR seconds > 0)"
    ).rows()
    for mode, wait in waits.items():
        own = sorted((approval, seconds) for other, approval, seconds in rows if other == mode)
        assert wait.n_known == len(own)
        if own:
            assert wait.median.value == pytest.approx(own[math.ceil(0.5 * len(own)) - 1][0])
            assert wait.p90.value == pytest.approx(own[math.ceil(0.9 * len(own)) - 1][0])
            whole = sum(seconds for _, seconds in own)
            assert wait.of_time.value == pytest.approx(sum(approval for approval, _ in own) / whole)
    # who lets everything pass waits a second, not minutes
    assert (waits["bypassPermissions"].p90.value or 0) < 2 < (waits["default"].p90.value or 0)
    assert (waits["bypassPermissions"].of_time.high or 1) < (waits["default"].of_time.low or 0)
