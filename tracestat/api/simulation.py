"""``simulate run``: one configuration, many seeds, policies beside LRU and the oracle on the same seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

from tracestat.api.common import Progress, TraceLike, as_trace, head_of
from tracestat.api.simulation_inputs import Prepared, prepare, workload_key
from tracestat.api.simulation_runs import Played, Task, play
from tracestat.api.simulation_summary import BASE, ORACLE, Shared, simulated_policies, waiting_ratio
from tracestat.charts.words import counted
from tracestat.durations.sequence import session_sequence
from tracestat.errors import UsageError
from tracestat.results import SimulationResult
from tracestat.simulate.configurations import Configuration, changed_hardware
from tracestat.simulate.runs import RUN_COLUMNS

if TYPE_CHECKING:
    import polars as pl

    from tracestat.api.simulate_workload import SimulationWorkload
    from tracestat.constants import Constants
    from tracestat.hardware import Hardware
    from tracestat.store import Trace

__all__ = ["DEFAULT_POLICIES", "run_simulation"]

DEFAULT_POLICIES: Final = ("P2", "P3", "P4-D")
_MOST_SEEDS: Final = 10_000
_MOST_GB: Final = 1e6
_FEW_SEEDS: Final = 30
_FEW_WAIT: Final = 0.1  # requests on average
_GB: Final = 1e9
_CHANGES: Final = "sessions as workload of a simulated server, by tracestat: a row per simulated request"


def run_simulation(
    trace: TraceLike,
    policies: str | Sequence[str] = DEFAULT_POLICIES,
    *,
    seeds: int = 5,
    constants: str | Path | Constants | None = None,
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    requests: str | Path | None = None,
    licence: str | None = None,
    attribution: str | None = None,
    jobs: int = 2,
    progress: Progress | None = None,
    **configuration: Any,
) -> SimulationResult:
    """Simulate what policies of paused caches do to the wait for the first token after a tool.

    One GPU server with continuous batching, a host tier and one link serves the sessions of a trace in a closed loop;
    `tracestat.simulate.run` states the model. P1 (LRU and a host tier) and the oracle P5-B always run beside the
    policies asked, on the same seeds.

    Parameters
    ----------
    trace : Trace, str or Path
    policies : str or sequence of str
        Ids, or ``FILE.py:FUNCTION``; one text may hold several, parted by commas.
    seeds : int
        Seeds 0 to that less one.
    constants : str, Path or Constants, optional
        What policies know: a file of ``export constants``. Without one they learn from the earlier half of the
        sessions, and the later half is played.
    where, since, until, tz : str, optional
        Which sessions: conditions on provider, developer, project, session and ``started_at``.
    requests : str or Path, optional
        A ``.parquet`` to write every request of every policy and seed to.
    licence, attribution : str, optional
        Of the source, for that file, where it is not known.
    jobs : int
        Processes at most. The answer does not depend on it.
    progress : callable, optional
        Called with (parts done, parts in all).
    **configuration
        Fields of `tracestat.simulate.configurations.Configuration`: ``load`` (8 sessions at once per unit),
        ``host_gb``, ``hardware``, ``scale_context``, ``human_gap``, ``hours``, ``warmup_s``, ``eta`` and others.

    Returns
    -------
    SimulationResult
        A group per policy; ``to_frame()`` gives a row per policy and seed.

    Raises
    ------
    UsageError
        No such policy, machine, field or choice, or a number out of range.
    TracestatError
        No session to play, a file that cannot be read or written, a policy that fails.

    Notes
    -----
    Intervals are percentile bootstrap intervals over seeds, ratios are paired by seed; below 5 seeds there are none.

    Examples
    --------
    What policies know is left out here: P2-R reads nothing of it.

    >>> import tracestat
    >>> from tracestat.constants import Constants
    >>> nothing = Constants(tracestat.load_hardware(), None)
    >>> with tracestat.open() as trace:
    ...     result = tracestat.run_simulation(
    ...         trace, "P2-R", constants=nothing, seeds=1, load=1, hours=0.05, warmup_s=30, jobs=1)
    >>> [group.policy for group in result.groups], result.sessions
    (['P1', 'P2-R', 'P5-B'], 8)
    """
    names = _policies(policies)
    base = _configuration(configuration)
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= _MOST_SEEDS:
        raise UsageError(f"--seeds {seeds}: give 1 to {_MOST_SEEDS:,}; N runs the seeds 0 to N - 1")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f"--jobs {jobs}: give 1 or more processes")
    if requests is not None:
        from tracestat.export.durations import check_ending

        check_ending(Path(requests))
    opened = as_trace(trace)
    configurations = [replace(base, policy=name) for name in names]
    tasks = [Task(one, seed) for seed in range(seeds) for one in configurations]
    told = _Told(progress, len(tasks))
    chosen: dict[str, str | None] = {"where": where, "since": since, "until": until, "tz": tz}
    prepared = prepare(opened, configurations, constants=constants, progress=told.prepared, **chosen)
    machine = prepared.machines[base.hardware]
    workload = prepared.workloads[workload_key(base, machine)]
    as_run = changed_hardware(base, machine)
    labels = {name: _label(name) for name in names}
    shown = {**asdict(base), "hardware": machine.id}
    del shown["policy"]
    rows: list[Mapping[str, Any]] = []
    with _requests_to(requests, opened, workload, base, shown, prepared, licence, attribution) as write:
        for played in play(
            tasks, prepared.inputs(base), machine, jobs=jobs, with_requests=requests is not None
        ):  # in the order of the tasks
            policy = labels[played.task.configuration.policy]
            rows.append({**played.row, "policy": policy, "hardware": machine.id})
            write(policy, played)
            told.ran(len(rows))
    frame, selection = session_sequence(opened, by=None, **chosen)
    runs = _frame(rows)
    ratio, stable = waiting_ratio(runs)
    host_bytes = int(base.host_gb * _GB)
    shared = Shared(base.load, host_bytes, seeds, workload.counts.recorded_sessions, _developers(frame, workload))
    notes = _notes(prepared, workload, as_run, base, names, seeds, stable=stable, waiting=_waiting(runs))
    return SimulationResult(
        replace(head_of(opened, selection, "simulate_run", notes=notes), unit="pause", clock="wall"),
        hardware=machine.id,
        kv_bytes_per_token=as_run.kv_bytes_per_token,
        pool_tokens=as_run.pool_tokens,
        sessions=base.slots,
        load=float(base.load),
        hours=float(base.hours),
        warmup_seconds=float(base.warmup_s),
        host_bytes=host_bytes,
        seeds=seeds,
        configuration=shown,
        context_scale=workload.context_scale,
        mean_context=workload.mean_context,
        contexts_over_pool=base.slots * workload.mean_context / as_run.pool_tokens,
        constants_from=prepared.constants_from,
        same_trace=prepared.same_trace,
        counts=asdict(workload.counts),
        waiting_ratio=ratio,
        stable=stable,
        groups=simulated_policies(runs, labels.values(), shared),
        runs=runs,
    )


class _Told:
    """One progress for what is made ready and for the runs."""

    def __init__(self, progress: Progress | None, n_runs: int) -> None:
        self._progress, self._n_runs, self._parts = progress, n_runs, 0

    def prepared(self, done: int, total: int) -> None:
        self._parts = total
        if self._progress is not None:
            self._progress(done, total + self._n_runs)

    def ran(self, done: int) -> None:
        if self._progress is not None:
            self._progress(self._parts + done, self._parts + self._n_runs)


def _policies(given: str | Sequence[str]) -> list[str]:
    """Give P1, the policies asked and the oracle, each once."""
    texts = [given] if isinstance(given, str) else list(given)
    asked = [name.strip() for text in texts for name in text.split(",")]
    if not all(asked) or not asked:
        raise UsageError("--policy: an empty name; give ids, as P2,P3, or FILE.py:FUNCTION")
    names = list(dict.fromkeys([BASE, *asked]))
    names = [name for name in names if name != ORACLE] + [ORACLE]
    labels = [_label(name) for name in names]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"--policy {twice}: two files of this name; give one another name")
    return names


def _label(policy: str) -> str:
    """Give the base name of a file: its folder can tell whose machine this is."""
    place, colon, function = policy.rpartition(":")
    return f"{Path(place).name}{colon}{function}" if colon else policy


def _configuration(values: Mapping[str, Any]) -> Configuration:
    """Give a configuration, each value of the kind that its field says.

    Raises
    ------
    UsageError
        No such field, or a value of another kind.
    """
    hints = get_type_hints(Configuration)
    known = [f.name for f in fields(Configuration) if f.name != "policy"]
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"{name}: no such setting of a simulation; there are {', '.join(known)}")
        if not _fits(value, hints[name]):
            raise UsageError(f"{name} {value}: give {_said(hints[name])}")
    made = Configuration(**values)
    if not made.host_gb <= _MOST_GB:
        raise UsageError(f"host-gb {made.host_gb:g}: give at most {_MOST_GB:,.0f}")
    if made.eta is not None and not -1 <= made.eta <= 1:
        raise UsageError(f"eta {made.eta:g}: give a correlation, -1 to 1")
    return made


def _fits(value: Any, hint: Any) -> bool:
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return value in parts
    if parts:
        return any(_fits(value, part) for part in parts)
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    return isinstance(value, int | float) if hint is float else isinstance(value, hint)


def _said(hint: Any) -> str:
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return " or ".join(map(str, parts))
    if parts:
        return " or ".join(_said(part) for part in parts)
    return {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}.get(hint, "none")


@contextmanager
def _requests_to(
    path: str | Path | None,
    trace: Trace,
    workload: SimulationWorkload,
    configuration: Configuration,
    shown: Mapping[str, Any],
    prepared: Prepared,
    licence: str | None,
    attribution: str | None,
) -> Iterator[Callable[[str, Played], None]]:
    """Give what takes the requests of each run; nothing where none are asked for."""
    if path is None:
        yield lambda _policy, _played: None
        return
    from tracestat.export.attribution import attribution_of
    from tracestat.export.simulated_requests import RequestSource, writing_requests

    about = attribution_of(trace, _CHANGES, licence=licence, attribution=attribution)
    source = RequestSource(
        workload.with_exact_deadlines, workload.session_pk, workload.round_pk, configuration.warmup_s
    )
    made = {"configuration": shown, "constants_from": prepared.constants_from, "context_scale": workload.context_scale}
    with writing_requests(Path(path), source, about, made) as write:

        def take(policy: str, played: Played) -> None:
            assert played.requests is not None  # noqa: S101  asked for above
            write(policy, played.task.seed, played.requests)

        yield take


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Give the table of runs, in the columns and types that all such tables have."""
    import polars as pl

    kinds: dict[type, type[pl.DataType]] = {str: pl.String, float: pl.Float64, int: pl.Int64, bool: pl.Boolean}
    schema = {name: kinds[kind] for name, kind in RUN_COLUMNS.items()}
    return pl.DataFrame([dict(row) for row in rows], schema=schema, strict=False)


def _waiting(runs: pl.DataFrame) -> tuple[float, float]:
    """Give the mean numbers waiting under P1 in the halves of the window, mean over the seeds."""
    import polars as pl

    base = runs.filter(pl.col("policy") == BASE)
    first, second = (base[f"waiting_{half}_mean"].fill_null(0.0).to_numpy().mean() for half in ("first", "second"))
    return float(first), float(second)


def _developers(frame: pl.DataFrame, workload: SimulationWorkload) -> int:
    import polars as pl

    played = frame.filter(pl.col("session_pk").is_in(workload.session_pk.tolist()))
    return int(played["developer"].n_unique())


def _notes(
    prepared: Prepared,
    workload: SimulationWorkload,
    machine: Hardware,
    configuration: Configuration,
    policies: Sequence[str],
    seeds: int,
    *,
    stable: bool,
    waiting: tuple[float, float],
) -> list[str]:
    """Say what the numbers do not show."""
    notes = [*prepared.notes, *workload.notes]
    counts = workload.counts
    if counts.outputs_raised:
        notes.append(f"{counted(counts.outputs_raised, 'output')} of less than one token counted as one")
    if counts.sessions < configuration.slots:
        notes.append(
            f"{counted(counts.sessions, 'session')} for {configuration.slots:,} at once: the same ones are live in "
            "several places, each with a cache of its own"
        )
    if machine.estimate:
        notes.append(f"constants of {machine.id} are in part estimates from specifications")
    bounds = [name for name in policies if name in ("P4-D", "P5", "P5-B")]
    notes.append(
        f"{', '.join(bounds)} know{'s' if len(bounds) == 1 else ''} when a pause ends: a bound, not something to deploy"
    )
    if "P6" in policies:
        notes.append("P6 plans from reports of progress that are drawn, not recorded: half of its tool pauses over 2 s")
    if prepared.constants.workload is not None and prepared.constants.workload.origin.synthetic:
        notes.append("what policies know comes from an invented trace")
    if seeds < _FEW_SEEDS:
        notes.append(
            f"{counted(seeds, 'seed')}: the p99 of few seeds decides nothing, since seeds alone move it by factors; "
            "for a claim give --seeds 100"
        )
    if not stable:
        first, second = waiting
        notes.append(
            "not stable by the rule: under P1 over half as many again wait in the second half of the window as in the "
            f"first, in more than 5 % of the seeds ({first:.2g} and {second:.2g} requests on average)"
            + ("; so few wait that it says little" if second < _FEW_WAIT else ": numbers are of how far the queue got")
        )
    notes.append(
        "one GPU, one model, one host tier behind one link; nothing is said of several GPUs, of remote tiers, or of "
        "prediction for scheduling and admission"
    )
    return notes
