"""What `sweep` is asked; light, because its `--help` loads it."""

from __future__ import annotations

from dataclasses import dataclass

from ..commands.options import Asking, OfProgram, OnHosts, option, place


@dataclass(frozen=True, kw_only=True)
class OfSweep(OfProgram, OnHosts, Asking):
    """The space, and how it is walked."""

    GROUP = "the design, also in SPACE"

    space: tuple[str, ...] = place("SPACE", "a YAML file, the name of one that ships, or 'NAME=LEVEL,LEVEL ...'")
    dry_run: bool = option("print cells and all that each changes, touch nothing", False, group="")
    name: str | None = option(
        "name of the folder, sweep-NAME below --out (default: of SPACE)", metavar="NAME", group=""
    )
    design: str | None = option(
        "every combination, a Latin hypercube, or new cells where a Gaussian process says (default grid)",
        choices=("grid", "lhs", "adaptive"),
    )
    cells: int | None = option("cells of lhs, and of adaptive at most (default 20)", metavar="N")
    response: str | None = option(
        "what adaptive looks at, and the report draws (default sd)",
        choices=("sd", "cv", "mean", "median", "p95", "p99"),
    )
    seek: str | None = option(
        "adaptive goes where the response may be best, or where it is least known (default best)",
        choices=("best", "unknown"),
    )
    within: float | None = option("factor within which the SD is known (default 1.25)", metavar="F")
    runs: int | None = option("runs to spend over all cells", metavar="N")
