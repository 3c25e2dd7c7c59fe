"""An ssh server of the test's own: on loopback, with keys of its own, ended with the test."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
"""
LONGEST_START_S = 30.0


@contextmanager
def ssh_server(folder: Path) -> Iterator[str]:
    """Give the spec of a launcher that reaches it; skip where no server is installed."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if not (sshd and shutil.which("ssh")):
        pytest.skip("needs ssh and sshd: apt install openssh-server")
    for name in ("host_key", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = free_port()
    (folder / "sshd_config").write_text(CONFIG.format(port=port, folder=folder))
    host_key = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
    Path("/run/sshd").mkdir(exist_ok=True)  # it refuses to start without, and only its service makes it
    server = subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        wait_for(port, server)
        options = f"-F none -o UserKnownHostsFile={folder}/known_hosts -o StrictHostKeyChecking=yes"
        yield f"ssh:host={getpass.getuser()}@127.0.0.1,port={port},identity={folder}/key,options={options}"
    finally:
        server.terminate()
        server.communicate()


def free_port() -> int:
    """Return a port on loopback that nobody listens on."""
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers, or fail with what it said."""
    deadline = time.monotonic() + LONGEST_START_S
    while time.monotonic() < deadline:
        with closing(socket.socket()) as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None:
            pytest.fail(f"sshd ended: {(server.stderr.read() if server.stderr else b'').decode()}")
        time.sleep(0.02)
    pytest.fail("sshd did not answer")
