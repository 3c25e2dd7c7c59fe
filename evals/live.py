"""Live mode: run workloads for real through the front door, one after another, and score what is said of each.

Each is a child process of its own, as a user starts it; what it changes, it puts back itself, whatever becomes of us.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..agent.terminal import answer, printable
from .scores.live_scores import LiveResults, LiveRow, judged, live_words, skipped
from .scores.results import origin, write
from .workloads.registry import WORKLOADS, find, has_twin, missing
from .workloads.workload import Workload

FRONT_DOOR = (sys.executable, "-P", "-c", "import sys; from vgo_agent.agent.cli import main; sys.exit(main())")
LIMIT_S = 3600.0
"""Wall time of one diagnosis; most of it is the program's own."""
GRACE_S = 120.0
"""For putting back what was changed, after the time is up."""


class Wish(NamedTuple):
    """One diagnosis that is wanted."""

    workload: Workload
    steady: bool


def run_live(arguments: argparse.Namespace) -> int:
    """Diagnose each, tell how it went, and answer; a single one that fails is a row."""
    wishes = list(_wishes(arguments.live, arguments.steady))
    made = origin()
    rows = []
    for place, wish in enumerate(wishes, 1):
        row = _row(wish, arguments)
        rows.append(row)
        if not getattr(arguments, "quiet", False):
            print(printable(f"{place}/{len(wishes)}  {row.name}: {row.verdict or row.why}"), file=sys.stderr)
    results = LiveResults(**made, machine=_machine(), rows=tuple(rows))
    if arguments.save:
        write(results.model_dump_json(indent=1) + "\n", arguments.save, "--save")
    if arguments.markdown:
        write(live_markdown(results), arguments.markdown, "--markdown")
    answer(results.model_dump(mode="json") | {"summary": results.summary()}, live_words(results), arguments.json)
    return 0


def _wishes(names: Sequence[str], steady: bool) -> Iterator[Wish]:
    for workload in [find(name) for name in names] or WORKLOADS:
        yield Wish(workload, False)
        if steady and has_twin(workload):
            yield Wish(workload, True)


def _row(wish: Wish, arguments: argparse.Namespace) -> LiveRow:
    workload = wish.workload
    if (reason := missing(workload)) is not None:
        return skipped(workload, wish.steady, reason)
    if workload.allow == "system" and arguments.allow != "system" and not wish.steady:
        return skipped(workload, wish.steady, "what cures it changes the system; allow that with --allow system")
    return judged(workload, wish.steady, _demo(wish, arguments))


def _demo(wish: Wish, arguments: argparse.Namespace) -> dict[str, Any]:
    """Give the object that the command answers with; `error` says why there is none."""
    words = ["demo", wish.workload.name, "--json", "--allow", arguments.allow]
    words += ["--steady"] if wish.steady else []
    words += ["--budget", f"{arguments.budget:g}"] if arguments.budget is not None else []
    words += ["--quiet"] if getattr(arguments, "quiet", False) else []
    with subprocess.Popen([*FRONT_DOOR, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        try:
            output, _ = child.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)  # it puts back what it changed before it leaves
            _leave(child)
            return {"error": f"stopped: no answer within {LIMIT_S:g} s"}
        except KeyboardInterrupt:
            _leave(child)  # Ctrl-C has reached it too
            raise
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:
        return {"error": f"no answer; its exit code is {child.returncode}"}
    return found


def _leave(child: subprocess.Popen[bytes]) -> None:
    """Wait until the child has put back what it changed; a watchdog of its own does so if it is killed."""
    try:
        child.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _machine() -> str:
    system = os.uname()
    cpus, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    return f"{system.sysname} {system.release} {system.machine}, {cpus} CPUs, load {load:.2f} at the end"


def live_markdown(results: LiveResults) -> str:
    """Write the table as Markdown."""
    from ..prompts.render import render

    return render("live.md.j2", results=results, table=results.table(), lines=results.lines())
