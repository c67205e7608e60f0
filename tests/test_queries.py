"""Every query says what it is, binds its values, and (where it feeds an estimator) is portable SQL."""

from __future__ import annotations

import re

import pytest
import sqlglot

from tracestat.errors import TracestatError
from tracestat.filters import render_keys
from tracestat.queries import query_names, query_text

# What an estimator reads: a fleet-size lake must be able to run these in another engine.
STATISTICS = (
    "cache_hits",
    "cache_sweep",
    "commands_residual_sums",
    "commands_shares",
    "count_between",
    "curve_counts",
    "curve_influence",
    "deadlines_asked",
    "deadlines_cells",
    "deadlines_polled",
    "deadlines_polls",
    "deadlines_sleeps",
    "deadlines_status",
    "deadlines_whole_seconds",
    "excluded",
    "forecast_limits",
    "hazard_between",
    "hazard_cells",
    "key_atoms",
    "law_cells",
    "law_covariates",
    "law_times",
    "program_copies",
    "program_turns",
    "residual_cells",
    "residual_counts",
    "section_cells",
    "section_counts",
    "section_influence",
    "sessions_active",
    "sessions_shares",
    "summary_counts",
    "summary_limits",
    "summary_shares",
    "summary_start_waits",
)


def filled(name: str) -> str:
    return query_text(name, keys=render_keys(("provider", "tool_class")))


def test_there_are_queries() -> None:
    assert {"calls", "pauses", "commands", *STATISTICS} <= set(query_names())


@pytest.mark.parametrize("name", query_names())
def test_header_states_grain_keys_columns_invariants(name: str) -> None:
    header = [line for line in filled(name).splitlines() if line.startswith("--")]
    text = "\n".join(header)
    if name.startswith(("set_", "ingest_")):  # these make tables or set a variable, and say what for
        assert header
        return
    for word in ("grain:", "keys:", "columns:", "invariants:"):
        assert re.search(rf"^-- {word}", text, re.MULTILINE), f"{name}.sql does not state its {word}"


@pytest.mark.parametrize("name", query_names())
def test_it_is_one_statement_that_parses(name: str) -> None:
    if name == "ingest_tables":  # several statements, in words of DuckDB alone
        return
    assert len(sqlglot.parse(filled(name), read="duckdb")) == 1


@pytest.mark.parametrize("name", STATISTICS)
def test_sufficient_statistics_translate_to_spark(name: str) -> None:
    spark = sqlglot.transpile(filled(name), read="duckdb", write="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)
    assert len(spark) == 1


def test_a_query_that_does_not_exist() -> None:
    with pytest.raises(TracestatError, match="missing"):
        query_text("no_such_query")


def test_a_query_by_keys_needs_keys() -> None:
    with pytest.raises(TracestatError, match="got none"):
        query_text("curve_counts")
