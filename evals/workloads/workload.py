"""What a workload is: a program, what it injects, what cures it, what it needs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

Need = Literal[
    "cc",
    "openmp",
    "2 cpus",
    "glibc",
    "small pages",
    "cpu group",
    "memory group",
    "io group",
    "real time",
    "deadline",
    "packet steering",
    "disk",
]
INPUT_BYTES = 20_000_000

# Without site and environment the interpreter starts in a few milliseconds; the work takes longer than that.
ISOLATED = ("-I", "-S")
# The same, but PYTHONHASHSEED is obeyed.
OBEYS_ENVIRONMENT = ("-P", "-s", "-S")


@dataclass(frozen=True)
class Workload:
    """A program with one injected cause, and the truth about it."""

    name: str
    """As users type it."""
    file: str
    """The program, in this folder: Python, or C that is built first."""
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
    interpreter: tuple[str, ...] = ISOLATED
    """Options of Python; a C program has none."""
    reads_input: bool = False
    """Its first argument is a file of `input_bytes`."""
    input_bytes: int = INPUT_BYTES
    stays_in_folder: bool = False
    """It works in the folder of its files, on a disk: what can be copied to memory is that folder."""
    allow: Literal["process", "system"] = "process"
    """What its cures change: `system` ones are applied only where the user allows that."""
    steady: tuple[str, ...] = ()
    """Arguments that take the cause away: the steady twin, which runs without the cause that `around` makes."""
    around: Callable[[], AbstractContextManager[None]] | None = None
    """What must hold around the whole diagnosis, such as a limited control group; put back at its end."""
