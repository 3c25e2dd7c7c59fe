"""Programs that papers measured or packages give, by name: nobody put a cause into them, and none is known."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.shape import Frozen
from ...tools.subject import Subject
from .build import build

HERE = Path(__file__).parent


class NamedProgram(Frozen):
    """How it is started, and which of its numbers counts."""

    name: str
    description: str
    words: tuple[str, ...] = ()
    """Its command line, `{python}` being this interpreter; empty: `source` is built."""
    source: str = ""
    """C in `openmp/`."""
    metric: str
    unit: str = "s"
    higher_is_better: bool = False
    package: str = ""
    """Of Debian and Ubuntu, that has it."""

    def subject(self) -> Subject:
        """Find or build it; VgoError where it is not here, with the package that has it."""
        words = tuple(sys.executable if word == "{python}" else word for word in self.words)
        argv = words or (str(build(HERE / "openmp" / self.source)),)
        program = shutil.which(argv[0])
        if program is None:
            raise VgoError(f"The program {self.name} is not installed: apt install {self.package}.")
        return Subject(
            command=argv,
            argv=(program, *argv[1:]),
            directory=os.getcwd(),
            metric=self.metric,
            unit=self.unit,
            lower_is_better=not self.higher_is_better,
        )


class NamedPrograms(Frozen):
    """`named.yaml`."""

    programs: tuple[NamedProgram, ...]


@functools.cache
def named_programs() -> dict[str, NamedProgram]:
    """Return all of them by name."""
    return {one.name: one for one in read_model(HERE / "named.yaml", NamedPrograms).programs}


def named(name: str) -> NamedProgram:
    """Find one; VgoError with the names there are."""
    if found := named_programs().get(name):
        return found
    raise VgoError(f"There is no program {name!r}; choose one of {', '.join(named_programs())}.")
