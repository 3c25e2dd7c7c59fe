"""The shape of what is known: one Factor or Mitigation a YAML file."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Scope = Literal["process", "cgroup", "system", "reboot", "code", "hardware"]
Policy = Literal["fifo", "rr", "batch", "idle"]


class Known(BaseModel):
    """Frozen; an unknown key in a file is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reference(Known):
    """Where a statement comes from."""

    title: str
    url: str = ""
    """Empty where the source has no stable address; then the title names it fully."""


class Entry(Known):
    """One file, named after its key."""

    key: Key
    name: str
    """As a person says it: `CPU migrations`."""


class Place(NamedTuple):
    """Where a factor lists a column; the less, the more it is meant."""

    by_pattern: bool
    """Only a signal with `*` stands for it: a name in full says more."""
    position: int
    """Among the signals."""


class Factor(Entry):
    """Something in the system that goes with slow runs."""

    description: str
    """How it makes a run slow, in a few sentences."""
    signals: tuple[str, ...] = ()
    """Columns of layers that show it; the first is the one to plot. `*` stands for what the machine fills in, and for
    any other part of a name: `disk.*.read_wait_ms`."""
    aliases: tuple[str, ...] = ()
    """Words that users say for it."""
    confused_with: tuple[Key, ...] = ()
    """Factors that show the same signals."""
    actionable: Annotated[int, Field(ge=0, le=10)]
    """How directly a user can act on it; names a cluster of collinear columns."""
    mitigations: tuple[Key, ...] = ()
    """In the order to try them."""
    references: tuple[Reference, ...] = ()

    def place(self, column: str) -> Place | None:
        """Find the column among the signals, by its name before any pattern; None where nothing stands for it.

        One value of a text, `freq.governor=powersave`, is found as the column that it is a value of.
        """
        name = column.partition("=")[0]
        if name in self.signals:
            return Place(False, self.signals.index(name))
        matching = (place for place, signal in enumerate(self.signals) if "*" in signal and fnmatchcase(name, signal))
        first = next(matching, None)
        return None if first is None else Place(True, first)


class Spawn(Known):
    """How the run itself is started."""

    affinity: Literal["one_cpu"] | None = None
    policy: Policy | None = None
    priority: Annotated[int, Field(ge=0, le=99)] = 0
    autogroup_nice: Annotated[int, Field(ge=-20, le=19)] | None = None
    nice: Annotated[int, Field(ge=-20, le=19)] | None = None
    timer_slack_ns: Annotated[int, Field(ge=1)] | None = None
    fixed_layout: bool = False
    """No address-space randomisation (personality ADDR_NO_RANDOMIZE, as `setarch -R`)."""
    thp_disable: bool = False
    """prctl(PR_SET_THP_DISABLE)."""
    io_class: Literal["realtime", "best_effort", "idle"] | None = None


class Write(Known):
    """One value written into a kernel file, journalled before and put back after."""

    path: str
    value: str
    siblings: tuple[str, ...] = ()
    """Files that the kernel changes along with `path`; saved and checked as a group."""


class Apply(Known):
    """Typed actions only: no shell string comes from here, a model or a program's output."""

    spawn: Spawn = Spawn()
    environment: dict[str, str] = {}
    clear_environment: bool = False
    """Keep only PATH, HOME and LANG, so that its size is the same everywhere."""
    preload: str = ""
    """A shared library, by soname."""
    wrap: tuple[str, ...] = ()
    """A launcher put before the command."""
    prewarm_inputs: bool = False
    """Read the input files into the page cache before each run."""
    tmpfs_directory: bool = False
    """Run in a copy of the working directory on tmpfs, with TMPDIR there too."""
    write: tuple[Write, ...] = ()


class Condition(Known):
    """What must hold before a mitigation can be tried; every given field must hold."""

    root: bool = False
    min_cpus: int = 1
    min_numa_nodes: int = 1
    glibc: str = ""
    """The least version, such as `2.35`."""
    library: str = ""
    """A soname that the loader finds."""
    executable: str = ""
    """A program on PATH."""
    file: str = ""
    """A path that must exist and, with `root`, be writable."""
    single_threaded: bool = False
    """The profile shows at most one CPU busy."""
    multi_threaded: bool = False
    dynamic: bool = False
    """The program is a dynamically linked ELF file or a script run by one."""
    python: bool = False
    """The command runs a Python interpreter."""
    openmp: bool = False
    """The program links an OpenMP runtime (libgomp, libomp, libiomp5)."""
    inputs: bool = False
    """Input files are known: arguments of the command that are files, or --input."""


class Verify(Known):
    """What shows, in the running process, that the mitigation is in force (level 2)."""

    affinity: bool = False
    """Cpus_allowed_list in /proc/PID/status."""
    policy: bool = False
    """sched_getscheduler of the process."""
    autogroup: bool = False
    """/proc/PID/autogroup."""
    nice: bool = False
    timer_slack: bool = False
    """/proc/PID/timerslack_ns."""
    personality: bool = False
    """/proc/PID/personality."""
    thp_disabled: bool = False
    """THP_enabled in /proc/PID/status."""
    io_class: bool = False
    """ioprio_get of the process."""
    environment: tuple[str, ...] = ()
    """Names in /proc/PID/environ that have the value asked for."""
    environment_cleared: bool = False
    mapped: str = ""
    """A library that stands in /proc/PID/maps."""
    anon_huge_pages: bool = False
    """AnonHugePages in /proc/PID/smaps_rollup rises above zero."""
    resident_inputs: bool = False
    """The input files are in the page cache (mincore) before the run."""
    tmpfs: bool = False
    """The working directory of the process lies on tmpfs."""
    memory_policy: str = ""
    """The policy named in /proc/PID/numa_maps, such as `bind` or `interleave`."""


class Mitigation(Entry):
    """One thing to try, with how it is applied, proved and put back."""

    description: str
    """How it works, in a few sentences."""
    scope: Scope
    applies: Condition = Condition()
    when: str
    """When it helps."""
    hurts: str
    """When it hurts, and the risk."""
    apply: Apply | None = None
    """None: the tool cannot do it; `steps` tells the user how."""
    verify: Verify = Verify()
    moves: tuple[str, ...] = ()
    """Columns that should fall when it works (level 3)."""
    steps: tuple[str, ...] = ()
    """For a person: what to do, where the tool cannot or to make it permanent."""
    references: tuple[Reference, ...] = ()
