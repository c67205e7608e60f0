"""A person's own logs and tables through the command line: --mine, --keep-names, --map."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.ingest.logs.test_growth import line, result, session, stamp

TABLE = """\
chat,function,called,returned
a,Bash,2026-03-01T10:00:00Z,2026-03-01T10:00:02Z
a,own_tool,2026-03-01T10:01:00Z,2026-03-01T10:01:30Z
"""
MAP = "session=chat,tool=function,start=called,end=returned"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACESTAT_KEY", "a key of the tests")
    monkeypatch.setenv("TRACESTAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def logs(home: Path, *, sessions: int = 3) -> Path:
    folder = home / ".claude" / "projects" / "-home-somebody-secret-plan"
    folder.mkdir(parents=True)
    for i in range(sessions):
        (folder / f"s{i}.jsonl").write_bytes(b"".join(session(4, name=f"s{i}", start=100 * i)))
    return folder


def own_call(second: float) -> bytes:
    block = {"type": "tool_use", "id": "toolu_own", "name": "Bash", "input": {"command": "deploy-it --now | tail"}}
    message = {"id": "msg_own", "role": "assistant", "model": "claude-opus-4-8", "content": [block]}
    return line({"type": "assistant", "sessionId": "own", "timestamp": stamp(second), "message": message, "cwd": "/w"})


def test_bare_tracestat_says_what_is_there_and_what_to_run(run: Run, home: Path) -> None:
    assert "No logs of agents were found here" in run().out
    logs(home)
    out = run().out
    assert "~/.claude/projects  3 Claude Code session logs" in out
    assert "tracestat summary --mine" in out
    assert "somebody" not in out


@pytest.mark.parametrize("command", ["keys", "calls", "summary", "survival", "hazard"])
@pytest.mark.first_case
def test_three_sessions_of_ones_own_are_answered(run: Run, home: Path, command: str) -> None:
    logs(home)
    ran = run(command, "--mine")
    assert ran.code == 0
    assert "12 rounds, 12 calls" in ran.out
    assert "somebody" not in ran.out + ran.err
    document = json.loads(run(command, "--mine", "--json", "--quiet").out)
    assert document["trace"]["path"].startswith("logs/")


def test_mine_sees_what_a_log_has_grown_by(run: Run, home: Path) -> None:
    folder = logs(home)
    assert "12 rounds" in run("keys", "--mine").out
    with (folder / "s0.jsonl").open("ab") as file:
        file.write(b"".join(session(6, name="s0")[8:]))
    assert "14 rounds" in run("keys", "--mine").out
    (folder / "s1.jsonl").unlink()
    assert "10 rounds" in run("keys", "--mine").out
    (entry,) = json.loads(run("cache", "list", "--json").out)["files"]
    assert "somebody" not in json.dumps(entry)


def test_mine_beside_a_trace_is_refused(run: Run, home: Path) -> None:
    logs(home)
    ran = run("hazard", "x.duckdb", "--mine")
    assert (ran.code, ran.err) == (2, "tracestat: --mine stands in place of a TRACE: leave out --mine or x.duckdb\n")


def test_mine_without_logs_is_one_line(run: Run, home: Path) -> None:
    ran = run("hazard", "--mine")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "name a TRACE instead of --mine" in ran.err


@pytest.mark.full
def test_true_names_are_for_the_screen_unless_asked_for(run: Run, home: Path) -> None:
    (home / "own.jsonl").write_bytes(own_call(0) + result(0, 1).replace(b"toolu_s1_0", b"toolu_own"))
    store = home / "own.duckdb"
    assert run("ingest", home / "own.jsonl", "-o", store, "--keep-names").code == 0
    names = home / "own.duckdb.names.json"
    assert stat.S_IMODE(names.stat().st_mode) == 0o600
    assert json.loads(names.read_text())["shown"]["custom_1"] == "deploy-it"
    assert "deploy-it | tail" in run("calls", store).out
    assert "custom_1 | tail" in run("calls", store, "--json").out
    assert "deploy-it | tail" in run("calls", store, "--json", "--with-names").out
    for ending in (".csv", ".json"):
        run("calls", store, "-o", home / f"a{ending}")
        assert "deploy-it" not in (home / f"a{ending}").read_text()
        run("calls", store, "-o", home / f"a{ending}", "--with-names")
        assert "deploy-it | tail" in (home / f"a{ending}").read_text()
    run("survival", store, "--by", "command_skeleton", "--chart", home / "a.html")
    assert "deploy-it" not in (home / "a.html").read_text()
    assert b"deploy-it" not in store.read_bytes()


@pytest.mark.full
def test_names_stay_right_when_numbers_move(run: Run, home: Path) -> None:
    (home / "own.jsonl").write_bytes(own_call(100) + result(0, 101).replace(b"toolu_s1_0", b"toolu_own"))
    store = home / "own.duckdb"
    run("ingest", home / "own.jsonl", "-o", store, "--keep-names")
    earlier = (
        own_call(0).replace(b"deploy-it", b"sooner-it").replace(b"_own", b"_sooner").replace(b'"own"', b'"sooner"')
    )
    (home / "sooner.jsonl").write_bytes(earlier)
    run("ingest", home / "sooner.jsonl", "-o", store)
    shown = json.loads((home / "own.duckdb.names.json").read_text())["shown"]
    assert "deploy-it" in shown.values()
    assert "deploy-it | tail" in run("calls", store).out
    assert "sooner-it" not in run("calls", store).out


@pytest.mark.full
def test_a_plain_table_with_a_mapping(run: Run, home: Path) -> None:
    (home / "t.csv").write_text(TABLE)
    ran = run("ingest", home / "t.csv", "--map", MAP, "--keep-map", home / "m.toml", "-o", home / "a.duckdb")
    assert ran.code == 0
    assert "start: ISO 8601 (column called), 2026-03-01 10:00:00 to 2026-03-01 10:01:00" in ran.out
    assert "custom_tool_1" in run("keys", home / "a.duckdb", "--rows", "all").out + run("calls", home / "a.duckdb").out
    again = run("ingest", home / "t.csv", "--map", home / "m.toml", "-o", home / "a.duckdb")
    assert "unchanged" in again.out
    other = run("ingest", home / "t.csv", "--map", MAP + ",developer==ann", "-o", home / "a.duckdb")
    assert "refreshed" in other.out
    assert run("ingest", home / "t.csv", "-o", home / "b.duckdb").err.endswith("any table by tracestat ingest --map\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--keep-map", "m.toml"], "--keep-map keeps what --map says: give --map too"),
        (["--map", "session=chat"], "--map must name either start"),
        (["--map", MAP, "--mine"], "--map is for tables: leave out --mine"),
    ],
)
def test_mappings_that_make_no_sense(run: Run, home: Path, arguments: list[str], reason: str) -> None:
    logs(home)
    (home / "t.csv").write_text(TABLE)
    ran = run("ingest", home / "t.csv", "-o", home / "a.duckdb", *arguments)
    assert ran.code == 2
    assert reason in ran.err
    assert ran.err.count("\n") == 1
