"""One cell of a grid: everything but the seed that decides a run, flat, so that a table of runs can hold it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, Literal

from tracestat.errors import UsageError
from tracestat.hardware import DEFAULT_HARDWARE, Hardware
from tracestat.simulate.forms import Settings

__all__ = ["SESSIONS_AT_LOAD_1", "Configuration", "changed_hardware", "settings_of"]

SESSIONS_AT_LOAD_1: Final = 8
_GB: Final = 1e9
_MOST_SLOTS: Final = 4096
# constants of the machine that `change` may multiply; those of a store path apply to the one in use
_MACHINE: Final = (
    "step.base",
    "step.per_token",
    "step.attention",
    "step.decode_read",
    "client",
    "pool_tokens",
    "load_fixed",
    "load_per_token",
    "store_per_token",
)
# constants of the workload, which only policies read
_POLICY: Final = ("eta",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What is run.

    Attributes
    ----------
    policy : str
        Id, or ``FILE.py:FUNCTION``.
    load : float
        8 sessions at once per unit.
    host_gb : float
        Host tier, 10^9 bytes; 0: none.
    hardware : str
        Id or file of the machine.
    scale_context : int or None
        Tokens that the 99th percentile of the sessions' largest contexts is brought to; None: as recorded.
    shrink : float
        Contexts and pool are divided by it, host tier and costs are not.
    human_gap : str
        As for ``simulation_workload``.
    cache_misses : {"recorded", "reused"}
    eta : float or None
        In place of the estimated memoryfulness, for the policies that read it.
    reload_ratio : float or None
        Seconds to reload 32,768 tokens over those to compute them, in place of the load costs of the machine.
    change : str
        Constant of the machine, or ``eta``, and what it is multiplied with: ``step.per_token=1.1``; empty: none.
    hours, warmup_s : float
        Simulated hours, and seconds of them that are not counted.
    prefill_threshold, cap_memory, max_num_seqs, granularity, end, store_when, host_evict, link, store_path, \
store_holds_blocks, load_order, chunk_tokens
        As in `Settings`; ``link`` and ``chunk_tokens`` None are those of the machine.
    """

    policy: str = "P1"
    load: float = 4.0
    host_gb: float = 20.0
    hardware: str = DEFAULT_HARDWARE
    scale_context: int | None = 32_768
    shrink: float = 1.0
    human_gap: str = "cap:60"
    cache_misses: Literal["recorded", "reused"] = "recorded"
    eta: float | None = None
    reload_ratio: float | None = None
    change: str = ""
    hours: float = 1.0
    warmup_s: float = 600.0
    prefill_threshold: int = 0
    cap_memory: float = 0.0
    max_num_seqs: int = 256
    granularity: Literal["tail", "session"] = "tail"
    end: Literal["cached", "free"] = "cached"
    store_when: Literal["completion", "step"] = "completion"
    host_evict: Literal["session", "tail", "head"] = "session"
    link: Literal["shared", "duplex"] | None = None
    store_path: Literal["lmcache", "native"] = "lmcache"
    store_holds_blocks: bool = False
    load_order: Literal["at_admission", "before_scheduling"] = "at_admission"
    chunk_tokens: int | None = None

    @property
    def slots(self) -> int:
        """Sessions that are live at once."""
        return round(SESSIONS_AT_LOAD_1 * self.load)

    @property
    def under(self) -> Configuration:
        """The same without the policy and what only policies read: what its baseline shares."""
        return replace(self, policy="P1", eta=None)


def settings_of(configuration: Configuration, hardware: Hardware) -> Settings:
    """Give the settings of a run.

    Raises
    ------
    UsageError
        A number out of range.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> settings = settings_of(Configuration(load=2), load_hardware())
    >>> settings.slots, settings.host_tokens, settings.horizon
    (16, 152587, 3600.0)
    """
    c = configuration
    for name, number in (("load", c.load), ("hours", c.hours), ("shrink", c.shrink)):
        if not 0 < number < float("inf"):
            raise UsageError(f"{name} {number:g}: give a number above 0")
    if not 1 <= c.slots <= _MOST_SLOTS:
        raise UsageError(f"load {c.load:g}: that is {c.slots:,} sessions at once; give 1 to {_MOST_SLOTS:,}")
    if not 0 <= c.host_gb < float("inf"):
        raise UsageError(f"host-gb {c.host_gb:g}: give 0 (no host tier) or more")
    if not 0 <= c.warmup_s < 3600 * c.hours:
        raise UsageError(f"warmup {c.warmup_s:g} s: give less than the {3600 * c.hours:g} s that are simulated")
    own = {field.name for field in fields(Settings)} & {field.name for field in fields(Configuration)}
    given = {name: getattr(c, name) for name in own - {"link"}}
    return Settings(
        slots=c.slots,
        horizon=3600.0 * c.hours,
        warmup=c.warmup_s,
        host_tokens=0 if c.policy == "P0" else int(c.host_gb * _GB / hardware.kv_bytes_per_token),
        link=c.link or hardware.link,
        **given,
    )


def change_of(configuration: Configuration) -> tuple[str, float] | None:
    """Give which constant is changed and by which factor.

    Raises
    ------
    UsageError
        Not of the form NAME=FACTOR, or no such constant.
    """
    if not configuration.change:
        return None
    name, _, text = configuration.change.partition("=")
    try:
        factor = float(text)
    except ValueError:
        factor = float("nan")
    if name not in (*_MACHINE, *_POLICY):
        raise UsageError(
            f"change {configuration.change}: no such constant; there are {', '.join((*_MACHINE, *_POLICY))}"
        )
    if not 0 < factor < float("inf"):
        raise UsageError(f"change {configuration.change}: write NAME=FACTOR with a factor above 0")
    return name, factor


def changed_hardware(configuration: Configuration, hardware: Hardware) -> Hardware:
    """Give the machine of a configuration: shrunk, with another reload, with one constant changed.

    Examples
    --------
    >>> from tracestat.hardware import load_hardware
    >>> machine = changed_hardware(Configuration(change="step.base=1.1", shrink=5), load_hardware())
    >>> round(machine.step.base, 9), machine.pool_tokens
    (0.011, 16272)
    """
    from tracestat.hardware.timing import prefill_seconds

    c = configuration
    block = hardware.block_tokens
    if c.shrink != 1:
        hardware = replace(hardware, pool_tokens=int(hardware.pool_tokens / c.shrink) // block * block)
    if c.store_path not in hardware.stores:
        raise UsageError(f"hardware {hardware.id}: has no store path {c.store_path}; {', '.join(hardware.stores)}")
    if c.reload_ratio is not None:
        if not 0 < c.reload_ratio < float("inf"):
            raise UsageError(f"reload_ratio {c.reload_ratio:g}: give a number above 0")
        per_token = c.reload_ratio * prefill_seconds(hardware, 32_768) / 32_768
        hardware = _with_path(hardware, c.store_path, load_fixed=0.0, load_per_token=per_token)
    change = change_of(c)
    if change is None or change[0] in _POLICY:
        return hardware
    name, factor = change
    if name.startswith("step."):
        field = name.partition(".")[2]
        return replace(hardware, step=replace(hardware.step, **{field: getattr(hardware.step, field) * factor}))
    if name == "client":
        return replace(hardware, client=hardware.client * factor)
    if name == "pool_tokens":
        return replace(hardware, pool_tokens=int(hardware.pool_tokens * factor) // block * block)
    path = hardware.stores[c.store_path]
    return _with_path(hardware, c.store_path, **{name: getattr(path, name) * factor})


def _with_path(hardware: Hardware, name: str, **numbers: float) -> Hardware:
    path = replace(hardware.stores[name], **numbers)  # type: ignore[arg-type]
    return replace(hardware, stores={**hardware.stores, name: path})
