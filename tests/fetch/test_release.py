"""The file is there whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import logging
import os
import resource
import shutil
import socket
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.serving import ASSET, CONTENT, serving, small_release
from tracestat import fetch
from tracestat.errors import TracestatError, UsageError
from tracestat.fetch import Asset, fetch_release

NAME = "syfi_coding_trace.jsonl.gz"
QUICK = (2.0, 0.2)
WRONG = hashlib.sha256(CONTENT[::-1]).hexdigest()


def refused(folder: Path, base: str, **more: Any) -> str:
    """Fetch what cannot be had; one line says why, and nothing is left behind."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(TracestatError) as caught:
        fetch_release(folder, base=base, timeout=QUICK, **more)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_right_file_is_written_and_checked(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with serving("right") as server:
        done = fetch_release(tmp_path, base=server.base, progress=lambda *now: told.append(now))
    assert (done.new, done.path, done.asset) == (True, tmp_path / NAME, ASSET)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert done.path.read_bytes() == CONTENT
    assert server.asked == [f"/v0.0.2/{NAME}"]
    assert server.headers[0]["Accept-Encoding"] == "identity"
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert len(told) > 2
    assert told == sorted(told)


def test_file_can_be_read_by_those_who_may_read_others_of_this_user(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with serving("right") as server:
        done = fetch_release(tmp_path, base=server.base)
    assert done.path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_target_may_be_a_file_and_the_kind_duckdb(tmp_path: Path) -> None:
    with serving("right") as server:
        done = fetch_release(str(tmp_path / "mine.duckdb"), kind="duckdb", base=server.base + "/")
    assert done.path == tmp_path / "mine.duckdb"
    assert server.asked == ["/v0.0.2/syfi_coding_trace.duckdb"]


def test_redirects_are_followed(tmp_path: Path) -> None:
    with serving("redirect") as server:
        assert fetch_release(tmp_path, base=server.base).path.read_bytes() == CONTENT


def test_file_that_is_there_needs_no_network(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(CONTENT)
    before = (tmp_path / NAME).stat()
    done = fetch_release(tmp_path, base="http://example.invalid")
    assert not done.new
    assert (tmp_path / NAME).stat() == before or (tmp_path / NAME).stat().st_mtime_ns == before.st_mtime_ns


def test_other_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"mine")
    with serving("right") as server:
        text = refused(tmp_path, server.base)
    assert server.asked == []
    assert hashlib.sha256(b"mine").hexdigest()[:12] in text
    assert "move it away" in text


def test_file_of_another_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = Asset(hashlib.sha256(b"old").hexdigest(), 3, 1)
    monkeypatch.setattr(fetch, "RELEASES", {**fetch.RELEASES, "v0.0.1": {"jsonl": older, "duckdb": older}})
    (tmp_path / NAME).write_bytes(b"old")
    assert "the file that is there is TraceLab v0.0.1" in refused(tmp_path, "http://example.invalid")


def test_wrong_hash_says_both_and_is_asked_for_once(tmp_path: Path) -> None:
    with serving("other") as server:
        text = refused(tmp_path, server.base)
    assert len(server.asked) == 1
    assert f"has SHA-256 {WRONG}" in text
    assert ASSET.sha256 in text
    assert "it was removed" in text


def test_wrong_size_stops_before_the_first_byte(tmp_path: Path) -> None:
    told: list[int] = []
    with serving("longer") as server:
        text = refused(tmp_path, server.base, progress=lambda done, _: told.append(done))
    assert f"offers {len(CONTENT) + 1:,} bytes in place of the {len(CONTENT):,} of the release" in text
    assert told == []
    assert len(server.asked) == 1


def test_server_without_an_end_is_left(tmp_path: Path) -> None:
    with serving("endless") as server:
        text = refused(tmp_path, server.base)
        assert f"sends more than the {len(CONTENT):,} bytes of the release" in text
        assert len(server.asked) == 1
        assert server.sent < 40 * len(CONTENT)


def test_small_pieces_are_counted_as_they_come(tmp_path: Path) -> None:
    told: list[int] = []
    with serving("pieces") as server:
        done = fetch_release(tmp_path, base=server.base, timeout=QUICK, progress=lambda now, _: told.append(now))
    assert done.path.read_bytes() == CONTENT
    assert told == sorted(told)
    assert len(told) > 100
    assert told[-1] == len(CONTENT)


@pytest.mark.parametrize(
    ("behaviour", "words", "asked"),
    [
        ("cut", "the connection was cut after", 3),
        ("stall", "no byte came for 0.2 s, after", 3),
        ("silent", "no byte came for 0.2 s, after 0.0 MB", 3),
        ("503", "refuses (HTTP 503) (3 attempts, each from the start)", 3),
        ("404", "has no such file (HTTP 404)", 1),
        ("403", "refuses (HTTP 403)", 1),
        ("circle", "leads in a circle", None),
        ("unread", "its answer cannot be read", 1),
    ],
)
def test_bad_server_is_one_line(tmp_path: Path, behaviour: str, words: str, asked: int | None) -> None:
    with serving(behaviour) as server:
        text = refused(tmp_path, server.base)
    assert text.startswith("127.0.0.1: ")
    assert words in text
    assert asked is None or len(server.asked) == asked


def test_amount_is_that_of_the_last_attempt(tmp_path: Path) -> None:
    with serving("cut", "cut", "silent") as server:
        assert "no byte came for 0.2 s, after 0.0 MB (3 attempts" in refused(tmp_path, server.base)


@pytest.mark.parametrize("first", ["cut", "stall", "silent", "503"])
def test_second_attempt_helps(tmp_path: Path, first: str) -> None:
    told: list[int] = []
    with serving(first, "right") as server:
        done = fetch_release(tmp_path, base=server.base, timeout=QUICK, progress=lambda now, _: told.append(now))
    assert done.path.read_bytes() == CONTENT
    assert len(server.asked) == 2
    assert told[-1] == len(CONTENT)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_size_that_was_never_published_is_taken_from_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_release(monkeypatch, Asset(ASSET.sha256, None, None))
    with serving("right") as server:
        assert fetch_release(tmp_path / "a.jsonl.gz", base=server.base).path.read_bytes() == CONTENT
    told: list[tuple[int, int]] = []
    with serving("unsized") as server:
        done = fetch_release(tmp_path / "b.jsonl.gz", base=server.base, progress=lambda *now: told.append(now))
    assert done.path.read_bytes() == CONTENT
    assert {total for _, total in told} == {0}


@pytest.mark.parametrize("size", [len(CONTENT), None])
def test_no_room_is_said_before_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int | None
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 300_000))
    small_release(monkeypatch, Asset(ASSET.sha256, size, None))
    with serving("right") as server:
        text = refused(tmp_path, server.base)
    assert f"-o {NAME}: needs 1.1 MB and 0.3 MB are free" in text
    assert len(server.asked) == (size is None)


def test_disk_that_fills_up_is_one_line(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with serving("right") as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENT) // 2, hard))
        try:
            text = refused(tmp_path, server.base)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert text == f"-o {NAME}: cannot be written (File too large); choose another place"


def test_folder_that_takes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", forbidden)
    with serving("right") as server:
        text = refused(tmp_path, server.base)
    assert text == f"-o {NAME}: cannot be written (Permission denied); choose another place"
    assert server.asked == []


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    def enough(done: int, total: int) -> None:
        assert done < total
        assert any(path.stat().st_size for path in tmp_path.iterdir())  # something was there
        raise KeyboardInterrupt

    with serving("right") as server, pytest.raises(KeyboardInterrupt):
        fetch_release(tmp_path, base=server.base, progress=enough)
    assert list(tmp_path.iterdir()) == []


def test_no_network(tmp_path: Path) -> None:
    text = refused(tmp_path, "https://example.invalid")
    assert text == "example.invalid: cannot be reached; check the network, or HTTPS_PROXY behind a proxy"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "127.0.0.1: cannot be reached" in refused(tmp_path, f"http://127.0.0.1:{port}")


def test_proxy_of_the_environment_is_used_and_its_password_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("right") as server:
        monkeypatch.setenv("HTTP_PROXY", server.base)
        fetch_release(tmp_path, base="http://example.invalid")
        assert server.asked == [f"http://example.invalid/v0.0.2/{NAME}"]
    (tmp_path / NAME).unlink()
    for proxy in (
        server.base.replace("//", "//me:secret@"),
        "me:secret@nowhere",
        "odd://me:secret@127.0.0.1:1",
        "http://",
    ):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        text = refused(tmp_path, "http://example.invalid")
        assert "HTTP_PROXY" in text
        assert "secret" not in text


def test_certificates_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    assert "REQUESTS_CA_BUNDLE" in refused(tmp_path, "https://127.0.0.1:1")


def test_server_without_a_certificate(tmp_path: Path) -> None:
    with serving("right") as server:
        text = refused(tmp_path, server.base.replace("http:", "https:"))
    assert "127.0.0.1: its certificate cannot be checked" in text


def test_unknown_choices_are_usage_errors(tmp_path: Path) -> None:
    for more in ({"release": "v9"}, {"kind": "csv"}):
        with pytest.raises(UsageError, match="choose one of"):
            fetch_release(tmp_path, **more)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"ends in \.jsonl\.gz"):
        fetch_release(tmp_path / "trace.duckdb")
    with pytest.raises(TracestatError, match="folder does not exist"):
        fetch_release(tmp_path / "none" / "a.jsonl.gz")


def test_place_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(TracestatError, match="this is a folder"):
        fetch_release(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl.gz")
    with pytest.raises(TracestatError, match="this is no file"):
        fetch_release(tmp_path / "pipe.jsonl.gz")


def test_library_writes_nothing_and_keeps_its_settings(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import pooch

    level = pooch.get_logger().level
    with serving("right") as server:
        fetch_release(tmp_path, base=server.base)
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == level < logging.CRITICAL
