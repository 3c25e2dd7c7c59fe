"""A real browser without a window, told what to do over its debugging protocol."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image
from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_S = 60


@dataclass
class Browser:
    """One page."""

    socket: ClientConnection
    heard: list[dict[str, Any]] = field(default_factory=list)
    """Events so far."""
    _asked: int = 0

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._asked += 1
        self.socket.send(json.dumps({"id": self._asked, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=PATIENCE_S))
            if message.get("id") == self._asked:
                assert "error" not in message, message
                return dict(message["result"])
            self.heard.append(message)

    def open(self, address: str) -> None:
        """Go to an address; what the page receives over its socket is kept."""
        self.ask("Network.enable")
        self.ask("Page.enable")
        self.ask("Page.navigate", url=address)

    def evaluate(self, script: str) -> Any:
        """Run a script in the page."""
        return self.ask("Runtime.evaluate", expression=script, awaitPromise=True)["result"].get("value")

    def type(self, text: str) -> None:
        """Type into whatever has the focus."""
        self.evaluate("document.querySelector('textarea').focus()")
        self.ask("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        """Press one key, such as Enter (13)."""
        for kind in ("rawKeyDown", "char", "keyUp"):
            more = {"text": "\r"} if code == 13 else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def drawn(self) -> str:
        """Everything that the app has sent to the page, control sequences too."""
        self.evaluate("1")  # to hear what has come since
        frames = [one for one in self.heard if one.get("method") == "Network.webSocketFrameReceived"]
        binary = [one["params"]["response"] for one in frames]
        return b"".join(base64.b64decode(one["payloadData"]) for one in binary if one["opcode"] == 2).decode(
            errors="replace"
        )

    def wait_for(self, text: str) -> str:
        """Wait until the app has drawn a text."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in (drawn := self.drawn()):
            assert time.monotonic() < deadline, f"{text!r} was not drawn; the end of what was: {drawn[-2000:]!r}"
            time.sleep(0.1)
        return drawn

    def picture(self) -> Image.Image:
        """Look at the page."""
        return Image.open(io.BytesIO(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))).convert("RGB")


@contextlib.contextmanager
def browser(width: int = 1000, height: int = 600) -> Iterator[Browser]:
    """Start one with a profile of its own, and end it."""
    assert CHROMIUM
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        words += [f"--user-data-dir={profile}", f"--window-size={width},{height}", "--disable-dev-shm-usage"]
        process = subprocess.Popen([*words, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connect(_page(Path(profile), process), max_size=None, proxy=None, open_timeout=PATIENCE_S) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            process.wait()


def _page(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait for the port that it chose, and take the page that it opened."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the browser ended at once"
        with contextlib.suppress(OSError, ValueError, StopIteration):
            port = (profile / "DevToolsActivePort").read_text().splitlines()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                pages = json.loads(answer.read())
            return str(next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"))
        time.sleep(0.05)
    raise AssertionError("the browser did not open its debugging port")
