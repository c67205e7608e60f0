from __future__ import annotations

import io
import sys

import pytest

from tracestat.cli.screen import complain, one_line, say, width
from tracestat.errors import TracestatError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("Größe 5 µs", "Größe 5 µs"),
    ],
)
def test_one_line_has_nothing_that_steers_a_terminal(text: str, expected: str) -> None:
    assert one_line(text) == expected


def test_complaints_go_to_stderr_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("first\nsecond")
    assert capsys.readouterr() == ("", "tracestat: first second\n")


def test_complaint_survives_a_closed_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    complain("nobody hears this")


def test_complaint_survives_an_ascii_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    complain("Größe")
    assert raw.getvalue() == b"tracestat: Gr\\xf6\\xdfe\n"


def test_results_are_utf8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    say("5 µs")
    assert raw.getvalue() == "5 µs\n".encode()


def test_bytes_that_are_no_utf8_come_out_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    say('{"path": "\udcff.jsonl"}')
    assert raw.getvalue() == b'{"path": "\\udcff.jsonl"}\n'


class _Stuck(io.StringIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


def test_a_reader_that_left_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", _Stuck(BrokenPipeError(32, "Broken pipe")))
    say("unread")


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", _Stuck(OSError(28, "No space left on device")))
    with pytest.raises(TracestatError, match="standard output: No space left on device"):
        say("too much")


def test_tables_get_80_columns_away_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert width() == 80
