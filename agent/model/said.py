"""What a transcript keeps of one question to a model; apart from the planners, since reading it needs none."""

from __future__ import annotations

from ...knowledge.shape import Frozen


class Said(Frozen):
    """What a language model was asked and wrote for one decision; without times, so that a replay gives it again."""

    prompt: str
    """SHA-256 of the text before the answer."""
    text: str = ""
    """What it wrote; empty where it did not come to that."""
    ended: str = ""
    """`stop`, or `length` where it was cut off; empty where it wrote nothing."""
    thought: str = ""
    """What it wrote before, freely, where it was let."""
    prompt_tokens: int = 0
    tokens: int = 0
    passed_over: str = ""
    """Why its answer was not taken, and the rule policy decided; empty: it was."""
