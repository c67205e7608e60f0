"""What may be kept of the words in a log: public names as they are, ids and private names as keyed pseudonyms.

A private name (of a tool, an executable, a model) becomes a token ``?`` and twelve hexadecimal digits, so that equal
names stay equal over logs and ingests; when the rounds of a store are put together, each token becomes ``custom_N``,
``custom_tool_N`` or ``custom_model_N`` by first appearance, as TraceLab does.
"""

from __future__ import annotations

import hmac
import re
from functools import lru_cache
from typing import Final

from tracestat.ingest.logs.model_names import is_published
from tracestat.ingest.logs.public_names import PUBLIC_EXECUTABLES, PUBLIC_TOOLS

__all__ = ["TOKEN", "Names"]

TOKEN: Final = re.compile(r"\?[0-9a-f]{12}")
_KEPT: Final = 100_000  # names remembered; a log repeats few of them


class Names:
    """Makes pseudonyms with one user's key.

    Parameters
    ----------
    key : bytes
        The user's key (:func:`tracestat.user_key.user_key`).
    keep : bool
        Remember the private names in ``seen``, for ``ingest --keep-names``.

    Attributes
    ----------
    seen : dict of (str, str) to str
        (kind, token) to the true name, empty unless ``keep``; kinds are ``tool``, ``executable``, ``model`` and
        ``project``.
    """

    def __init__(self, key: bytes, *, keep: bool = False) -> None:
        self._key = key
        self._keep = keep
        self.seen: dict[tuple[str, str], str] = {}
        self._hash = lru_cache(_KEPT)(self._hashed)

    def _hashed(self, purpose: str, text: str) -> str:
        message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, message, "sha256").hex()

    def id(self, purpose: str, text: str) -> str:
        """Give the pseudonym of an id: 20 hexadecimal digits; purposes (call, round, session ...) never meet."""
        return self._hash(purpose, text)[:20]

    def tool(self, name: str) -> str:
        """Give a public tool name as it is, any other as a token."""
        return name if name in PUBLIC_TOOLS else self._token("tool", name)

    def executable(self, name: str) -> str:
        """Give a public executable name as it is, any other as a token."""
        return name if name in PUBLIC_EXECUTABLES else self._token("executable", name)

    def model(self, name: str) -> str:
        """Give the name of a published model as it is, any other as a token."""
        return name if is_published(name) else self._token("model", name)

    def project(self, place: str) -> str:
        """Give the pseudonym of a working directory or repository: ``project_`` and 8 hexadecimal digits."""
        project = f"project_{self._hash('project', place)[:8]}"
        if self._keep:
            self.seen["project", project] = place
        return project

    def fingerprint(self, text: str) -> str:
        """Give the keyed hash of a normalised command: 16 hexadecimal digits."""
        return self._hashed("command", text)[:16]

    def _token(self, kind: str, name: str) -> str:
        token = f"?{self._hash(kind, name)[:12]}"
        if self._keep:
            self.seen[kind, token] = name
        return token
