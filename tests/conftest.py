"""What all tests share: the installed command, and the promise that the machine is as it was."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

COMMAND = Path(sys.executable).with_name("vgo-agent")
Vgo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def vgo(tmp_path: Path) -> Vgo:
    """Run the installed command in an empty folder, with no settings file."""

    def run(
        *arguments: str, env: dict[str, str] | None = None, timeout: float = 240, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [str(COMMAND), *arguments],
            cwd=tmp_path,
            env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")} | (env or {}),
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            **more,
        )
        return done

    return run


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
