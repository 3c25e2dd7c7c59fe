"""What all tests share: the installed command, and the promise that the machine is as it was."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hypothesis
import pytest

COMMAND = Path(sys.executable).with_name("vgo-agent")
AT_START = ("HF_", "LANG", "LC_", "LD_", "PYTHON", "TMPDIR")
"""How variables begin that are read at a start or an import: a command with one of them is started as an executable."""
Vgo = Callable[..., subprocess.CompletedProcess[str]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="slow tests, and every cell of matrices")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: real things that take seconds each; run with --all")
    config.addinivalue_line("markers", "cells(n): a matrix of which n cells stand for all; run them all with --all")
    hypothesis.settings.register_profile("all", deadline=None)  # a deadline would test the speed of the machine
    hypothesis.settings.register_profile("check", derandomize=True, deadline=None, max_examples=20)
    hypothesis.settings.load_profile("all")
    if not config.getoption("--all"):
        hypothesis.settings.load_profile("check")
        config.option.warn_unused_snapshots = True  # those of slow tests, which are left out, would fail the session


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out, and most cells of large matrices, unless they are asked for by --all or by name."""
    if config.getoption("--all") or any("::" in name for name in config.args):
        return
    cells = defaultdict[tuple[Path, str], list[pytest.Item]](list)
    for item in items:
        cells[item.path, item.nodeid.partition("[")[0]].append(item)
    left_out = {item for item in items if item.get_closest_marker("slow")}
    for one in cells.values():
        if (marker := one[0].get_closest_marker("cells")) is not None:
            drawn = sorted(one, key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
            left_out |= {*drawn[marker.args[0] :]}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def command_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start the process that forks the command, and give the address of its socket."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "learned").touch()
    words = [sys.executable, str(Path(__file__).with_name("command_server.py")), "socket", str(folder / "learned")]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE) as server:
        assert server.stdout and server.stdout.readline() == b"ready\n"
        yield folder / "socket"
        server.kill()


@pytest.fixture
def vgo(tmp_path: Path, request: pytest.FixtureRequest) -> Vgo:
    """Run the command in an empty folder, with no settings file."""

    def run(
        *arguments: str, env: dict[str, str] | None = None, timeout: float = 240, lines: str | None = None, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        words = [str(COMMAND), *map(os.fsdecode, arguments)]
        whole = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")} | (env or {})
        if any(name.startswith(AT_START) for name in env or ()):
            return subprocess.run(
                words,
                cwd=tmp_path,
                env=whole,
                capture_output=True,
                text=True,
                timeout=timeout,
                **({"stdin": subprocess.DEVNULL} if lines is None else {"input": lines}),
                **more,
            )
        address: Path = request.getfixturevalue("command_server")
        return forked(address, {"argv": words, "cwd": str(tmp_path), "env": whole} | more, timeout, lines)

    return run


def forked(
    address: Path, asked: dict[str, Any], timeout: float, lines: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Have the server carry out a command, as `subprocess.run` would: until nothing writes to its streams any more.

    `lines` come through a pipe, which has to hold them; None: the command reads from nowhere.
    """
    (out, to_out), (errors, to_errors) = os.pipe(), os.pipe()
    given = os.open(os.devnull, os.O_RDONLY) if lines is None else _piped(lines)
    with socket.socket(socket.AF_UNIX) as connection, ThreadPoolExecutor(2) as pool:
        said = [pool.submit(_read, stream) for stream in (out, errors)]
        connection.connect(str(address))
        socket.send_fds(connection, [b" "], [given, to_out, to_errors])
        for stream in (given, to_out, to_errors):
            os.close(stream)
        connection.sendall(json.dumps(asked, default=str).encode() + b"\n")
        with connection.makefile() as answers:
            pid = int(answers.readline())
            connection.settimeout(timeout)
            try:
                code = os.waitstatus_to_exitcode(int(answers.readline()))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(asked["argv"], timeout) from None
        return subprocess.CompletedProcess(asked["argv"], code, *(text.result() for text in said))


def _piped(lines: str) -> int:
    reading, writing = os.pipe()
    with open(writing, "w") as pipe:
        pipe.write(lines)
    return reading


def _read(stream: int) -> str:
    with open(stream) as file:
        return file.read()


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write an executable Python script that starts fast."""

    def write(name: str, body: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!{sys.executable} -IS\n{body}")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture(autouse=True, scope="session")
def machine_as_before() -> Iterator[None]:
    """Fail the session when a test left a kernel setting changed or an entry in the journal."""
    before = settings()
    yield
    deadline = time.monotonic() + 60
    while (settings() != before or entries()) and time.monotonic() < deadline:  # tests beside these put theirs back
        time.sleep(0.1)
    assert settings() == before
    assert not entries(), "a test left an entry in the journal"


def control_groups(below: Path = Path("/sys/fs/cgroup")) -> Iterator[Path]:
    """Give every control group; one that vanishes meanwhile, as those of tests beside these do, is no error."""
    for parent, names, _ in os.walk(below):
        yield from (Path(parent, name) for name in names)


def groups_of_nobody(prefix: str) -> set[Path]:
    """Give the groups of this process, and of processes that are dead, by the pid after the prefix of their names."""
    found = {path: path.name.removeprefix(prefix).partition("-")[0] for path in control_groups() if prefix in path.name}
    ours = str(os.getpid())
    return {path for path, pid in found.items() if pid == ours or not Path(f"/proc/{pid}").exists()}


def entries() -> list[Path]:
    """List what stands in the journals of this machine."""
    folders = (Path("/run/vgo-agent"), Path(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")) / "vgo-agent")
    return [entry for folder in folders for entry in folder.glob("*.json")]


def settings() -> dict[str, str]:
    """Read the kernel settings that mitigations write."""
    paths = (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/transparent_hugepage/defrag",
        *(
            f"/proc/sys/kernel/{name}"
            for name in ("numa_balancing", "sched_autogroup_enabled", "watchdog", "task_delayacct")
        ),
        *(f"/proc/sys/vm/{name}" for name in ("swappiness", "stat_interval", "compaction_proactiveness")),
        *(f"/proc/sys/vm/dirty_{name}" for name in ("ratio", "bytes", "background_ratio", "background_bytes")),
    )
    return {path: Path(path).read_text() for path in paths if os.access(path, os.R_OK)}
