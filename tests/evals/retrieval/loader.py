"""Read the questions of one half; what is wrong in them is said with file, line and cure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, get_args

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from vgo_agent.knowledge import loader as knowledge
from vgo_agent.knowledge.errors import VgoError

from .question import RetrievalQuestion

Half = Literal["tuned", "held_out"]
"""The search may be tuned to `tuned`, and never to `held_out`."""

HERE = Path(__file__).parent / "questions"
SHAPE = TypeAdapter(Annotated[list[RetrievalQuestion], Field(min_length=1)])
CURES = {
    "extra_forbidden": f"Known are: {', '.join(RetrievalQuestion.model_fields)}.",
    "missing": "Add it.",
    "string_pattern_mismatch": "Write factor:KEY, mitigation:KEY or note:STEM.",
    "too_long": "Keep the best five.",
    "too_short": "Name at least one entry.",
}
"""By the type of pydantic's error."""


def load_questions(half: Half, folder: Path = HERE) -> tuple[RetrievalQuestion, ...]:
    """Give the questions in the order of the file; the first thing that is wrong raises VgoError."""
    if half not in get_args(Half):
        raise VgoError(f"There is no half {half!r} of the questions; choose one of {', '.join(get_args(Half))}.")
    path = folder / f"{half}.yaml"
    text = _read(path)
    try:
        questions = SHAPE.validate_python(_parse(path, text))
    except ValidationError as error:
        raise VgoError(_explain(path, text, error)) from error
    for index, problem in (*_repeated_keys(text), *_problems(questions)):
        raise VgoError(f"{path}, line {_line(text, index)}: question {questions[index].number}: {problem}")
    return tuple(questions)


def identities() -> frozenset[str]:
    """List all that a question may name."""
    known = knowledge.load()
    factors = {f"factor:{key}" for key in known.factors}
    mitigations = {f"mitigation:{key}" for key in known.mitigations}
    return frozenset(factors | mitigations | {f"note:{path.stem}" for path in knowledge.notes()})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise VgoError(f"{path}: cannot be read as UTF-8 text ({error}). Restore the file.") from error


def _parse(path: Path, text: str) -> object:
    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise VgoError(f"{path}, line {line}: not YAML ({error.problem}). Correct that line.") from error
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())
        raise VgoError(f"{path}: not YAML ({what}). Remove the character that it names.") from error


def _explain(path: Path, text: str, error: ValidationError) -> str:
    # A misspelt key is both unknown and missing: only the first names what to mend.
    first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    place, cure = first["loc"], CURES.get(first["type"], "Correct that value.")
    if not place:
        return f"{path}: is not a list of questions. Begin each with `- number:`."
    what = {"extra_forbidden": "is not a known key", "missing": "is missing"}.get(first["type"], first["msg"])
    where = ".".join(str(part) for part in place[1:]) or "the entry"
    return f"{path}, line {_line(text, int(place[0]))}: {where}: {what}. {cure}"


def _line(text: str, index: int) -> int:
    """Find the line on which that entry of the list begins; lines count from 1."""
    return _nodes(text)[index].start_mark.line + 1


def _nodes(text: str) -> list[yaml.Node]:
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    return root.value if isinstance(root, yaml.SequenceNode) else []


def _repeated_keys(text: str) -> Iterator[tuple[int, str]]:
    """Find keys that stand twice in an entry: YAML keeps the last and says nothing."""
    for index, entry in enumerate(_nodes(text)):
        keys = [key.value for key, _ in entry.value]
        yield from (
            (index, f"the key {key} stands twice. Keep one.") for key in sorted(set(keys)) if keys.count(key) > 1
        )


def _problems(questions: Sequence[RetrievalQuestion]) -> Iterator[tuple[int, str]]:
    """Find what is wrong with questions that are each of the right shape."""
    known = identities()
    numbers: set[int] = set()
    texts: set[str] = set()
    for index, question in enumerate(questions):
        plain = " ".join(question.text.casefold().split())
        if question.number in numbers:
            yield index, "its number stands twice. Give it the next free one."
        if plain in texts:
            yield index, "its text stands twice. Remove one."
        if len(set(question.right)) < len(question.right):
            yield index, "right names an entry twice. Keep the first."
        yield from ((index, _unknown(name, known)) for name in question.right if name not in known)
        numbers.add(question.number)
        texts.add(plain)


def _unknown(identity: str, known: frozenset[str]) -> str:
    near = get_close_matches(identity, sorted(known), n=1)
    hint = f"it could be {near[0]}" if near else "keys are the names of the files in knowledge/"
    return f"{identity} is unknown. Correct it; {hint}."
