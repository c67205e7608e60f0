"""Puts the truth together: laws from the catalogue, effects as drawn, counts as written."""

from __future__ import annotations

import math

import numpy as np

from tracestat.synth.catalogue import DEVELOPER_THETA, SKELETON_THETA, Provider
from tracestat.synth.laws import WaitLaw, compound_moments, eta_of_moments, pooled_slope
from tracestat.synth.life import Developer, Shop
from tracestat.synth.tally import Tally
from tracestat.synth.truth import AtomTruth, ClassTruth, EffectTruth, LawTruth, TurnTruth, WaitTruth

__all__ = ["atoms", "classes", "effects", "laws", "turns", "waits"]

POOLED_AT = (1.0, 3.0, 10.0, 30.0, 100.0)
LAST_SECOND = 1e5


def laws(shop: Shop) -> list[LawTruth]:
    """State the law of every tool that has one."""
    return [
        LawTruth(
            provider=shop.provider.name,
            tool=name,
            tool_class=shop.tools[name].tool_class,
            slope=shop.provider.slope(shop.tools[name]),
            log_a=law.log_a,
            t0=law.t0,
            range_seconds=(max(law.t0, 0.05), LAST_SECOND),
            median_seconds=shop.tools[name].median,
            by_skeleton=shop.tools[name].keyed,
        )
        for name, law in shop.laws.items()
    ]


def classes(shop: Shop, tally: Tally, who: tuple[Developer, ...]) -> list[ClassTruth]:
    """State the slopes of every class, and of all its tools together, as the keys were mixed in what was written."""
    groups: dict[str | None, list[str]] = {}
    for name in shop.laws:
        groups.setdefault(shop.tools[name].tool_class, []).append(name)
    if groups:
        groups[None] = list(shop.laws)
    out = []
    for tool_class, names in groups.items():
        keys = [_keys(shop, tally, who, name) for name in names]
        k, rate, t0, weights = (np.concatenate(column) for column in zip(*keys, strict=True))
        pooled = {}
        if weights.sum() > 0:
            weights = weights / weights.sum()
            pooled = {f"{t:g}": round(pooled_slope(t, k, rate, t0, weights), 4) for t in POOLED_AT}
        within = None if tool_class is None else round(float(k[0]) - 1.0, 9)
        out.append(ClassTruth(shop.provider.name, tool_class, within, pooled))
    return out


def _keys(
    shop: Shop, tally: Tally, who: tuple[Developer, ...], name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Shape, rate, start and number of calls of each (skeleton, developer) of a tool."""
    law = shop.laws[name]
    z, share = (shop.effects, shop.weights) if shop.tools[name].keyed else (np.ones(1), np.ones(1))
    calls = np.array([tally.calls[name, d.user] for d in who], dtype=float)
    weights = np.outer(calls, share).ravel()
    rate = math.exp(law.log_a) * np.outer([d.z for d in who], z).ravel()
    return np.full(rate.size, law.k), rate, np.full(rate.size, law.t0), weights


def effects(shops: dict[str, Shop], who: tuple[Developer, ...]) -> list[EffectTruth]:
    """State the multipliers of developers and skeletons."""
    values = {d.user: d.z for d in who}
    out = [EffectTruth("developer", None, DEVELOPER_THETA, round(float(np.var(list(values.values()))), 6), values)]
    for name, shop in shops.items():
        mean = float(np.sum(shop.weights * shop.effects))
        variance = round(float(np.sum(shop.weights * (shop.effects - mean) ** 2)), 6)
        by_text = {s.text: z for s, z in zip(shop.table, shop.multipliers, strict=True)}
        out.append(EffectTruth("skeleton", name, SKELETON_THETA, variance, by_text))
    return out


def atoms(provider: Provider, tally: Tally) -> list[AtomTruth]:
    """State the deadlines: by tool as drawn, and by provider as counted over the tool pauses."""
    out = []
    for tool, limits in provider.limits.items():
        delay = provider.overhead[tool]
        left = 1.0
        for limit in limits:
            mass = round(limit.share / left, 9)
            events = tally.limited[tool, limit.seconds]
            bounds = (delay.low, delay.high)
            out.append(AtomTruth(provider.name, tool, limit.seconds, bounds, mass, None, events, None))
            left = round(left - limit.share, 9)
    for seconds in sorted({limit.seconds for limits in provider.limits.values() for limit in limits}):
        events, at_risk, n = tally.stopped[seconds], tally.at_risk[seconds], tally.n["tool_pauses"]
        counted = round(events / at_risk, 6) if at_risk else None
        share = round(events / n, 6) if n else None
        out.append(AtomTruth(provider.name, None, seconds, None, counted, share, events, at_risk))
    return out


def turns(provider: Provider) -> list[TurnTruth]:
    """State the turn laws and their memoryfulness."""
    inner, outer = provider.rounds.moments(), provider.requests.moments()
    out = []
    for unit, law, moments in (
        ("request", provider.rounds, inner),
        ("session", provider.requests, compound_moments(outer, inner)),
    ):
        parameters = {"mu": law.mu, "sigma": law.sigma, "maximum": float(law.maximum)}
        eta = eta_of_moments(*moments)
        rounded = None if eta is None else round(eta, 9)
        out.append(TurnTruth(provider.name, unit, parameters, round(moments[0], 6), rounded))
    return out


def waits(provider: Provider) -> list[WaitTruth]:
    """State the lognormal waits."""
    named: dict[str, WaitLaw] = {
        **provider.human, "user_message": provider.user_gap, "generation": provider.generation
    }  # fmt: skip
    return [WaitTruth(provider.name, kind, law.median, law.sigma) for kind, law in named.items()]
