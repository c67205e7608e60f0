"""``summary_section``: TraceLab's rules walked in plain Python on the real trace, and what an answer promises."""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracestat
from tests.conftest import corpus_path
from tracestat.durations.section_figures import TOTALS
from tracestat.errors import UsageError
from tracestat.store import open_store

OUTPUTS = ("text", "reasoning", "tool_call")
INPUTS = ("user_message", "tool_result")
SECTIONS = ("sessions", "cache", "commands")
# plain sums over the trace, and a maximum
SUMS = {total.name for totals in TOTALS.values() for total in totals} | {
    *("residual.calls", "residual.wall_hours", "residual.internal_hours", "residual.residual_hours"),
    "sessions.most_at_once",
}


@pytest.fixture(scope="module")
def real(real_trace: Path) -> Iterator[Any]:
    with tracestat.open(real_trace) as trace:
        yield trace


@pytest.fixture(scope="module")
def answers(real: Any) -> dict[str, Any]:
    return {section: tracestat.summary_section(real, section) for section in SECTIONS}


@pytest.fixture(scope="module")
def steps(real: Any) -> list[dict[str, Any]]:
    """Rounds in the order of the file, each with its events and calls."""
    rounds = real.sql(
        'SELECT round_pk, provider, session_id, "user" AS developer, round_index, prefix_tokens, newly_append_tokens, '
        "output_tokens, first_input_event_type FROM rounds ORDER BY round_pk"
    ).to_dicts()
    events, calls = defaultdict(list), defaultdict(list)
    for row in real.sql(
        'SELECT round_pk, event_type, "timestamp" AS at, tool_call_id FROM timing_events ORDER BY round_pk, event_index'
    ).iter_rows():
        events[row[0]].append(row[1:])
    for row in real.sql(
        "SELECT round_pk, tool_call_id, emitted_at, result_at, tool_wall_latency_ms, tool_internal_latency_ms "
        "FROM tool_calls ORDER BY round_pk, tool_index"
    ).iter_rows():
        calls[row[0]].append(row[1:])
    for row in rounds:
        row["events"], row["calls"] = events[row["round_pk"]], calls[row["round_pk"]]
        outputs = [at for kind, at, _ in row["events"] if kind in OUTPUTS]
        row["first_output"], row["last_output"] = (min(outputs), max(outputs)) if outputs else (None, None)
        before = [(kind, at) for kind, at, _ in row["events"] if kind in INPUTS and outputs and at <= min(outputs)]
        row["trigger_at"] = max((at for kind, at in before if kind == "user_message"), default=None)
        span = seconds(max(at for _, at in before), row["last_output"]) if before else 0.0
        row["generation"] = max(span, 0.0)
        effective = [wall if internal is None else internal for *_, wall, internal in row["calls"]]
        row["tools"] = sum(ms for ms in effective if ms is not None and ms > 0) / 1000
    return rounds


def seconds(a: dt.datetime, b: dt.datetime) -> float:
    return (b - a).total_seconds()


def figure(answer: Any, name: str, item: str | None = None, **key: Any) -> float:
    value = answer.group(**key).figure(name, item).tracelab.value
    assert value is not None
    return float(value)


@pytest.mark.full
def test_time_of_sessions_by_tracelabs_rules(steps: list[dict[str, Any]], answers: dict[str, Any]) -> None:
    last: dict[str, dt.datetime] = {}
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    stamps: dict[str, list[dt.datetime]] = defaultdict(list)
    waits = []
    for row in steps:
        session = row["session_id"]
        for kind, at, _ in sorted(row["events"], key=lambda event: event[1]):
            if kind == "user_message" and session in last and at > last[session]:
                waits.append(seconds(last[session], at))
                sums[session]["human"] += waits[-1]
                sums[session]["capped"] += min(waits[-1], 3600)
            last[session] = at
            stamps[session].append(at)
        sums[session]["generation"] += row["generation"]
        sums[session]["tools"] += row["tools"]
    spans = {session: seconds(min(some), max(some)) for session, some in stamps.items()}
    used = [sums[session] | {"span": span} for session, span in spans.items() if span > 0]
    total = {name: sum(row[name] for row in used) for name in ("span", "human", "capped", "generation", "tools")}
    answer = answers["sessions"]
    for name in ("human", "generation", "tools"):
        assert figure(answer, f"time_share.{name}") == pytest.approx(total[name] / total["span"], rel=1e-9)
    engaged = total["capped"] + total["generation"] + total["tools"]
    assert figure(answer, "time_share_cap1h.human") == pytest.approx(total["capped"] / engaged, rel=1e-9)
    assert figure(answer, "human_wait_seconds.mean") == pytest.approx(np.mean(waits), rel=1e-6)
    for q in (50, 90, 99):
        assert figure(answer, f"human_wait_seconds.p{q}") == pytest.approx(np.percentile(waits, q), rel=1e-9)
        assert figure(answer, "session_seconds.p99") == pytest.approx(
            np.percentile([row["span"] for row in used], 99), rel=1e-9
        )
    assert figure(answer, "human_waits.within_5min") == pytest.approx(np.mean(np.array(waits) <= 300))
    generation = [row["generation"] for row in steps if row["generation"] > 0]
    assert figure(answer, "generation_seconds.p90") == pytest.approx(np.percentile(generation, 90), rel=1e-9)


def test_requests_by_tracelabs_rules(steps: list[dict[str, Any]], answers: dict[str, Any]) -> None:
    open_: dict[str, dict[str, Any]] = {}
    done = []
    for row in steps:
        session = row["session_id"]
        if row["trigger_at"] is not None:
            if session in open_:
                done.append(open_.pop(session))
            open_[session] = {"begin": row["trigger_at"], "end": None, "calls": 0, "tool": 0, "gen": 0.0, "tools": 0.0}
        turn = open_.get(session)
        if turn is None:
            continue
        turn["calls"] += len(row["calls"])
        turn["tool"] += row["first_input_event_type"] == "tool_result"
        turn["gen"] += row["generation"]
        turn["tools"] += row["tools"]
        if row["last_output"] is not None:
            turn["end"] = row["last_output"] if turn["end"] is None else max(turn["end"], row["last_output"])
    done += open_.values()
    kept = [turn for turn in done if turn["end"] is not None and turn["end"] > turn["begin"]]
    lengths = [seconds(turn["begin"], turn["end"]) for turn in kept]
    answer = answers["sessions"]
    assert figure(answer, "requests") == len(kept)
    assert figure(answer, "request_seconds.mean") == pytest.approx(np.mean(lengths), rel=1e-6)
    assert figure(answer, "request_seconds.p50") == pytest.approx(np.percentile(lengths, 50), rel=1e-9)
    assert figure(answer, "request_share.tools") == pytest.approx(
        sum(t["tools"] for t in kept) / sum(lengths), rel=1e-9
    )
    assert figure(answer, "request_share.generation") == pytest.approx(
        sum(t["gen"] for t in kept) / sum(lengths), rel=1e-9
    )
    assert figure(answer, "calls_per_request.mean") == pytest.approx(np.mean([t["calls"] for t in kept]))
    assert figure(answer, "tool_steps_per_request.p90") == pytest.approx(np.percentile([t["tool"] for t in kept], 90))


def test_hits_and_sweep_by_tracelabs_rules(steps: list[dict[str, Any]], answers: dict[str, Any]) -> None:
    hit: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    walks = defaultdict(list)
    before: dict[str, tuple[int, int]] = {}
    fresh = appended = 0
    for row in steps:
        prefix, append, session = row["prefix_tokens"], row["newly_append_tokens"], row["session_id"]
        first = row["events"][0][0] if row["events"] else None
        for trigger in ("all", first):
            if prefix + append > 0:
                hit[str(trigger)][0] += prefix
                hit[str(trigger)][1] += prefix + append
        if session in before and first in INPUTS:
            tokens, output = before[session]
            fresh += max(0, prefix + append - tokens) - output
            appended += append
        before[session] = (prefix + append, row["output_tokens"] or 0)
        walks[row["provider"], session].append(row)
    answer = answers["cache"]
    for name, trigger in (
        ("hit_rate", "all"),
        ("hit_rate.after_user", "user_message"),
        ("hit_rate.after_tool", "tool_result"),
    ):
        assert figure(answer, name) == pytest.approx(hit[trigger][0] / hit[trigger][1], rel=1e-12)
    assert figure(answer, "fresh_share") == pytest.approx(fresh / appended, rel=1e-12)
    assert figure(answer, "amplification") == pytest.approx(appended / fresh, rel=1e-12)

    covered = [found for walk in walks.values() for found in gaps(walk)]
    idle, cacheable, new, served = (np.array(column, dtype=float) for column in zip(*covered, strict=True))
    total, generation = float((cacheable + new).sum()), sum(row["generation"] for row in steps)
    single = (np.array(list(single_calls(steps))), np.array(list(waits_after_output(steps))))
    (sweep,) = (sweep for sweep in answer.group().sweeps if sweep.rule == "tracelab")
    assert sweep.n_steps == idle.size
    assert sweep.deployed_hit_rate.value == pytest.approx(served.sum() / total, rel=1e-9)
    for point in sweep.points:
        within = idle <= point.timeout_seconds
        assert point.hit_rate.value == pytest.approx(cacheable[within].sum() / total, rel=1e-9)
        assert point.storage_ratio.value == pytest.approx(
            np.minimum(idle, point.timeout_seconds).sum() / generation, rel=1e-9
        )
        alive = sum(float(gap[gap <= point.timeout_seconds].sum()) for gap in single)
        assert point.active_ratio.value == pytest.approx(generation / (generation + alive), rel=1e-9)
        assert point.amplification.value == pytest.approx(1 + cacheable[~within].sum() / new.sum(), rel=1e-9)


def single_calls(steps: list[dict[str, Any]]) -> Iterator[float]:
    for row in steps:
        for *_, wall, internal in row["calls"]:
            latency = wall if internal is None else internal
            if latency is not None and latency > 0:
                yield latency / 1000


def waits_after_output(steps: list[dict[str, Any]]) -> Iterator[float]:
    last: dict[str, dt.datetime] = {}
    for row in steps:
        session = row["session_id"]
        if row["trigger_at"] is not None and session in last and row["trigger_at"] > last[session]:
            yield seconds(last[session], row["trigger_at"])
        if row["last_output"] is not None:
            last[session] = row["last_output"]


def gaps(walk: list[dict[str, Any]]) -> Iterator[tuple[float, float, float, float]]:
    """Give idle seconds, reusable, fresh and served tokens of each covered step of one session."""

    def activity(row: dict[str, Any]) -> list[dt.datetime]:
        stamps = [at for _, at, _ in row["events"]]
        return stamps + [at for _, emitted, result, *_ in row["calls"] for at in (emitted, result) if at is not None]

    ordered = sorted(
        walk, key=lambda row: (row["round_index"], row["events"][0][1] if row["events"] else dt.datetime.min)
    )
    took: dict[str, float | None] = {}
    previous = None
    for row in ordered:
        first = row["events"][0][0] if row["events"] else None
        tokens, gap = row["prefix_tokens"] + row["newly_append_tokens"], None
        if previous is not None and tokens > 0:
            if first == "user_message":
                found = seconds(max(activity(previous)), row["events"][0][1])
                gap = found if found >= 0 else None
            elif first == "tool_result":
                leading = []
                for kind, _, call_id in row["events"]:
                    if kind != "tool_result":
                        break
                    leading.append(took.get(call_id))
                gap = max((one for one in leading if one is not None), default=None)
        if previous is not None and gap is not None:
            grown = max(0, tokens - previous["prefix_tokens"] - previous["newly_append_tokens"])
            new = min(max(grown - (previous["output_tokens"] or 0), 0), row["newly_append_tokens"])
            yield gap, tokens - new, new, row["prefix_tokens"]
        for call_id, emitted, result, *_ in row["calls"]:
            lasted = None if result is None else seconds(emitted, result)
            took[call_id] = lasted if lasted is not None and lasted >= 0 else None
        previous = row


def test_our_states_of_a_session_add_up_to_its_span(real: Any) -> None:
    from tracestat.durations.tracelab import choose_sessions, session_shares

    frame = session_shares(real, choose_sessions(by=None)).filter(rule="tracestat")
    parts = frame["human_seconds"] + frame["generation_seconds"] + frame["tool_seconds"]
    assert (parts <= frame["span_seconds"] + 1e-6).all()
    assert float(frame["unknown_seconds"].sum()) < 0.001 * float(frame["span_seconds"].sum())
    assert (parts + frame["unknown_seconds"] - frame["span_seconds"]).abs().max() < 1e-6  # type: ignore[operator]


def test_command_chains_are_those_of_the_expected_figures(real: Any, answers: dict[str, Any]) -> None:
    from tracestat.durations.tracelab import choose_sessions, shell_shares

    expected = json.loads(corpus_path("real_trace.expected.json").read_text())["tracelab_command_chains"]
    shell_shares(real, choose_sessions())
    chains = real.sql(
        "SELECT count(*) AS n, count(command_seconds) AS finished, sum(command_seconds) AS s, max(command_seconds) AS m"
        " FROM shell_calls WHERE rule = 'tracelab' AND provider = 'codex' AND tool = 'exec_command'"
    ).row(0, named=True)
    assert chains["n"] == expected["commands"]
    assert chains["finished"] == expected["finished"]
    assert 1000 * chains["m"] == pytest.approx(expected["wall_until_finished_ms"]["max"])
    assert 1000 * chains["s"] == pytest.approx(expected["wall_until_finished_ms"]["sum"], abs=expected["finished"])


def test_every_estimate_has_an_interval(answers: dict[str, Any]) -> None:
    for answer in answers.values():
        for group in answer.groups:
            for one in group.figures:
                for item in (one.tracelab, one.tracestat):
                    if item.value is None or one.name in SUMS:
                        continue
                    assert item.session is not None, one.name
                    assert item.developer is not None, one.name
                    if item.low is not None:
                        assert item.low <= item.value + 1e-12, one.name
                    if item.high is not None:
                        assert item.value <= item.high + 1e-12, one.name


def test_bare_numbers_and_answers_agree(real: Any, answers: dict[str, Any]) -> None:
    from tracestat.durations.tracelab import named_numbers

    compared = 0
    for section in SECTIONS:
        for row in named_numbers(real, section).iter_rows(named=True):  # type: ignore[arg-type]
            key = {} if row["provider"] is None else {"provider": row["provider"]}
            found = answers[section].group(**key).figure(row["name"], row["item"])
            assert getattr(found, row["rule"]).value == pytest.approx(row["value"], rel=1e-6), row
            compared += 1
    assert compared > 500


def test_frame_holds_what_the_answer_holds(answers: dict[str, Any]) -> None:
    frame = answers["cache"].to_frame()
    group = answers["cache"].group(provider="claude")
    row = frame.filter(provider="claude", name="hit_rate", rule="tracestat").row(0, named=True)
    assert row["value"] == group.figure("hit_rate").tracestat.value
    swept = frame.filter(provider="claude", name="sweep.hit_rate", rule="tracelab", item="300").row(0, named=True)
    assert swept["value"] == group.sweeps[0].points[3].hit_rate.value


def test_the_same_seed_gives_the_same_answer(real: Any) -> None:
    first, again = (tracestat.summary_section(real, "cache", by="none", where="provider = 'codex'") for _ in range(2))
    assert first.to_dict() == again.to_dict()


@pytest.mark.full
def test_no_digit_depends_on_threads_or_on_the_other_groups(real: Any, answers: dict[str, Any]) -> None:
    told: dict[str, set[str]] = {section: set() for section in SECTIONS}
    for threads in (1, 2, 4):
        with open_store(real.path, shown=real.shown, threads=threads) as trace:
            for section in SECTIONS:
                told[section].add(json.dumps(tracestat.summary_section(trace, section).to_dict()))
    for section in SECTIONS:
        assert told[section] == {json.dumps(answers[section].to_dict())}
        (alone,) = tracestat.summary_section(real, section, by=None).groups
        assert alone == answers[section].group()


def test_items_that_are_not_asked_for_change_nothing_else(real: Any, answers: dict[str, Any]) -> None:
    few = tracestat.summary_section(real, "commands", items=["git", "all"])
    for group in few.groups:
        whole = {(figure.name, figure.item): figure for figure in answers["commands"].group(**group.key).figures}
        assert all(figure == whole[figure.name, figure.item] for figure in group.figures)
        assert {figure.item for figure in group.figures if figure.name.startswith("call_s")} == {"git"}


def test_fewer_developers_by_session_id_are_said(answers: dict[str, Any]) -> None:
    claude = answers["sessions"].group(provider="claude")
    assert claude.figure("time_share.human").tracelab.method == "session CV3"
    assert claude.figure("time_share.human").tracestat.method == "developer CV3"
    assert "rule tracelab: fewer than 20 developers (17" in " ".join(claude.notes)
    assert not answers["sessions"].group().notes


def test_choices(real: Any) -> None:
    pooled = tracestat.summary_section(real, "commands", by="none")
    assert [dict(group.key) for group in pooled.groups] == [{}]
    few = tracestat.summary_section(real, "cache", where="provider = 'codex'", min_n=1000)
    assert [dict(group.key) for group in few.groups] == [{"provider": "codex"}, {}]
    assert few.groups[0].notes == ("67 sessions, 1000 asked for",)
    assert few.groups[0].figure("hit_rate").tracestat.value is None
    none = tracestat.summary_section(real, "sessions", until="2001-01-01")
    assert none.groups == ()
    with pytest.raises(UsageError, match="--section calls"):
        tracestat.summary_section(real, "calls")  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        pooled.group(provider="claude")
    with pytest.raises(KeyError):
        pooled.group().figure("no such figure")
