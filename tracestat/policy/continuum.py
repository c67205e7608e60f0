"""Continuum as published, with its rule of a hundred and its cold start, and Continuum as its code was released.

They are two policies: a comparison says which one it means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from tracestat.policy.law import PauseLaw
from tracestat.policy.ttl import benefit_of, continuum_hold, exponential_hold

__all__ = ["ENOUGH_SEEN", "PaperHold", "continuum_paper", "continuum_public_code", "paper_source"]

# K of the paper: the 101st duration switches
ENOUGH_SEEN: Final = 100
_RELEASED_PIN = 2.0

Source = Literal["own", "all", "cold"]


@dataclass(frozen=True, slots=True)
class PaperHold:
    """A hold by the paper's rule, seconds, and what it rests on: ``own`` durations, those of ``all`` tools, none."""

    tau: float
    source: Source


def paper_source(n_own: int, n_all: int) -> Source:
    """Say which law the paper's rule uses after so many durations of this tool and of all tools.

    Examples
    --------
    >>> paper_source(101, 500), paper_source(100, 500), paper_source(0, 100)
    ('own', 'all', 'cold')
    """
    if n_all <= ENOUGH_SEEN:
        return "cold"
    return "own" if n_own > ENOUGH_SEEN else "all"


def continuum_paper(
    own: PauseLaw | None,
    everything: PauseLaw | None,
    *,
    n_own: int,
    n_all: int,
    queueing: float,
    eta: float,
    restore: float,
) -> PaperHold:
    """Give the paper's hold.

    Parameters
    ----------
    own, everything : PauseLaw or None
        Laws of this tool and of all tools; None where nothing was seen.
    n_own, n_all : int
        Durations behind them.
    queueing, eta, restore : float
        T, eta and R of `tracestat.policy.benefit_of`.

    Notes
    -----
    The cold start takes a duration of 1 s on average, exponential, and eta = 1.

    Examples
    --------
    >>> cold = continuum_paper(None, None, n_own=0, n_all=0, queueing=5.0, eta=-0.35, restore=2.38905609893)
    >>> round(cold.tau, 9), cold.source
    (2.0, 'cold')
    """
    source = paper_source(n_own, n_all)
    law = {"own": own, "all": everything, "cold": None}[source]
    if law is None:
        return PaperHold(exponential_hold(1.0, benefit_of(queueing, 1.0, restore)), "cold")
    return PaperHold(continuum_hold(law, benefit_of(queueing, eta, restore)).tau, source)


def continuum_public_code(mean: float | None, *, parsed: bool = True) -> float:
    """Give the pin of the released code, seconds: 2 s where the tool's mean so far is at most 2 s, else none.

    Parameters
    ----------
    mean : float or None
        Running mean of the tool's durations; None for a tool never seen, which counts as a mean of 0.
    parsed : bool
        Whether a tool was read out of the answer at all.

    Examples
    --------
    >>> continuum_public_code(None), continuum_public_code(2.0), continuum_public_code(2.1)
    (2.0, 2.0, 0.0)
    """
    if not parsed or (mean is not None and (math.isnan(mean) or mean > _RELEASED_PIN)):
        return 0.0
    return _RELEASED_PIN
