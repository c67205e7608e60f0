"""The user's key: what is kept of a log cannot be guessed without it, and two keys do not mix unseen."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import pytest

from tests.ingest.logs.test_growth import session, states
from tracestat.errors import TracestatError
from tracestat.ingest import ingest


def log_of(tmp_path: Path, n: int = 2, name: str = "s1") -> Path:
    log = tmp_path / f"{name}.jsonl"
    log.write_bytes(b"".join(session(n, name=name)))
    return log


def use(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("TRACESTAT_KEY", key)


def test_no_hash_of_a_log_can_be_made_without_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {}
    for key in ("one", "two"):
        use(monkeypatch, key)
        log = log_of(tmp_path, 1)
        ingest([log], tmp_path / f"{key}.duckdb")
        with duckdb.connect(str(tmp_path / f"{key}.duckdb"), read_only=True) as connection:
            kept[key] = repr([connection.sql(f"FROM {t}").fetchall() for t in ("raw_logs", "sources", "rounds")])
    data = (tmp_path / "s1.jsonl").read_bytes()
    for content in (data, data[:4096], data[-4096:], *data.split(b"\n"), b"s1", b"toolu_s1_0", b"make part0", b"make"):
        for how in ("md5", "sha1", "sha256", "blake2b"):
            digest = hashlib.new(how, content).hexdigest()
            assert not any(digest[:16] in text for text in kept.values())
    assert kept["one"] != kept["two"]


def test_another_key_does_not_count_a_log_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, store = log_of(tmp_path), tmp_path / "a.duckdb"
    use(monkeypatch, "one")
    ingest([log], store)
    before = store.read_bytes()
    use(monkeypatch, "two")
    with pytest.raises(TracestatError, match=r"^a\.duckdb holds logs that were read with another key.*TRACESTAT_KEY"):
        ingest([log], store)
    assert store.read_bytes() == before
    use(monkeypatch, "one")
    assert states(ingest([log], store)) == ["unchanged"]


@pytest.mark.full
def test_stores_of_two_people_can_be_put_together_and_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("ann", "bob"):
        use(monkeypatch, key)
        ingest([log_of(tmp_path, name=key)], tmp_path / f"{key}.duckdb", developer=key)
    both = tmp_path / "both.duckdb"
    assert ingest([tmp_path / "ann.duckdb", tmp_path / "bob.duckdb"], both).tables["rounds"] == 4
    assert ingest([log_of(tmp_path, 3, name="bob")], both, developer="bob").tables["rounds"] == 5
