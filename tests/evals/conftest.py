"""What the tests of the workloads share."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A folder on a disk."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        pytest.skip(f"the folder for tests is a {kind}, where no file can be cold; pass --basetemp on a disk")
    return tmp_path


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is built goes to a cache of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
