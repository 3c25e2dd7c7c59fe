"""The file of a profile: one portable JSON object with the system, the battery and every run; read and written."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from ...knowledge.errors import VgoError
from ...knowledge.files import first, parsed_json, regular
from ...knowledge.shape import Frozen
from .. import durable
from .battery import Group

VERSION = 1
"""Of both files; raised when an older vgo-agent could misread one."""
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Literal["real", "cpu"]
"""Bogo operations per second of real time, which a quota and other programs lower, or of CPU time."""
BESIDE = "beside.json"
"""The profile without the quota, made beside the one under it."""


class System(Frozen):
    """The machine, as far as it matters for a profile."""

    name: str
    cpu: str
    architecture: str
    kernel: str
    distribution: str
    glibc: str = ""
    online: int = 0
    """CPUs."""
    memory_bytes: int = 0
    virtual: str = ""
    """The hypervisor; empty on bare metal."""
    governor: str = ""
    limited: tuple[str, ...] = ()
    """Controllers of which the control group of the agent had a limit."""
    stress_ng: str = ""
    """Its version: bogo operations of two versions need not be the same work."""


class Quota(Frozen):
    """CPU bandwidth: so many microseconds of CPU in each period (cgroup v2 cpu.max, v1 cpu.cfs_quota_us)."""

    quota_us: Annotated[int, Field(ge=1000)]
    period_us: Annotated[int, Field(ge=1000, le=1_000_000)]

    @property
    def cpus(self) -> float:
        """CPUs that it is worth."""
        return self.quota_us / self.period_us


class Battery(Frozen):
    """How the stressors were run."""

    seconds: Share
    """Of each run."""
    repetitions: Annotated[int, Field(ge=1)]
    seed: int
    stressors: dict[str, Group]
    quota: Quota | None = None


class StressorRun(Frozen):
    """One run of one stressor."""

    stressor: str
    repetition: int = 0
    bogo_ops: NotNegative = 0
    wall_s: NotNegative = 0
    """Of the worker, as stress-ng measured it."""
    cpu_s: NotNegative = 0
    """User and system."""
    throttled: int = 0
    """Periods in which the quota stopped it."""
    failed: str = ""
    """Why there is no result."""

    def rate(self, kind: Rate) -> float:
        """Bogo operations a second, of real time or of CPU time; 0 where there are none."""
        seconds = self.wall_s if kind == "real" else self.cpu_s
        return self.bogo_ops / seconds if seconds else 0.0


class Profile(Frozen):
    """A machine's results."""

    format: Literal["vgo-agent machine profile"] = "vgo-agent machine profile"
    version: Literal[1] = 1
    system: System
    battery: Battery
    runs: tuple[StressorRun, ...] = ()

    @property
    def complete(self) -> bool:
        """Every stressor has all its repetitions, or failed."""
        return len(self.runs) == len(self.battery.stressors) * self.battery.repetitions

    def rates(self, kind: Rate) -> dict[str, tuple[float, ...]]:
        """Rates above 0 of runs that worked, by stressor, sorted."""
        found: dict[str, list[float]] = {}
        for run in self.runs:
            if not run.failed and run.rate(kind) > 0:
                found.setdefault(run.stressor, []).append(run.rate(kind))
        return {name: tuple(sorted(values)) for name, values in sorted(found.items())}

    def why_missing(self, stressor: str) -> str:
        """Say why a stressor has no rate; empty where it was not in the battery."""
        own = [run for run in self.runs if run.stressor == stressor]
        if not own:
            return "not run" if stressor in self.battery.stressors else "not in its battery"
        return next((run.failed for run in own if run.failed), "zero bogo operations")


class Calibration(Frozen):
    """The quota that was found, and how close it brings this machine."""

    format: Literal["vgo-agent machine calibration"] = "vgo-agent machine calibration"
    version: Literal[1] = 1
    base: System
    here: System
    quota: Quota
    low: Share
    high: Share
    """95 % interval of the CPUs that the quota is worth."""
    before: tuple[float, float, float]
    """Least, median and greatest speed-up of the CPU stressors over the base, without the quota."""
    after: tuple[float, float, float]


Form = TypeVar("Form", Profile, Calibration)
IN_FOLDER = {Profile: "profile.json", Calibration: "calibration.json"}
"""What each is called in a run folder."""


def read(path: Path, form: type[Form]) -> Form:
    """Read a profile or a calibration, a file or the one in a run folder; VgoError names what is wrong with it."""
    made_by = f"make one with `vgo-agent machine {'profile' if form is Profile else 'calibrate --base FILE'}`."
    known, path = form.model_fields["format"].default, path / IN_FOLDER[form] if path.is_dir() else path
    try:
        found = parsed_json(regular(path).read_bytes())
    except OSError as error:
        raise VgoError(
            f"Cannot read {path} ({error.strerror}): name a file or a run folder of `vgo-agent machine`, and "
            "`vgo-agent resume` one that was cut off."
        ) from error
    except ValueError as error:
        raise VgoError(f"{path} is no JSON file, or a part of one: {made_by}") from error
    if not isinstance(found, dict) or found.get("format") != known:
        raise VgoError(f"{path} is no {known}: {made_by}")
    if isinstance(version := found.get("version"), int) and version > VERSION:
        raise VgoError(f"{path} has version {version} and this vgo-agent reads up to {VERSION}: update vgo-agent.")
    try:
        return form.model_validate_json(json.dumps(found))
    except ValidationError as error:
        raise VgoError(f"{path} is broken ({first(error)}): {made_by}") from error


def content(form: Profile | Calibration) -> bytes:
    """As its file has it."""
    return form.model_dump_json(indent=1).encode() + b"\n"


def write(path: Path, form: Profile | Calibration) -> None:
    """Write it whole or not at all; VgoError where that fails."""
    try:
        durable.write(path, content(form))
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}): name another place.") from error


class QuotaTrial(Frozen):
    """One quota that was tried."""

    quota: Quota
    stressors: int
    median: float
    """Speed-up over the base under it."""
    cpu_share: float
    """Of a CPU that a run without the quota had."""


class Range(Frozen):
    """Speed-ups of the CPU stressors over the base."""

    least: float
    median: float
    greatest: float

    @property
    def width(self) -> float:
        """Greatest less least, as the paper counts it."""
        return self.greatest - self.least


class Unmatched(Frozen):
    """A stressor that the quota does not bring near the base."""

    stressor: str
    group: Group
    speed_up: float


class Calibrated(Frozen):
    """The whole answer."""

    calibration: Calibration
    steps: tuple[QuotaTrial, ...]
    before: Range
    after: Range
    unmatched: tuple[Unmatched, ...]
    apart: int
    """Stressors of the other groups that were run too."""
    failed: dict[str, str]
    notes: tuple[str, ...] = ()


class Application(Frozen):
    """One program."""

    name: str
    seconds_a: float
    seconds_b: float

    @property
    def speed_up(self) -> float:
        """How many times as fast it is on B."""
        return self.seconds_a / self.seconds_b


def read_applications(path: Path) -> tuple[Application, ...]:
    """Read name, seconds on A, seconds on B a line; a first line without numbers is a header."""
    try:
        with regular(path).open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise VgoError(f"Cannot read {path} ({error}): name a CSV file of name,seconds on A,seconds on B.") from error
    if rows and len(rows[0]) == 3 and _seconds(rows[0][1]) is None and _seconds(rows[0][2]) is None:
        del rows[0]
    if not rows:
        raise VgoError(f"{path} names no application: write lines of name,seconds on A,seconds on B.")
    return tuple(_read(path, number, row) for number, row in enumerate(rows, 1))


def _read(path: Path, number: int, row: list[str]) -> Application:
    seconds = [_seconds(cell) for cell in row[1:]]
    if len(seconds) != 2 or seconds[0] is None or seconds[1] is None:
        raise VgoError(f"{path}, application {number}: write name,seconds on A,seconds on B with times above 0.")
    return Application(name=row[0].strip(), seconds_a=seconds[0], seconds_b=seconds[1])


def _seconds(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
