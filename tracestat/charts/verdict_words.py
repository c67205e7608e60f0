"""How a configuration is named in tables and charts of verdicts, and what each of them says about its runs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracestat.charts.captions import made
from tracestat.charts.words import counted, plain
from tracestat.results import CapturedGain
from tracestat.results.verdicts import Verdict

__all__ = [
    "captured_words",
    "closing_notes",
    "eta_words",
    "how_judged",
    "key_label",
    "pass_words",
    "policy_words",
    "reason_words",
    "setting_words",
    "short_hardware",
    "value_words",
    "whole_percent",
    "yes_no",
]

_MODEL = "-llama3.1-8b-fp8"
_MOST_FIXED = 8
# a policy that is far worse than the baseline has no share worth its digits
_LEAST_SHARE, _WIDEST = -1.0, 9.99


def short_hardware(name: str) -> str:
    """Name a machine without the model that all shipped ones serve.

    Examples
    --------
    >>> short_hardware("h100like-llama3.1-8b-fp8-samepool")
    'h100like-samepool'
    """
    return plain(name.replace(_MODEL, ""))


def key_label(key: Mapping[str, object]) -> str:
    """Name a configuration by what tells it from the others.

    Examples
    --------
    >>> key_label({"load": 2.0, "host_gb": 20.0, "scale_context": 131072, "end": "free"})
    'x2, 20 GB, 128K, end free'
    >>> key_label({"host_gb": 0.0}), key_label({})
    ('no tier', 'all')
    """
    return ", ".join(setting_words(name, value) for name, value in key.items()) or "all"


def setting_words(name: str, value: object) -> str:
    """Name one setting of a configuration."""
    if isinstance(value, float) and not isinstance(value, bool):
        if name == "load":
            return f"x{value:g}"
        if name == "host_gb":
            return f"{value:g} GB" if value else "no tier"
        if name == "shrink":
            return f"1/{value:g}" if value != 1 else "full"
        return f"{name.replace('_', ' ')} {value:g}"
    if name == "hardware":
        return short_hardware(str(value))
    if name == "scale_context":
        return "as recorded" if value is None else f"{int(str(value)) / 1024:g}K"
    if name == "change":
        return plain(value) if value else "no change"
    if isinstance(value, bool):
        return f"{name.replace('_', ' ')} {'on' if value else 'off'}"
    return f"{name.replace('_', ' ')} {plain('-' if value is None else value).replace('_', ' ')}"


def value_words(value: object) -> str:
    """Write the value of a setting."""
    return f"{value:g}" if isinstance(value, float) else plain(value).replace("_", " ")


def eta_words(eta: float | None) -> str:
    """Name a memoryfulness; without a number it is the estimated one."""
    return "as estimated" if eta is None else f"{eta:g}"


def policy_words(policy: str, eta: float | None = None) -> str:
    """Name a policy, with the memoryfulness that was put in.

    Examples
    --------
    >>> policy_words("P2", -0.35), policy_words("P1")
    ('P2 (eta -0.35)', 'P1')
    """
    return plain(policy) if eta is None else f"{plain(policy)} (eta {eta:g})"


def captured_words(item: CapturedGain) -> str:
    """Write a share of the oracle's gain with its interval.

    Examples
    --------
    >>> from tracestat.results import Interval
    >>> captured_words(CapturedGain(Interval(0.5, 0.25, 0.625), 9)), captured_words(CapturedGain())
    ('50 % [25, 62]', '-')
    """
    share = item.share
    if share.value is None:
        return "-"
    if share.value < _LEAST_SHARE:
        return f"below {whole_percent(_LEAST_SHARE)} %"
    if share.low is None or share.high is None:
        return f"{whole_percent(share.value)} %"
    low, high = (whole_percent(min(max(bound, -_WIDEST), _WIDEST)) for bound in (share.low, share.high))
    return f"{whole_percent(share.value)} % [{low}, {high}]"


def whole_percent(value: float) -> str:
    """Write a share in whole percent without the sign; never minus zero.

    Examples
    --------
    >>> whole_percent(-0.001), whole_percent(0.126)
    ('0', '13')
    """
    return f"{round(100 * value)}"


def reason_words(reason: str) -> str:
    """Give a reason without the number that is another in each configuration, so that it is told once.

    Examples
    --------
    >>> reason_words("no interval: in 24% of the draws the oracle gains nothing")
    'no interval: in too many of the draws the oracle gains nothing'
    """
    return re.sub(r"in \d+% of", "in too many of", plain(reason))


def yes_no(value: bool | None) -> str:
    """Write an answer; None is one that cannot be given."""
    return "-" if value is None else "yes" if value else "no"


def how_judged(verdict: Verdict) -> list[str]:
    """Say how many runs were judged, what is the same in all of them, and of which trace they are."""
    fixed = [setting_words(name, value) for name, value in verdict.fixed.items()]
    lines = [
        f"{counted(verdict.runs, 'run')} of {counted(verdict.configurations, 'configuration')}, "
        f"{counted(verdict.seeds, 'seed')}; ratios are of the same seed, medians and 95 % intervals over seeds"
    ]
    if fixed:
        lines.append(f"in all runs: {', '.join(fixed[:_MOST_FIXED])}")
    return [*lines, *(made(verdict.head)[1:] if verdict.head.trace.fingerprint else [])]


def closing_notes(verdict: Verdict) -> tuple[str, ...]:
    """Give what is missing or must be known, and what must be known of the runs themselves."""
    return (*verdict.remarks, *verdict.head.notes)


def pass_words(passed: int, of: int, every: int) -> str:
    """Write how many pass, and in brackets how many of these in every seed.

    Examples
    --------
    >>> pass_words(6, 32, 0), pass_words(0, 0, 0)
    ('6 of 32 (0)', '-')
    """
    return f"{passed} of {of} ({every})" if of else "-"
