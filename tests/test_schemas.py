"""The published schemas, against what the commands print."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import tracestat
from tests.fetch.serving import already_there
from tests.forecast.models import model
from tests.hardware.machines import config_file, timings_file
from tracestat.cli import main

SCHEMAS: dict[str, dict[str, Any]] = {
    Path(entry.name).stem: json.loads(entry.read_text(encoding="utf-8"))
    for entry in resources.files("tracestat").joinpath("schemas").iterdir()
    if entry.name.endswith(".json")
}
# schemas of files that commands write
FILES = {"constants", "profile"}
COMMANDS = sorted(SCHEMAS.keys() - FILES - {"common"})
# what is asked of each command, beside the plain question
ARGUMENTS: dict[str, list[list[str]]] = {
    "keys": [[], ["--unit", "command"], ["--where", "tool = 'none such'"]],
    "calls": [[], ["--longest", "3", "--rows", "all"], ["--where", "tool = 'none such'"]],
    "summary": [
        [],
        ["--definition", "tracelab"],
        ["--by", "n_calls", "--rows", "all"],
        ["--where", "tool = 'none such'"],
    ],
    "residual": [
        [],
        ["--by", "tool_class", "--elapsed", "0,10", "--window", "60"],
        ["--definition", "tracelab"],
        ["--rows", "human"],
        ["--min-n", "1000000"],
        ["--where", "tool = 'none such'"],
    ],
    "deadlines": [
        [],
        ["--mode", "asked", "--by", "tool"],
        ["--unit", "call", "--mode", "status", "--min-n", "1000000"],
        ["--definition", "tracelab"],
        ["--where", "tool = 'none such'"],
    ],
    "survival": [
        [],
        ["--by", "tool"],
        ["--definition", "tracelab"],
        ["--min-n", "1000000"],
        ["--where", "tool = 'none such'"],
    ],
    "hazard": [
        [],
        ["--by", "end_kind"],
        ["--by", "none", "--unit", "command"],
        ["--unit", "call", "--clock", "internal"],
        ["--definition", "tracelab"],
        ["--from", "2", "--bins", "5", "--cut-at", "none"],
        ["--min-n", "1000000"],
        ["--where", "tool = 'none such'"],
    ],
    "memoryfulness": [[], ["--by", "none"], ["--by", "developer"], ["--where", "project = 'none such'"]],
    "occupancy": [
        ["--agents", "16"],
        ["--agents", "4", "--by", "none", "--human-gap", "drop", "--scale-context", "32768"],
        ["--agents", "4", "--min-n", "1000000"],
        ["--agents", "4", "--where", "project = 'none such'"],
    ],
    **{
        f"summary_{section}": [
            [],
            *([["--by", "provider,project"], ["--min-n", "1000000"]] if section == "cache" else []),
            ["--where", "provider = 'none such'"],
        ]
        for section in ("sessions", "cache", "commands")
    },
    "reproduce": [["--only", "article.lt1s"], ["--only", "v2.bin"]],
    "fit": [
        [],
        ["--by", "tool_class", "--above", "1"],
        ["--definition", "tracelab"],
        ["--min-n", "1000000"],
        ["--where", "tool = 'none such'"],
    ],
    "forecast_evaluate": [
        ["--split", "time", "--keys", "tool_class", "--where", "provider = 'codex'"],
        ["--where", "tool = 'none such'"],
    ],
    "timeline": [["longest"], ["latest"], ["latest", "--until", "2020-01-01"]],
}
CASES = [(command, arguments) for command in ARGUMENTS for arguments in ARGUMENTS[command]]
HEAD = (
    "schema",
    "tracestat",
    "trace",
    "unit",
    "clock",
    "by",
    "where",
    "seed",
    "rows",
    "synthetic",
    "notes",
    "excluded",
)
GROUP = ("key", "n", "n_events", "n_censored", "n_sessions", "n_developers", "notes")
# required of each group, or of the document where it has no groups
OWN = {
    "hazard": (
        "bins",
        "slope",
        "curvature",
        "rise",
        "local_slopes",
        "upper_range",
        "deadlines_cut",
        "within",
    ),
    "summary": (
        "quantiles",
        "share_within",
        "over",
        "total_seconds",
        "human",
        "token_seconds",
        "mixed_key",
        "by_end_kind",
        "limits",
        "start_waits",
    ),
    "deadlines": ("mode", "atoms", "share_on_deadline", "cost"),
    "residual": ("window", "at", "curve"),
    "survival": ("curve",),
    "fit": ("laws",),
    "memoryfulness": ("value", "n_programs", "turns", "left", "law"),
    "occupancy": (
        "agents",
        "paused",
        "tokens",
        "bytes",
        "by_class",
        "if_median",
        "if_mean",
        "without_human",
        "tier_for_p99",
        "grid_error",
        "typical",
        "curve",
        "bursts",
        "neighbours",
        "over_pool",
        "largest_tokens",
    ),
    "reproduce": ("release", "not_shown"),
    "simulate_run": (
        "policy",
        "load",
        "host_bytes",
        "seeds",
        "ttft",
        "ratio",
        "captured_share",
        "captured",
        "gain",
        "shares",
        "slowest_recompute",
        "requests_within_slo",
        "sessions_within_slo",
        "deadline_subset",
        "pinned_share",
        "queueing_seconds",
        "link_utilisation",
        "link_wait",
        "pool",
        "blocked",
        "stable",
    ),
    "simulate_calibrate": ("timings", "n_within", "rms", "constants", "not_told", "ladder"),
    "forecast_evaluate": ("split", "tau", "methods", "against", "order", "headline"),
    "keys": ("keys",),
    "calls": ("calls",),
    "timeline": ("session", "totals", "steps", "bars"),
    **dict.fromkeys(("summary_sessions", "summary_cache", "summary_commands"), ("figures", "sweeps")),
    "ingest": ("sources", "tables"),
    "synth": ("files",),
    "cache_list": ("files",),
    "cache_clear": ("files",),
    "export_constants": ("files",),
    "export_profile": ("files", "n_keys", "n_sessions"),
    "export_replay": ("files", "format", "human_gap", "counts"),
    "export_tracelab": ("files",),
    "export_durations": ("files", "min_n", "keys"),
    "forecast_fit": ("files", "providers"),
    "forecast_predict": ("path", "level_used", "weights", "elapsed", "remaining", "survival", "atoms"),
    "fetch": ("files", "release", "format", "url", "new"),
    "hardware_list": ("machines",),
    "hardware_show": ("constants",),
    "hardware_recipe": ("steps",),
    "hardware_new": ("files", "constants"),
    "hardware_estimate": ("files", "constants"),
}

Ask = Callable[..., dict[str, Any]]


@cache
def validator(name: str) -> Draft202012Validator:
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
    )
    return Draft202012Validator(SCHEMAS[name], registry=registry)


def wrong(name: str, document: object) -> list[str]:
    kept, _ = one_of_each(document)
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(name).iter_errors(kept)]


def one_of_each(value: Any) -> tuple[Any, Hashable]:
    """The document with one item of each kind in its longer lists, and its kind: a schema says the same of all of them.

    Numbers of one type and on one side of 0 and of 1 are of one kind, and so are objects and lists whose parts are of
    the same kinds; any other value is a kind of its own.
    """
    if isinstance(value, dict):
        parts = {key: one_of_each(part) for key, part in value.items()}
        kinds = tuple((key, kind) for key, (_, kind) in parts.items())
        return {key: part for key, (part, _) in parts.items()}, kinds
    if isinstance(value, list):
        items = [one_of_each(item) for item in value]
        if len(items) <= 4 or isinstance(value[0], str):  # what counts or compares items looks at such lists
            return [item for item, _ in items], tuple(kind for _, kind in items)
        kept = {kind: item for item, kind in items}
        return list(kept.values()), frozenset(kept)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, (type(value), value < 0, value > 0, value < 1, value > 1)
    return value, (type(value), value)


def small(value: Any) -> Any:
    """The same document with no list longer than three: what a schema refuses shows in a short one as well."""
    if isinstance(value, dict):
        return {name: small(part) for name, part in value.items()}
    return [small(part) for part in value[:3]] if isinstance(value, list) else value


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def ask(*arguments: str | Path) -> dict[str, Any]:
        capsys.readouterr()
        command, _, section = str(arguments[0]).partition("summary_")
        words = ["summary", "--section", section] if section else command.split("_")
        assert main([*words, *map(str, arguments[1:]), "--json", "--quiet"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=_no_constant)
        return document

    return ask


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@pytest.fixture
def documents(
    ask: Ask, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], dict[str, Any]]:
    """Give the document of any command, which is asked once for all tests, whichever process they run in."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base

    def document(command: str) -> dict[str, Any]:
        made = folder / f"document-{command}.json"
        if not made.exists():
            beside = folder / f"{made.name}.{os.getpid()}"
            beside.write_text(json.dumps(made_now(command)), encoding="utf-8")
            beside.replace(made)
        found: dict[str, Any] = json.loads(made.read_text(encoding="utf-8"))
        return found

    def made_now(command: str) -> dict[str, Any]:
        if command in ARGUMENTS:
            return ask(command, *ARGUMENTS[command][0])
        if command == "fetch":
            return ask("fetch", *already_there(monkeypatch, tmp_path))
        if command == "hardware_new":
            given = ["--timings", timings_file(tmp_path), "--model", config_file(tmp_path), "--pool-tokens", "81408"]
            return ask("hardware", "new", "mine", *given, "--card", "a", "-o", tmp_path / "mine.toml")
        if command == "hardware_estimate":
            given = ["--card", "rtx4090", "--model", config_file(tmp_path), "--weight-dtype", "fp8"]
            return ask("hardware", "estimate", *given, "-o", tmp_path / "guess.toml")
        if command.startswith("hardware") or command == "simulate_calibrate":
            return ask(*command.split("_"))
        if command == "simulate_run":
            from tests.simulate.sessions import constants_file  # it is made of tests that read this file

            small = ["--load", "0.25", "--hours", "0.02", "--warmup", "10", "--seeds", "1", "--policy", "P2,P3"]
            return ask(command, "--constants", constants_file(tmp_path / "c.json"), *small)
        made = ask("synth", "-o", tmp_path / "a.jsonl", "--sessions", "3")
        if command == "synth":
            return made
        if command == "ingest":
            return ask("ingest", tmp_path / "a.jsonl", "-o", tmp_path / "a.duckdb")
        if command == "export_replay":
            return ask("export_replay", tmp_path / "a.jsonl", "--format", "blis-v2", "-o", tmp_path / "a.csv")
        if command == "export_constants":
            return ask("export", "constants", tmp_path / "a.jsonl", "-o", tmp_path / "a.json", "--allow-synthetic")
        if command == "export_profile":
            return ask("export", "profile", tmp_path / "a.jsonl", "-o", tmp_path / "p.json")
        if command == "export_tracelab":
            return ask("export", "tracelab", tmp_path / "a.jsonl", "-o", tmp_path / "b.jsonl")
        if command == "export_durations":
            return ask("export", "durations", tmp_path / "a.jsonl", "-o", tmp_path / "a.parquet")
        if command == "forecast_predict":
            tracestat.save_forecast(model(), tmp_path / "m.parquet")
            return ask("forecast_predict", tmp_path / "m.parquet", "--key", "tool_class=shell")
        if command == "forecast_fit":
            return ask("forecast", "fit", tmp_path / "a.jsonl", "-o", tmp_path / "a.parquet")
        ask("keys", tmp_path / "a.jsonl")  # so that something lies in the cache
        return ask(*command.split("_"))

    return document


def test_one_of_each_kind_is_looked_at() -> None:
    points = [{"t": float(t), "S": 0.5, "label": None} for t in range(2, 50)]
    odd = [{"t": 2.0, "S": 0.5}, {"t": -2.0, "S": 0.5, "label": None}, {"t": 2, "S": 0.5, "label": None}, [], True]
    kept, _ = one_of_each({"curve": [*points[:20], *odd, *points[20:]], "by": ["a"] * 6})
    assert kept["curve"] == [points[-1], *odd]
    assert kept["by"] == ["a"] * 6


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMAS[name]["$id"] == f"{name}.json"


@pytest.mark.parametrize(
    ("command", "arguments"), CASES, ids=lambda part: part if isinstance(part, str) else " ".join(part) or "plain"
)
def test_answer_keeps_to_its_schema(
    ask: Ask, documents: Callable[[str], dict[str, Any]], command: str, arguments: list[str]
) -> None:
    plain = arguments == ARGUMENTS[command][0]
    assert wrong(command, documents(command) if plain else ask(command, *arguments)) == []


@pytest.mark.parametrize(
    "command",
    [
        "synth",
        "ingest",
        "cache_list",
        "cache_clear",
        "export_constants",
        "export_profile",
        "export_replay",
        "export_tracelab",
        "export_durations",
        "fetch",
        "hardware_list",
        "hardware_show",
        "hardware_recipe",
        "hardware_new",
        "hardware_estimate",
        "forecast_fit",
        "simulate_run",
        "simulate_calibrate",
    ],
)
def test_other_document_keeps_to_its_schema(documents: Callable[[str], dict[str, Any]], command: str) -> None:
    document = documents(command)
    assert wrong(command, document) == []
    if command.startswith("cache"):
        assert document["files"]


@pytest.mark.full
@pytest.mark.parametrize("command", list(ARGUMENTS))
def test_answer_about_the_real_trace_keeps_to_its_schema(ask: Ask, real_trace: Path, command: str) -> None:
    assert wrong(command, ask(command, *ARGUMENTS[command][0], real_trace)) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_each_promised_key_is_required_and_more_are_allowed(
    documents: Callable[[str], dict[str, Any]], command: str
) -> None:
    document = small(documents(command))
    assert wrong(command, {**document, "of_a_later_version": [1]}) == []
    valid = validator(command).is_valid
    for key in HEAD:
        assert not valid({name: value for name, value in document.items() if name != key}), key
    for key, value in (
        ("schema", "tracestat.other/1"),
        ("seed", -1),
        ("unit", "day"),
        ("synthetic", "no"),
        ("by", "x"),
    ):
        assert not valid({**document, key: value}), key
    places: list[tuple[str, ...]] = [(key,) for key in OWN[command]]
    if "groups" in document:
        places = [("groups", key) for key in (*GROUP, *OWN[command])]
    for *above, key in places:
        part = document["groups"][0] if above else document
        value = part.pop(key)
        assert not valid(document), key
        part[key] = value
    assert valid(document)


def intervals(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.keys() >= {"value", "low", "high"}:
            yield value
        for part in value.values():
            yield from intervals(part)
    elif isinstance(value, list):
        for part in value:
            yield from intervals(part)


@pytest.mark.parametrize("command", ["summary", "hazard"])
@pytest.mark.first_case
def test_every_interval_is_checked(ask: Ask, command: str) -> None:
    document = ask(command)
    found = list(intervals(document))
    assert len(found) > 20
    for interval in found[:: max(1, len(found) // 6)]:
        method = interval.pop("method")
        assert not validator(command).is_valid(document)
        interval["method"] = method
    assert wrong(command, document) == []
