"""Read the backend and metric files of HPE SHARP (4.x) as layers: same commands, same filters, same columns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, StrictBool, ValidationError, create_model

from ..knowledge.errors import VgoError
from ..knowledge.files import Problem, YamlDocument, last_holding, read_document, twice, wrong
from ..knowledge.shape import Frozen
from .schema import Column, Extract, Layer
from .wrapper import FILES, FURTHER

BESIDE = {"description", "references", "mitigations"}
"""The keys of a recipe: SHARP's file of mitigations has them beside the backends that carry them out."""


def _spelt(value: Any) -> Any:
    """Read a version or a flag that YAML takes for a number as text."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A key without a value is empty text."""
Texts = Annotated[
    tuple[Annotated[str, BeforeValidator(_spelt)], ...],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
]
"""One text is a list of one."""


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


class SharpRead(Frozen):
    """What is read of a file: of a backend, of metrics, or of a whole experiment."""

    backend_options: dict[str, SharpBackend] | None = None
    metrics: dict[str, SharpMetric] | None = None
    include: Texts | None = None


UNREAD: dict[str, Any] = dict.fromkeys(
    (
        *("name", "version", "description", "environment", "entry_point", "args", "task", "backend_names", "repeater"),
        *("repeater_options", "timeout", "start", "mode", "copies", "mpl", "options", "sweep", "workflow"),
    ),
    (Any, None),
)
"""Keys at the top that say nothing of a layer."""
SharpFile = create_model("SharpFile", __base__=SharpRead, **UNREAD)
BELOW: dict[str, type[BaseModel]] = {"backend_options": SharpBackend, "metrics": SharpMetric}


def refuse_unsound(document: YamlDocument) -> None:
    """Raise VgoError for the first key or value that SHARP does not have, and for a key that stands twice."""
    problem = next(twice(document.node), None)
    if problem is None:
        content = document.content
        recipes = {key for key, value in content.items() if isinstance(value, Mapping) and value.keys() <= BESIDE}
        known = {key: content[key] for key in content if key in SharpFile.model_fields or key not in recipes}
        try:
            SharpFile.model_validate(known)
            return
        except ValidationError as error:
            problem = next(wrong(error, lambda place: BELOW[str(place[0])] if len(place) > 2 else SharpFile))
    raise VgoError(document.sentence(problem))


UNITS = {
    "seconds": "s",
    "second": "s",
    "milliseconds": "ms",
    "microseconds": "us",
    "nanoseconds": "ns",
    "percent": "%",
    "kbytes": "kB",
    "counts": "count",
}
TIMES = ("s", "ms", "us", "ns")
GROWING = ("cpu_clock", "task_clock", "cycles", "instructions")
"""They grow with the run time, whatever their unit."""
ELSEWHERE = ("ssh", "docker", "podman", "srun", "kubectl", "fission", "kn", "curl")
"""Programs that start the benchmark where this machine's probes do not see it."""
SLOWING = ("strace", "ltrace", "valgrind")
NEEDS_SHELL = re.compile(r"[|&;<>()`$*?\[\]{}~!#\n]|^\s*\w+=|^\s*(cd|exec|export|set|trap|ulimit|umask)\b")
MACROS = re.compile(r"\$(CMD|ARGS|OPTIONS|MPL|HOST\d*)\b")
STARTS = re.compile(r"\$(CMD|PROGRAM)\b")
"""The program, or the function named like it that a cloud has."""
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_OURS = re.compile(rf"\$({'|'.join((*FILES, *FURTHER, 'LINE'))})\b")


def is_sharp(content: Any) -> bool:
    """Tell SHARP's file from one of ours, which has a `key`."""
    return isinstance(content, dict) and "key" not in content and bool({"backend_options", "metrics"} & set(content))


def read_sharp(document: YamlDocument, backend: str = "") -> Layer:
    """Make a layer of one backend of a file and of all its metrics; `reset` and `run_sys_spec` are left out."""
    path = document.path
    documents = with_includes(document, ())
    merged: dict[str, Any] = {}
    for one in documents:
        deep_update(merged, {key: value for key, value in one.content.items() if value is not None})
    name, options = chosen(path, merged.get("backend_options", {}), backend)
    metrics = merged.get("metrics", {})
    key = re.sub(r"[^a-z0-9]+", "_", (name or path.stem).lower()).strip("_") or "sharp"
    key = key if key[0].isalpha() else f"sharp_{key}"
    run = started(documents, name, options)
    first = run.split(maxsplit=1)[0].rpartition("/")[2] if run.strip() else ""
    shell = bool(NEEDS_SHELL.search(MACROS.sub("", run.replace("$PROGRAM", "").replace("$FOLDER", ""))))
    return Layer(
        key=key,
        description=str(options.get("description") or f"The backend {name or path.stem} of SHARP, from {path.name}."),
        kind="metric" if metrics or options.get("profiling") or not run else "launcher",
        run="" if run.strip() in ("$CMD $ARGS", "$CMD") else run,
        shell=shell,
        parameters={key: value for key, value in parameters(options).items() if re.search(rf"\${key.upper()}\b", run)},
        needs=(first,) if shell and re.fullmatch(r"[a-z][a-z0-9._-]*", first) and not NEEDS_SHELL.search(first) else (),
        asks=asked(options),
        heavy=first in SLOWING,
        here=first not in ELSEWHERE and "$HOST" not in run,
        columns=tuple(columns(documents, key, metrics)),
    )


def asked(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the command that must succeed before the backend can be used, with what SHARP says where it does not."""
    check = " ".join(str(options.get("check") or "").split())
    message = " ".join(str(options.get("check_message") or "").split()).rstrip(".")
    return {shlex.join(["/bin/sh", "-c", check]): message or "see what it asks for"} if check else {}


def started(documents: Sequence[YamlDocument], name: str, options: Mapping[str, Any]) -> str:
    """Return the command that starts the program, or the function named like it; empty where there is none."""
    which = "command_template" if options.get("command_template") else "run"
    run = macros(str(options.get(which) or ""))
    if run and not STARTS.search(run):
        place = ("backend_options", name, which)
        what = "does not start the program, so this command would be measured instead; put $CMD $ARGS where it goes"
        raise VgoError(last_holding(documents, place).sentence(Problem(place, what)))
    return run


def columns(documents: Sequence[YamlDocument], key: str, metrics: Mapping[str, Any]) -> Iterator[Column]:
    """Describe the metrics; raise VgoError for one that has no filter, and for two that become one column."""
    seen: dict[str, str] = {}
    for name, metric in metrics.items():
        place = ("metrics", name)
        document = last_holding(documents, place)
        if not metric or not metric.get("extract"):
            what = "has no `extract`; add the shell filter that prints its value"
            raise VgoError(document.sentence(Problem(place, what)))
        made = column(document.path, key, name, metric)
        if made.name in seen:
            what = f"becomes the same column as {seen[made.name]} ({made.name}); rename one"
            raise VgoError(document.sentence(Problem(place, what)))
        seen[made.name] = name
        yield made


def with_includes(document: YamlDocument, above: tuple[Path, ...]) -> list[YamlDocument]:
    """Return the files that a file includes, itself last; raise VgoError for one that includes itself or is unsound."""
    if not isinstance(document.content, dict):
        raise VgoError(f"{document.path} holds no keys: write `metrics` or `backend_options` into it.")
    refuse_unsound(document)
    found = []
    for file in includes(document):
        if file.resolve() in above:
            what = f"includes itself through {file}; take one of the two includes out"
            raise VgoError(document.sentence(Problem(("include",), what)))
        found += with_includes(read_document(file), (*above, document.path.resolve()))
    return [*found, document]


def includes(document: YamlDocument) -> list[Path]:
    """Find the files that a file includes: beside it, or below the folder above it, as SHARP's own are."""
    named = document.content.get("include") or []
    found = []
    for name in [named] if isinstance(named, str) else named:
        places = [document.path.parent / str(name), document.path.parent.parent / str(name)]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            what = f"includes {name}, which is not there; put it beside the file, or correct `include`"
            raise VgoError(document.sentence(Problem(("include",), what)))
        found.append(file)
    return found


def files_of(path: Path) -> list[Path]:
    """List a layer file and all that it includes: what a user trusts when trusting it."""
    document = read_document(path)
    return [one.path for one in with_includes(document, ())][::-1] if is_sharp(document.content) else [path]


def chosen(path: Path, backends: Mapping[str, Any], backend: str) -> tuple[str, Mapping[str, Any]]:
    """Choose the backend that is asked for, the only one, or the one named like the file."""
    name = backend or (next(iter(backends)) if len(backends) == 1 else path.stem)
    if name in backends:
        return name, backends[name] or {}
    if not backends and not backend:
        return "", {}
    raise VgoError(f"{path} holds the backends {', '.join(backends) or 'none'}: choose one with {path}:backend=NAME.")


def macros(text: str) -> str:
    """Write SHARP's macros as ours; names that only ours have stay the shell's own."""
    text = _OURS.sub(r"${\1}", text)
    text = re.sub(r"\$(FN|TASK)\b", "$PROGRAM", text)
    text = re.sub(r"\$MPIFLAGS\b", "$OPTIONS", text)
    return in_own_folder(text)


def in_own_folder(text: str) -> str:
    """Put the folder of this run, with a slash behind it, where SHARP puts one that it makes below `tmp_path`.

    Never `tmp_path` itself: SHARP's own files end with `rm -rf $TMP_PATH`.
    """
    return re.sub(r"\$TMP_PATH\b/?", "$FOLDER/", text)


def parameters(options: Mapping[str, Any]) -> dict[str, str | float | bool]:
    """Give the macros that a backend's options fill in, under their names here."""
    hosts = options.get("hosts") or ["localhost"]
    hosts = [host.strip() for host in hosts.split(",")] if isinstance(hosts, str) else [str(host) for host in hosts]
    numbered = {f"host{index}": host for index, host in enumerate(hosts)}
    flags = options.get("mpiflags") or ""
    return {
        "host": hosts[0],
        **numbered,
        "options": flags if isinstance(flags, str) else " ".join(map(str, flags)),
        "mpl": "1",
    }


def column(path: Path, key: str, name: str, metric: Mapping[str, Any]) -> Column:
    """Describe one metric; the metric `auto` prints names and values, which become columns below the layer's name."""
    unit = UNITS.get(str(metric.get("units", "")).lower(), str(metric.get("units") or "count"))
    text = metric.get("type") == "string"
    grows = unit in TIMES or name in GROWING
    return Column(
        name=f"{key}.*" if name == "auto" else _UNFIT.sub("_", name).lstrip("_.-0123456789") or "metric",
        description=str(metric.get("description") or name),
        unit=unit,
        role="setting" if text else "consequence" if grows else "factor",
        type="text" if text else "number",
        lower_is_better=bool(metric.get("lower_is_better", True)),
        source=f"{path.name} metrics.{name}",
        extract=Extract(
            shell=in_own_folder(str(metric["extract"])),
            text="both",
            # Several words are several ranks or copies; a run is one row here.
            take="last" if text else "mean",
        ),
    )


def deep_update(old: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Merge mappings key by key; anything else replaces."""
    for key, value in new.items():
        if isinstance(value, Mapping) and isinstance(old.get(key), dict):
            deep_update(old[key], value)
        else:
            old[key] = dict(value) if isinstance(value, Mapping) else value
