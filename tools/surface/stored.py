"""A surface and that of the mean beside it: fitted together, checked on cells that were kept out, converted, stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from threadpoolctl import threadpool_limits

from ...knowledge.errors import VgoError
from ...knowledge.files import first, regular
from ..statistics.surface.catalogue import MODELS
from ..statistics.surface.model import errors
from ..statistics.values import FiniteResult, FloatArray
from .cells import FEWEST_CELLS, CellOutcomes, response_of
from .fitted import NO_MODEL, KeptOut, Surface, SurfaceRecord, fit_surface, fitted_again, surface, unit_of

FILE = "surface.json"
MEAN_MODELS = ("gaussian", "mars")
_SPREADS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "sd": lambda sd, mean: sd,
    "variance": lambda sd, mean: sd**2,
    "cv": lambda sd, mean: sd / np.abs(mean),
}
"""Measures of the spread, from the SD and the mean."""


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


def fit_both(
    cells: CellOutcomes,
    response: str,
    models: Sequence[str] = (),
    one_by_one: bool = False,
    seed: int = 1,
    keep_out: float | None = None,
) -> Fitted:
    """Fit; no models: all of them. The mean gets the better of two models, and none where the table
    has neither runs nor means.

    `keep_out`: a share of the cells on which a fit to the others is checked.
    """
    models = tuple(models) or tuple(MODELS)
    fitted = fit_surface(cells, response, models, one_by_one, seed)
    if keep_out is not None:
        kept = check(cells, response, models, keep_out, seed)
        fitted = replace(fitted, record=fitted.record.model_copy(update={"kept_out": kept}))
    means = np.array([outcome.mean() for outcome in cells.means or cells.outcomes])
    if (cells.given != "runs" and not cells.means) or response == "mean" or np.ptp(means) == 0:
        return Fitted(response=fitted, cells=cells)
    return Fitted(response=fitted, mean=fit_surface(cells, "mean", MEAN_MODELS, False, seed), cells=cells)


def check(cells: CellOutcomes, response: str, models: Sequence[str], share: float, seed: int) -> KeptOut:
    """Fit to a random part of the cells, and predict the share that was kept out.

    Raises VgoError for a share that leaves too few cells on either side.
    """
    order = np.random.default_rng(seed).permutation(len(cells.outcomes))
    out = round(share * order.size)
    if not 1 <= out <= order.size - FEWEST_CELLS:
        most = (order.size - FEWEST_CELLS) / order.size
        raise VgoError(
            f"--keep-out {share:g} keeps {out} of {order.size} cells out, and {FEWEST_CELLS} must be left: give up to "
            f"{most:.2g}."
        )
    fitted = fit_surface(cells.part(order[out:]), response, models, seed=seed)
    kept = cells.part(order[:out])
    found = response_of(kept, response)
    columns = {name: np.array(column)[found.known].tolist() for name, column in kept.columns.items()}
    values, told = found.values[found.known], fitted.at(columns)
    ends = fitted.interval(told)
    return KeptOut(
        cells=values.size,
        model=fitted.record.model,
        errors=errors(values, told),
        without=errors(values, np.full(values.size, np.mean(fitted.record.values))).relative,
        inside=int(((ends[0] <= values) & (values <= ends[1])).sum()) if ends else None,
    )


def converted(fitted: Fitted, response: str) -> Fitted:
    """Fit the same models to another measure of the spread of the same cells; VgoError where it cannot be had."""
    record = fitted.response.record
    mean = _means(fitted.mean.record, record) if fitted.mean else None
    if not {response, record.response} <= _SPREADS.keys() or not fitted.mean or mean is None or not mean.all():
        raise VgoError(
            f"This surface is of the {record.response}: give --minimise {record.response}, or fit one with --response "
            f"{response}, or to a table with a spread and its mean (--mean)."
        )
    given = np.array(record.values)
    sd = {"sd": given, "variance": np.sqrt(given), "cv": given * np.abs(mean)}[record.response]
    values = _SPREADS[response](sd, mean)
    told = record.model_copy(
        update={
            "response": response,
            "values": tuple(map(float, values)),
            "unit": unit_of(response, fitted.mean.record.unit),
            "kept_out": None,
        }
    )
    models = [one.model for one in record.scored if one.model != NO_MODEL]
    return replace(fitted, response=fitted_again(told, models))


def _means(means: SurfaceRecord, record: SurfaceRecord) -> FloatArray:
    """Give the measured mean of each cell of the record, shape (cells,)."""
    known = dict(zip(zip(*means.columns.values(), strict=True), means.values, strict=True))
    return np.array([known[row] for row in zip(*record.columns.values(), strict=True)])
