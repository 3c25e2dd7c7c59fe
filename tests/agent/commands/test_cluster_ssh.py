"""A cluster over a real ssh: started for the time of one command, on loopback alone, and gone afterwards."""

from __future__ import annotations

import csv
import getpass
import json
import sys

import pytest

from ...layers.sshd import ssh_server

pytest.importorskip("asyncssh", reason="the extra `cluster` is not installed")

LISTENERS = """\
import glob, json, os, re

def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])

ours, pid = set(), os.getpid()
while pid > 1:
    for link in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            ours.update(re.findall(r"socket:\\[(\\d+)\\]", os.readlink(link)))
        except OSError:
            pass
    pid = parent(pid)
rows = [line.split() for name in ("tcp", "tcp6") for line in list(open(f"/proc/net/{name}"))[1:]]
listening = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in ours]
with open("listening.jsonl", "a") as file:
    print(json.dumps(listening), file=file)
"""
LOOPBACK = "0100007F"


@pytest.mark.slow
def test_runs_are_made_over_ssh_and_nothing_listens_beyond_loopback(vgo, script, tmp_path) -> None:
    program = str(script("listeners.py", LISTENERS))
    with ssh_server(tmp_path) as spec:
        port = spec.partition("port=")[2].partition(",")[0]
        (tmp_path / "on.yaml").write_text(
            "cluster: ssh\nhosts: [127.0.0.1]\noptions:\n"
            f"  connect_options: {{port: {port}, username: {getpass.getuser()}, "
            f"client_keys: [{tmp_path}/key], known_hosts: {tmp_path}/known_hosts}}\n"
            f"  remote_python: {sys.executable}\n"
        )
        checked = vgo("layers", "--on", "on.yaml", "--", program)
        assert checked.returncode == 0 and "The host can be used." in checked.stdout
        done = vgo("measure", "--on", "on.yaml", "--max-runs", "12", "--save", "runs.csv", program)
        assert done.returncode == 0, done.stderr
        (tmp_path / "key.pub").rename(tmp_path / "elsewhere.pub")
        refused = vgo("measure", "--on", "on.yaml", program)
        assert refused.returncode == 1 and "Permission denied" in refused.stderr and "Traceback" not in refused.stderr
    with (tmp_path / "runs.csv").open(newline="") as file:
        assert len([row for row in csv.DictReader(file) if row["host"]]) >= 12
    seen = [address for line in (tmp_path / "listening.jsonl").read_text().splitlines() for address in json.loads(line)]
    assert set(seen) == {LOOPBACK}
