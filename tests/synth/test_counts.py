"""What the truth says was written is what the rows hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import pytest

from tests.synth.conftest import Large
from tests.synth.reading import Row, ms, sessions_of

HUMAN = {"AskUserQuestion", "ExitPlanMode", "request_user_input"}
OUTPUTS = {"reasoning", "text", "tool_call"}


def outputs_of(row: Row) -> list[int]:
    return [ms(e["timestamp"]) for e in row["timing_events"] if e["event_type"] in OUTPUTS]


def count_pause(row: Row, after: Row | None, n: Counter[str]) -> None:
    calls = row["tools"]
    human = calls[0]["tool_name"] in HUMAN
    n["pauses"] += 1
    n["single_call"] += len(calls) == 1
    n["human"] += human
    if any(c["result_at"] is None for c in calls):
        n["censored"] += 1
        return
    last = max(calls, key=lambda c: ms(c["result_at"]))
    end, out = ms(last["result_at"]), max(outputs_of(row))
    superseded = after is not None and min(outputs_of(after)) < end
    n["superseded"] += superseded
    n["interrupted"] += last.get("command_status") == "aborted"
    wait = max(min(outputs_of(after)) if superseded and after else end, out) - out
    if human:
        n["human_ms"] += wait
        return
    n["tool_pauses"] += 1
    n["ms"] += wait
    n["within_1s"] += wait <= 1000
    n["over_60s"] += wait > 60_000
    n["ms_over_60s"] += wait * (wait > 60_000)
    n["codex_on_deadline"] += last.get("command_status") == "running" and not superseded


@pytest.fixture(scope="module")
def counted(large: Large) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {"claude": Counter(), "codex": Counter()}
    users: dict[str, set[str]] = {"claude": set(), "codex": set()}
    seen: set[str] = set()
    for rows in sessions_of(large.path):
        provider = rows[0]["provider"]
        n = counts[provider]
        n["sessions"] += 1
        users[provider].add(rows[0]["user"])
        ended: set[str] = set()
        polled: set[str] = set()
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            n["rounds"] += 1
            n["calls"] += len(row["tools"])
            n["events"] += len(row["timing_events"])
            if row["round_id"] in seen:
                n["copied_rounds"] += 1
                n["copied_calls"] += len(row["tools"])
                continue
            seen.add(row["round_id"])
            if row["tools"]:
                count_pause(row, after, n)
            for call in row["tools"]:
                n["calls_without_result"] += call["result_at"] is None
                n["launches"] += call["tool_name"] == "exec_command"
                n["polls"] += call["tool_name"] == "write_stdin"
                root = call.get("continuation_of_tool_call_id", call["tool_call_id"])
                if call.get("command_status") == "finished":
                    ended.add(root)
                if "continuation_of_tool_call_id" in call:
                    polled.add(root)
                elif call.get("command_status") == "running":
                    n["yielded"] += 1
        n["finished"] += len(ended)
        n["polled"] += len(polled)
    for provider, names in users.items():
        counts[provider]["developers"] = len(names)
    counts["claude"]["all_developers"] = len(set().union(*users.values()))
    return counts


@pytest.mark.parametrize("provider", ["claude", "codex"])
def test_counts_are_those_of_the_rows(large: Large, counted: dict[str, Counter[str]], provider: str) -> None:
    written = asdict(large.truth.written[provider])
    mine = counted[provider]
    times = {name: written.pop(name) for name in ("seconds", "seconds_over_60s", "human_seconds")}
    deadlines = written.pop("on_deadline")
    assert written == {name: mine[name] for name in written}
    assert times["seconds"] == pytest.approx(mine["ms"] / 1000)
    assert times["seconds_over_60s"] == pytest.approx(mine["ms_over_60s"] / 1000)
    assert times["human_seconds"] == pytest.approx(mine["human_ms"] / 1000)
    if provider == "codex":
        assert deadlines == mine["codex_on_deadline"]


def test_developers(large: Large, counted: dict[str, Counter[str]]) -> None:
    assert large.truth.developers_written == counted["claude"]["all_developers"] == 32


@pytest.mark.parametrize("provider", ["claude", "codex"])
def test_atoms_of_the_provider_add_up(large: Large, provider: str) -> None:
    atoms = [a for a in large.truth.atoms if a.provider == provider and a.tool is None]
    assert sum(a.events for a in atoms) == large.truth.written[provider].on_deadline
    for atom in atoms:
        assert atom.at_risk is not None
        assert atom.mass == pytest.approx(atom.events / atom.at_risk, abs=1e-6)


def test_shares_have_the_published_shape(large: Large) -> None:
    """Bounds, not values: the published figures are of another corpus, and the tails are heavy."""
    claude, codex = (large.truth.written[p].shares() for p in ("claude", "codex"))
    assert 0.65 < (claude["within_1s"] or 0) < 0.80  # 0.70
    assert 0.02 < (claude["over_60s"] or 0) < 0.05  # 0.049
    assert 0.70 < (claude["over_60s_time"] or 0) < 0.93  # 0.92
    assert 0.2 < (claude["human_time"] or 0) < 0.6  # 0.37
    assert 0.1 < (codex["on_deadline"] or 0) < 0.35  # 0.30
    assert 0.0005 < (claude["calls_without_result"] or 0) < 0.003  # 0.001
    assert 0.005 < (claude["copied_rounds"] or 0) < 0.08  # 0.05 in a small real trace
    assert large.truth.written["codex"].copied_rounds == 0
