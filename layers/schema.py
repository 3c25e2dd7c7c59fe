"""The shape of a layer: how to measure, how to collect, and what its columns mean."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from ..knowledge.shape import is_empty

Role = Literal["outcome", "factor", "consequence", "setting"]
"""consequence: grows because a run is slow (CPU time, timer ticks), so it explains nothing."""
Value = float | str
"""One cell of a run table."""
MOST_DIGITS = 24
"""Bytes by which a printed number can be longer than another: sign, digits, point, exponent."""


class LayerModel(BaseModel):
    """Frozen; an unknown key in a file is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Extract(LayerModel):
    """How one value is read from what a run said: exactly one of `regex`, `json`, `csv`, `shell`."""

    regex: str | None = None
    """Its first group, or the whole match; every match counts, see `take`."""
    json_path: Annotated[str | None, Field(alias="json")] = None
    """A JSONPath (RFC 9535) over the text, or over each line of it that is a JSON document."""
    csv: str | None = None
    """The column of a CSV table, by its header, or by its number from 1 where there is none."""
    shell: str | None = None
    """A filter for /bin/sh that gets the text on its standard input; only of files that the user trusts."""
    where: dict[str, str] = {}
    """With `json` and `csv`: only records in which these fields have these values."""
    key: str = ""
    """With `json` and `csv`, for a column with `*`: the field of a record that fills it in. A regex takes the
    first of two groups for that, a shell filter with the first word of each line."""
    text: Annotated[Literal["output", "error", "both", "file"], Field(alias="from")] = "output"
    """Standard output, standard error, one after the other, or all that the wrapper wrote to $FILE and into $FOLDER."""
    take: Literal["last", "first", "sum", "mean", "min", "max", "count", "distinct"] = "last"
    """Of several values, this one; count and distinct: how many there are, and how many different ones."""
    otherwise: float | None = None
    """The value where the text says something and this is not in it, as a table that lists no zeros."""

    @model_validator(mode="after")
    def _one_way(self) -> Extract:
        ways = [way for way in (self.regex, self.json_path, self.csv, self.shell) if way is not None]
        if len(ways) != 1:
            raise ValueError("give exactly one of regex, json, csv and shell")
        return self


class Column(LayerModel):
    """What one column of a run table means."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.*-]*$")]
    """With `*` where the machine fills in a device, a CPU or a rank: `disk.*.read_ms`."""
    description: str
    unit: str
    """`count`, `s`, `ms`, `us`, `bytes`, `pages`, `%`."""
    role: Role = "factor"
    scope: Literal["run", "machine", "others"] = "run"
    """run: counts this run alone; machine: whole machine, over the time of the run; others: what is not of this run."""
    type: Literal["number", "text"] = "number"
    lower_is_better: bool = True
    level: bool = False
    """It does not add up over a run (a temperature, a share, a mean), so dividing it by the run time means nothing."""
    rate: bool = False
    """A rate or share over the run's own time: what happens once a run makes short runs show more of it, so it must go
    with slow runs multiplied by the run time, too."""
    innate: bool = False
    """What the program itself asks for: being slow does not multiply it, so its rate over the run is no test of it.
    Where time is mostly made of it, as of page faults, the rate is flat and would hide the cause."""
    holds_output: bool = False
    """Bytes that the program writes, what it prints among them: a printed metric of one digit more is one byte more."""
    most_us: Annotated[float, Field(gt=0)] | None = None
    """One unit of it delays a run by at most so many microseconds, generously; None where it can be any time.
    A handful of interrupts cannot explain milliseconds, however well they go with slow runs."""
    counts_waits: bool = False
    """It counts how often the program left a CPU or came back: where a time ledger tells how long it was away, and why,
    that is a consequence."""
    source: str = ""
    """The kernel file or call that it is read from, and the key within it."""
    read: str = ""
    """What the probe is to read for it, in the probe's own words: an event, a key of a file."""
    extract: Extract | None = None
    """How it is read from the text of a run; None where the probe gives it."""

    def only_printed(self, spread: float) -> bool:
        """Tell whether what the program prints explains a difference of so many bytes between runs."""
        return self.holds_output and 0 < spread <= MOST_DIGITS


class Layer(LayerModel):
    """One YAML file of layers/."""

    key: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    description: str
    kind: Literal["metric", "launcher"] = "metric"
    """metric: what is collected; launcher: where and how the program runs."""
    probe: str = ""
    """The built-in probe that reads it."""
    run: str = ""
    """A wrapper: a command line in which `$CMD $ARGS` is the program, `$LINE` the same as one word for another shell,
    `$FILE` a file of this run that the wrapper may write to, `$FOLDER` the empty folder that it lies in, `$PROGRAM`
    the name of the program, and `$NAME` the parameter `name`. It is split into words, no shell sees it, unless `shell`
    asks for one. A parameter that stands alone may give several words or none; within a word it stays within it."""
    shell: bool = False
    """`run` goes to /bin/sh; only of files that the user trusts."""
    environment: dict[str, str] = {}
    """Variables that the program gets; `$NAME` as in `run`, or what the variable of the same name held before."""
    parameters: dict[str, str | float | bool] = {}
    """Defaults of what `--layer NAME:parameter=value` may change."""
    needs: tuple[str, ...] = ()
    """Programs that must be on PATH, beside the first word of `run`."""
    cure: str = ""
    """What makes it available where it is not: a package, a sysctl, a capability, a kernel option."""
    heavy: bool = False
    """It slows the program down or is dear to run: at most two such layers are on at once."""
    includes: Annotated[tuple[str, ...], Field(exclude_if=is_empty)] = ()
    """Layers that tell no more beside it: they are off in its runs, as the same would be read twice."""
    slower: Annotated[float, Field(ge=1)] = 1.0
    """How many times longer a run may take under it: beyond five times that it is ended, and the layer set aside."""
    here: bool = True
    """Of a launcher: the program is a descendant on this machine, so that built-in probes see it."""
    exits: dict[int, str] = {}
    """Exit codes by which the wrapper or launcher tells of its own failure: what that means, with the cure."""
    says: dict[str, str] = {}
    """Words by which the wrapper or launcher tells of its own failure: the cure."""
    required: tuple[str, ...] = ()
    """Of a launcher: parameters that must be given."""
    flags: dict[str, str] = {}
    """Of a launcher: by parameter, the words that stand at `$FLAGS` in `run` when that parameter is given."""
    asks: dict[str, str] = {}
    """Commands that must succeed on this machine before it can start anything, each with the cure."""
    variable: str = ""
    """Of a launcher: the words that stand at `$VARIABLES` in `run` for each environment variable that is not as ours,
    `$VARIABLE` being NAME=VALUE. Empty where the environment reaches the program by itself, or within `$LINE`."""
    own: Annotated[tuple[str, ...], Field(exclude_if=is_empty)] = ()
    """Of a launcher: names of variables, `*` for any end, by which it is told itself what to do; they are put into its
    environment, and not only handed on to the program."""
    hosts: str = ""
    """Of a launcher: a command that prints the name of the machine, asked through it once; empty: this machine."""
    columns: tuple[Column, ...] = ()
    _place: str = PrivateAttr("")
    """File and line of `run`, where a user wrote it; empty for what ships."""
    _lines: tuple[str, ...] = PrivateAttr(())
    """File and line of each column, in order; empty where the layer was not read from a file."""

    def __eq__(self, other: object) -> bool:
        """Compare what is said, wherever it was written."""
        return isinstance(other, Layer) and self.__dict__ == other.__dict__

    @property
    def lines(self) -> tuple[str, ...]:
        """File and line of each column, in order."""
        return self._lines or (f"{self.key}.yaml",) * len(self.columns)

    @property
    def place(self) -> str:
        """` (FILE, line N)` of a user's own layer; empty of what ships."""
        return self._place and f" ({self._place})"

    @property
    def named(self) -> str:
        """Say which one is meant, as in the middle of a sentence."""
        return f"the {'launcher' if self.kind == 'launcher' else 'layer'} {self.key}{self.place}"

    def cure_for(self, said: bytes) -> str:
        """Give the cure for a failure of its own that it told of; empty where it told of none."""
        text = " ".join(said.decode(errors="replace").split())
        return next((cure for words, cure in self.says.items() if words in text), "")

    def at(self, place: str, lines: tuple[str, ...]) -> Layer:
        """Say where it was written: its command, empty for what ships, and each column."""
        placed = self.model_copy()
        placed._place = place
        placed._lines = lines
        return placed

    def column(self, name: str) -> Column | None:
        """Describe a column of this layer, filled-in names included; None where it has no such column."""
        for column in self.columns:
            if column.name == name:
                return column
        for column in self.columns:
            if "*" in column.name and fnmatchcase(name, column.name):
                return column.model_copy(update={"name": name})
        return None
