"""Which model was asked for, and how it is to be asked: written with the request, so that a resume asks the same."""

from __future__ import annotations

from ...knowledge.shape import Frozen


class ModelChoice(Frozen):
    """A model as it was resolved when the diagnosis began."""

    spec: str
    """The path of a GGUF file, the address of a server, or `shipped`."""
    context: int = 0
    """Tokens that fit; 0: as many as the server has."""
    threads: int = 0
    """0: as many as the server takes."""
    decision_timeout_s: float = 60.0
    think: bool = False
    """Let it write freely, within bounds, before it chooses."""
    temperature: float = 0.0
    seed: int = 1
    """Of each call; 0 would be another one each time."""
