"""Published figures beside ours: by hand on small traces, sums on the sample, and what other commands print."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import tracestat
from tests.traces import call, round_
from tracestat.api import reproduce as module
from tracestat.api.answers import Question, Source, answer_of
from tracestat.cli import main
from tracestat.errors import UsageError
from tracestat.published import load_published, number_at
from tracestat.results import ReproducedFigure, ReproduceResult
from tracestat.store import open_store

TRACELAB = {"definition": "tracelab"}
PAUSES = {"unit": "pause", "clock": "wall", "rows": "all"}


@pytest.fixture(scope="module")
def sample() -> Iterator[tracestat.Trace]:
    with tracestat.open() as trace:
        yield trace


@pytest.fixture(scope="module")
def whole(sample: tracestat.Trace) -> ReproduceResult:
    return tracestat.reproduce(sample, source="all")


@pytest.fixture(scope="module")
def rows(whole: ReproduceResult) -> dict[str, ReproducedFigure]:
    return {row.id: row for row in whole.rows}


def known(row: ReproducedFigure) -> float:
    assert row.ours.value is not None, (row.id, row.why)
    return row.ours.value


def test_every_published_number_has_a_row(whole: ReproduceResult) -> None:
    assert [row.id for row in whole.rows] == [figure.id for figure in load_published().figures]
    assert whole.release is None
    assert whole.not_shown == {}
    for row in whole.rows:
        assert row.verdict in ("higher", "lower", "overlaps", "cannot tell"), row.id
        assert (row.ours.value is None) == (row.verdict == "cannot tell"), row.id
        assert bool(row.why) == (row.ours.value is None), row.id
        assert row.command.startswith("tracestat "), row.id


def test_what_an_answer_names_it_gives_or_says_why(whole: ReproduceResult) -> None:
    silent = [row for row in whole.rows if row.definition is not None and row.ours.value is None]
    # a synthetic trace of 120 sessions has no exec, shell_command or view of single executables; all else it answers
    assert len(silent) < 0.15 * sum(row.definition is not None for row in whole.rows)
    assert all("trace" in row.why or "few" in row.why or "spike" in row.why for row in silent)


def test_the_range_holds_ours_and_the_nearest(whole: ReproduceResult) -> None:
    for row in whole.rows:
        if row.ours.value is None:
            continue
        assert row.range is not None, row.id
        assert row.range[0] <= row.ours.value <= row.range[1], row.id
        assert row.nearest is not None, row.id
        assert row.range[0] <= row.nearest <= row.range[1], row.id
        assert row.by_definition[0] == (row.definition, row.ours.value), row.id


def test_intervals_hold_their_estimate(whole: ReproduceResult) -> None:
    with_bounds = 0
    for row in whole.rows:
        ours = row.ours
        if ours.value is None or ours.low is None or ours.high is None:
            continue
        with_bounds += 1
        assert ours.low - 1e-9 * abs(ours.value) <= ours.value <= ours.high + 1e-9 * abs(ours.value), row.id
        if row.unit == "fraction":
            assert 0 <= ours.low <= ours.high <= 1, row.id
    assert with_bounds > 200


def test_shares_and_hours_add_up(rows: Mapping[str, ReproducedFigure]) -> None:
    bins = ("lt1s", "1_10s", "10s_1m", "gt1m")
    for part in ("calls", "time"):
        assert sum(known(rows[f"v2.bin.{name}.merged.{part}"]) for name in bins) == pytest.approx(1)
    names = ("Execute command", "File write/edit", "File read/search", "Agent/task", "Web/remote/lookup", "Other")
    assert sum(known(rows[f"v2.cat.{name}.calls"]) for name in names) == pytest.approx(1)
    hours = [known(rows[f"v2.cat.{n}.hours"]) for n in names if f"v2.cat.{n}.hours" in rows and n != "File write/edit"]
    total = known(rows["v2.hours.claude"]) + known(rows["v2.hours.codex"])
    assert 0.5 * total < sum(hours) < total
    for provider in ("claude", "codex"):
        assert known(rows[f"v2.tool_calls.prov.{provider}.calls"]) >= known(
            rows[f"v2.tool_calls.prov.{provider}.timed"]
        )
    assert known(rows["v2.tool_calls"]) == sum(
        known(rows[f"v2.tool_calls.prov.{p}.calls"]) for p in ("claude", "codex")
    )


def test_the_same_question_has_the_same_answer(rows: Mapping[str, ReproducedFigure]) -> None:
    assert known(rows["v1.sessions"]) == known(rows["v2.sessions"]) == known(rows["article.sessions.sessions"])
    assert known(rows["v1.tool_q.p90"]) == known(rows["v2.tool_q.p90"])
    # one in seconds, one in milliseconds of the same durations
    assert known(rows["cont.swe.tool"]) == known(rows["cont.bfcl.tool"])


def printed(
    row: ReproducedFigure, documents: dict[str, Any], capsys: pytest.CaptureFixture[str], trace: Path | None
) -> float | None:
    """Run the command of a row, and give the number it prints."""
    if row.command not in documents:
        arguments = shlex.split(row.command)[1:]
        if trace is not None:
            arguments = [str(trace) if part == trace.name else part for part in arguments]
        capsys.readouterr()
        assert main([*arguments, "--quiet"]) == 0, row.command
        documents[row.command] = json.loads(capsys.readouterr().out)
    found = number_at(documents[row.command], row.at)
    return None if found is None else found * row.times


# of each command some
SAMPLED = (
    *("v1.rounds.codex", "v1.bin.1_10s.merged.time", "v1.p50.Read.claude", "v2.hours.claude", "article.approval"),
    *("article.lt1s", "article.gt1m.time", "article.mrl.25", "article.hazard_slope.steepest", "article.eta"),
    *("article.deadline_share.codex", "v1.codexgap.share"),
)


def test_commands_print_the_number(rows: Mapping[str, ReproducedFigure], capsys: pytest.CaptureFixture[str]) -> None:
    documents: dict[str, Any] = {}
    for name in SAMPLED:
        assert printed(rows[name], documents, capsys, None) == pytest.approx(known(rows[name]), rel=1e-9), name
    assert len({command.split()[1] for command in documents}) >= 6


def test_every_command_parses(whole: ReproduceResult) -> None:
    import typer.main

    from tracestat.cli.app import app

    group: Any = typer.main.get_command(app)
    for command in {row.command for row in whole.rows}:
        _, name, *arguments = shlex.split(command)
        found = group.commands[name]
        found.make_context(name, arguments, resilient_parsing=False).close()


def small(store_of: Callable[..., Any]) -> tracestat.Trace:
    """Two Claude sessions of two developers and one of Codex, of known durations."""
    claude = [
        round_("a", 0, [call("a0", 0, 0.5, "Read")], text=0),
        round_("a", 1, [call("a1", 10, 110, "Bash")], text=10),
        round_("a", 2, [call("a2", 200, 500, "AskUserQuestion")], text=200),
        round_("b", 0, [call("b0", 0, 2, "Bash")], text=0, user="user_00000002"),
        round_("b", 1, [call("b1", 10, 10, "Read")], text=10, user="user_00000002"),
    ]
    codex = [
        round_("c", 0, [call("c0", 0, 30.1, "exec_command", command_status="running")], text=0, provider="codex"),
        round_("c", 1, [call("c1", 40, 41, "exec_command", command_status="finished")], text=40, provider="codex"),
    ]
    trace: tracestat.Trace = store_of([*claude, *codex])
    return trace


def ask(
    trace: tracestat.Trace, name: str, choices: Mapping[str, Any], provider: str, **parameters: Any
) -> float | None:
    question = Question(parameters, choices, provider, interval=True)
    with_bounds = answer_of(Source(trace), name, question).value.value
    without = answer_of(Source(trace), name, Question(parameters, choices, provider, interval=False)).value.value
    assert with_bounds == pytest.approx(without, rel=1e-12)
    return with_bounds


def test_answers_by_hand(store_of: Callable[..., Any]) -> None:
    trace = small(store_of)
    # positive Claude calls: 0.5, 100, 300 and 2 s
    assert ask(trace, "latency.share_of_calls", TRACELAB, "claude", below=1) == pytest.approx(1 / 4)
    assert ask(trace, "latency.share_of_calls", TRACELAB, "claude", above=1, below=10) == pytest.approx(1 / 4)
    assert ask(trace, "latency.share_of_calls", TRACELAB, "claude", over=60) == pytest.approx(1 / 2)
    assert ask(trace, "latency.share_of_time", TRACELAB, "claude", over=60) == pytest.approx(400 / 402.5)
    assert ask(trace, "latency.mean", TRACELAB, "claude") == pytest.approx(402.5 / 4)
    assert ask(trace, "latency.quantile", TRACELAB, "claude", q=0.5) == pytest.approx(51)
    assert ask(trace, "latency.hours", TRACELAB, "claude", tool="Bash") == pytest.approx(102)
    approvals = ("AskUserQuestion", "ExitPlanMode")
    assert ask(trace, "latency.tools_share_of_time", TRACELAB, "claude", tools=approvals) == pytest.approx(300 / 402.5)
    # pauses keep the zero: 0, 0.5, 2, 100, 300
    assert ask(trace, "latency.share_of_calls", PAUSES, "claude", within=1) == pytest.approx(2 / 5)
    assert ask(trace, "latency.quantile", PAUSES, "claude", q=0.5) == pytest.approx(2)
    assert ask(trace, "law.deadline_share", {"unit": "pause", "rows": "tool"}, "codex") == pytest.approx(1 / 2)
    assert ask(trace, "latency.category_share_of_calls", {}, "all", category="execute") == pytest.approx(4 / 7)


def test_counts_by_hand(store_of: Callable[..., Any]) -> None:
    trace = small(store_of)
    kept = {"copies": "kept"}
    for what, expected in (("rounds", 7), ("tool_calls", 7), ("sessions", 3), ("developers", 2), ("multi_round", 3)):
        assert ask(trace, "counts.total", kept, "all", what=what) == expected
    assert ask(trace, "counts.total", kept, "claude", what="tools") == 3
    assert ask(trace, "counts.calls_of", kept, "claude", tool="Bash") == 2
    assert ask(trace, "counts.top_tools", kept, "claude", tools=1) == pytest.approx(2 / 5)
    assert answer_of(Source(trace), "counts.calls_of", Question({"tool": "exec"}, kept, "codex", True)).why


def test_a_copied_session_counts_once_where_copies_are_dropped(store_of: Callable[..., Any]) -> None:
    first = [round_("a", i, [call(f"x{i}", 10 * i, 10 * i + 1)], text=10 * i, round_id=f"r{i}") for i in range(3)]
    copy = [{**row, "session_id": "claude:copy", "trace_key": f"claude:copy:{i}"} for i, row in enumerate(first)]
    trace = store_of([*first, *copy])
    for copies, expected in (("kept", 6), ("dropped", 3)):
        for what in ("rounds", "tool_calls", "timed_calls"):
            assert ask(trace, "counts.total", {"copies": copies}, "all", what=what) == expected, (copies, what)


def test_sessions_and_developers_with_nothing_but_copies_do_not_count_where_copies_are_dropped(
    store_of: Callable[..., Any],
) -> None:
    first = [round_("a", i, [call(f"x{i}", 10 * i, 10 * i + 1)], text=10 * i, round_id=f"r{i}") for i in range(3)]
    copy = [
        {**row, "session_id": "claude:copy", "user": "user_2", "trace_key": f"copy:{i}"} for i, row in enumerate(first)
    ]
    grown = [
        {**row, "session_id": "claude:grown", "user": "user_3", "trace_key": f"grown:{i}"}
        for i, row in enumerate(first)
    ]
    more = round_("grown", 3, [call("x3", 40, 41)], text=40, round_id="r3")
    trace = store_of([*first, *copy, *grown, {**more, "session_id": "claude:grown", "user": "user_3"}])
    for what, kept, dropped in (("sessions", 3, 2), ("developers", 3, 2), ("multi_round", 3, 1), ("rounds", 10, 4)):
        assert ask(trace, "counts.total", {"copies": "kept"}, "all", what=what) == kept, what
        assert ask(trace, "counts.total", {"copies": "dropped"}, "all", what=what) == dropped, what


def test_nothing_is_written_beside_the_answer(sample: tracestat.Trace, capfd: pytest.CaptureFixture[str]) -> None:
    tracestat.reproduce(sample, only="v1.top3")
    assert capfd.readouterr() == ("", "")


def test_a_trace_of_one_provider_says_what_it_has_not(store_of: Callable[..., Any]) -> None:
    trace = store_of([round_("a", 0, [call("a0", 0, 0.5, "Read")], text=0)])
    result = tracestat.reproduce(trace)
    codex = [row for row in result.rows if row.provider == "codex" and row.definition is not None]
    assert codex
    assert all(row.verdict == "cannot tell" and row.why for row in codex)
    assert all(row.verdict != "cannot tell" for row in result.rows if row.id == "article.calls")


def test_agreement_is_only_said_of_the_release(
    sample: tracestat.Trace, rows: Mapping[str, ReproducedFigure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "known_release", lambda _: "v0.0.2")
    result = tracestat.reproduce(sample, only="v2.bin")
    assert result.release == "v0.0.2"
    assert {row.verdict for row in result.rows} <= {"agrees", "differs"}
    for row in result.rows:
        assert row.published_low is not None
        assert row.published_high is not None
        inside = row.published_low <= known(row) <= row.published_high
        assert row.verdict == ("agrees" if inside else "differs")
    other = tracestat.reproduce(sample, only="v1.bin")
    assert {row.verdict for row in other.rows} <= {"higher", "lower", "overlaps"}
    assert all("v0.0.1" in row.why and "v0.0.2" in row.why for row in other.rows)


def test_choices(sample: tracestat.Trace) -> None:
    result = tracestat.reproduce(sample, only="article.mrl")
    assert {row.of for row in result.rows} == {"article.mrl.4", "article.mrl.25", "article.mrl.146"}
    assert {row.origin for row in tracestat.reproduce(sample, only="copilot", source="others").rows} == {"others"}
    with pytest.raises(UsageError, match="no published figure"):
        tracestat.reproduce(sample, only="nothing")
    with pytest.raises(UsageError, match=r"--only v1 --source article: .* of tracelab; .* --source tracelab"):
        tracestat.reproduce(sample, only="v1", source="article")
    with pytest.raises(UsageError, match=r"--only v3: no published figure .* ids begin with article$"):
        tracestat.reproduce(sample, only="v3", source="article")
    with pytest.raises(UsageError, match="not known"):
        tracestat.reproduce(sample, source="rumour")  # type: ignore[arg-type]


def test_frame_and_json(whole: ReproduceResult) -> None:
    frame = whole.to_frame()
    assert frame.height == len(whole.rows)
    assert frame["synthetic"].all()
    document: Any = whole.to_dict()
    assert len(document["rows"]) == len(whole.rows)
    assert document["schema"] == "tracestat.reproduce/1"
    json.dumps(document, allow_nan=False)


@pytest.mark.full
def test_no_digit_depends_on_threads(real_trace: Path) -> None:
    with tracestat.open(real_trace) as trace:
        path = trace.path
    told = set()
    for threads in (1, 2, 4):
        with open_store(path, threads=threads) as trace:
            asked = ("v1.Bash", "article.approval", "cont.swe.tool", "weka.toolgap.derived", "weka.toolgap.tail")
            parts = [tracestat.reproduce(trace, only=only).rows for only in asked]
            told.add(json.dumps([dataclasses.asdict(row) for rows in parts for row in rows]))
    assert len(told) == 1


# of the real trace a dozen, beside what other commands print
REAL = (
    *("v1.rounds", "v1.sessions", "v1.users", "v1.p50.Bash.claude", "v1.hours.claude", "v1.pct_gt1m.claude"),
    *("v1.bin.10s_1m.merged.calls", "article.lt1s", "article.gt1m.calls", "article.gt1m.time", "article.mrl.4"),
    *("article.deadline_share.codex", "v2.codex_toolgap.p90"),
)


def test_the_real_trace_gives_what_other_commands_give(real_trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, ReproducedFigure] = {}
    with tracestat.open(real_trace) as trace:
        for name in REAL:
            if name not in found:
                found |= {row.id: row for row in tracestat.reproduce(trace, only=name).rows}
    documents: dict[str, Any] = {}
    for name in REAL:
        assert printed(found[name], documents, capsys, real_trace) == pytest.approx(known(found[name]), rel=1e-9), name
    values = {name: found[name].ours.value for name in REAL}
    assert values["v1.rounds"] == 29_916
    assert values["v1.sessions"] == 545
    assert values["v1.users"] == 37
    assert values["v1.p50.Bash.claude"] == pytest.approx(2363.5)
    assert values["article.lt1s"] == pytest.approx(0.64935, abs=5e-5)
    assert values["article.deadline_share.codex"] == pytest.approx(419 / 3771)
    assert values["article.mrl.4"] == pytest.approx(59.6, abs=0.05)
