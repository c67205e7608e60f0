"""Tables as text that fits the terminal, and as HTML that is safe to embed."""

from __future__ import annotations

import html
import io
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tracestat.charts.table import Column, Table
from tracestat.charts.words import plain, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

__all__ = ["to_html", "to_text"]

SHORTENED = "names are cut in the middle (…); --json and -o give them whole"
# columns that may give way, and down to how many characters, in this order
_STEPS = (("wrap", 32), ("shorten", 14), ("wrap", 18), ("shorten", 8), ("wrap", 10), ("shorten", 4))


def to_text(tables: Sequence[Table], width: int = 80, color: bool = False) -> str:
    """Draw tables as text.

    Parameters
    ----------
    tables : sequence of Table
    width : int
        Columns of the page; no line is longer.
    color : bool
        Write ANSI styles: bold titles and heads, dim notes.

    Returns
    -------
    str
        Lines without trailing blanks, tables parted by an empty line, no newline at the end.

    Examples
    --------
    >>> columns = (Column("tool", "left", "shorten"), Column("rows"))
    >>> print(to_text([Table("Rows by tool", columns, (("Bash", "9,453"), ("Read", "877")))]))
    Rows by tool
    tool   rows
    ───────────
    Bash  9,453
    Read    877
    """
    from rich.cells import cell_len
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=max(width, 20),
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    cut = False
    for number, table in enumerate(tables):
        if number:
            console.print()
        cut = _print(console, table, cell_len) or cut
    if cut:
        _notes(console, [SHORTENED], cell_len)
    lines = out.getvalue().rstrip("\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)


def _print(console: Console, table: Table, measure: Callable[[str], int]) -> bool:
    """Print a table; tell whether names had to be cut."""
    from rich.text import Text

    console.print(Text(plain(table.title), style="bold"))
    for line in table.caption:
        console.print(Text(plain(line)))
    cut = False
    if table.columns:
        rows = [[plain(cell) for cell in row] for row in table.rows]
        widths, gap = _widths(table.columns, rows, console.width, measure)
        for row in rows:
            for place, column in enumerate(table.columns):
                if column.fit == "shorten" and measure(row[place]) > widths[place]:
                    row[place] = shorten(row[place], widths[place], measure)
                    cut = True
        console.print(_grid(table.columns, rows, widths, gap))
    _notes(console, table.notes, measure)
    return cut


def _notes(console: Console, notes: Sequence[str], measure: Callable[[str], int]) -> None:
    from rich.text import Text

    for line in notes:
        for folded in _folded(plain(line), console.width, measure):
            console.print(Text(folded, style="dim"))


def _folded(line: str, width: int, measure: Callable[[str], int]) -> list[str]:
    """Break a note into lines with a hanging indent; wide characters are left to rich."""
    if measure(line) != len(line):
        return [line]
    return textwrap.wrap(line, width, subsequent_indent="  ", break_on_hyphens=False) or [""]


def _grid(columns: Sequence[Column], rows: Sequence[Sequence[str]], widths: Sequence[int], gap: int) -> Grid:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0), header_style="bold")
    for column, size in zip(columns, widths, strict=True):
        grid.add_column(
            Text(column.header, justify=column.align),
            justify=column.align,
            vertical="top",
            width=size,
            overflow="fold",
            no_wrap=column.fit == "shorten",
        )
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def _widths(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, measure: Callable[[str], int]
) -> tuple[list[int], int]:
    """Give each column its width and the gap between them, so that all fit on the page."""
    heads = [max(map(measure, column.header.split("\n"))) for column in columns]
    sizes = [max([heads[i], 1, *(measure(row[i]) for row in rows)]) for i in range(len(columns))]

    def excess(gap: int) -> int:
        return sum(sizes) + gap * (len(sizes) - 1) - width

    gap = 2 if excess(2) <= 0 else 1
    for fit, least in _STEPS:
        able = [i for i, column in enumerate(columns) if column.fit == fit]
        # the widest gives way first
        while excess(gap) > 0 and able:
            widest = max(able, key=lambda i: sizes[i])
            if sizes[widest] <= max(least, heads[widest] if least > 10 else 1):
                break
            sizes[widest] -= 1
    while excess(gap) > 0 and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    return sizes, gap


def to_html(tables: Sequence[Table]) -> str:
    """Draw tables as HTML; every text is escaped.

    Parameters
    ----------
    tables : sequence of Table

    Returns
    -------
    str
        One ``div`` without script or outer style, to be put into a page or a notebook.

    Examples
    --------
    >>> to_html([Table("a < b")])
    '<div class="tracestat"><section><p><strong>a &lt; b</strong></p></section></div>'
    """
    return f'<div class="tracestat">{"".join(map(_section, tables))}</div>'


def _section(table: Table) -> str:
    lines = "".join(f"<br>{_escape(line)}" for line in table.caption)
    parts = [f"<p><strong>{_escape(table.title)}</strong>{lines}</p>"]
    if table.columns:
        heads = "".join(f'<th scope="col"{_style(c)}>{_escape_lines(c.header)}</th>' for c in table.columns)
        body = "".join(
            f"<tr>{''.join(f'<td{_style(c)}>{_escape(x)}</td>' for c, x in zip(table.columns, row, strict=True))}</tr>"
            for row in table.rows
        )
        parts.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
    if table.notes:
        parts.append(f"<p><small>{'<br>'.join(map(_escape, table.notes))}</small></p>")
    return f"<section>{''.join(parts)}</section>"


def _style(column: Column) -> str:
    return f' style="text-align:{column.align};vertical-align:top"'


def _escape(text: str) -> str:
    return html.escape(plain(text))


def _escape_lines(text: str) -> str:
    return "<br>".join(map(_escape, text.split("\n")))
