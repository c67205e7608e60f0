"""Tables as text that fits, and as HTML that cannot do harm."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tracestat.charts.render import SHORTENED, to_html, to_text
from tracestat.charts.table import Column, Table, label_column

COLUMNS = (label_column("name"), Column("rows"), Column("slope", "left"), Column("words", "left", "wrap"))
texts = st.text(max_size=40)
tables = st.builds(
    lambda title, rows, caption, notes: Table(title, COLUMNS, tuple(rows), tuple(caption), tuple(notes)),
    texts,
    st.lists(st.tuples(texts, st.integers().map(str), st.text(max_size=12), texts), max_size=6),
    st.lists(texts, max_size=2),
    st.lists(texts, max_size=2),
)


@settings(deadline=None)
@given(st.lists(tables, min_size=1, max_size=3), st.integers(20, 130))
def test_fits_the_page(drawn: list[Table], width: int) -> None:
    for line in to_text(drawn, width=width).split("\n"):
        assert cell_len(line) <= width
        assert line == line.rstrip()


@settings(deadline=None)
@given(tables)
def test_nothing_steers_the_terminal(table: Table) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", to_text([table]))


def test_numbers_are_kept_whole_before_names_are_cut() -> None:
    number = "1,234,567 [1,200,000, 1,300,000]"
    text = to_text([Table("t", (label_column(), Column("a"), Column("b")), (("x" * 60, number, number),))], width=80)
    assert text.count(number) == 2
    assert "…" in text
    assert SHORTENED.split(";")[0] in text


def test_one_blank_is_given_up_before_names_are_cut() -> None:
    columns = tuple(Column(str(i)) for i in range(5))
    text = to_text([Table("t", columns, (("1" * 9,) * 5,))], width=49)
    assert " ".join(["1" * 9] * 5) in text


def test_words_wrap_and_lose_nothing() -> None:
    long = "completed 21,500, superseded 431, lost 60, open 2, deadline 419, timeout 20, refused 11, interrupted 5"
    text = to_text([Table("t", (label_column(), Column("ends", "left", "wrap")), (("claude", long),))], width=50)
    assert " ".join(text.split("\n", 3)[3].replace("claude", "").split()) == long


def test_text_only_table() -> None:
    assert to_text([Table("In short", caption=("one", "two")), Table("b")]) == "In short\none\ntwo\n\nb"


def test_notes_hang() -> None:
    lines = to_text([Table("t", notes=("word " * 30,))], width=40).split("\n")[1:]
    assert len(lines) > 1
    assert all(line.startswith("  ") for line in lines[1:])


def test_markup_and_emoji_codes_are_text() -> None:
    assert to_text([Table("[bold]x[/bold] :smile: [link=file:///x]")]) == "[bold]x[/bold] :smile: [link=file:///x]"


def test_colour_only_where_asked() -> None:
    table = Table("title", (Column("a"),), (("1",),), (), ("note",))
    assert "\x1b" not in to_text([table])
    painted = to_text([table], color=True)
    assert "\x1b[1mtitle" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == to_text([table])


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells for 2 columns"):
        Table("t", (Column("a"), Column("b")), (("1",),))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


HARMLESS = {"div", "section", "p", "strong", "small", "br", "table", "thead", "tbody", "tr", "th", "td"}


@settings(deadline=None)
@given(tables, st.sampled_from(["<script>alert(1)</script>", "</td><img src=x onerror=y>", '" onload="x', "&amp;"]))
def test_html_holds_only_our_tags(table: Table, hostile: str) -> None:
    cell = Table(hostile, (Column(hostile),), ((hostile,),), (hostile,), (hostile,))
    parser = Tags()
    parser.feed(to_html([table, cell]))
    parser.close()
    assert parser.seen <= HARMLESS
    assert parser.attributes <= {"class", "style", "scope"}
    assert not parser.open
    assert parser.text.count(hostile) >= 5
