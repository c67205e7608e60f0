"""Ids of cache blocks: two prompts share a block exactly where they share its id."""

from __future__ import annotations

from collections.abc import Iterator

from tracestat.export.replay.model import ReplaySession

__all__ = ["BlockIds"]


class BlockIds:
    """Gives ids that no other session of the file has.

    Parameters
    ----------
    block_size : int
        Tokens per block.
    partial : bool
        Whether the rest of a prompt that fills no block has an id too.
    """

    def __init__(self, block_size: int, *, partial: bool) -> None:
        self.block_size = block_size
        self._partial = partial
        self._next = 1

    def fresh(self, tokens: int) -> list[int]:
        """Give new ids for so many tokens."""
        return self._take(self._blocks(tokens))

    def chain(self, session: ReplaySession) -> Iterator[list[int]]:
        """Give the ids of every prompt of a session.

        The whole blocks of the reusable prefix keep their ids, as far as the prompt before had them whole; what
        follows is new, also where an output of the engine stands. A context that shrank drops its tail for good.

        Examples
        --------
        Prompts of 130, 200 and 140 tokens, of which 130 and 70 are kept, in blocks of 64:

        >>> import numpy as np
        >>> none = np.zeros(3, dtype=np.int64)
        >>> session = ReplaySession(
        ...     1, 0, np.array([130, 200, 140]), np.array([0, 130, 70]), none, none, none, none, none, none, (),
        ...     none > 0, (),
        ... )
        >>> list(BlockIds(64, partial=False).chain(session))
        [[1, 2], [1, 2, 3], [1, 4]]
        >>> list(BlockIds(64, partial=True).chain(session))
        [[1, 2, 3], [1, 2, 4, 5], [1, 6, 7]]
        """
        ids: list[int] = []
        whole = 0
        for prompt, prefix in zip(session.prompt.tolist(), session.prefix.tolist(), strict=True):
            kept = min(prefix // self.block_size, whole)
            ids = ids[:kept] + self._take(self._blocks(prompt) - kept)
            whole = prompt // self.block_size
            yield ids

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.block_size) if self._partial else tokens // self.block_size

    def _take(self, n: int) -> list[int]:
        first = self._next
        self._next += n
        return list(range(first, first + n))
