"""From a table to a store: what the pauses say in the end, and that nothing private is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.mapped.tables import CALLS_MAP, NAMES, csv_of
from tracestat.ingest.build import SourceRow, StoreWriter, Tally
from tracestat.ingest.logs.shell import shell_of
from tracestat.ingest.mapped import MappedTable, load_mapping
from tracestat.store import open_store

SECRETS = ("anna@example.org", "/home/anna/acme", "sk-live-0123456789", "acme_deploy", "chat-of-anna", "acme-llm")


def build(folder: Path, content: str, spec: str) -> Path:
    """Write a table into a store, as ingest does with any source."""
    table = folder / "table.csv"
    table.write_text(content)
    out = folder / "out.duckdb"
    reader = MappedTable(table, load_mapping(spec), shown=table.name, names=NAMES)

    def row(tally: Tally, first: int | None, last: int | None) -> SourceRow:
        return SourceRow(
            source=table.name,
            format="mapped table",
            sha256="00",
            bytes=len(content),
            path_key=None,
            developer=None,
            first_round_pk=first,
            last_round_pk=last,
            rows_read=tally.read,
            rows_kept=tally.kept,
            rows_rejected=tally.rows_rejected,
            calls_rejected=tally.calls_rejected,
            events_rejected=tally.events_rejected,
            rows_repaired=tally.repaired,
            note=reader.note,
        )

    with StoreWriter(out, memory_limit="256MB", threads=1) as writer:
        for batch in reader.batches():
            writer.add(batch)
        writer.end_source(row)
        writer.finish()
    return out


def test_pauses_of_a_table_of_calls(tmp_path: Path) -> None:
    rows = [
        "a,Bash,2026-03-01T10:00:00Z,2026-03-01T10:00:30Z,r1,deadline,30",  # a yield after 30 s
        "a,Read,2026-03-01T10:01:00Z,2026-03-01T10:01:02Z,r2,,",  # two together: from the second start on
        "a,Read,2026-03-01T10:01:01Z,2026-03-01T10:01:09Z,r2,,",
        "a,Bash,2026-03-01T10:02:00Z,2026-03-01T10:02:05Z,r3,,",  # one after the other: 12 s
        "a,Bash,2026-03-01T10:02:05Z,2026-03-01T10:02:12Z,r3,,",
        "a,Bash,2026-03-01T10:03:00Z,,r4,,",  # no end, but the session went on 20 s later
        "a,Bash,2026-03-01T10:03:20Z,2026-03-01T10:03:21Z,r5,cancelled,",
        "b,Bash,2026-03-01T10:00:00Z,,r6,,",  # no end, and nothing after it
        "b,Bash,soon,,r7,,",
    ]
    spec = f"{CALLS_MAP},request_id=req,end_kind=how,asked_limit=limit"
    out = build(tmp_path, csv_of("chat,fn,t0,t1,req,how,limit", rows), spec)
    with open_store(out) as trace:
        pauses = trace.sql("SELECT seconds, observed, end_kind, n_calls, busy_seconds FROM pauses ORDER BY round_pk")
        assert pauses.rows() == [
            (30.0, True, "deadline", 1, 30.0),
            (8.0, True, "completed", 2, 8.0),
            (12.0, True, "completed", 2, 12.0),
            (20.0, False, "lost", 1, 0.0),
            (1.0, True, "interrupted", 1, 1.0),
            (0.0, False, "open", 1, 0.0),
        ]
        calls = trace.sql("SELECT seconds, asked_limit_seconds FROM calls ORDER BY call_pk").rows()
        assert calls[:5] == [(30.0, 30.0), (2.0, None), (8.0, None), (5.0, None), (7.0, None)]
        assert trace.counts["rejected"] == 1
        assert trace.sql("SELECT line, part, reason FROM rejects").rows() == [(10, "call", "start is no time")]
        assert trace.sql("SELECT rows_read, rows_kept, calls_rejected FROM sources").rows() == [(6, 6, 1)]


def test_pauses_of_a_table_of_requests(tmp_path: Path) -> None:
    rows = ["a,1772359200000,1772359202000", "a,1772359205500,1772359206000", "a,1772359266250,1772359270000"]
    out = build(tmp_path, csv_of("chat,t0,t1", rows), "session=chat,arrival=t0,end=t1")
    with open_store(out) as trace:
        pauses = trace.sql("SELECT seconds, observed, end_kind, tool, resolution_seconds FROM pauses ORDER BY round_pk")
        assert pauses.rows() == [
            (3.5, True, "completed", None, 0.001),
            (60.25, True, "completed", None, 0.001),
        ]
        assert trace.counts["rounds"] == 3


def test_overlapping_requests_supersede_nothing(tmp_path: Path) -> None:
    rows = ["a,0,10", "a,2,4", "a,12,13", "a,20,21"]
    out = build(tmp_path, csv_of("chat,t0,t1", rows), "session=chat,arrival:s=t0,end:s=t1")
    with open_store(out) as trace:
        pauses = trace.sql("SELECT seconds, observed, end_kind FROM pauses ORDER BY started_at").rows()
        assert pauses == [(2.0, True, "completed"), (7.0, True, "completed")]


@pytest.mark.parametrize("name", ["session=chat,tool=fn,start=t0,end=t1", "session=chat,arrival=t0,end=t1,tool=fn"])
def test_nothing_private_is_kept(tmp_path: Path, name: str) -> None:
    mail, place, key, tool, chat, model = SECRETS
    people = f"{model},{place},{key}%d,{mail}%d,cd {place} && {tool} {key}"
    rows = [
        f"{chat},{tool},2026-03-01T10:00:0{i}Z,2026-03-01T10:00:0{i + 1}Z,{people}".replace("%d", str(i))
        for i in range(3)
    ]
    rows.append(f"{chat},{tool},{key},{mail},{model},{place},{key},{mail},{tool} {key}")
    spec = f"{name},model=model,project=cwd,call_id=key,request_id=mail,command=cmd"
    out = build(tmp_path, csv_of("chat,fn,t0,t1,model,cwd,key,mail,cmd", rows), spec)
    content = out.read_bytes()
    with open_store(out) as trace:
        shown = "".join(
            repr(trace.sql(f"SELECT * FROM {table}").rows())
            for table in ("rounds", "tool_calls", "timing_events", "rejects", "sources", "pauses")
        )
        skeletons = trace.sql("SELECT command_skeleton, count(*) FROM tool_calls GROUP BY ALL").rows()
        assert skeletons == [(shell_of(f"cd x && {tool}", NAMES).skeleton, 3)]
    for secret in SECRETS:
        assert secret.encode() not in content
        assert secret not in shown
