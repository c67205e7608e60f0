"""Ways to run the command line: in this process with both streams caught, or in its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tracestat.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("TRACESTAT_DEBUG", raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        caught = capsys.readouterr()
        return Ran(code, caught.out, caught.err)

    return run


@pytest.fixture
def shell() -> Run:
    """Run ``python -m tracestat`` as its own process; costs a second, so only for what needs a process."""

    def shell(*arguments: str | Path, **options: Any) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "tracestat", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output="stdout" not in options,
            stderr=subprocess.PIPE if "stdout" in options else None,
            check=False,
            env={**os.environ, **options.pop("env", {})},
            **options,
        )
        return Ran(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())

    return shell
