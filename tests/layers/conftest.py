"""What the tests of layers share: a spawner, and probes that are closed at the end."""

import os
import subprocess

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.perf_ring import RingLoad
from vgo_agent.tools.execution.spawn import Spawner

from .fake_root import FakeRoot


@pytest.fixture
def spawner():
    with Spawner() as opened:
        yield opened


@pytest.fixture
def own_state(tmp_path, monkeypatch):
    """Nothing is trusted, and there are no settings."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def fake(tmp_path):
    return FakeRoot(tmp_path)


@pytest.fixture
def opening():
    """Open probes as `open_probe` does; all are closed at the end."""
    probes = []

    def opened(*words):
        probes.append(open_probe(*words))
        return probes[-1]

    yield opened
    for probe in probes:
        probe.close()


@pytest.fixture
def opened(monkeypatch, opening):
    """Opens a layer by its spec, however busy others keep the machine; the machine must have it, capstone or not."""
    monkeypatch.setattr(RingLoad, "too_much", lambda *_: "")

    def open_here(spec: str):
        probe = opening(find_layer(spec))
        if lacking := [why for name, why in probe.absent().items() if name != "stacks.lines"]:
            pytest.skip(lacking[0])
        return probe

    return open_here


@pytest.fixture
def cold_file(tmp_path):
    """A file of 4 MB, dropped from the page cache."""
    file = tmp_path / "input"
    file.write_bytes(os.urandom(4 << 20))
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if subprocess.check_output(["fincore", "-n", "-o", "PAGES", str(file)]).strip() != b"0":
        pytest.skip("this file system keeps no copy on a device, so nothing can be evicted")
    return file
