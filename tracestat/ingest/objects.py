"""The JSON values of one line: usually one, after damage as many as can be found again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

__all__ = ["CUT_OFF", "NOT_JSON", "TOO_DEEP", "json_objects"]

NOT_JSON: Final = "not JSON"
CUT_OFF: Final = "cut off: the last line is not complete"
TOO_DEEP: Final = "nested too deeply"

_SPACE: Final = re.compile(r"[ \t\r\n]*")
# A hostile line may look like a thousand beginnings, each of which is read to its end.
_MAX_STARTS: Final = 16


def _no_constant(_: str) -> NoReturn:
    raise ValueError  # NaN and Infinity are no JSON


def _whole(digits: str) -> int | float:
    # nothing of 21 characters fits 64 bits, and Python refuses to read thousands of digits
    return int(digits) if len(digits) <= 20 else float("inf")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_int=_whole)


def json_objects(text: str, start: re.Pattern[str], *, complete: bool) -> Iterator[tuple[int, Any, str | None]]:
    """Give every JSON value on a line; after damage, go on where a record may begin again.

    Parameters
    ----------
    text : str
        The line; bytes that are no UTF-8 as lone surrogates.
    start : re.Pattern
        How a record begins.
    complete : bool
        Whether the line ended in a newline.

    Yields
    ------
    (int, object, str or None)
        Place on the line from 0, the value, and the reason why there is none.

    Examples
    --------
    >>> list(json_objects('{"a": 1}{"a', re.compile(r'[{]"a'), complete=True))
    [(0, {'a': 1}, None), (1, None, 'not JSON')]
    """
    place = starts = 0
    at = _skip(text, 0)
    while at < len(text):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except ValueError:
            again = start.search(text, at + 1) if starts < _MAX_STARTS else None
            yield place, None, NOT_JSON if complete or again else CUT_OFF
            starts += 1
            if again is None:
                return
            at = again.start()
        except RecursionError:
            yield place, None, TOO_DEEP
            return
        else:
            yield place, value, None
            at = _skip(text, end)
        place += 1


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
