"""The truth about a case, which no contestant may read before it has answered; and the seal of its files.

MANIFEST.sha256 has the hash of every file of a case, in the form that `sha256sum -c MANIFEST.sha256` reads.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from shlex import quote

from ...knowledge.errors import VgoError
from ...knowledge.files import duplicate_keys, read_model
from ...knowledge.loader import Knowledge
from ...knowledge.loader import load as load_knowledge
from ...tools.run_table import LAYERS
from .folders import CASE, CASES, MANIFEST, RECORDING, TABLE, TRUTH
from .schema import Recording, Truth

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
    come_along = folder.resolve().parent == CASES.resolve()
    return f"vgo-agent eval record --seal {folder.name}{'' if come_along else f' --out {quote(str(folder.parent))}'}"


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


FACTORS = ("causes", "also_true")
MITIGATIONS = ("accepted", "must_not_help")
REFUSED = "refused: "
MENDED = "remedy confirmed"


def read_truth(folder: Path) -> Truth:
    """Read `truth.yaml`; raise VgoError where it is missing or broken, names what is not known, or denies itself."""
    path = folder / TRUTH
    if not path.exists():
        raise VgoError(f"{path} is missing: write what is right there, then `{sealing(folder)}`.")
    truth = read_model(path, Truth)
    if twice := duplicate_keys(path):
        raise VgoError(f"{path}: the key {twice[0]} stands twice. Keep one.")
    _refuse_unknown(path, truth)
    if denied := next(_denied(truth), ""):
        raise VgoError(f"{path}: {denied}")
    return truth


def why_not(recording: Recording, mitigation: str) -> str:
    """Say why there are no pairs of a mitigation; empty where the recording does not tell."""
    if mitigation in recording.refused:
        return f"{REFUSED}{recording.refused[mitigation]}"
    checks = recording.trials[mitigation].checks if mitigation in recording.trials else ()
    return next((check.failure for check in checks if not check.passed), "")


def _denied(truth: Truth) -> Iterator[str]:
    if both := sorted(set(truth.accepted) & set(truth.must_not_help)):
        yield f"{both[0]} is accepted and must not help. Leave one of them out."
    if truth.control and (truth.causes or truth.accepted):
        yield "a control has neither causes nor accepted mitigations. Empty them, or say control: false."
    if truth.control and MENDED in truth.verdicts:
        yield f"a control cannot have {MENDED}. Leave that verdict out, or say control: false."
    if truth.accepted and MENDED not in truth.verdicts:
        yield f"{truth.accepted[0]} is accepted, but {MENDED} is no right verdict. Add it, or empty accepted."
    if truth.verdicts == (MENDED,) and not truth.accepted:
        yield f"only {MENDED} is right, but nothing is accepted. Name what may be claimed, or another verdict."


def _refuse_unknown(path: Path, truth: Truth) -> None:
    known = _known()
    for fields, kind, keys in ((FACTORS, "factor", known.factors), (MITIGATIONS, "mitigation", known.mitigations)):
        for field in fields:
            for key in getattr(truth, field):
                if key not in keys:
                    raise VgoError(f"{path}: {field}: there is no {kind} {key}; {nearest(key, keys)}")


def nearest(key: str, keys: Collection[str]) -> str:
    """Say what may have been meant."""
    close = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else "`vgo-agent explain` finds them."


@cache
def _known() -> Knowledge:
    return load_knowledge()
