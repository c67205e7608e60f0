"""The numbers of a hardware file: their names there and in :class:`Hardware`, their units, what they may be."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

__all__ = ["FIELDS", "PATHS", "SCHEMA", "TEXTS", "Field", "from_file", "in_file"]

SCHEMA = "tracestat.hardware/1"
PATHS = ("lmcache", "native")
TEXTS = ("card", "model", "weight_dtype", "kv_dtype")


@dataclass(frozen=True, slots=True)
class Field:
    """One number.

    Attributes
    ----------
    file : str
        Dotted name in the file, unit included.
    name : str
        Dotted name in :class:`Hardware`.
    exponent : int
        Power of ten from the file's unit to the inner one; None where it is a count.
    low, high : float
        Where any real machine lies: outside of it the unit must be wrong. Zero is another matter, see ``zero``.
    zero : bool
        Whether zero is allowed.
    whole : bool
        Whether it is a count.
    says : str
        What it is, for people.
    """

    file: str
    name: str
    exponent: int
    low: float
    high: float
    zero: bool
    whole: bool
    says: str

    @property
    def unit(self) -> str:
        """Unit in the file, for people."""
        if self.whole:
            return "B" if self.file.startswith("kv_bytes") else "tokens"
        base = {-3: "ms", -6: "us", -9: "ns"}[self.exponent]
        return base if base == "ms" else f"{base}/token" if base == "us" else f"{base}/token^2"


def _count(name: str, low: int, high: int, says: str, file: str | None = None) -> Field:
    return Field(file or name, name, 0, low, high, zero=False, whole=True, says=says)


def _time(file: str, name: str, says: str, *, low: float, high: float, zero: bool = True) -> Field:
    exponent = -3 if file.endswith("_ms") else -9 if file.endswith("q_ns") else -6
    return Field(file, name, exponent, low, high, zero=zero, whole=False, says=says)


def _path(path: str) -> tuple[Field, ...]:
    inner = f"stores.{path}"
    return (
        _time(f"load.{path}.fixed_ms", f"{inner}.load_fixed", f"{path}: of each load", low=0.001, high=10_000),
        _time(
            f"load.{path}.us_per_token",
            f"{inner}.load_per_token",
            f"{path}: load from host memory",
            low=0.001,
            high=10_000,
            zero=False,
        ),
        _time(
            f"store.{path}.us_per_token",
            f"{inner}.store_per_token",
            f"{path}: store to host memory",
            low=0.001,
            high=10_000,
        ),
        _count(f"{inner}.chunk_tokens", 1, 1 << 20, f"{path}: only whole chunks are stored", f"store.{path}.chunk"),
    )


FIELDS: tuple[Field, ...] = (
    _count("kv_bytes_per_token", 64, 1 << 28, "KV cache of a token"),
    _count("pool_tokens", 16, 1 << 40, "KV cache that the GPU holds"),
    _count("block_tokens", 1, 1 << 16, "block of the KV cache", "block"),
    _count("max_batched_tokens", 16, 1 << 24, "budget of a step, B"),
    _time("step.s_ms", "step.base", "s: each step", low=0.01, high=10_000),
    _time("step.b_us", "step.per_token", "b: each prefill or decode token", low=0.1, high=100_000, zero=False),
    _time("step.q_ns", "step.attention", "q: each prefill token x context token", low=0.0005, high=10_000),
    _time("step.r_us", "step.decode_read", "r: each context token of decoding", low=0.00005, high=1_000),
    _time("step.floor_ms", "step.floor", "s': base where tokens count (roofline)", low=0.001, high=10_000),
    _time("client_ms", "client", "o: client and front end", low=0.001, high=10_000),
    *(field for path in PATHS for field in _path(path)),
)


def from_file(value: float, exponent: int) -> float:
    """Give a number of a file in the inner unit, rounded once.

    Examples
    --------
    >>> from_file(51.5, -6)
    5.15e-05
    """
    return float(Decimal(repr(float(value))).scaleb(exponent))


def in_file(value: float, exponent: int) -> float:
    """Give an inner number in the unit of the file, so that up to 15 digits come back as they were.

    Examples
    --------
    >>> in_file(5.15e-05, -6)
    51.5
    """
    return float(Decimal(repr(float(value))).scaleb(-exponent))
