"""The layer `network` sees packets, protocols and sockets."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from vgo_agent.layers.loader import find_layer
from vgo_agent.tools.execution.launch import Launch

PACKETS = 500
UDP = f"""
import socket
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
there.bind(("127.0.0.1", 0))
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({PACKETS}):
    here.sendto(bytes(100), there.getsockname())
    there.recv(100)
"""
FULL = """
import socket
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
there.bind(("127.0.0.1", 0))
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(200):
    here.sendto(bytes(1000), there.getsockname())
"""
TCP = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
for _ in range(10):
    here = socket.create_connection(server.getsockname())
    there, _ = server.accept()
    here.sendall(bytes(10_000))
    here.close()
    while there.recv(65536): pass
    there.close()
"""
UNANSWERED = """
import socket
server = socket.socket()
server.bind(("127.0.0.1", 0))
port = server.getsockname()
server.close()
for _ in range(10):
    here = socket.socket()
    here.connect_ex(port)
    here.close()
"""


@pytest.fixture
def opened(opening):
    return lambda root=Path("/"): opening(find_layer("network"), root)


def counted(spawner, probe, code="0", change=None):
    launch = Launch((sys.executable, "-S", "-c", code))
    counters = spawner.run(launch, [probe], on_started=change and (lambda pid: change())).counters
    return {name.removeprefix("net."): value for name, value in counters.items() if name.startswith("net.")}


@pytest.fixture
def probe(opened):
    probe = opened()
    if "net.udp.in_datagrams" in probe.absent():
        pytest.skip(probe.absent()["net.udp.in_datagrams"])
    return probe


def test_datagrams_over_the_loopback_are_seen_by_interface_and_by_protocol(spawner, probe):
    seen = counted(spawner, probe, UDP)
    for name in ("udp.in_datagrams", "udp.out_datagrams", "lo.rx_packets", "lo.tx_packets", "softnet.processed"):
        assert seen[name] >= PACKETS, name
    assert seen["lo.rx_bytes"] >= PACKETS * 128


def test_datagrams_that_find_a_full_buffer_are_seen_as_drops(spawner, probe):
    quiet, full = counted(spawner, probe, UDP), counted(spawner, probe, FULL)
    assert full["udp.rcvbuf_errors"] >= 100 > quiet["udp.rcvbuf_errors"]
    assert full["udp.in_errors"] >= full["udp.rcvbuf_errors"]


def test_connections_and_segments_are_seen(spawner, probe):
    seen = counted(spawner, probe, TCP)
    assert min(seen["tcp.connects"], seen["tcp.accepts"]) >= 10
    assert min(seen["tcp.in_segments"], seen["tcp.out_segments"]) >= 10 * 4
    refused = counted(spawner, probe, UNANSWERED)
    assert refused["tcp.resets_sent"] >= 10


def test_open_sockets_are_a_level(spawner, probe):
    before = counted(spawner, probe)["sockets.used"]
    with ExitStack() as kept:
        for _ in range(100):
            kept.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        assert counted(spawner, probe)["sockets.used"] >= before + 50


def test_what_is_declared_and_not_absent_is_given(spawner, probe):
    given = set(counted(spawner, probe, UDP))
    declared = {column.name.removeprefix("net.") for column in find_layer("network").columns if "*" not in column.name}
    assert declared - {name.removeprefix("net.") for name in probe.absent()} <= given


def test_an_interface_that_nobody_uses_is_left_out():
    """In a network namespace of its own, the loopback has not carried a packet."""
    if os.geteuid() or subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("a network namespace needs root and CAP_SYS_ADMIN")
    program = """
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
probe = open_probe(find_layer("network"))
with Spawner() as spawner:
    print(any(name.startswith("net.lo.") for name in spawner.run(Launch(("/bin/true",)), [probe]).counters))
"""
    done = subprocess.run(["unshare", "-n", sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


HEAD = "Inter-| Receive | Transmit\n face |bytes\n"


class Fake:
    """Files of /proc/net that a test rewrites."""

    def __init__(self, root):
        self.folder = root / "proc/net"
        self.folder.mkdir(parents=True)
        self.file("softnet_stat", "0000000a 00000001 00000000\n0000000f 00000000 00000002\n")
        self.file("snmp", "Tcp: RtoMin RetransSegs InSegs\nTcp: 200 5 100\n")
        self.device(eth0=100, wlan0=100)
        self.file("sockstat", "sockets: used 10\nTCP: inuse 2 orphan 0 tw 0 alloc 1 mem 4\n")

    def device(self, **packets):
        rows = (f" {name}:{' '.join([str(count)] * 16)}\n" for name, count in packets.items())
        self.file("dev", HEAD + "".join(rows))

    def file(self, name, text):
        (self.folder / name).write_text(text)


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


def test_softnet_is_hexadecimal_and_added_up_over_cpus(spawner, opened, fake, tmp_path):
    text = "0000001a 00000001 00000000\n0000001f 00000000 00000005\n"
    seen = counted(spawner, opened(tmp_path), change=lambda: fake.file("softnet_stat", text))
    assert (seen["softnet.processed"], seen["softnet.dropped"], seen["softnet.time_squeeze"]) == (32, 0, 3)


def test_a_cpu_that_goes_takes_its_cells_and_no_others(spawner, opened, fake, tmp_path):
    probe = opened(tmp_path)
    seen = counted(spawner, probe, change=lambda: fake.file("softnet_stat", "00001000 00000001 00000000\n"))
    assert not any(name.startswith("softnet") for name in seen)
    assert seen["tcp.in_segments"] == 0
    assert counted(spawner, probe)["softnet.processed"] == 0


def test_counters_that_wrap_or_vanish_leave_their_cells_empty(spawner, opened, fake, tmp_path):
    probe = opened(tmp_path)

    def wrap():
        fake.file("snmp", "Tcp: RtoMin RetransSegs InSegs\nTcp: 200 3 107\n")
        fake.device(eth0=120, tun7=9)

    seen = counted(spawner, probe, change=wrap)
    assert "tcp.retransmits" not in seen
    assert seen["tcp.in_segments"] == 7
    assert seen["eth0.rx_packets"] == 20
    assert not any(name.startswith(("wlan0", "tun7")) for name in seen)
    assert counted(spawner, probe)["tun7.rx_packets"] == 0


def test_what_a_kernel_lacks_is_absent_with_the_reason(spawner, opened, fake, tmp_path):
    probe = opened(tmp_path)
    counted(spawner, probe)
    absent = probe.absent()
    assert "netstat cannot be read (No such file" in absent["net.tcp.timeouts"]
    assert "does not have snmp Udp InDatagrams" in absent["net.udp.in_datagrams"]
    assert not {"net.tcp.retransmits", "net.*.rx_bytes", "net.softnet.processed", "net.sockets.used"} & set(absent)
    assert counted(spawner, probe)["sockets.used"] == 10
