"""Names: what is public stays, everything else becomes a keyed token."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracestat.ingest.logs import public_names
from tracestat.ingest.logs.names import TOKEN, Names
from tracestat.ingest.logs.public_names import PUBLIC_EXECUTABLES, PUBLIC_TOOLS
from tracestat.ingest.logs.shell_labels import label_of
from tracestat.queries import data_path

NAMES = Names(b"a key of the tests")


@pytest.fixture(scope="module")
def classes() -> dict[str, Any]:
    return tomllib.loads(data_path("tool_classes.toml").read_text(encoding="utf-8"))


def test_every_name_that_has_a_class_is_public(classes: dict[str, Any]) -> None:
    tools = {name for names in classes["tools"].values() for name in names if "*" not in name}
    commands = {name for names in classes["commands"].values() for name in names}
    assert len(tools) > 30
    assert len(commands) > 150
    assert tools <= PUBLIC_TOOLS
    assert commands <= PUBLIC_EXECUTABLES


def test_tools_that_the_logs_are_known_to_name_are_public() -> None:
    codex = {"shell", "shell_command", "exec_command", "write_stdin", "apply_patch", "exec", "wait", "update_plan"}
    claude = {
        "Bash",
        "PowerShell",
        "TaskOutput",
        "BashOutput",
        "Monitor",
        "AskUserQuestion",
        "ExitPlanMode",
        "KillShell",
    }
    others = {"bash", "read", "edit", "run_shell_command", "str_replace_editor", "google_web_search", "todowrite"}
    assert codex | claude | others | {"view_image", "request_user_input"} <= PUBLIC_TOOLS


def test_tools_of_servers_are_private() -> None:
    assert not any(name.startswith(("mcp__", "custom_")) for name in PUBLIC_TOOLS | PUBLIC_EXECUTABLES)
    assert TOKEN.fullmatch(NAMES.tool("mcp__acme__search"))


def test_the_list_is_of_common_names_in_order() -> None:
    assert 400 <= len(PUBLIC_EXECUTABLES) <= 600
    for groups in (public_names._TOOLS, public_names._EXECUTABLES):
        every = [name for group in groups for name in group.split()]
        assert len(every) == len(set(every))
        assert all(group.split() == sorted(group.split()) for group in groups)


def test_every_public_executable_can_be_a_label() -> None:
    # of those that are not labels themselves, what is listed is what they run
    seen_through = {"command", "env", "exec", "ionice", "nice", "nohup", "stdbuf", "sudo", "time", "timeout", "xargs"}
    renamed = {"pip3", "python3"}
    for name in PUBLIC_EXECUTABLES - seen_through - renamed:
        assert label_of([name]).name == name


@pytest.mark.parametrize("kind", ["tool", "executable", "model"])
@given(name=st.text())
def test_a_private_name_becomes_a_stable_token(kind: str, name: str) -> None:
    private = f"{name} of mine"
    token = getattr(NAMES, kind)(private)
    assert TOKEN.fullmatch(token)
    assert token == getattr(Names(b"a key of the tests"), kind)(private)
    assert token != getattr(Names(b"another"), kind)(private)


def test_kinds_and_purposes_never_meet() -> None:
    assert len({NAMES.tool("mine"), NAMES.executable("mine"), NAMES.model("mine")}) == 3
    purposes = ("call", "round", "session", "tool", "executable", "project", "command")
    assert len({NAMES.id(purpose, "mine") for purpose in purposes}) == len(purposes)
    assert NAMES.id("call", "a") != NAMES.id("call", "b")
    assert re.fullmatch("[0-9a-f]{20}", NAMES.id("call", "a"))


def test_public_names_stay() -> None:
    assert [NAMES.tool("Bash"), NAMES.tool("bash"), NAMES.executable("git")] == ["Bash", "bash", "git"]
    # a name is public of its kind only, and case matters
    assert TOKEN.fullmatch(NAMES.executable("Bash"))
    assert TOKEN.fullmatch(NAMES.tool("git"))


PUBLISHED = """claude-opus-4-8 claude-3-5-sonnet-20241022 gpt-5.5 gpt-5.3-codex o3-mini gemini-2.5-pro qwen3-coder
    deepseek-v3.1 kimi-k2 glm-4.6 codex-mini-latest Claude-Opus-4 gpt-4o claude-sonnet-4-5-20250929 claude-fable-5
    gpt-5.1-codex-max o4-mini-high gpt-oss-120b qwen3-235b-a22b-instruct-2507 deepseek-r1-distill-llama-70b
    llama-3.3-70b-instruct mixtral-8x7b grok-code-fast-1 minimax-m2 gemini-2.5-flash-lite gpt4o claude"""


@pytest.mark.parametrize(
    "model",
    PUBLISHED.split(),
)
def test_published_models_stay(model: str) -> None:
    assert NAMES.model(model) == model


@pytest.mark.parametrize(
    "model",
    [
        "acme-prod-7b",
        "my/claude-opus-4",
        "azure:acme:gpt-5",
        "",
        "claude-opus-4 of alice@x",
        "gpt-4o-acme",
        "claude-alice",
        "gpt-5.minialice",
        "claudealice",
        "o3-secret",
        "olive",
        "phishing",
        "gpt-" + "1" * 60,
        "gpt" + "-1x2a" * 60 + "!",
    ],
)
def test_other_models_are_private(model: str) -> None:
    assert TOKEN.fullmatch(NAMES.model(model))


def test_true_names_are_remembered_only_when_asked() -> None:
    forgetting, keeping = Names(b"k"), Names(b"k", keep=True)
    for names in (forgetting, keeping):
        names.tool("mcp__acme__search")
        names.tool("Bash")
        names.executable("acme")
        names.model("acme-7b")
        names.project("/home/alice/acme")
    assert forgetting.seen == {}
    assert keeping.seen == {
        ("tool", forgetting.tool("mcp__acme__search")): "mcp__acme__search",
        ("executable", forgetting.executable("acme")): "acme",
        ("model", forgetting.model("acme-7b")): "acme-7b",
        ("project", forgetting.project("/home/alice/acme")): "/home/alice/acme",
    }


@given(st.text(min_size=4))
def test_no_true_name_is_left(name: str) -> None:
    made = (NAMES.id("call", name), NAMES.project(name), NAMES.fingerprint(name), NAMES.tool(f"{name}?"))
    assert all(re.fullmatch(r"\??(?:project_)?[0-9a-f]{8,20}", text) for text in made)


def test_half_a_character_has_a_name_too() -> None:
    assert NAMES.id("call", "\ud83d") != NAMES.id("call", "\ud83e")
    assert TOKEN.fullmatch(NAMES.tool("\ud83d"))
    assert len(NAMES.fingerprint("\ud83d")) == 16
