"""What `vgo-agent mitigations --keep` writes does what it says when a shell runs it."""

import os
import shlex
import subprocess
import time

import pytest

from vgo_agent.agent.commands.mitigation_arguments import this_machine
from vgo_agent.knowledge.actions import Apply, Gpu, Hold, Write
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


def test_a_clock_is_capped_by_what_the_machine_it_runs_on_says(tmp_path):
    """Two policies of different highest clocks, below a folder that this machine did not have at the export."""
    text = made({"write": [Write(path=f"{tmp_path}/policy*/scaling_max_freq", value="{80%:cpuinfo_max_freq}")]})
    unit = text["systemd"].text
    for name, most in (("policy0", "3000000"), ("policy4", "2000000")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpuinfo_max_freq").write_text(f"{most}\n")
        (tmp_path / name / "scaling_max_freq").write_text(f"{most}\n")
    assert "Type=oneshot" in unit and "nvidia" not in unit
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).partition("=")[2]
    shell, option, command = shlex.split(line)
    command = command.replace("%%", "%").replace("$$", "$").replace("\\n", "\n")
    for script in ([shell, option, command], ["sh", "-c", text["shell"].text.replace("PROGRAM", "true")]):
        for policy in tmp_path.glob("policy*"):
            (policy / "scaling_max_freq").write_text("0\n")
        subprocess.run(script, check=True)
        assert (tmp_path / "policy0/scaling_max_freq").read_text() == "2400000\n"
        assert (tmp_path / "policy4/scaling_max_freq").read_text() == "1600000\n"


def test_a_service_that_finds_no_clock_fails(tmp_path):
    text = made({"write": [Write(path=f"{tmp_path}/policy*/scaling_max_freq", value="{80%:cpuinfo_max_freq}")]})
    done = subprocess.run(["sh", "-c", text["shell"].text], capture_output=True)
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("path", "value", "option"),
    [("max", "{80%:cpuinfo_max_freq}", "max_perf_pct=80"), ("min", "{max:scaling_max_freq}", "min_perf_pct=100")],
)
def test_tuned_caps_a_clock_by_its_share(path, value, option):
    if os.path.exists("/sys/devices/system/cpu/cpufreq/policy0"):
        pytest.skip("this machine has the files, and exports their values")
    kept = made({"write": [Write(path=f"/sys/devices/system/cpu/cpufreq/policy*/scaling_{path}_freq", value=value)]})
    assert f"[cpu]\n{option}" in kept["tuned"].text
    assert "intel_pstate" in kept["tuned"].text
