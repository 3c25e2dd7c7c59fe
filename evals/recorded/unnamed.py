"""A recording without the name of its program: an argument such as `page-faults` would say what is to be found out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from ...tools.subject import Subject
from .schema import Recording

PROGRAM, DIRECTORY = "./program", "/job"


def unnamed(recording: Recording) -> Recording:
    """Give it with a program without name and arguments, and files that are only counted.

    What preconditions ask of the program (is it Python, is it dynamic) stands in `machine` since it was recorded; only
    the hash of its file, by which it could be found, is left out.
    """
    words = _words(recording.subject)
    told = _replaced(recording.model_dump(mode="json"), dict(sorted(words.items(), key=lambda one: -len(one[0]))))
    told["machine"]["program_sha256"] = ""
    told["subject"] |= {
        "command": [PROGRAM],
        "argv": [PROGRAM],
        "shell": False,
        "directory": DIRECTORY,
        "inputs": [words[path] for path in recording.subject.inputs],
    }
    return Recording.model_validate(told)


def _words(subject: Subject) -> dict[str, str]:
    """What stands for each path, and for the name of each input."""
    paths = [word for word in (*subject.command, *subject.argv) if "/" in word]
    words = dict.fromkeys(paths, PROGRAM) | {subject.directory: DIRECTORY}
    for number, path in enumerate(subject.inputs, 1):
        words |= {PurePath(path).name: f"input-{number}", path: f"{DIRECTORY}/input-{number}"}
    return {word: other for word, other in words.items() if word not in (os.sep, os.curdir)}


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    """Replace words in every string; keys are left alone."""
    if isinstance(value, Mapping):
        return {key: _replaced(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, words) for each in value]
    if isinstance(value, str):
        for word, other in words.items():
            value = value.replace(word, other)
    return value
