"""Frozen results: the numbers, their uncertainty, and how they were made."""

from __future__ import annotations

from tracestat.results.base import Group, Head, Result, TraceInfo, as_json, without_intervals
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
from tracestat.results.listing import CallsResult, KeysResult
from tracestat.results.log_parts import AskedLimit, StartWait
from tracestat.results.summary import HumanShare, Over, SummaryGroup, SummaryResult
from tracestat.results.survival import CurvePoint, SurvivalGroup, SurvivalResult
from tracestat.results.timeline import Bar, SessionFacts, StateTotal, TimelineResult

__all__ = [
    "NOT_AVAILABLE",
    "AskedLimit",
    "Bar",
    "Bin",
    "Bounds",
    "CallsResult",
    "Contrast",
    "CurvePoint",
    "DeadlinesCut",
    "Group",
    "HazardGroup",
    "HazardResult",
    "Head",
    "HumanShare",
    "Interval",
    "Json",
    "KeysResult",
    "Over",
    "Result",
    "Rise",
    "RiseFamily",
    "RiseLimit",
    "SessionFacts",
    "Slopes",
    "StartWait",
    "StateTotal",
    "SummaryGroup",
    "SummaryResult",
    "SurvivalGroup",
    "SurvivalResult",
    "TimelineResult",
    "TraceInfo",
    "UpperRange",
    "WithinKey",
    "as_json",
    "without_intervals",
]
