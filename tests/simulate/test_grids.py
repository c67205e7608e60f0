"""Grids: files that ship, and files that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracestat.errors import TracestatError, UsageError
from tracestat.hardware import hardware_ids, load_hardware
from tracestat.queries import data_path
from tracestat.simulate.configurations import change_of, changed_hardware, settings_of
from tracestat.simulate.grids import VERDICTS, grid_from_dict, grid_names, load_grid
from tracestat.simulate.policies import POLICIES

GRID: dict[str, Any] = {"name": "a", "about": "b", "seeds": 2, "verdict": "none", "runs": [{"load": [1, 2]}]}


@pytest.mark.parametrize(
    ("name", "n", "seeds"),
    [
        ("article", 210, 5),
        ("eta", 28, 20),
        ("levers", 56, 100),
        ("paired", 196, 100),
        ("questions", 40, 100),
        ("sensitivity", 264, 20),
        ("where", 1200, 20),
    ],
)
def test_what_ships_can_be_run(name: str, n: int, seeds: int) -> None:
    grid = load_grid(name)
    assert (grid.name, len(grid.configurations), grid.seeds, grid.n_runs) == (name, n, seeds, n * seeds)
    assert grid.verdict in VERDICTS
    said = f"# {n:,} configurations, {seeds} seeds: {n * seeds:,} runs.\n"
    assert said in (data_path("grids") / f"{name}.toml").read_text(encoding="utf-8")
    machines = {one: load_hardware(one) for one in hardware_ids()}
    for one in grid.configurations:
        assert one.policy in POLICIES
        change_of(one)
        settings = settings_of(one, changed_hardware(one, machines[one.hardware]))
        assert settings.host_tokens == 0 or one.policy != "P0"


def test_every_file_is_in_the_table_above() -> None:
    assert grid_names() == ["article", "eta", "levers", "paired", "questions", "sensitivity", "where"]


def test_lists_are_multiplied_out_and_each_configuration_stands_once() -> None:
    grid = grid_from_dict(
        GRID | {"runs": [{"load": [1, 2], "policy": ["P0", "P1"], "host_gb": [20, 40]}, {"load": 2, "host_gb": 20}]}
    )
    assert [(one.load, one.policy, one.host_gb) for one in grid.configurations] == [
        (1.0, "P0", 0.0), (2.0, "P0", 0.0), (1.0, "P1", 20.0), (1.0, "P1", 40.0), (2.0, "P1", 20.0), (2.0, "P1", 40.0)
    ]  # fmt: skip
    assert (
        grid_from_dict(GRID | {"runs": [{"eta": ["none", 0], "scale_context": "none"}]}).configurations[0].eta is None
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nam": 1}, "nam is not known"),
        ({"seeds": 0}, "seeds is a whole number"),
        ({"seeds": True}, "seeds is a whole number"),
        ({"verdict": "maybe"}, "verdict is one of"),
        ({"about": 3}, "name and about are texts"),
        ({"runs": []}, "runs is a list of tables"),
        ({"runs": {"load": 1}}, "runs is a list of tables"),
        ({"runs": [{"lod": 1}]}, "runs 1: lod is not known"),
        ({"runs": [{}, {"load": []}]}, "runs 2: load is an empty list"),
        ({"runs": [{"load": [1, 1.0]}]}, "load has a value twice"),
        ({"runs": [{"load": "much"}]}, "load: 'much' is none of its values; give float"),
        ({"runs": [{"link": "wide"}]}, "give 'shared', 'duplex'"),
        ({"runs": [{"prefill_threshold": 2.5}]}, "give int"),
        ({"runs": [{"store_holds_blocks": 1}]}, "give bool"),
        ({"runs": [{"load": list(range(1, 2000)), "host_gb": list(range(2000))}]}, "more than 1,000,000 runs"),
    ],
)
def test_what_is_no_grid_is_one_line(change: dict[str, Any], words: str) -> None:
    with pytest.raises(TracestatError, match=r"^grid: ") as caught:
        grid_from_dict(GRID | change)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("verdict", "runs", "words"),
    [
        ("success", [{"policy": ["P1", "P4-D"]}], "compares with P2, P5-B, missing at load = 4, host_gb = 20"),
        ("success", [{"policy": ["P1", "P2", "P5-B"], "load": [1, 2]}, {"policy": "P3", "load": 3}], "load = 3"),
        ("success", [{"policy": ["P1", "P5-B"]}, {"policy": "P2", "eta": 0}], "compares with P2, missing"),
        ("where", [{"policy": ["P1", "P2"]}], "compares with P5-B"),
        ("levers", [{"policy": "P2"}], "compares with P1"),
        ("eta", [{"policy": "P2", "eta": 0}], "compares with P1"),
        ("sensitivity", [{"policy": ["P1", "P2", "P5-B"], "change": "client=2"}], "compares with P4-D"),
    ],
)
def test_a_verdict_has_what_it_compares_with(verdict: str, runs: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(TracestatError, match=rf"^grid: verdict {verdict} ") as caught:
        grid_from_dict(GRID | {"verdict": verdict, "runs": runs})
    assert words in str(caught.value)
    assert grid_from_dict(GRID | {"verdict": "none", "runs": runs}).configurations


def test_what_needs_no_baseline_of_its_own() -> None:
    whole = {"policy": ["P0", "P1", "P2", "P4-D", "P5-B"]}
    assert len(grid_from_dict(GRID | {"verdict": "success", "runs": [whole]}).configurations) == 5
    changed = {"policy": ["P2"], "change": "eta=1.1"}
    assert len(grid_from_dict(GRID | {"verdict": "sensitivity", "runs": [whole, changed]}).configurations) == 6
    asked = [{"policy": "P1"}, {"policy": "P2", "eta": ["none", 0, 1]}]
    assert len(grid_from_dict(GRID | {"verdict": "eta", "runs": asked}).configurations) == 4


def test_missing_keys_are_named() -> None:
    with pytest.raises(TracestatError, match="verdict is missing"):
        grid_from_dict({name: value for name, value in GRID.items() if name != "verdict"})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="grid none_such: not known; it is one of article"):
        load_grid("none_such")
    with pytest.raises(TracestatError, match=r"grid a\.toml: cannot be read"):
        load_grid(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_bytes(b"name = \xff")
    with pytest.raises(TracestatError, match=r"grid b\.toml: is no TOML"):
        load_grid(tmp_path / "b.toml")
