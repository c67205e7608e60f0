"""How a number is written for a reader, in tables and in charts alike: with its unit, and with its interval.

A number never stands without the interval that belongs to it; ``-`` means "not available", and the reason stands in
the notes below.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable

from tracestat.results import Bounds, Interval

__all__ = [
    "MISSING",
    "amount",
    "bounds",
    "count",
    "counted",
    "distinct",
    "drawn",
    "joined",
    "p_value",
    "per_second",
    "percent",
    "percent_interval",
    "plain",
    "rate_interval",
    "seconds",
    "seconds_interval",
    "shorten",
    "slope",
    "slope_interval",
    "span",
]

MISSING = "-"
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
# joiners that emoji and Indic scripts need; every other invisible character is spelled out
_HARMLESS = "\u200c\u200d"


def plain(text: object) -> str:
    r"""Give a label as one line in which every invisible or steering character is spelled out.

    Labels come from traces, and a trace may come from anyone: an escape sequence must not reach a terminal.

    Examples
    --------
    >>> plain("a\n\x1b[31mb")
    'a\\x0a\\x1b[31mb'
    """
    out = []
    for char in str(text):
        kind = unicodedata.category(char)
        if kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in _HARMLESS:
            out.append(f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return "".join(out)


def drawn(text: object) -> str:
    """Give a label for a chart: as :func:`plain`, and never a tag.

    A chart becomes part of a page, in notebooks by code that is not ours, so a ``<`` that could open a
    tag is drawn by a sign that only looks like it.

    Examples
    --------
    >>> drawn("git <substitution>"), drawn("<10ms"), drawn("</script")
    ('git ‹substitution›', '<10ms', '‹/script')
    """
    paired = re.sub(r"<([A-Za-z/!?][^<>]*)>", r"‹\1›", plain(text))
    return re.sub(r"<(?=[A-Za-z/!?])", "‹", paired)


def shorten(text: str, width: int, measure: Callable[[str], int] = len) -> str:
    """Cut a text in the middle, so that it takes at most ``width`` columns.

    Parameters
    ----------
    text : str
    width : int
        At least 1.
    measure : callable
        Gives the columns that a text takes; wide characters take two.

    Examples
    --------
    >>> shorten("custom_tool_with_a_long_name", 15)
    'custom_…ng_name'
    """
    if measure(text) <= width:
        return text
    left, right = width // 2, (width - 1) // 2
    head, tail = "", ""
    for char in text:
        if measure(head + char) > left:
            break
        head += char
    for char in reversed(text):
        if measure(char + tail) > right:
            break
        tail = char + tail
    return f"{head}…{tail}"


def distinct(texts: Iterable[str], width: int) -> list[str]:
    """Cut labels for a chart in the middle, and number those that look alike, since a bar or colour belongs to each.

    Examples
    --------
    >>> distinct(["Bash", "a_long_name_1_of_it", "a_long_name_2_of_it", ""], 9)
    ['Bash', 'a_lo…f_it', 'a_lo…f_it (2)', '(empty)']
    """
    out: dict[str, None] = {}
    for text in texts:
        short = shorten(drawn(text), width) or "(empty)"
        name, number = short, 1
        while name in out:
            number += 1
            name = f"{short} ({number})"
        out[name] = None
    return list(out)


def joined(items: list[str], most: int) -> str:
    """List at most so many items, and say how many more there are.

    Examples
    --------
    >>> joined(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most:,} more"


def count(value: int | None) -> str:
    """Write a count.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return MISSING if value is None else f"{value:,}"


def counted(number: int, what: str, many: str = "") -> str:
    """Write a count with its noun in the right number.

    Examples
    --------
    >>> counted(1, "row"), counted(1234, "row"), counted(0, "copy", "copies")
    ('1 row', '1,234 rows', '0 copies')
    """
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"


def amount(value: float | None) -> str:
    """Write a large amount (token-seconds) with three digits and k, M, G or T.

    Examples
    --------
    >>> amount(950), amount(1.234e6), amount(5.6e14)
    ('950', '1.23 M', '560 T')
    """
    if value is None:
        return MISSING
    for size, sign in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= size:
            value /= 1e3 if sign == " k" else size
            return f"{_three(value)}{sign}"
    return f"{value:,.0f}"


def _three(value: float) -> str:
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f}"


def _unit(value: float) -> tuple[float, str]:
    """Choose the unit in which a duration is read: seconds below 100 s, minutes below 100 min, hours below 48 h."""
    value = abs(value)
    if value < 99.5:
        return 1.0, "s"
    if value < 99.5 * _MINUTE:
        return _MINUTE, "min"
    if value < 48 * _HOUR:
        return _HOUR, "h"
    return _DAY, "d"


def _digits(value: float) -> str:
    """Write two digits that count, or all before the point; durations are known to the millisecond."""
    size = abs(value)
    if size == 0:
        return "0"
    if size < 5e-4:
        return f"{value:.1g}" if size >= 1e-4 else f"{value:.0e}".replace("e-0", "e-")
    decimals = 3 if size < 0.0995 else 2 if size < 0.995 else 1 if size < 9.95 else 0
    return f"{value:,.{decimals}f}"


def seconds(value: float | None) -> str:
    """Write a duration in the unit in which one reads it.

    Examples
    --------
    >>> seconds(0.1285), seconds(47.3), seconds(138), seconds(9000), seconds(None)
    ('0.13 s', '47 s', '2.3 min', '2.5 h', '-')
    """
    if value is None:
        return MISSING
    size, unit = _unit(value)
    return f"{_digits(value / size)} {unit}"


def span(low: float, high: float | None, *, joint: str = " to ") -> str:
    """Write a range of durations, with one unit where both ends have it.

    Examples
    --------
    >>> span(0.1285, 0.2435), span(0.1285, 3187), span(3577.8, None)
    ('0.13 to 0.24 s', '0.13 s to 53 min', '60 min and more')
    """
    if high is None:
        return f"{seconds(low)} and more"
    if low == 0 or _unit(low) == _unit(high):
        size, unit = _unit(high)
        return f"{_digits(low / size)}{joint}{_digits(high / size)} {unit}"
    return f"{seconds(low)}{joint}{seconds(high)}"


def bounds(pair: Bounds | None, write: Callable[[float], str]) -> str:
    """Write the two bounds of an interval; a bound that does not exist is ``-``.

    Examples
    --------
    >>> bounds((1.0, None), str), bounds((None, None), str), bounds(None, str)
    ('[1.0, -]', '-', '-')
    """
    if pair is None or pair == (None, None):
        return MISSING
    low, high = (MISSING if value is None else write(value) for value in pair)
    return f"[{low}, {high}]"


def _with_bounds(value: str, pair: Bounds, write: Callable[[float], str]) -> str:
    return value if pair == (None, None) else f"{value} {bounds(pair, write)}"


def seconds_interval(item: Interval | None) -> str:
    """Write a duration with its interval, in the unit of the duration.

    Examples
    --------
    >>> seconds_interval(Interval(58.0, 47.0, 72.0)), seconds_interval(Interval(138.0, 120.0, None))
    ('58 s [47, 72]', '2.3 min [2.0, -]')
    """
    if item is None:
        return MISSING
    if item.value is None:
        # a quantile beyond the last observed time may still have a lower bound, and that is worth knowing
        return MISSING if item.low is None else f"over {seconds(item.low)}"
    size, _ = _unit(item.value)
    return _with_bounds(seconds(item.value), (item.low, item.high), lambda x: _digits(x / size))


def _percent_digits(value: float) -> str:
    value *= 100
    if value in (0, 100):
        return f"{value:.0f}"
    if abs(value) >= 0.995:
        return f"{value:,.1f}"
    return f"{value:.2f}" if abs(value) >= 0.095 else f"{value:.2g}"


def percent(value: float | None) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.6543), percent(0.00024), percent(0.0), percent(1.0)
    ('65.4 %', '0.024 %', '0 %', '100 %')
    """
    return MISSING if value is None else f"{_percent_digits(value)} %"


def percent_interval(item: Interval | None) -> str:
    """Write a share with its interval.

    Examples
    --------
    >>> percent_interval(Interval(0.654, 0.631, 0.675))
    '65.4 % [63.1, 67.5]'
    >>> percent_interval(Interval(0.077, 8e-12, 0.99999))
    '7.7 % [<0.01, >99.99]'
    """
    if item is None or item.value is None:
        return MISSING
    # an estimate of two clusters may lie anywhere: the digits of such a bound say nothing
    vague = 0.01 <= item.value <= 0.99
    return _with_bounds(percent(item.value), (item.low, item.high), _percent_bound if vague else _percent_digits)


def _percent_bound(value: float) -> str:
    if 0 < value < 1e-4:
        return "<0.01"
    return ">99.99" if 1 - 1e-4 < value < 1 else _percent_digits(value)


def per_second(value: float, digits: int = 3) -> str:
    """Write a hazard per second with so many digits that count.

    Examples
    --------
    >>> per_second(0.01234), per_second(0.0003456), per_second(12.3456, 2), per_second(0.0)
    ('0.0123', '3.46e-4', '12', '0')
    """
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-12)
    if power < -3 or power > 4:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:,.{max(digits - 1 - power, 0)}f}"


def rate_interval(item: Interval | None) -> str:
    """Write a hazard per second with its interval.

    Examples
    --------
    >>> rate_interval(Interval(0.01234, 0.0112, 0.0137))
    '0.0123 [0.011, 0.014]'
    """
    if item is None or item.value is None:
        return MISSING
    return _with_bounds(per_second(item.value), (item.low, item.high), lambda x: per_second(x, 2))


def slope(value: float | None, digits: int = 3) -> str:
    """Write a slope; never minus zero.

    Examples
    --------
    >>> slope(-0.7551), slope(-0.0001)
    ('-0.755', '0.000')
    """
    if value is None:
        return MISSING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def slope_interval(item: Interval | None) -> str:
    """Write a slope with its headline interval.

    Examples
    --------
    >>> slope_interval(Interval(-0.755, -0.97, -0.54))
    '-0.755 [-0.97, -0.54]'
    """
    if item is None or item.value is None:
        return MISSING
    return _with_bounds(slope(item.value), (item.low, item.high), lambda x: slope(x, 2))


def p_value(value: float | None) -> str:
    """Write an adjusted p value.

    Examples
    --------
    >>> p_value(0.0002), p_value(0.034), p_value(None)
    ('p < 0.001', 'p = 0.034', 'p not available')
    """
    if value is None:
        return "p not available"
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"
