"""Kill agents while they change the kernel: `python benchmarks/crash_storm.py [--kills 500] [--seed 1]`.

Each agent applies the mitigations of the knowledge base that write kernel files and work here, one after the other, and
is killed with SIGKILL at a random moment; of three, one dies alone, one together with its watchdog, one after it. What
the watchdog does is waited for, `restore` follows, and then every knob is read: those that mitigations write, with
their siblings, and those of the tables below. As root; it leaves alone what stops a CPU.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from vgo_agent.knowledge.actions import Write
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.knowledge.schema import Mitigation
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.mitigation.journal import Journal
from vgo_agent.tools.mitigation.kernel_file import in_force
from vgo_agent.tools.mitigation.kernel_settings import in_force_already, resolve
from vgo_agent.tools.mitigation.parameters import with_values
from vgo_agent.tools.mitigation.preconditions import unmet
from vgo_agent.tools.mitigation.restore import restore
from vgo_agent.tools.subject import Subject
from vgo_agent.tools.survey import survey

LONGEST_S = 0.3
"""About as long as an agent takes for two mitigations here, watchdog and all."""
IN_FORCE_S = 0.03
"""In the place of a run."""
PATIENCE_S = 60.0
STOPS_A_CPU = re.compile(r"/cpu\d+/online$|/smt/control$")
TABLES = (
    "proc/sys/vm/*",
    "proc/sys/kernel/sched_*",
    "proc/sys/kernel/*watchdog*",
    "proc/sys/kernel/perf_*",
    "proc/sys/kernel/hung_task_*",
    "proc/sys/net/core/busy_*",
    "sys/kernel/mm/transparent_hugepage/*",
    "sys/kernel/mm/transparent_hugepage/*/*",
    "sys/devices/virtual/workqueue/*cpumask*",
    "sys/devices/virtual/workqueue/writeback/*",
    "sys/block/*/queue/*",
    "sys/class/net/*/queues/rx-*/rps_*",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "sys/devices/system/cpu/cpuidle/current_governor",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_*",
    "proc/irq/*/smp_affinity*",
    "proc/irq/default_smp_affinity",
    *(f"proc/sys/kernel/{name}" for name in ("numa_balancing", "randomize_va_space", "timer_migration", "printk")),
    *(f"proc/sys/kernel/{name}" for name in ("task_delayacct", "nmi_watchdog", "soft_watchdog")),
    *(f"sys/kernel/mm/ksm/{name}" for name in ("run", "pages_to_scan", "sleep_millisecs", "merge_across_nodes")),
    "proc/sys/net/ipv4/tcp_fastopen",
)
"""What the reference tried on this kind of machine, whether a mitigation writes it or not."""
COUNTERS = re.compile(r"stats|/stat_refresh$|/scaling_cur_freq$|/nr_hugepages_mempolicy$|pages_collapsed|full_scans")
"""Read-only files among them that change by themselves."""


def main() -> int:
    """Run the storm and print what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("kernel settings can be written by root only")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VGO_AGENT_JOURNAL"] = f"{folder}/journal"
        found = storm(arguments.kills, random.Random(arguments.seed), Path(folder))
    print(json.dumps(found, indent=2))
    return 1 if found["differences"] or found["broken journal entries"] else 0


def storm(kills: int, coin: random.Random, folder: Path) -> dict[str, object]:
    """Kill so many agents and say what was different after any of them."""
    subject = Subject(command=("true",), argv=("/bin/true",), directory=str(folder))
    mitigations, machine = possible(subject)
    before, began = settings(mitigations, machine), time.monotonic()
    journal = Path(os.environ["VGO_AGENT_JOURNAL"])
    differences, broken, ways = list[str](), list[str](), Counter[str]()
    for number in range(kills):
        way = ("alone", "with its watchdog", "after its watchdog")[number % 3]
        agent = begun(coin.sample(mitigations, len(mitigations)), subject, machine)
        time.sleep(coin.uniform(0.0, LONGEST_S))
        died(agent, way)
        changed = any(now != before[path] for path, now in settings(mitigations, machine).items())
        ways[f"killed {way}"] += 1
        ways[f"killed {way}, put back by the watchdog"] += bool(list(journal.glob("*.told")))
        ways[f"killed {way}, left changed for restore"] += changed
        broken += broken_entries()
        with contextlib.suppress(VgoError):  # told by the entry that stays
            restore()
        left = [path for path in journal.glob("*") if path.name != "lock"]
        broken += [f"{path.name} stays after restore" for path in left]
        now = settings(mitigations, machine)
        differences += [
            f"kill {number}: {path} is {now[path]}, was {before[path]}" for path in now if now[path] != before[path]
        ]
    return {
        "kills": kills,
        "seconds": round(time.monotonic() - began, 1),
        **ways,
        "mitigations": [mitigation.key for mitigation in mitigations],
        "knobs read after each kill": len(before),
        "differences": differences,
        "broken journal entries": broken,
    }


def possible(subject: Subject) -> tuple[list[Mitigation], Machine]:
    """List the mitigations that write kernel files and would change something here, whatever they would do for it."""
    writing = [one for one in load().mitigations.values() if one.apply and one.apply.write]
    machine = survey(subject, [one.applies for one in writing])
    asked = ((one, one.applies.model_copy(update={"min_numa_nodes": 1})) for one in writing)
    ready = [
        one
        for one, condition in asked
        if not unmet(condition, machine, subject, 2.0 if condition.multi_threaded else 1.0)
    ]
    return [one for one in ready if changes(one, machine)], machine


def changes(mitigation: Mitigation, machine: Machine) -> bool:
    """Tell whether it would change a knob, and stop no CPU."""
    try:
        paths = paths_of(mitigation, machine)
        already = in_force_already(resolve(_writes(mitigation, machine), machine).knobs)
    except VgoError:
        return False
    return not already and not any(map(STOPS_A_CPU.search, paths))


def paths_of(mitigation: Mitigation, machine: Machine) -> list[str]:
    """Name the files that it writes, and their siblings."""
    knobs = resolve(_writes(mitigation, machine), machine).knobs
    return [path for knob in knobs for path in (knob.path, *knob.siblings)]


def _writes(mitigation: Mitigation, machine: Machine) -> tuple[Write, ...]:
    apply = with_values(mitigation, {}, machine).apply
    return apply.write if apply else ()


def settings(mitigations: Iterable[Mitigation], machine: Machine) -> dict[str, str]:
    """Read every knob."""
    paths = {path for mitigation in mitigations for path in paths_of(mitigation, machine)}
    for pattern in TABLES:
        paths |= {f"/{path.relative_to('/')}" for path in Path("/").glob(pattern) if path.is_file()}
    found = {}
    for path in sorted(paths):
        with contextlib.suppress(OSError, UnicodeDecodeError):  # write-only ones, and some of devices that lack them
            if not COUNTERS.search(path):
                found[path] = in_force(Path(path).read_text())
    return found


def begun(order: Sequence[Mitigation], subject: Subject, machine: Machine) -> int:
    """Start an agent that applies one mitigation after the other until it is killed."""
    agent = os.fork()
    if agent:
        return agent
    try:
        while True:
            for mitigation in order:
                try:
                    switched(mitigation, subject, machine)
                except VgoError as error:  # somebody else on this machine changes the same knob
                    print(f"{mitigation.key}: {error}", file=sys.stderr, flush=True)
    except BaseException:  # noqa: BLE001 - a forked process must not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(3)


def switched(mitigation: Mitigation, subject: Subject, machine: Machine) -> None:
    """Apply one mitigation, and switch it on and off as a batch of pairs does."""
    with applied(mitigation, Launch(argv=subject.argv), subject, machine) as change:
        for _ in range(3):
            change.on()
            time.sleep(IN_FORCE_S)
            change.off()
        change.on()
        time.sleep(IN_FORCE_S)


def died(agent: int, way: str) -> None:
    """Kill it, and wait until its watchdog has done what it does."""
    with contextlib.ExitStack() as stack:
        guards = children(agent)
        ends = [end for pid in guards if (end := opened(pid, stack)) is not None]
        if way == "after its watchdog":
            for pid in guards:
                os.kill(pid, signal.SIGKILL)
        os.kill(agent, signal.SIGKILL)
        if way == "with its watchdog":
            for pid in guards:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(agent, 0)
        if not os.WIFSIGNALED(status):
            raise SystemExit("an agent ended by itself: see what it says above")
        # One that it had just started is not in the list; it ends by itself, or finds the journal empty.
        for end in ends:
            if not select.select([end], [], [], PATIENCE_S)[0]:
                raise SystemExit("a watchdog stays")


def children(pid: int) -> list[int]:
    """Name the children of a process."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def opened(pid: int, stack: contextlib.ExitStack) -> int | None:
    """Open a process, so that its end can be waited for."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    stack.callback(os.close, end)
    return end


def broken_entries() -> list[str]:
    """Name the entries that cannot be read."""
    try:
        Journal(Path(os.environ["VGO_AGENT_JOURNAL"])).entries()
    except VgoError as error:
        return [str(error)]
    return []


if __name__ == "__main__":
    sys.exit(main())
