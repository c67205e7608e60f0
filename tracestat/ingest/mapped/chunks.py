"""What a table looks like while it is read, whatever its format: columns of some rows, and rows that are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracestat.errors import UsageError
from tracestat.ingest.columns import TEXT
from tracestat.ingest.mapped.mapping import Mapping, shown_names

__all__ = ["ROWS_PER_CHUNK", "Chunk", "Source", "missing_column", "texts_of"]

ROWS_PER_CHUNK = 50_000


@dataclass(slots=True)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    lines : array of int64
        Line of each row from 1, or its number in a table that has no lines.
    columns : dict of str to pyarrow.Array
        The mapped columns, as texts where the format has no types.
    damaged : list of (int, str)
        Line and reason of what is no row at all.
    repaired : array of bool
        Rows in which text that is no Unicode was replaced.
    """

    lines: npt.NDArray[np.int64]
    columns: dict[str, pa.Array]
    damaged: list[tuple[int, str]] = field(default_factory=list)
    repaired: npt.NDArray[np.bool_] | None = None


class Source(Protocol):
    """A table being read.

    Attributes
    ----------
    note : str or None
        Once all was read: why the file ends early, for example.
    """

    note: str | None

    def chunks(self) -> Iterator[Chunk]:
        """Give the rows in the order of the file."""
        ...


def missing_column(mapping: Mapping, has: Sequence[str], shown: str) -> UsageError | None:
    """Say which mapped column a table lacks, and which ones it has; None if it has all.

    Where it has none of them, what was taken for names may be the values of a first row, so none is said.
    """
    lacking = next((served for served in mapping.served if served.column and served.column not in has), None)
    if lacking is None:
        return None
    if not any(column in has for column in mapping.columns):
        return UsageError(f"{shown} has none of the mapped columns: does it name its columns, and as --map does?")
    return UsageError(
        f"{shown} has no column {lacking.column!r} (for {lacking.field}): it has {shown_names(list(has))}"
    )


def texts_of(values: list[str | None]) -> tuple[pa.Array, npt.NDArray[np.bool_] | None]:
    """Make a column of texts in which bytes that are no UTF-8 stand as lone surrogates; tell where, if anywhere."""
    try:
        return pa.array(values, TEXT), None
    except UnicodeEncodeError:
        pass
    repaired = np.zeros(len(values), bool)
    texts: list[str | None] = []
    for row, value in enumerate(values):
        text = value
        if value is not None:
            text = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            repaired[row] = text != value
        texts.append(text)
    return pa.array(texts, TEXT), repaired
