"""Every command that measures first puts back what a killed agent left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vgo_agent.agent.commands import COMMANDS
from vgo_agent.agent.diagnosis import DiagnosisRequest
from vgo_agent.agent.run_folder import RunFolder
from vgo_agent.tools.mitigation.journal import Journal, new_entry
from vgo_agent.tools.mitigation.kernel_file import SavedKnob
from vgo_agent.tools.subject import Limits, Subject

from ...conftest import COMMAND, Vgo

OF_PROGRAM = {
    "diagnose": (),
    "chat": ("--plain",),
    "measure": (),
    "machine run": ("--quota", "50%"),
    "try": ("pin_to_cpu",),
    "sweep": ("threads",),
    "sweep openmp": (),
}
OTHERS = ("demo", "resume", "eval", "eval record", "machine calibrate", "machine profile", "layers")
MEASURE_NOTHING = {
    *("ask", "model", "mitigations", "analyze", "compare", "runs", "verify", "restore", "surface"),
    *("explain", "config", "config completion", "check", "machine compare"),
}


@pytest.fixture
def knob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A setting of a fake tree that a dead agent has left changed."""
    path = tmp_path / "root/sys/knob"
    path.parent.mkdir(parents=True)
    path.write_text("wanted\n")
    folder = tmp_path / "journal"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("VGO_AGENT_JOURNAL", str(folder))
    group = SavedKnob(path="/sys/knob", wanted="wanted", saved={"/sys/knob": "old"})
    entry = new_entry("some_mitigation", (group,), tmp_path / "root").model_copy(update={"pid": 2**22 + 1})
    Journal(folder).record(entry)
    return path


@pytest.fixture
def program(script: Callable[[str, str], Path], knob: Path, tmp_path: Path) -> Path:
    """It notes the setting as its first run finds it, and fails, so that the command ends there."""
    return script(
        "program.py", f"open({str(tmp_path / 'seen')!r}, 'a').write(open({str(knob)!r}).read())\nraise SystemExit(3)\n"
    )


def test_every_command_is_one_of_these_or_measures_nothing() -> None:
    assert COMMANDS.keys() - OF_PROGRAM.keys() - set(OTHERS) <= MEASURE_NOTHING


@pytest.mark.parametrize("name", OF_PROGRAM)
def test_it_restores_before_the_first_run(name: str, program: Path, knob: Path, tmp_path: Path, vgo: Vgo) -> None:
    ended = vgo(*name.split(), *OF_PROGRAM[name], "--", str(program))
    assert "/sys/knob: wanted -> old" in ended.stderr + ended.stdout
    assert (tmp_path / "seen").read_text().startswith("old\n")
    assert knob.read_text() == "old\n"
    assert os.listdir(tmp_path / "journal") == ["lock"]


def test_resume_restores_before_it_goes_on(program: Path, knob: Path, tmp_path: Path, vgo: Vgo) -> None:
    subject = Subject(command=(str(program),), argv=(str(program),), directory=str(tmp_path))
    run = RunFolder.create(tmp_path / "vgo-runs", "program").path
    (run / "request.json").write_text(DiagnosisRequest(subject=subject, limits=Limits()).model_dump_json())
    ended = vgo("resume", str(run))
    assert "/sys/knob: wanted -> old" in ended.stderr
    assert (tmp_path / "seen").read_text().startswith("old\n")
    assert knob.read_text() == "old\n"


def test_recording_a_case_restores_too(program: Path, knob: Path, tmp_path: Path, vgo: Vgo) -> None:
    few = ("--runs", "10", "--pairs", "2", "--out", str(tmp_path / "cases"))
    ended = vgo("eval", "record", "mine", *few, "--", str(program))
    assert "/sys/knob: wanted -> old" in ended.stderr
    assert (tmp_path / "seen").read_text().startswith("old\n")
    assert knob.read_text() == "old\n"


def test_demo_restores_too(knob: Path, tmp_path: Path) -> None:
    with subprocess.Popen([COMMAND, "demo", "steady", "--quiet"], cwd=tmp_path, stderr=subprocess.DEVNULL) as demo:
        try:
            deadline = time.monotonic() + 60
            while knob.read_text() != "old\n":
                assert time.monotonic() < deadline and demo.poll() is None
                time.sleep(0.01)
        finally:
            demo.terminate()


KILLED_IN_FOLDER = """\
import os
from vgo_agent.tools.mitigation.owned_folder import temporary_folder
with temporary_folder():
    os.kill(os.getpid(), 9)
"""


def test_the_temporary_folder_of_a_killed_process_is_removed(vgo: Vgo, tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    (place / "vgo-agent-of-someone").mkdir(parents=True)
    temporary = {"TMPDIR": str(place)}
    with subprocess.Popen([sys.executable, "-c", KILLED_IN_FOLDER], env=os.environ | temporary) as killed:
        killed.wait()
    (left,) = place.glob(f"vgo-agent-{killed.pid}-*")
    done = vgo("restore", env=temporary)
    assert f"{left}: removed, the temporary folder of an agent that died" in done.stdout, done.stderr
    assert [path.name for path in place.iterdir()] == ["vgo-agent-of-someone"]
