"""Imports point down: a file imports only from lines below its own in the layout."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracestat

PACKAGE = Path(tracestat.__file__).parent
# top to bottom; the names of one line may not import each other, but for those to their right in ORDERED
LAYERS = (
    ("__main__",),
    ("cli",),
    ("api",),
    ("charts", "report", "export"),
    ("published", "comparison", "synth", "fetch"),
    ("simulate", "constants", "policy", "forecast", "survival"),
    ("hardware",),
    ("resample",),
    ("durations",),
    ("ingest",),
    ("store",),
    ("queries", "results", "filters", "cache", "user_key", "private_names", "own_logs"),
    ("replacing",),
    ("errors",),
)
ORDERED = ("simulate", "constants", "policy", "forecast", "survival")
# nothing numerical knows where its numbers come from
PURE = ("simulate", "policy", "forecast", "survival", "constants", "hardware", "resample")
IMPURE = ("durations", "store", "ingest")
# a result draws itself when asked: the one import that points up, inside a function
UPWARD = {("results", "charts")}


def layer(name: str) -> int:
    for number, names in enumerate(LAYERS):
        if name in names:
            return number
    raise AssertionError(f"{name} has no place in the layout")


def imports(path: Path) -> Iterator[tuple[str, bool, str]]:
    """(first part of the imported module, at the top of the file, the name as written) of each own import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tracestat":
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            for name in names:
                yield name, node in tree.body, node.module
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "tracestat" and len(parts) > 1:
                    yield parts[1], node in tree.body, alias.name


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for name, at_top, written in imports(path):
        if name == own or name.startswith("__"):
            continue
        if (own, name) in UPWARD:
            assert not at_top, f"{written} may be imported only inside a function"
            continue
        if own in ORDERED and name in ORDERED:
            assert ORDERED.index(name) > ORDERED.index(own), f"{own} imports {written}"
            continue
        assert layer(name) > layer(own), f"{own} imports {written}, which is not below it"
        assert not (own in PURE and name in IMPURE), f"{own} imports {written}: estimators know no trace"


def test_public_names_are_not_modules() -> None:
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert not modules & set(tracestat.__all__)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, tracestat; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numpy", "scipy", "polars", "duckdb", "pandas", "lifelines", "altair", "typer", "pyarrow"} & set(loaded)
