"""The session that was worked out by hand, as a store that all tests here read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.export.replay.made import four_steps
from tests.traces import write
from tracestat.ingest import ingest
from tracestat.store import Trace, open_store


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    folder = tmp_path_factory.mktemp("four-steps")
    ingest([write(folder / "rows.jsonl", four_steps())], folder / "rows.duckdb")
    with open_store(folder / "rows.duckdb") as opened:
        yield opened
