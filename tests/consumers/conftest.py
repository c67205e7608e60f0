"""Consumers are other people's packages: `pip install -e ".[test,consumers]"`. Without them these tests are skipped.

`.ci/consumers` installs them and sets TRACESTAT_CONSUMERS, and then one that cannot be imported is a failure.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tracestat
from tests.export.replay_readers import by_hand
from tracestat.store import Trace


@pytest.fixture
def consumer() -> Callable[[str], None]:
    """Give a function that imports a consumer or skips; the warnings of its own packages are its own affair."""

    def get(module: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if os.environ.get("TRACESTAT_CONSUMERS"):
                importlib.import_module(module)
            else:
                pytest.importorskip(module, reason=f'{module} is not installed: pip install -e ".[test,consumers]"')

    return get


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    """A folder of files typed by hand in every format."""
    by_hand.write(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def sample() -> Iterator[Trace]:
    """The bundled trace."""
    with tracestat.open() as trace:
        yield trace


@pytest.fixture(scope="session")
def real(real_trace: Path) -> Iterator[Trace]:
    """The real trace where it is."""
    with tracestat.open(real_trace) as trace:
        yield trace
