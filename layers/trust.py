"""Which layer files may run commands: those that ship, and those that the user trusted, as they then were."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_state_path

from ..knowledge.errors import VgoError
from .schema import Layer

SHIPPED = Path(__file__).resolve().parent


def refuse_untrusted(layer: Layer, files: Sequence[Path]) -> None:
    """Raise VgoError, showing each command, unless its files (the layer and what it includes) ship or are trusted."""
    if shipped(files[0]) or not commands(layer) or is_trusted(files):
        return
    shown = "; ".join(commands(layer))
    raise VgoError(
        f"The layer {files[0]} is not trusted to run commands on this machine, and it would run: {shown} - "
        f"read the file, then allow it with `vgo-agent layers --trust {files[0]}`."
    )


def shipped(path: Path) -> bool:
    """Tell whether a file came with vgo-agent."""
    return path.resolve().is_relative_to(SHIPPED)


def commands(layer: Layer) -> list[str]:
    """List what a layer runs or loads: its wrapper, its shell filters, its variables (LD_PRELOAD loads code too).

    A built-in probe may load what its parameters and columns tell it to: a library, a program for the kernel.
    """
    found = [f"{name}: {words}" for name, words in (("run", layer.run), ("hosts", layer.hosts)) if words]
    found += [f"asks: {words}" for words in layer.asks]
    told = [f"{name}={value}" for name, value in layer.parameters.items()]
    told += [column.read for column in layer.columns if column.read]
    found += [f"probe: {layer.probe} with {', '.join(told)}"] if layer.probe and told else []
    found += [f"{name}={value}" for name, value in layer.environment.items()]
    filters = [column.extract.shell for column in layer.columns if column.extract and column.extract.shell]
    return found + [f"shell: {filter_}" for filter_ in dict.fromkeys(filters)]


def is_trusted(files: Sequence[Path]) -> bool:
    """Tell whether the files are, byte for byte, those that the user trusted."""
    return _trusted().get(str(files[0].resolve())) == digest(files)


def trust(files: Sequence[Path]) -> Path:
    """Trust the files as they are now; return where that is kept."""
    known = _trusted() | {str(files[0].resolve()): digest(files)}
    path = store()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            json.dump(known, file, indent=2)
        os.replace(file.name, path)
    except OSError as error:
        raise VgoError(
            f"{path} cannot be written ({error.strerror}): make it writable or set XDG_STATE_HOME."
        ) from error
    return path


def store() -> Path:
    """Where the SHA-256 of each trusted file is kept."""
    return user_state_path("vgo-agent") / "trusted-layers.json"


def digest(files: Sequence[Path]) -> str:
    """Hash the content of all files, in order."""
    total = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        total.update(len(content).to_bytes(8, "big") + content)  # lengths keep neighbouring files apart
    return total.hexdigest()


def _trusted() -> dict[str, str]:
    try:
        known = json.loads(store().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise VgoError(f"{store()} cannot be read ({error}): delete it and trust your layers again.") from error
    return {str(path): str(hash_) for path, hash_ in known.items()} if isinstance(known, dict) else {}
