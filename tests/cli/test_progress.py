from __future__ import annotations

import io
import sys

import pytest

from tracestat.cli import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)  # in the test itself: capturing sets stderr anew after the set-up
    monkeypatch.setenv("TERM", "xterm")
    return screen


def test_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_bar("reading", quiet=False) as bar:
        assert bar is None
    assert capsys.readouterr() == ("", "")


def test_silent_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    watched(monkeypatch)
    with progress.progress_bar("reading", quiet=True) as bar:
        assert bar is None


def test_quick_work_leaves_nothing_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress.progress_bar("reading", quiet=False) as bar:
        assert bar is not None
        for done in range(0, 101, 10):
            bar(done, 100)
    assert terminal.getvalue() == ""


def test_long_work_draws_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    with progress.progress_bar("reading the trace", quiet=False) as bar:
        assert bar is not None
        bar(1, 4)
        bar(2, 4)
    assert "reading the trace" in terminal.getvalue()
