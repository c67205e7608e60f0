"""``tracestat-profile``: the laws of a corpus as one JSON document, from which sessions can be drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import tracestat
from tracestat.errors import UsageError
from tracestat.export.attribution import Attribution
from tracestat.replacing import replacing
from tracestat.results import LAW_GRID, Interval, KeyLaw, KeyLaws, MemoryfulnessGroup, MemoryfulnessResult
from tracestat.results.profile import (
    Corpus,
    Duration,
    Eta,
    EtaInterval,
    HazardBin,
    Profile,
    ProfileKey,
    Programs,
    ProviderSessions,
    Recorded,
    Sessions,
    Source,
    Tail,
    TurnLaw,
)
from tracestat.survival.headline import ENOUGH_CLUSTERS

__all__ = ["ENDINGS", "check_ending", "key_of_law", "profile_of", "programs_of", "write_profile"]

ENDINGS: Final = (".json",)
# the names of the schema, which has two more keys than the laws tell apart
_KEY: Final = ("provider", "tool_class", "command_class", "tool", "command_skeleton", "developer")
_MS: Final = 1e3
_KINDS: Final[dict[str, Literal["deadline", "timeout", "sleep"]]] = {
    "deadline": "deadline",
    "timeout": "timeout",
    "sleep": "sleep",
}


def profile_of(
    laws: KeyLaws,
    programs: Programs,
    sessions: Sequence[ProviderSessions],
    recorded: Sequence[Recorded],
    about: Attribution,
    *,
    version: str | None = None,
    levels: Sequence[float],
    notes: Sequence[str] = (),
) -> Profile:
    """Put the document together.

    Parameters
    ----------
    laws : KeyLaws
        Of unit pause.
    programs : Programs
    sessions : sequence of ProviderSessions
    recorded : sequence of Recorded
    about : Attribution
    version : str, optional
        Of the release that the corpus is.
    levels : sequence of float
        Of the quantile grids in `sessions`.
    notes : sequence of str

    Returns
    -------
    Profile
        A function of the arguments: no time, no place.
    """
    head = laws.head
    providers = sorted({part.provider for part in sessions})
    return Profile(
        tracestat=tracestat.__version__,
        synthetic=about.synthetic,
        corpus=Corpus(
            name=about.source,
            version=version,
            sha256=about.fingerprint.removeprefix("sha256:"),
            extracted=None,
            provider=providers[0] if len(providers) == 1 else "all",
        ),
        duration=Duration(
            definition="pause" if head.unit == "pause" else "internal" if head.clock == "internal" else "wall",
            positive_only=False,
            parallel="merged" if head.unit == "pause" else "per_call",
            approvals="included",
            continuations="chained" if head.unit == "command" else "per_call",
            resolution_ms=min((_digits(law.resolution_seconds * _MS) for law in laws.laws), default=1.0),
            time_unit="ms",
            unit=head.unit or "pause",
            clock=head.clock or "wall",
            rows=head.rows,
            n_excluded=dict(sorted(head.excluded.items())),
        ),
        keys=[key_of_law(law) for law in laws.laws],
        programs=programs,
        sessions=Sessions(list(levels), list(sessions)),
        recorded=list(recorded),
        attribution=Source(**about.to_dict()),  # type: ignore[arg-type]  # equal fields, of a dict of unions
        notes=[*head.notes, *notes],
    )


def key_of_law(law: KeyLaw) -> ProfileKey:
    """Give one key in the form of the file: milliseconds, six digits.

    Parameters
    ----------
    law : KeyLaw

    Returns
    -------
    ProfileKey
        ``survival`` is the shrunk curve, on the whole grid; where there is none, that of its own rows.
    """
    own = _curve(law.survival)
    by_developer = law.n_developers >= ENOUGH_CLUSTERS
    alpha = law.tail_alpha
    return ProfileKey(
        key={name: law.key.get(name) for name in _KEY},
        n=law.n,
        n_censored=law.n_censored,
        n_units=law.n_developers if by_developer else law.n_sessions,
        unit="developer" if by_developer else "session",
        level=law.level,
        level_used=law.level_used,
        shrink_weight=_digits(law.weight),
        survival=_curve(law.used) or own,
        own_survival=own,
        atoms=[
            (_digits(atom.seconds * _MS), _digits(atom.mass.value), _KINDS[atom.kind])
            for atom in sorted(law.atoms, key=lambda atom: (atom.seconds, atom.kind))
            if atom.mass.value
        ],
        quantiles={level: _ms(interval.value) for level, interval in law.quantiles.items()},
        mrl=[
            (_digits(at.elapsed * _MS), _digits(at.mean.value * _MS), _ms(at.mean.low), _ms(at.mean.high))
            for at in law.residual
            if at.mean.value is not None
        ],
        median_residual=[
            (_digits(at.elapsed * _MS), _digits(at.median.value * _MS))
            for at in law.residual
            if at.median.value is not None
        ],
        hazard=[HazardBin(_digits(b.lo * _MS), _ms(b.hi), b.events, _digits(b.exposure * _MS)) for b in law.hazard],
        tail=Tail("none") if alpha is None or alpha <= 0 else Tail("pareto", _digits(alpha)),
        last_support_ms=_digits(law.last_seconds * _MS),
        notes=list(law.notes),
    )


def programs_of(by_provider: MemoryfulnessResult, pooled: MemoryfulnessResult) -> Programs:
    """Give the part about rounds per session and per request.

    Parameters
    ----------
    by_provider, pooled : MemoryfulnessResult
        By ``provider`` and by ``none``.
    """
    whole = {str(group.key["unit"]): group for group in pooled.groups}
    nothing = Interval(None)
    value = {unit: whole[unit].value if unit in whole else nothing for unit in ("session", "request")}
    etas: dict[str, dict[str, float | None]] = {}
    for group in by_provider.groups:
        etas.setdefault(str(group.key["provider"]), {})[str(group.key["unit"])] = _six(group.value.value)
    known = any(interval.value is not None for interval in value.values())
    return Programs(
        unit=["session", "request"],
        law_of_n=[_turns(group) for group in by_provider.groups],
        eta=Eta(_six(value["session"].value), _six(value["request"].value)),
        eta_interval=EtaInterval(
            session=(_six(value["session"].low), _six(value["session"].high)),
            request=(_six(value["request"].low), _six(value["request"].high)),
            method=next((interval.method for interval in value.values() if interval.method), None),
        )
        if known
        else None,
        eta_by_provider={name: Eta(of.get("session"), of.get("request")) for name, of in sorted(etas.items())},
        notes=[
            f"{group.key['provider']} {group.key['unit']}: {note}"
            for group in by_provider.groups
            for note in group.notes
        ],
    )


def check_ending(path: Path) -> None:
    """Refuse another ending than ``.json``, before anything is computed.

    Raises
    ------
    UsageError
    """
    if not path.name.lower().endswith(ENDINGS):
        raise UsageError(f"{path.name}: the name must end in .json")


def write_profile(profile: Profile, path: Path) -> None:
    """Write the document; what was there is replaced once the new file is complete.

    Raises
    ------
    UsageError
        Another ending than ``.json``.
    TracestatError
        The file cannot be written.
    """
    check_ending(path)
    body = profile.to_bytes()
    with replacing(path) as beside:
        beside.write_bytes(body)


def _turns(group: MemoryfulnessGroup) -> TurnLaw:
    unit: Literal["session", "request"] = "session" if group.key["unit"] == "session" else "request"
    points = [(point.turns, _digits(point.share.value)) for point in group.law if point.share.value is not None]
    return TurnLaw(unit, str(group.key["provider"]), group.n_programs, points)


def _curve(values: Sequence[float]) -> list[tuple[float, float]]:
    points = [(t, _digits(s)) for t, s in zip(_GRID_MS, values, strict=False)]
    # within a flat stretch its two ends say all
    flat = {i for i in range(1, len(points) - 1) if points[i - 1][1] == points[i][1] == points[i + 1][1]}
    return [point for i, point in enumerate(points) if i not in flat]


def _digits(value: float | None) -> float:
    return 0.0 if value is None else float(f"{value:.6g}")


_GRID_MS: Final = tuple(_digits(t * _MS) for t in LAW_GRID)


def _six(value: float | None) -> float | None:
    return None if value is None else _digits(value)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else _digits(seconds * _MS)
