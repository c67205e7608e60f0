"""The tables of ``simulate calibrate``: a prompt of 32K, residuals, the fit, and what no timing tells."""

from __future__ import annotations

from tracestat.charts.table import Column, Table
from tracestat.charts.words import MISSING, counted, plain
from tracestat.results import CalibrationResult

__all__ = ["calibration_tables", "met_words"]


def calibration_tables(result: CalibrationResult, top: int | None) -> list[Table]:
    """Give the tables; none is cut."""
    del top
    tables = [_ladder(result)]
    if result.timings:
        tables.append(_residuals(result))
    if result.constants:
        tables.append(_fit(result))
    if result.not_told:
        tables.append(_not_told(result))
    last = tables[-1]
    tables[-1] = Table(last.title, last.columns, last.rows, last.caption, (*last.notes, *result.head.notes))
    return tables


def met_words(result: CalibrationResult) -> str:
    """Say how many timings are met.

    Examples
    --------
    >>> import tracestat
    >>> met_words(tracestat.calibrate())
    '15 of 15 timings within 3 % or 4 ms; off by 2.3 % (root mean square), at most 4.4 %'
    """
    n = len(result.timings)
    if result.rms is None or result.largest is None:
        return "no timings"
    return (
        f"{result.n_within} of {counted(n, 'timing')} within 3 % or 4 ms; off by {100 * result.rms:.1f} % (root mean "
        f"square), at most {100 * result.largest:.1f} %"
    )


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return MISSING
    return f"{1e3 * seconds:,.1f}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def _ladder(result: CalibrationResult) -> Table:
    steps = result.ladder
    rows = [("resident", _ms(steps.resident), MISSING)]
    for path, seconds in steps.reload.items():
        ratio = steps.ratio[path]
        rows.append((f"reloaded by {path}", _ms(seconds), MISSING if ratio is None else f"{ratio:.1f}"))
    rows.append(("recomputed", _ms(steps.recompute), "1" if steps.recompute is not None else MISSING))
    mark = ": an estimate, nothing was measured" if result.estimate else ""
    return Table(
        f"Calibration of {plain(result.hardware)}{mark}",
        (
            Column(f"a prompt of {steps.tokens:,} tokens", "left"),
            Column("first token\nms"),
            Column("recompute\nover it"),
        ),
        tuple(rows),
        caption=(f"{plain(result.card)}, {plain(result.model)}; one request on an idle machine", met_words(result)),
    )


def _residuals(result: CalibrationResult) -> Table:
    columns = (
        Column("timing", "left"),
        Column("tokens"),
        Column("measured\nms"),
        Column("model\nms"),
        Column("off\nms"),
        Column("off\n%"),
        Column("within 3 %\nor 4 ms", "left"),
    )
    rows = tuple(
        (
            t.kind,
            f"{t.tokens:,}",
            f"{1e3 * t.measured:.5g}",
            f"{1e3 * t.model:.2f}",
            f"{1e3 * t.off:+.2f}",
            f"{100 * t.off_share:+.1f}",
            "yes" if t.within else "no",
        )
        for t in result.timings
    )
    return Table("Model against timings", columns, rows)


def _fit(result: CalibrationResult) -> Table:
    columns = (
        Column("constant", "left"),
        Column("in the file"),
        Column("fitted"),
        Column("95 % by their scatter", "left"),
        Column("unit", "left"),
    )
    rows = tuple(
        (
            c.name,
            f"{c.in_file:.4g}",
            f"{c.fitted:.4g}",
            MISSING if c.low is None or c.high is None else f"{c.low:.4g} to {c.high:.4g}",
            c.unit,
        )
        for c in result.constants
    )
    notes = ("fitted: least relative squares over these timings, s held at that of the file, a reload computing the "
             "last block as the simulator does",)  # fmt: skip
    return Table("The constants, and what these timings alone would make of them", columns, rows, (), notes)


def _not_told(result: CalibrationResult) -> Table:
    columns = (
        Column("number", "left"),
        Column("value"),
        Column("unit", "left"),
        Column("may lie", "left"),
        Column("source", "left"),
    )
    rows = tuple(
        (
            item.name,
            _number(item.value),
            item.unit,
            MISSING if item.low is None or item.high is None else f"{_number(item.low)} to {_number(item.high)}",
            item.source,
        )
        for item in result.not_told
    )
    return Table("What no timing tells", columns, rows)


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) and abs(value) >= 100 else f"{value:.4g}"
