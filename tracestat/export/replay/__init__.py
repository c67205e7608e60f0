"""Recorded sessions as files that load generators and simulators replay, each with its pauses where it wants them."""

from __future__ import annotations
