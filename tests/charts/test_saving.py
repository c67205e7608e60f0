"""Charts as files: four kinds, written whole or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracestat.charts import draw, save
from tracestat.errors import TracestatError, UsageError

KINDS = ["hazard", "summary", "survival", "keys", "calls"]
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<svg", ".html": b"<!DOCTYPE html>"}


@pytest.fixture(name="chart")
def chart_fixture(make: Any) -> Any:
    return draw(make("keys", ["claude", "codex"]))


@pytest.mark.parametrize("ending", list(MAGIC))
def test_every_kind_of_file(chart: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"chart{ending}"
    save(chart, path)
    assert path.read_bytes().startswith(MAGIC[ending])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.first_case
def test_every_chart_renders(make: Any, kind: str, hostile: list[str], tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    save(draw(make(kind, hostile)), str(path))
    assert "<script" not in path.read_text(encoding="utf-8")


def test_the_ending_may_be_upper_case(chart: Any, tmp_path: Path) -> None:
    save(chart, tmp_path / "chart.SVG")
    assert (tmp_path / "chart.SVG").read_bytes().startswith(MAGIC[".svg"])


def test_png_has_two_pixels_per_point(chart: Any, tmp_path: Path) -> None:
    def width(path: Path) -> float:
        found = re.search(rb'<svg[^>]* width="([\d.]+)', path.read_bytes())
        assert found
        return float(found.group(1))

    save(chart, tmp_path / "a.svg")
    save(chart, tmp_path / "a.png")
    pixels = int.from_bytes((tmp_path / "a.png").read_bytes()[16:20], "big")
    assert pixels == pytest.approx(2 * width(tmp_path / "a.svg"), abs=2)


def test_html_opens_offline(chart: Any, tmp_path: Path) -> None:
    save(chart, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    outside = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert outside.count("<script") == 2
    assert not re.search(r"\b(src|href)=|@import|url\(", outside)
    assert "cdn." not in page
    assert len(page) > 500_000, "the library itself is part of the page"


def test_nothing_in_a_page_ends_its_script(tmp_path: Path) -> None:
    import altair as alt

    text = "</script><script>alert(1)</script><!--\u2028"
    hostile = alt.Chart(alt.InlineData(values=[{"a": text}]), title=text).mark_text().encode(text="a:N")
    save(hostile, tmp_path / "a.html")
    body = (tmp_path / "a.html").read_text(encoding="utf-8").rsplit("<body>", 1)[1]
    assert body.count("<script") == 1
    assert body.count("</script") == 1
    assert "<!--" not in body
    assert "\\u003c/script>" in body


@pytest.mark.parametrize("name", ["chart.gif", "chart", ".png", "chart.png.txt"])
def test_another_ending_is_a_usage_error_that_names_the_four(chart: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(".html, .svg, .png or .pdf")) as caught:
        save(chart, tmp_path / name)
    assert str(tmp_path) not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_whole(chart: Any, tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    path.write_text("old text " * 1_000_000)
    save(chart, path)
    assert b"old text" not in path.read_bytes()
    assert path.read_bytes().endswith(b"</svg>")


def test_a_failed_write_leaves_the_old_file(chart: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chart.svg"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TracestatError, match=r"^chart\.svg: cannot be written \(No space left on device\)"):
        save(chart, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_one_line_without_the_path(chart: Any, tmp_path: Path) -> None:
    with pytest.raises(TracestatError) as caught:
        save(chart, tmp_path / "nowhere" / "chart.svg")
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_the_file_follows_a_link(chart: Any, tmp_path: Path) -> None:
    real = tmp_path / "real.svg"
    real.write_text("old")
    link = tmp_path / "link.svg"
    link.symlink_to(real)
    save(chart, link)
    assert link.is_symlink()
    assert real.read_bytes().startswith(MAGIC[".svg"])


@pytest.mark.parametrize("module", ["tracestat.charts", "tracestat.charts.tables"])
def test_nothing_heavy_loads_before_it_is_needed(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"altair", "vl_convert", "rich", "polars", "numpy", "pandas", "duckdb"} & set(loaded)
