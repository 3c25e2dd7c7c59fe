"""What a planner may say, as one digest; apart from what conducts a diagnosis, which draws pictures too."""

from __future__ import annotations

import hashlib

from ..tools.registry import TOOLS
from .transcript import canonical


def schemas_digest() -> str:
    """Hash every tool's argument schema."""
    schemas = {name: tool.arguments.model_json_schema() for name, tool in TOOLS.items()}
    return hashlib.sha256(canonical(schemas)).hexdigest()
