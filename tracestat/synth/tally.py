"""Counts what is written, round by round, in constant memory."""

from __future__ import annotations

from collections import Counter

from tracestat.synth.catalogue import Provider
from tracestat.synth.life import Call, Plan, Round
from tracestat.synth.truth import Written

__all__ = ["Tally"]


class Tally:
    """Counters of one provider.

    Parameters
    ----------
    provider : Provider

    Attributes
    ----------
    n : Counter of str
        The integer fields of `Written`.
    calls : Counter of (str, str)
        Calls by (tool, developer), copies left out.
    limited : Counter of (str, float)
        Calls ended by a limit, by (tool, seconds).
    stopped, at_risk : Counter of float
        Tool pauses that ended on a limit, and that lasted as long, by seconds.
    users : set of str
    """

    def __init__(self, provider: Provider) -> None:
        self.n: Counter[str] = Counter()
        self.calls: Counter[tuple[str, str]] = Counter()
        self.limited: Counter[tuple[str, float]] = Counter()
        self.stopped: Counter[float] = Counter()
        self.at_risk: Counter[float] = Counter()
        self.users: set[str] = set()
        self.seconds = self.seconds_over_60s = self.human_seconds = 0.0
        self._limits = sorted({limit.seconds for limits in provider.limits.values() for limit in limits})
        self._before: Round | None = None
        self._polled: set[str] = set()

    def copied(self, r: Round) -> None:
        """Count a row repeated from the session before."""
        self._row(r)
        self.n["copied_rounds"] += 1
        self.n["copied_calls"] += len(r.calls)

    def begin(self, plan: Plan) -> None:
        """Begin a session."""
        self.n["sessions"] += 1
        self.users.add(plan.developer.user)
        self._polled.clear()

    def add(self, plan: Plan, r: Round) -> None:
        """Count a new round; the pause of the one before is settled by it."""
        self._row(r)
        self.end(r.first_output)
        self._before = r if r.calls else None
        for call in r.calls:
            self.calls[call.tool, plan.developer.user] += 1
            if call.limit is not None:
                self.limited[call.tool, call.limit] += 1
            if call.result is None:
                self.n["calls_without_result"] += 1
            if call.tool == "exec_command":
                self.n["launches"] += 1
                self.n["yielded"] += call.status == "running"
                self.n["finished"] += call.status == "finished"
            elif call.root is not None:
                self.n["polls"] += 1
                self.n["polled"] += call.root not in self._polled
                self._polled.add(call.root)
                self.n["finished"] += call.status == "finished"

    def _row(self, r: Round) -> None:
        self.n["rounds"] += 1
        self.n["calls"] += len(r.calls)
        self.n["events"] += len(r.inputs) + len(r.outputs) + (r.reported is not None)

    def end(self, next_output: int | None = None) -> None:
        """Settle the pause of the last round: the next one begins to write at this time, or never."""
        r, self._before = self._before, None
        if r is None:
            return
        human = r.calls[0].tool_class == "human"
        self.n["pauses"] += 1
        self.n["single_call"] += len(r.calls) == 1
        self.n["human"] += human
        if any(c.result is None for c in r.calls):
            self.n["censored"] += 1
            return
        last = max(r.calls, key=_back)
        seconds = max(_back(last) - r.last_output, 0) / 1000
        superseded = next_output is not None and next_output < _back(last)
        if superseded and next_output is not None:
            self.n["superseded"] += 1
            seconds = max(next_output - r.last_output, 0) / 1000
        self.n["interrupted"] += last.status == "aborted"
        if human:
            self.human_seconds += seconds
            return
        self.n["tool_pauses"] += 1
        self.n["within_1s"] += seconds <= 1.0
        self.seconds += seconds
        if seconds > 60.0:
            self.n["over_60s"] += 1
            self.seconds_over_60s += seconds
        for limit in self._limits:
            if seconds < 0.995 * limit:
                break
            self.at_risk[limit] += 1
        if last.limit is not None and not superseded:
            self.n["on_deadline"] += 1
            self.stopped[last.limit] += 1

    def written(self) -> Written:
        """Give the counts."""
        names = [f for f in Written.__dataclass_fields__ if "seconds" not in f and f != "developers"]
        counts = {name: self.n[name] for name in names}
        times = {name: round(getattr(self, name), 3) for name in ("seconds", "seconds_over_60s", "human_seconds")}
        return Written(developers=len(self.users), **counts, **times)


def _back(call: Call) -> int:
    return call.result or 0
