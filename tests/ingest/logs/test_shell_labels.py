"""The label of one command, from its words."""

from __future__ import annotations

import pytest

from tracestat.ingest.logs.shell_labels import label_of, unquoted


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("git status", "git"),
        ("/usr/local/bin/git status", "git"),
        ("./gradlew assemble", "gradlew"),
        ("$HOME/bin/lint --all", "lint"),
        ("DEBUG=1 LEVEL=2 serve", "serve"),
        ("docker-compose up", "docker"),
        ("pip3 install x", "pip"),
        ("pip2 install x", "pip"),
        ("c++ -O2 a.cc", "c++"),
        ("deploy.sh now", "deploy.sh"),
        # wrappers, with flags whose value stands apart, and one inside the other
        ("sudo -u www -H rm -rf cache", "rm"),
        ("env -u LANG LC_ALL=C sort words", "sort"),
        ("time -p make", "make"),
        ("nohup nice -n 19 make", "make"),
        ("nice --adjustment=5 make", "make"),
        ("stdbuf -oL -e 0 tail log", "tail"),
        ("command -p ls", "ls"),
        ("command ls", "ls"),
        ("exec -a other top", "top"),
        ("ionice -c 3 tar cf x", "tar"),
        ("timeout 90 pytest", "pytest"),
        ("timeout -s KILL 1.5m pytest", "pytest"),
        ("timeout --kill-after=5 $LIMIT pytest", "pytest"),
        ("xargs -0 -n 1 -P 4 grep x", "grep"),
        ("xargs -I {} cp {} there", "cp"),
        ("sudo -- ls", "ls"),
        # project runners
        ("uv run pytest -x", "pytest"),
        ("uv run --with hypothesis -p 3.12 pytest", "pytest"),
        ("uv run -- ruff check", "ruff"),
        ("uv run -m unittest", "unittest"),
        ("uv run tool.py", "python-script"),
        ("uv run python -m mypy", "mypy"),
        ("uv --project sub run ruff", "ruff"),
        ("uv pip install x", "uv"),
        ("uv run", "uv"),
        ("uv", "uv"),
        ("poetry run black .", "black"),
        ("pipenv run flask run", "flask"),
        ("pdm run -p sub tox", "tox"),
        ("poetry install", "poetry"),
        # Python
        ("python -m json.tool", "json.tool"),
        ("python3.12 -W error -m pip3 list", "pip"),
        ("python -u -X dev script.py", "python-script"),
        ("python3 -", "python-script"),
        ("python3 -c 'print(1)' file.py", "python"),
        ("python3 manage", "python"),
        ("python3", "python"),
        ("python3 -m $MODULE", "python"),
        ("pythonic thing", "pythonic"),
    ],
)
def test_known_labels(command: str, label: str) -> None:
    assert label_of(command.split(" ")) == (label, None)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("$EDITOR notes", "dynamic"),
        ("$BIN/$TOOL x", "dynamic"),
        ("`which x` y", "dynamic"),
        ('"$EDITOR" notes', "dynamic"),
        ("sudo $TOOL", "dynamic"),
        ("--flag value", "bad"),
        (". ./env.sh", "bad"),
        ("'my tool' x", "bad"),
        ("command -v jq", "bad"),
        ("done", "bad"),
        ("übung x", "bad"),
        ("<loops> x", "bad"),
        ("&& x", "bad"),
        ("! x", "bad"),
        ("a" * 256, "bad"),
        ("sudo " * 20 + "ls", "bad"),
        ("env", "none"),
        ("env A=1", "none"),
        ("sudo -u root", "none"),
        ("time", "none"),
    ],
)
def test_what_has_no_label_says_why(command: str, reason: str) -> None:
    assert label_of(command.split(" ")) == (None, reason)


def test_a_here_document_is_a_script() -> None:
    assert label_of(["python3"], heredoc=True).name == "python-script"
    assert label_of(["uv", "run", "python"], heredoc=True).name == "python-script"
    assert label_of(["python3", "-m", "cmd"], heredoc=True).name == "cmd"
    assert label_of(["cat"], heredoc=True).name == "cat"


def test_only_a_pair_of_quotes_comes_off() -> None:
    assert [unquoted(word) for word in ("'5'", '"5"', "'5", "'", "5'", "''")] == ["5", "5", "'5", "'", "5'", ""]
