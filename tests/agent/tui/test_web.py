"""The app in a browser: who gets in, what a real browser shows, and how it ends."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from vgo_agent.agent.tui.web.server import serve
from vgo_agent.knowledge.errors import VgoError

from ...conftest import COMMAND
from ..answers.run_made import written
from ..report.conftest import MAKERS
from .browser import CHROMIUM, browser

APP = """
import os
from textual.app import App
from textual.widgets import Footer, Input, Static
class Small(App):
    BINDINGS = [("ctrl+q", "quit", "Leave it")]
    def compose(self):
        yield Static(f"ready {os.getpid()}")
        yield Input()
        yield Footer()
    def on_input_submitted(self, event):
        self.query_one(Static).update("you said " + event.value)
Small().run()
"""
SERVE = """
import sys
from vgo_agent.agent.ending import run
from vgo_agent.agent.tui.web.server import serve
run(lambda: serve(sys.argv[1:], 0, lambda line: print(line, flush=True)) or 0)
"""


class Served:
    """A server that runs, and what it told."""

    def __init__(self, *command: str) -> None:
        words = [sys.executable, "-c", SERVE, *command]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.told = [self.process.stdout.readline() for _ in range(3)]
        self.address = self.told[0].split()[-1]
        self.parts = urlsplit(self.address)
        self.token = self.parts.path.strip("/")

    def get(self, path: str, host: str = "") -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.parts.netloc, timeout=30)
        connection.request("GET", path, headers={"Host": host or self.parts.netloc})
        return connection.getresponse()

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("app") / "app.py"
    path.write_text(APP)
    return path


@contextmanager
def serving(app: Path) -> Iterator[Served]:
    one = Served(sys.executable, str(app))
    yield one
    one.process.kill()
    one.process.communicate()


@pytest.fixture(scope="module")
def served(app: Path) -> Iterator[Served]:
    """One for all that do not end it."""
    with serving(app) as one:
        yield one


@pytest.fixture
def ended(app: Path) -> Iterator[Served]:
    """One that the test ends."""
    with serving(app) as one:
        yield one


def test_it_tells_the_address_and_how_to_reach_it_over_ssh(served: Served) -> None:
    first, second, third = served.told
    assert served.parts.hostname == "127.0.0.1" and len(served.token) >= 32
    assert "Ctrl-C" in second
    port = served.parts.port
    assert f"ssh -L {port}:127.0.0.1:{port} " in third


@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/textual.js", "/download/x", "/wrong/", "/wrong/ws", "//"])
def test_without_the_token_everything_is_refused_with_a_sentence(served: Served, path: str) -> None:
    answer = served.get(path)
    assert answer.status == 403 and b"lacks the token" in answer.read()


def test_a_page_elsewhere_that_points_its_name_here_is_refused(served: Served) -> None:
    assert served.get(f"/{served.token}/", host="evil.example:80").status == 403
    assert served.get(f"/{served.token}/", host="localhost:9999").status == 200


def test_the_page_names_nothing_outside_this_machine(served: Served) -> None:
    answer = served.get(f"/{served.token}/", host="localhost:9999")
    page = answer.read().decode()
    assert f"ws://localhost:9999/{served.token}/ws" in page
    assert "https://" not in page and "http://" not in page
    assert answer.getheader("Referrer-Policy") == "no-referrer"
    assert served.get(f"/{served.token}").getheader("Location") == f"/{served.token}/"


def test_it_listens_on_loopback_only(served: Served) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()
    local = [line.split()[1] for line in lines[1:] if line.split()[3] == "0A"]
    assert [one for one in local if one.endswith(f":{served.parts.port:04X}")] == [f"0100007F:{served.parts.port:04X}"]


def test_a_socket_without_the_token_and_one_that_talks_nonsense_are_closed(ended: Served) -> None:
    with pytest.raises(Exception, match="403"):
        connect(f"ws://{ended.parts.netloc}/ws", proxy=None)
    with connect(f"ws://{ended.parts.netloc}/{ended.token}/ws?width=80&height=x", proxy=None) as page:
        page.send("no json")
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                page.recv(timeout=60)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1003
    assert ended.end() == 130
    assert ended.process.stderr and "Traceback" not in ended.process.stderr.read()


def test_an_app_that_does_not_start_closes_its_page(tmp_path: Path) -> None:
    served = Served(sys.executable, "-c", "raise SystemExit('no such run')")
    with connect(f"ws://{served.parts.netloc}/{served.token}/ws", proxy=None) as page, pytest.raises(ConnectionClosed):
        page.recv(timeout=60)
    assert served.end() == 130


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(VgoError, match=f"Port {port} is in use; choose another with --port"):
            serve(["true"], port, print)
    with pytest.raises(VgoError, match="cannot be taken"):
        serve(["true"], 99999999, print)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")
def test_a_real_browser_shows_the_app_to_its_last_row_takes_keys_and_ends_with_it(ended: Served) -> None:
    with browser() as page:
        page.open(ended.address)
        drawn = page.wait_for("ready ")
        page.wait_for("Leave")  # the footer
        pid = int(drawn.partition("ready ")[2].split()[0].split("\x1b")[0])
        asked = [one["params"]["request"]["url"] for one in page.heard if one["method"] == "Network.requestWillBeSent"]
        assert asked and all(url.startswith((ended.address, "data:")) for url in asked)
        page.type("hello")
        page.press("Enter", 13)
        page.wait_for("you said hello")
        page.evaluate("new Promise((done) => setTimeout(done, 500))")  # it fades in
        rows = np.asarray(page.picture()).std(axis=(1, 2))
        last = np.flatnonzero(rows > 20)[-1]
        assert last > 0.9 * len(rows), "the footer is not where the picture ends"
        assert ended.end() == 130
        assert "session has ended" in page.evaluate("document.getElementById('ended').innerText")
    deadline = time.monotonic() + 30
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")
def test_the_chat_itself_is_there_in_a_real_browser_with_its_footer(tmp_path: Path) -> None:
    run = written(MAKERS["confirmed"](), tmp_path / "vgo-runs" / "made")
    words = [str(COMMAND), "chat", "--web", str(run)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout
    address = process.stdout.readline().split()[-1]
    with browser() as page:
        page.open(address)
        page.wait_for("Leave")
        page.wait_for("remedy confirmed")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
