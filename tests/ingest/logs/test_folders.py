"""Folders of logs: several formats, links in circles, what nobody may read, and whose logs they are."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from tests.ingest.logs.test_growth import session
from tracestat.errors import TracestatError
from tracestat.ingest import detect, ingest
from tracestat.own_logs import log_folders, require_log_folders
from tracestat.store import open_store

ROLLOUT = [
    {"type": "session_meta", "payload": {"id": "r1", "cwd": "/w", "cli_version": "0.140.0"}},
    {"type": "turn_context", "payload": {"turn_id": "t1", "model": "gpt-5.5", "approval_policy": "never"}},
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"ls"}', "call_id": "c1"},
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c1", "output": "Process exited with code 0\nOutput:\n"},
    },
]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACESTAT_KEY", "a key of the tests")


def rollout() -> bytes:
    lines = [{"timestamp": f"2026-06-20T08:00:{10 + i:02d}.000Z", **row} for i, row in enumerate(ROLLOUT)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in lines)


def developers(store: Path) -> list[str]:
    with open_store(store) as trace:
        return trace.sql('SELECT DISTINCT "user" AS who FROM rounds ORDER BY 1')["who"].to_list()


def test_a_folder_may_mix_formats_and_compressions(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_bytes(b"".join(session(2)))
    (logs / "r.jsonl.gz").write_bytes(gzip.compress(rollout()))
    (logs / "notes.txt").write_text("nothing of use")
    report = ingest([logs], tmp_path / "a.duckdb")
    assert [source.format for source in report.sources] == ["Claude Code log", "Codex rollout"]
    assert report.tables["tool_calls"] == 3


@pytest.mark.parametrize("compression", ["", "gzip", "zstd"])
def test_39_compressed_and_archived_rollouts_are_read(tmp_path: Path, compression: str) -> None:
    day = tmp_path / "codex" / "archived_sessions"
    day.mkdir(parents=True)
    ending = {"": "", "gzip": ".gz", "zstd": ".zst"}[compression]
    content = pa.Codec(compression).compress(rollout(), asbytes=True) if compression else rollout()
    (day / f"rollout-2026-06-20T10-00-00-x.jsonl{ending}").write_bytes(content)
    report = ingest([tmp_path / "codex"], tmp_path / "a.duckdb")
    assert (report.tables["tool_calls"], report.sources[0].rows, report.sources[0].rejected) == (1, 4, 0)


def test_links_in_circles_are_not_followed(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "inner").mkdir(parents=True)
    (logs / "inner" / "a.jsonl").write_bytes(b"".join(session(2)))
    (logs / "inner" / "up").symlink_to(logs)
    (logs / "self.jsonl").symlink_to(logs / "self.jsonl")
    assert ingest([logs], tmp_path / "a.duckdb").tables["rounds"] == 2


def test_what_nobody_may_read_is_counted_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = tmp_path / "logs"
    (logs / "-home-someone-secret").mkdir(parents=True)
    (logs / "open").mkdir()
    (logs / "open" / "a.jsonl").write_bytes(b"".join(session(2)))
    (logs / "open" / "closed.jsonl").write_bytes(b"".join(session(1, name="closed")))
    whole_iterdir, whole_open = Path.iterdir, Path.open

    def iterdir(self: Path) -> object:
        if self.name == "-home-someone-secret":
            raise PermissionError(13, "Permission denied")
        return whole_iterdir(self)

    def opened(self: Path, *a: object, **k: object) -> object:
        if self.name == "closed.jsonl":
            raise PermissionError(13, "Permission denied")
        return whole_open(self, *a, **k)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "iterdir", iterdir)
    monkeypatch.setattr(Path, "open", opened)
    with pytest.warns(UserWarning, match="^2 files or folders in logs cannot be read: left out$"):
        report = ingest([logs], tmp_path / "a.duckdb")
    assert report.tables["rounds"] == 2


def test_a_folder_that_itself_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def iterdir(self: Path) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with pytest.raises(TracestatError, match="Permission denied"):
        list(detect.walk(tmp_path, []))


@pytest.mark.full
def test_who_worked(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for who in ("ann", "bob"):
        (logs / who / "deeper").mkdir(parents=True)
        (logs / who / "deeper" / "s.jsonl").write_bytes(b"".join(session(2, name=who, start=100 * (who == "bob"))))
    ingest([logs], tmp_path / "parent.duckdb", developer_from="parent")
    assert developers(tmp_path / "parent.duckdb") == ["ann", "bob"]
    ingest([logs], tmp_path / "given.duckdb", developer="carol")
    assert developers(tmp_path / "given.duckdb") == ["carol"]
    ingest([logs], tmp_path / "none.duckdb")
    assert developers(tmp_path / "none.duckdb") == ["local"]
    ingest([logs / "ann"], tmp_path / "one.duckdb", developer_from="parent")
    assert developers(tmp_path / "one.duckdb") == ["deeper"]


def test_folders_of_a_harness_are_no_developers(tmp_path: Path) -> None:
    days = {
        "sessions/2026/06/20": "a",
        "sessions/2025/12/31": "b",
        "archived_sessions": "c",
        "ann/sessions/2026/01/01": "d",
    }
    for i, (place, name) in enumerate(days.items()):
        (tmp_path / "home" / place).mkdir(parents=True)
        log = tmp_path / "home" / place / f"{name}.jsonl"
        log.write_bytes(b"".join(session(1, name=name, start=100 * i)))
    ingest([tmp_path / "home"], tmp_path / "whole.duckdb", developer_from="parent")
    assert developers(tmp_path / "whole.duckdb") == ["ann", "local"]
    ingest([tmp_path / "home" / "sessions"], tmp_path / "one.duckdb", developer_from="parent", developer="bob")
    assert developers(tmp_path / "one.duckdb") == ["bob"]


def test_another_developer_makes_a_log_another(tmp_path: Path) -> None:
    log = tmp_path / "s1.jsonl"
    log.write_bytes(b"".join(session(2)))
    ingest([log], tmp_path / "a.duckdb")
    report = ingest([log], tmp_path / "a.duckdb", developer="carol")
    assert [source.state for source in report.sources] == ["refreshed"]
    assert developers(tmp_path / "a.duckdb") == ["carol"]


def test_the_log_folders_of_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert log_folders() == []
    with pytest.raises(TracestatError, match=r"looked in ~/.claude/projects, .*~/.codex/archived_sessions"):
        require_log_folders()
    project = tmp_path / ".claude" / "projects" / "-w"
    (project / "s1" / "subagents").mkdir(parents=True)
    (project / "s1.jsonl").write_bytes(b"".join(session(2)))
    (project / "s1" / "subagents" / "agent-x.jsonl").write_bytes(b"".join(session(1, name="x")))
    day = tmp_path / "codex" / "sessions" / "2026" / "06" / "20"
    day.mkdir(parents=True)
    (day / "rollout-1.jsonl").write_bytes(rollout())
    monkeypatch.setenv("CODEX_HOME", os.fspath(tmp_path / "codex"))
    found = log_folders()
    assert [(folder.harness, folder.shown, folder.n_logs) for folder in found] == [
        ("Claude Code", "~/.claude/projects", 1),
        ("Codex", "$CODEX_HOME/sessions", 1),
    ]
