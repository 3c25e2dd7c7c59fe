"""Serve the app to browsers of this machine: loopback only, everything behind a token in the path of the address."""

from __future__ import annotations

import asyncio
import errno
import hmac
import secrets
import socket
from collections.abc import Callable, Sequence
from importlib.resources import files
from shlex import join
from string import Template

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from ....knowledge.errors import VgoError

DRIVER = f"{__package__}.driver:FocusedDriver"
PATIENCE_S = 20.0
"""For the app to put settings back and end by itself; then it is killed, and its watchdog puts back."""


class Session(AppService):
    """An app that is heard of when it ends."""

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        return {**super()._build_environment(width, height), "TEXTUAL_DRIVER": DRIVER}

    async def run(self) -> None:
        """Pass on what the app draws; when it has ended, however it did, close the page."""
        await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        """Ask the app to leave, and see that it does."""
        if self._task is None or self._process is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        await self.send_meta({"type": "quit"})
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
        self._task.cancel()  # a process that the app left behind may hold its output open
        await self._task
        self._task = None


LOOPBACK = "127.0.0.1"
HOSTS = frozenset({"localhost", LOOPBACK, "[::1]"})
"""Names that a browser may call this machine by; any other is a page elsewhere that points its name here."""
REFUSED = "This address lacks the token: open the one that `vgo-agent chat --web` printed.\n"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' data:; connect-src 'self' ws:; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
USUAL = (("width", 80), ("height", 24))
MOST_CELLS = 1000
"""Across and down; a page that asks for more is none."""


class AppServer(Server):
    """The app behind a token; nothing is fetched from anywhere else."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(join(command), host=LOOPBACK, title="vgo-agent")
        self.token = secrets.token_urlsafe(24)
        self._open: set[web.WebSocketResponse] = set()

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard()])
        base = f"/{self.token}"
        app.add_routes(
            [
                web.get(f"{base}/", self.show),
                web.get(f"{base}/ws", self.handle_websocket),
                web.get(f"{base}/download/{{key}}", self.handle_download),
                web.static(f"{base}/static", self.statics_path),
            ]
        )
        app.on_shutdown.append(self.on_shutdown)
        return app

    def _guard(self) -> Middleware:
        """Refuse whoever has not the token, and what other pages send in the name of the user."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            given = request.path.split("/")[1]
            named = (request.host or "").rpartition(":")[0] or request.host
            if named not in HOSTS or not hmac.compare_digest(given.encode(), self.token.encode()):
                return web.Response(status=403, text=REFUSED, headers=HEADERS)
            if request.path == f"/{self.token}":
                raise web.HTTPFound(f"/{self.token}/")
            response = await handler(request)
            if not response.prepared:
                response.headers.update(HEADERS)
            return response

        return guard

    async def show(self, request: web.Request) -> web.Response:
        """Give the page, with addresses as the browser knows this machine: behind `ssh -L` the port is another one."""
        page = Template(files(__package__).joinpath("page.html").read_text())
        size = min(max(to_int(request.query.get("fontsize", ""), 16), 6), 60)
        websocket = f"ws://{request.host}/{self.token}/ws"
        return web.Response(text=page.substitute(websocket=websocket, font_size=size), content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        websocket = web.WebSocketResponse(heartbeat=15)
        await websocket.prepare(request)
        self._open.add(websocket)
        session = Session(
            self.command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=websocket.close,  # type: ignore[arg-type] # it says whether it was open, which nobody asks
            download_manager=self.download_manager,
        )
        width, height = (min(to_int(request.query.get(name, ""), usual), MOST_CELLS) for name, usual in USUAL)
        try:
            await session.start(width, height)
            await self._process_messages(websocket, session)
        except (ValueError, LookupError, TypeError, AssertionError):  # not what the page sends
            await websocket.close(code=1003)
        except ConnectionError:  # the page has gone in the middle of a word
            await websocket.close()
        finally:
            await session.stop()
            self._open.discard(websocket)
        return websocket

    async def on_shutdown(self, app: web.Application) -> None:
        await asyncio.gather(*(websocket.close() for websocket in self._open))


def serve(command: Sequence[str], port: int, tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `tell` is given the address, and how to reach it over ssh."""
    page = AppServer(command)
    with _bound(port) as listening:
        page.port = listening.getsockname()[1]
        address = f"http://{LOOPBACK}:{page.port}/{page.token}/"
        tell(f"The chat is at {address}")
        tell("Only this machine answers there, and only to who has that address. Ctrl-C ends it.")
        tell(f"From elsewhere: ssh -L {page.port}:{LOOPBACK}:{page.port} {socket.gethostname()}, then open it there.")
        web.run_app(
            page._make_app(),
            sock=listening,
            print=None,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=2 * PATIENCE_S,
        )


def _bound(port: int) -> socket.socket:
    """Listen on loopback; port 0 takes a free one."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()  # before the address is told
    except (OSError, OverflowError) as error:
        listening.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is in use" if taken else "cannot be taken"
        raise VgoError(f"Port {port} {why}; choose another with --port, or 0 for a free one.") from error
    return listening
