"""No test here touches the network: proxies are off, and any other machine than this one is refused."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.fetch.serving import small_release
from tracestat import fetch


@pytest.fixture(autouse=True)
def _this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    real = socket.getaddrinfo

    def only_here(host: Any, *arguments: Any, **named: Any) -> Any:
        if host not in ("127.0.0.1", "localhost", None):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
    monkeypatch.setattr(fetch.time, "sleep", lambda _: None)
    small_release(monkeypatch)
