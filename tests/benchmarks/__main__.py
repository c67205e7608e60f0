"""Measure the budgets: ``python -m tests.benchmarks``, then put the table it prints into the README.

Every figure is a ratio, or a difference, of two things measured in this one run against a named baseline. Nothing
here passes or fails: a slow machine makes both sides slow.

    python -m tests.benchmarks                  the published size (665,000 rounds)
    python -m tests.benchmarks --tenfold        also ten times that, for the memory (12 GB of disk, some minutes)
    python -m tests.benchmarks --scale 0.05     a quick look
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.forecast import forecast_budgets
from tests.benchmarks.raw_logs import write_raw_logs

# One process per measurement: what it prints last is its own wall time in seconds and peak memory in KiB. The peak is
# VmHWM, which begins anew with the program; ru_maxrss would count what this process held when it forked.
_FRAME = """
import sys, time, json
from pathlib import Path
start = time.perf_counter()
{body}
seconds = time.perf_counter() - start
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps({{"seconds": seconds, "kib": int(peak.split()[1]), **extra}}))
"""

_HELP = """
import subprocess
extra = {}
subprocess.run([sys.executable, "-m", "tracestat", "--help"], check=True, stdout=subprocess.DEVNULL)
"""

_NOTHING = """
import subprocess
extra = {}
subprocess.run([sys.executable, "-c", "import typer"], check=True)
"""

# three passes, one thread, every type inferred from the whole file: what one gets without knowing the format. The
# tables carry the keys by which they join, as TraceLab's do.
_INGEST_BASELINE = """
import duckdb
extra = {}
con = duckdb.connect(sys.argv[2], config={"threads": "1"})
rows = "read_json($path, format = 'newline_delimited', sample_size = -1)"
source = "(SELECT row_number() OVER () AS round_pk, * FROM " + rows + ")"
for table, columns in (
    ("rounds", "* EXCLUDE (tools, timing_events)"),
    ("tool_calls", "round_pk, unnest(tools, recursive := true)"),
    (
        "timing_events",
        "round_pk, generate_subscripts(timing_events, 1) AS event_index, unnest(timing_events, recursive := true)",
    ),
):
    con.execute("CREATE TABLE " + table + " AS SELECT " + columns + " FROM " + source, {"path": sys.argv[1]})
con.close()
"""

_INGEST = """
from pathlib import Path
from tracestat.ingest import ingest
report = ingest([Path(sys.argv[1])], Path(sys.argv[2]))
extra = {"tables": {k: int(v) for k, v in report.tables.items()}}
"""

# processes that read the logs are counted with the largest of them
_RAW_LOGS = """
import resource
from tracestat.ingest import ingest
Path(sys.argv[2]).unlink(missing_ok=True)  # a store that is there would only be read on
report = ingest([Path(sys.argv[1])], Path(sys.argv[2]))
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
extra = {"children_kib": children, "calls": int(report.tables["tool_calls"])}
"""

# the program sets this before anything loads numpy
_HAZARD = """
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import duckdb, polars, scipy.optimize, typer
imported = time.perf_counter() - start
import contextlib, io
from tracestat.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert main(["hazard", sys.argv[1], "--by", "provider", "--quiet"]) == 0
extra = {"above_imports": time.perf_counter() - start - imported, "characters": len(out.getvalue())}
"""

_PER_KEY = """
import numpy as np
from tracestat.survival.bins import DEFAULT_EDGES
from tracestat.survival.exposure import cell_sums, exposure_from_exits
rng = np.random.default_rng(0)
n, n_keys = 744_000, 3_000
seconds_of = np.round(rng.weibull(0.4, n) * 3, 3)
key = rng.integers(0, n_keys, n)
events = np.ones(n, dtype=bool)
grid = (0.0, *DEFAULT_EDGES)
begin = time.perf_counter()
n_exit, n_event, sum_time = cell_sums(seconds_of, events, grid, clusters=key, n_clusters=n_keys)
exposure = exposure_from_exits(n_exit, sum_time, grid)
with np.errstate(divide="ignore", invalid="ignore"):
    hazard = n_event / exposure
ours = time.perf_counter() - begin
import warnings
from lifelines import PiecewiseExponentialFitter
begin = time.perf_counter()
for k in range(3):
    rows = seconds_of[key == k]
    rows = rows[rows > 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            PiecewiseExponentialFitter(breakpoints=list(DEFAULT_EDGES)).fit(rows)
        except Exception:
            pass  # it does not converge on 18 log bins; the time it takes to find that out is the measurement
lifelines = (time.perf_counter() - begin) / 3 * n_keys
extra = {"ours": ours, "lifelines": lifelines}
"""


def measure(body: str, *arguments: object) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    script = _FRAME.format(body=body)
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def best(body: str, *arguments: object, times: int = 3) -> dict[str, float]:
    """Repeat and keep the fastest."""
    return min((measure(body, *arguments) for _ in range(times)), key=lambda r: r["seconds"])


def synthetic(folder: Path, sessions: int) -> Path:
    """Write a trace of about 81 rounds per session, as the published one has; one that is there already serves."""
    from tracestat.synth import synth_trace

    path = folder / f"synthetic-{sessions}.jsonl"
    if not path.exists():
        synth_trace(path, sessions=sessions, seed=1, developers=52)
    return path


def raw_logs(folder: Path, megabytes: float) -> Path:
    """Write invented raw logs; a folder that is there already serves."""
    path = folder / f"raw-{megabytes:.0f}"
    return path if path.exists() else write_raw_logs(path, megabytes=megabytes, seed=1)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the published size (8,058 sessions)")
    parser.add_argument("--tenfold", action="store_true", help="measure memory at ten times that size too")
    parser.add_argument(
        "--folder", type=Path, help="keep the traces here, and use those that are there (default: a temporary folder)"
    )
    options = parser.parse_args()
    sessions = max(40, round(8058 * options.scale))
    rows: list[tuple[str, str, str, str]] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = options.folder or Path(name)
        helped, nothing = best(_HELP, times=5), best(_NOTHING, times=5)
        rows.append(
            ("`tracestat --help`", f"{helped['seconds']:.2f} s", f"`import typer` {nothing['seconds']:.2f} s", "0.25 s")
        )
        source = synthetic(folder, sessions)
        size = source.stat().st_size
        begin = time.perf_counter()
        with source.open("rb") as file:  # both sides find the file in the page cache
            while file.read(1 << 24):
                pass
        print(f"trace: {size / 1e6:,.0f} MB, read in {time.perf_counter() - begin:.1f} s", file=sys.stderr)
        store = Path(name) / "store.duckdb"
        ours = measure(_INGEST, source, store)
        baseline = measure(_INGEST_BASELINE, source, Path(name) / "baseline.duckdb")
        (Path(name) / "baseline.duckdb").unlink()
        rows.append(
            (
                f"ingest, {ours['tables']['rounds']:,} rounds, {ours['tables']['tool_calls']:,} calls, "  # type: ignore[index]
                f"{ours['tables']['timing_events']:,} events",  # type: ignore[index]
                f"{ours['seconds']:.1f} s",
                f"three inferring passes {baseline['seconds']:.1f} s: "
                f"{ours['seconds'] / baseline['seconds']:.2f} of it",
                "0.25 of it",
            )
        )
        rows.append(("the same, peak memory", f"{ours['kib'] / 1024:,.0f} MiB", "", "1,024 MiB"))
        logs = raw_logs(folder, megabytes=max(20.0, 1200 * options.scale))
        logs_bytes = sum(path.stat().st_size for path in logs.rglob("*.jsonl"))
        for path in logs.rglob("*.jsonl"):  # into the page cache
            path.read_bytes()
        raw = best(_RAW_LOGS, logs, Path(name) / "raw.duckdb")
        rows.append(
            (
                f"ingest of raw logs, {logs_bytes / 1e6:,.0f} MB, {raw['calls']:,} calls",
                f"{raw['seconds']:.1f} s: {logs_bytes / 1e6 / raw['seconds']:.0f} MB/s",
                f"{raw['kib'] / 1024:,.0f} MiB, and {raw['children_kib'] / 1024:,.0f} MiB in each reading process",
                "60 MB/s at least",
            )
        )
        hazard = best(_HAZARD, store)
        rows.append(
            (
                "`hazard --by provider`, 2,000 draws",
                f"{hazard['above_imports']:.2f} s",
                "above importing duckdb, polars, scipy.optimize, typer",
                "1.0 s",
            )
        )
        per_key = best(_PER_KEY)
        rows.append(
            (
                "hazards of 3,000 keys, 744,000 rows",
                f"{per_key['ours']:.3f} s",
                f"a lifelines loop {per_key['lifelines']:,.0f} s (3 keys, scaled): "
                f"{per_key['lifelines'] / per_key['ours']:,.0f} times faster",
                "0.1 s, 10,000 times",
            )
        )
        rows += forecast_budgets(measure, store, Path(name))
        if options.tenfold:
            store.unlink()
            large = synthetic(folder, 10 * sessions)
            tenfold = measure(_INGEST, large, store)
            rows.append(
                (
                    f"ingest at ten times the size ({large.stat().st_size / 1e9:.1f} GB)",
                    f"{tenfold['seconds']:.0f} s, {tenfold['kib'] / 1024:,.0f} MiB",
                    f"{tenfold['kib'] / ours['kib']:.2f} times the memory of the single size",
                    "1.5 times",
                )
            )
    print("| what | measured | against | at most |\n| --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
