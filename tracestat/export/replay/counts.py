"""What was written and what had to be changed for it: nothing is lost silently."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

__all__ = ["Counts"]

_LARGEST: Final = ("longest_us", "peak_tokens")


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of a session, or of all that is written.

    Attributes
    ----------
    sessions, steps : int
    tool_pauses, human_pauses : int
        Pauses with a part above 0 of this kind.
    tool_us, human_us : int
        Microseconds of the two kinds, as written (in a format of coarser units, before it rounds).
    human_cut_us : int
        Of people's time, what the human-gap rule left out.
    pauses_unknown : int
        Pauses whose calls have no usable stamps: written as 0.
    generation_unknown : int
        Steps whose generation time is unknown: written as 0 where a format has it.
    prefixes_cut : int
        Steps after the first that reuse more than the context before them held.
    prompts_raised, outputs_raised : int
        Written as 1 in place of 0.
    longer : int
        Steps whose prompt an accumulating consumer makes longer than recorded; 0 for other consumers.
    prompt_tokens, extra_tokens : int
        Tokens of all prompts as recorded, and what such a consumer adds to them.
    longest_us, peak_tokens : int
        The longest pause as written, and the largest prompt and output together, as the consumer sends them.
    """

    sessions: int = 0
    steps: int = 0
    tool_pauses: int = 0
    human_pauses: int = 0
    tool_us: int = 0
    human_us: int = 0
    human_cut_us: int = 0
    pauses_unknown: int = 0
    generation_unknown: int = 0
    prefixes_cut: int = 0
    prompts_raised: int = 0
    outputs_raised: int = 0
    longer: int = 0
    prompt_tokens: int = 0
    extra_tokens: int = 0
    longest_us: int = 0
    peak_tokens: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Take them together: sums, and the larger of the two largest.

        Examples
        --------
        >>> both = Counts(steps=2, longest_us=7) + Counts(steps=3, longest_us=5)
        >>> both.steps, both.longest_us
        (5, 7)
        """
        return Counts(
            **{
                field.name: (max if field.name in _LARGEST else int.__add__)(
                    getattr(self, field.name), getattr(other, field.name)
                )
                for field in fields(self)
            }
        )
