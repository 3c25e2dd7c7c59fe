"""What all tests share: the installed command, and the promise that the machine is as it was."""

import os
import subprocess
import sys
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
    assert settings() == before
    for folder in (Path("/run/vgo-agent"), Path(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")) / "vgo-agent"):
        assert not list(folder.glob("*.json")), "a test left an entry in the journal"


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
