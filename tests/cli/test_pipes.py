"""What needs a process of its own: real streams, real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Run


def test_reader_that_leaves_early_causes_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tracestat", "hazard", "--json", "-o", tmp_path / "a.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert b"Traceback" not in said
    assert b"Exception ignored" not in said
    assert (tmp_path / "a.csv").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.full
def test_full_disk_under_stdout_is_one_line(shell: Run) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = shell("keys", "--quiet", stdout=full)
    assert ran.code == 1
    assert ran.err == "tracestat: standard output: No space left on device; write to another place\n"


@pytest.mark.full
def test_full_disk_under_a_file_is_one_line_and_leaves_the_old_file(shell: Run, tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")

    shell("keys", "--quiet")  # the sample is in the cache from here on
    program = (
        "import resource, signal, sys\n"
        "from tracestat.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "hazard", "--quiet", "-o", target], capture_output=True, text=True, check=False
    )
    ran = Ran(done.returncode, done.stdout, done.stderr)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err == "tracestat: -o a.json: cannot be written (File too large); choose another place\n"
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_interrupt_ends_with_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tracestat", "synth", "-o", tmp_path / "a.jsonl", "--sessions", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not list(tmp_path.iterdir()):  # until it writes
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.full
def test_closed_streams_are_no_error(tmp_path: Path) -> None:
    script = f'exec "{sys.executable}" -m tracestat keys -o "{tmp_path / "a.csv"}" >&- 2>&-'
    assert subprocess.run(["sh", "-c", script], check=False).returncode == 0
    assert (tmp_path / "a.csv").exists()


def test_module_and_exit_code(shell: Run) -> None:
    assert shell("--version").out.startswith("tracestat ")
    assert shell("hazrd").code == 2


@pytest.mark.full
def test_ascii_locale_does_not_break_the_tables(shell: Run) -> None:
    ran = shell("keys", "--quiet", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.err) == (0, "")
    assert "─" in ran.out


def test_installed_command_is_the_module() -> None:
    script = Path(sys.executable).with_name("tracestat")
    if not script.exists():
        pytest.skip("tracestat is not installed beside this Python")
    done = subprocess.run([script, "--version"], capture_output=True, check=True, env={**os.environ})
    assert done.stdout.startswith(b"tracestat ")
