"""The chart that shows how much of the fall is mixing."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

import tracestat
from tests.charts.conftest import HOSTILE, LONG, STEERING, UNICODE, empty_hazard_group, hazard_group, head
from tracestat.charts.mixing import MixingLine, mixing_centre, mixing_lines, share_words
from tracestat.results import NOT_AVAILABLE, HazardGroup, HazardResult, Interval, Slopes


def spec(result: HazardResult) -> dict[str, Any]:
    made: dict[str, Any] = result.mixing_chart().to_dict()
    return made


def text_of(made: dict[str, Any]) -> str:
    return json.dumps(made, ensure_ascii=False).replace("\u00a0", " ")


def panels(made: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The rows that each panel draws."""
    return [
        [
            row
            for layer in panel["layer"]
            for row in (layer["data"].get("values") or made["datasets"][layer["data"]["name"]])
        ]
        for panel in made["concat"]
    ]


def test_lines_go_through_one_centre_with_their_slopes(group: Any) -> None:
    one: HazardGroup = group({"provider": "claude"})
    lines = mixing_lines(one)
    assert [line.name for line in lines] == ["pooled", "within class", "within class x skeleton x developer"]
    centre = mixing_centre(one)
    assert centre is not None
    assert one.range is not None
    assert one.range[0] < centre[0] < one.range[1]
    drawn = panels(spec(HazardResult(head("hazard"), (one,))))[0]
    for line in lines:
        points = [row for row in drawn if row.get("line") == line.name]
        assert len(points) > 20
        at = next(row for row in points if row["x"] == centre[0])
        assert at["y"] == pytest.approx(centre[1])
        assert at["low"] == pytest.approx(at["high"])
        first, last = points[0], points[-1]
        steepness = math.log(last["y"] / first["y"]) / math.log(last["x"] / first["x"])
        assert steepness == pytest.approx(line.slope.value)
        assert first["low"] <= first["y"] * (1 + 1e-9)


def test_the_centre_lies_on_the_pooled_fit(group: Any) -> None:
    """Expected and observed events in range are equal."""
    one: HazardGroup = group({"provider": "claude"})
    centre, b = mixing_centre(one), one.slope.poisson.value
    assert centre is not None
    assert b is not None
    used = [item for item in one.bins[: one.n_bins] if item.hi is not None]
    expected = sum(i.exposure * centre[1] * (math.sqrt(i.lo * (i.hi or 0)) / centre[0]) ** b for i in used)
    assert expected == pytest.approx(sum(item.events for item in used))


def test_shares_in_words(group: Any) -> None:
    line = MixingLine("within class", Interval(-0.6, -0.9, 0.1), 0.25)
    assert share_words(line, -0.8) == "25 % of the fall is mixing (0 to 100 %)"
    text = text_of(spec(HazardResult(head("hazard"), (group({"provider": "claude"}),))))
    assert "13 % of the fall is mixing" in text
    assert "33 % of the fall is mixing" in text


def test_a_key_that_could_not_be_fitted_is_named(group: Any) -> None:
    one: HazardGroup = group({"tool_class": "shell"})
    single = dataclasses.replace(one.within[0], slope=NOT_AVAILABLE, share_mixing=None, notes=("only one key",))
    made = spec(HazardResult(head("hazard"), (dataclasses.replace(one, within=(single,)),)))
    text = text_of(made)
    assert "within class: no line, only one key" in text
    assert "within class x skeleton x developer: no line, not fitted" in text
    assert {row["line"] for row in panels(made)[0] if "line" in row} == {"pooled"}


def test_groups_without_a_slope_are_named_not_drawn(group: Any) -> None:
    result = HazardResult(head("hazard"), (group({"provider": "claude"}), empty_hazard_group({"provider": "web"})))
    made = spec(result)
    assert len(panels(made)) == 1
    assert "no slope, so not drawn: web" in text_of(made)
    nothing = spec(HazardResult(head("hazard"), (empty_hazard_group({"provider": "web"}),)))
    assert "no slopes to compare; web: 12 sessions, 20 needed" in text_of(nothing)
    assert "nothing is left to count" in text_of(spec(HazardResult(head("hazard"), ())))


def test_a_rising_hazard_has_no_mixing(group: Any) -> None:
    one = dataclasses.replace(group({"provider": "x"}), slope=Slopes(Interval(0.2, 0.1, 0.3, 0.95, "session CV3")))
    assert "the pooled hazard does not fall" in text_of(spec(HazardResult(head("hazard"), (one,))))


def test_without_intervals_no_bands(group: Any) -> None:
    from tracestat.results import without_intervals

    made = spec(HazardResult(head("hazard", definition="tracelab"), (without_intervals(group({"provider": "x"})),)))
    assert all(row["low"] is None for row in panels(made)[0] if "line" in row)
    assert "bands" not in text_of(made)


@pytest.mark.parametrize("names", [["claude", "codex"], [HOSTILE, UNICODE, LONG, STEERING, ""], ["x"] * 7])
@pytest.mark.first_case
def test_the_chart_is_valid_safe_and_on_the_page(names: list[str]) -> None:
    result = HazardResult(head("hazard", synthetic=True), tuple(hazard_group({"provider": name}) for name in names))
    made = spec(result)
    assert made["title"]["text"][0].startswith("SYNTHETIC: How much of the fall of the hazard is mixing")
    assert "<script" not in text_of(made)
    assert len(panels(made)) == min(len(names), 6)
    for panel in panels(made):
        for row in panel:
            assert row.get("low") is None or 0 < row["low"] <= row["high"]


def test_the_sample_and_the_option(run_mixing: Any) -> None:
    code, err, path = run_mixing("mixing.svg")
    assert code == 0
    assert "wrote mixing.svg" in err
    assert "SYNTHETIC: How much of the fall" in path.read_text()


@pytest.fixture
def run_mixing(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    from tracestat.cli import main

    def run(name: str, *more: str) -> tuple[int, str, Any]:
        path = tmp_path / name
        code = main(["hazard", "--chart-mixing", str(path), *(part.replace("DIR", str(tmp_path)) for part in more)])
        return code, capsys.readouterr().err, path

    return run


def test_a_wrong_file_is_a_usage_error(run_mixing: Any) -> None:
    code, err, path = run_mixing("mixing.txt")
    assert code == 2
    assert "--chart-mixing mixing.txt: the name must end in" in err
    code, err, path = run_mixing("m.svg", "--chart", "DIR/m.svg")
    assert code == 2
    assert "names the same file" in err
    assert not path.exists()


def test_the_real_trace(real_trace: Any) -> None:
    with tracestat.open(real_trace) as trace:
        result = tracestat.hazard(trace, draws=0)
    text = text_of(spec(result))
    assert "of the fall is mixing" in text
    for group in result.groups:
        shares = [line.share for line in mixing_lines(group)[1:]]
        assert shares[0] is not None
        assert shares[1] is not None
        assert 0 < shares[0] < shares[1] < 1
