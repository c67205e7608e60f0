"""Laws of keys as one Parquet file, a row per key and unit, that polars, pandas and DuckDB read as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tracestat
from tracestat.errors import UsageError
from tracestat.export.attribution import Attribution
from tracestat.replacing import replacing
from tracestat.results import Interval, as_json
from tracestat.results.key_laws import LAW_GRID, LEVELS, KeyLaw, KeyLaws

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "METADATA", "SCHEMA", "Described", "check_ending", "write_durations"]

SCHEMA: Final = "tracestat.durations/1"
METADATA: Final = "tracestat"
_ENDING: Final = ".parquet"
_QUANTILES: Final = {"q50": "0.5", "q90": "0.9", "q95": "0.95", "q99": "0.99"}


@dataclass(frozen=True, slots=True)
class Described:
    """A column: its Arrow type as text, what its numbers are measured in (None: it has none), and what it says."""

    kind: str
    measured_in: str | None
    says: str


def _quantile_columns() -> dict[str, Described]:
    made = {}
    for name, q in _QUANTILES.items():
        made[name] = Described("float64", "seconds", f"Kaplan-Meier quantile {q}; null: not reached, or too few rows")
        for bound, word in (("low", "lower"), ("high", "upper")):
            made[f"{name}_{bound}"] = Described("float64", "seconds", f"{word} 95 % bound of {name}, see {name}_method")
        made[f"{name}_method"] = Described(
            "string", None, f"what the bounds of {name} are clustered by, and how; null: no bounds"
        )
    return made


COLUMNS: Final[Mapping[str, Described]] = {
    "unit": Described("string", None, "what one duration is: call, pause or command"),
    "clock": Described("string", None, "what times it: wall, internal or effective"),
    "definition": Described("string", None, "rules of what counts, tracestat"),
    "rows": Described("string", None, "which rows: tool, human or all"),
    "level": Described(
        "string", None, "lowest key that this row distinguishes: within a level no duration is in two rows"
    ),
    "provider": Described("string", None, "harness"),
    "tool_class": Described("string", None, "class of the tool; null: all of them, see level, or none known"),
    "tool": Described("string", None, "tool; null: all of them, see level, or none known"),
    "command_skeleton": Described("string", None, "executables of the command; null: all, see level, or no command"),
    "n": Described("int64", "rows", "durations"),
    "n_events": Described("int64", "rows", "durations whose end was seen"),
    "n_censored": Described("int64", "rows", "durations whose end was not seen: they lasted longer"),
    "n_sessions": Described("int64", "sessions", "sessions that the rows come from"),
    "n_developers": Described("int64", "developers", "developers that the rows come from"),
    "total_seconds": Described("float64", "seconds", "sum of the durations, seen or not"),
    **_quantile_columns(),
    "t": Described(
        "list<double>", "seconds", "grid of times, the same in every row: t[i] belongs to survival[i], used[i]"
    ),
    "survival": Described(
        "list<double>",
        "probability",
        "P(T > t[i]) of these rows alone (Kaplan-Meier), up to the longest; null: too few",
    ),
    "last_seconds": Described("float64", "seconds", "longest duration, seen or not; nothing is known beyond"),
    "used": Described(
        "list<double>",
        "probability",
        "P(T > t[i]) with the key shrunk towards what keys of the one above have in common: for forecasts and drawing",
    ),
    "tail_alpha": Described("float64", None, "beyond 20,000 s used falls as t^-alpha, an assumption of the forecast"),
    "level_used": Described("string", None, "lowest level whose rows carry at least half of used"),
    "weight": Described(
        "float64", "share", "weight of own rows in used, the rest is what keys beside it share; 0: as the key above"
    ),
    "atoms": Described(
        "list<struct<seconds: double, kind: string, share: double, share_low: double, share_high: double>>",
        "seconds; share of n",
        "point masses: ends at a limit of the harness (deadline, timeout) or with the sleep asked for (sleep)",
    ),
    "hazard": Described(
        "list<struct<lo: double, hi: double, events: int64, exposure: double>>",
        "seconds; events",
        "events and exposure within [lo, hi), hi null: open; hazard = events / exposure, and bins can be merged",
    ),
    "residual": Described(
        "list<struct<elapsed: double, n_at_risk: int64, mean: double, mean_low: double, mean_high: double, "
        "median: double, median_low: double, median_high: double>>",
        "seconds; rows",
        "remaining time of what has lasted elapsed: mean within 3,600 s from there, median; from 20 rows at risk on",
    ),
    "laws": Described(
        "list<struct<family: string, parameters: list<struct<name: string, value: double>>, aic: double, low: double, "
        "high: double>>",
        "seconds where the name says so",
        "laws of what lasts longer than 5.5 ms, and the range in which each holds (null: nowhere)",
    ),
    "resolution_seconds": Described("float64", "seconds", "coarsest clock among the rows"),
    "notes": Described("list<string>", None, "why something is missing"),
    "synthetic": Described("bool", None, "made up: no evidence about anything"),
}


def check_ending(path: Path) -> None:
    """Refuse a name that says another format, before anything is computed.

    Raises
    ------
    UsageError
        It does.
    """
    if path.suffix.lower() != _ENDING:
        raise UsageError(f"{path.name}: the name must end in {_ENDING}")


def write_durations(laws: Sequence[KeyLaws], path: Path, about: Attribution, *, min_n: int, seed: int) -> int:
    """Write the laws of the keys of one trace, a row per unit and key, and give the number of rows.

    Parameters
    ----------
    laws : sequence of KeyLaws
        One per unit.
    path : Path
        ``.parquet``; a file that is there is replaced once the new one is complete.
    about : Attribution
    min_n : int
        Rows below which nothing was estimated.
    seed : int
        Of what was drawn at random.

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The file cannot be written; what was there before still is.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_ending(path)
    schema = _schema().with_metadata({METADATA: json.dumps(_about(laws, about, min_n, seed), ensure_ascii=False)})
    rows = [_row(law, one, about, min_n) for one in laws for law in one.laws]
    table = pa.Table.from_pylist(rows, schema=schema)
    with replacing(path) as beside:
        pq.write_table(table, beside, compression="zstd", write_page_checksum=True)
    return len(rows)


def _about(laws: Sequence[KeyLaws], about: Attribution, min_n: int, seed: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tracestat": tracestat.__version__,
        "synthetic": about.synthetic,
        "attribution": about.to_dict(),
        "grain": "one row per unit and key",
        "levels": list(LEVELS),
        "grid_seconds": list(LAW_GRID),
        "min_n": min_n,
        "seed": seed,
        "units": [as_json(one.head) for one in laws],
        "columns": {
            name: {"type": column.kind, "unit": column.measured_in, "description": column.says}
            for name, column in COLUMNS.items()
        },
    }


def _schema() -> pa.Schema:
    import pyarrow as pa

    number, text, whole = pa.float64(), pa.string(), pa.int64()

    def struct(*fields: tuple[str, pa.DataType]) -> pa.DataType:
        return pa.list_(pa.struct(fields))

    nested = {
        "atoms": struct(
            ("seconds", number), ("kind", text), ("share", number), ("share_low", number), ("share_high", number)
        ),
        "hazard": struct(("lo", number), ("hi", number), ("events", whole), ("exposure", number)),
        "residual": struct(
            ("elapsed", number),
            ("n_at_risk", whole),
            *((f"{name}{bound}", number) for name in ("mean", "median") for bound in ("", "_low", "_high")),
        ),
        "laws": struct(
            ("family", text),
            ("parameters", struct(("name", text), ("value", number))),
            ("aic", number),
            ("low", number),
            ("high", number),
        ),
    }
    plain = {
        "string": text,
        "float64": number,
        "int64": whole,
        "bool": pa.bool_(),
        "list<double>": pa.list_(number),
        "list<string>": pa.list_(text),
    }
    return pa.schema(
        [
            pa.field(
                name,
                nested[name] if name in nested else plain[column.kind],
                metadata={"description": column.says, **({"unit": column.measured_in} if column.measured_in else {})},
            )
            for name, column in COLUMNS.items()
        ]
    )


def _row(law: KeyLaw, of: KeyLaws, about: Attribution, min_n: int) -> dict[str, Any]:
    quantiles: dict[str, float | str | None] = {}
    for name, q in _QUANTILES.items():
        found = law.quantiles[q]
        quantiles |= _bounds(name, found) | {f"{name}_method": found.method or None}
    return {
        "unit": of.head.unit,
        "clock": of.head.clock,
        "definition": of.head.definition,
        "rows": of.head.rows,
        "level": law.level,
        **law.key,
        "n": law.n,
        "n_events": law.n_events,
        "n_censored": law.n_censored,
        "n_sessions": law.n_sessions,
        "n_developers": law.n_developers,
        "total_seconds": law.total_seconds,
        **quantiles,
        "t": LAW_GRID,
        "survival": law.survival if law.n >= min_n else None,
        "last_seconds": law.last_seconds,
        "used": law.used,
        "tail_alpha": law.tail_alpha,
        "level_used": law.level_used,
        "weight": law.weight,
        "atoms": [{"seconds": atom.seconds, "kind": atom.kind, **_bounds("share", atom.mass)} for atom in law.atoms],
        "hazard": [
            {"lo": each.lo, "hi": each.hi, "events": each.events, "exposure": each.exposure} for each in law.hazard
        ],
        "residual": [
            {
                "elapsed": point.elapsed,
                "n_at_risk": point.n_at_risk,
                **_bounds("mean", point.mean),
                **_bounds("median", point.median),
            }
            for point in law.residual
        ],
        "laws": [
            {
                "family": each.family,
                "parameters": [{"name": name, "value": value} for name, value in each.parameters.items()],
                "aic": each.aic,
                "low": each.low,
                "high": each.high,
            }
            for each in law.laws
        ],
        "resolution_seconds": law.resolution_seconds,
        "notes": law.notes,
        "synthetic": about.synthetic,
    }


def _bounds(name: str, found: Interval) -> dict[str, float | None]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
