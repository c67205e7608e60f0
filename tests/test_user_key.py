"""The user's key: made once, for its owner only, and the same for two ingests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from tracestat.errors import TracestatError
from tracestat.user_key import keyed_hash, user_key


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TRACESTAT_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Path(platformdirs.user_config_dir("tracestat"))


def test_made_once(home: Path) -> None:
    key = user_key()
    assert len(key) == 32
    assert user_key() == key
    assert [path.name for path in home.iterdir()] == ["key"]
    assert (home / "key").stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700


def test_two_users_have_two_keys(home: Path) -> None:
    key = user_key()
    (home / "key").unlink()
    assert user_key() != key


def test_several_processes_at_once_agree(home: Path) -> None:
    code = "from tracestat.user_key import user_key; print(user_key().hex())"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert {process.communicate()[0].strip() for process in running} == {user_key().hex()}
    assert [path.name for path in home.iterdir()] == ["key"]


def test_the_variable_overrides_and_writes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACESTAT_KEY", "mine")
    first = user_key()
    monkeypatch.setenv("TRACESTAT_KEY", "yours")
    assert user_key() != first
    assert not home.exists()


@pytest.mark.parametrize("content", [b"", b"abcd", b"zz" * 32, b"\xff" * 64])
def test_a_damaged_key_is_not_replaced(home: Path, content: bytes) -> None:
    home.mkdir(parents=True)
    (home / "key").write_bytes(content)
    with pytest.raises(TracestatError, match="is damaged: remove the file `key` there, or set TRACESTAT_KEY"):
        user_key()
    assert (home / "key").read_bytes() == content


def test_a_folder_that_cannot_be_made(home: Path, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file")
    with pytest.raises(TracestatError, match=r"cannot be read or made .*: set TRACESTAT_KEY"):
        user_key()


def test_pseudonyms() -> None:
    one = keyed_hash("/home/ada", purpose="path", key=b"k")
    assert one == keyed_hash("/home/ada", purpose="path", key=b"k")
    assert len(one) == 32
    assert one != keyed_hash("/home/ada", purpose="session", key=b"k")
    assert one != keyed_hash("/home/ada", purpose="path", key=b"l")
    assert len(keyed_hash("\ud800\udcff", purpose="path", key=b"k")) == 32
