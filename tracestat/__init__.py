"""tracestat: the law of tool-pause durations of coding agents.

The public face. ``open`` a trace, then ask: each function takes a trace (or a path) and gives a frozen result with
``to_frame()``, ``chart()``, ``to_dict()`` and a table as its text. Functions load what they need when first used, so
that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracestat.api.calibration import calibrate
    from tracestat.api.common import open_trace as open  # noqa: A004  the face says tracestat.open, as polars or PIL do
    from tracestat.api.curves import survival_curve
    from tracestat.api.deadlines import deadlines
    from tracestat.api.exports import export_tracelab
    from tracestat.api.exports_constants import export_constants
    from tracestat.api.exports_durations import export_durations
    from tracestat.api.exports_profile import export_profile
    from tracestat.api.exports_replay import export_replay
    from tracestat.api.forecast_evaluation import evaluate_forecast
    from tracestat.api.forecast_predictions import predict_remaining
    from tracestat.api.forecaster import Forecaster
    from tracestat.api.forecasts import fit_forecast, load_forecast, save_forecast
    from tracestat.api.hardware import estimate_hardware, fit_hardware
    from tracestat.api.hazards import hazard
    from tracestat.api.laws import fit_laws
    from tracestat.api.lifelines_models import to_lifelines
    from tracestat.api.lists import calls, keys
    from tracestat.api.memoryfulness import memoryfulness
    from tracestat.api.occupancy import occupancy
    from tracestat.api.reproduce import reproduce
    from tracestat.api.residual import residual
    from tracestat.api.sections import summary_section
    from tracestat.api.sessions import session_timeline
    from tracestat.api.simulation import run_simulation
    from tracestat.api.summaries import summary
    from tracestat.api.sweep import read_sweep, sweep
    from tracestat.constants import load_constants
    from tracestat.errors import TracestatError, UsageError
    from tracestat.forecast.recent import recent_of
    from tracestat.hardware.files import load_hardware
    from tracestat.store import Trace
    from tracestat.synth import synth_trace

__all__ = [
    "Forecaster",
    "Trace",
    "TracestatError",
    "UsageError",
    "__version__",
    "calibrate",
    "calls",
    "deadlines",
    "estimate_hardware",
    "evaluate_forecast",
    "export_constants",
    "export_durations",
    "export_profile",
    "export_replay",
    "export_tracelab",
    "fit_forecast",
    "fit_hardware",
    "fit_laws",
    "hazard",
    "keys",
    "load_constants",
    "load_forecast",
    "load_hardware",
    "memoryfulness",
    "occupancy",
    "open",
    "predict_remaining",
    "read_sweep",
    "recent_of",
    "reproduce",
    "residual",
    "run_simulation",
    "save_forecast",
    "session_timeline",
    "summary",
    "summary_section",
    "survival_curve",
    "sweep",
    "synth_trace",
    "to_lifelines",
]

__version__ = "0.1.0"

_HOME = {
    "Forecaster": ("tracestat.api.forecaster", "Forecaster"),
    "Trace": ("tracestat.store", "Trace"),
    "TracestatError": ("tracestat.errors", "TracestatError"),
    "UsageError": ("tracestat.errors", "UsageError"),
    "calibrate": ("tracestat.api.calibration", "calibrate"),
    "calls": ("tracestat.api.lists", "calls"),
    "deadlines": ("tracestat.api.deadlines", "deadlines"),
    "estimate_hardware": ("tracestat.api.hardware", "estimate_hardware"),
    "evaluate_forecast": ("tracestat.api.forecast_evaluation", "evaluate_forecast"),
    "export_constants": ("tracestat.api.exports_constants", "export_constants"),
    "export_durations": ("tracestat.api.exports_durations", "export_durations"),
    "export_profile": ("tracestat.api.exports_profile", "export_profile"),
    "export_replay": ("tracestat.api.exports_replay", "export_replay"),
    "export_tracelab": ("tracestat.api.exports", "export_tracelab"),
    "fit_forecast": ("tracestat.api.forecasts", "fit_forecast"),
    "fit_hardware": ("tracestat.api.hardware", "fit_hardware"),
    "fit_laws": ("tracestat.api.laws", "fit_laws"),
    "hazard": ("tracestat.api.hazards", "hazard"),
    "keys": ("tracestat.api.lists", "keys"),
    "load_constants": ("tracestat.constants", "load_constants"),
    "load_forecast": ("tracestat.api.forecasts", "load_forecast"),
    "load_hardware": ("tracestat.hardware.files", "load_hardware"),
    "memoryfulness": ("tracestat.api.memoryfulness", "memoryfulness"),
    "occupancy": ("tracestat.api.occupancy", "occupancy"),
    "open": ("tracestat.api.common", "open_trace"),
    "predict_remaining": ("tracestat.api.forecast_predictions", "predict_remaining"),
    "read_sweep": ("tracestat.api.sweep", "read_sweep"),
    "recent_of": ("tracestat.forecast.recent", "recent_of"),
    "reproduce": ("tracestat.api.reproduce", "reproduce"),
    "residual": ("tracestat.api.residual", "residual"),
    "run_simulation": ("tracestat.api.simulation", "run_simulation"),
    "save_forecast": ("tracestat.api.forecasts", "save_forecast"),
    "session_timeline": ("tracestat.api.sessions", "session_timeline"),
    "summary": ("tracestat.api.summaries", "summary"),
    "summary_section": ("tracestat.api.sections", "summary_section"),
    "survival_curve": ("tracestat.api.curves", "survival_curve"),
    "sweep": ("tracestat.api.sweep", "sweep"),
    "synth_trace": ("tracestat.synth", "synth_trace"),
    "to_lifelines": ("tracestat.api.lifelines_models", "to_lifelines"),
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tracestat' has no attribute {name!r}")
    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
