"""Fixtures: small stores made of invented rows, the real trace where it is, and a cache of this run's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.traces import write

REPOSITORY = Path(__file__).parent.parent

# two test processes share two cores: more threads would only wait for each other
for _name in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# the same examples each time, so that a failure is a change's own; new ones: `pytest --hypothesis-profile explore`
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis.settings.register_profile("same", max_examples=40, deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("same")


def corpus_folder() -> Path:
    """Give the folder of real data, which is never part of this repository."""
    return Path(os.environ.get("TRACESTAT_CORPUS") or REPOSITORY.parent / "shared" / "corpus")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all cases but the first of a test marked ``first_case`` as full."""
    seen: set[str] = set()
    for item in items:
        if item.get_closest_marker("first_case") is not None:
            name = item.nodeid.partition("[")[0]
            if name in seen:
                item.add_marker(pytest.mark.full)
            seen.add(name)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the tests out of the user's cache and configuration."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACESTAT_CACHE", str(folder))
        patch.setenv("TRACESTAT_KEY", "test-key")
        yield folder


def corpus_path(name: str) -> Path:
    """Give a file or folder of the real data, or skip where it is absent."""
    path = corpus_folder() / name
    if not path.exists():
        pytest.skip(f"{name} is not on this machine (TRACESTAT_CORPUS names the folder of real data)")
    return path


@pytest.fixture(scope="session")
def real_trace() -> Path:
    """Give the real trace, or skip where it is absent."""
    return corpus_path("real_trace.jsonl.gz")


@pytest.fixture(scope="session")
def sample_profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the profile of the bundled sample, under a licence and attribution of its own."""
    import tracestat

    path = tmp_path_factory.mktemp("profile") / "sample.json"
    tracestat.export_profile(tracestat.open(), path, licence="Apache-2.0", attribution="nobody")
    return path


@pytest.fixture
def store_of(tmp_path: Path) -> Iterator[Callable[[Iterable[Mapping[str, Any]]], Any]]:
    """Give a function that makes an open trace of rows."""
    from tracestat.ingest import ingest
    from tracestat.store import Trace, open_store

    opened: list[Trace] = []

    def make(rows: Iterable[Mapping[str, Any]]) -> Trace:
        number = len(opened)
        source = write(tmp_path / f"rows-{number}.jsonl", rows)
        out = tmp_path / f"rows-{number}.duckdb"
        ingest([source], out)
        opened.append(open_store(out))
        return opened[-1]

    yield make
    for trace in opened:
        trace.close()
