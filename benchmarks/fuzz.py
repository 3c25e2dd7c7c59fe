"""Type mistakes at every command: `python benchmarks/fuzz.py [--cases 3000] [--seed 1]`.

A case is one command line, drawn from what the parsers declare, with hostile values and files. It runs in a forked
child with a time limit. Whatever is no answer and no sentence is a failure: a traceback, a warning of a library, a
word of pydantic, JSON that is none, no end. Each failure is printed with its command line, which reproduces it in the
folder that `--keep` names: `python benchmarks/fuzz.py --seed S --first I --cases 1 --keep DIR`.

No case may change the system. Cases share no state: each has its own folder, settings and journal.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, NoReturn

import fuzz_files
from fuzz_draw import command_line

from vgo_agent.agent.cli import main as vgo_agent
from vgo_agent.agent.commands import COMMANDS

CPU_S = 10
"""More is a hang."""
WALL_S = 60.0
"""So is this, for what waits; longer than the CPU limit, since the machine may be loaded."""
CRASHED = 99
HEAVY = (
    *("polars", "scipy.stats", "sklearn.tree", "sklearn.ensemble", "statsmodels.api", "matplotlib.pyplot"),
    *("vgo_agent.agent.session", "vgo_agent.agent.graph", "vgo_agent.agent.report.analysis"),
    *("vgo_agent.tools.analysis.analyse", "vgo_agent.tools.recorded.read", "vgo_agent.knowledge.index", "tomlkit"),
    *("vgo_agent.tools.surface.fitted", "vgo_agent.agent.chat.session", "vgo_agent.agent.sweep.conduct"),
    *("vgo_agent.tools.nodes.analyse", "vgo_agent.tools.mpi.analyse", "vgo_agent.evals.workloads.registry"),
)
PRIVATE = re.compile(r"Traceback|\w+Warning: |Input should|validation error|pydantic|polars\.|numpy\.|object at 0x")
"""What belongs to us or to a library, and never to a user."""
STATUSES = (0, 1, 2)
READERS = ("analyze", "compare", "surface", "sweep", "ask", "verify", "resume")
"""Commands that read files of many kinds: they are drawn three times as often."""


class Case(NamedTuple):
    """What was typed, and what came of it."""

    number: int
    words: list[str]
    status: int
    seconds: float
    said: str
    answered: str

    @property
    def line(self) -> str:
        """As it would be typed."""
        return shlex.join(["vgo-agent", *self.words])

    @property
    def failure(self) -> str:
        """Say what is wrong with it; empty: nothing."""
        if self.status < 0:
            return f"no end: {signal.Signals(-self.status).name} after {self.seconds:.0f} s"
        if self.status not in STATUSES and self.words[:2] != ["machine", "run"]:
            return f"exit {self.status}: {last_line(self.said)}"
        if found := PRIVATE.search(self.said):
            return f"not for a user: {found[0]}: {last_line(self.said[found.start() :].split(chr(10))[0])}"
        ours = [line for line in self.said.splitlines() if line.startswith("vgo-agent: ")]
        if self.status == 1 and (len(ours) > 1 or not (ours or self.answered.strip())):
            return f"{len(ours)} sentences"
        if (
            "--json" in takewhile(lambda word: word != "--", self.words)
            and self.answered.strip()
            and not _is_json(self.answered)
        ):
            return "no JSON"
        return ""


def main() -> int:
    """Run the cases and print what failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--command", choices=COMMANDS, action="append", help="only this one; repeatable")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the files here, and leave them")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    for name in HEAVY:
        import_module(name)
    for command in COMMANDS.values():
        command.load()
    with contextlib.ExitStack() as opened:
        place = asked.keep or Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="vgo-agent-fuzz-")))
        cases = run(place.absolute(), asked, asked.command or [*COMMANDS, *READERS, *READERS])
    failures = [case for case in cases if case.failure]
    if asked.json:
        print(json.dumps([{"line": case.line, "failure": case.failure} for case in failures]))
    else:
        _print(cases, failures)
    return 1 if failures else 0


def run(place: Path, asked: argparse.Namespace, commands: Sequence[str]) -> list[Case]:
    """Make what is named, and run case after case."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: what a case leaves is ended
    if not (place / "files").exists():
        fuzz_files.make(place / "files")
    files = sorted(path.name for path in (place / "files").iterdir())
    runs = _runs(place)
    cases = []
    for number in range(asked.first, asked.first + asked.cases):
        draw = random.Random(f"{asked.seed}/{number}")
        words = command_line(draw, commands[number % len(commands)], files, runs)
        cases.append(_case(number, words, place))
        if not asked.json and cases[-1].failure:
            print(f"{number}: {cases[-1].failure}\n    {cases[-1].line}", flush=True)
    return cases


def _runs(place: Path) -> list[str]:
    """Make a run to damage."""
    if not (place / "runs").exists():
        command = "import time, os; time.sleep(.001 + .004 * (os.urandom(1)[0] < 60))"
        words = ["diagnose", "--budget", "4", "--out", "../made", "--", sys.executable, "-ISc", command]
        made = _case(0, words, place)
        found = sorted((place / "made").iterdir()) if (place / "made").exists() else []
        if not found:
            raise SystemExit(f"no run was made: {made.said}")
        fuzz_files.runs(found[0], place / "runs")
        shutil.copytree(found[0], place / "runs" / "whole")
    return sorted(path.name for path in (place / "runs").iterdir())


def _case(number: int, words: list[str], place: Path) -> Case:
    folder = place / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said, answered = place / "said", place / "answered"
    watched = [fuzz_files.CHANGING] if any(word.endswith(fuzz_files.CHANGING) for word in words) else []
    with contextlib.ExitStack() as opened:
        for name in watched:
            opened.enter_context(fuzz_files.changing(place / "files" / name))
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _child(words, folder, said, answered)
        status = _ended(child, began + WALL_S)
    return Case(number, words, status, time.monotonic() - began, _text(said), _text(answered))


def _child(words: list[str], folder: Path, said: Path, answered: Path) -> NoReturn:
    """Be `vgo-agent`."""
    os.setsid()
    os.chdir(folder)
    written = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, path, flags in ((0, Path(os.devnull), os.O_RDONLY), (1, answered, written), (2, said, written)):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    os.environ |= {"XDG_CONFIG_HOME": str(folder / "config"), "VGO_AGENT_JOURNAL": str(folder / "journal")}
    os.environ |= {"HF_HUB_OFFLINE": "1", "COLUMNS": "80"}
    _without_rights_of_root()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 5))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    sys.argv = ["vgo-agent", *words]
    status = CRASHED
    try:
        status = vgo_agent(words)
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it is, it is what the fuzz looks for
        traceback.print_exc()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _without_rights_of_root() -> None:
    """Let root be refused too: without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, mode 0 means no permission."""
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    library = ctypes.CDLL(None)
    if library.capget(header, data) == 0:
        data[0], data[1] = data[0] & ~0b110, data[1] & ~0b110
        library.capset(header, data)


def _ended(child: int, until: float) -> int:
    """Wait for it, and end all that it left; the exit status, or the negative number of a signal."""
    status = -signal.SIGALRM
    while time.monotonic() < until:
        pid, told = os.waitpid(child, os.WNOHANG)
        if pid:
            status = os.waitstatus_to_exitcode(told)
            break
        time.sleep(0.005)
    for _ in range(50):
        left = _children()
        if not left:
            break
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)
    return status


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()]


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _is_json(text: str) -> bool:
    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def last_line(text: str) -> str:
    """What an exception says of itself."""
    return (text.strip().splitlines() or [""])[-1][:200]


def _print(cases: Sequence[Case], failures: Sequence[Case]) -> None:
    answers = Counter(case.status for case in cases)
    print(f"{len(cases)} cases, {len(failures)} failures; exit codes {dict(sorted(answers.items()))}")
    slow = sorted(cases, key=lambda case: -case.seconds)[:5]
    print("slowest:", *(f"  {case.seconds:.1f} s: {case.line[:150]}" for case in slow), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
