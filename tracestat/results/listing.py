"""What ``keys`` and ``calls`` answer: plain lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tracestat.results.base import Result

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CallsResult", "KeysResult"]


@dataclass(frozen=True, slots=True, repr=False)
class KeysResult(Result):
    """Every key: how many values it has in this trace, and the most frequent ones."""

    keys: tuple[Mapping[str, Any], ...]
    command: ClassVar[str] = "keys"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per key and shown value."""
        import polars as pl

        return pl.DataFrame(
            [
                {"key": item["key"], "n_values": item["n_values"], "value": value["value"], "rows": value["rows"]}
                for item in self.keys
                for value in item["values"]
            ],
            schema={"key": pl.String, "n_values": pl.Int64, "value": pl.String, "rows": pl.Int64},
        )


@dataclass(frozen=True, slots=True, repr=False)
class CallsResult(Result):
    """Single waits, longest first."""

    calls: tuple[Mapping[str, Any], ...]
    command: ClassVar[str] = "calls"

    def to_frame(self) -> pl.DataFrame:
        """Give a row per wait."""
        import polars as pl

        return pl.DataFrame(list(self.calls), infer_schema_length=None)
