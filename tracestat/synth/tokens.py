"""The token columns of a round: a context that grows, is read from the cache, misses it, and is compacted."""

from __future__ import annotations

from tracestat.synth.catalogue import Provider
from tracestat.synth.life import Event

__all__ = ["Context"]

CHARS_PER_TOKEN = 3.6
CACHE_SECONDS = 3600
CACHE_BLOCK = 128  # Codex reports cached tokens in blocks


class Context:
    """The context of one session.

    Parameters
    ----------
    provider : Provider
    inherited : int
        Tokens already there, from copied rounds.
    """

    def __init__(self, provider: Provider, inherited: int) -> None:
        self.block = CACHE_BLOCK if provider.name == "codex" else 1
        self.system, self.ceiling = provider.context
        self.total = inherited or self.system
        self.written = 0
        self.last_ms: int | None = None

    def turn(self, at: int, inputs: list[Event], after_user: bool, output: int, u: float) -> tuple[int, int, int, int]:
        """Account for one round.

        Parameters
        ----------
        at : int
            When its input was complete, Unix milliseconds.
        inputs : list of Event
            What was added to the context since the round before.
        after_user : bool
            Whether a user message is among them: reminders come with it.
        output : int
            Tokens the round will write.
        u : float
            A uniform number for the small uncached part.

        Returns
        -------
        prefix, uncached, created, output : int
            Their first three add up to the input of the round.
        """
        added = int(sum(e.chars for e in inputs) / CHARS_PER_TOKEN) + 12 + (1500 if after_user else 0)
        added = min(added + self.written, self.ceiling // 4)
        before = self.total
        compacted = before + added > self.ceiling
        if compacted:  # the context falls back to the system prompt and a summary
            before, added = self.system, added + 9000
        cold = self.last_ms is None or at - self.last_ms > CACHE_SECONDS * 1000
        prefix = min(before, self.system) if cold or compacted else before
        prefix -= prefix % self.block
        new = before + added - prefix
        self.total, self.written = before + added, output
        self.last_ms = at
        uncached = min(new, 1 + int(8 * u))
        return prefix, uncached, new - uncached, output
