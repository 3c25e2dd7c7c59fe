"""A Slurm of one node for tests: munged, slurmctld and slurmd of our own, in a folder, on loopback ports of our own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .hosts import free_port

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "scancel")
UP_S = 60.0
CONF = """\
ClusterName=vgo
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
NodeName={node} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def lacking() -> str:
    """Name what is not installed; empty when all is there."""
    return next((name for name in NEEDED if not shutil.which(name)), "")


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Start it, give the environment that its commands need, and end it with all its jobs."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    text = CONF.format(
        node=os.uname().nodename.partition(".")[0],
        folder=folder,
        controller=free_port("127.0.0.1"),
        daemon=free_port("127.0.0.1"),
        cpus=os.cpu_count(),
    )
    (folder / "slurm.conf").write_text(text)
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={key}"]
    munge += [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")]
    with contextlib.ExitStack() as undo:
        _start(munge, folder, environment, undo)
        _until(lambda: (folder / "munge.socket").exists(), folder)
        _start(["slurmctld", "-D"], folder, environment, undo)
        _start(["slurmd", "-D", "-N", os.uname().nodename.partition(".")[0]], folder, environment, undo)
        undo.callback(_cancel, environment)
        _until(lambda: "idle" in _asked("sinfo", environment, "-h", "-o", "%T"), folder)
        yield environment


def _start(words: list[str], folder: Path, environment: dict[str, str], undo: contextlib.ExitStack) -> None:
    with (folder / f"{words[0]}.out").open("wb") as out:
        process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    undo.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _asked(program: str, environment: dict[str, str], *words: str) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run([program, *words], env=environment, capture_output=True, text=True, timeout=20).stdout
    return ""


def _cancel(environment: dict[str, str]) -> None:
    """End every job, and wait until none is left."""
    _asked("scancel", environment, "--user=root")
    until = time.monotonic() + UP_S
    while _asked("squeue", environment, "-h").strip() and time.monotonic() < until:
        time.sleep(0.2)


def _until(true: Callable[[], bool], folder: Path) -> None:
    until = time.monotonic() + UP_S
    while not true():
        said = [path for path in sorted(folder.iterdir()) if path.suffix in (".out", ".log")]
        logs = {path.name: path.read_text(errors="replace")[-1500:] for path in said}
        assert time.monotonic() < until, logs
        time.sleep(0.2)
