"""Read the backend and metric files of HPE SHARP (4.x) as layers: same commands, same filters, same columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..knowledge.errors import VgoError
from .schema import Column, Extract, Layer
from .words import FILES, FURTHER

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
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_OURS = re.compile(rf"\$({'|'.join((*FILES, *FURTHER, 'LINE'))})\b")


def is_sharp(content: Any) -> bool:
    """Tell SHARP's file from one of ours, which has a `key`."""
    return isinstance(content, dict) and "key" not in content and bool({"backend_options", "metrics"} & set(content))


def read_sharp(path: Path, content: Mapping[str, Any], backend: str = "") -> Layer:
    """Make a layer of one backend of a file and of all its metrics; `reset` and `run_sys_spec` are left out."""
    merged = with_includes(path, content, ())
    name, options = chosen(path, _mapping(path, merged, "backend_options"), backend)
    metrics = _mapping(path, merged, "metrics")
    key = re.sub(r"[^a-z0-9]+", "_", (name or path.stem).lower()).strip("_") or "sharp"
    key = key if key[0].isalpha() else f"sharp_{key}"
    own_folder = "tmp_path" not in options
    run = macros(str(options.get("command_template") or options.get("run") or ""), own_folder)
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
        heavy=first in SLOWING,
        here=first not in ELSEWHERE and "$HOST" not in run,
        columns=tuple(column(path, key, name, metric, own_folder) for name, metric in metrics.items()),
    )


def with_includes(path: Path, content: Mapping[str, Any], above: tuple[Path, ...]) -> dict[str, Any]:
    """Merge the files that a file includes, itself last."""
    merged: dict[str, Any] = {}
    for file in includes(path, content):
        if file.resolve() in above:
            raise VgoError(f"{path} includes itself through {file}: take one of the two includes out.")
        deep_update(merged, with_includes(file, _load(file), (*above, path.resolve())))
    deep_update(merged, {key: value for key, value in content.items() if key != "include"})
    return merged


def includes(path: Path, content: Mapping[str, Any]) -> list[Path]:
    """Find the files that a file includes: beside it, or below the folder above it, as SHARP's own are."""
    named = content.get("include") or []
    found = []
    for name in [named] if isinstance(named, str) else named:
        places = [path.parent / str(name), path.parent.parent / str(name)]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            raise VgoError(f"{path} includes {name}, which is not there: put it beside the file, or correct `include`.")
        found.append(file)
    return found


def files_of(path: Path) -> list[Path]:
    """List a layer file and all that it includes: what a user trusts when trusting it."""
    content = _load(path)
    if not is_sharp(content):
        return [path]
    with_includes(path, content, ())  # Refuses a circle.
    return [path, *(below for file in includes(path, content) for below in files_of(file))]


def chosen(path: Path, backends: Mapping[str, Any], backend: str) -> tuple[str, Mapping[str, Any]]:
    """Choose the backend that is asked for, the only one, or the one named like the file."""
    if backend:
        name = backend
    elif len(backends) == 1:
        (name,) = backends
    else:
        name = path.stem
    if name in backends:
        return name, _mapping(path, backends, name)
    if not backends and not backend:
        return "", {}
    raise VgoError(f"{path} holds the backends {', '.join(backends) or 'none'}: choose one with {path}:backend=NAME.")


def macros(text: str, own_folder: bool) -> str:
    """Write SHARP's macros as ours; names that only ours have stay the shell's own."""
    text = _OURS.sub(r"${\1}", text)
    text = re.sub(r"\$(FN|TASK)\b", "$PROGRAM", text)
    text = re.sub(r"\$MPIFLAGS\b", "$OPTIONS", text)
    return re.sub(r"\$TMP_PATH\b", "$FOLDER", text) if own_folder else text


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
        "tmp_path": str(options.get("tmp_path", "")),
    }


def column(path: Path, key: str, name: str, metric: Any, own_folder: bool) -> Column:
    """Describe one metric; the metric `auto` prints names and values, which become columns below the layer's name."""
    if not isinstance(metric, Mapping) or not metric.get("extract"):
        raise VgoError(f"{path}: the metric {name} has no `extract`: add the shell filter that prints its value.")
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
            shell=re.sub(r"\$TMP_PATH\b", "$FOLDER", str(metric["extract"])) if own_folder else str(metric["extract"]),
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


def _mapping(path: Path, content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = content.get(key) or {}
    if not isinstance(value, Mapping):
        raise VgoError(f"{path}: `{key}` is no mapping: write `name: value` lines below it.")
    return value


def _load(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise VgoError(f"{path} cannot be read as YAML ({error}): mend it.") from error
    return content if isinstance(content, dict) else {}
