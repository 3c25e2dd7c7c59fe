"""An HTTP server on loopback that says what a test lets it say, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Request(NamedTuple):
    """What came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


@dataclass(frozen=True)
class Response:
    """What is said: a body of known length, or pieces until there are no more."""

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Bytes of the body after which the connection breaks."""


Answer = Callable[[Request], Response]


class StandIn(NamedTuple):
    """A server that runs."""

    address: str
    requests: list[Request]


@contextmanager
def standing_in(answer: Answer) -> Iterator[StandIn]:
    """Serve on a port that is free."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            requests.append(Request(self.command, self.path, headers, body))
            with suppress(BrokenPipeError, ConnectionResetError):
                self._say(answer(requests[-1]))

        do_GET = do_HEAD = do_POST = _serve

        def _say(self, said: Response) -> None:
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            named = "content-length" in map(str.lower, said.headers)
            if isinstance(said.body, bytes) and not named:
                self.send_header("Content-Length", str(len(said.body)))
            self.close_connection = not isinstance(said.body, bytes) or said.cut_after is not None
            self.end_headers()
            if self.command == "HEAD":
                return
            for piece in [said.body[: said.cut_after]] if isinstance(said.body, bytes) else said.body:
                self.wfile.write(piece)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield StandIn(f"http://127.0.0.1:{server.server_port}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
