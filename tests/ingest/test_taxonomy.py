"""The table of classes: names, patterns, order, and broken class files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracestat.errors import TracestatError
from tracestat.ingest.taxonomy import classify_executables, classify_tools, load_taxonomy


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("AskUserQuestion", "human"),
        ("request_user_input", "human"),
        ("Bash", "shell"),
        ("bash", "shell"),
        ("BASH", "other"),
        ("exec_command", "shell"),
        ("write_stdin", "poll"),
        ("TaskOutput", "poll"),
        ("TaskCreate", "plan"),
        ("Task", "agent"),
        ("apply_patch", "edit"),
        ("view_image", "read"),
        ("WebFetch", "web"),
        ("mcp__github__search", "mcp"),
        ("custom_tool_27", "mcp"),
        ("LSP", "other"),
        (None, "other"),
    ],
)
def test_tool_classes(tool: str | None, expected: str) -> None:
    assert load_taxonomy().tool_class(tool) == expected


@pytest.mark.parametrize(
    ("executables", "expected"),
    [
        ("cd pytest tail", "test"),
        ("docker pip", "container"),
        ("git pip", "install"),
        ("git make", "build"),
        ("git grep", "vcs"),
        ("curl jq", "network"),
        ("python-script head", "script"),
        ("cd grep", "search"),
        ("sleep", "sleep"),
        ("cd sleep echo", "sleep"),
        ("sleep cat", "search"),
        ("cd echo", "other"),
        ("custom_3", "other"),
        ("", "other"),
    ],
)
def test_command_classes_take_the_first_that_matches(executables: str, expected: str) -> None:
    assert classify_executables([executables]) == [(executables, expected)]


def test_order_of_keys() -> None:
    names = ["Bash", "AskUserQuestion", "Read", "Agent", "nobody knows"]
    ranked = sorted(classify_tools(names), key=lambda item: item[2])
    assert [item[1] for item in ranked] == ["human", "agent", "shell", "read", "other"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("order = [", "cannot be read"),
        ("order = ['other']", "no class file"),
        ("order = ['other']\n[tools]\nx = ['A']\n[commands]\n", "not in `order`"),
        ("order = ['a']\n[tools]\n[commands]\n", "lacks the class 'other'"),
        ("order = 3\n[tools]\n[commands]\n", "no class file"),
    ],
)
def test_broken_class_files(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "classes.toml"
    path.write_text(text)
    with pytest.raises(TracestatError, match=says):
        load_taxonomy(path)


def test_missing_class_file(tmp_path: Path) -> None:
    with pytest.raises(TracestatError, match="cannot be read"):
        load_taxonomy(tmp_path / "none.toml")
