"""A bar on stderr for work of more than a second; silent where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["progress_bar"]

_PATIENCE_SECONDS = 1.0


class _Bar:
    """Draws nothing until a second has passed, so that quick work leaves no trace on the screen."""

    def __init__(self, what: str, in_bytes: bool) -> None:
        self.what = what
        self.in_bytes = in_bytes
        self.began = time.monotonic()
        self.drawn: tuple[Progress, TaskID] | None = None

    def __call__(self, done: int, total: int) -> None:
        if self.drawn is None:
            if time.monotonic() - self.began < _PATIENCE_SECONDS or done >= total:
                return
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                DownloadColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            drawn = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                DownloadColumn(binary_units=True) if self.in_bytes else MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            drawn.start()
            self.drawn = (drawn, drawn.add_task(self.what, total=total))
        bar, task = self.drawn
        bar.update(task, completed=done, total=total)

    def close(self) -> None:
        if self.drawn is not None:
            self.drawn[0].stop()


@contextmanager
def progress_bar(what: str, *, quiet: bool, in_bytes: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that draws (done, in all), bytes or things, or None where no bar is wanted."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(what, in_bytes)
    try:
        yield bar
    finally:
        bar.close()
