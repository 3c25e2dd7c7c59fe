"""The factors of a study and their levels, as a YAML file declares them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from ...knowledge.errors import VgoError
from ...knowledge.shape import Frozen
from ...knowledge.user_files import parsed_yaml, regular
from ...knowledge.wrong import first
from .topology import Kind

Need = Literal["several_cores", "smt", "hybrid", "kinds_on_every_node", "nodes", "runtime_schedule", "libgomp"]
Where = Literal["siblings", "anywhere"]
Work = Literal["compute", "memory"]
SHIPPED = Path(__file__).with_name("openmp.yaml")
THREADS = "threads"
"""The factor whose levels are numbers of cores."""


class FactorLevel(Frozen):
    """One level of a factor."""

    key: str
    description: str = ""
    environment: dict[str, str] = {}
    places: Literal["", "packed", "all"] = ""
    """OMP_PLACES: one place for each thread, or every core of the machine; empty: none is set."""
    hardware_threads: Literal[1, 2] = 1
    """Of each core that are used."""
    kind: Literal["", Kind] = ""
    """Of the cores that are used; empty: both."""
    nodes: Literal["", "one", "all"] = ""
    """Memory nodes for as many threads as one node has cores; empty: as it comes."""
    background: Literal["", Where] = ""
    """Where a job of ours runs beside the program."""
    work: Work = "compute"
    preload: str = ""
    """A library by its soname."""
    program: str = ""
    """Another binary in place of the program."""
    needs: tuple[Need, ...] = ()
    cross: bool = True
    """It takes part where its factor is crossed."""


class Factor(Frozen):
    """What is varied."""

    key: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    question: str
    source: str = ""
    """Section of the paper that asks it."""
    variables: tuple[str, ...] = ()
    """Variables that it governs; what the environment says of them holds for the baseline only."""
    cross: bool = False
    levels: tuple[FactorLevel, ...] = ()
    spare: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Of threads: numbers of cores left to the system."""
    crossed_spare: tuple[Annotated[int, Field(ge=0)], ...] = (0,)
    doubling: bool = False
    """Of threads: 1, 2, 4, ... cores too."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        keys = [level.key for level in self.levels]
        if len(set(keys)) < len(keys):
            raise ValueError(f"two levels of {self.key} have the same key")
        if (self.key == THREADS) == bool(self.levels):
            raise ValueError(f"{self.key} needs levels, but for {THREADS}, whose levels are numbers of cores")
        return self


class Factors(Frozen):
    """All factors of a study."""

    factors: Annotated[tuple[Factor, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        keys = [factor.key for factor in self.factors]
        if len(set(keys)) < len(keys) or THREADS not in keys:
            raise ValueError(f"each factor is given once, and {THREADS} is one of them")
        return self


def read_factors(path: Path = SHIPPED) -> Factors:
    """Read the factors of a study; raises VgoError with the file and what is wrong in it."""
    try:
        return Factors.model_validate(parsed_yaml(regular(path).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise VgoError(f"{path} cannot be read ({error}); correct --design.") from error
    except yaml.YAMLError as error:
        raise VgoError(f"{path} is not YAML ({str(error).splitlines()[0]}); mend it.") from error
    except ValidationError as error:
        raise VgoError(f"{path}: {first(error)}.") from error
