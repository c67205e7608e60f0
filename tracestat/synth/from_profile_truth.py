"""What was drawn from a profile, beside what was recorded: three quantiles of each quantity, their ratio, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tracestat.ingest.about import MOST_CHARS
from tracestat.results import Json
from tracestat.results.profile import QUANTITIES, Corpus, Recorded, Source, summaries

__all__ = ["ONE_SIDED", "ComparedQuantile", "ProfileTruth", "compared", "compared_eta"]

Floats = NDArray[np.float64]

SCHEMA: Final = "tracestat.synth_profile_truth/1"
_DRAWN: Final = "synthetic, drawn by tracestat synth"
NEAR: Final = 0.1
"""A ratio within 10 % of 1 needs no reason."""
_WIDE: Final = 3.3  # two-sided 5 % over the 48 quantiles of two providers together (Bonferroni)
_PROBABILITIES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
# what a drawn session does not have, from which a difference may come; none of these was tested as its cause
_NOT_KEPT: Final = {
    "tool_pause": "how late a result is logged after its limit, and which classes a session uses",
    "human_wait": "quantiles between steps of 1 %",
    "rounds_per_session": "quantiles between steps of 1 %",
    "rounds_per_request": "the order of long and short requests, and quantiles between steps of 1 %",
    "context": "the window of a session, and how much it reads at a time",
    "output": "quantiles between steps of 1 %",
    "tool_paused_per_session": "which classes a session uses; how alike its pauses are is one number",
    "paused_per_session": "which classes a session uses; how alike its pauses and waits are is one number each",
}
ONE_SIDED: Final = ("none recorded", "none drawn", "not known on both sides")
"""Reasons why there is nothing to compare."""
_ETA: Final = "not tested against chance; not kept: the order of long and short requests"


@dataclass(frozen=True, slots=True)
class ComparedQuantile:
    """One number, recorded and drawn.

    Attributes
    ----------
    provider, quantity, unit, quantile : str
        ``quantile`` is p50, p95, p99 or, for eta, ``value``.
    recorded, drawn : float or None
    ratio : float or None
        Drawn over recorded.
    n_recorded, n_drawn : int
    reason : str
        Where they differ by more than 10 %: whether chance explains it, else what drawing does not keep.
    """

    provider: str
    quantity: str
    unit: str
    quantile: str
    recorded: float | None
    drawn: float | None
    ratio: float | None
    n_recorded: int
    n_drawn: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProfileTruth:
    """Everything known about a trace that was drawn from a profile.

    Attributes
    ----------
    file, version : str
    seed, sessions, developers : int
    profile : str
        Base name of the profile.
    profile_sha256 : str
    corpus : Corpus
        What the profile was made of.
    attribution : Source
        Its licence and whom to name: both hold for what is drawn of it.
    compared : tuple of ComparedQuantile
    rounds, calls : int
        Written.
    beyond : int
        Pauses drawn beyond what was observed, by the tail rule or, without one, at the last observed time.
    notes : tuple of str
        What the drawn trace does not have.
    """

    file: str
    version: str
    seed: int
    sessions: int
    developers: int
    profile: str
    profile_sha256: str
    corpus: Corpus
    attribution: Source
    compared: tuple[ComparedQuantile, ...]
    rounds: int
    calls: int
    beyond: int
    notes: tuple[str, ...]

    def said(self) -> dict[str, str | bool | None]:
        """Give what stands beside the trace: whose data it was drawn from, under which licence."""
        of = self.attribution
        whom = of.attribution
        if not whom.startswith(_DRAWN):  # drawn from drawn: once is enough
            whom = f"{_DRAWN} from the profile of {self.corpus.name}: {whom}"
        return {
            "source": self.corpus.name,
            "fingerprint": of.fingerprint,
            "synthetic": True,
            "licence": of.licence,
            "attribution": "".join(c if c.isprintable() else " " for c in whom)[:MOST_CHARS],
            "changes": f"sessions drawn by tracestat synth, seed {self.seed}; none of them was recorded",
        }

    def to_dict(self) -> dict[str, Json]:
        """Give the content of the truth file."""
        import msgspec

        generator: dict[str, Json] = {
            name: getattr(self, name) for name in ("version", "seed", "sessions", "developers")
        }
        return {
            "schema": SCHEMA,
            "synthetic": True,
            "generator": generator,
            "file": self.file,
            "profile": {
                "file": self.profile,
                "sha256": self.profile_sha256,
                "corpus": msgspec.to_builtins(self.corpus),
                "attribution": msgspec.to_builtins(self.attribution),
            },
            "written": {"rounds": self.rounds, "calls": self.calls, "beyond_observed": self.beyond},
            "compared": [asdict(row) for row in self.compared],
            "notes": list(self.notes),
        }


def compared(
    provider: str, recorded: Sequence[Recorded], drawn: Mapping[str, tuple[Floats, NDArray[np.intp]]]
) -> list[ComparedQuantile]:
    """Compare the quantiles of one provider.

    Parameters
    ----------
    provider : str
    recorded : sequence of Recorded
        Of all providers.
    drawn : mapping of str to (array, array)
        Values by quantity, and the number of the session of each.
    """
    before = {row.quantity: row for row in recorded if row.provider == provider}
    out = []
    for after in summaries(provider, {name: values for name, (values, _) in drawn.items()}):
        name = after.quantity
        values, session = drawn.get(name, (np.zeros(0), np.zeros(0, dtype=np.intp)))
        row = before.get(name)
        for quantile, p in _PROBABILITIES.items():
            was: float | None = getattr(row, quantile) if row is not None else None
            now: float | None = getattr(after, quantile)
            n = 0 if row is None else row.n
            reason = _reason(name, was, now, values, session, p)
            out.append(
                ComparedQuantile(
                    provider, name, QUANTITIES[name], quantile, was, now, _ratio(was, now), n, after.n, reason
                )
            )
    return out


def compared_eta(
    provider: str, unit: str, was: float | None, now: float | None, n_recorded: int, n_drawn: int
) -> ComparedQuantile:
    """Compare memoryfulness; it lies between -0.5 and 1, so that a difference above 0.1 is what needs a reason."""
    far = was is not None and now is not None and abs(was - now) > NEAR
    reason = _ETA if far else "" if was is not None and now is not None else ONE_SIDED[2]
    return ComparedQuantile(
        provider, f"eta_{unit}", "", "value", was, now, _ratio(was, now), n_recorded, n_drawn, reason
    )


def _ratio(was: float | None, now: float | None) -> float | None:
    ratio = math.nan if was is None or now is None or was == 0 else now / was
    return float(f"{ratio:.4g}") if math.isfinite(ratio) else None


def _reason(
    name: str, was: float | None, now: float | None, values: Floats, session: NDArray[np.intp], p: float
) -> str:
    if was is None or now is None:
        return ONE_SIDED[0] if was is None else ONE_SIDED[1]
    if abs(now - was) <= NEAR * abs(was):
        return ""
    if _is_chance(was, values, session, p):
        n = int(session.max()) + 1
        return f"not beyond the sampling error of {n:,} session{'s' if n > 1 else ''} drawn"
    return f"beyond sampling error; not kept: {_NOT_KEPT[name]}"


def _is_chance(was: float, values: Floats, session: NDArray[np.intp], p: float) -> bool:
    """Tell whether so many drawn sessions may by chance have their quantile elsewhere.

    The share of drawn values up to the recorded quantile would be p; its error is taken between sessions, and is no
    smaller than that of independent values.
    """
    n = values.size
    sessions = int(session.max()) + 1
    below, up_to = float((values < was).mean()), float((values <= was).mean())
    apart = np.bincount(session, weights=(values <= was) - up_to, minlength=sessions)
    spread = max(float(np.sqrt((apart**2).sum())) / n, float(np.sqrt(p * (1 - p) / n)))
    return below - _WIDE * spread <= p <= up_to + _WIDE * spread
