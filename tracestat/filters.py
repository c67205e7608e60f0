"""What one can group by and filter on, and how a user's words become checked SQL.

``--by`` takes names from a fixed list. ``--where`` is parsed, walked node by node and rendered again with every
literal as a bound parameter, so that the text itself never reaches the engine. Outcomes (how long, how it ended)
cannot be filtered on: that would bias every estimate.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tracestat.errors import UsageError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "EVERYTHING",
    "KEYS",
    "OUTCOME_KEYS",
    "Filter",
    "Value",
    "check_keys",
    "parse_time",
    "parse_where",
    "render_keys",
    "time_range",
    "zone_name",
]

# name -> kind of its literals
KEYS: Mapping[str, str] = {
    "provider": "text",
    "developer": "text",
    "project": "text",
    "session": "text",
    "model": "text",
    "tool": "text",
    "tool_class": "text",
    "command_class": "text",
    "command_skeleton": "text",
    "command_fingerprint": "text",
    "asked_limit_seconds": "number",
    "permission_mode": "text",
    "n_calls": "number",
    "context_band": "text",
    "day": "date",
    "week": "date",
    "hour": "number",
    "weekday": "text",
}
OUTCOME_KEYS = ("end_kind",)
_OUTCOMES = ("seconds", "observed", "end_kind")
_LONGEST = 10_000

Value = str | float | dt.datetime | dt.date


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition ready to be put into a query.

    Attributes
    ----------
    text : str or None
        The condition as the user wrote it, for the head of a result.
    sql : str
        Rendered condition with named parameters only; ``TRUE`` when there is none.
    parameters : mapping
        Value of each named parameter.
    """

    text: str | None = None
    sql: str = "TRUE"
    parameters: Mapping[str, Value] = field(default_factory=dict)


EVERYTHING = Filter()


def check_keys(by: str | Sequence[str] | None, *, outcomes: bool = False) -> tuple[str, ...]:
    """Turn ``--by`` into a tuple of key names.

    Parameters
    ----------
    by : str or sequence of str or None
        Names joined by commas, or a sequence; ``"none"``, ``None`` or an empty sequence pools everything.
    outcomes : bool
        Whether ``end_kind`` is allowed too.

    Raises
    ------
    UsageError
        A name is not a key, or stands there twice.

    Examples
    --------
    >>> check_keys("provider, tool_class")
    ('provider', 'tool_class')
    >>> check_keys("none")
    ()
    """
    names = [part.strip() for part in by.split(",")] if isinstance(by, str) else list(by or ())
    if [name.lower() for name in names] == ["none"]:
        return ()
    allowed = (*KEYS, *OUTCOME_KEYS) if outcomes else tuple(KEYS)
    for name in names:
        if name in OUTCOME_KEYS and not outcomes:
            raise UsageError(
                f"--by {name}: it is an outcome, known only at the end; `summary` counts by it and "
                "`hazard --by end_kind` gives cause-specific hazards"
            )
        if name not in allowed:
            raise UsageError(f"--by {name or '(empty)'}: no such key; keys are {', '.join(allowed)}, or none")
    if len(set(names)) != len(names):
        raise UsageError(f"--by {','.join(names)}: a key stands there twice; name it once")
    return tuple(names)


def render_keys(keys: Sequence[str]) -> str:
    """Render key names, already checked, as a list of columns; the constant column when there is none.

    Examples
    --------
    >>> render_keys(("provider", "tool"))
    '"provider", "tool"'
    >>> render_keys(())
    '"pooled"'
    """
    for key in keys:
        if key not in KEYS and key not in OUTCOME_KEYS:
            raise UsageError(f"{key}: no such key; keys are {', '.join(KEYS)}")
    return ", ".join(f'"{key}"' for key in keys) or '"pooled"'


def parse_time(text: str, zone: dt.tzinfo, *, option: str) -> dt.datetime:
    """Read an ISO date or time; without an offset it is meant in ``zone``. Gives naive UTC.

    Raises
    ------
    UsageError
        The text is not an ISO date or time.

    Examples
    --------
    >>> parse_time("2026-03-01T12:00", zoneinfo.ZoneInfo("Europe/Berlin"), option="--since")
    datetime.datetime(2026, 3, 1, 11, 0)
    """
    try:
        moment = dt.datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        return moment.astimezone(dt.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise UsageError(f"{option} {text}: not a date or time; write 2026-03-01 or 2026-03-01T12:30") from None


def time_range(since: str | None, until: str | None, zone: dt.tzinfo) -> Filter:
    """Turn ``--since`` and ``--until`` into a condition on ``started_at`` (since included, until not).

    Examples
    --------
    >>> time_range("2026-03-01", None, dt.UTC).sql
    '"started_at" >= $since'
    """
    parameters: dict[str, Value] = {}
    parts = []
    if since is not None:
        parameters["since"] = parse_time(since, zone, option="--since")
        parts.append('"started_at" >= $since')
    if until is not None:
        parameters["until"] = parse_time(until, zone, option="--until")
        parts.append('"started_at" < $until')
    return Filter(None, " AND ".join(parts) or "TRUE", parameters)


def parse_where(text: str | None, zone: dt.tzinfo = dt.UTC) -> Filter:
    """Parse and check ``--where``.

    Comparisons (= != < <= > >=, IN, LIKE, BETWEEN, IS NULL) of a key or ``started_at`` with literals, joined by
    AND, OR, NOT and parentheses.

    Parameters
    ----------
    text : str or None
        The condition; None or empty for no condition.
    zone : tzinfo
        In which dates and times without an offset are meant.

    Raises
    ------
    UsageError
        Anything else, with the reason and what is allowed.

    Examples
    --------
    >>> parse_where("tool = 'Bash' and n_calls in (1, 2)").sql
    '"tool" = $w0 AND "n_calls" IN ($w1, $w2)'
    """
    if text is None or not text.strip():
        return Filter()
    if len(text) > _LONGEST:
        raise UsageError(f"--where: longer than {_LONGEST} characters; write a shorter condition")
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(text, read="duckdb")
        walker = _Walker(zone)
        checked = walker.condition(tree)
        return Filter(text, checked.sql(dialect="duckdb", comments=False), walker.parameters)
    except SqlglotError:
        raise UsageError(
            f"--where {text!r}: not a condition; write for example tool = 'Bash' AND n_calls = 1"
        ) from None
    except RecursionError:
        raise UsageError("--where: nested too deeply; write a flatter condition") from None


class _Walker:
    """Builds a new tree out of allowed nodes only, with literals as parameters."""

    def __init__(self, zone: dt.tzinfo) -> None:
        self.zone = zone
        self.parameters: dict[str, Value] = {}

    def condition(self, node: exp.Expr) -> exp.Expr:
        from sqlglot import exp

        if isinstance(node, exp.And | exp.Or):
            return type(node)(this=self.condition(node.this), expression=self.condition(node.expression))
        if isinstance(node, exp.Not):
            return exp.Not(this=self.condition(node.this))
        if isinstance(node, exp.Paren):
            return exp.Paren(this=self.condition(node.this))
        if isinstance(node, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
            return self._comparison(node)
        if isinstance(node, exp.Like):
            name = self._column(node.this)
            if _kind(name) != "text":
                raise UsageError(f"--where: LIKE needs a text key, and {name} is none")
            return exp.Like(this=_quoted(name), expression=self._literal(node.expression, name))
        if isinstance(node, exp.Between):
            name = self._column(node.this)
            return exp.Between(
                this=_quoted(name),
                low=self._literal(node.args["low"], name),
                high=self._literal(node.args["high"], name),
            )
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            name = self._column(node.this)
            return exp.In(this=_quoted(name), expressions=[self._literal(e, name) for e in node.expressions])
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return exp.Is(this=_quoted(self._column(node.this)), expression=exp.Null())
        if isinstance(node, exp.Column):
            name = self._column(node)
            raise UsageError(f"--where {name}: a column alone is no condition; compare it with {_EXAMPLE[_kind(name)]}")
        raise UsageError(
            f"--where: {type(node).__name__.upper()} is not allowed; use = != < <= > >= IN LIKE BETWEEN IS NULL, "
            "joined by AND, OR, NOT"
        )

    def _comparison(self, node: exp.Expr) -> exp.Expr:
        from sqlglot import exp

        mirrored: dict[type[Any], type[Any]] = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE}
        left, right, kind = node.this, node.expression, type(node)
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right, kind = right, left, mirrored.get(kind, kind)
        name = self._column(left)
        built: exp.Expr = kind(this=_quoted(name), expression=self._literal(right, name))
        return built

    def _column(self, node: exp.Expr | None) -> str:
        from sqlglot import exp

        allowed = ", ".join((*KEYS, "started_at"))
        if not isinstance(node, exp.Column) or node.table:
            raise UsageError(f"--where: a comparison needs a column on one side; columns are {allowed}")
        name = node.name.lower()
        if name in _OUTCOMES:
            raise UsageError(
                f"--where {name}: it is an outcome, and choosing rows by it biases every estimate; "
                f"columns are {allowed}"
            )
        if name not in KEYS and name != "started_at":
            raise UsageError(f"--where {name}: no such column; columns are {allowed}")
        return name

    def _literal(self, node: exp.Expr | None, name: str) -> exp.Expr:
        from sqlglot import exp

        negative = isinstance(node, exp.Neg)
        literal = node.this if negative and node is not None else node
        kind = _kind(name)
        if not isinstance(literal, exp.Literal) or (negative and literal.is_string):
            raise UsageError(f"--where: {name} can be compared only with a literal ({_EXAMPLE[kind]})")
        if literal.is_string != (kind != "number"):
            raise UsageError(f"--where: {name} needs a literal like {_EXAMPLE[kind]}")
        value: Value = literal.name
        if kind == "number":
            value = -float(literal.name) if negative else float(literal.name)
        elif kind == "time":
            value = parse_time(literal.name, self.zone, option="--where started_at")
        elif kind == "date":
            try:
                value = dt.date.fromisoformat(literal.name)
            except ValueError:
                raise UsageError(f"--where {name}: {literal.name!r} is no date; write '2026-03-01'") from None
        parameter = f"w{len(self.parameters)}"
        self.parameters[parameter] = value
        return exp.Parameter(this=exp.var(parameter))


_EXAMPLE = {"text": "'Bash'", "number": "3", "date": "'2026-03-01'", "time": "'2026-03-01T12:30'"}


def _kind(name: str) -> str:
    return "time" if name == "started_at" else KEYS[name]


def _quoted(name: str) -> exp.Column:
    from sqlglot import exp

    return exp.column(name, quoted=True)


def zone_name(name: str | None) -> str:
    """Give the checked IANA name of a time zone; that of this machine by default, UTC where it has none."""
    if name is None:
        import tzlocal

        try:
            return tzlocal.get_localzone_name()
        except zoneinfo.ZoneInfoNotFoundError:
            return "UTC"
    try:
        return zoneinfo.ZoneInfo(name).key
    except (ValueError, zoneinfo.ZoneInfoNotFoundError, OSError):
        raise UsageError(f"--tz {name}: no such time zone; write for example Europe/Berlin or UTC") from None
