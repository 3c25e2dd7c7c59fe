"""What a workload is: a program, what it injects, what cures it, what it needs."""

from __future__ import annotations

from typing import Literal

from ...knowledge.shape import Frozen

Need = (
    Literal["cc", "openmp", "2 cpus", "glibc", "small pages", "huge pages", "cpu group", "memory group"]
    | Literal["io group", "real time", "deadline", "packet steering", "disk"]
)
Around = (
    Literal["favoured", "since_the_beginning", "cpu_limited", "memory_limited", "reads_limited"]
    | Literal["beside_realtime", "beside_packets", "beside_disk", "beside_tenant"]
)
INPUT_BYTES = 20_000_000

OBEYS_ENVIRONMENT = ("-s", "-S")
"""Without site the interpreter starts in a few milliseconds; the work takes longer than that."""
ISOLATED = ("-E", *OBEYS_ENVIRONMENT)
"""The same, and no variable changes what is run; the folder of the program is searched for modules, unlike with -I."""


class Workload(Frozen):
    """A program with one injected cause, and the truth about it."""

    name: str
    """As users type it."""
    file: str
    """The program, in `programs/`: Python, or C that is built first."""
    arguments: tuple[str, ...] = ()
    """Its first ones in every run."""
    description: str
    cause: tuple[str, ...]
    """Keys of the factors that may be named, those first that must be."""
    cures: tuple[str, ...]
    """Keys of the mitigations that may be claimed."""
    causes: int = 1
    """How many of `cause`, from the first, were put in: all of these must be named where a counter can show them."""
    control: bool = False
    """There is nothing to mend: whatever is claimed to help is a false alarm."""
    not_cures: tuple[str, ...] = ()
    """Keys of mitigations that were measured to change nothing, so none may be claimed."""
    verdicts: tuple[str, ...] = ("remedy confirmed",)
    """Those that are right: titles of verdicts, or halves of them."""
    metric: str = r"time_ms ([0-9.]+)"
    """Finds the in-process time in what the program prints."""
    needs: tuple[Need, ...] = ()
    """What the machine must have for the cause to be there."""
    obeys_environment: bool = False
    """Python reads its variables, such as PYTHONHASHSEED."""
    reads_input: bool = False
    """Its next argument is a file of `input_bytes`."""
    input_bytes: int = INPUT_BYTES
    stays_in_folder: bool = False
    """It works in the folder of its files, on a disk: what can be copied to memory is that folder."""
    allow: Literal["process", "system"] = "process"
    """What its cures change: `system` ones are applied only where the user allows that."""
    steady: tuple[str, ...] = ()
    """Arguments that take the cause away: the steady twin, which runs without the cause that `around` makes."""
    sources: tuple[str, ...] = ()
    """Where people reported this cause in public."""
    recorded: bool = True
    """False: it is for looking at, and no case of it is recorded."""
    around: Around | None = None
    """What must hold around the whole diagnosis, such as a limited control group; put back at its end."""


STILL = ("steady", "cause not visible")
"""Right where nothing is put in that varies: the second where the machine adds more than needs no reduction."""
INTERFERENCE = ("run_queue_wait", "other_processes", "context_switches", "interrupts", "cpu_steal")
"""Factors by which a machine makes a program vary that does not vary itself."""
SHIELDS = ("sched_fifo", "sched_rr", "own_autogroup")
"""Mitigations that can keep that off the program."""
