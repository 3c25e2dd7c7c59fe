"""What a mitigation does, as a digest: pairs that were recorded with another one say nothing of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ...knowledge.schema import Mitigation

DOES: dict[str, Any] = {
    "apply": True,
    "verify": True,
    "interleavable": True,
    "parameters": {"__all__": {"name", "default"}},
}
"""What is done and proved with the default values; words for a reader may change."""


def definition(mitigation: Mitigation) -> str:
    """Give the SHA-256 of what it does; fields that say nothing do not count, so that new ones change no digest."""
    does = mitigation.model_dump(mode="json", include=DOES, exclude_defaults=True)
    return hashlib.sha256(json.dumps(does, sort_keys=True).encode()).hexdigest()
