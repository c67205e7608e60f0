"""The header of an output: what it says about the call, and what a command may print without being believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.logs.codex_rollouts import exited, running
from tracestat.ingest.logs.codex_output import Printed, printed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (exited(1.25), Printed("finished", 0, False, 1250)),
        (exited(0.0, 3), Printed("finished", 3, True, 0)),
        (exited(2.0, -1073741510), Printed("finished", -1073741510, True, 2000)),
        (running(30.0019, 4242), Printed("running", None, None, 30002, "session 4242")),
        ("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nfine", Printed("finished", 0, False, 200)),
        ("Exit code: 1\nWall time: 3 seconds\nTotal output lines: 9\nOutput:\n", Printed("finished", 1, True, 3000)),
        (
            "Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 milliseconds\n",
            Printed("timeout", 124, True, 10000, None, 10.0),
        ),
        ("Exit code: 124\nWall time: 1 seconds\nOutput:\nI gave up\n", Printed("finished", 124, True, 1000)),
        ("Wall time: 0.0123 seconds\nOutput:\n[]", Printed(reported_ms=12)),
        ("Script completed\nWall time 0.3 seconds\nOutput:\n", Printed("finished", None, False, 300)),
        ("Script failed\nWall time 0.1 seconds\nOutput:\nScript error:\nx", Printed("finished", None, True, 100)),
        ("Script terminated\nWall time 4.0 seconds\nOutput:\n", Printed("finished", None, None, 4000)),
        (
            "Script running with cell ID 7\nWall time 10.0 seconds\nOutput:\n",
            Printed("running", None, None, 10000, "cell 7"),
        ),
        ("aborted by user after 12.3s", Printed("aborted", None, True, 12300)),
        ("aborted by user", Printed("aborted", None, True)),
        ("Wall time: 5.1 seconds\naborted by user", Printed("aborted", None, True, 5100)),
        ("exec command rejected by user", Printed("refused", None, True)),
        ("patch rejected by user", Printed("refused", None, True)),
        (
            'exec_command failed for `/bin/sh -lc "m"`: CreateProcess { message: "Rejected(\\"rejected by user\\")" }',
            Printed("refused", None, True),
        ),
        ("exec_command failed for `/bin/nope`: No such file or directory", Printed("failed", None, True)),
        ('exec_command failed for `rm`: Rejected("too great a risk")', Printed("refused", None, True)),
        (
            f"exec_command failed for `grep 'rejected by user' {'a' * 400}`: No such file or directory",
            Printed("failed", None, True),
        ),
        ("Plan updated\naborted by user", Printed()),
        ("one\ntwo\nthree\nfour\nExit code: 3", Printed()),
        (
            "Exit code: 1\nWall time: 1 seconds\nOutput:\ncommand timed out after 10 milliseconds\n",
            Printed("finished", 1, True, 1000),
        ),
        ("failed to parse function arguments: missing field `cmd`", Printed("failed", None, True)),
        ('execution error: Rejected("rejected by user")', Printed("refused", None, True)),
        ("execution error: Io(broken pipe)", Printed("failed", None, True)),
        ("write_stdin failed: Unknown process id 12", Printed("session_error", None, True)),
        ("write_stdin failed: stdin is closed for this session", Printed("session_error", None, True)),
        ("apply_patch verification failed: no such line", Printed(is_error=True)),
        ("Plan updated", Printed()),
        ("", Printed()),
    ],
)
def test_known_headers(text: str, said: Printed) -> None:
    assert printed([text]) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.2}}', Printed("finished", 0, False, 200)),
        ('{"metadata": {"exit_code": 2, "duration_seconds": 0.0}, "output": ""}', Printed("finished", 2, True, 0)),
        (
            '{"output":"command timed out after 1500 milliseconds","metadata":{"exit_code":124,"duration_seconds":2}}',
            Printed("timeout", 124, True, 2000, None, 1.5),
        ),
        ('{"output":"aborted by user after 3s","metadata":{"exit_code":1}}', Printed("aborted", None, True, 3000)),
        ('{"output":"exec command rejected by user","metadata":{"exit_code":-1}}', Printed("refused", None, True)),
        ('{"output":"","metadata":{"success":false}}', Printed(is_error=True)),
        ('{"output":"no metadata"}', Printed()),
        ('{"output":"cut of', Printed()),
        ('{"output":"x","metadata":{"exit_code":"zero"}}', Printed()),
    ],
)
def test_json_headers_of_early_builds(text: str, said: Printed) -> None:
    assert printed([text]) == said


def test_pieces_of_a_list_are_read_as_one_text() -> None:
    assert printed(["Script running with ", "cell ID 31\nWall time 10.0 seconds\n", "Output:\n"]).process == "cell 31"


@pytest.mark.parametrize(
    "body",
    [
        "Process running with session ID 9\n",
        "Wall time: 99 seconds\n",
        "aborted by user\n",
        "exec command rejected by user\n",
        "command timed out after 10 milliseconds\n",
        "Process exited with code 7\n",
    ],
)
def test_what_a_command_prints_is_not_the_header(body: str) -> None:
    assert printed([exited(0.5, 0, body)]) == Printed("finished", 0, False, 500)


def test_a_header_ends_where_the_output_begins_even_within_four_lines() -> None:
    assert printed(["Wall time: 0.1 seconds\nOutput:\nProcess exited with code 9\n"]) == Printed(reported_ms=100)


@given(st.text(max_size=300))
def test_any_text_is_read_without_failing(text: str) -> None:
    said = printed([text])
    assert said.reported_ms is None or said.reported_ms >= 0


@given(st.floats(0, 1e6), st.integers(-(2**31), 2**32), st.text(max_size=50))
def test_the_header_alone_decides(wall: float, code: int, body: str) -> None:
    said = printed([exited(f"{wall:.4f}", code, body)])
    assert (said.exit_code, said.is_error) == (code, code != 0)
    assert said.reported_ms == round(1000 * float(f"{wall:.4f}"))
