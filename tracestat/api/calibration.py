"""``simulate calibrate``: the model of a machine beside the timings it was fitted to, and what these do not tell."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import tracestat
from tracestat.charts.table_hardware import LADDER_TOKENS, ladder
from tracestat.errors import TracestatError
from tracestat.hardware import DEFAULT_HARDWARE, Hardware, load_hardware
from tracestat.hardware.fields import FIELDS, Field, in_file
from tracestat.hardware.fit import Layout, Solution, solve_timings
from tracestat.hardware.timing import first_token_seconds, timing_seconds
from tracestat.hardware.writing import number_of
from tracestat.results import CalibratedTiming, CalibrationResult, FittedConstant, Head, Ladder, NotTold

__all__ = ["APPENDED", "calibrate"]

APPENDED: Final = 150  # tokens: a resident prompt of 32K with so many new ones takes the 40 ms of the article
_WITHIN_SHARE: Final = 0.03
_WITHIN_SECONDS: Final = 0.004
# sources of numbers that somebody measured or fitted
_TOLD: Final = ("fit", "measured")


def calibrate(hardware: str | Path | Hardware | None = None) -> CalibrationResult:
    """Say how well the model of a machine meets its timings, and which of its numbers no timing tells.

    Parameters
    ----------
    hardware : str, Path or Hardware, optional
        Id or file of the constants of a machine; default the RTX 4090.

    Returns
    -------
    CalibrationResult
        Each timing beside the model of `tracestat.hardware.timing`; the constants of the file beside least relative
        squares over its timings, with s held at that of the file; what is not told; and a prompt of 32K resident,
        reloaded and recomputed.

    Raises
    ------
    UsageError
        No such machine.
    TracestatError
        Its file cannot be read.

    Notes
    -----
    A timing counts as met within 3 % or 4 ms. In the fit a reload computes the last block, as the simulator does.

    Examples
    --------
    >>> import tracestat
    >>> result = tracestat.calibrate()
    >>> result.n_within, len(result.timings), round(result.rms, 3)
    (15, 15, 0.023)
    >>> round(result.ladder.ratio["lmcache"], 1)
    17.4
    """
    machine = hardware if isinstance(hardware, Hardware) else load_hardware(hardware or DEFAULT_HARDWARE)
    timings = tuple(_timing(machine, kind, tokens, s) for kind, tokens, s in _measured(machine))
    shares = [timing.off_share for timing in timings]
    constants, problem = _constants(machine)
    head = Head(
        schema="tracestat.simulate_calibrate/1",
        tracestat=tracestat.__version__,
        trace=None,  # type: ignore[arg-type]  # of a machine, not of a trace
        unit=None,
        clock=None,
        by=(),
        where=None,
        seed=0,
        rows="all",
        synthetic=False,
        notes=tuple(_notes(machine, problem)),
    )
    return CalibrationResult(
        head,
        hardware=machine.id,
        card=machine.card,
        model=machine.model,
        estimate=machine.estimate,
        n_within=sum(timing.within for timing in timings),
        rms=(sum(share**2 for share in shares) / len(shares)) ** 0.5 if shares else None,
        largest=max(map(abs, shares), default=None),
        timings=timings,
        constants=constants,
        not_told=tuple(_not_told(machine)),
        ladder=_ladder(machine),
    )


def _measured(machine: Hardware) -> list[tuple[str, int, float]]:
    return [(timing.kind, timing.tokens, timing.seconds) for timing in machine.timings]


def _timing(machine: Hardware, kind: str, tokens: int, measured: float) -> CalibratedTiming:
    from tracestat.hardware import Timing

    model = timing_seconds(machine, Timing(kind, tokens, measured))
    off = model - measured
    within = abs(off) <= max(_WITHIN_SHARE * measured, _WITHIN_SECONDS)
    return CalibratedTiming(kind, tokens, measured, model, off, off / measured, within)


def _constants(machine: Hardware) -> tuple[tuple[FittedConstant, ...], str]:
    """Fit the timings of the file once more; give nothing and why where that cannot be."""
    if not machine.timings:
        return (), "no timings in the file: nothing was measured, so there are no residuals and there is no fit"
    if machine.step.form != "additive":
        return (), "no fit here: steps of the roofline form are not linear in their constants"
    chunks = {name: path.chunk_tokens for name, path in machine.stores.items()}
    try:
        solution = solve_timings(
            machine.timings, Layout(machine.max_batched_tokens, machine.block_tokens, chunks), base=machine.step.base
        )
    except TracestatError as error:
        return (), f"no fit here: {error}"
    return tuple(_constant(machine, field, solution) for field in FIELDS if field.name in solution.values), ""


def _constant(machine: Hardware, field: Field, solution: Solution) -> FittedConstant:
    low, high = solution.ranges.get(field.name, (None, None))
    fitted, least, most = (
        None if value is None else in_file(value, field.exponent)
        for value in (float(f"{solution.values[field.name]:.6g}"), low, high)
    )
    assert fitted is not None  # noqa: S101  every constant of a solution has a value
    return FittedConstant(
        field.file, field.unit, in_file(number_of(machine, field), field.exponent), fitted, least, most
    )


def _not_told(machine: Hardware) -> list[NotTold]:
    """List the numbers of which no timing of the file speaks."""
    found = []
    for field in FIELDS:
        source = machine.provenance.get(field.name)
        if source is None or source.kind in _TOLD:
            continue
        value = number_of(machine, field)
        numbers = [
            None if number is None else number if field.whole else in_file(number, field.exponent)
            for number in (value, source.low, source.high)
        ]
        assert numbers[0] is not None  # noqa: S101  a number of the file
        found.append(NotTold(field.file, field.unit, numbers[0], numbers[1], numbers[2], source.kind, source.note))
    return found


def _notes(machine: Hardware, problem: str) -> list[str]:
    notes = [problem] if problem else []
    if machine.timings:
        notes += [
            "timings of one request at a time tell o + s (client and base of a step), not o from s",
            "they tell nothing of how many tokens a step takes (B), nor of decode: r, and whether a sequence costs "
            "more than its token",
        ]
    if machine.pool_tokens > LADDER_TOKENS:
        notes.append(
            f"resident is a prompt of {LADDER_TOKENS:,} tokens of which {APPENDED} are new; another number of new "
            "tokens moves it most"
        )
    else:
        notes.append(f"a prompt of {LADDER_TOKENS:,} tokens is larger than the pool of {machine.pool_tokens:,}")
    return [*notes, *machine.notes]


def _ladder(machine: Hardware) -> Ladder:
    steps = ladder(machine)
    recompute = steps["cold"]
    prefix = LADDER_TOKENS - APPENDED
    resident = first_token_seconds(machine, LADDER_TOKENS, prefix=prefix, resident=prefix)
    reload = {path: steps[f"reload_{path}"] for path in machine.stores}
    return Ladder(
        tokens=LADDER_TOKENS,
        appended=APPENDED,
        resident=None if recompute is None else resident,
        reload=reload,
        recompute=recompute,
        ratio={path: None if recompute is None or not s else recompute / s for path, s in reload.items()},
    )
