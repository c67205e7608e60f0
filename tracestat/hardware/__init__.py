"""Constants of a machine: load, check, fit to timings, estimate from specifications."""

from __future__ import annotations

from tracestat.hardware.constants import Hardware, Provenance, Step, StorePath, Timing

__all__ = ["Hardware", "Provenance", "Step", "StorePath", "Timing"]
