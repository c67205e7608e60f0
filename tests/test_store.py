"""A trace is opened for reading, and nothing that is in it or asked of it reaches further."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.traces import call, round_, write
from tracestat.errors import TracestatError, UsageError
from tracestat.ingest import ingest
from tracestat.queries import query_text
from tracestat.store import SCHEMA_VERSION, Trace, is_store, open_if_store, open_store

ROWS = [round_("s", i, [call(f"call_{i}", 10 * i, 10 * i + 1)], text=10 * i) for i in range(3)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    ingest([write(folder / "a.jsonl", ROWS)], folder / "a.duckdb")
    return folder / "a.duckdb"


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    """Give a copy that a test may damage."""
    return shutil.copyfile(made, tmp_path / "a.duckdb")


@pytest.fixture(scope="module")
def trace(made: Path) -> Iterator[Trace]:
    """Give one open trace for all: what one of them asks must not show to the next."""
    with open_store(made) as opened:
        yield opened


def test_what_it_says_of_itself(trace: Trace, made: Path) -> None:
    assert trace.path == made
    assert trace.shown == "a.duckdb"
    assert trace.counts == {"rounds": 3, "tool_calls": 3, "timing_events": 6, "rejected": 0}
    assert trace.synthetic is False
    assert trace.schema_version == SCHEMA_VERSION
    assert trace.fingerprint.startswith("sha256:")
    assert len(trace.fingerprint) == 7 + 64
    assert repr(trace) == "<Trace a.duckdb: 3 rounds, 3 tool calls>"


def test_a_query_with_its_parameters(trace: Trace) -> None:
    frame = trace.run("SELECT round_index FROM rounds WHERE round_index >= $least ORDER BY ALL", {"least": 1})
    assert frame.equals(pl.DataFrame({"round_index": [1, 2]}))


def test_a_parameter_is_a_value_whatever_it_says(trace: Trace) -> None:
    text = "'; DROP TABLE rounds; --"
    assert trace.run("SELECT $text AS text", {"text": text}).item() == text
    assert trace.run("SELECT count(*) FROM rounds").item() == 3


def test_variables_and_views_last_for_the_session(trace: Trace) -> None:
    trace.run("SET VARIABLE least = $least", {"least": 2})
    trace.run("CREATE OR REPLACE TEMP VIEW late AS SELECT * FROM rounds WHERE round_index >= getvariable('least')")
    assert trace.run("SELECT count(*) FROM late").item() == 1


def test_the_duration_tables_are_there(trace: Trace) -> None:
    for name in ("calls", "pauses", "commands"):
        assert trace.sql(f"SELECT count(*) FROM {name}").item() == 3


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE rounds",
        "INSERT INTO rounds (round_pk) VALUES (1)",
        "UPDATE rounds SET model = 'x'",
        "CREATE TABLE t AS SELECT 1",
        "SELECT 1; DROP TABLE rounds",
        "SELECT 1; SELECT 2",
        "ATTACH 'other.duckdb'",
        "COPY rounds TO 'out.csv'",
        "EXPORT DATABASE 'out'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA database_list",
        "SET memory_limit = '1TB'",
        "USE memory",
        "",
        "SELEC 1",
    ],
)
def test_only_one_select_of_the_users_own(trace: Trace, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        trace.sql(text)
    assert "\n" not in str(caught.value)
    assert trace.counts["rounds"] == trace.sql("SELECT count(*) FROM rounds").item()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_json('{file}')",
        "SELECT * FROM read_parquet('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM parquet_metadata('{file}')",
        "SELECT * FROM read_csv('https://localhost:1/a.csv')",
        "SELECT * FROM sqlite_scan('{file}', 't')",
    ],
)
def test_nothing_else_is_in_reach(trace: Trace, tmp_path: Path, text: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError):
        trace.sql(text.format(file=secret, folder=tmp_path))


def test_no_variable_of_the_program_is_in_reach(trace: Trace) -> None:
    frame = pl.DataFrame({"a": [1]})
    with pytest.raises(UsageError, match="frame does not exist"):
        trace.sql("SELECT * FROM frame")
    assert frame.height == 1


@pytest.mark.parametrize(
    "text",
    [
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET lock_configuration",
        "SET memory_limit = '1TB'",
        "SET threads = 64",
        "SET temp_directory = '/tmp'",
        "SET autoload_known_extensions = true",
        "SET autoinstall_known_extensions = true",
        "SET python_enable_replacements = true",
        "ATTACH 'other.duckdb'",
        "LOAD httpfs",
        "INSERT INTO trace.rounds (round_pk) VALUES (1)",
        "DROP TABLE trace.rounds",
    ],
)
def test_not_even_tracestats_own_queries_may_change_that(trace: Trace, text: str) -> None:
    with pytest.raises(TracestatError):
        trace.run(text)


def test_settings(trace: Trace) -> None:
    rows = trace.run("SELECT name, value FROM duckdb_settings()").rows()
    settings = {name: str(value).lower() for name, value in rows}
    assert settings["lock_configuration"] == "true"
    for name in (
        "enable_external_access",
        "autoload_known_extensions",
        "autoinstall_known_extensions",
        "allow_community_extensions",
        "allow_persistent_secrets",
        "python_enable_replacements",
    ):
        assert settings[name] == "false", name


def test_memory_and_threads_are_what_was_asked_for(store: Path) -> None:
    with open_store(store, memory_limit="100MB", threads=1) as trace:
        assert trace.run("SELECT current_setting('threads')").item() == 1
        assert trace.run("SELECT current_setting('memory_limit')").item() == "95.3 MiB"
        with pytest.raises(TracestatError, match=r"a\.duckdb: DuckDB's memory limit is too small"):
            trace.run("SELECT list(i::VARCHAR || repeat('x', 1000)) FROM range(1000000) AS t(i)")


@pytest.mark.full
def test_more_than_memory_goes_to_a_folder_that_is_gone_afterwards(store: Path, tmp_path: Path) -> None:
    code = """
import os, sys, tempfile
from pathlib import Path
from tracestat.store import open_store
tempfile.tempdir = sys.argv[2]
with open_store(sys.argv[1], memory_limit="60MB", threads=1) as trace:
    rows = "SELECT hash(i)::VARCHAR || repeat('x', 30) AS h FROM range(2000000) AS t(i) ORDER BY h"
    print(trace.run(f"SELECT count(*) FROM ({rows})").item(), len(os.listdir(sys.argv[2])))
print(len(os.listdir(sys.argv[2])))
"""
    folder = tmp_path / "temporary"
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", code, store, folder], check=True, capture_output=True, text=True)
    assert done.stdout == "2000000 1\n0\n"


def test_a_trace_that_is_dropped_cleans_up_too(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    trace = open_store(store)
    assert len(list(tmp_path.glob("tracestat-*"))) == 1
    del trace
    gc.collect()
    assert not list(tmp_path.glob("tracestat-*"))


def test_a_closed_trace_answers_nothing(store: Path) -> None:
    trace = open_store(store)
    trace.close()
    trace.close()
    with pytest.raises(TracestatError):
        trace.run("SELECT 1")


def test_a_file_that_was_replaced_is_the_new_one(store: Path, tmp_path: Path) -> None:
    with open_store(store) as old:
        ingest([write(tmp_path / "b.jsonl", ROWS[:1])], tmp_path / "b.duckdb")
        (tmp_path / "b.duckdb").replace(store)
        with open_store(store) as new:
            assert (old.sql("SELECT count(*) FROM rounds").item(), new.counts["rounds"]) == (3, 1)


def test_two_at_once_with_different_limits(store: Path) -> None:
    with open_store(store, memory_limit="100MB") as one, open_store(store, memory_limit="200MB", threads=1) as two:
        assert one.counts == two.counts


def test_another_program_may_read_at_the_same_time(trace: Trace, made: Path) -> None:
    assert trace.counts["rounds"] == 3
    code = "import sys; from tracestat.store import open_store; print(open_store(sys.argv[1]).counts['rounds'])"
    assert subprocess.run([sys.executable, "-c", code, made], check=True, capture_output=True).stdout == b"3\n"


def test_a_file_that_another_program_writes(store: Path) -> None:
    code = (
        "import sys, duckdb; con = duckdb.connect(sys.argv[1]); "
        "con.execute('CREATE TABLE t (a INT)'); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(
            TracestatError, match=r"a\.duckdb is being written by another program: close it there first"
        ):
            open_store(store)
        writer.communicate(b"")


def test_what_is_no_store(tmp_path: Path, store: Path) -> None:
    assert is_store(store)
    foreign = tmp_path / "foreign.duckdb"
    duckdb.connect(str(foreign)).execute("CREATE TABLE rounds (round_pk BIGINT)").close()
    (tmp_path / "text").write_text("text")
    (tmp_path / "damaged").write_bytes(store.read_bytes()[:5000])
    for name, message in [
        ("foreign.duckdb", "foreign.duckdb is not a tracestat store: make one with `tracestat ingest`"),
        ("text", "text is not a DuckDB file that can be read"),
        ("damaged", "damaged is not a DuckDB file that can be read"),
        ("none", "none: no such file"),
    ]:
        assert not is_store(tmp_path / name)
        assert open_if_store(tmp_path / name) is None
        with pytest.raises(TracestatError) as caught:
            open_store(tmp_path / name)
        assert str(caught.value).startswith(message)
        assert str(tmp_path) not in str(caught.value)
    assert not is_store(tmp_path)


def test_a_store_with_a_table_missing(store: Path) -> None:
    with duckdb.connect(str(store)) as con:
        con.execute("DROP TABLE rejects")
    with pytest.raises(TracestatError, match=r"a\.duckdb cannot be read \(Catalog Error: .*\): is it damaged\?"):
        open_store(store)


def test_a_version_that_is_none(store: Path) -> None:
    with duckdb.connect(str(store)) as con:
        con.execute("UPDATE tracestat SET schema_version = NULL")
    assert not is_store(store)
    assert open_if_store(store) is None


def test_a_store_of_a_newer_version_is_one(store: Path) -> None:
    with duckdb.connect(str(store)) as con:
        con.execute("UPDATE tracestat SET schema_version = 1000")
    with pytest.raises(TracestatError, match="upgrade tracestat"):
        open_if_store(store)


def test_a_name_to_show(store: Path) -> None:
    with open_store(store, shown="sample.jsonl.gz") as trace:
        assert trace.shown == "sample.jsonl.gz"
        with pytest.raises(UsageError, match=r"does not run on sample\.jsonl\.gz"):
            trace.sql("SELECT * FROM nothing")


def test_the_head_is_read_by_queries_of_the_folder(trace: Trace) -> None:
    assert trace.run(query_text("ingest_counts")).row(0, named=True) == trace.counts
