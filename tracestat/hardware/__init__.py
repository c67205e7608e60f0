"""Constants of a machine: load, check, fit to timings, estimate from specifications."""

from __future__ import annotations

from tracestat.hardware.constants import Hardware, Provenance, Step, StorePath, Timing
from tracestat.hardware.files import (
    DEFAULT_HARDWARE,
    hardware_from_dict,
    hardware_ids,
    load_hardware,
)
from tracestat.hardware.writing import hardware_to_dict, hardware_to_toml

__all__ = [
    "DEFAULT_HARDWARE",
    "Hardware",
    "Provenance",
    "Step",
    "StorePath",
    "Timing",
    "hardware_from_dict",
    "hardware_ids",
    "hardware_to_dict",
    "hardware_to_toml",
    "load_hardware",
]
