"""Files are replaced, never edited in place: written beside, made safe, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from tracestat.errors import TracestatError

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(path: Path, shown: str | None = None, *, private: bool = False) -> Iterator[Path]:
    """Give the path of a new file beside ``path``, and put it in its place once it is written and on disk.

    Parameters
    ----------
    path : Path
        A link stays a link: what it leads to is replaced.
    shown : str, optional
        How messages name the file; its base name by default.
    private : bool
        Only the owner may read it, from its first moment on.

    Raises
    ------
    TracestatError
        The file cannot be written; what was there before still is.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{secrets.token_hex(6)}.{target.name}")
    try:
        if private:
            os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield beside
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(target)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise TracestatError(f"{shown or path.name}: cannot be written ({reason}); choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
