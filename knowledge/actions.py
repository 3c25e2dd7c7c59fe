"""What a mitigation does: typed actions only, so that no shell string comes from a file, a model or a program."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .shape import Frozen, Key, is_empty, is_none

Policy = Literal["fifo", "rr", "batch", "idle", "deadline"]
Controller = Literal["cpu", "cpuset", "memory"]
Number = Annotated[str, Field(pattern=r"^(-?\d+(\.\d+)?|\{[a-z][a-z0-9_]*\})$")]
"""A number, or `{name}`: what a parameter says."""


Placeholder = Annotated[str, Field(pattern=r"^\{[a-z][a-z0-9_]*(\*\d+)?\}$")]
"""What a parameter says, or a multiple of it."""
LIST_OF_CPUS = r"^\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*$"
"""As the kernel has it: `0-3,8`."""


class MitigationParameter(Frozen):
    """A number or a word that can be searched for: `{name}` in `apply`, `permanent` and `steps` stands for it.

    `{name?max=-1}` is -1 where the value is `max`: some files have another word for the same. `{name*1000}` is so many
    times a whole number: some files have another unit.
    """

    name: Key
    description: str
    unit: str = ""
    default: str
    """Used where nobody searches. `cpus`, `cpus/2` and `cpus-1` are counted from the CPUs that may be used."""
    levels: tuple[str, ...] = ()
    """What a search tries, in order, from the mildest; the same words as `default`. Empty: 1 to cpus - 1."""
    least: str = ""
    most: str = ""
    """Of a number; the same words as `default`. Empty: no bound. Words among `levels` and `default` have none."""
    form: Literal["", "whole number", "list of CPUs"] = Field(default="", exclude_if=is_empty)
    """What it has to be; empty: a number, or a plain word."""


class ResourceLimits(Frozen):
    """Resource limits of the run (setrlimit); `unlimited`, or a number of bytes."""

    stack: str = ""
    memlock: str = ""


class DeadlinePolicy(Frozen):
    """SCHED_DEADLINE, in microseconds: so much CPU time in each period."""

    runtime_us: Annotated[int, Field(ge=1)]
    period_us: Annotated[int, Field(ge=1)]


class ControlGroup(Frozen):
    """A control group of its own for the run, made before and removed after."""

    cpu_weight: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Version 2 scale, 100 is usual; in version 1 as cpu.shares, in the same proportion to 1024."""
    cpus: Literal["", "one_cpu", "all_but_reserved"] = ""
    """A cpuset that holds the run, as affinity does, and its children cannot leave it."""
    swappiness: Annotated[int, Field(ge=0, le=100)] | None = None
    """memory.swappiness; version 1 only."""
    cpu_quota_us: Annotated[int, Field(ge=1000)] | Placeholder | None = Field(default=None, exclude_if=is_none)
    """CPU time in each tenth of a second, of all CPUs together (cpu.max, cpu.cfs_quota_us)."""
    memory_bytes: Annotated[int, Field(ge=1 << 20)] | Placeholder | None = Field(default=None, exclude_if=is_none)
    """The most memory that the run may use, page cache included (memory.max, memory.limit_in_bytes)."""

    @property
    def needs(self) -> frozenset[Controller]:
        """Controllers that the group must have."""
        asked: dict[Controller, tuple[object, ...]] = {
            "cpu": (self.cpu_weight, self.cpu_quota_us),
            "cpuset": (self.cpus or None,),
            "memory": (self.swappiness, self.memory_bytes),
        }
        return frozenset(name for name, fields in asked.items() if any(field is not None for field in fields))


CpuList = Annotated[str, Field(pattern=rf"{LIST_OF_CPUS}|^\{{[a-z][a-z0-9_]*\}}$")]
"""A list of CPUs, or what a parameter says."""


class Spawn(Frozen):
    """How the run itself is started."""

    affinity: Literal["one_cpu", "all_but_reserved", "one_per_core"] | CpuList | None = None
    """`all_but_reserved` leaves `reserved_cpus` CPUs to everybody else, `one_per_core` leaves SMT siblings idle."""
    reserved_cpus: Number = "0"
    policy: Policy | None = None
    priority: Annotated[int, Field(ge=0, le=99)] = 0
    deadline: DeadlinePolicy | None = None
    """With policy deadline."""
    autogroup_nice: Annotated[int, Field(ge=-20, le=19)] | None = None
    nice: Annotated[int, Field(ge=-20, le=19)] | None = None
    timer_slack_ns: Annotated[int, Field(ge=1)] | None = None
    fixed_layout: bool = False
    """No address-space randomisation (personality ADDR_NO_RANDOMIZE, as `setarch -R`)."""
    thp_disable: bool = False
    """prctl(PR_SET_THP_DISABLE)."""
    io_class: Literal["realtime", "best_effort", "idle"] | None = None
    io_level: Annotated[int, Field(ge=0, le=7)] = 4
    """Within the class, 0 first; class idle has none."""
    limits: ResourceLimits = ResourceLimits()
    group: ControlGroup = ControlGroup()
    output: Literal["", "null", "file"] = ""
    """Where standard output goes instead of where it went: a slow terminal or pipe is out of the way."""


class Write(Frozen):
    """One value written into kernel files, journalled before and put back after."""

    path: str
    """Below /proc/sys, /sys, /proc/irq or a control group. `*` stands for every such file (each is a knob of its own);
    `{cgroup.cpu}`, `{cgroup.memory}`, `{cgroup.cpuset}` and `{cgroup.blkio}` for the group that this process is in."""
    value: str
    """`{max:FILE}` reads FILE beside `path`: the highest frequency, say. `{cpus_but_quiet}` is the list of CPUs
    without the one that a pinned run gets; `{mask_but_quiet}` the same as a hexadecimal mask."""
    siblings: tuple[str, ...] = ()
    """Files that the kernel changes along with `path`; saved and checked as a group. A name without `/` lies beside
    `path`."""
    optional: bool = False
    """A file that is missing or refuses (a managed interrupt) is left out and told; at least one write must hold."""


class Hold(Frozen):
    """A file that is written and kept open: in force as long as the process that holds it lives."""

    path: str
    int32: int


class Gpu(Frozen):
    """Settings of every GPU that the program may use, through NVML; the old ones are journalled."""

    lock_clocks: Literal["", "base", "max"] = ""
    clock_cap_mhz: Annotated[str, Field(pattern=r"^(|\d+|max(-\d+)?|\{[a-z][a-z0-9_]*\})$")] = ""
    """The highest clock of the cores: one that the GPU lists, or `max-2`, two steps below the highest that it lists."""
    lock_memory_clock: bool = False
    persistence: bool = False
    exclusive: bool = False
    """Compute mode EXCLUSIVE_PROCESS."""
    power_limit: Literal["", "max"] = ""
    fan_percent: Annotated[int, Field(ge=30, le=100)] | None = None


class CoolDown(Frozen):
    """Before each mitigated run, wait until the sensors are back where they were before the first (as krun does)."""

    within_celsius: Annotated[float, Field(gt=0)] = 3.0
    most_s: Annotated[float, Field(gt=0)] = 60.0


class Script(Frozen):
    """For what has no type: commands, each a list of words; of a file from elsewhere run only when it is trusted."""

    apply: tuple[str, ...]
    verify: tuple[str, ...]
    """Exit status 0: in force."""
    revert: tuple[str, ...]


class Apply(Frozen):
    """Everything that one mitigation does."""

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
    evict_inputs: bool = False
    """Drop the input files from the page cache before each run (posix_fadvise): cold by design, and so equal."""
    sync_first: bool = False
    """Write dirty pages back (sync) before each run."""
    tmpfs_directory: bool = False
    """Run in a copy of the working directory on tmpfs, with TMPDIR there too."""
    cool_down: CoolDown | None = None
    write: tuple[Write, ...] = ()
    hold: tuple[Hold, ...] = ()
    gpu: Gpu = Gpu()
    script: Script | None = None


class Precondition(Frozen):
    """What must hold before a mitigation can be tried; every given field must hold."""

    root: bool = False
    capability: Literal["", "sys_resource", "sys_nice", "ipc_lock"] = ""
    """What root may lack in a container."""
    min_cpus: int = 1
    min_numa_nodes: int = 1
    glibc: str = ""
    """The least version, such as `2.35`."""
    library: str = ""
    """A soname that the loader finds."""
    executable: str = ""
    """A program on PATH; `a|b` is either."""
    file: str = ""
    """A path, of the words of `Write.path`, that must exist and, with `root`, be writable; `a|b` is either."""
    kernel: str = ""
    """The least version, such as `5.14`."""
    kernel_config: str = ""
    """An option that the kernel is built with, such as `NO_HZ_FULL`; a kernel that does not tell may have it."""
    bare_metal: bool = False
    """No hypervisor is seen: firmware, fans and the driver of the clock are out of a guest's reach."""
    virtual: bool = False
    """A hypervisor is seen."""
    autogroup: bool = False
    """The scheduler groups tasks by session, and the program is in no cpu control group of its own."""
    single_threaded: bool = False
    """The profile shows at most one CPU busy."""
    multi_threaded: bool = False
    dynamic: bool = False
    """The program is a dynamically linked ELF file or a script run by one."""
    python: bool = False
    """The command runs a Python interpreter."""
    openmp: bool = False
    """The program links an OpenMP runtime (libgomp, libomp, libiomp5)."""
    mpi: bool = False
    """The command starts ranks of MPI: through a launcher, by mpirun or srun in it, or in its script."""
    inputs: bool = False
    """Input files are known: arguments of the command that are files, or --input."""
    group: tuple[Controller, ...] = ()
    """A control group with these controllers can be made for the run."""
    smt: bool = False
    """Some core has two threads that may be used."""
    sensor: bool = False
    """A temperature can be read."""
    gpu: bool = False
    """NVML sees a GPU."""


class Verify(Frozen):
    """Effects that show in the running process (level 2) beside each action of `apply`, which is always looked for."""

    ranks: Literal["", "apart", "numa", "free", "within"] = ""
    """Cpus_allowed_list of every MPI rank on this machine: no CPU of two ranks, one memory node each, all that the
    launcher may use, or only those of the affinity asked for."""
    anon_huge_pages: bool = False
    """AnonHugePages in /proc/PID/smaps_rollup rises above zero."""
    memory_policy: str = ""
    """The policy named in /proc/PID/numa_maps, such as `bind` or `interleave`."""
