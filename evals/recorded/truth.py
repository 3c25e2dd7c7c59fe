"""The truth about a case, which no contestant may read before it has answered."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from ...knowledge.errors import VgoError
from ...knowledge.files import duplicate_keys, read_model
from ...knowledge.loader import Knowledge
from ...knowledge.loader import load as load_knowledge
from .folders import TRUTH
from .manifest import sealing
from .schema import Recording, Truth

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
