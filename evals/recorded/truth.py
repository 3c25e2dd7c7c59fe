"""The truth about a case, which no contestant may read before it has answered."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import yaml

from ...knowledge.errors import VgoError
from ...knowledge.files import duplicate_keys, read_model
from ...knowledge.loader import Knowledge
from ...knowledge.loader import load as load_knowledge
from .folders import TRUTH
from .manifest import sealing
from .schema import Recording, Truth

FACTORS = ("causes", "also_true")
MITIGATIONS = ("accepted", "must_not_help")
REFUSED, NOT_IN_FORCE = "refused: ", "not in force: "
MENDED = "remedy confirmed"
_KEYS = "list keys, for example [{}], or [] where there is none."
FIELDS: dict[str, tuple[type, str]] = {
    "verdicts": (list, "list at least one that is right, for example [remedy confirmed]."),
    "causes": (list, _KEYS.format("page_faults")),
    "also_true": (list, _KEYS.format("context_switches")),
    "accepted": (list, _KEYS.format("pin_to_cpu")),
    "must_not_help": (list, _KEYS.format("pin_to_cpu")),
    "unproved": (
        dict,
        "write `KEY: REASON` for each, for example {thp_always: it needs root}, or {} where there is none.",
    ),
    "control": (bool, "write true or false."),
    "why": (str, "write in a sentence how you know what is right."),
    "history": (list, "list sentences, each with its date, or [] where there is none."),
}
"""Of what kind each is, and what to write where it is not."""


def read_truth(folder: Path) -> Truth:
    """Read `truth.yaml`; raise VgoError where it is missing or broken, names what is not known, or denies itself."""
    path = folder / TRUTH
    if not path.exists():
        raise VgoError(f"{path} is missing: write what is right there, then `{sealing(folder)}`.")
    try:
        truth = read_model(path, Truth)
    except VgoError as error:
        raise VgoError(_what_to_write(path) or str(error)) from error
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
    failing = (check for check in checks if not check.passed)
    return next((f"{NOT_IN_FORCE}{check.what} is {check.seen}, expected {check.expected}" for check in failing), "")


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


def _what_to_write(path: Path) -> str:
    """Say what to write where a field is empty or of another kind; empty where something else is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        said = yaml.load(text, Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    for field, (kind, cure) in FIELDS.items() if isinstance(said, dict) else ():
        if field in said and (not isinstance(said[field], kind) or (field == "verdicts" and not said[field])):
            line = next((n for n, words in enumerate(text.splitlines(), 1) if words.startswith(f"{field}:")), 1)
            return f"{path}, line {line}: {field}: {cure}"
    return ""


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
    return f"did you mean {close[0]}?" if close else "`vgo-agent search` finds them."


@cache
def _known() -> Knowledge:
    return load_knowledge()
