"""What commands take: options are fields of frozen dataclasses, from which parser, help and completion are made.

Light, because every `--help` loads it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from ...knowledge.errors import VgoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from ...tools.document import Block
    from ...tools.recorded.mapping import Meanings
    from ..clock import BudgetClock
    from ..progress import Lines
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
    PLACES: ClassVar[int | None] = None
    """Words of ours before the program; None: it stands behind `--`."""
    WORDS: ClassVar[Mapping[str, str]] = {}
    """What an option, a setting or a word means to this command, where it is not what it means to others."""
    REQUIRES: ClassVar[Mapping[str, str]] = {}
    """Names that count only with an option, or with values of it, as `by=node`."""
    CONFLICTS: ClassVar[Mapping[str, str]] = {}
    """Names that do not count beside it."""

    flags: Mapping[str, Any] = field(default_factory=dict)
    """Settings that were given; the others come from environment, file or default."""
    typed: frozenset[str] = frozenset()
    """Names of options, settings and words that were given."""
    began_s: float = 0.0
    """When the process began, on the monotonic clock."""

    def run(self) -> int:
        """Do it, and return the exit code."""
        raise NotImplementedError

    @classmethod
    def begins_program(cls, places: Sequence[str], word: str) -> bool:
        """Tell whether a word after these ones of ours is the program's name."""
        return cls.PLACES is not None and len(places) >= cls.PLACES

    def refuse(self) -> None:
        """Refuse values out of their bounds, and what would not count beside the rest: it would seem to."""
        for one in fields(self):
            value, allowed = getattr(self, one.name), one.metadata.get("allowed")
            if allowed and value is not None and not allowed(value):
                shown = f"{value:g}" if isinstance(value, float) else value
                raise VgoError(f"{self._spelt(one.name)} {shown} {one.metadata['refused']}.")
        for what, names in self.REQUIRES.items():
            if not self._holds(what) and (name := self.first_typed(names)):
                stranger = self._spelt(name)
                raise VgoError(f"{stranger} counts only with {self._spelt(what)}: give that, or leave {stranger} out.")
        for what, names in self.CONFLICTS.items():
            if self._holds(what) and (name := self.first_typed(names)):
                raise VgoError(f"{self._spelt(name)} does not count with {self._spelt(what)}: leave one of them out.")

    def first_typed(self, names: str) -> str:
        """Name the first of these that was typed; empty where none was."""
        return next((name for name in names.split() if name in self.typed), "")

    def _holds(self, what: str) -> bool:
        name, _, values = what.partition("=")
        return name in self.typed and (not values or getattr(self, name) in values.split(","))

    def _spelt(self, what: str) -> str:
        """Write an option, with its values if there are any, as it is typed."""
        name, _, values = what.partition("=")
        place = next(
            (one.metadata["metavar"] for one in fields(self) if one.name == name and one.metadata.get("place")), ""
        )
        flag = "layer" if name == "layers" else name.replace("_", "-")
        return " ".join([place or f"--{flag}", *filter(None, [values.replace(",", " or ")])])

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

    def answer(self, values: Mapping[str, Any], told: str | Sequence[Block], failure: str = "") -> int:
        """Print the object or the words, and why there is no better answer on standard error; give the exit code."""
        from ..terminal import answer, printable

        if self.json:
            told = ""
        elif not isinstance(told, str):
            from ..render.text import blocks_text

            told = blocks_text(told, sys.maxsize)
        answer(values, told, self.json)
        if failure:
            print(f"vgo-agent: {printable(failure)}", file=sys.stderr)
        return 1 if failure else 0

    def watched(self, settings: UserSettings, unit: str, begin: Callable[[Lines, BudgetClock], Ended]) -> Ended:
        """Carry out what measures, and tell what goes on."""
        from ..clock import BudgetClock
        from ..live_view import watching

        with watching(settings.quiet, self.verbose, self.json, unit) as interface:
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

    @staticmethod
    def again(*more: str) -> str:
        """Write the command line that was given, with more options."""
        import shlex

        return shlex.join(["vgo-agent", *sys.argv[1:], *more])

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
    PLACES: ClassVar[int | None] = 0

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
    REQUIRES: ClassVar[Mapping[str, str]] = {"on": "mixed"}

    on: str | None = on_option()
    mixed: bool = option("take the hosts that can be used, though they differ", False)


def words(text: str | None) -> tuple[str, ...]:
    """Split a list of names."""
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))
