"""A port, a file or a folder that was made for one run makes no part of its own."""

import pytest

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.opened import CpuSamples, OpenedPart, OpenedRun
from vgo_agent.tools.ledger.split import with_lasting_names


def runs(*objects: str) -> tuple[OpenedRun, ...]:
    """Runs in which a server reads something, each."""
    found = []
    for name in objects:
        via = f"client waits in recvfrom({name}) for server (child)"
        part = OpenedPart(TimeState.DISK, TimeState.SOCKET, f"server (child): read({name})", via, 1.0, 1, (1.0,))
        samples = (CpuSamples("server (child)", via, "user", "main in server", 1),)
        found.append(OpenedRun((part,), samples, {}, 0, 0))
    return tuple(found)


@pytest.mark.parametrize(
    ("passing", "lasting"),
    [
        ("socket to 127.0.0.1:4{}", "socket to 127.0.0.1:*"),
        ("socket of *:4{} from 10.0.0.1", "socket of *:* from 10.0.0.1"),
        ("socket at [::1]:4{}/udp", "socket at [::1]:*/udp"),
        ("/tmp/tmp{}/journal", "/tmp/*/journal"),
        ("/data/x{}, since deleted", "/data/*, since deleted"),
        ("socket to /run/user/{}/bus", "socket to /run/user/*/bus"),
        ("an unnamed file in /tmp/{}/", "an unnamed file in /tmp/*/"),
    ],
)
def test_what_is_another_one_in_each_run_is_left_out_and_what_lasts_stays(passing, lasting):
    of_runs, fixed = [passing.format(number) for number in range(10, 15)], passing.format(9)
    assert with_lasting_names(runs(*of_runs)) == runs(*[lasting] * 5)
    assert with_lasting_names(runs(*[fixed] * 5, *of_runs)) == runs(*[fixed] * 5, *[lasting] * 5)
    assert with_lasting_names(runs(*[fixed] * 5, of_runs[0])) == runs(*[fixed] * 5, of_runs[0]), "a rare one stays"
