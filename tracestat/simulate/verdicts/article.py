"""Figures of the article that verdicts stand beside, by their ids in ``data/published.json``.

They are constants here, since nothing in this layer reads files of published figures; a test holds them to that file.
"""

from __future__ import annotations

from typing import Final

from tracestat.results.verdicts import ArticleFigure

__all__ = ["CAPTION_OF_CHECK", "ETA", "LEVERS", "P99_AT_16", "QUESTIONS", "SUCCESS", "TOTALS"]

SUCCESS: Final = (
    ArticleFigure("article.sim.rule.configurations", "stable configurations", "32", 32.0),
    ArticleFigure("article.sim.belady.ratio", "median p99 of P5-B over P2", "0.96", 0.96),
)
# (policy, criterion) -> in the median, in every seed; what the article does not print is not here
TOTALS: Final = {
    ("P4-D", "all"): (
        ArticleFigure("article.sim.deadline_prefetch.all", "P4-D gains over 10 %", "6", 6.0),
        ArticleFigure("article.sim.deadline_prefetch.every_seed", "the same in every seed", "0", 0.0),
    ),
    ("P4-D", "deadline"): (
        ArticleFigure("article.sim.deadline_prefetch.subset", "P4-D gains on the deadline subset", "9", 9.0),
    ),
    ("P5-B", "all"): (
        ArticleFigure("article.sim.belady.count", "P5-B gains over 10 %", "9", 9.0),
        ArticleFigure("article.sim.belady.every_seed", "the same in every seed", "5", 5.0),
    ),
    ("P4-D", "slo"): (ArticleFigure("article.sim.goodput", "a policy gains 10 % of sessions within SLO", "0", 0.0),),
    ("P5-B", "slo"): (ArticleFigure("article.sim.goodput", "a policy gains 10 % of sessions within SLO", "0", 0.0),),
}
# (lever, load) -> measure and figure
LEVERS: Final = {
    ("tier", 2.0): (
        ("tail_mean", ArticleFigure("article.host_tier.seed1", "larger tier, seed 1", "-71 %", -0.71)),
        ("tail_mean", ArticleFigure("article.host_tier.seed2", "larger tier, seed 2", "-39 %", -0.39)),
        ("tail_mean", ArticleFigure("article.host_tier.seed3", "larger tier, seed 3", "-29 %", -0.29)),
    ),
    ("tier", 4.0): (("tail_mean", ArticleFigure("article.host_tier.32", "larger tier", "-44 %", -0.44)),),
    ("native", 2.0): (("p95", ArticleFigure("article.native.p95", "native connector", "-41 %", -0.41)),),
    ("native", 4.0): (("p50", ArticleFigure("article.native.median", "native connector", "~-50 %", -0.5)),),
    ("cap", 2.0): (
        ("tail_mean", ArticleFigure("article.prefill_cap.least", "prefill cap, least of 3 seeds", "-17 %", -0.17)),
        ("tail_mean", ArticleFigure("article.prefill_cap.most", "prefill cap, most of 3 seeds", "-35 %", -0.35)),
    ),
    ("cap", 4.0): (
        ("p95", ArticleFigure("article.prefill_cap.p95", "prefill cap", "13 %", 0.13)),
        ("p50", ArticleFigure("article.prefill_cap.median", "prefill cap", "2.3", 2.3)),
    ),
}
# printed as ratios; the others above are changes
RATIOS: Final = frozenset(("article.prefill_cap.median",))
P99_AT_16: Final = ArticleFigure("article.sim_abs.engine", "p99 at 16 sessions on the engine", "10.29", 10.29)
CAPTION_OF_CHECK: Final = (
    ArticleFigure("article.cap_mean", "prefill cap at 16 sessions, mean ratio of the engine's seeds", "0.75", 0.75),
    ArticleFigure("article.sim_vs_engine.passed", "checks of its simulator passed, of ten", "3", 3.0),
    ArticleFigure("article.sim_vs_engine.tolerance", "tolerance of a ratio", "0.15", 0.15),
    ArticleFigure("article.sim_vs_engine.sensitivity", "shift of a ratio by a nudge of constants", "0.62", 0.62),
)
ETA: Final = (
    ArticleFigure("article.ttl_pin", "share of pauses that the rule pins, eta as estimated", "3.4 %", 0.034),
    ArticleFigure("article.ttl_pin_forced", "the same with eta forced positive, most", "~66.7 %±1", 0.667),
    ArticleFigure("article.sim.ttl_vs_lru", "largest difference from P1", "~10 %", 0.1),
)
QUESTIONS: Final = (
    ArticleFigure("article.lmcache_reload_gap.engine", "reloaded at 32 sessions, engine, GiB", "70", 70.0),
    ArticleFigure("article.lmcache_reload_gap.simulator", "the same, the article's simulator, GiB", "184", 184.0),
    ArticleFigure("article.recompute_share", "requests that recompute at 32 sessions", "37 %", 0.37),
)


def ratio_of(figure: ArticleFigure) -> float:
    """Give a published effect of a lever as on over off.

    Examples
    --------
    >>> ratio_of(LEVERS["tier", 4.0][0][1]), ratio_of(LEVERS["cap", 4.0][1][1])
    (0.56, 2.3)
    """
    return figure.value if figure.id in RATIOS else round(1 + figure.value, 9)
