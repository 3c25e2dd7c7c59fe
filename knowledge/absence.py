"""Fields that say nothing: one that came later is then not written, so that older records keep their bytes."""

from __future__ import annotations


def is_none(value: object) -> bool:
    """Tell whether there is no value; 0 is one."""
    return value is None


def is_empty(value: object) -> bool:
    """Tell whether it is an empty text or tuple, or False."""
    return not value
