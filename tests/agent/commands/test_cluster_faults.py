"""Clusters that are not as they should be: each is told in one sentence with its cure, and nothing waits for ever."""

from __future__ import annotations

import csv
import datetime
import ipaddress
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import hosts as made

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")


TINY = "import time\ntime.sleep(0.002)\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[made.Hosts]:
    """A scheduler on loopback; workers are the test's."""
    if os.geteuid() != 0:
        pytest.skip("host names of our own need root")
    with made.hosts(tmp_path / "cluster", network=False) as hosts:
        (hosts.folder / "on.yaml").write_text(f"scheduler: {hosts.address}\nsilent_s: 6\n")
        yield hosts


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that ends a command that was refused."""
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("vgo-agent: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.slow
def test_no_scheduler_is_told_with_what_to_look_at(vgo, script):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    said = sentence(vgo("measure", "--on", f"tcp://127.0.0.1:{port}", str(script("tiny.py", TINY))))
    assert "No Dask scheduler answers" in said and "dask scheduler" in said


@pytest.mark.slow
def test_hosts_that_cannot_be_pooled_are_told_apart_before_anything_counts(cluster, vgo, script, tmp_path):
    program = script("tiny.py", TINY)
    (tmp_path / "other.py").write_text(program.read_text() + "# of another build\n")
    (tmp_path / "other.py").chmod(0o755)
    cluster.start_worker("good")
    cluster.start_worker("shared", options="")
    cluster.start_worker("other", before=f"mount --bind {tmp_path}/other.py {program};")
    cluster.start_worker("without", before=f"mount --bind /dev/null {program};")
    cluster.wait("good", "shared", "other", "without")
    on = str(cluster.folder / "on.yaml")
    done = vgo("layers", "--on", on, "--json", "--", str(program))
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    problems = {host["host"]: " ".join(host["problems"]) for host in found["hosts"]}
    assert problems["good"] == problems["other"] == ""
    assert "--resources bench=1" in problems["shared"]
    assert "is not executable" in problems["without"]
    assert any(f"the content of {program}" in line and "other has" in line for line in found["differences"])
    said = sentence(vgo("measure", "--on", on, str(program)))
    assert "--mixed" in said and "vgo-agent layers --on" in said


@pytest.mark.slow
def test_a_scheduler_that_dies_ends_the_run_and_a_resume_goes_on_from_its_table(cluster, vgo, script, tmp_path):
    cluster.start_worker("good")
    cluster.wait("good")
    program, on = str(script("tiny.py", "import time\ntime.sleep(0.05)\n")), str(cluster.folder / "on.yaml")
    words = ("diagnose", "--on", on, "--max-runs", "60", "--max-mitigations", "0", "--layer", "process", program)
    with made.begun_command(tmp_path, *words) as begun:
        until = time.monotonic() + 120
        while not (kept := rows_kept(tmp_path)) and time.monotonic() < until:
            time.sleep(0.05)
        assert cluster.scheduler is not None
        os.kill(cluster.scheduler.pid, signal.SIGKILL)
        cluster.scheduler.wait()
        _, error = begun.communicate(timeout=200)
    assert begun.returncode == 1, error
    assert "vgo-agent resume" in error and "Traceback" not in error
    cluster.workers["good"].kill()
    cluster.workers["good"].wait()
    (cluster.folder / "good.log").unlink()
    cluster.start_scheduler()
    cluster.start_worker("good")
    cluster.wait("good")
    (folder,) = (tmp_path / "vgo-runs").iterdir()
    done = vgo("resume", str(folder))
    assert done.returncode == 0, done.stderr
    with (folder / "runs.csv").open(newline="") as file:
        began = [float(row["began_s"]) for row in csv.DictReader(file)]
    assert abs(began[0] - kept[0]) < 0.001  # the first run of all is still the first
    assert vgo("verify", str(folder)).returncode == 0


RETURNING = """\
import os, pathlib, time
folder, host = pathlib.Path({folder!r}), os.uname().nodename
with (folder / "ran").open("a") as log:
    print(host, file=log)
if (folder / "killed").exists():
    if host == "comes":
        (folder / "again").touch()
    until = time.monotonic() + 60
    while not (folder / "again").exists() and time.monotonic() < until:
        time.sleep(0.05)
time.sleep(0.05)
"""


@pytest.mark.slow
def test_a_worker_that_is_started_again_at_another_address_takes_its_place(cluster, vgo, script, tmp_path):
    program = str(script("returning.py", RETURNING.format(folder=str(tmp_path))))
    for name in ("stays", "comes"):
        cluster.start_worker(name)
    cluster.wait("stays", "comes")
    on, ran = str(cluster.folder / "on.yaml"), tmp_path / "ran"
    words = ("measure", "--on", on, "--min-runs", "60", "--max-runs", "60", "--json", program)
    with subprocess.Popen(
        [made.COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as begun:
        until = time.monotonic() + 120
        while not (ran.exists() and ran.read_text().count("comes") > 5) and time.monotonic() < until:
            time.sleep(0.05)
        (tmp_path / "killed").touch()
        cluster.kill("comes")
        cluster.workers["comes"].wait()
        cluster.start_worker("comes")
        answer, error = begun.communicate(timeout=250)
    assert begun.returncode == 0, error
    found = json.loads(answer)
    assert (tmp_path / "again").exists(), "the host has runs again"
    assert found["hosts"]["lost"] and sum(found["hosts"]["runs"].values()) == 60, found["hosts"]


def rows_kept(folder: Path) -> list[float]:
    """When the runs so far began, once there are some."""
    logs = list(folder.glob("vgo-runs/*/partial/c001.jsonl"))
    lines = logs[0].read_text().splitlines()[:-1] if logs else []
    return sorted(json.loads(line)["began_s"] for line in lines) if len(lines) >= 5 else []


@pytest.mark.slow
def test_a_cluster_of_our_own_speaks_tls_on_loopback_only(vgo, script, tmp_path):
    certify(tmp_path)
    (tmp_path / "on.yaml").write_text("cluster: local\nnodes: 2\ntls: {ca: ca.pem, cert: ca.pem, key: key.pem}\n")
    program = script("tiny.py", LISTENING.format(place=tmp_path / "listening"))
    done = vgo("measure", "--on", "on.yaml", "--max-runs", "12", "--json", str(program))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["hosts"]["runs"] == {os.uname().nodename: 12}
    assert {row["slot"] for row in found["rows"]} == {0}  # two workers, and one benchmark at a time
    assert set((tmp_path / "listening").read_text().split()) <= {"0100007F"}


LISTENING = """\
import os, time
parents, pid = [], os.getppid()
while pid > 1:
    parents.append(pid)
    pid = int(open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[1])
sockets = set()
for pid in parents:
    try:
        names = [os.readlink(f"/proc/{{pid}}/fd/{{fd}}") for fd in os.listdir(f"/proc/{{pid}}/fd")]
        mine = b"vgo-agent" in open(f"/proc/{{pid}}/cmdline", "rb").read() or b"multiprocessing" in open(
            f"/proc/{{pid}}/cmdline", "rb").read()
    except OSError:
        continue
    sockets |= {{name[8:-1] for name in names if mine and name.startswith("socket:")}}
rows = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
heard = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets]
open("{place}", "w").write(" ".join(heard))
time.sleep(0.002)
"""


def certify(folder: Path) -> None:
    """Write an authority that is its own certificate, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "vgo-agent test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
