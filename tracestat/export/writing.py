"""Files of lines: compressed by their ending, and in their place only once they are complete and on disk."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tracestat.errors import UsageError
from tracestat.replacing import replacing

__all__ = ["replacing_lines"]

_GZIP_LEVEL = 6


@contextmanager
def replacing_lines(path: Path, endings: Sequence[str]) -> Iterator[Callable[[bytes], object]]:
    """Give a function that takes the bytes of a file, which stands at ``path`` when the block ends well.

    Parameters
    ----------
    path : Path
        ``.gz`` and ``.zst`` are compressed. A file that is there is replaced.
    endings : sequence of str
        The allowed endings.

    Raises
    ------
    UsageError
        Another ending.
    TracestatError
        The file cannot be written; what was there before still is.
    """
    if not path.name.lower().endswith(tuple(endings)):
        raise UsageError(f"{path.name}: the name must end in {' or '.join(endings)}")
    with replacing(path) as beside, beside.open("xb") as file, _packed(file, path.suffix.lower()) as write:
        yield write


@contextmanager
def _packed(file: BinaryIO, ending: str) -> Iterator[Callable[[bytes], object]]:
    if ending == ".gz":
        # no name and no time in the header: equal rows give equal files
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=_GZIP_LEVEL, mtime=0) as packed:
            yield packed.write
    elif ending == ".zst":
        import pyarrow as pa

        with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), "zstd") as stream:
            yield stream.write
    else:
        yield file.write
