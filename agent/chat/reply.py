"""What is said back: Markdown, and what its references open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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
