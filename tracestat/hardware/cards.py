"""Cards by their makers' public figures: ``data/cards.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tracestat.errors import UsageError
from tracestat.queries import data_path

__all__ = ["Card", "card_of", "cards", "find_card"]


@dataclass(frozen=True, slots=True)
class Card:
    """One card; rates are dense, links one way.

    Attributes
    ----------
    id, name : str
    memory : float
        Bytes.
    bandwidth, host, peer : float
        Bytes per second of its memory, of its link to the host, of its link to another card.
    bf16, fp8 : float
        Operations per second; zero where it has no such units.
    source, as_of : str
    """

    id: str
    name: str
    memory: float
    bandwidth: float
    bf16: float
    fp8: float
    host: float
    peer: float
    source: str
    as_of: str


@cache
def cards() -> Mapping[str, Card]:
    """Give every card by its id.

    Examples
    --------
    >>> cards()["rtx4090"].bandwidth / 1e9
    1008.0
    """
    data = tomllib.loads(data_path("cards.toml").read_text(encoding="utf-8"))
    as_of = data.pop("as_of")
    return {
        id_: Card(
            id=id_,
            name=entry["name"],
            memory=entry["memory_mib"] * 2.0**20,
            bandwidth=entry["memory_gbps"] * 1e9,
            bf16=entry["bf16_tflops"] * 1e12,
            fp8=entry["fp8_tflops"] * 1e12,
            host=entry["host_gbps"] * 1e9,
            peer=entry["peer_gbps"] * 1e9,
            source=entry["source"],
            as_of=as_of,
        )
        for id_, entry in data.items()
    }


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def find_card(name: str) -> Card | None:
    """Find a card by its id or name, however it is written; None where it is not known.

    Examples
    --------
    >>> find_card("my own") is None
    True
    """
    wanted = _plain(name)
    for card in cards().values():
        names = (_plain(card.id), _plain(card.name), _plain(card.name).removeprefix("nvidia"))
        if wanted in (*names, names[2].removeprefix("geforce")):
            return card
    return None


def card_of(name: str) -> Card:
    """Find a card by its id or name, however it is written.

    Raises
    ------
    UsageError
        It is not known.

    Examples
    --------
    >>> card_of("NVIDIA GeForce RTX 4090").id, card_of("RTX-4090").id
    ('rtx4090', 'rtx4090')
    """
    found = find_card(name)
    if found is not None:
        return found
    raise UsageError(
        f"card {name}: not known; it is one of {', '.join(cards())}; measure another one (tracestat hardware recipe)"
    )
