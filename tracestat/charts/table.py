"""A table as data: what the command line prints and a notebook shows, before it becomes text or HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Column", "Table", "label_column"]


@dataclass(frozen=True, slots=True)
class Column:
    """A header and how its cells stand.

    Attributes
    ----------
    header : str
        May have several lines.
    align : {"left", "right"}
    fit : {"keep", "shorten", "wrap"}
        What happens where the page is too narrow: cells are kept whole, cut in the middle, or broken into lines.
    """

    header: str
    align: Literal["left", "right"] = "right"
    fit: Literal["keep", "shorten", "wrap"] = "keep"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, lines that say how it was made, columns of texts, and notes; without columns, text only."""

    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wrong = [row for row in self.rows if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(f"{self.title}: a row has {len(wrong[0])} cells for {len(self.columns)} columns")


def label_column(header: str = "") -> Column:
    """Give the column of the groups' names, which may be cut in the middle."""
    return Column(header, "left", "shorten")
