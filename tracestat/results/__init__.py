"""Frozen results: the numbers, their uncertainty, and how they were made.

A kind of result is loaded when it is first named: making the classes of all of them takes longer than many an answer.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracestat.results.base import Group, Head, Result, TraceInfo, as_json, without_intervals
    from tracestat.results.deadlines import (
        DeadlineAtom,
        DeadlineCost,
        DeadlinesGroup,
        DeadlinesResult,
        HazardPiece,
        NamedLimit,
        WholeSecond,
    )
    from tracestat.results.fit import FitGroup, FitResult, LawBin, LawFit, QuantilePair
    from tracestat.results.forecast_evaluation import (
        Calibrated,
        Comparison,
        ForecastEvaluation,
        ForecastHeadline,
        HeadlineCut,
        HorizonScore,
        LandmarkScores,
        MethodEvaluation,
        OrderEvaluation,
        SplitCounts,
    )
    from tracestat.results.forecast_fit import (
        ForecastDependence,
        ForecastFit,
        ForecastLevel,
        ForecastLimit,
        ForecastPath,
        ForecastPool,
        ForecastProvider,
        PoolWeight,
    )
    from tracestat.results.forecast_prediction import (
        AtomAhead,
        CallForecast,
        ForecastPrediction,
        LevelAnswer,
        LevelCurve,
        LimitCut,
        PoolAnswer,
        PoolMember,
        RemainingTime,
        RoundDependence,
    )
    from tracestat.results.hazard import (
        Bin,
        Contrast,
        DeadlinesCut,
        HazardGroup,
        HazardResult,
        Rise,
        RiseFamily,
        RiseLimit,
        Slopes,
        UpperRange,
        WithinKey,
    )
    from tracestat.results.interval import NOT_AVAILABLE, Bounds, Interval, Json
    from tracestat.results.key_laws import (
        LAW_GRID,
        LEVELS,
        KeyAtom,
        KeyHazard,
        KeyLaw,
        KeyLaws,
        KeyResidual,
        LawOfRange,
    )
    from tracestat.results.listing import CallsResult, KeysResult
    from tracestat.results.log_parts import AskedLimit, StartWait
    from tracestat.results.memoryfulness import (
        LawPoint,
        MemoryfulnessGroup,
        MemoryfulnessResult,
        RoundsLeft,
        Turns,
    )
    from tracestat.results.reproduce import ReproducedFigure, ReproduceResult
    from tracestat.results.residual import ResidualGroup, ResidualPoint, ResidualResult
    from tracestat.results.sections import (
        CacheSummary,
        CommandsSummary,
        SectionFigure,
        SectionGroup,
        SectionResult,
        SessionsSummary,
        TimeoutPoint,
        TimeoutSweep,
    )
    from tracestat.results.summary import HumanShare, Over, SummaryGroup, SummaryResult
    from tracestat.results.survival import CurvePoint, SurvivalGroup, SurvivalResult
    from tracestat.results.timeline import Bar, SessionFacts, StateTotal, TimelineResult

__all__ = [
    "LAW_GRID",
    "LEVELS",
    "NOT_AVAILABLE",
    "AskedLimit",
    "AtomAhead",
    "Bar",
    "Bin",
    "Bounds",
    "CacheSummary",
    "Calibrated",
    "CallForecast",
    "CallsResult",
    "CommandsSummary",
    "Comparison",
    "Contrast",
    "CurvePoint",
    "DeadlineAtom",
    "DeadlineCost",
    "DeadlinesCut",
    "DeadlinesGroup",
    "DeadlinesResult",
    "FitGroup",
    "FitResult",
    "ForecastDependence",
    "ForecastEvaluation",
    "ForecastFit",
    "ForecastHeadline",
    "ForecastLevel",
    "ForecastLimit",
    "ForecastPath",
    "ForecastPool",
    "ForecastPrediction",
    "ForecastProvider",
    "Group",
    "HazardGroup",
    "HazardPiece",
    "HazardResult",
    "Head",
    "HeadlineCut",
    "HorizonScore",
    "HumanShare",
    "Interval",
    "Json",
    "KeyAtom",
    "KeyHazard",
    "KeyLaw",
    "KeyLaws",
    "KeyResidual",
    "KeysResult",
    "LandmarkScores",
    "LawBin",
    "LawFit",
    "LawOfRange",
    "LawPoint",
    "LevelAnswer",
    "LevelCurve",
    "LimitCut",
    "MemoryfulnessGroup",
    "MemoryfulnessResult",
    "MethodEvaluation",
    "NamedLimit",
    "OrderEvaluation",
    "Over",
    "PoolAnswer",
    "PoolMember",
    "PoolWeight",
    "QuantilePair",
    "RemainingTime",
    "ReproduceResult",
    "ReproducedFigure",
    "ResidualGroup",
    "ResidualPoint",
    "ResidualResult",
    "Result",
    "Rise",
    "RiseFamily",
    "RiseLimit",
    "RoundDependence",
    "RoundsLeft",
    "SectionFigure",
    "SectionGroup",
    "SectionResult",
    "SessionFacts",
    "SessionsSummary",
    "Slopes",
    "SplitCounts",
    "StartWait",
    "StateTotal",
    "SummaryGroup",
    "SummaryResult",
    "SurvivalGroup",
    "SurvivalResult",
    "TimelineResult",
    "TimeoutPoint",
    "TimeoutSweep",
    "TraceInfo",
    "Turns",
    "UpperRange",
    "WholeSecond",
    "WithinKey",
    "as_json",
    "without_intervals",
]

_HOME = {
    "base": (
        "Group",
        "Head",
        "Result",
        "TraceInfo",
        "as_json",
        "without_intervals",
    ),
    "deadlines": (
        "DeadlineAtom",
        "DeadlineCost",
        "DeadlinesGroup",
        "DeadlinesResult",
        "HazardPiece",
        "NamedLimit",
        "WholeSecond",
    ),
    "fit": ("FitGroup", "FitResult", "LawBin", "LawFit", "QuantilePair"),
    "forecast_evaluation": (
        "Calibrated",
        "Comparison",
        "ForecastEvaluation",
        "ForecastHeadline",
        "HeadlineCut",
        "HorizonScore",
        "LandmarkScores",
        "MethodEvaluation",
        "OrderEvaluation",
        "SplitCounts",
    ),
    "forecast_fit": (
        "ForecastDependence",
        "ForecastFit",
        "ForecastLevel",
        "ForecastLimit",
        "ForecastPath",
        "ForecastPool",
        "ForecastProvider",
        "PoolWeight",
    ),
    "forecast_prediction": (
        "AtomAhead",
        "CallForecast",
        "ForecastPrediction",
        "LevelAnswer",
        "LevelCurve",
        "LimitCut",
        "PoolAnswer",
        "PoolMember",
        "RemainingTime",
        "RoundDependence",
    ),
    "hazard": (
        "Bin",
        "Contrast",
        "DeadlinesCut",
        "HazardGroup",
        "HazardResult",
        "Rise",
        "RiseFamily",
        "RiseLimit",
        "Slopes",
        "UpperRange",
        "WithinKey",
    ),
    "interval": (
        "Bounds",
        "Interval",
        "Json",
        "NOT_AVAILABLE",
    ),
    "listing": (
        "CallsResult",
        "KeysResult",
    ),
    "log_parts": ("AskedLimit", "StartWait"),
    "key_laws": ("LAW_GRID", "LEVELS", "KeyAtom", "KeyHazard", "KeyLaw", "KeyLaws", "KeyResidual", "LawOfRange"),
    "memoryfulness": (
        "LawPoint",
        "MemoryfulnessGroup",
        "MemoryfulnessResult",
        "RoundsLeft",
        "Turns",
    ),
    "residual": (
        "ResidualGroup",
        "ResidualPoint",
        "ResidualResult",
    ),
    "reproduce": ("ReproduceResult", "ReproducedFigure"),
    "sections": (
        "CacheSummary",
        "CommandsSummary",
        "SectionFigure",
        "SectionGroup",
        "SectionResult",
        "SessionsSummary",
        "TimeoutPoint",
        "TimeoutSweep",
    ),
    "summary": (
        "HumanShare",
        "Over",
        "SummaryGroup",
        "SummaryResult",
    ),
    "survival": (
        "CurvePoint",
        "SurvivalGroup",
        "SurvivalResult",
    ),
    "timeline": (
        "Bar",
        "SessionFacts",
        "StateTotal",
        "TimelineResult",
    ),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE:
        raise AttributeError(f"module 'tracestat.results' has no attribute {name!r}")
    return getattr(import_module(f"tracestat.results.{_MODULE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
