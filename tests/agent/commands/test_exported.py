"""What `vgo-agent export` writes does what it says when a shell runs it."""

import os
import shlex
import subprocess
import time

from vgo_agent.agent.commands.alone import this_machine
from vgo_agent.knowledge.actions import Apply, Gpu, Hold
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.mitigation.permanent import permanent


def made(apply, program=("/bin/true",)):
    mitigation = Mitigation(
        key="mine", name="Mine", description="", scope="process", when="", hurts="", apply=Apply.model_validate(apply)
    )
    return {one.format: one for one in permanent(mitigation, this_machine(load()), program)}


def test_the_service_of_a_hold_keeps_the_value_in_an_open_file(tmp_path):
    file = tmp_path / "latency"
    text = made({"hold": [Hold(path=str(file), int32=-2)]})["systemd"].text
    words = shlex.split(next(line for line in text.splitlines() if line.startswith("ExecStart=")).partition("=")[2])
    running = subprocess.Popen([words[0], words[1], words[2].replace("%%", "%").replace("$$", "$")])
    try:
        while not (file.exists() and file.stat().st_size == 4):
            assert running.poll() is None
            time.sleep(0.01)
        assert int.from_bytes(file.read_bytes(), "little", signed=True) == -2
        assert any(
            os.path.samefile(f"/proc/{running.pid}/fd/{fd}", file) for fd in os.listdir(f"/proc/{running.pid}/fd")
        )
    finally:
        running.kill()
        running.wait()


def test_the_highest_value_is_asked_of_each_gpu(tmp_path):
    """A program in the place of nvidia-smi answers for two GPUs, and notes what it is told to set."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        '#!/bin/sh\ncase "$1" in --query*) printf "0, 700.00\\n1, 350.00\\n";; '
        f'*) echo "$@" >> {tmp_path}/said;; esac\n'
    )
    tool.chmod(0o755)
    text = made({"gpu": Gpu(power_limit="max")}, ("/bin/true",))["shell"].text
    subprocess.run(["sh", "-e"], input=text, text=True, check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert (tmp_path / "said").read_text() == "-i 0 -pl 700.00\n-i 1 -pl 350.00\n"


def test_the_job_that_works_in_memory_leaves_nothing(tmp_path):
    """A program in the place of srun starts the step on this machine."""
    (tmp_path / "srun").write_text('#!/bin/sh\nexec "$@"\n')
    (tmp_path / "srun").chmod(0o755)
    (tmp_path / "input").write_text("read\n")
    program = ("sh", "-c", "pwd; cat input; echo written > output")
    text = made({"tmpfs_directory": True}, program)["slurm"].text
    done = subprocess.run(
        ["sh"], input=text, text=True, capture_output=True, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}
    )
    place, read = done.stdout.split()
    assert place.startswith("/dev/shm/") and read == "read"
    assert not os.path.exists(place) and not (tmp_path / "output").exists()
