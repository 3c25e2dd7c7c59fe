"""What is known, read once a process: a host is asked many times a minute."""

from __future__ import annotations

import functools

from ..knowledge.loader import Knowledge, load


@functools.cache
def shipped() -> Knowledge:
    """All factors and mitigations that ship."""
    return load()
