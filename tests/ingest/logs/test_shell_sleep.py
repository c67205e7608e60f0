"""The seconds that a command asks to sleep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.ingest.logs.shell import sleep_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("sleep 30", 30),
        ("sleep 0.5", 0.5),
        ("sleep .5", 0.5),
        ("/bin/sleep 2s", 2),
        ("sleep 2m", 120),
        ("sleep 1h 1m 1s", 3661),
        ("sleep 0.5d", 43200),
        ("sleep '3'", 3),
        ("sleep 0", 0),
        ("sleep 30 && tail -5 build.log", 30),
        ("sleep 5; cat x 2>/dev/null | grep -c y", 5),
        ("sleep 5\nls", 5),
        ("cd sub && sleep 5 && tail -n 20 log || echo none", 5),
        ("sleep 2; ps aux; sleep 3", 5),
        ("grep -q done log; sleep 2", 2),
        ("N=1; sleep 4; echo $N", 4),
        ("sleep 4; echo at $(date)", 4),
        ("sleep 1 | cat", 1),
        ("sleep 3 && curl -s localhost:8000/health", 3),
    ],
)
def test_a_sleep_that_dominates(text: str, seconds: float) -> None:
    assert sleep_seconds(text) == seconds
    assert sleep_seconds(["bash", "-lc", text]) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "ls",
        "sleep",
        "sleep $N",
        "sleep $((2 + 3))",
        "sleep infinity",
        "sleep 5x",
        "sleep -5",
        "sleep --help",
        "sleep 5 --help",
        "sudo sleep 5",
        "timeout 5 sleep 10",
        "echo sleep 5",
        "echo 'sleep 5'",
        "# sleep 5",
        "for i in 1 2 3; do sleep 1; done",
        "while true; do sleep 1; done",
        "if test -f x; then sleep 5; fi",
        "(sleep 5)",
        "f() { sleep 5; }; f",
        "sleep 5 &",
        "pytest & sleep 5",
        "make && sleep 5",
        "sleep 5; make",
        "sleep 5; tail -f log",
        "sleep 5; tail --follow=name log",
        "sleep 5; tail -5f log",
        "grep -q done log && sleep 5",
        "test -f x || sleep 5",
        "test -f x && cd y && sleep 5",
        "cd x || sleep 5",
        "echo $(sleep 5)",
        "sleep 1; echo $(sleep 5)",
        "sleep 5 'unfinished",
        "! sleep 5",
        "[ -f x ] || sleep 5",
        "$WAIT; sleep 5",
        "$(sleep 5)",
        "sleep 5\0",
        "",
    ],
)
def test_no_sleep_or_not_for_certain(text: str) -> None:
    assert sleep_seconds(text) is None


def test_argument_lists() -> None:
    assert sleep_seconds(["sleep", "5", "1m"]) == 65
    assert sleep_seconds(["sleep", "5; rm x"]) is None
    assert sleep_seconds([]) is None


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=5), st.sampled_from([" && ", "; ", "\n"]))
def test_sleeps_add_up(seconds: list[int], between: str) -> None:
    assert sleep_seconds(between.join(f"sleep {n}" for n in seconds)) == sum(seconds)


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    found = sleep_seconds(f"sleep {text}")
    assert found is None or found >= 0
