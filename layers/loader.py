"""Find the layers, metric ones and launchers, by what a user writes; open their probes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from ..knowledge.bm25 import did_you_mean, near_names
from ..knowledge.errors import VgoError
from ..knowledge.files import Problem, read_document
from ..knowledge.shape import overlap
from .probes.base import Parts, Probe
from .probes.bpf import BpfProbe
from .probes.cgroup import open_cgroup
from .probes.devices import BlockProbe, NetworkProbe
from .probes.frequency import FrequencyProbe
from .probes.gpu import GpuProbe
from .probes.interference import InterferenceProbe
from .probes.ledger import LedgerProbe
from .probes.memory import open_memory, open_numa
from .probes.mpi import MpiProbe
from .probes.nsys import NsysProbe
from .probes.osnoise import OsnoiseProbe
from .probes.perf_events import open_perf
from .probes.process import ThreadsProbe, open_process
from .probes.taskstats import Delays
from .probes.thermal import ThermalProbe
from .probes.uprobes import open_calls
from .reading import read_all, read_layer, refuse_untrusted, shipped
from .schema import Layer
from .sharp import files_of
from .wrapper import WrapperProbe

FOLDER = Path(__file__).parent
LAUNCHERS = "launchers"
PROBES: dict[str, Callable[[Layer, Path], Probe]] = {
    "process": open_process,
    "perf": open_perf,
    "bpf": BpfProbe,
    "osnoise": OsnoiseProbe,
    "frequency": FrequencyProbe,
    "thermal": ThermalProbe,
    "threads": ThreadsProbe,
    "gpu": GpuProbe,
    "nsys": NsysProbe,
    "interference": InterferenceProbe,
    "block": BlockProbe,
    "network": NetworkProbe,
    "delays": Delays,
    "cgroup": open_cgroup,
    "memory": open_memory,
    "numa": open_numa,
    "mpi": MpiProbe,
    "ledger": LedgerProbe,
    "calls": open_calls,
}
"""The probes that a layer may name; each is opened with its layer and the root below which /proc and /sys lie."""
SPEC = re.compile(r"(?P<where>.*?\.ya?ml|[^:/]*)(?::(?P<given>.*))?", re.DOTALL)
PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


def user_folder() -> Path:
    """Where a user's own layers lie, and in launchers/ below it the launchers."""
    return user_config_path("vgo-agent") / "layers"


def find_layer(spec: str, folder: Path = FOLDER) -> Layer:
    """Read the layer that is meant by `NAME`, `NAME:key=value,...` or a path to a YAML file, which may have the same.

    Raises VgoError for a layer that is not there, broken, not trusted, or not changeable in that way.
    """
    path, layer = read_spec(spec, folder)
    if not belongs(path, folder):
        refuse_untrusted(layer, files_of(path))
    return layer


def read_spec(spec: str, folder: Path = FOLDER) -> tuple[Path, Layer]:
    """Read the layer that is meant, as `find_layer` does but trusted or not: to show it, never to open it."""
    where, given = split(spec)
    path = locate(where, folder)
    layer = read_layer(path, given.pop("backend", ""))
    if not belongs(path, folder):
        if layer.probe and layer.probe not in PROBES:
            what = f"there is no built-in probe {layer.probe}; name one of {', '.join(PROBES)}"
            raise VgoError(read_document(path).sentence(Problem(("probe",), what)))
        layer = beside_others(layer, path, folder)
    return path, with_parameters(layer, given)


def belongs(path: Path, folder: Path) -> bool:
    """Tell whether a file ships, or is one of the folder that stands in for those."""
    return shipped(path) or path.resolve().is_relative_to(folder.resolve())


def load_layers(folder: Path = FOLDER) -> dict[str, Layer]:
    """Read all metric layers of a folder, by key."""
    return {path.stem: read_layer(path) for path in files(folder)}


def load_launchers(folder: Path = FOLDER) -> dict[str, Layer]:
    """Read all launchers of a folder, by key."""
    return load_layers(folder / LAUNCHERS)


def open_probe(layer: Layer, root: Path = Path("/")) -> Probe:
    """Open the probe of a layer on this thread, the one that will spawn: the built-in one, the wrapper, or both.

    Raises VgoError for a built-in probe that does not exist and for a launcher that is not installed.
    """
    wraps = layer.run or layer.environment or any(column.extract for column in layer.columns)
    if not layer.probe:
        return WrapperProbe(layer, root)
    if layer.probe not in PROBES:
        raise VgoError(
            f"The layer {layer.key} names no built-in probe ({layer.probe}): name one of {', '.join(PROBES)}."
        )
    if not wraps:
        return PROBES[layer.probe](layer, root)
    return Parts(layer, [WrapperProbe(layer, root), PROBES[layer.probe](layer, root)])


def check(folder: Path = FOLDER) -> list[str]:
    """Return every problem of the layer files, as sentences."""
    problems: list[str] = []
    layers: dict[Path, Layer] = {}
    for path in [*files(folder), *files(folder / LAUNCHERS)]:
        found = read_all(path)
        if isinstance(found, Layer):
            layers[path] = found
            problems += misplaced(path, found)
        else:
            problems += found
    return problems + list(shared(layers))


def misplaced(path: Path, layer: Layer) -> Iterator[str]:
    """Find what a layer claims that this program does not have."""
    if layer.probe and layer.probe not in PROBES:
        yield f"{path}: probe: names no built-in probe ({layer.probe}); name one of {', '.join(PROBES)}."
    if (layer.kind == "launcher") != (path.parent.name == LAUNCHERS):
        yield f"{path}: kind: is {layer.kind}; launchers lie in {LAUNCHERS}/, and only they."


def shared(layers: Mapping[Path, Layer]) -> Iterator[str]:
    """Find columns that two layers declare, in patterns too: a cell would have two values."""
    seen: list[tuple[Path, str]] = []
    for path, layer in layers.items():
        for other, name, column in ((other, name, column) for column in layer.columns for other, name in seen):
            if overlap(name, column.name):
                yield f"{path}: the column {column.name} is declared in {other.name} too ({name}): keep one."
        seen += [(path, column.name) for column in layer.columns]


def files(folder: Path) -> list[Path]:
    """List the layer files of a folder."""
    return sorted(folder.glob("*.yaml"))


def split(spec: str) -> tuple[str, dict[str, str]]:
    """Take apart a name, or the path of a YAML file, and what is given; VgoError where that is no `key=value` list."""
    match = SPEC.fullmatch(spec)
    if match is None or not match["where"]:
        raise VgoError(
            f"{spec!r} names no layer: write NAME, NAME:key=value, or the path of a file that ends in .yaml."
        )
    given: dict[str, str] = {}
    last = ""
    for part in (match["given"] or "").split(",") if match["given"] else []:
        if pair := PARAMETER.fullmatch(part):
            last = pair[1]
            given[last] = pair[2]
        elif last:  # A comma within a value.
            given[last] += f",{part}"
        else:
            raise VgoError(f"{spec!r} has {part!r} where key=value belongs: write {match['where']}:key=value.")
    return match["where"], given


def locate(where: str, folder: Path) -> Path:
    """Find the file of a layer: a path, or a name that ships or that the user has."""
    if "/" in where or where.endswith((".yaml", ".yml")):
        path = Path(where).expanduser()
        if not path.is_file():
            raise VgoError(f"There is no layer file {where}: check the path.")
        return path
    places = [folder, folder / LAUNCHERS, user_folder(), user_folder() / LAUNCHERS]
    found = [path for place in places if (path := place / f"{where}.yaml").is_file()]
    if len(found) > 1:
        raise VgoError(f"There are two layers {where} ({found[0]} and {found[1]}): rename yours.")
    if not found:
        there = sorted(path.stem for place in places for path in files(place))
        shipped_here = load_layers(folder) | load_launchers(folder)
        texts = {key: f"{key} {layer.description}" for key, layer in shipped_here.items()}
        hint = did_you_mean(near_names(where, there, texts), f"name one of these: {', '.join(there) or 'none'}.")
        raise VgoError(f"There is no layer {where}; {hint}")
    return found[0]


def beside_others(layer: Layer, path: Path, folder: Path) -> Layer:
    """Refuse a column that another layer gives; SHARP's, whose names the user did not choose, get the layer's name."""
    others = {file: read_layer(file) for file in files(folder)}
    clashes = {
        column.name
        for column in layer.columns
        if any(overlap(column.name, other.name) for known in others.values() for other in known.columns)
    }
    if not clashes:
        return layer
    if layer.columns[0].source.startswith(f"{path.name} metrics."):
        renamed = {name: f"{layer.key}.{name}" for name in clashes}
        columns = (one.model_copy(update={"name": renamed.get(one.name, one.name)}) for one in layer.columns)
        return layer.model_copy(update={"columns": tuple(columns)})
    index = next(index for index, column in enumerate(layer.columns) if column.name in clashes)
    what = next(shared({**others, path: layer})).removeprefix(f"{path}: ").rstrip(".")
    raise VgoError(read_document(path).sentence(Problem(("columns", index, "name"), what)))


def with_parameters(layer: Layer, given: Mapping[str, str]) -> Layer:
    """Change the parameters of a layer; raise VgoError for one that it does not have, or of the wrong type."""
    changed: dict[str, Any] = dict(layer.parameters)
    for name, text in given.items():
        if name not in changed:
            known = f"it has {', '.join(changed)}" if changed else "it has none"
            raise VgoError(f"The layer {layer.key} has no parameter {name}: {known}.")
        changed[name] = like(changed[name], text, f"{layer.key}:{name}={text}")
    return layer.model_copy(update={"parameters": changed}) if given else layer


def like(default: str | float | bool, text: str, spec: str) -> str | float | bool:
    """Read a parameter as the type of its default."""
    if isinstance(default, bool):
        if text.lower() in ("true", "yes", "1", "false", "no", "0"):
            return text.lower() in ("true", "yes", "1")
        raise VgoError(f"{spec} is neither true nor false: write one of them.")
    if isinstance(default, float):
        try:
            return float(text)
        except ValueError as error:
            raise VgoError(f"{spec} is no number: write one, such as {default:g}.") from error
    return text
