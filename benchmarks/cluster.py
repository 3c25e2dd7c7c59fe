"""What a run costs through a Dask cluster, beyond the same run here, and how many no-ops fit into a minute.

    python benchmarks/cluster.py                 # the table of docs/guide/many-machines.md, a few minutes
    python benchmarks/cluster.py --runs 300 --workers 2 10

The first table has real runs of `true`: by the local executor, and by one real worker through its own scheduler. The
second has workers that are simulated within one process, each a host of its own, behind a real scheduler: they answer
at once, so all time is that of scheduling, messages and bookkeeping.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
from distributed import Client, LocalCluster

from vgo_agent.tools.execution.bench import Bench
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.series import OUTSIDE, Measuring
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.experiment.conditions import AppliedConditions
from vgo_agent.tools.experiment.experiment import Experiment, carry_out
from vgo_agent.tools.experiment.schedules import Repeat
from vgo_agent.tools.fleet.bench import FleetBench, fleet_bench
from vgo_agent.tools.fleet.engine import Fleet
from vgo_agent.tools.fleet.host import First, Host, HostAnswer, Order, Sight
from vgo_agent.tools.fleet.link import BENCH, Link
from vgo_agent.tools.fleet.where import Where
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.subject import Subject

TRUE = str(shutil.which("true"))
WORKERS = (2, 10, 100, 1000)
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "60s",
    "distributed.admin.system-monitor.interval": "60s",
}
"""What each worker looks at in its own process 50 times a second, and a thousand in one process would 50,000 times."""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    arguments = parser.parse_args()
    here_ms, there_ms = local_ms(arguments.runs), through_dask_ms(arguments.runs)
    print("| executor | ms a run of `true` |\n|---|---|")
    print(f"| local | {here_ms:.2f} |\n| dask, one worker | {there_ms:.2f} |")
    print(f"| beyond local | {there_ms - here_ms:.2f} |\n")
    print("| simulated workers | no-ops a minute | ms a run |\n|---|---|---|")
    for count in arguments.workers:
        each_ms = simulated_ms(count, max(arguments.runs, 4 * count))
        print(f"| {count} | {60_000 / each_ms:.0f} | {each_ms:.2f} |", flush=True)


def subject(on: str = "") -> Subject:
    """The program that does nothing."""
    return Subject(command=("true",), argv=(TRUE,), directory=os.getcwd(), on=on)


def carried_ms(bench: Measuring, runs: int, warm_up: int = 20) -> float:
    """Milliseconds a run takes, all in all, once the first are made."""
    with bench.series("c000") as series:
        carry_out(Experiment(AppliedConditions(bench), Repeat(warm_up)), series)
    with bench.series("c001") as series:
        began = time.perf_counter()
        carry_out(Experiment(AppliedConditions(bench), Repeat(runs)), series)
        return 1e3 * (time.perf_counter() - began) / len(series.rows)


def local_ms(runs: int) -> float:
    """By the local executor."""
    with Spawner() as spawner, tempfile.TemporaryDirectory() as folder:
        bench = Bench(subject(), spawner, Path(folder), Launch(argv=(TRUE,)))
        with contextlib.closing(bench):
            return carried_ms(bench, runs)


def through_dask_ms(runs: int) -> float:
    """By one real worker, with its scheduler, on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "on.yaml")
        place.write_text("cluster: local\nnodes: 1\n")
        with fleet_bench(subject(str(place)), (), Path(folder), print) as (bench, _):
            return carried_ms(bench, runs)


def simulated_ms(count: int, runs: int) -> float:
    """By workers within this process, each a host of its own, that answer at once."""
    with dask.config.set(QUIET), tempfile.TemporaryDirectory() as folder, simulated(count, answer_at_once) as fleet:
        bench = FleetBench(subject(), fleet, Path(folder), Launch(argv=(TRUE,)))
        return carried_ms(bench, runs, warm_up=2 * count)


@contextlib.contextmanager
def simulated(count: int, deliver: Callable[[str, float], str]) -> Iterator[Fleet]:
    """A fleet of simulated hosts s0, s1, ... behind a real scheduler, which answer an order as told."""
    with (
        LocalCluster(
            n_workers=count,
            processes=False,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=None,
            resources={BENCH: 1},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(count, timeout=300)
        link = Link(client, Where(cluster="local", nodes=count, silent_s=300))  # all of them in one process
        hosts = [simulated_host(int(its.name), address) for address, its in link.workers(now=True).items()]
        order = Order(act="run", subject=subject())
        yield Fleet(link, {host.name: host for host in hosts}, order, deliver=deliver)


def simulated_host(number: int, address: str) -> Host:
    """A host that is like all others."""
    first = First(host=f"s{number}", boot="", kernel="", python="", versions={}, clock_s=0.0)
    return Host(f"s{number}", first, [address], sight=Sight(machine=Machine(), wall_s=0.001))


def answer_at_once(order: str, limit_s: float) -> str:
    """Give a row for each turn, as a host would."""
    row = {"ok": 1, "exit_code": 0, "survivors": 0, "outcome": 0.001, "wall_s": 0.001, "layers": ""}
    runs = (key for block in Order.model_validate_json(order).blocks for key in block.order)
    made = ({**row, "condition": key, "pair": OUTSIDE, "began_s": time.time()} for key in runs)
    return HostAnswer(rows=tuple(made)).model_dump_json()


if __name__ == "__main__":
    main()
