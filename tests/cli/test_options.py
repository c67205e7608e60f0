from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer

from tracestat import durations
from tracestat.cli import options
from tracestat.cli.options import (
    Clocked,
    Estimated,
    Licensed,
    Located,
    Output,
    Selected,
    Shown,
    check_definition,
    expand,
    given,
)
from tracestat.errors import UsageError

GROUPS = (Located, Selected, Clocked, Estimated, Shown, Output, Licensed)


def test_expanded_command_shows_single_options_and_gets_the_groups() -> None:
    seen: list[object] = []

    @expand
    def command(*, extra: int = 7, clocked: Clocked, output: Output) -> None:
        """Help text."""
        seen.append((extra, clocked, output))

    names = ["extra", "clock", "json", "output", "chart", "with_names", "quiet"]
    assert list(inspect.signature(command).parameters) == names
    assert command.__doc__ == "Help text."
    command(extra=1, clock="internal", json=True, output=Path("a.csv"), chart=None, with_names=False, quiet=False)
    assert seen == [(1, Clocked("internal"), Output(json=True, output=Path("a.csv")))]


def test_what_the_user_left_open_is_left_to_the_api() -> None:
    assert Selected().options() == {}
    assert Clocked().options() == {}
    assert Licensed().options() == {}
    assert Licensed(licence="MIT").options() == {"licence": "MIT"}
    assert Estimated().options() == {"by": "provider", "seed": 0}
    assert given(a=None, b=0, c="") == {"b": 0, "c": ""}


def test_every_choice_reaches_the_api() -> None:
    selected = Selected(where="tool = 'x'", since="2026-01-01", until="2026-02-01", tz="UTC", unit="call", rows="all")
    assert selected.options() == {
        "where": "tool = 'x'",
        "since": "2026-01-01",
        "until": "2026-02-01",
        "tz": "UTC",
        "unit": "call",
        "rows": "all",
    }
    assert Estimated("none", 5, "tracelab", 3).options() == {
        "by": "none",
        "min_n": 5,
        "definition": "tracelab",
        "seed": 3,
    }


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_every_option_has_help(group: type) -> None:
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        [option] = hints[field.name].__metadata__
        assert option.help, field.name


def test_no_option_is_written_twice() -> None:
    names = [
        declared
        for group in GROUPS
        for hint in inspect.get_annotations(group, eval_str=True, globals=vars(options)).values()
        for declared in (hint.__metadata__[0].param_decls or ())
    ]
    assert len(names) == len(set(names))
    assert typer.Option("--x").default == "--x"


@pytest.mark.parametrize("name", ["Unit", "Clock", "Rows", "Definition"])
def test_choices_are_those_of_the_durations(name: str) -> None:
    assert set(get_args(getattr(options, name))) == set(get_args(getattr(durations, name)))


@pytest.mark.parametrize(
    ("selected", "clocked", "option"),
    [
        (Selected(unit="pause"), Clocked(), "--unit pause"),
        (Selected(), Clocked("wall"), "--clock wall"),
        (Selected(rows="tool"), Clocked(), "--rows tool"),
    ],
)
def test_a_choice_against_the_definition_is_refused(selected: Selected, clocked: Clocked, option: str) -> None:
    fixed = "--definition tracelab fixes unit call, clock effective and rows all"
    with pytest.raises(UsageError, match=f"{option}: {fixed}"):
        check_definition(Estimated(definition="tracelab"), selected, clocked)
    check_definition(Estimated(definition="tracestat"), selected, clocked)
    check_definition(Estimated(), selected, clocked)


def test_choices_that_the_definition_fixes_may_be_repeated() -> None:
    check_definition(Estimated(definition="tracelab"), Selected(unit="call", rows="all"), Clocked("effective"))
