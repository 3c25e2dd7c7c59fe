"""Bad terminals, bad folders, bad lines: a sentence on the screen, and never a stack trace over it."""

import asyncio
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.pilot import Pilot

from vgo_agent.agent.chat.session import ChatSession
from vgo_agent.agent.chat.words import COMMANDS, LONGEST, completed, meant
from vgo_agent.agent.desk.desk import Desk
from vgo_agent.agent.desk.markdown import as_markdown
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.agent.tui.widgets.header import Header, PromptInput
from vgo_agent.agent.worker.link import WorkerConnection

from .conftest import FAULTS, looking, on_screen, request_in, say, stop, until

COMMAND = Path(sys.executable).with_name("vgo-agent")


def opened_on(folder: RunFolder, desk: Desk) -> ChatSession:
    session = ChatSession(desk)
    session.open(folder)
    return session


def header(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one(Header).content)


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (39, 50), (200, 9)])
@pytest.mark.cells(1)
def test_a_terminal_that_is_too_small_says_so(size: tuple[int, int], copied: RunFolder, desk: Desk) -> None:
    async def look(pilot: Pilot[None]) -> None:
        await pilot.pause()
        small = pilot.app.screen.query_one("#small")
        assert small.display and not pilot.app.screen.query_one(Header).display
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert not small.display and pilot.app.screen.query_one(Header).display

    on_screen(opened_on(copied, desk), look, size=size)


@pytest.mark.slow
def test_a_screen_that_is_resized_in_the_midst_of_drawing_goes_on(copied: RunFolder, desk: Desk) -> None:
    async def look(pilot: Pilot[None]) -> None:
        for width, height in ((200, 60), (80, 24), (20, 5), (110, 10), (41, 11), (120, 40)):
            await pilot.resize_terminal(width, height)
            await pilot.press("f2")
        await pilot.pause()
        assert "remedy confirmed" in header(pilot)

    on_screen(opened_on(copied, desk), look)


def test_pasted_megabytes_are_cut_to_a_line(copied: RunFolder, desk: Desk) -> None:
    async def look(pilot: Pilot[None]) -> None:
        line = pilot.app.screen.query_one(PromptInput)
        line.post_message(events.Paste("many\nwords \x1b[2J " * 500_000))
        await until(lambda: len(line.value) > 0)
        assert len(line.value) == LONGEST and "\n" not in line.value

    on_screen(opened_on(copied, desk), look)


@pytest.mark.parametrize(
    ("text", "told"),
    [(b'{"seq":0,"body":{"kind":"of_next_year"}}\n', "of a newer version"), (b"\xff\xfe\x00\n", "is broken")],
)
@pytest.mark.cells(1)
def test_a_folder_that_cannot_be_read_is_told_on_the_screen(
    text: bytes, told: str, copied: RunFolder, desk: Desk
) -> None:
    copied.transcript.write_bytes(copied.transcript.read_bytes() + text)

    async def look(pilot: Pilot[None]) -> None:
        await until(lambda: told in header(pilot))
        await say(pilot, "/help")  # the rest goes on

    on_screen(opened_on(copied, desk), look)


def test_a_result_of_another_form_is_told_on_the_screen(copied: RunFolder, desk: Desk) -> None:
    text = copied.transcript.read_text()
    assert '"factors":' in text
    copied.transcript.write_text(text.replace('"factors":', '"causes":'))

    async def look(pilot: Pilot[None]) -> None:
        await until(lambda: "a result of another form" in header(pilot))

    on_screen(opened_on(copied, desk), look)


def test_a_table_that_was_lost_is_told_on_the_screen(copied: RunFolder, desk: Desk) -> None:
    for path in (copied.path / "artefacts").iterdir():
        if path.read_bytes().startswith(b"order,"):
            path.unlink()

    async def look(pilot: Pilot[None]) -> None:
        await until(lambda: "is missing or unreadable" in header(pilot))

    on_screen(opened_on(copied, desk), look)


def test_a_program_that_fails_is_told_on_the_screen(tmp_path: Path, desk: Desk) -> None:
    request = request_in(tmp_path)
    (tmp_path / "faults.py").write_text("raise SystemExit(3)")
    session = ChatSession(desk, request)

    async def look(pilot: Pilot[None]) -> None:
        await until(lambda: "A trial run failed" in header(pilot))

    on_screen(session, look, begin=True)
    stop(session)


def test_commands_that_cannot_be_done_are_answered_in_a_sentence(copied: RunFolder, desk: Desk) -> None:
    session = opened_on(copied, desk)
    from vgo_agent.agent.chat.actions import do

    for line in (
        "/measure",
        "/pause",
        "/stop",
        "/label x",
        "/budget nan",
        "/budget -1",
        "/try nothing_like_it",
        "/gibts",
    ):
        reply = do(session, line)
        assert reply.failed and reply.text.count("\n") == 0, line
    assert not do(ChatSession(desk), "/undo").failed


@pytest.mark.slow
def test_garbage_on_the_wire_changes_nothing(session: ChatSession) -> None:
    session.begin("step")
    asyncio.run(until(looking(session, lambda: session.state.waiting)))
    assert session.folder is not None
    other = WorkerConnection.to(session.folder)
    assert other is not None
    for line in (b"\n", b"[]\n", b'{"do":7}\n', b'{"do":"limits","limits":3}\n', b"\xff\n", b'{"do":"stop"}\n'):
        other._socket.sendall(line)  # a watcher's commands are not obeyed, whatever they are
    assert session._link is not None
    for line in (b"\n", b"[]\n", b'{"do":7}\n', b'{"do":"limits","limits":3}\n', b'{"do":"answer"}\n', b"\xff\n"):
        session._link._socket.sendall(line)
    session.tell("wish", tool="measure")
    asyncio.run(until(looking(session, lambda: session.view.steps and session.view.steps[0].state == "done")))
    other.close()


def in_terminal(words: list[str], folder: Path, **environment: str) -> str:
    """Run a command in a terminal of its own; give what it wrote."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(str(COMMAND), [str(COMMAND), *words], os.environ | environment)
    said = b""
    try:
        while came := os.read(terminal, 4096):
            said += came
    except OSError:  # the end of a terminal
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    return said.decode(errors="replace")


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"TERM": "dumb"}, "cannot redraw a screen; use --plain"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "This locale is not UTF-8"),
    ],
)
def test_a_terminal_that_cannot_be_drawn_on_is_refused(environment: dict[str, str], told: str, tmp_path: Path) -> None:
    said = in_terminal(["chat"], tmp_path, **({"TERM": "xterm"} | environment))
    assert told in said and "Traceback" not in said


@pytest.mark.slow
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "faults.py").write_text(FAULTS)

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    done = subprocess.run(
        [COMMAND, "chat", "--plain", "--max-runs", "40", "--", sys.executable, "-IS", "faults.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        stdin=subprocess.DEVNULL,
        preexec_fn=little_room,
        # Compiled files that are cut off at the limit would stay, and break whoever imports them next.
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1 and "Cannot write" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@given(st.text(max_size=200))
def test_every_line_means_something(line: str) -> None:
    asked = meant(line)
    assert asked.name in COMMANDS or asked.name in ("ask", "unknown")


@given(st.sampled_from(sorted(COMMANDS)), st.integers(0, 12))
def test_every_beginning_of_a_command_is_completed_to_it(name: str, length: int) -> None:
    assert COMMANDS[name] in completed(f"/{name[:length]}")
    assert meant(f"/{name}").name == name


def test_a_folder_that_was_opened_and_not_begun_begins(tmp_path: Path, desk: Desk) -> None:
    session = opened_on(request_in(tmp_path).opened(), desk)
    assert session.place == "still" and session.view.status == "not begun"


def test_words_for_a_terminal_become_markdown_that_fits_any_width() -> None:
    listed = "List:\n  1. First\n     When: it\n         rains\n  - other_one"
    words = f"A title\nthat goes on [1]\n\n{listed}\n\nTable:\n  A    B"
    assert as_markdown(words) == (
        "A title that goes on \\[1\\]\n\n**List:**\n\n1. First\n   - When: it rains\n- other\\_one\n\n"
        "**Table:**\n\n```text\n  A    B\n```"
    )
