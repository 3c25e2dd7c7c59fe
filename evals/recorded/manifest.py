"""MANIFEST.sha256: the hash of every file of a case, in the form that `sha256sum -c MANIFEST.sha256` reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.run_table import LAYERS
from .folders import CASE, MANIFEST, RECORDING, TABLE, TRUTH, out

FILES = (CASE, LAYERS, RECORDING, TABLE, TRUTH)
"""All that a case consists of, beside the manifest."""
BY_HAND = (CASE, TRUTH)
"""Those that a person may change after the recording."""
CHECKED = sorted(FILES, key=BY_HAND.__contains__)
"""First those that no sealing mends."""
_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def seal(folder: Path) -> None:
    """Write the hashes of all files as they are now."""
    lines = [f"{_digest(folder / name)}  {name}\n" for name in FILES]
    (folder / MANIFEST).write_text("".join(lines), encoding="ascii")


def reseal(folder: Path) -> None:
    """Write the hashes again after `case.yaml` or `truth.yaml` was changed by hand; what was recorded may not be."""
    if not folder.is_dir():
        raise VgoError(f"{folder} is no case: name one of those in {folder.parent}.")
    refuse_unsealed(folder, set(FILES) - set(BY_HAND))
    seal(folder)


def sealing(folder: Path) -> str:
    """Say by which command a case is sealed."""
    return f"vgo-agent eval record --seal {folder.name}{out(folder)}"


def refuse_unsealed(folder: Path, names: Collection[str] = FILES) -> None:
    """Raise VgoError for the first file that is missing, or of these that is not among the hashes or has another one.

    What is missing is named before any hash: sealing would not help as long as it is.
    """
    for path in (folder / name for name in CHECKED):
        if not path.exists():
            raise VgoError(f"{path} is missing: {_cure(path, 'write it, then ')}.")
    listed = hashes(folder)
    for path in (folder / name for name in CHECKED if name in names):
        if path.name not in listed:
            raise VgoError(f"{path} does not stand in {MANIFEST}: {_cure(path)}.")
        if _digest(path) != listed[path.name]:
            raise VgoError(f"{path} does not have the hash that {MANIFEST} says: {_cure(path)}.")


def hashes(folder: Path) -> dict[str, str]:
    """Read the manifest: the SHA-256 of each file by its name."""
    path = folder / MANIFEST
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError as error:
        raise VgoError(f"{path} is missing: restore it, or record the case again.") from error
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise VgoError(f"{path} cannot be read ({said}): restore it, or record the case again.") from error
    found = [_LINE.fullmatch(line) for line in lines]
    broken = next((number for number, match in enumerate(found, 1) if match is None), None)
    if broken is not None:
        raise VgoError(f"{path}, line {broken}: not a line of sha256sum: restore it, or record the case again.")
    return {match[2]: match[1] for match in found if match}


def _cure(path: Path, before: str = "") -> str:
    if path.name not in BY_HAND:
        return "restore it, or record the case again"
    return f"{before}seal it with `{sealing(path.parent)}`"


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}): restore it, or record the case again.") from error
