"""What came of what is no diagnosis, told to whatever is asked: its sentences, and the commands that read it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...knowledge.errors import VgoError
from ..report.sweep import best_words
from ..run_folder import ANSWER, serves
from ..terminal import WIDTH


@dataclass(frozen=True)
class ExperimentAnswer:
    """What is said to one question."""

    question: str
    sentences: tuple[str, ...]
    reference: str
    """File that they stand in."""
    serves: str
    """Commands that read the folder."""
    known: bool = True

    def values(self) -> dict[str, Any]:
        """Give it as one object for programs."""
        spoken = [{"text": text, "references": [self.reference]} for text in self.sentences]
        return {"question": self.question, "known": self.known, "answer": " ".join(self.sentences), "sentences": spoken}

    def text(self) -> str:
        """Give the words for a terminal."""
        told = (
            *(f"- {text}" for text in self.sentences),
            "",
            f"Rests on: {self.reference}",
            f"To go on: {self.serves}.",
        )
        return "\n".join(
            textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
            for line in told
        )


def experiment_answer(folder: Path, question: str) -> ExperimentAnswer:
    """Read the answer in a folder; VgoError where it has none yet."""
    path = folder / ANSWER
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
        said = tuple(dict.fromkeys(filter(None, _sentences(answer))))
    except FileNotFoundError as error:
        raise VgoError(f"{folder} has no answer yet: {serves(folder)}.") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise VgoError(f"{path} is unreadable or damaged: {serves(folder)}.") from error
    return ExperimentAnswer(question, said, str(path), serves(folder))


def _sentences(answer: Mapping[str, Any]) -> Iterator[str]:
    yield answer.get("verdict") or f"{answer['headline'][:1].upper()}{answer['headline'][1:].rstrip('.')}."
    yield from answer.get("notes", ())
    yield from best_words(answer.get("best", {}), answer.get("unit", ""))
