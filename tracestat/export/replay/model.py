"""A session to replay: what every format is written from.

Whole microseconds and tokens, and the pause *after* each step, as the store has it. The formats that hold the pause on
the row that follows get it from `ReplaySession.before`, and from nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Added", "Family", "Ints", "ReplaySession"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ReplaySession:
    """One session; arrays have an entry per step.

    Attributes
    ----------
    number : int
        1, 2, ... within the file: its only name there.
    start_us : int
        When it begins, after the begin of the file.
    prompt : array of int
        Tokens of the prompt, at least 1.
    prefix : array of int
        Those of them that the context before holds; 0 on the first step.
    output : array of int
        Tokens generated, at least 1.
    tool_us, human_us : array of int
        The two parts of the pause after the step; both 0 on the last.
    generation_us : array of int
        From submission to last output; 0 where unknown.
    submitted_us, last_output_us : array of int
        As recorded, since 1970; -1 where unknown.
    kind : tuple of str
        What the pause after is: tool, human, none, end.
    calls : array of bool
        Whether the step made tool calls.
    models : tuple of str
        Empty where unknown.
    parent : int or None
        Number of the session whose sub-agent this is, where that is in the same family.
    parent_step : int or None
        The step of it, counted from 0, in whose call this ran.
    """

    number: int
    start_us: int
    prompt: Ints
    prefix: Ints
    output: Ints
    tool_us: Ints
    human_us: Ints
    generation_us: Ints
    submitted_us: Ints
    last_output_us: Ints
    kind: tuple[str, ...]
    calls: NDArray[np.bool_]
    models: tuple[str, ...]
    parent: int | None = None
    parent_step: int | None = None

    @property
    def name(self) -> str:
        """Its name in the file; the trace's own id stays out."""
        return f"s{self.number}"

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.prompt)

    @property
    def pause_after_us(self) -> Ints:
        """The pause after each step."""
        return self.tool_us + self.human_us

    @staticmethod
    def before(after: Ints) -> Ints:
        """Move what comes after a step onto the step that follows it: the only place where this is done.

        Examples
        --------
        >>> ReplaySession.before(np.array([5, 7, 0])).tolist()
        [0, 5, 7]
        """
        return np.concatenate((np.zeros(min(1, len(after)), dtype=after.dtype), after[:-1]))

    @property
    def pause_before_us(self) -> Ints:
        """The pause before each step; 0 before the first."""
        return self.before(self.pause_after_us)

    @property
    def at_us(self) -> Ints:
        """When each step is submitted after the begin of the session, at the recorded speed of generation."""
        return np.cumsum(self.before(self.generation_us + self.pause_after_us), dtype=np.int64)

    def added(self, *, resets: bool = False) -> Added:
        """Give the tokens of each prompt that its predecessors and their outputs do not make up.

        For consumers that send all that was said before with every step. Where the recorded context shrank, a step adds
        the least that it can, 1, until the record has caught up.

        Parameters
        ----------
        resets : bool
            Whether the consumer can begin anew with a whole prompt. It then reuses nothing, so this is done only where
            its context is too long by more than what was reusable.
        """
        tokens, sent, whole = (np.zeros(self.steps, dtype=np.int64) for _ in range(3))
        context = 0
        for step, (prompt, prefix, output) in enumerate(
            zip(self.prompt.tolist(), self.prefix.tolist(), self.output.tolist(), strict=True)
        ):
            if resets and context - prompt > prefix:
                whole[step] = context = prompt
            else:
                tokens[step] = max(1, prompt - context)
                context += int(tokens[step])
            sent[step] = context
            context += output
        return Added(tokens, sent, whole)


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """What a consumer that sends all that was said before is to add at each step.

    Attributes
    ----------
    tokens : array of int
        At least 1, all of the prompt on the first step; 0 where it begins anew.
    sent : array of int
        The prompt that it then sends.
    whole : array of int
        The prompt where it begins anew, else 0.
    """

    tokens: Ints
    sent: Ints
    whole: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """A session and, after it, those of its sub-agents that are known to be its own, parents first.

    Attributes
    ----------
    sessions : tuple of ReplaySession
        The first has no parent; every other has one among those before it.
    """

    sessions: tuple[ReplaySession, ...]

    @property
    def root(self) -> ReplaySession:
        """The one that no other called."""
        return self.sessions[0]
