"""The tables of asked limits and of waits before the start, for results made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tracestat.charts.tables import tables_of, to_html, to_text
from tracestat.results import NOT_AVAILABLE, AskedLimit, Interval, StartWait, SummaryResult

GOLDEN = Path(__file__).parent / "golden" / "parts" / "summary_raw_logs.txt"


def limit(tool: str | None, seconds: float, asked: int, ended: int, **more: Any) -> AskedLimit:
    share = Interval(ended / asked, method="")
    if 0 < ended < asked:
        share = Interval(ended / asked, 0.8 * ended / asked, 1.1 * ended / asked, 0.95, "developer CV3", (0, 1), (0, 1))
    fields: dict[str, Any] = {
        "provider": "claude",
        "n_unseen": 0,
        "share": share,
        "seconds_ended": 1.02 * seconds * ended,
        "n_sessions": 12,
        "n_developers": 3,
    }
    return AskedLimit(tool=tool, asked_limit_seconds=seconds, n_asked=asked, n_ended=ended, **fields | more)


def wait(mode: str | None, n: int, known: int, **more: Any) -> StartWait:
    def spread(value: float, method: str) -> Interval:
        if not known:
            return NOT_AVAILABLE
        return Interval(value, 0.5 * value, 1.5 * value, 0.95, method, (0, 1), (0, 1))

    fields: dict[str, Any] = {
        "median": spread(0.146, "session influence"),
        "p90": spread(23.9, "session influence"),
        "of_time": spread(0.5, "session CV3"),
        "wait_seconds": 3.2 * known,
        "seconds": 6.4 * known,
        "n_sessions": 30,
        "n_developers": 2,
    }
    return StartWait(permission_mode=mode, n=n, n_known=known, **fields | more)


LIMITS = (limit("Bash", 120, 6466, 9), limit("Bash", 600, 110, 0), limit("write_stdin", 30, 141, 113))
WAITS = (wait("acceptEdits", 3448, 337), wait("bypassPermissions", 4095, 226), wait(None, 6691, 1), wait("auto", 41, 0))


def with_parts(
    result: SummaryResult, limits: tuple[AskedLimit, ...] = (), waits: tuple[StartWait, ...] = ()
) -> SummaryResult:
    """Put the parts into the groups of calls."""
    groups = tuple(
        replace(group, limits=limits, start_waits=waits) if group.key["unit"] == "call" else group
        for group in result.groups
    )
    return replace(result, groups=groups)


def parts_of(result: SummaryResult, **choices: Any) -> str:
    text = to_text(tables_of(result, **choices))
    return text[text.index("\n\n", text.index("How they ended")) + 2 :] + "\n"


def test_golden(make: Any, tmp_path: Path) -> None:
    text = parts_of(with_parts(make("summary", ["claude"]), LIMITS, WAITS))
    actual = tmp_path / GOLDEN.name
    actual.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), f"if this is meant, read {actual} and copy it to {GOLDEN}"


def test_without_parts_there_are_no_tables(make: Any) -> None:
    titles = [table.title for table in tables_of(make("summary", ["claude"]))]
    assert titles[-1] == "How they ended"
    for parts in ((LIMITS, ()), ((), WAITS)):
        more = [table.title for table in tables_of(with_parts(make("summary", ["claude"]), *parts))]
        assert more[: len(titles)] == titles
        assert len(more) == len(titles) + (1 if parts[0] else 2)


def test_synthetic_stands_in_their_titles(make: Any) -> None:
    tables = tables_of(with_parts(make("summary", ["claude"], synthetic=True), LIMITS, WAITS))
    assert all(table.title.startswith("SYNTHETIC: ") for table in tables)


def test_pooled_tools_say_whose_they_are(make: Any) -> None:
    result = with_parts(make("summary", ["claude"]), LIMITS)
    groups = tuple(replace(group, key={"unit": group.key["unit"]}) for group in result.groups)
    assert "claude Bash" in parts_of(replace(result, groups=groups))
    assert "claude Bash" not in parts_of(result)


def test_long_tables_are_cut_to_the_largest_and_say_so(make: Any) -> None:
    limits = tuple(limit("Bash", 1 + i, 1000 - 10 * i, 1) for i in range(30))
    waits = tuple(wait(f"mode{i}", 500, i) for i in range(25))
    text = " ".join(parts_of(with_parts(make("summary", ["claude"]), limits, waits)).split())
    left = sum(item.n_asked for item in limits[20:])
    assert f"10 more limits, asked for by {left:,} calls, 10 of which ended on it; -o FILE.json shows all" in text
    assert "5 more modes with fewer known starts; -o FILE.json shows all" in text
    assert "Bash 20 s" in text
    assert "Bash 21 s" not in text
    assert "mode24" in text
    assert "mode4 " not in text


def test_the_reason_for_a_missing_interval_stands_below(make: Any) -> None:
    reason = "no interval where none or all of the calls ended on the limit, or all are of one session"
    result = make("summary", ["claude"])
    assert reason in " ".join(parts_of(with_parts(result, LIMITS)).split())
    assert reason not in " ".join(parts_of(with_parts(result, LIMITS[:1])).split())


names = st.text(max_size=30) | st.sampled_from(["<script>", "x" * 300, "工" * 50, "\x1b[31m", "-1.23 [4, 5]"])


@settings(deadline=None, max_examples=10)
@given(st.lists(names, min_size=1, max_size=4), names)
def test_fits_80_columns_whatever_the_names(make: Any, labels: list[str], name: str) -> None:
    big = limit(name, 86_400, 1_234_567, 1_234_566, seconds_ended=1e11)
    result = with_parts(make("summary", labels), (big, *LIMITS), (wait(name, 1_234_567, 1_234_566), *WAITS))
    for line in to_text(tables_of(result)).split("\n"):
        assert cell_len(line) <= 80
        assert "\x1b" not in line


def test_html_is_escaped(make: Any, hostile: list[str]) -> None:
    result = make("summary", hostile[:1])
    tools = tuple(limit(name, 120, 10, 1) for name in hostile)
    modes = tuple(wait(name, 10, 5) for name in hostile)
    page = to_html(tables_of(with_parts(result, tools, modes)))
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("&lt;script&gt;") > to_html(tables_of(result)).count("&lt;script&gt;")


@pytest.mark.parametrize("provider", ["claude", None])
def test_a_missing_tool_has_a_name(make: Any, provider: str | None) -> None:
    assert "(none)" in parts_of(with_parts(make("summary", ["x"]), (limit(None, 5, 10, 1, provider=provider),)))
