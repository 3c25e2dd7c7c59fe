"""What is said back: Markdown, and what its references open."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..run_folder import TALK, RunFolder


@dataclass(frozen=True)
class ChatReply:
    """One answer in the conversation."""

    text: str
    """Markdown; a link `source:TAG` opens a reference."""
    sources: Sequence[Mapping[str, Any]] = ()
    """`tag`, `about`, `calls`, `events`, `sources` of each reference."""
    next: Sequence[str] = ()
    """Commands that may come next."""
    opens: str = ""
    """A screen that is to open: `budget`, `report`, `runs`, `files`, `recorded`, `quit`, ...; empty: none."""
    about: Sequence[str] = ()
    """What that screen is about: paths, or a text to copy."""
    failed: bool = False
    """It says why something was not done."""
    brief: str = ""
    """What stands in the chat where the screen that opens shows the rest."""


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
