"""What commands take: options are fields of frozen dataclasses, from which parser, help, completion and docs are made.

Light, because every `--help` loads it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from ...knowledge.errors import VgoError
from ...tools.statistics.stopping.rules import DEFAULT, RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from ...tools.recorded.mapping import Meanings
    from ..clock import BudgetClock
    from ..interface import Interface
    from ..session import DiagnosisEnding
    from ..settings import UserSettings

    Ended = TypeVar("Ended")

RUN_HELP = "the folder of a run, a file in it, or its name under --out"


def option(
    words: str, default: Any = None, *, allowed: Callable[[Any], bool] | None = None, refused: str = "", **more: Any
) -> Any:
    """Declare an option; its annotation says whether it has a value, of which type or choice, and if it is repeatable.

    `refused` goes on with the sentence that begins with flag and value, where the value is not `allowed`; `more` is for
    argparse, but for `group` and `exclusive`, the titles of what it is shown or excluded with.
    """
    more |= {"help": words, "allowed": allowed, "refused": refused}
    return field(metadata=more) if more.get("required") else field(default=default, metadata=more)


def place(metavar: str, words: str, **more: Any) -> Any:
    """Declare a word that stands without a flag; several, where it is annotated so. With a default it may be absent."""
    default = {"default": more.pop("default")} if "default" in more else {}
    return field(**default, metadata={"place": True, "metavar": metavar, "help": words, **more})


@dataclass(frozen=True, kw_only=True)
class DeclaredCommand:
    """What one command was told; it adds its options as fields."""

    EPILOG: ClassVar = ""
    """Examples and explanations below the options."""
    USAGE: ClassVar = ""
    """What stands behind the name; empty: as argparse has it."""
    SETTINGS: ClassVar[tuple[str, ...]] = ()
    """Flags of the settings that it takes."""

    flags: Mapping[str, Any] = field(default_factory=dict)
    """Settings that were given; the others come from environment, file or default."""
    began_s: float = 0.0
    """When the process began, on the monotonic clock."""

    def run(self) -> int:
        """Do it, and return the exit code."""
        raise NotImplementedError

    @classmethod
    def begins_program(cls, places: Sequence[str], word: str) -> bool:
        """Tell whether a word after these ones of ours is the program's name."""
        return False

    def refuse(self) -> None:
        """Refuse values out of their bounds."""
        for one in fields(self):
            value, allowed = getattr(self, one.name), one.metadata.get("allowed")
            if allowed and value is not None and not allowed(value):
                shown = f"{value:g}" if isinstance(value, float) else value
                raise VgoError(f"--{one.name.replace('_', '-')} {shown} {one.metadata['refused']}.")

    def in_force(self) -> UserSettings:
        """Give the settings in force."""
        from ..settings import effective

        return effective(self.flags)[0]

    @property
    def quiet(self) -> bool:
        """Whether no progress is told, as far as the command line says."""
        return bool(self.flags.get("quiet"))


@dataclass(frozen=True, kw_only=True)
class Voiced(DeclaredCommand):
    """A command that tells of its progress."""

    verbose: bool = option("tell more, and where an error came from", False, short="-v", exclusive="voice")


@dataclass(frozen=True, kw_only=True)
class Answering(Voiced):
    """A command that answers."""

    json: bool | str = option("print one JSON object on standard output", False)

    def answer(self, values: Mapping[str, Any], text: str, failure: str = "") -> int:
        """Print the object or the words, and why there is no better answer on standard error; give the exit code."""
        from ..terminal import answer, printable

        answer(values, text, self.json)
        if failure:
            print(f"vgo-agent: {printable(failure)}", file=sys.stderr)
        return 1 if failure else 0

    def give(self, ending: DiagnosisEnding) -> int:
        """Answer with a diagnosis."""
        return self.answer(ending.summary, ending.text, ending.summary["headline"] if ending.exit_code else "")

    def watched(self, settings: UserSettings, unit: str, begin: Callable[[Interface, BudgetClock], Ended]) -> Ended:
        """Carry out what measures, and tell what goes on."""
        from ..clock import BudgetClock
        from ..live_view import watching

        with watching(settings.quiet, self, unit) as interface:
            return begin(interface, BudgetClock(self.began_s))


@dataclass(frozen=True, kw_only=True)
class Asking(Answering):
    """A command that asks for a yes, at a terminal or of a program."""

    json_lines: None = option(
        'as --json, on one line, after a line for each change that needs a yes: {"question": ...}; it is answered '
        'on standard input by a line {"answer": KEY}, once, process, no-system or no, or asked about by '
        '{"ask": WORDS}; the end of input means no',
        dest="json",
        action="store_const",
        const="lines",
    )


def chance_option() -> Any:
    """Declare --alpha."""
    return option(
        "chance of a wrong claim (default 0.05)",
        0.05,
        metavar="P",
        allowed=lambda alpha: 0 < alpha < 0.5,
        refused="is no chance of a wrong claim; choose it between 0 and 0.5",
    )


def seed_option() -> Any:
    """Declare --seed of what is computed only."""
    return option(
        "seed of all that is drawn (default 1)",
        1,
        metavar="N",
        allowed=lambda seed: seed >= 0,
        refused="is below 0; choose any number from 0",
    )


@dataclass(frozen=True, kw_only=True)
class OfRecordedRuns(Answering):
    """A command about runs in tables, whose columns a mapping may name."""

    mapping: Path | None = option(
        "what the columns are called and mean: see `vgo-agent analyze --help`", metavar="FILE.yaml"
    )
    seed: int = seed_option()
    lower_is_better: bool = option("a smaller outcome is a better one", False, exclusive="direction")
    higher_is_better: bool = option("a larger outcome is a better one", False, exclusive="direction")

    @property
    def lower(self) -> bool | None:
        """Whether a smaller outcome is better; None where nobody says it."""
        return None if self.lower_is_better == self.higher_is_better else self.lower_is_better

    def meanings(self) -> Meanings | None:
        """Read the mapping that was given."""
        if self.mapping is None:
            return None
        from ...tools.recorded.mapping import read_mapping

        return read_mapping(self.mapping)


@dataclass(frozen=True, kw_only=True)
class OfRun(Answering):
    """A command about one run."""

    SETTINGS: ClassVar[tuple[str, ...]] = ("out",)

    run_name: str = place("RUN", RUN_HELP)


@dataclass(frozen=True, kw_only=True)
class OfProgram(Voiced):
    """A command that runs a program, and what it judges that by; the program stands last."""

    USAGE = "[OPTIONS] [--] COMMAND [ARGS...]"
    GROUP = "the program"
    PLACES: ClassVar = 0
    """Words of ours before the program."""

    command: tuple[str, ...] = place("COMMAND", "the program and its arguments", default=())
    shell: bool = option("COMMAND is one line for /bin/sh", False)
    metric: str | None = option(
        "judge by a number that the program prints: the first group, its last match", metavar="REGEX"
    )
    per_iteration: str | None = option(
        "each line that the program prints is one sample: csv (with a header), json (objects), or a regex "
        "with named groups; --metric then names the field to judge by, and the other fields may explain it",
        metavar="FORMAT",
    )
    unit: str | None = option("unit of that number, for the report")
    higher_is_better: bool = option("a larger number is a better one", False)
    input: tuple[str, ...] = option("a file the program reads; repeatable", (), metavar="FILE")

    @classmethod
    def begins_program(cls, places: Sequence[str], word: str) -> bool:
        """Everything behind our own words is the program's."""
        return len(places) >= cls.PLACES


def _named_host(text: str) -> str:
    """Refuse what a variable of the shell that is not set leaves: it would mean here."""
    from argparse import ArgumentTypeError

    if not text.strip():
        raise ArgumentTypeError("it is empty: give the address of a scheduler, or a file")
    return text


def on_option(**more: Any) -> Any:
    """Declare which hosts run it."""
    return option(
        "run on the hosts of a Dask cluster: a scheduler's address, or a YAML file that names a cluster",
        metavar="ADDRESS|FILE",
        type=_named_host,
        **more,
    )


@dataclass(frozen=True, kw_only=True)
class OnHosts(Voiced):
    """A command that may run elsewhere."""

    GROUP = "many machines"

    on: str | None = on_option()
    mixed: bool = option("take the hosts that can be used, though they differ", False)


def _setting(words: str, **more: Any) -> dict[str, Any]:
    return {"help": words, **more}


SETTINGS = {
    "allow": _setting(
        "mitigations that may be applied without asking: none at all, those that touch only the program, "
        "or also those that change the system (default process)",
        choices=("none", "process", "system"),
    ),
    "accept": _setting(
        "apply this mitigation although it changes what the program promises, as that data are safe; repeatable",
        action="append",
        metavar="MITIGATION",
    ),
    "budget": _setting(
        "seconds by the clock, from the start of the command to its answer (default 600)", type=float, metavar="S"
    ),
    "timeout": _setting("end a run after so many seconds, and count it as failed", type=float, metavar="S"),
    "on-failure": _setting(
        "what a failed run of the program as it is given does: it is counted and told, or it ends all (default count)",
        choices=("count", "stop"),
    ),
    "min-runs": _setting("runs of one condition at least (default 30)", type=int, metavar="N"),
    "max-runs": _setting("runs of one condition at most (default 500)", type=int, metavar="N"),
    "stop": _setting(
        "which rule says that the baseline has enough runs: `vgo-agent config --help` tells what each looks at; "
        f"--max-runs and --budget hold beside it (default {DEFAULT.name})",
        choices=tuple(RULES),
    ),
    "stop-at": _setting("target of that rule, in its own unit: see `vgo-agent config --help`", type=float, metavar="X"),
    "target-ratio": _setting("stop when the spread is proved below this share (default 0.66)", type=float, metavar="R"),
    "steady-cv": _setting("spread over mean that needs no reduction (default 0.01)", type=float, metavar="CV"),
    "alpha": _setting("chance of a wrong claim (default 0.05)", type=float, metavar="P"),
    "max-mitigations": _setting("mitigations tried at most (default 12)", type=int, metavar="N"),
    "layer": _setting(
        "metric layer to profile with: NAME, NAME:parameter=value,..., or ./FILE.yaml; all: every one that is there; "
        "auto: the light ones, then the heavy ones if those show nothing; repeatable (default process)",
        action="append",
        dest="layers",
        metavar="NAME",
    ),
    "launcher": _setting(
        "what starts the program: NAME or NAME:parameter=value,... (see `vgo-agent layers`; default local)",
        metavar="SPEC",
    ),
    "root": _setting(
        "where the /proc and /sys of the machine are, as /host in a container; counters of the machine and the survey "
        "are read there (default /)",
        metavar="DIR",
    ),
    "seed": _setting("seed of all that is drawn at random (default 1)", type=int, metavar="N"),
    "planner": _setting(
        "who chooses the next step: the rule policy, or a language model; without it, a model where one is named",
        choices=("rules", "llama"),
    ),
    "model": _setting(
        "the language model: a GGUF file, a name in the folder of models, the address of a server, shipped, or none",
        metavar="SPEC",
    ),
    "decision-timeout": _setting(
        "seconds for a model to decide; then the rules do (default 60)", type=float, metavar="S"
    ),
    "think": _setting("let the model write freely before it chooses", action="store_true"),
    "out": _setting("the parent of run folders (default vgo-runs)", metavar="DIR"),
    "quiet": _setting("tell no progress, only the answer", short="-q", action="store_true", exclusive="voice"),
}
"""Every setting that changes a diagnosis, by its flag: each may stand in the settings file and the environment, too."""
EVERY = tuple(key for key in SETTINGS if key != "quiet")


def words(text: str | None) -> tuple[str, ...]:
    """Split a list of names."""
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))
