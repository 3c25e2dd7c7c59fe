"""What one setting of a study is: its levels, and what they change about the start of the program."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ..execution.launch import Launch
from ..mitigation.engine import with_variables
from ..row import BASELINE
from .factors import Core, FactorLevel, StudyEnvironment, Work

NUMBER, PLACES, PRELOAD = "OMP_NUM_THREADS", "OMP_PLACES", "LD_PRELOAD"
MEMORY = 64 << 20
"""Bytes that the job that moves memory copies, more than most caches hold."""
_HEAD = "import os,sys\nparent=os.getppid()\n"
_READY = "sys.stdout.write('r'); sys.stdout.flush()\n"
# Looking at the parent now and then ends the job when the agent is killed.
_JOBS = {
    "compute": f"{_HEAD}x=1\n{_READY}while os.getppid()==parent:\n for _ in range(100000): x=x*3%1000003\n",
    "memory": f"{_HEAD}a=bytearray({MEMORY}); b=bytearray({MEMORY})\n{_READY}while os.getppid()==parent: a[:]=b\n",
    "program": (
        f"{_HEAD}import subprocess as s\n{_READY}"
        "while os.getppid()==parent: s.run(sys.argv[1:],stdin=s.DEVNULL,stdout=s.DEVNULL,stderr=s.DEVNULL)\n"
    ),
}
_SAID = {"compute": "a job that computes", "memory": "a job that moves memory", "program": "the program itself"}


class Background(Frozen):
    """Jobs of ours beside the program."""

    work: Work
    cpus: tuple[int, ...] = ()
    """One job on each; empty: a single job that may run anywhere."""


class StudySetting(Frozen):
    """One way to run the program."""

    name: str
    levels: dict[str, str] = {}
    """Factor to level; empty for the baseline."""
    environment: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    """Variables that the environment as given may have, and this setting must not."""
    affinity: tuple[int, ...] = ()
    """CPUs that the whole program may use; empty: all that it may use anyway."""
    program: str = ""
    """Another binary in place of the program."""
    background: Background | None = None
    cores: int = 0
    """Cores that are used; 0 where nobody says."""
    threads: int = 0
    spare: int = 0
    """Cores of the machine that are left to the system."""

    @property
    def baseline(self) -> bool:
        """The environment as it is given."""
        return self.name == BASELINE

    def launch(self, base: Launch) -> Launch:
        """Start the program so."""
        kept = {name: value for name, value in base.environment.items() if name not in self.unset}
        environment = with_variables(kept, self.environment)
        argv = (self.program, *base.argv[1:]) if self.program else base.argv
        affinity = frozenset(self.affinity) if self.affinity else base.affinity
        return replace(base, argv=argv, environment=environment, affinity=affinity)

    def shell_words(self) -> str:
        """Say what it changes, as a shell would have it."""
        words = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        dropped = [name for name in self.unset if name in os.environ and name not in self.environment]
        words += [f"-u {name}" for name in dropped]
        words += [f"taskset {','.join(map(str, self.affinity))}"] if self.affinity else []
        words += [self.program] if self.program else []
        if self.background:
            where = f"on {','.join(map(str, self.background.cpus))}" if self.background.cpus else "anywhere"
            words.append(f"beside {_SAID[self.background.work]} {where}")
        return " ".join(words) or "the environment as given"


def placed(levels: Sequence[FactorLevel], count: int, here: StudyEnvironment) -> StudySetting:
    """Put the threads on `count` cores, or on fewer where the levels allow fewer; the setting has no name yet.

    Efficiency cores are left to the system first, then the first cores, since devices and services use those.
    """
    cores = here.topology.cores
    kind = next((level.kind for level in levels if level.kind), "")
    spanned = next((level.nodes for level in levels if level.nodes), "")
    deep = max(level.hardware_threads for level in levels)
    weak = [core for core in cores if core.kind == "E"]
    few = next((level.e_cores for level in levels if level.e_cores is not None), len(weak))
    left = weak[: len(weak) - few]
    domain = [core for core in cores if core.kind == kind] if kind else [core for core in cores if core not in left]
    narrowed = len(domain) < len(cores)
    if narrowed:
        count = len(domain)
    if spanned:
        domain, count = _on_nodes(domain, spanned, count)
    used = _used(domain, count) if spanned != "all" else _dealt(domain, count)
    threads = sum(min(deep, len(core.cpus)) for core in used)
    return StudySetting(
        name="?",
        environment=_environment(levels, used, domain, deep, threads, here),
        affinity=tuple(cpu for core in domain for cpu in core.cpus) if narrowed or spanned == "one" else (),
        program=next((level.program for level in levels if level.program), ""),
        background=_background(levels, used),
        cores=len(used),
        threads=threads,
        spare=len(cores) - len(used),
    )


def _environment(
    levels: Sequence[FactorLevel],
    used: Sequence[Core],
    domain: Sequence[Core],
    deep: int,
    threads: int,
    here: StudyEnvironment,
) -> dict[str, str]:
    environment = {NUMBER: str(threads)}
    for level in levels:
        environment |= level.environment
        if level.places:
            cores = used if level.places == "packed" else domain
            environment[PLACES] = ",".join(f"{{{cpu}}}" for core in cores for cpu in core.cpus[:deep])
        if level.preload:
            environment[PRELOAD] = here.library(level.preload)
    return environment


def _on_nodes(domain: Sequence[Core], spanned: str, count: int) -> tuple[list[Core], int]:
    """Take as many cores as the largest node has, or fewer where fewer are asked for; of that node, or of all."""
    nodes = sorted({core.node for core in domain})
    own = {node: [core for core in domain if core.node == node] for node in nodes}
    largest = max(nodes, key=lambda node: (len(own[node]), node))
    return own[largest] if spanned == "one" else list(domain), min(count, len(own[largest]))


def _used(domain: Sequence[Core], count: int) -> list[Core]:
    left_first = sorted(domain, key=lambda core: (core.kind == "P", core.cpus))
    used = set(left_first[len(left_first) - min(count, len(left_first)) :])
    return [core for core in domain if core in used]


def _dealt(domain: Sequence[Core], count: int) -> list[Core]:
    """Take cores from all nodes in turn."""
    nodes = sorted({core.node for core in domain})
    ranked = [
        (place, node, core)
        for node in nodes
        for place, core in enumerate([core for core in domain if core.node == node][::-1])
    ]
    chosen = {core for _, _, core in sorted(ranked, key=lambda one: one[:2])[:count]}
    return [core for core in domain if core in chosen]


def _background(levels: Sequence[FactorLevel], used: Sequence[Core]) -> Background | None:
    level = next((level for level in levels if level.background), None)
    if level is None:
        return None
    siblings = tuple(cpu for core in used for cpu in core.cpus[1:]) if level.background == "siblings" else ()
    return Background(work=level.work, cpus=siblings)


@contextmanager
def beside(background: Background | None, launch: Launch) -> Iterator[None]:
    """Keep the jobs of a setting going; they are at work when the context begins, and gone when it has ended.

    `launch`: how the setting starts the program, which may be the job: beside it on one thread, where it has one CPU.
    """
    with ExitStack() as undo:
        for cpu in (background.cpus or (None,)) if background else ():
            assert background is not None
            undo.enter_context(_job(background.work, cpu, launch))
        yield


@contextmanager
def _job(work: Work, cpu: int | None, launch: Launch) -> Iterator[None]:
    argv: tuple[str, ...] = ()
    environment, directory = None, None
    if work == "program":
        free = {"OMP_PROC_BIND": "false", **({NUMBER: "1"} if cpu is not None else {})}
        environment = {name: value for name, value in launch.environment.items() if name != PLACES} | free
        argv, directory = launch.argv, launch.directory
    job = subprocess.Popen(
        [sys.executable, "-IS", "-c", _JOBS[work], *argv],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=directory,
        start_new_session=True,
    )
    try:
        if cpu is not None:
            _pin(job.pid, cpu)
        assert job.stdout is not None
        if job.stdout.read(1) != b"r":
            raise VgoError(f"The {work} job beside the program could not start: leave its factor out with --factors.")
        yield
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        with suppress(ChildProcessError):  # what it had started is ours to wait for, where we take orphans in
            while True:
                os.waitpid(-job.pid, 0)
        if job.stdout:
            job.stdout.close()


def _pin(pid: int, cpu: int) -> None:
    try:
        os.sched_setaffinity(pid, {cpu})
    except OSError as error:
        raise VgoError(
            f"CPU {cpu} cannot be used by a background job ({error.strerror}): allow it, or leave smt out."
        ) from error
