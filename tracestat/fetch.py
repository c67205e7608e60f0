"""The TraceLab release, checked: the one place of this package that uses the network.

A file is known by its SHA-256, not by its name: all releases name their files alike. It is written beside its place
and renamed once the hash is right, so that under its name there is either the whole file or none. What is there
already is never replaced.

An attempt that is cut short, or that no byte reaches for a while, is made again from the start, twice; an answer that
would be the same again (no such file, a wrong size, a wrong hash) is not asked for twice. Proxies are those of the
environment (``HTTPS_PROXY``, ``NO_PROXY``).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tracestat.errors import TracestatError, UsageError
from tracestat.replacing import replacing

if TYPE_CHECKING:
    import requests

__all__ = ["ATTRIBUTION", "BASE", "KINDS", "LATEST", "RELEASES", "Asset", "Fetched", "fetch_release", "place_of"]

BASE = "https://github.com/uw-syfi/TraceLab/releases/download"
KINDS: Mapping[str, str] = {"jsonl": ".jsonl.gz", "duckdb": ".duckdb"}
LATEST = "v0.0.2"
ATTRIBUTION = (
    "TraceLab by Zhu, Jacob, Ma, Pan, Wang, Krishnamurthy and Kasikci (SyFI Lab, University of Washington; arXiv "
    "2606.30560), CC BY 4.0: attribute them when you publish figures made from it"
)

_NAME = "syfi_coding_trace"
_CHUNK = 1 << 18
_TIMEOUT = (10.0, 30.0)
_ATTEMPTS = 3
_ROOM = 1.01  # a file system needs a little more than the bytes of a file
_SERVER_ERROR = 500
_NETWORK = "check the network, or HTTPS_PROXY behind a proxy"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a release; ``size`` in bytes and ``rounds`` are None where they were never published."""

    sha256: str
    size: int | None
    rounds: int | None


_FIRST_JSONL = Asset("9d265eae69a31cae203848bea936f018148eed7ca8bf56050c5abe96da0b4e6b", 53_601_226, 357_161)
RELEASES: Mapping[str, Mapping[str, Asset]] = {
    "v0.0.2": {
        "jsonl": Asset("11ce51ec0a25e3d1d95b025bca2f7d1647e47571eb7cc968acd5fc64d4b4fb65", 100_939_722, 665_453),
        "duckdb": Asset("a7bab286bc640844560850965ccf47975cf66407154132abaab90f27ec9be744", 160_182_272, 665_453),
    },
    "v0.0.1": {
        "jsonl": _FIRST_JSONL,
        "duckdb": Asset("97715265367cc72376475f5d444c8e1900b88cab1482aa7b9a742894d9f15619", None, 357_161),
    },
    "v2026-06-08-syfi-trace": {
        "jsonl": _FIRST_JSONL,
        "duckdb": Asset("5d2ef12486cdfc26d770e8432fb45fd17381377be739a4d8e5b8556587721507", None, None),
    },
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file with the right hash; ``new`` tells whether it was fetched now or was there."""

    path: Path
    release: str
    kind: str
    asset: Asset
    url: str
    new: bool


def place_of(target: Path, kind: str) -> Path:
    """Give the file that is written for a folder or a file name.

    Raises
    ------
    UsageError
        The name has the ending of another kind.
    TracestatError
        The folder does not exist, or something that is no file has the name.

    Examples
    --------
    >>> place_of(Path("."), "jsonl").name
    'syfi_coding_trace.jsonl.gz'
    """
    ending = KINDS[kind]
    if target.is_dir():
        target = target / f"{_NAME}{ending}"
        if target.is_dir():
            raise TracestatError(f"-o {target.name}: this is a folder; name a file")
        return target
    if not target.name.endswith(ending):
        raise UsageError(f"-o {target.name}: no such folder; create it, or name a file that ends in {ending}")
    if not target.absolute().parent.is_dir():
        raise TracestatError(f"-o {target.name}: its folder does not exist; create it first")
    if target.exists() and not target.is_file():
        raise TracestatError(f"-o {target.name}: this is no file; name another place")
    return target


def fetch_release(
    target: Path | str = ".",
    *,
    release: str = LATEST,
    kind: str = "jsonl",
    progress: Callable[[int, int], None] | None = None,
    base: str = BASE,
    timeout: tuple[float, float] = _TIMEOUT,
    attempts: int = _ATTEMPTS,
) -> Fetched:
    """Fetch a file of a TraceLab release and check it against its published SHA-256.

    Parameters
    ----------
    target : Path or str
        A folder, or the file to write; the ending says the kind.
    release : str
        One of ``RELEASES``.
    kind : {"jsonl", "duckdb"}
    progress : callable, optional
        Is told (bytes done, bytes in all); in all is 0 where nobody knows.
    base : str
        Where the releases lie: ``base/release/name`` is asked for. A mirror serves as well, since the hash is checked.
    timeout : tuple of float
        Seconds to wait for a connection, and for the next bytes.
    attempts : int
        How often to begin when the connection fails on the way.

    Returns
    -------
    Fetched
        Where the file is; nothing is asked of the network when it was there already.

    Raises
    ------
    UsageError
        An unknown release or kind, or a name with another ending.
    TracestatError
        Another file has the name, no room on the disk, no connection, or not the published file.
    """
    if release not in RELEASES:
        raise UsageError(f"--release {release}: choose one of {', '.join(RELEASES)}")
    if kind not in KINDS:
        raise UsageError(f"--format {kind}: choose one of {', '.join(KINDS)}")
    asset = RELEASES[release][kind]
    place = place_of(Path(target), kind)
    url = f"{base.rstrip('/')}/{release}/{_NAME}{KINDS[kind]}"
    if place.exists():
        found = _sha256(place)
        if found != asset.sha256:
            known = _release_of(found)
            what = f"is {known}" if known else f"has SHA-256 {found[:12]}..., not that of {release}"
            raise TracestatError(f"{place.name}: the file that is there {what}; move it away or name another with -o")
        return Fetched(place, release, kind, asset, url, new=False)
    _check_room(place, asset.size)
    with replacing(place, f"-o {place.name}") as beside:
        beside.touch()
        mode = stat.S_IMODE(beside.stat().st_mode)
        beside.unlink()
        _attempt(url, beside, _Watch(place, asset, progress, urlsplit(url).hostname or url), timeout, attempts)
        beside.chmod(mode)  # pooch makes files that only their owner may read
    return Fetched(place, release, kind, asset, url, new=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _release_of(sha256: str) -> str | None:
    """Name the release that a file is of."""
    return next(
        (f"TraceLab {tag}" for tag, kinds in RELEASES.items() for a in kinds.values() if a.sha256 == sha256), None
    )


def _check_room(place: Path, size: int | None) -> None:
    """Refuse to begin what cannot end."""
    if size is None:
        return
    free = shutil.disk_usage(Path(os.path.realpath(place)).parent).free
    if free < size * _ROOM:
        raise TracestatError(
            f"-o {place.name}: needs {_megabytes(size * _ROOM)} and {_megabytes(free)} are free; "
            "make room or name another place"
        )


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


@dataclass
class _Watch:
    """What pooch calls a progress bar: is told the size first; pieces it is told of where they are read."""

    place: Path
    asset: Asset
    tell: Callable[[int, int], None] | None
    host: str
    done: int = 0
    _total: int = field(default=0, init=False)

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, size: int) -> None:
        """Stop before the first byte where the size is wrong, or where there is no room for it."""
        self.done = 0
        self._total = size or self.asset.size or 0
        if size and self.asset.size is not None and size != self.asset.size:
            raise TracestatError(
                f"{self.host} offers {size:,} bytes in place of the {self.asset.size:,} of the release: something "
                "answers in its stead, or the release was replaced; nothing was kept"
            )
        if size and self.asset.size is None:
            _check_room(self.place, size)

    def came(self, size: int) -> None:
        """Count bytes that came; who names no size may send without end."""
        self.done += size
        if self.asset.size is not None and self.done > self.asset.size:
            raise TracestatError(
                f"{self.host} sends more than the {self.asset.size:,} bytes of the release: something answers in its "
                "stead, or the release was replaced; nothing was kept"
            )

    def say(self) -> None:
        """Tell who asked how far it is."""
        if self.tell is not None:
            self.tell(self.done, self._total)

    def begin(self) -> None:
        self.done = self._total = 0

    def update(self, size: int) -> None:
        """Do nothing: pooch counts whole pieces, however small they come."""

    def reset(self) -> None:
        """Do nothing: what came has come."""

    def close(self) -> None:
        """Do nothing: who gave the callback closes it."""


def _counted(answer: requests.Response, watch: _Watch) -> None:
    """Let an answer tell of every piece that is read of it."""
    pieces = answer.iter_content

    def read(*arguments: Any, **named: Any) -> Iterator[Any]:
        for piece in pieces(*arguments, **named):
            watch.came(len(piece))
            yield piece
            watch.say()

    setattr(answer, "iter_content", read)  # noqa: B010


def _attempt(url: str, beside: Path, watch: _Watch, timeout: tuple[float, float], attempts: int) -> None:
    """Download to ``beside``, again where the connection failed on the way."""
    import pooch
    import requests
    import urllib3

    host, asset = watch.host, watch.asset
    # a server that packs once more what is packed already would change the bytes
    headers = {"Accept-Encoding": "identity"}
    answers: list[requests.Response] = []

    def keep(answer: requests.Response, **_: object) -> None:
        answers.append(answer)
        _counted(answer, watch)

    hooks = {"response": keep}
    downloader = pooch.HTTPDownloader(watch, chunk_size=_CHUNK, timeout=timeout, headers=headers, hooks=hooks)
    for number in range(1, attempts + 1):
        watch.begin()
        try:
            with _silent(pooch.get_logger()):
                pooch.retrieve(
                    url, f"sha256:{asset.sha256}", fname=beside.name, path=beside.parent, downloader=downloader
                )
        except requests.RequestException as error:  # before the others: some of these are ValueErrors, all OSErrors
            may_pass, reason = _explain(error, watch, timeout)
            if not may_pass:
                raise TracestatError(reason) from None
            if number == attempts:
                tried = f" ({attempts} attempts, each from the start)" if attempts > 1 else ""
                raise TracestatError(f"{reason}{tried}; try again later") from None
            time.sleep(number)
        except urllib3.exceptions.HTTPError:
            raise TracestatError(f"{host}: cannot be asked; check HTTPS_PROXY and HTTP_PROXY") from None
        except ValueError as error:
            came = _hash_in(str(error), asset)
            if came is None:
                raise TracestatError(f"{host}: its answer cannot be read; nothing was kept") from None
            raise TracestatError(
                f"{host}: the file that came has SHA-256 {came}, and {asset.sha256} is that of "
                "the release; it was removed"
            ) from None
        except OSError as error:
            if error.errno is not None:
                raise  # of the disk
            raise TracestatError(f"{host}: no usable certificates; check REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE") from None
        else:
            return
        finally:
            while answers:  # pooch leaves the connection of a failed attempt open
                answers.pop().close()


def _hash_in(text: str, asset: Asset) -> str | None:
    """Find the hash that pooch says it got; None where it speaks of something else."""
    words = (word.strip(".,()").removeprefix("sha256:") for word in text.split())
    found = (word for word in words if len(word) == len(asset.sha256) and word != asset.sha256)
    return next(found, None)


@contextlib.contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    """Keep a library from writing to the screen."""
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _explain(error: requests.RequestException, watch: _Watch, timeout: tuple[float, float]) -> tuple[bool, str]:
    """Tell whether another attempt may do better, and what went wrong.

    The text of the error is not used: it may quote the name and password of a proxy.
    """
    import requests
    import urllib3

    host = watch.host
    inner = error.args[0] if error.args else None
    inner = getattr(inner, "reason", None) or inner
    came = f"after {_megabytes(watch.done)}" + (f" of {_megabytes(watch.total)}" if watch.total else "")
    silence = f"{host}: no byte came for {timeout[1]:g} s, {came}"
    if isinstance(error, requests.HTTPError) and error.response is not None:
        code = error.response.status_code
        if code == requests.codes.not_found:
            return False, f"{host}: has no such file (HTTP 404); the release may have been withdrawn"
        return code >= _SERVER_ERROR, f"{host}: refuses (HTTP {code})"
    if isinstance(error, requests.exceptions.ProxyError):
        return False, f"{host}: the proxy does not lead there; check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
    if isinstance(error, requests.exceptions.SSLError):
        return False, f"{host}: its certificate cannot be checked; see REQUESTS_CA_BUNDLE where a proxy has its own"
    if isinstance(error, requests.ReadTimeout) or isinstance(inner, urllib3.exceptions.ReadTimeoutError):
        return True, silence
    if isinstance(error, requests.exceptions.ChunkedEncodingError) or isinstance(
        inner, urllib3.exceptions.ProtocolError
    ):
        return True, f"{host}: the connection was cut {came}"
    if isinstance(error, requests.ConnectTimeout):
        return False, f"{host}: does not answer within {timeout[0]:g} s; {_NETWORK}"
    if isinstance(error, requests.ConnectionError):
        return False, f"{host}: cannot be reached; {_NETWORK}"
    if isinstance(error, requests.TooManyRedirects):
        return False, f"{host}: leads in a circle; try again later"
    return False, f"{host}: cannot be asked ({type(error).__name__}); check HTTPS_PROXY and HTTP_PROXY"
