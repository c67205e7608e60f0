"""The budgets of a forecast: to fit and judge one at the published size, its file, and what a question costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

__all__ = ["forecast_budgets"]

Row = tuple[str, str, str, str]
Measure = Callable[..., dict[str, float]]

# the program sets the first before anything loads numpy
_WHOLE = """
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import tracestat
begin = time.perf_counter()
model = tracestat.fit_forecast(sys.argv[1])
fitted = time.perf_counter()
tracestat.save_forecast(model, sys.argv[2])
size = os.path.getsize(sys.argv[2])
saved = time.perf_counter()
del model
result = tracestat.evaluate_forecast(sys.argv[1], split="both")
judged = time.perf_counter()
rows = sum(count.train_rows + count.rows for count in result.counts if count.split == "time")
extra = {"fit": fitted - begin, "evaluate": judged - saved, "bytes": size, "rows": rows}
"""

# one hierarchy by our fit, and the same keys by a curve of lifelines each, which borrow nothing from one another
_ONE_FIT = """
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import tracestat
from lifelines import KaplanMeierFitter
from tracestat.api.forecast_rows import provider_grid
from tracestat.api.forecast_rows import rows_by_provider
from tracestat.durations import select
from tracestat.forecast.keys import PATHS
from tracestat.forecast.tree import fit_tree
trace = tracestat.open(sys.argv[1])
provider, rows = max(rows_by_provider(trace, select(trace), PATHS[0]).items(), key=lambda item: item[1].size)
begin = time.perf_counter()
tree = fit_tree(rows, PATHS[0], provider_grid(provider))
ours = time.perf_counter() - begin
place = tree.place(rows)
keys = np.unique(place)
some = keys[:: max(1, keys.size // 200)]
begin = time.perf_counter()
for key in some:
    of_key = place == key
    KaplanMeierFitter().fit(rows.seconds[of_key], rows.observed[of_key])
lifelines = (time.perf_counter() - begin) / some.size * keys.size
extra = {"ours": ours, "lifelines": lifelines, "keys": int(keys.size), "rows": rows.size}
"""

# a question is a pause of the trace: its keys, what came before it, and a wait of its own
_QUESTIONS = """
import os
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import polars as pl
import tracestat
from tracestat.durations import select
from tracestat.durations.forecast import forecast_rows
model = tracestat.load_forecast(sys.argv[1])
provider = "claude" if "claude" in model.providers else next(iter(model.providers))
keys = list(dict.fromkeys(key for path in model.providers[provider].paths for key in path.keys))
with tracestat.open(sys.argv[2]) as trace:
    rows = forecast_rows(trace, select(trace, where=f"provider = '{provider}'")).select(keys)
n, n_loop = 1_000_000, 100
columns = rows.sample(n, with_replacement=True, seed=0)
forecaster = tracestat.Forecaster(model, provider)
rng = np.random.default_rng(0)
elapsed = rng.exponential(10.0, n)
begin = time.perf_counter()
forecaster.batch(columns, elapsed=elapsed, p=0.9)
batch = time.perf_counter() - begin
questions = columns.head(n_loop).to_dicts()
begin = time.perf_counter()
for question, waited in zip(questions, elapsed):
    tracestat.predict_remaining(model, question, elapsed=float(waited), provider=provider)
loop = (time.perf_counter() - begin) / n_loop
forecaster.remaining(questions[0], 5.0).quantile(0.9)
begin = time.perf_counter()
for _ in range(2_000):
    forecaster.remaining(questions[0], 5.0).quantile(0.9)
repeated = (time.perf_counter() - begin) / 2_000
extra = {"batch": n / batch, "loop": 1 / loop, "repeated": repeated}
"""


def forecast_budgets(measure: Measure, store: Path, folder: Path) -> list[Row]:
    """Measure on a built store.

    Parameters
    ----------
    measure : callable
        Runs a text as a program of its own and gives its seconds, its peak memory and what it adds to them.
    store, folder : Path
        The trace, and where the model may be written.

    Returns
    -------
    list of tuple of str
        What was measured, the figure, against what, and the budget.
    """
    model = folder / "model.parquet"
    whole = measure(_WHOLE, store, model)
    one = measure(_ONE_FIT, store)
    asked = measure(_QUESTIONS, model, store)
    return [
        (
            f"`forecast fit` + `evaluate`, both splits, {whole['rows']:,} pauses",
            f"{whole['fit']:.1f} s + {whole['evaluate']:.1f} s",
            f"{whole['kib'] / 1024:,.0f} MiB",
            "30 s, 2,048 MiB",
        ),
        (
            f"one hierarchy, {one['rows']:,} pauses, {one['keys']:,} keys",
            f"{one['ours']:.2f} s",
            f"a lifelines curve per key {one['lifelines']:,.0f} s (200 keys, scaled): "
            f"{one['lifelines'] / one['ours']:,.0f} times faster",
            "",
        ),
        ("a model's file", f"{whole['bytes'] / 1e6:.1f} MB", "", "a few MB"),
        (
            "1,000,000 questions at once",
            f"{asked['batch']:,.0f}/s",
            f"one by one {asked['loop']:,.0f}/s: {asked['batch'] / asked['loop']:,.0f} times faster",
            "1,000,000/s",
        ),
        ("a question whose key came before", f"{asked['repeated'] * 1e6:.0f} us", "", "100 us"),
    ]
