"""The file of constants that a simulator and serving engines load: a machine, and the workload that it meets."""

from __future__ import annotations

from tracestat.constants.derived import Derived, Prefill, Reload, StoreConstants, derived_from
from tracestat.constants.files import constants_from_dict, constants_to_dict, load_constants
from tracestat.constants.forms import (
    AskedLimits,
    AtomConstants,
    Constants,
    ForecastFile,
    HoldFor,
    HumanPart,
    KeyConstants,
    Origin,
    Programs,
    Rule,
    TurnPoint,
    Workload,
)
from tracestat.constants.holds import holds_of, least_of, own_law, paper_law, shrunken_law

__all__ = [
    "AskedLimits",
    "AtomConstants",
    "Constants",
    "Derived",
    "ForecastFile",
    "HoldFor",
    "HumanPart",
    "KeyConstants",
    "Origin",
    "Prefill",
    "Programs",
    "Reload",
    "Rule",
    "StoreConstants",
    "TurnPoint",
    "Workload",
    "constants_from_dict",
    "constants_to_dict",
    "derived_from",
    "holds_of",
    "least_of",
    "load_constants",
    "own_law",
    "paper_law",
    "shrunken_law",
]
