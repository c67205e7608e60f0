"""Hardware files: what ships, the round trip, and one line for everything that may be wrong in a user's own."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracestat.errors import TracestatError, UsageError
from tracestat.hardware import (
    DEFAULT_HARDWARE,
    Hardware,
    hardware_from_dict,
    hardware_ids,
    hardware_to_dict,
    load_hardware,
)
from tracestat.hardware.fields import FIELDS, from_file, in_file
from tracestat.queries import data_path


def content() -> dict[str, Any]:
    return copy.deepcopy(hardware_to_dict(load_hardware()))


@pytest.mark.parametrize("id_", hardware_ids())
def test_shipped_file_is_whole_and_comes_back(id_: str) -> None:
    machine = load_hardware(id_)
    assert machine.id == id_
    assert hardware_from_dict(hardware_to_dict(machine)) == machine
    assert hardware_from_dict(json.loads(json.dumps(hardware_to_dict(machine)))) == machine
    names = {f.name for f in FIELDS if f.name != "step.floor" or machine.step.form == "roofline"}
    assert set(machine.provenance) == names
    data = hardware_to_dict(machine)
    for name, source in data["provenance"].items():  # type: ignore[union-attr]
        part: Any = data
        for key in name.split("."):
            part = part[key]
        assert source.get("low", part) <= part <= source.get("high", part), name
    assert machine.pool_tokens % machine.block_tokens == 0
    assert all(store.chunk_tokens % machine.block_tokens == 0 for store in machine.stores.values())
    assert "hardware" not in tomllib.loads((data_path("hardware") / f"{id_}.toml").read_text())  # the id is the stem


def test_default_is_as_specified() -> None:
    machine = load_hardware()
    assert DEFAULT_HARDWARE == machine.id == "rtx4090-llama3.1-8b-fp8"
    assert {DEFAULT_HARDWARE, "h100like-llama3.1-8b-fp8", "h100like-llama3.1-8b-fp8-samepool"} <= set(hardware_ids())
    assert machine.kv_bytes_per_token == 2 * 32 * 8 * 128 * 2
    assert machine.pool_tokens == 5088 * 16
    assert machine.pool_bytes == pytest.approx(10.67e9, rel=1e-3)
    step = machine.step
    assert (step.base, step.per_token, step.attention, step.decode_read) == (0.010, 51.5e-6, 3.38e-9, 0.143e-6)
    lmcache, native = machine.stores["lmcache"], machine.stores["native"]
    assert (lmcache.load_fixed, lmcache.load_per_token, lmcache.store_per_token) == (0.0, 5.9e-6, 10.5e-6)
    assert (native.load_fixed, native.load_per_token, native.store_per_token) == (8.9e-3, 11.97e-6, 10.5e-6)
    assert (lmcache.blocking, native.blocking) == (True, False)
    assert (lmcache.chunk_tokens, native.chunk_tokens) == (256, 16)
    assert len(machine.timings) == 15
    assert not machine.estimate


def test_h100like_is_scaled_from_the_default() -> None:
    base, fast = load_hardware(), load_hardware("h100like-llama3.1-8b-fp8")
    same = load_hardware("h100like-llama3.1-8b-fp8-samepool")
    assert fast.step.per_token * 3 == pytest.approx(base.step.per_token, rel=1e-8)
    assert fast.step.attention * 3 == pytest.approx(base.step.attention, rel=1e-8)
    for path in ("lmcache", "native"):
        assert fast.stores[path].load_per_token * 2 == pytest.approx(base.stores[path].load_per_token)
        assert fast.stores[path].store_per_token * 2 == pytest.approx(base.stores[path].store_per_token)
        assert fast.stores[path].load_fixed == base.stores[path].load_fixed
    assert (fast.step.base, fast.step.decode_read, fast.client) == (0.004, 0.043e-6, base.client)
    assert fast.pool_tokens == int((80 * 0.9 - 9.1 - 2) * 1e9 / 131072) // 16 * 16 == 464_624
    assert same.pool_tokens == 81_408
    assert fast.estimate
    assert same.estimate
    assert same.step == fast.step


def test_unknown_hardware_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"^hardware foo: not known; it is one of h100like-llama3\.1-8b-fp8, "):
        load_hardware("foo")
    with pytest.raises(TracestatError, match=r"^hardware foo\.toml: cannot be read \(No such file"):
        load_hardware("/nowhere/foo.toml")


def put(path: str, value: object) -> dict[str, Any]:
    data = content()
    *above, key = path.split("/")
    part: Any = data
    for name in above:
        part = part[int(name)] if isinstance(part, list) else part[name]
    if value is KeyError:
        del part[key]
    else:
        part[key] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("schema", "tracestat.hardware/2", r"schema is 'tracestat.hardware/2'"),
        ("schema", KeyError, "schema is None"),
        ("colour", 1, "colour is not known; the file has .*pool_tokens"),
        ("step/s_us", 10_000.0, r"step\.s_us has another unit; step\.s_ms is needed"),
        ("client_s", 1, "client_s has another unit; client_ms is needed"),
        ("step/extra", 1, r"step\.extra is not known; step has b_us, form"),
        ("load/disk", {}, r"load\.disk is not known; load has lmcache, native"),
        ("load/native/fixed_us", 1, r"load\.native\.fixed_us has another unit; load\.native\.fixed_ms is needed"),
        ("step/b_us", KeyError, r"step\.b_us is missing; it is b: each prefill or decode token, in us/token"),
        ("store/native/chunk", KeyError, r"store\.native\.chunk is missing"),
        ("pool_tokens", KeyError, "pool_tokens is missing"),
        ("step", KeyError, "step is missing; add the table"),
        ("store", {"lmcache": {}}, r"store\.lmcache\.chunk|store\.native is missing"),
        ("step/b_us", -1.0, r"step\.b_us is -1; it cannot be negative"),
        ("step/b_us", 0, r"step\.b_us is 0; it must be positive"),
        ("step/b_us", float("nan"), r"step\.b_us is nan; give a finite number"),
        ("step/q_ns", float("inf"), r"step\.q_ns is inf"),
        ("step/b_us", 5.15e-5, r"step\.b_us is 5\.15e-05, and 0\.1 to 100000 us/token .*check its unit"),
        ("step/q_ns", 3.38e-9, r"step\.q_ns is 3\.38e-09.*check its unit"),
        ("step/b_us", "51.5", r"step\.b_us is no number"),
        ("step/b_us", True, r"step\.b_us is no number"),
        ("pool_tokens", 81408.5, "pool_tokens is 81408.5; it is a whole number of tokens"),
        ("pool_tokens", 10**400, "pool_tokens is larger"),
        ("pool_tokens", -(10**400), "pool_tokens is larger"),
        ("step/form", "cubic", r"step\.form is 'cubic'"),
        ("link", "triple", "link is 'triple'"),
        ("estimate", 1, "estimate is 1"),
        ("notes", "one", "notes is no list"),
        ("card", "", "card is no text"),
        ("model", KeyError, "model is missing"),
        ("store/native/blocking", 0, r"store\.native\.blocking is 0; it is true or false"),
        ("provenance/block", KeyError, "no provenance of block; say where"),
        ("provenance/block", {"kind": "guess", "note": "x"}, "provenance of block: kind is 'guess'"),
        ("provenance/block", {"kind": "public"}, "provenance of block: note is missing"),
        ("provenance/block", {"kind": "public", "note": "x", "low": 3, "high": 2}, "low is above high"),
        ("provenance/colour", {"kind": "public", "note": "x"}, "provenance of colour is not known"),
        ("fit/points", {}, r"fit\.points is no list"),
        ("fit/points/0/kind", "warm", r"fit\.points 1: kind is 'warm'; it is cold, cold_lmcache"),
        ("fit/points/0/kind", ["cold"], r"fit\.points 1: kind is \['cold'\]"),
        ("fit/points/1/ms", -2, r"fit\.points 2: ms is -2"),
        ("fit/points/1/ms", 0, r"fit\.points 2: tokens and ms are positive"),
        ("fit/points/1/tokens", 1.5, r"fit\.points 2: tokens and ms are positive"),
        ("fit/points/1/seconds", 1.5, r"fit\.points 2: seconds is not known"),
    ],
)
def test_broken_content_is_one_line(path: str, value: object, says: str) -> None:
    with pytest.raises(TracestatError, match=says) as caught:
        hardware_from_dict(put(path, value), where="mine.toml")
    assert str(caught.value).startswith("hardware mine.toml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.toml", "schema = ", r"hardware a\.toml: is not valid \(Invalid value"),
        ("a.json", "{", r"hardware a\.json: is not valid \(Expecting"),
        ("a.json", "[]", r"hardware a\.json: holds no table"),
        ("a.json", "[" * 100_000, r"hardware a\.json: is not valid"),
        ("a.toml", "x = 1\n", "schema is None"),
        ("a.txt", "x", "not known; it is one of"),
    ],
)
def test_broken_file_is_one_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TracestatError, match=says) as caught:
        load_hardware(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TracestatError, match="is not UTF-8"):
        load_hardware(tmp_path / "a.toml")


def test_own_file_takes_its_stem_and_constants_their_half(tmp_path: Path) -> None:
    own = tmp_path / "mine-8b.toml"
    own.write_bytes((data_path("hardware") / f"{DEFAULT_HARDWARE}.toml").read_bytes())
    assert load_hardware(own).id == load_hardware(str(own)).id == "mine-8b"
    both = tmp_path / "constants.json"
    both.write_text(json.dumps({"schema": "tracestat.constants/1", "hardware": content(), "workload": {}}))
    assert load_hardware(both) == load_hardware()


@given(st.decimals(min_value="0.00001", max_value="99999", places=9), st.sampled_from([-3, -6, -9]))
def test_numbers_of_up_to_15_digits_come_back(value: Any, exponent: int) -> None:
    written = float(value)
    assert in_file(from_file(written, exponent), exponent) == written


def leaves(part: Any, path: str = "") -> list[str]:
    if isinstance(part, dict):
        return [leaf for key, value in part.items() for leaf in [f"{path}{key}", *leaves(value, f"{path}{key}/")]]
    if isinstance(part, list):
        return [leaf for place, value in enumerate(part) for leaf in leaves(value, f"{path}{place}/")]
    return []


PLACES = [path for path in leaves(content()) if "residuals" not in path]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(10**300, 10**310),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def outcome(data: dict[str, Any]) -> Hardware | str:
    try:
        return hardware_from_dict(data, where="mine.toml")
    except TracestatError as error:
        return str(error)


@settings(max_examples=26, deadline=None)
@given(st.sampled_from(PLACES), ANYTHING)
def test_whatever_stands_in_a_file_is_read_or_refused_in_one_line(path: str, value: Any) -> None:
    made = outcome(put(path, value))
    if isinstance(made, str):
        assert made.startswith("hardware mine.toml: ")
        assert "\n" not in made
    else:
        assert hardware_from_dict(hardware_to_dict(made)) == made
