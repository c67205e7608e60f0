"""Small results made by hand: round numbers, everything that a result may hold, and labels that mean harm."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tracestat.results import (
    NOT_AVAILABLE,
    Bin,
    CallsResult,
    Contrast,
    CurvePoint,
    DeadlinesCut,
    HazardGroup,
    HazardResult,
    Head,
    HumanShare,
    Interval,
    KeysResult,
    Over,
    Result,
    Rise,
    RiseFamily,
    Slopes,
    SummaryGroup,
    SummaryResult,
    SurvivalGroup,
    SurvivalResult,
    TraceInfo,
    UpperRange,
    WithinKey,
)

EDGES = (
    *(0.1285, 0.2435, 0.4625, 0.8755, 1.6605, 3.1485, 5.9685, 11.3135, 21.4485, 40.6595, 77.0805, 146.1245),
    *(277.0125, 525.1435, 995.5325, 1887.2665, 3577.7595, 6782.4855, 12857.8005),
)
WINDOWS = ((4.975, 5.25), (119.4, 126.0), (597.0, 630.0))
HOSTILE = "<script>alert('x')</script>"
UNICODE = "Ω 工具の名前 🛠️ naïve"
LONG = "custom_tool_" + "very_long_" * 20 + "end"
STEERING = "a\x1b[31mred\x1b[0m\nb\u202ec"


def head(command: str, **other: Any) -> Head:
    fields: dict[str, Any] = {
        "schema": f"tracestat.{command}/1",
        "tracestat": "0.1.0",
        "trace": TraceInfo("real_trace.jsonl.gz", "sha256:00", 29_916, 35_705, 3),
        "unit": "pause",
        "clock": "wall",
        "by": ("provider",),
        "where": None,
        "seed": 0,
        "rows": "tool",
        "synthetic": False,
        "excluded": {"negative": 0, "copies": 1214, "human": 139, "uninformative": 2},
    }
    return Head(**fields | other)


def interval(value: float, width: float, method: str = "developer CV3", *, ratio: bool = False) -> Interval:
    """An interval by developer, half as wide by session; on the log scale where asked."""

    def around(w: float) -> tuple[float, float]:
        return (value * math.exp(-w), value * math.exp(w)) if ratio else (value - w, value + w)

    low, high = around(width)
    return Interval(value, low, high, 0.95, method, around(width / 2), (low, high))


def bins(scale: float, slope: float, n: int) -> tuple[Bin, ...]:
    """A power law with n rows; the last closed bins are empty where n is small."""
    out, alive = [], float(n)
    for lo, hi in zip(EDGES, [*EDGES[1:], None], strict=True):
        top = hi if hi is not None else 4 * lo
        rate = scale * math.sqrt(lo * top) ** slope
        exposure = alive * (1 - math.exp(-rate * (top - lo))) / rate
        events = round(exposure * rate)
        alive -= exposure * rate
        if events:
            hazard = interval(events / exposure, 1.2 / math.sqrt(events) + 0.1, ratio=True)
        else:
            hazard = Interval(0.0, 0.0, 3.69 / exposure, method="exact")
        out.append(Bin(lo, hi, events, exposure, hazard))
    return tuple(out)


def without_window(item: Bin) -> Bin:
    """The bin as it is with the deadlines cut: fewer events where a window lies in it."""
    if item.hi is None or not any(item.lo < a < item.hi for a, _ in WINDOWS) or not item.events:
        return item
    events, exposure = round(0.7 * item.events), 0.9 * item.exposure
    return Bin(item.lo, item.hi, events, exposure, interval(events / exposure, 0.3, ratio=True))


def rise(significant: bool | None, **other: Any) -> Rise:
    if significant is None:
        empty = RiseFamily(None)
        return Rise(empty, empty, empty, None)
    contrast = Contrast(2.3, 4.3, Interval(1.45, 1.3, 1.62, method="developer max-T"), 0.0005)
    found = RiseFamily(significant, (contrast,) if significant else (), 0.33, 2.286, 4.335, "developer")
    wider = RiseFamily(significant, (contrast,) if significant else (), 0.52, 0.177, 4.335, "developer")
    return Rise(found, wider, found, other.get("pava", 1.12))


def hazard_group(key: Mapping[str, Any], *, n: int = 21_993, steep: float = -0.755, **other: Any) -> HazardGroup:
    kept = bins(0.35, steep, n)
    n_bins = max((i + 1 for i, b in enumerate(kept[:-1]) if b.events >= 30), default=0)
    slopes = Slopes(interval(steep, 0.215), Interval(steep + 0.06), interval(steep - 0.01, 0.2))
    cut = Slopes(interval(steep - 0.011, 0.21), Interval(steep + 0.05), interval(steep - 0.02, 0.2))
    above = Slopes(interval(steep - 0.017, 0.065), Interval(steep + 0.02), interval(steep - 0.019, 0.07))
    bend = interval(0.021, 0.03)
    less = tuple(without_window(b) for b in kept)
    fields: dict[str, Any] = {
        "n": n,
        "n_events": n - 62,
        "n_censored": 62,
        "n_sessions": 471,
        "n_developers": 26,
        "total_seconds": 300_000.0 + n,
        "bins": kept,
        "range": (EDGES[0], EDGES[n_bins]),
        "n_bins": n_bins,
        "n_in_range": sum(b.events for b in kept[:n_bins]),
        "slope": slopes,
        "curvature": bend,
        "local_slopes": ((1.0, steep - 0.02), (10.0, steep), (100.0, None)),
        "rise": rise(True),
        "upper_range": UpperRange(
            0.8755, above, bend, rise(True), DeadlinesCut(WINDOWS, above, bend, rise(False, pava=1.04))
        ),
        "deadlines_cut": DeadlinesCut(WINDOWS, cut, bend, rise(False), less),
        "within": (
            WithinKey(("tool_class",), 9, steep, interval(steep + 0.1, 0.05), 0.21, 0.13, steep + 0.12),
            WithinKey(("command_skeleton", "developer"), 3_150, steep, interval(steep + 0.25, 0.09), 0.59, 0.33, None),
            WithinKey(("session",), 471, steep, NOT_AVAILABLE, None, None, None, ("session: no key has 50 events",)),
        ),
    }
    return HazardGroup(key=key, **fields | other)


def empty_hazard_group(key: Mapping[str, Any]) -> HazardGroup:
    """A group that misses every minimum: counted, nothing estimated."""
    none = Slopes()
    cut = DeadlinesCut((), none, NOT_AVAILABLE, rise(None))
    return hazard_group(
        key,
        n=12,
        n_events=12,
        n_censored=0,
        n_sessions=12,
        n_developers=3,
        total_seconds=4.0,
        bins=(),
        range=None,
        n_bins=0,
        n_in_range=0,
        slope=none,
        curvature=NOT_AVAILABLE,
        local_slopes=(),
        rise=rise(None),
        upper_range=None,
        deadlines_cut=cut,
        within=(),
        notes=("12 sessions, 20 needed", "12 events, 100 needed"),
    )


def hazard_result(keys: list[str], **other: Any) -> HazardResult:
    groups = [
        hazard_group({"provider": key}, n=max(21_993 // (i + 1), 700), steep=-0.755 - 0.09 * min(i, 6))
        for i, key in enumerate(keys)
    ]
    return HazardResult(head("hazard", **other), (*groups, empty_hazard_group({"provider": "web"})))


def summary_group(key: Mapping[str, Any], **other: Any) -> SummaryGroup:
    fields: dict[str, Any] = {
        "n": 21_993,
        "n_events": 21_931,
        "n_censored": 62,
        "n_sessions": 471,
        "n_developers": 26,
        "total_seconds": 310_000.0,
        "quantiles": {
            "0.5": interval(0.22, 0.02),
            "0.9": interval(9.15, 0.9),
            "0.99": Interval(210.5, 170.0, None, method="session log-log"),
        },
        "share_within": {"1": interval(0.654, 0.02), "10": interval(0.9, 0.01), "60": interval(0.969, 0.004)},
        "over": {"60": Over(interval(0.031, 0.004), interval(0.849, 0.05), interval(0.81, 0.06), 0.78)},
        "token_seconds": 2.47e10,
        "human": HumanShare(0.006, 0.11, 0.1),
        "mixed_key": 1012,
        "by_end_kind": {"completed": 21_500, "superseded": 431, "lost": 60, "open": 2, "deadline": 0},
        "edit_over_minute": 0.85,
    }
    return SummaryGroup(key=key, **fields | other)


def empty_summary_group(key: Mapping[str, Any]) -> SummaryGroup:
    nothing = Over(NOT_AVAILABLE, NOT_AVAILABLE, NOT_AVAILABLE)
    return summary_group(
        key,
        n=0,
        n_events=0,
        n_censored=0,
        n_sessions=0,
        n_developers=0,
        total_seconds=0.0,
        quantiles={"0.5": NOT_AVAILABLE, "0.99": Interval(None, 30.0, None)},
        share_within={},
        over={"60": nothing},
        token_seconds=0.0,
        human=HumanShare(None, None, None),
        mixed_key=0,
        by_end_kind={},
        edit_over_minute=None,
        notes=("no rows",),
    )


def summary_result(keys: list[str], **other: Any) -> SummaryResult:
    groups = [
        summary_group({"provider": key, "unit": unit}, n=21_993 // (i + 1), total_seconds=310_000.0 / (3 * i + 1))
        for i, key in enumerate(keys)
        for unit in ("pause", "call")
    ]
    return SummaryResult(head("summary", **other), (*groups, empty_summary_group({"provider": "web", "unit": "pause"})))


def tracelab_result(**other: Any) -> SummaryResult:
    figures = {
        "counts": {"rounds": 29_916, "tool_calls": 35_705, "sessions": 545, "users": 37},
        "latency_summary": [
            {
                "tool_name": "Bash",
                "calls": 9453,
                "latency_count": 9432,
                "missing_latency": 15,
                "nonpositive_latency": 6,
                "error_calls": 693,
                "mean_ms": 25_850.09,
                "p50_ms": 2363.5,
                "p90_ms": 20_194.2,
                "p99_ms": 252_766.9,
                "max_ms": 40_182_336.0,
            },
            {"tool_name": None, "calls": 1, "latency_count": 0, "missing_latency": 1, "mean_ms": None},
        ],
        "latency_bins": [
            {"label": "<10ms", "tool_calls": 4563, "total_latency_ms": 19_498.0, "latency_share": 4.04e-5,
             "call_share": 0.1486},
            {"label": ">10m", "tool_calls": 20, "total_latency_ms": 3e8, "latency_share": None, "call_share": 0.0004},
        ],
        "command_chains": {
            "commands": 6248, "finished": 6207, "with_continuation": 201,
            "wall_until_finished_ms": {"n": 6207, "p50_lower": 191, "max": 1_270_395, "sum": 28_051_160},
        },
        "wall_clock_by_provider_ms": {
            "codex": {"n": 7539, "sum": 19_434_061, "p50": 196.0, "p90": 4158.2, "p99": 30_257.1},
        },
    }  # fmt: skip
    chosen = {"definition": "tracelab", "unit": "call", "clock": "effective", "rows": "all", "excluded": {}}
    return SummaryResult(head("summary", **chosen | other), (), figures)


def survival_group(key: Mapping[str, Any], *, scale: float = 2.0, **other: Any) -> SurvivalGroup:
    times = [0.0, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0]
    curve = []
    for t in times:
        share = 1 / (1 + (t / scale) ** 0.8)
        w = 0.08 * share * (1 - share) + 1e-4
        S = Interval(1.0) if t == 0 else interval(share, min(w, share / 2), "developer log-log")
        curve.append(CurvePoint(t, S, round(21_993 * share)))
    fields: dict[str, Any] = {
        "n": 21_993,
        "n_events": 21_931,
        "n_censored": 62,
        "n_sessions": 471,
        "n_developers": 26,
        "total_seconds": 310_000.0,
        "curve": tuple(curve),
        "quantiles": {"0.5": interval(0.22, 0.02), "0.9": interval(9.15, 0.9), "0.99": NOT_AVAILABLE},
        "last_observed": 40_182.3,
    }
    return SurvivalGroup(key=key, **fields | other)


def survival_result(keys: list[str], **other: Any) -> SurvivalResult:
    groups = [survival_group({"provider": key}, scale=0.5 + i, n=21_993 // (i + 1)) for i, key in enumerate(keys)]
    empty = survival_group(
        {"provider": "web"}, n=0, n_events=0, n_censored=0, curve=(), quantiles={}, last_observed=None,
        notes=("no rows",),
    )  # fmt: skip
    return SurvivalResult(head("survival", **other), (*groups, empty))


def keys_result(names: list[str], **other: Any) -> KeysResult:
    providers = [{"value": "claude", "rows": 21_993}, {"value": "codex", "rows": 3771}]
    keys = [
        {"key": "provider", "n_values": 2, "values": providers},
        {"key": "tool", "n_values": 84, "values": [{"value": n, "rows": 900 // (i + 1)} for i, n in enumerate(names)]},
        {"key": "permission_mode", "n_values": 1, "values": [{"value": None, "rows": 25_764}]},
        {"key": "project", "n_values": 0, "values": []},
    ]
    return KeysResult(head("keys", by=(), clock=None, **other), tuple(keys))


def calls_result(names: list[str], **other: Any) -> CallsResult:
    waits = [
        {
            "provider": "claude",
            "developer": "user_0badcafe",
            "session": f"claude:11111111-2222-3333-4444-55555555{i:04d}",
            "tool": name,
            "tool_class": "shell",
            "command_skeleton": "cd && pytest | tail" if i % 2 else None,
            "started_at": dt.datetime(2026, 3, 1, 23, 30) + dt.timedelta(hours=i),
            "seconds": 40_182.336 / (i + 1) ** 2,
            "observed": i != 2,
            "end_kind": "lost" if i == 2 else "completed",
        }
        for i, name in enumerate(names)
    ]
    return CallsResult(head("calls", unit="call", by=(), zone="Europe/Berlin", **other), tuple(waits))


Maker = Callable[..., Result]
MAKERS: Mapping[str, Maker] = {
    "hazard": hazard_result,
    "summary": summary_result,
    "survival": survival_result,
    "keys": keys_result,
    "calls": calls_result,
}


def make(kind: str, names: list[str], **other: Any) -> Result:
    return MAKERS[kind](names, **other)


@pytest.fixture(name="make", scope="session")
def make_fixture() -> Maker:
    """Make a result of a kind with groups (values, waits) of the given names."""
    return make


@pytest.fixture(name="tracelab", scope="session")
def tracelab_fixture() -> Maker:
    return tracelab_result


@pytest.fixture(name="group", scope="session")
def group_fixture() -> Maker:
    return hazard_group  # type: ignore[return-value]


@pytest.fixture(name="hostile", scope="session")
def hostile_fixture() -> list[str]:
    return [HOSTILE, UNICODE, LONG, STEERING, "[bold]x[/bold] :smile:", ""]
