"""The shape of what is known: one factor or mitigation a YAML file."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from .actions import Apply, MitigationParameter, Precondition, Verify
from .shape import Frozen, Key
from .time_states import TimeState

Scope = Literal["process", "cgroup", "system", "reboot", "code", "hardware"]
Keeper = Literal["systemd", "sysctl", "tmpfiles", "tuned", "cmdline", "slurm", "openmp", "docker", "udev", "shell"]
REAL_TIME = ("fifo", "rr", "deadline")


class Citation(Frozen):
    """Where a statement comes from."""

    title: str
    url: str = ""
    """Empty where the source has no stable address; then the title names it fully."""


class Entry(Frozen):
    """One file, named after its key."""

    key: Key
    name: str
    """As a person says it: `CPU migrations`."""


class DescribedEntry(Entry):
    """What is known of something."""

    description: str
    """What it is, or how it works, in a few sentences."""
    references: tuple[Citation, ...] = ()


class LedgerMark(Frozen):
    """What a part of the time of runs looks like where a factor made it; all that is given must hold."""

    states: Annotated[tuple[TimeState, ...], Field(min_length=1)]
    calls: tuple[str, ...] = ()
    """System calls, one of which the program or one that it waited for was in; `page fault` is one."""
    words: str = ""
    """Regular expression: found in what the ledger says of it: who waited for whom, file, function, waker."""
    timer_ms: tuple[float, float] | None = None
    """Nearly all of its long episodes last between these."""
    back_off_ms: tuple[float, ...] = ()
    """Nearly all of its episodes are as long as one of these, and of these several that follow each other are there."""
    least_ms: float = 0.0
    """Its long episodes last so long in the median."""
    fails: tuple[str, ...] = ()
    """It comes as often, run by run, as one of these calls fails, `fcntl EAGAIN`; `*` stands for any text."""
    as_often: bool = False
    """Slow runs have as many episodes as fast ones: each lasts longer."""
    threads: bool = False
    """In most runs several threads of one process had a CPU."""
    same_work: bool = False
    """It is no consequence of the program's tasks, no more of them, having been on CPUs for longer."""

    @property
    def criteria(self) -> int:
        """How much is asked for beside the state: the mark that asks for more says more."""
        return sum(bool(value) for name, value in self if name != "states")

    @property
    def breadth(self) -> float:
        """The longest of the lengths that are asked for over the shortest: the narrower says more."""
        return self.timer_ms[1] / self.timer_ms[0] if self.timer_ms else 1.0


class SignalPosition(NamedTuple):
    """Where a factor lists a column; the less, the more it is meant."""

    by_pattern: bool
    """Only a signal with `*` stands for it: a name in full says more."""
    position: int
    """Among the signals."""


class KnownFactor(DescribedEntry):
    """Something in the system that goes with slow runs."""

    signals: tuple[str, ...] = ()
    """Columns of layers that show it; the first is the one to plot. `*` stands for what the machine fills in, and for
    any other part of a name: `disk.*.read_wait_ms`."""
    aliases: tuple[str, ...] = ()
    """Words that users say for it."""
    confused_with: tuple[Key, ...] = ()
    """Factors that show the same signals."""
    makes: tuple[Key, ...] = ()
    """Factors that come with this one, since it makes them; where their columns go together, it is the one named."""
    acts_on: tuple[TimeState, ...] = ()
    """States of a run's time that it can make longer, as the time ledger names them; empty: any."""
    marks: tuple[LedgerMark, ...] = ()
    """By which a part of the time ledger is recognised as this factor's, whether or not a counter shows it."""
    cure: str = ""
    """What a user does about it, in one sentence."""
    actionable: Annotated[int, Field(ge=0, le=10)]
    """How directly a user can act on it; names a cluster of collinear columns."""
    mitigations: tuple[Key, ...] = ()
    """In the order to try them."""

    @property
    def hidden(self) -> bool:
        """Neither a counter nor the time ledger shows it: it is found only by trying its mitigations."""
        return not (self.signals or self.marks)

    def place(self, column: str) -> SignalPosition | None:
        """Find the column among the signals, by its name before any pattern; None where nothing stands for it.

        One value of a text, `freq.governor=powersave`, is found as the column that it is a value of.
        """
        name = column.partition("=")[0]
        if name in self.signals:
            return SignalPosition(False, self.signals.index(name))
        matching = (place for place, signal in enumerate(self.signals) if "*" in signal and fnmatchcase(name, signal))
        first = next(matching, None)
        return None if first is None else SignalPosition(True, first)


class Mitigation(DescribedEntry):
    """One thing to try, with how it is applied, proved and put back."""

    scope: Scope
    applies: Precondition = Precondition()
    when: str
    """When it helps."""
    hurts: str
    """When it hurts, and the risk."""
    changes_promise: str = ""
    """What the program, or its user, can no longer rely on while it is applied: it comes after those that leave all
    promises alone, and needs a yes of its own. Empty: nothing."""
    parameters: tuple[MitigationParameter, ...] = ()
    apply: Apply | None = None
    """None: the tool cannot do it; `steps` tells the user how."""
    verify: Verify = Verify()
    moves: tuple[str, ...] = ()
    """Columns that should fall when it works (level 3)."""
    acts_on: tuple[TimeState, ...] = ()
    """States of a run's time that it can make shorter, where these are fewer than those of its factors."""
    lifts: Literal["", "cpu", "memory"] = ""
    """The limit of the program's control group that it takes away: where one is set, this is tried first."""
    interleavable: bool = True
    """Can be switched on and off between the runs of a pair; otherwise conditions are measured in blocks, in turns."""
    permanent: dict[Keeper, str] = {}
    """How to keep it, where `apply` does not say it: words of the kernel command line, a line of a Dockerfile."""
    steps: tuple[str, ...] = ()
    """For a person: what to do, where the tool cannot or to make it permanent."""

    @property
    def real_time(self) -> bool:
        """It runs the program before every normal task, which can take the machine's CPUs: the last thing to try."""
        return self.apply is not None and self.apply.spawn.policy in REAL_TIME
