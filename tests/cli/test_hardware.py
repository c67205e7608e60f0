"""``tracestat hardware``, end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tracestat
from tests.cli.conftest import Run
from tests.hardware.machines import LLAMA_8B, LLAMA_70B, config_file, five, timings_file
from tracestat.hardware import hardware_ids, hardware_to_dict, hardware_to_toml, load_hardware


def new(folder: Path, *more: str | Path) -> list[str | Path]:
    """Give the arguments of a whole ``hardware new``."""
    given: list[str | Path] = ["hardware", "new", "mine", "--timings", timings_file(folder), "--card", "RTX 4090"]
    return [*given, "--model", config_file(folder), "--pool-tokens", "81408", "-o", folder / "mine.toml", *more]


def test_list_shows_every_machine_on_80_columns(run: Run) -> None:
    ran = run("hardware", "list")
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 80
    first = ran.out.partition("What they are")[0]
    for id_ in hardware_ids():
        assert f"\n{id_} " in first
    line = next(line for line in first.splitlines() if line.startswith("rtx4090-llama3.1-8b-fp8 "))
    assert line.split()[1:] == ["81,408", "2,048", "3.67", "0.21", "0.42", "4.4"]
    line = next(line for line in first.splitlines() if line.startswith("h100like-llama3.1-8b-fp8 "))
    assert line.split()[1:] == ["*", "464,624", "2,048", "1.24", "0.11", "0.21", "-"]
    assert "Llama-3.1-8B" in ran.out
    assert "* estimate" in ran.out


def test_list_as_json(run: Run) -> None:
    machines = json.loads(run("hardware", "list", "--json").out)["machines"]
    assert sorted(machine["id"] for machine in machines) == hardware_ids()
    assert [machine["id"] for machine in machines if machine["default"]] == ["rtx4090-llama3.1-8b-fp8"]
    first = machines[0]
    assert first["first_token"] == pytest.approx(
        {"tokens": 32768, "cold": 3.66728, "reload_lmcache": 0.21093, "reload_native": 0.41864}, abs=1e-5
    )
    assert first["largest_residual"] == pytest.approx(0.0441, abs=1e-4)
    assert (first["n_timings"], first["estimate"]) == (15, False)
    assert {m["id"] for m in machines if m["estimate"]} == {i for i in hardware_ids() if i.startswith("h100like")}


def test_show_gives_each_number_its_source_and_range(run: Run) -> None:
    ran = run("hardware", "show")
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 80
    lines = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line.strip()}
    assert lines["step.b_us"] == ["51.5", "us/token", "51.5", "to", "52.9", "fit"]
    assert lines["load.native.fixed_ms"] == ["8.9", "ms", "8.9", "to", "9.2", "fit"]
    assert "5,088 blocks" in ran.out
    assert "off by 2.3 % (root mean square), at most 4.4 %" in ran.out
    assert "computed, 0.21 s" in " ".join(ran.out.split())
    assert "a step takes s + b per token of it" in ran.out
    assert "r = step.r_us, o = client_ms" in ran.out
    roofline = run("hardware", "show", "rtx4090-llama3.1-8b-fp8-roofline").out
    assert "the larger of s and s' + b per token" in roofline
    assert "s' = step.floor_ms" in roofline
    other = run("hardware", "show", "h100like-llama3.1-8b-fp8").out
    assert ": an estimate, nothing was measured" in other
    assert "Model against" not in other


def test_show_of_a_file_and_as_json(run: Run, tmp_path: Path) -> None:
    for text, name in (
        (hardware_to_toml(load_hardware()), "copy.toml"),
        (json.dumps(hardware_to_dict(load_hardware())), "copy.json"),
    ):
        (tmp_path / name).write_text(text)
        document = json.loads(run("hardware", "show", tmp_path / name, "--json").out)
        expected = hardware_to_dict(load_hardware())
        assert document["constants"] | {"hardware": expected["hardware"]} == expected
    assert json.loads(run("hardware", "show", tmp_path / "copy.toml", "--json").out)["constants"]["hardware"] == "copy"


def test_prompt_beyond_the_pool_gets_a_line(run: Run, tmp_path: Path) -> None:
    small = hardware_to_toml(load_hardware()).replace("pool_tokens = 81408", "pool_tokens = 16384", 1)
    (tmp_path / "small.toml").write_text(small)
    text = " ".join(run("hardware", "show", tmp_path / "small.toml").out.split())
    assert "a prompt of 32K is larger than the pool of 16,384 tokens and can never run" in text


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "foo"], 2, "hardware foo: not known; it is one of h100like-llama3.1-8b-fp8, "),
        (["show", "none.toml"], 1, "hardware none.toml: cannot be read (No such file or directory)"),
        (["show", "/somewhere/secret/x"], 2, "hardware x: not known"),
        (["estimate", "--card", "V100", "--model", "config.json"], 2, "card V100: not known; it is one of rtx4090, "),
        (["estimate", "--card", "l4", "--model", "none.json"], 1, "model none.json: cannot be read"),
    ],
)
def test_unknown_things_are_one_line(run: Run, arguments: list[str], code: int, says: str) -> None:
    ran = run("hardware", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"tracestat: {says}")
    assert ran.err.count("\n") == 1
    assert "secret" not in ran.err


def test_recipe_names_flags_lengths_and_the_next_command(run: Run) -> None:
    ran = run("hardware", "recipe")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    for word in (
        "--max-num-batched-tokens",
        "LMCACHE_CHUNK_SIZE=256",
        "LMCacheConnectorV1",
        "--kv-offloading-backend",
        "reset_prefix_cache",
        "kind,tokens,ms",
        "tracestat hardware new",
    ):
        assert word in ran.out
    steps = json.loads(run("hardware", "recipe", "--json").out)["steps"]
    shown = [line[2:] for line in re.sub(r" \\\n +", " ", ran.out).splitlines() if line.startswith("$ ")]
    assert shown == [command for step in steps for command in step["commands"]]  # what is pasted is whole
    asked = {(timing["kind"], timing["tokens"]) for step in steps for timing in step["timings"]}
    assert asked == {(timing.kind, timing.tokens) for timing in load_hardware().timings}


def test_new_fits_writes_and_shows_the_residuals(run: Run, tmp_path: Path) -> None:
    ran = run(*new(tmp_path))
    assert ran.code == 0
    assert "Model against 15 timings: off by 1.6 % (root mean square), at most 2.4 %" in ran.out
    assert "tracestat: wrote mine.toml" in ran.err
    machine = load_hardware(tmp_path / "mine.toml")
    assert (machine.id, machine.card, machine.model) == ("mine", "RTX 4090", "Llama-3.1-8B")
    assert machine.kv_bytes_per_token == 131_072
    assert machine.provenance["kv_bytes_per_token"].kind == "computed"
    assert machine == tracestat.fit_hardware(
        tmp_path / "timings.csv",
        id="mine",
        card="RTX 4090",
        model=tmp_path / "config.json",
        pool_tokens=81_408,
    )
    once = (tmp_path / "mine.toml").read_bytes()
    assert run(*new(tmp_path)).code == 0
    assert (tmp_path / "mine.toml").read_bytes() == once
    assert run("hardware", "show", tmp_path / "mine.toml").code == 0


def test_new_with_whole_hits_gives_the_shipped_column(run: Run, tmp_path: Path) -> None:
    document = json.loads(run(*new(tmp_path, "--whole-hits", "--json", "--quiet")).out)
    step = document["constants"]["step"]
    assert [round(step["b_us"], 1), round(step["q_ns"], 2)] == [51.5, 3.38]
    assert [file["path"] for file in document["files"]] == ["mine.toml"]
    assert any("o + s" in note for note in document["notes"])


def test_new_with_a_base_of_ones_own(run: Run, tmp_path: Path) -> None:
    assert run(*new(tmp_path, "--s-ms", "9", "--r-us", "0.2")).code == 0
    machine = load_hardware(tmp_path / "mine.toml")
    assert (machine.step.base, machine.step.decode_read) == (0.009, 0.2e-6)
    assert machine.provenance["step.base"].note == "as stated for this set; the timings tell only o + s"
    assert run(*new(tmp_path, "--s-ms", "free")).code == 0
    assert load_hardware(tmp_path / "mine.toml").provenance["step.base"].kind == "fit"


def test_new_takes_s_and_r_from_the_public_figures_of_a_known_card(run: Run, tmp_path: Path) -> None:
    assert run(*new(tmp_path, "--weight-dtype", "fp8")).code == 0
    machine = load_hardware(tmp_path / "mine.toml")
    assert machine.step.base == pytest.approx(0.0103321)
    assert machine.step.decode_read == pytest.approx(0.153e-6, rel=1e-3)
    assert "estimated from weights and memory bandwidth" in machine.provenance["step.base"].note
    assert "estimated from the card's memory bandwidth" in machine.provenance["step.decode_read"].note
    # a card that nobody knows keeps the assumption of the shipped set
    arguments = new(tmp_path, "--weight-dtype", "fp8")
    arguments[arguments.index("RTX 4090")] = "my own"
    assert run(*arguments).code == 0
    machine = load_hardware(tmp_path / "mine.toml")
    assert machine.step.base == 0.010
    assert "RTX 4090's 918 GB/s" in machine.provenance["step.decode_read"].note


def test_new_counts_the_copies_of_heads_over_cards(run: Run, tmp_path: Path) -> None:
    assert run(*new(tmp_path, "--tp", "16")).code == 0
    assert load_hardware(tmp_path / "mine.toml").kv_bytes_per_token == 262_144


def test_new_of_five_timings_says_that_it_is_coarse(run: Run, tmp_path: Path) -> None:
    arguments = new(tmp_path)
    timings_file(tmp_path, five())
    text = " ".join(run(*arguments).out.split())
    assert "coarse: 5 timings for 4 constants" in text
    assert "assumed, not measured: s, r, lmcache: load fixed, native: load per token" in text


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--s-ms", "fast"], "--s-ms fast: give milliseconds, or free"),
        (["--s-ms", "-1"], "s -0.001 s: must be between 0 and 10 s"),
        (["--s-ms", "30"], "timings: o ends at its bound 0"),
        (["--kv-bytes-per-token", "65536"], "model config.json: 131,072 bytes of KV cache a token in bf16, and 65,536"),
        (["--block", "100"], "pool of 81,408 tokens: no whole number of blocks of 100"),
        (["--r-us", "nan"], "r nan s: must be between 0 and 10 s"),
    ],
)
def test_new_refuses_in_one_line_and_writes_nothing(run: Run, tmp_path: Path, more: list[str], says: str) -> None:
    ran = run(*new(tmp_path, *more))
    assert ran.code in (1, 2)
    assert ran.err.startswith(f"tracestat: {says}")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "mine.toml").exists()


def test_new_keeps_to_the_stem_and_needs_the_bytes_of_a_token(run: Run, tmp_path: Path) -> None:
    arguments = new(tmp_path)
    ran = run(*arguments[:-1], tmp_path / "other.toml")
    assert (ran.code, ran.err) == (
        2,
        "tracestat: -o other.toml: the id of a set is the stem of its file; write mine.toml\n",
    )
    assert run(*arguments[:-1], tmp_path / "mine.json").code == 2
    place = arguments.index("--model")
    ran = run(*arguments[:place], *arguments[place + 2 :])
    assert ran.err.startswith("tracestat: KV bytes per token are missing: give --model config.json or ")
    assert run(*arguments[:place], *arguments[place + 2 :], "--kv-bytes-per-token", "131072").code == 0
    ran = run("hardware", "new", "../x", *arguments[3:-1], tmp_path / "x.toml")
    assert ran.code == 2


def test_new_with_nonsense_says_which_timing(run: Run, tmp_path: Path) -> None:
    arguments = new(tmp_path)
    (tmp_path / "timings.csv").write_text("kind,tokens,ms\ncold,1024,71\nwarm,1,2\n")
    assert run(*arguments).err.startswith("tracestat: timings timings.csv, row 2: kind 'warm' is not known")
    (tmp_path / "timings.csv").write_text("kind,tokens,ms\ncold,1024,71\n")
    assert run(*arguments).err.startswith("tracestat: timings: 1 different ones, 5 needed")
    assert not (tmp_path / "mine.toml").exists()


def test_estimate_marks_everything(run: Run, tmp_path: Path) -> None:
    config = config_file(tmp_path, LLAMA_70B)
    ran = run(
        "hardware", "estimate", "--card", "H100 80GB SXM", "--model", config, "--tp", "4", "-o", tmp_path / "g.toml"
    )
    assert ran.code == 0
    assert ": an estimate, nothing was measured" in ran.out
    numbers = ran.out.partition("Where the numbers come from")[0]
    assert numbers.count(" estimate\n") == 17
    assert max(map(len, ran.out.splitlines())) <= 80
    machine = load_hardware(tmp_path / "g.toml")
    assert machine.estimate
    assert machine.card == "4 x NVIDIA H100 80GB SXM"
    expected = tracestat.estimate_hardware("h100-80gb-sxm", tmp_path, tensor_parallel=4, id="g")
    assert machine == expected


def test_estimate_without_a_file_names_itself(run: Run, tmp_path: Path) -> None:
    config = config_file(tmp_path, LLAMA_8B)
    document = json.loads(run("hardware", "estimate", "--card", "l40s", "--model", config, "--json").out)
    assert document["constants"]["hardware"] == "l40s-llama-3.1-8b-bf16-estimate"
    assert document["files"] == []
    assert list(tmp_path.iterdir()) == [config]


@pytest.mark.parametrize(
    ("changes", "more", "code", "says"),
    [
        ({"sliding_window": 4096}, [], 1, "model config.json: sliding_window 4096"),
        ({"num_hidden_layers": 400}, [], 1, "Llama-3.1-8B in bf16 on 1 x NVIDIA L4: "),
        ({}, ["--tp", "3"], 2, "--tp 3: does not divide the 32 heads of Llama-3.1-8B"),
        ({}, ["--weight-dtype", "fp4"], 2, ""),
    ],
)
def test_estimate_refuses_in_one_line(
    run: Run, tmp_path: Path, changes: dict[str, int], more: list[str], code: int, says: str
) -> None:
    config = config_file(tmp_path, LLAMA_8B | changes)
    ran = run("hardware", "estimate", "--card", "l4", "--model", config, *more, "-o", tmp_path / "x.toml")
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"tracestat: {says}")
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize("command", ["list", "show", "recipe", "new", "estimate"])
def test_help_has_an_example_of_one_line(run: Run, command: str) -> None:
    ran = run("hardware", command, "--help")
    assert ran.code == 0
    head, _, example = ran.out.rpartition("Example:\n")
    assert example.strip().startswith(f"tracestat hardware {command}")
    assert "\n" not in example.strip()
    assert max(map(len, head.splitlines())) <= 80
