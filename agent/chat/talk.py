"""What was said beside the events, kept in the run folder so that it is there when the app comes back."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..run_folder import RunFolder
from .reply import ChatReply

TALK = "talk.jsonl"
MOST = 500
"""Exchanges that are read back."""


@dataclass(frozen=True)
class Exchange:
    """A line of the user and what was said back."""

    line: str
    reply: ChatReply
    after: int
    """Events that the run had then."""


def keep(folder: RunFolder, exchange: Exchange) -> None:
    """Append it; a full disk loses talk, and no run."""
    with contextlib.suppress(OSError), (folder.path / TALK).open("a") as file:
        file.write(json.dumps(asdict(exchange)) + "\n")


def kept(folder: RunFolder) -> Sequence[Exchange]:
    """Read it back; lines that are broken are left out."""
    try:
        lines = (folder.path / TALK).read_text(errors="replace").splitlines()[-MOST:]
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            values = json.loads(line)
            found.append(Exchange(values["line"], ChatReply(**values["reply"]), int(values["after"])))
    return found
