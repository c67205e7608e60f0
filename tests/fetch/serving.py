"""A server on this machine that behaves as servers do on bad days, and a small release for it to serve."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tracestat import fetch

CONTENT = bytes(range(256)) * 4096  # 1 MiB: several pieces
ASSET = fetch.Asset(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), 7)


@dataclass
class Server:
    """What is done with each request in turn; the last behaviour is that of all that follow."""

    behaviours: Sequence[str]
    content: bytes = CONTENT
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    base: str = ""
    sent: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def next_behaviour(self, path: str) -> str:
        if path.endswith("/moved"):
            return "right"
        self.asked.append(path)
        return self.behaviours[min(len(self.asked), len(self.behaviours)) - 1]


@contextmanager
def serving(*behaviours: str, content: bytes = CONTENT) -> Iterator[Server]:
    """Serve, in a thread: right, cut, stall, other (as long, another content), longer, redirect, circle, or a code.

    ``unsized`` names no size, ``pieces`` sends in small ones, ``endless`` does not end, ``unread`` names no number.
    """
    server = Server(behaviours, content)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def end_headers(self) -> None:
            self.send_header("Connection", "close")
            super().end_headers()

        def do_GET(self) -> None:
            self.close_connection = True
            server.headers.append(dict(self.headers))
            self.answer(server.next_behaviour(self.path))

        def answer(self, behaviour: str) -> None:
            if behaviour.isdigit():
                self.send_error(int(behaviour))
                return
            if behaviour == "redirect":
                self.send_response(302)
                self.send_header("Location", f"{server.base}/moved")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if behaviour == "circle":
                self.send_response(302)
                self.send_header("Location", self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if behaviour == "silent":
                server.over.wait(20)
                return
            if behaviour == "endless":
                self.send_response(200)
                self.end_headers()
                while not server.over.is_set():
                    server.sent += self.wfile.write(server.content)
                return
            if behaviour == "pieces":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for start in range(0, len(server.content), 4096):
                    self.wfile.write(b"1000\r\n" + server.content[start : start + 4096] + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")
                return
            body = {"other": server.content[::-1], "longer": server.content + b"x"}.get(behaviour, server.content)
            self.send_response(200)
            if behaviour != "unsized":
                self.send_header("Content-Length", "many" if behaviour == "unread" else str(len(body)))
            self.end_headers()
            half = len(body) // 2 if behaviour in ("cut", "stall") else len(body)
            self.wfile.write(body[:half])
            self.wfile.flush()
            if behaviour == "stall":
                server.over.wait(20)

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None: ...  # who asked has gone away, as intended

    with Quiet(("127.0.0.1", 0), Handler) as http:
        server.base = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            http.shutdown()
            thread.join()


def small_release(patch: pytest.MonkeyPatch, asset: fetch.Asset = ASSET) -> None:
    """Let v0.0.2 be a file of a mebibyte."""
    patch.setattr(fetch, "RELEASES", {**fetch.RELEASES, "v0.0.2": {"jsonl": asset, "duckdb": asset}})


def already_there(patch: pytest.MonkeyPatch, folder: Path) -> list[str | Path]:
    """Put the file of a small release into a folder; give the arguments of a fetch that finds it."""
    small_release(patch)
    (folder / "syfi_coding_trace.jsonl.gz").write_bytes(CONTENT)
    return ["-o", folder]
