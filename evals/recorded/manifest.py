"""MANIFEST.sha256: the hash of every file of a case, in the form that `sha256sum -c MANIFEST.sha256` reads."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ...knowledge.errors import VgoError
from ...tools.run_table import LAYERS
from .schema import CASE, MANIFEST, RECORDING, TABLE, TRUTH

FILES = (CASE, LAYERS, RECORDING, TABLE, TRUTH)
"""All that a case consists of, beside the manifest."""
BY_HAND = (CASE, TRUTH)
"""Those that a person may change after the recording."""
_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def seal(folder: Path) -> None:
    """Write the hashes of all files as they are now."""
    lines = [f"{_digest(folder / name)}  {name}\n" for name in FILES]
    (folder / MANIFEST).write_text("".join(lines), encoding="ascii")


def reseal(folder: Path) -> None:
    """Write the hashes again after `case.yaml` or `truth.yaml` was changed by hand; what was recorded may not be."""
    if not folder.is_dir():
        raise VgoError(f"{folder} is no case: name one of those in {folder.parent}.")
    for name in set(FILES) - set(BY_HAND):
        _refuse_changed(folder / name, hashes(folder).get(name))
    seal(folder)


def refuse_unsealed(folder: Path) -> None:
    """Raise VgoError for the first file that is missing, is not among the hashes, or has another one."""
    listed = hashes(folder)
    for name in FILES:
        _refuse_changed(folder / name, listed.get(name))


def hashes(folder: Path) -> dict[str, str]:
    """Read the manifest: the SHA-256 of each file by its name."""
    path = folder / MANIFEST
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise VgoError(f"{path} cannot be read ({error}): restore it, or record the case again.") from error
    found = [_LINE.fullmatch(line) for line in lines]
    broken = next((number for number, match in enumerate(found, 1) if match is None), None)
    if broken is not None:
        raise VgoError(f"{path}, line {broken}: not a line of sha256sum: restore it, or record the case again.")
    return {match[2]: match[1] for match in found if match}


def _refuse_changed(path: Path, expected: str | None) -> None:
    cure = f"seal it with `vgo-agent eval record --seal {path.parent.name}`"
    if path.name not in BY_HAND:
        cure = "restore it, or record the case again"
    if not path.exists():
        raise VgoError(f"{path} is missing: {cure if path.name not in BY_HAND else f'write it, then {cure}'}.")
    if expected is None:
        raise VgoError(f"{path} does not stand in {MANIFEST}: {cure}.")
    if _digest(path) != expected:
        raise VgoError(f"{path} does not have the hash that {MANIFEST} says: {cure}.")


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}): restore it, or record the case again.") from error
