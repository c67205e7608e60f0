"""Policies of paused caches, one file each: a function of what it may know and of constants, that gives a plan.

The type of the first argument says what a policy knows: `SchedulerView`, `ProgressView` or `OracleView`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tracestat.simulate.policies.leaks import find_leak
from tracestat.simulate.policies.loading import Policy, View, ask, load_policy, view_type
from tracestat.simulate.policies.p0 import p0
from tracestat.simulate.policies.p1 import p1
from tracestat.simulate.policies.p2 import p2
from tracestat.simulate.policies.p2_r import p2_r
from tracestat.simulate.policies.p2_s import p2_s
from tracestat.simulate.policies.p3 import p3
from tracestat.simulate.policies.p4_d import p4_d
from tracestat.simulate.policies.p4_h import p4_h
from tracestat.simulate.policies.p5 import p5
from tracestat.simulate.policies.p5_b import p5_b
from tracestat.simulate.policies.p6 import p6
from tracestat.simulate.policies.p7 import p7
from tracestat.simulate.policies.p8 import p8
from tracestat.simulate.policies.p9 import p9
from tracestat.simulate.policies.progress import ProgressView, progress_view
from tracestat.simulate.policies.ttl import Settled, settle
from tracestat.simulate.policies.views import OracleView, SchedulerView, oracle_view, scheduler_view

__all__ = [
    "POLICIES",
    "OracleView",
    "Policy",
    "ProgressView",
    "SchedulerView",
    "Settled",
    "View",
    "ask",
    "find_leak",
    "load_policy",
    "oracle_view",
    "p0",
    "p1",
    "p2",
    "p2_r",
    "p2_s",
    "p3",
    "p4_d",
    "p4_h",
    "p5",
    "p5_b",
    "p6",
    "p7",
    "p8",
    "p9",
    "progress_view",
    "scheduler_view",
    "settle",
    "view_type",
]

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        "P0": p0,
        "P1": p1,
        "P2": p2,
        "P2-R": p2_r,
        "P2-S": p2_s,
        "P3": p3,
        "P4-D": p4_d,
        "P4-H": p4_h,
        "P5": p5,
        "P5-B": p5_b,
        "P6": p6,
        "P7": p7,
        "P8": p8,
        "P9": p9,
    }
)
