"""The keys that HPE SHARP (4.x) knows in backend and metric files, checked before such a file is read as a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, StrictBool, ValidationError

from ..knowledge.errors import VgoError
from ..knowledge.shape import Frozen
from .document import DocumentPath, YamlDocument, twice, wrong

BESIDE = {"description", "references", "mitigations"}
"""The keys of a recipe: SHARP's file of mitigations has them beside the backends that carry them out."""


def _spelt(value: Any) -> Any:
    """Read a version or a flag that YAML takes for a number as text."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _several(value: Any) -> Any:
    """Read one text as a list of one."""
    return [value] if isinstance(value, str) else value


def _nothing(value: Any) -> Any:
    """Read a key without a value as empty text."""
    return "" if value is None else value


Text = Annotated[str, BeforeValidator(_nothing)]
Texts = Annotated[tuple[Annotated[str, BeforeValidator(_spelt)], ...], BeforeValidator(_several)]


class SharpBackend(Frozen):
    """One entry of `backend_options`."""

    run: Text = ""
    command_template: Text = ""
    run_sys_spec: Text = ""
    reset: Text = ""
    check: Text = ""
    check_message: Text = ""
    profiling: StrictBool = False
    composable: StrictBool = True
    hosts: Texts | None = None
    mpiflags: Texts | None = None
    tmp_path: Text = ""
    version: Annotated[str, BeforeValidator(_spelt)] = ""
    description: Text = ""
    placeholders: Any = None


class SharpMetric(Frozen):
    """One entry of `metrics`; an included file may leave `extract` to the file above."""

    description: Text = ""
    extract: Text = ""
    lower_is_better: StrictBool = True
    type: Literal["numeric", "string", "int", "float"] = "numeric"
    units: Text = ""


class SharpFile(Frozen):
    """What stands at the top of a file: of a backend, of metrics, or of a whole experiment."""

    backend_options: dict[str, SharpBackend] | None = None
    metrics: dict[str, SharpMetric] | None = None
    include: Texts | None = None
    name: Any = None
    version: Any = None
    description: Any = None
    environment: Any = None
    entry_point: Any = None
    args: Any = None
    task: Any = None
    backend_names: Any = None
    repeater: Any = None
    repeater_options: Any = None
    timeout: Any = None
    start: Any = None
    mode: Any = None
    copies: Any = None
    mpl: Any = None
    options: Any = None
    sweep: Any = None
    workflow: Any = None


def refuse_unsound(document: YamlDocument) -> None:
    """Raise VgoError for the first key or value that SHARP does not have, and for a key that stands twice."""
    problem = next(twice(document.node), None)
    if problem is None:
        content = document.content
        known = {key: value for key, value in content.items() if not _recipe(key, value)}
        try:
            SharpFile.model_validate(known)
            return
        except ValidationError as error:
            problem = next(wrong(error, shape_at))
    raise VgoError(document.sentence(problem))


def shape_at(place: DocumentPath) -> type[BaseModel]:
    """Name the model whose keys may stand at a place."""
    below: dict[str, type[BaseModel]] = {"backend_options": SharpBackend, "metrics": SharpMetric}
    return below[str(place[0])] if len(place) > 2 else SharpFile


def _recipe(key: Any, value: Any) -> bool:
    return key not in SharpFile.model_fields and isinstance(value, Mapping) and value.keys() <= BESIDE
