from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Run

COMMANDS = [
    ["ingest"],
    ["keys"],
    ["calls"],
    ["summary"],
    ["survival"],
    ["hazard"],
    ["fit"],
    ["forecast", "fit"],
    ["timeline"],
    ["synth"],
    ["cache", "list"],
    ["cache", "clear"],
]
READING = ["keys", "calls", "summary", "survival", "hazard"]
HEAVY = {
    "altair",
    "duckdb",
    "lifelines",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "scipy",
    "sqlglot",
    "vl_convert",
}


@pytest.mark.parametrize("arguments", [["--help"], ["hazard", "--help"], ["--version"], []], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from tracestat.cli import main\n"
        f"code = main({arguments!r})\n"
        "print('imported:', *sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout
    imported = set(done.stderr.rpartition("imported: ")[2].split())
    assert "typer" in imported
    assert not imported & HEAVY


def test_help_lists_every_command(run: Run) -> None:
    ran = run("--help")
    assert ran.code == 0
    for command in COMMANDS:
        assert f"\n  {command[0]} " in ran.out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_a_command_has_an_example_that_is_one_line(run: Run, command: list[str]) -> None:
    ran = run(*command, "--help")
    assert ran.code == 0
    example = ran.out.rpartition("Example:\n")[2].strip()
    assert example.startswith(f"tracestat {' '.join(command)}")
    assert "\n" not in example


@pytest.mark.parametrize("command", READING)
def test_help_of_a_reading_command_states_the_general_options_and_their_defaults(run: Run, command: str) -> None:
    text = " ".join(run(command, "--help").out.split())
    for option in ("--where", "--since", "--until", "--tz", "--unit", "--rows", "--classes"):
        assert option in text
    for option in ("--json", "-o", "--chart", "--quiet"):
        assert option in text
    assert "[default: the bundled sample]" in text
    assert "default: that of this machine]" in text
    assert "summary: pause and call" in text


@pytest.mark.parametrize("command", ["summary", "survival", "hazard"])
def test_help_of_an_estimate_states_how_it_is_made(run: Run, command: str) -> None:
    text = " ".join(run(command, "--help").out.split())
    for option in ("--by", "--min-n", "--clock", "--definition", "--seed", "--sort", "--top"):
        assert option in text
    assert "[default: provider]" in text
    assert "[default: 0; x>=0]" in text


def test_help_fits_80_columns(run: Run) -> None:
    for command in COMMANDS:
        lines = run(*command, "--help").out.partition("Example:")[0].splitlines()
        assert max(map(len, lines)) <= 80


def test_bare_command_says_what_to_run_next(run: Run) -> None:
    ran = run()
    assert ran.code == 0
    assert "tracestat hazard\n" in ran.out
    assert "bundled sample" in ran.out
    assert ran.err == ""


def test_help_says_that_from_is_where_the_search_begins(run: Run) -> None:
    text = " ".join(run("hazard", "--help").out.split())
    assert "Search for the first edge from here, above 0 to 10000. [default: 0.1]" in text
