"""A surface on disk: one JSON file with its cells and errors; the models are fitted again when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from threadpoolctl import threadpool_limits

from ...knowledge.errors import VgoError
from ...knowledge.files import first, regular
from ..statistics.values import FiniteResult
from .cells import CellOutcomes
from .fitted import Surface, SurfaceRecord, surface

FILE = "surface.json"


class Stored(FiniteResult):
    """What `surface fit --save` keeps."""

    response: SurfaceRecord
    mean: SurfaceRecord | None = None
    """The mean of the same cells, where it is known and is not the response itself."""


@dataclass(frozen=True)
class Fitted:
    """Both surfaces, ready to be asked."""

    response: Surface
    mean: Surface | None = None
    cells: CellOutcomes | None = None
    """What they were fitted to; None where they were read from a file."""

    @property
    def stored(self) -> Stored:
        """What to keep."""
        return Stored(response=self.response.record, mean=self.mean.record if self.mean else None)


def save(fitted: Fitted, folder: Path) -> Path:
    """Write the file into a folder, which is made."""
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(fitted.stored.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}); choose another folder for --save.") from error
    return path


def is_stored(path: Path) -> bool:
    """Tell whether a path names a surface that was saved."""
    return (path / FILE).is_file() or (path.name == FILE and path.is_file())


def load(path: Path) -> Fitted:
    """Read a saved surface, from its folder or the file itself, and fit its models to its cells."""
    file = path / FILE if path.is_dir() else path
    try:
        stored = Stored.model_validate_json(regular(file).read_bytes())
    except OSError as error:
        raise VgoError(f"{file} cannot be read ({error.strerror}): name a folder of `surface fit --save`.") from error
    except ValidationError as error:
        raise VgoError(f"{file}: {first(error)}, or save the surface again with `surface fit`.") from error
    with threadpool_limits(limits=1):
        return Fitted(response=surface(stored.response), mean=surface(stored.mean) if stored.mean else None)
