"""The file of a forecast: what is read equals what was written, and nothing else is ever taken for a forecast."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracestat.errors import TracestatError, UsageError
from tracestat.forecast import storage
from tracestat.forecast.curves import curves_of
from tracestat.forecast.grid import Grid, forecast_grid
from tracestat.forecast.keys import band_labels
from tracestat.forecast.model import (
    AskedLimit,
    Dependence,
    ForecastModel,
    PathModel,
    PooledPaths,
    ProviderModel,
    path_model,
)
from tracestat.forecast.rows import PauseRows
from tracestat.forecast.storage import read_model, write_model
from tracestat.forecast.storage_table import compacted
from tracestat.forecast.tree import fit_tree

KEYS = ("tool_class", "previous", "command_skeleton")
GRID = forecast_grid([(119.4, 126.0)])
Forge = Callable[..., Path]


def some_rows(seed: int, n: int, *, names: tuple[str | None, ...] = ("shell", "read", "never seen", None)) -> PauseRows:
    random = np.random.default_rng(seed)
    values = {
        "tool_class": names,
        "previous": band_labels(),
        "command_skeleton": ("go | tail", "b<script>", "\u00e4\u4e2d \U0001f600", "", "a" * 300),
    }
    codes = {key: random.integers(0, len(some), n) for key, some in values.items()}
    codes["tool_class"] = np.where(codes["tool_class"] == 2, 0, codes["tool_class"])
    session = np.sort(random.integers(0, 1 + n // 4, n)).astype(np.intp)
    return PauseRows(
        codes,
        values,
        session=session,
        developer=(session % 3).astype(np.intp),
        started=np.arange(float(n)),
        seconds=np.exp(random.normal(0, 3, n)),
        observed=random.random(n) < 0.9,
    )


def fitted(rows: PauseRows, keys: tuple[str, ...] = KEYS, grid: Grid = GRID) -> PathModel:
    return compacted(path_model(fit_tree(rows, keys, grid), rows))


def some_model(seed: int = 0, n: int = 120) -> ForecastModel:
    rows = some_rows(seed, n)
    first = ProviderModel(
        paths=(fitted(rows, ("tool_class",)), fitted(rows)),
        single=fitted(rows.take(np.arange(n) < max(n // 2, 1)), ("tool_class",)),
        limits=(AskedLimit(None, 3, 4, 0.7), AskedLimit("shell", 3, 3, 0.875)),
        dependence=Dependence(1.25, -10.5, -11.0, 40, (1.0, 1.5), "few rounds"),
        notes=("a note",),
        pool=PooledPaths(fitted(rows, ("previous",)), (0.75, 0.5), (0.0, 1.5), (n, 0)),
    )
    second = ProviderModel(paths=(fitted(some_rows(seed + 1, max(n // 3, 1)), ("command_skeleton",), forecast_grid()),))
    return ForecastModel(
        {"": second, "codex": first}, "t.duckdb", "sha256:ab", True, "0.1.0", rounds=n, where="n_calls = 1"
    )


def same_path(a: PathModel, b: PathModel) -> bool:
    def arrays(path: PathModel) -> list[np.ndarray[Any, Any]]:
        counts = [x for c in path.counts for x in (c.ended, c.reached)]
        return [path.grid.edges, *counts, *(x for level in path.nesting.levels for x in (level.parents, level.codes))]

    plain = [f.name for f in fields(PathModel) if f.name not in ("grid", "nesting", "counts", "names")]
    return (
        all(getattr(a, name) == getattr(b, name) for name in plain)
        and dict(a.names) == dict(b.names)
        and a.grid.windows == b.grid.windows
        and [level.base for level in a.nesting.levels] == [level.base for level in b.nesting.levels]
        and all(x.shape == y.shape and (x == y).all() for x, y in zip(arrays(a), arrays(b), strict=True))
    )


def same(a: ForecastModel, b: ForecastModel) -> bool:
    if any(getattr(a, f.name) != getattr(b, f.name) for f in fields(ForecastModel) if f.name != "providers"):
        return False
    if list(a.providers) != list(b.providers):
        return False
    for one, other in zip(a.providers.values(), b.providers.values(), strict=True):
        if (one.limits, one.dependence, one.notes) != (other.limits, other.dependence, other.notes):
            return False
        if (one.single is None) != (other.single is None) or len(one.paths) != len(other.paths):
            return False
        pairs = [*zip(one.paths, other.paths, strict=True)]
        if (one.pool is None) != (other.pool is None):
            return False
        if one.pool is not None and other.pool is not None:
            weights = [(pool.seen, pool.unseen, pool.held_out) for pool in (one.pool, other.pool)]
            if weights[0] != weights[1]:
                return False
            pairs.append((one.pool.base, other.pool.base))
        pairs += [(one.single, other.single)] if one.single is not None and other.single is not None else []
        if not all(same_path(x, y) for x, y in pairs):
            return False
    return True


@pytest.fixture(scope="module")
def model() -> ForecastModel:
    return some_model()


@pytest.fixture(scope="module")
def content(model: ForecastModel, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m.parquet"
    write_model(model, path)
    return path.read_bytes()


@pytest.fixture
def stored(content: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "m.parquet"
    path.write_bytes(content)
    return path


def test_what_is_read_is_what_was_written(model: ForecastModel, stored: Path) -> None:
    assert same(read_model(stored), model)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), n=st.integers(1, 60))
def test_any_fit_comes_back(tmp_path: Path, seed: int, n: int) -> None:
    model = some_model(seed, n)
    write_model(model, tmp_path / "m.parquet")
    assert same(read_model(tmp_path / "m.parquet"), model)


def test_it_predicts_as_the_fitted_one_does(model: ForecastModel, stored: Path) -> None:
    for name, provider in read_model(stored).providers.items():
        for path, before in zip(provider.paths, model.providers[name].paths, strict=True):
            codes = [int(before.nesting.levels[0].codes[-1])]
            nodes = path.nodes(codes)
            assert nodes == before.nodes(codes)
            assert len(nodes) == 1
            curves = [curves_of(each.grid, each.hazards(nodes)[-1], each.alpha) for each in (path, before)]
            found = [each.quantile([0] * 3, [0.1, 0.5, 0.9], 2.0) for each in curves]
            assert (found[0] == found[1]).all()


def test_values_that_no_row_has_are_left_out(model: ForecastModel) -> None:
    rows = some_rows(0, 120)
    before = path_model(fit_tree(rows, KEYS, GRID), rows)
    assert "never seen" in before.names["tool_class"]
    path = compacted(before)
    assert path.names["tool_class"] == ("shell", "read", None)
    assert path.names["previous"] == band_labels()
    assert same_path(compacted(path), path)
    assert path.nesting.levels[0].codes.tolist() == [0, 1, 2]
    assert before.nesting.levels[0].codes.tolist() == [0, 1, 3]


def test_a_dependence_beyond_all_bounds_is_none(model: ForecastModel, tmp_path: Path) -> None:
    codex = model.providers["codex"]
    assert codex.dependence is not None
    far = replace(codex, dependence=replace(codex.dependence, theta=1e300))
    with pytest.raises(msgspec.ValidationError):
        write_model(replace(model, providers={"codex": far}), tmp_path / "m.parquet")
    assert not list(tmp_path.iterdir())


def test_the_table_says_what_it_holds(model: ForecastModel, stored: Path) -> None:
    frame = pq.read_table(stored).to_pandas()
    columns = ["provider", "path", "level", "node", "parent", "code", "value", "bin", "ended", "reached"]
    assert list(frame) == columns
    assert (frame["reached"] > 0).all()
    shells = frame.query("provider == 'codex' and path == 0 and level == 1 and value == 'shell' and bin == 0")
    path = model.providers["codex"].paths[0]
    assert shells["reached"].tolist() == [path.counts[1].reached[0, 0]]
    assert [json.loads(pq.read_metadata(stored).metadata[b"tracestat.forecast"])[k] for k in ("format", "version")] == [
        "tracestat.forecast",
        1,
    ]


def test_another_ending_is_refused(model: ForecastModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"m\.pickle.*must end in \.parquet"):
        write_model(model, tmp_path / "m.pickle")


def test_an_interrupted_write_leaves_the_old_file(
    model: ForecastModel, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = stored.read_bytes()
    monkeypatch.setattr(pq.ParquetWriter, "add_key_value_metadata", stop)
    with pytest.raises(KeyboardInterrupt):
        write_model(replace(model, trace="other"), stored)
    assert stored.read_bytes() == before
    assert [p.name for p in stored.parent.iterdir()] == ["m.parquet"]


def test_what_could_not_be_read_is_not_written(
    model: ForecastModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_MOST_CELLS", 100)
    with pytest.raises(TracestatError, match=r"^m\.parquet: the forecast has too many keys"):
        write_model(model, tmp_path / "m.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(model: ForecastModel, tmp_path: Path) -> None:
    with pytest.raises(TracestatError, match=r"^m\.parquet: cannot be written"):
        write_model(model, tmp_path / "none" / "m.parquet")


def refusal(path: Path) -> str:
    with pytest.raises(TracestatError) as caught:
        read_model(path)
    text = str(caught.value)
    assert text.startswith(path.name)
    assert len(text.splitlines()) == 1
    assert text.isascii()
    assert "tracestat" in text  # what to do
    assert str(path.parent) not in text
    return text


def test_files_that_are_none(stored: Path, content: bytes, tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none.parquet")
    assert "no file of a forecast" in refusal(tmp_path)
    for name, data in {
        "empty": b"",
        "table.csv": b"a,b\n1,2\n",
        "cut": content[: len(content) // 2],
        "end": content[-100:],
        "magic": b"PAR1" + b"\xff" * 50 + b"PAR1",
        "pickle": b"\x80\x04\x95\x00",
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert "no Parquet file, or not whole" in refusal(path)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    assert "holds no forecast of tracestat" in refusal(tmp_path / "other.parquet")


def test_a_file_that_is_too_large(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MOST_ROWS", "_MOST_UNPACKED", "_MOST_CELLS", "_MOST_VALUES"):
        with monkeypatch.context() as patch:
            patch.setattr(storage, name, 10)
            assert "larger than any forecast" in refusal(stored)
    monkeypatch.setattr(storage, "_MOST_BYTES", 10)
    assert "no file of a forecast" in refusal(stored)


@pytest.fixture
def forged(stored: Path) -> Forge:
    """Give a function that writes the file again with another head or other columns."""

    def forge(head: Callable[[dict[str, Any]], Any] | None = None, **columns: Callable[[list[Any]], Any]) -> Path:
        file = pq.ParquetFile(stored)
        said = json.loads(file.metadata.metadata[b"tracestat.forecast"])
        if head is not None:
            said = head(said) or said
        table = file.read()
        for name, change in columns.items():
            values = table[name].to_pylist()
            changed = change(values)
            kept = table[name].type if name != "ended" or changed is None else pa.float64()
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(values if changed is None else changed, kept))
        text = said if isinstance(said, bytes) else json.dumps(said).encode()
        with pq.ParquetWriter(stored, table.schema, store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"tracestat.forecast": text})
        return stored

    return forge


def test_the_same_rows_written_by_another_program_are_read(forged: Forge, model: ForecastModel) -> None:
    assert same(read_model(forged()), model)


def test_versions(forged: Forge) -> None:
    newer = refusal(forged(lambda head: head | {"version": 2, "tracestat": "7.1.0", "providers": "in another form"}))
    assert newer == "m.parquet needs tracestat >= 7.1.0: upgrade tracestat"
    older = refusal(forged(lambda head: {"format": "tracestat.forecast", "version": 0, "tracestat": "0.0.1"}))
    assert older == "m.parquet was fitted by an older tracestat (0.0.1): fit it again with `tracestat forecast fit`"
    strange = refusal(forged(lambda head: head | {"version": 2, "tracestat": "\x1b[31m\n" * 50}))
    assert strange == "m.parquet needs tracestat >= 31m31m31m: upgrade tracestat"


def first_path(head: dict[str, Any]) -> dict[str, Any]:
    path: dict[str, Any] = head["providers"][1]["paths"][1]
    return path


def without(key: str) -> Callable[[dict[str, Any]], None]:
    def change(head: dict[str, Any]) -> None:
        (head if key in head else first_path(head)).pop(key)

    return change


def in_path(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda head: first_path(head).update(changes)


def in_pool(pool: dict[str, Any] | None) -> Callable[[dict[str, Any]], None]:
    return lambda head: head["providers"][1].update(pool=pool)


@pytest.mark.parametrize(
    "change",
    [
        *map(
            without, ("trace", "fingerprint", "synthetic", "providers", "edges", "kappas", "alpha", "sizes", "sha256")
        ),
        lambda head: b"{",
        lambda head: b"\xff\xfe",
        lambda head: b"[" * 100_000,
        lambda head: b'{"x":' + b"[" * 100_000,
        lambda head: head | {"format": "other"},
        lambda head: head | {"version": "1"},
        lambda head: head | {"providers": []},
        lambda head: head | {"providers": head["providers"] * 2},
        lambda head: head | {"more": 1},
        lambda head: head | {"rounds": -1},
        lambda head: head | {"trace": "another"},
        in_path(keys=["tool_class", "previous"]),
        in_path(keys=["tool_class", "previous", "end_kind"]),
        in_path(keys=["tool_class", "previous", "previous"]),
        in_path(edges=[0.0, 2.0, 1.0]),
        in_path(edges=[0.0, 1.0]),
        in_path(edges=[1.0, 2.0]),
        in_path(edges=[0.0, 1e999]),
        in_path(windows=[[3.0, 4.0]]),
        in_path(windows=[[126.0, 119.4]]),
        in_path(sizes=[3, 10**9, 5]),
        in_path(sizes=[3, -1, 5]),
        in_path(sizes=[1, 1, 1]),
        in_path(alpha=0.0),
        in_path(alpha=1e999),
        in_path(last_seen=-1.0),
        in_path(role="single"),
        in_path(role="base"),
        in_path(role="other"),
        in_path(edges=[0.0, 2.0, 1000.0], windows=[]),
        in_pool(None),
        in_pool({"seen": [0.75], "unseen": [0.0], "held_out": [1, 0]}),
        in_pool({"seen": [0.75, 0.5], "unseen": [0.0, 1.500001], "held_out": [1, 0]}),
        in_pool({"seen": [0.75, -0.1], "unseen": [0.0, 1.5], "held_out": [1, 0]}),
        in_pool({"seen": [0.75, 1e999], "unseen": [0.0, 1.5], "held_out": [1, 0]}),
        in_pool({"seen": [0.75, None], "unseen": [0.0, 1.5], "held_out": [1, 0]}),
        in_pool({"seen": [0.75, 0.5], "unseen": [0.0, 1.5], "held_out": [-1, 0]}),
        in_pool({"seen": [0.75, 0.6], "unseen": [0.0, 1.5], "held_out": [1, 0]}),
        lambda head: head["providers"][0].update(pool=head["providers"][1]["pool"]),
        lambda head: head["providers"][1]["paths"].append(head["providers"][1]["paths"].pop(2)),
        in_path(kappas=[]),
        lambda head: first_path(head)["kappas"][0].update(kappa=-1.0),
        lambda head: first_path(head)["kappas"][0].update(kappa=2.0),
        lambda head: first_path(head)["kappas"][0].update(profile=[[0.0]]),
        lambda head: head["providers"][1]["limits"][0].update(ended=9),
        lambda head: head["providers"][1]["dependence"].update(theta=0.5),
        lambda head: head["providers"][1].update(provider="gemini"),
    ],
)
def test_a_head_that_cannot_be(forged: Forge, change: Callable[[dict[str, Any]], Any]) -> None:
    assert "make it with" in refusal(forged(change))


def put(place: int, value: Any) -> Callable[[list[Any]], None]:
    def change(values: list[Any]) -> None:
        values[place] = value

    return change


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"ended": put(5, float("nan"))}, "counts that cannot be"),
        ({"ended": put(5, -1.0)}, "counts that cannot be"),
        ({"ended": put(5, 1e9)}, "counts that cannot be"),
        ({"reached": put(5, 0.0)}, "counts that cannot be"),
        ({"reached": put(5, float("inf"))}, "counts that cannot be"),
        ({"reached": put(5, None)}, "values are missing"),
        ({"reached": put(5, 1e6)}, "not as it was written"),
        ({"bin": put(5, 99)}, "bins are missing or out of range"),
        ({"bin": put(-1, 999)}, "bins are missing or out of range"),
        ({"bin": put(5, -1)}, "bins are missing or out of range"),
        ({"node": put(-1, 2**31 - 1)}, "nodes are missing or out of order"),
        ({"node": put(-1, -5)}, "nodes are missing or out of order"),
        ({"parent": put(-1, 10**6)}, "a node has two parents"),
        ({"parent": lambda v: [10**6 if x == 0 else x for x in v]}, "parents or codes are out of range"),
        ({"parent": lambda v: [0 if x < 0 else x for x in v]}, "the root has a parent"),
        ({"code": put(-1, 10**9)}, "codes are out of range"),
        ({"code": put(-1, -2)}, "codes are out of range"),
        ({"code": lambda v: [0 if x >= 0 else x for x in v]}, "a code stands for two values"),
        ({"value": lambda v: [x and "same" for x in v]}, "bands of previous|two"),
        ({"value": lambda v: ["x" for _ in v]}, "the root has a value"),
        ({"provider": lambda v: ["codex"] * len(v)}, "levels are missing"),
        ({"path": put(0, 5)}, "levels are missing"),
        ({"level": put(0, -1)}, "levels are missing"),
        ({"ended": lambda v: v[::-1]}, "counts that cannot be"),
        ({"value": lambda v: [x if x != "shell" else "shelf" for x in v]}, "not as it was written"),
    ],
)
def test_rows_that_cannot_be(forged: Forge, columns: dict[str, Any], reason: str) -> None:
    text = refusal(forged(**columns))
    assert re.search(reason, text), text


def test_columns_that_are_not_its_own(stored: Path) -> None:
    file = pq.ParquetFile(stored)
    said, table = file.metadata.metadata[b"tracestat.forecast"], file.read()
    for other in (
        table.drop_columns(["bin"]),
        table.set_column(7, "bin", table["bin"].cast(pa.int64())),
        table.set_column(7, "bin", pa.array([[1]] * table.num_rows)),
        table.append_column("more", table["bin"]),
        table.slice(0, 0),
        table.slice(0, table.num_rows - 1),
        table.take(np.arange(table.num_rows)[::-1]),
    ):
        with pq.ParquetWriter(stored, other.schema, store_schema=False) as writer:
            writer.write_table(other)
            writer.add_key_value_metadata({"tracestat.forecast": said})
        assert "is damaged" in refusal(stored)


def test_no_damage_passes_for_another_forecast(model: ForecastModel, content: bytes, tmp_path: Path) -> None:
    """Flip bytes anywhere, most of them where the file says how it is laid out: an error or the same forecast."""
    random = np.random.default_rng(7)
    path = tmp_path / "m.parquet"
    end = len(content)
    places = np.concatenate([random.integers(0, end, 200), end - random.integers(1, 600, 200)])
    refused = 0
    lines: list[str] = []
    for place in places.tolist():
        data = bytearray(content)
        data[place] ^= int(random.integers(1, 256))
        path.write_bytes(data)
        try:
            loaded = read_model(path)
        except TracestatError as error:
            lines.extend(str(error).splitlines())
            refused += 1
            continue
        assert same(loaded, model)
    assert len(lines) == refused > 300
    assert all(line.startswith("m.parquet") for line in lines)
