"""A fitted forecast as one Parquet file that any engine reads, and back.

The file may come from anyone. What it says of its size is checked before anything is laid out, what it holds before it
is used, and nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracestat.errors import TracestatError, UsageError
from tracestat.forecast.keys import BANDED, band_labels
from tracestat.forecast.model import ForecastModel, PooledPaths, ProviderModel
from tracestat.forecast.storage_head import FORMAT, Head, decode_head, encode_head, head_of, hierarchies
from tracestat.forecast.storage_table import LevelRows, compacted, level_rows, path_from
from tracestat.replacing import replacing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_model", "write_model"]

Place = tuple[int, int, int]
_ENDING: Final = ".parquet"
_INTS: Final = {"path": "int16", "level": "int16", "node": "int32", "parent": "int32", "code": "int32", "bin": "int16"}
_FLOATS: Final = ("ended", "reached")
_ORDER: Final = ("provider", "path", "level", "node", "parent", "code", "value", "bin", "ended", "reached")
# bounds of what is read, several times those of a full-size trace
_MOST_BYTES: Final = 128 << 20
_MOST_UNPACKED: Final = 1 << 30
_MOST_ROWS: Final = 20_000_000
_MOST_CELLS: Final = 50_000_000
_MOST_LEVELS: Final = 10_000
_MOST_TEXT: Final = 8 << 20
_MOST_VALUES: Final = 32 << 20
_LEVEL: Final = 9
_AGAIN: Final = "make it with `tracestat forecast fit TRACE -o model.parquet`"


def write_model(model: ForecastModel, path: Path) -> int:
    """Write a model, and give the number of rows of its file.

    Parameters
    ----------
    model : ForecastModel
    path : Path
        ``.parquet``.

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The file cannot be written, or would be larger than what is read; what was there before still is.
    """
    import pyarrow.parquet as pq

    if path.suffix.lower() != _ENDING:
        raise UsageError(f"{path.name}: the name of a forecast's file must end in {_ENDING}")
    model = _compact(model)
    pieces = list(_pieces(model))
    # as it will be read: numbers that JSON writes in two ways must not change the digest
    head = decode_head(encode_head(head_of(model)))
    if _too_large(sum(rows.node.size for _, rows in pieces), head):
        raise TracestatError(
            f"{path.name}: the forecast has too many keys to be kept; fit fewer with --keys or --where"
        )
    head.sha256 = _digest(head, [rows for _, rows in pieces])
    table = _table(list(model.providers), pieces)
    with (
        replacing(path) as beside,
        pq.ParquetWriter(
            beside,
            table.schema,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=["provider", "value", *_FLOATS],
            column_encoding=dict.fromkeys(_INTS, "DELTA_BINARY_PACKED"),
            dictionary_pagesize_limit=_MOST_VALUES,
            write_page_checksum=True,
            store_schema=False,
        ) as writer,
    ):
        writer.write_table(table)
        writer.add_key_value_metadata({FORMAT: encode_head(head)})
    return int(table.num_rows)


def _compact(model: ForecastModel) -> ForecastModel:
    return replace(
        model,
        providers={
            name: replace(
                each,
                paths=tuple(compacted(path) for path in each.paths),
                single=None if each.single is None else compacted(each.single),
                pool=None if each.pool is None else replace(each.pool, base=compacted(each.pool.base)),
            )
            for name, each in model.providers.items()
        },
    )


def _pieces(model: ForecastModel) -> Iterator[tuple[Place, LevelRows]]:
    """Give the levels of a model in the order of its file, each with its provider, hierarchy and depth."""
    for place, each in enumerate(model.providers.values()):
        for number, (_, path) in enumerate(hierarchies(each)):
            for depth, rows in enumerate(level_rows(path)):
                yield (place, number, depth), rows


def _table(providers: Sequence[str], pieces: Sequence[tuple[Place, LevelRows]]) -> pa.Table:
    """Lay a model out, sorted by provider, path, level, node and bin."""
    import pyarrow as pa

    sizes = [rows.node.size for _, rows in pieces]
    places = np.repeat(np.array([place for place, _ in pieces]), sizes, axis=0)
    named = {"path": places[:, 1], "level": places[:, 2]}
    for name in ("node", "parent", "code", "bin", *_FLOATS):
        named[name] = np.concatenate([getattr(rows, name) for _, rows in pieces])
    values = [pa.array(rows.names, pa.string()).take(pa.array(rows.code, mask=rows.code < 0)) for _, rows in pieces]
    columns = {
        "provider": pa.array(providers, pa.string()).take(pa.array(places[:, 0])),
        "value": pa.concat_arrays(values),
        **{name: pa.array(named[name].astype(kind)) for name, kind in _INTS.items()},
        **{name: pa.array(named[name]) for name in _FLOATS},
    }
    return pa.table({name: columns[name] for name in _ORDER})


def _digest(head: Head, levels: Sequence[LevelRows]) -> str:
    """Hash head and rows: no damage may pass for another forecast."""
    digest = hashlib.sha256(encode_head(msgspec.structs.replace(head, sha256="")))
    for rows in levels:
        digest.update(msgspec.json.encode(rows.names))
        for whole in (rows.node, rows.parent, rows.code, rows.bin):
            digest.update(np.ascontiguousarray(whole, dtype="<i8").data)
        for values in (rows.ended, rows.reached):
            digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    return digest.hexdigest()


def read_model(path: Path) -> ForecastModel:
    """Read a model.

    Parameters
    ----------
    path : Path

    Raises
    ------
    TracestatError
        The file is not there, holds no forecast, is damaged, or is of another version.
    """
    import pyarrow as pa

    shown = path.name
    try:
        size = path.stat().st_size
    except OSError as error:
        raise TracestatError(f"{shown}: {error.strerror or 'cannot be read'}; {_AGAIN}") from None
    if not path.is_file() or size > _MOST_BYTES:
        raise TracestatError(f"{shown} is no file of a forecast; {_AGAIN}")
    try:
        return _read(path, shown)
    except _NamedError:
        raise
    except PermissionError:
        raise TracestatError(f"{shown}: no permission to read it; {_AGAIN}") from None
    except MemoryError:
        raise TracestatError(f"{shown} needs more memory than there is; {_AGAIN}") from None
    except (
        pa.ArrowException,
        msgspec.MsgspecError,
        OSError,
        ValueError,
        ArithmeticError,
        LookupError,
        RuntimeError,
    ) as error:
        # our own words only: those of a library may hold what stands in the file
        reason = str(error) if type(error) is ValueError and str(error).isascii() else "not as it was written"
        raise TracestatError(f"{shown} is damaged ({reason[:100]}); {_AGAIN}") from None


class _NamedError(TracestatError):
    """A message that names the file already."""


def _read(path: Path, shown: str) -> ForecastModel:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with path.open("rb") as source:
        try:
            metadata = pq.read_metadata(source)
        except (pa.ArrowException, OSError, ValueError, RuntimeError):
            raise _NamedError(f"{shown} is no Parquet file, or not whole; {_AGAIN}") from None
        text = (metadata.metadata or {}).get(FORMAT.encode())
        if text is None or len(text) > _MOST_TEXT:
            raise _NamedError(f"{shown} holds no forecast of tracestat; {_AGAIN}")
        try:
            head = decode_head(text)
        except TracestatError as error:
            raise _NamedError(f"{shown} {error}") from None
        file = pq.ParquetFile(
            source, metadata=metadata, page_checksum_verification=True, read_dictionary=["provider", "value"]
        )
        _check_sizes(file, head)
        table = file.read(columns=list(_ORDER))
    levels = _levels(table, head)
    model = _model(head, levels)
    if _digest(head, levels) != head.sha256:
        raise ValueError("not as it was written")
    return model


def _too_large(rows: int, head: Head) -> bool:
    """Tell whether a forecast has more rows, or more cells once it is laid out, than are read."""
    paths = [path for each in head.providers for path in each.paths]
    return rows > _MOST_ROWS or sum((1 + sum(path.sizes)) * len(path.edges) for path in paths) > _MOST_CELLS


def _check_sizes(file: Any, head: Head) -> None:
    """Refuse what would not fit, before it is read."""
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {"provider": text, "value": text, **{name: pa.type_for_alias(kind) for name, kind in _INTS.items()}}
    kinds |= dict.fromkeys(_FLOATS, pa.float64())
    schema = file.schema_arrow
    if schema.names != list(_ORDER) or any(schema.field(name).type != kinds[name] for name in _ORDER):
        raise ValueError("columns that are not its own")
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    unpacked = sum(group.total_byte_size for group in groups)
    if _too_large(file.metadata.num_rows, head) or unpacked > _MOST_UNPACKED:
        raise ValueError("larger than any forecast")
    if min([file.metadata.num_rows, *(group.total_byte_size for group in groups)]) < 0:
        raise ValueError("sizes that cannot be")


def _levels(table: pa.Table, head: Head) -> list[LevelRows]:
    """Cut the table into levels, as many and in the order that the head says."""
    table = table.unify_dictionaries().combine_chunks()
    if any(table[name].null_count for name in _ORDER if name != "value") or not table.num_rows:
        raise ValueError("values are missing")
    numbers = {name: table[name].to_numpy() for name in (*_INTS, *_FLOATS)}
    texts = {name: table[name].combine_chunks() for name in ("provider", "value")}
    places = {name: texts[name].indices.fill_null(-1).to_numpy() for name in texts}
    known = {name: texts[name].dictionary.to_pylist() for name in texts}
    if texts["value"].dictionary.nbytes > _MOST_VALUES:
        raise ValueError("larger than any forecast")
    # the provider, hierarchy and depth of a row as one number
    where = places["provider"].astype(np.int64) << 32
    where += (numbers["path"].astype(np.int64) << 16) + numbers["level"]
    starts = np.append(0, 1 + np.flatnonzero(np.diff(where)))
    found = [
        (known["provider"][places["provider"][i]], int(numbers["path"][i]), int(numbers["level"][i]))
        for i in starts[:_MOST_LEVELS]
    ]
    keys = {
        (each.provider, number, depth): key
        for each in head.providers
        for number, path in enumerate(each.paths)
        for depth, key in enumerate(("", *path.keys))
    }
    if found != list(keys) or starts.size != len(found):
        raise ValueError("levels are missing or out of order")
    levels = []
    for key, start, end in zip(keys.values(), starts, [*starts[1:], table.num_rows], strict=True):
        own = {name: numbers[name][start:end] for name in ("node", "parent", "code", "bin", *_FLOATS)}
        names = _names(key, own["code"], places["value"][start:end], known["value"])
        levels.append(LevelRows(names=names, **own))
    return levels


def _names(
    key: str, codes: NDArray[np.integer], values: NDArray[np.integer], known: Sequence[str]
) -> tuple[str | None, ...]:
    """Give the value of each code of a level; the same on all its rows."""
    if not key:
        if (values >= 0).any():
            raise ValueError("the root has a value")
        return ()
    labels = band_labels()
    size = len(labels) if key in BANDED else int(codes.max()) + 1
    if codes.min() < 0 or codes.max() >= min(size, codes.size + len(labels)):
        raise ValueError("codes are out of range")
    value_of = np.full(size, -2)
    value_of[codes] = values
    if (value_of[codes] != values).any():
        raise ValueError("a code stands for two values")
    names = tuple(None if place == -1 else known[place] for place in value_of.tolist() if place != -2)
    if key in BANDED:
        if any(name != labels[code] for name, code in zip(names, np.flatnonzero(value_of != -2), strict=True)):
            raise ValueError(f"the bands of {key} are not those of this version")
        return labels
    if len(names) < size or len(set(names)) < size:
        raise ValueError("a value has no code, or two")
    return names


def _model(head: Head, levels: Sequence[LevelRows]) -> ForecastModel:
    providers: dict[str, ProviderModel] = {}
    rest = iter(levels)
    for each in head.providers:
        paths = [path_from(path, [next(rest) for _ in range(1 + len(path.keys))]) for path in each.paths]
        single = paths.pop() if each.paths[-1].role == "single" else None
        pool = None
        if each.pool is not None:
            pool = PooledPaths(paths.pop(), each.pool.seen, each.pool.unseen, each.pool.held_out)
        providers[each.provider] = ProviderModel(
            paths=tuple(paths),
            single=single,
            limits=each.asked_limits(),
            dependence=each.calls_together(),
            notes=each.notes,
            pool=pool,
        )
    named = {f.name: getattr(head, f.name) for f in fields(ForecastModel) if f.name != "providers"}
    return ForecastModel(providers=providers, **named)
