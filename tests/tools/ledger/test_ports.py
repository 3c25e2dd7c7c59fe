"""A port that the kernel chose for one run makes no part of its own."""

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.opened import CpuSamples, OpenedPart, OpenedRun
from vgo_agent.tools.ledger.ports import with_lasting_ports


def waiting_for(address: str) -> OpenedRun:
    via = f"client waits in recvfrom(socket to {address}) for server (child)"
    part = OpenedPart(TimeState.SLEEP, TimeState.SOCKET, "server (child): clock_nanosleep", via, 1.0, 1, (1.0,))
    return OpenedRun((part,), (CpuSamples("server (child)", via, "user", "main in server", 1),), {}, 0, 0)


def test_ports_that_few_runs_have_are_left_out_and_a_fixed_one_stays():
    chosen = with_lasting_ports(tuple(waiting_for(f"127.0.0.1:{40000 + number}") for number in range(5)))
    assert chosen == (waiting_for("127.0.0.1:*"),) * 5
    fixed = tuple(waiting_for(address) for address in ("127.0.0.1:9000", "[::1]:53/udp") for _ in range(5))
    assert with_lasting_ports(fixed) == fixed
    assert with_lasting_ports((*fixed, waiting_for("127.0.0.1:40000"))) == (*fixed, waiting_for("127.0.0.1:*"))
