"""The user's key: what turns an id or a path into a pseudonym that only this user can make again.

Made once, in the configuration folder, readable by its owner only; ``TRACESTAT_KEY`` overrides it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

import platformdirs

from tracestat.errors import TracestatError

__all__ = ["keyed_hash", "user_key"]

_BYTES = 32


def user_key() -> bytes:
    """Give the user's key, making it on first use.

    Returns
    -------
    bytes
        32 bytes.

    Raises
    ------
    TracestatError
        The configuration folder cannot be written or the key in it cannot be read.
    """
    given = os.environ.get("TRACESTAT_KEY")
    if given:
        return hashlib.sha256(given.encode("utf-8", "surrogateescape")).digest()
    folder = Path(platformdirs.user_config_dir("tracestat"))
    file = folder / "key"
    try:
        if not file.exists():
            _make(folder, file)
        text = file.read_text(encoding="ascii").strip()
        key = bytes.fromhex(text)
    except OSError as error:
        raise TracestatError(
            f"the key in tracestat's configuration folder cannot be read or made ({error.strerror}): set TRACESTAT_KEY"
        ) from error
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise TracestatError(
            "the key in tracestat's configuration folder is damaged: remove the file `key` there, or set TRACESTAT_KEY"
        )
    return key


def _make(folder: Path, file: Path) -> None:
    """Write a new key in one step; if another process was first, its key stays."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = folder / f"key.{os.getpid()}.{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(secrets.token_hex(_BYTES) + "\n")
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(draft, file)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def keyed_hash(text: str, *, purpose: str, key: bytes | None = None) -> str:
    """Give the pseudonym of a text: 32 hexadecimal digits.

    Parameters
    ----------
    text : str
        An id or a path.
    purpose : str
        What it is; equal texts of different purposes get different pseudonyms.
    key : bytes, optional
        The user's key by default.

    Examples
    --------
    >>> keyed_hash("a", purpose="path", key=b"k") == keyed_hash("a", purpose="session", key=b"k")
    False
    """
    message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
    return hmac.new(user_key() if key is None else key, message, hashlib.sha256).hexdigest()[:32]
