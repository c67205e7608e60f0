from __future__ import annotations

import contextlib
import errno
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.cli.conftest import Run
from tracestat.cli import main
from tracestat.errors import TracestatError, UsageError


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let ``tracestat keys`` end in a chosen way."""

    def fail_with(error: BaseException) -> None:
        @contextlib.contextmanager
        def broken(*_: Any, **__: Any) -> Iterator[None]:
            raise error
            yield

        monkeypatch.setattr(tracestat, "open", broken, raising=False)

    return fail_with


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (TracestatError("a.jsonl: empty; give another"), 1, "tracestat: a.jsonl: empty; give another"),
        (UsageError("--by x: no such key"), 2, "tracestat: --by x: no such key"),
        (TracestatError("two\nlines"), 1, "tracestat: two lines"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/home/me/a.duckdb"),
            1,
            "tracestat: a.duckdb: Permission denied",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "tracestat: No space left on device"),
    ],
)
def test_error_is_one_line_and_an_exit_code(failing: Any, run: Run, error: Exception, code: int, line: str) -> None:
    failing(error)
    ran = run("keys", "--quiet")
    assert (ran.code, ran.out, ran.err) == (code, "", f"{line}\n")


def test_unforeseen_error_is_one_line_that_quotes_nothing(failing: Any, run: Run) -> None:
    failing(ValueError("rm -rf /home/someone/secret"))
    ran = run("keys", "--quiet")
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("tracestat: internal error (ValueError at test_entry.py:")
    assert ran.err.count("\n") == 1
    assert "secret" not in ran.err
    assert "TRACESTAT_DEBUG=1" in ran.err


def test_debugging_shows_the_traceback(failing: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACESTAT_DEBUG", "1")
    failing(ValueError("the cause"))
    assert "ValueError: the cause" in run("keys", "--quiet").err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("Query interrupted")], ids=repr)
def test_interrupt_is_130_without_a_word(failing: Any, run: Run, error: BaseException) -> None:
    failing(error)
    ran = run("keys", "--quiet")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_warning_of_a_library_is_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warn(*_: Any, **__: Any) -> None:
        warnings.warn("mind the gap", UserWarning, stacklevel=1)
        raise UsageError("enough")

    monkeypatch.setattr(tracestat, "open", warn, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["keys", "--quiet"]) == 2
    assert capsys.readouterr().err == "tracestat: warning: mind the gap\ntracestat: enough\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hazrd"], "No such command 'hazrd'. Did you mean 'hazard', 'hardware'? (see tracestat --help)"),
        (["hazard", "--zzz"], "No such option: --zzz"),
        (["hazard", "--unit", "day"], "Invalid value for '--unit': 'day' is not one of 'call', 'pause', 'command'"),
        (["hazard", "--clock", "atomic"], "'atomic' is not one of 'wall', 'internal', 'effective'"),
        (["hazard", "--rows", "some"], "'some' is not one of 'tool', 'human', 'all'"),
        (["hazard", "--sort", "size"], "'size' is not one of 'n', 'time', 'name'"),
        (["hazard", "--definition", "mine"], "'mine' is not one of 'tracestat', 'tracelab'"),
        (["hazard", "--seed", "-1"], "Invalid value for '--seed'"),
        (["hazard", "--top", "0"], "Invalid value for '--top'"),
        (["calls", "--longest", "0"], "Invalid value for '--longest'"),
        (["hazard", "--cut-at", "5,soon"], "--cut-at 5,soon: write positive seconds"),
        (["hazard", "--cut-at", "-5"], "--cut-at -5: write positive seconds"),
        (["hazard", "--cut-at", "inf"], "--cut-at inf: write positive seconds"),
        (["hazard", "-o", "a.xlsx"], "-o a.xlsx: the name must end in .parquet or .csv or .json"),
        (["hazard", "--chart", "a.gif"], "--chart a.gif: the name must end in"),
        (["cache"], "Missing command. Choose from: list, clear (see tracestat cache --help)"),
        (["synth"], "Missing option '-o'"),
        (["ingest"], "Missing option"),
        (["ingest", "-o", "x.duckdb"], "ingest needs a SOURCE, or --mine"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(run: Run, arguments: list[str], said: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("tracestat: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_unwritable_output_is_found_before_any_work(failing: Any, run: Run, tmp_path: Path) -> None:
    failing(AssertionError("opened the trace"))
    ran = run("hazard", "-o", tmp_path / "none" / "a.csv")
    assert (ran.code, ran.err) == (1, "tracestat: -o a.csv: its folder does not exist; create it first\n")


def test_version(run: Run) -> None:
    assert run("--version").out == f"tracestat {tracestat.__version__}\n"
