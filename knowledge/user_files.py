"""Files that a user names: only regular ones are read, and what is nested beyond reason is broken, not a crash."""

from __future__ import annotations

import contextlib
import json
import stat
from pathlib import Path
from typing import Any

import yaml

from .errors import VgoError

TOO_DEEP, DEEPEST = "it is nested too deeply", 500
"""Levels; the YAML reader in C has one of its own calls a level, and no limit but its stack."""


def regular(path: Path) -> Path:
    """Refuse a pipe or a device, which would be waited for, or be empty at the second look; a missing file passes."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise VgoError(f"{path} is a pipe or a device, and not a file: save what it gives, as in `cat {path} > FILE`.")
    return path


def parsed_json(text: str | bytes) -> Any:
    """Parse JSON; raises ValueError, also where it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, "", 0) from None


def parsed_yaml(text: str) -> Any:
    """Parse YAML; raises yaml.YAMLError, also where it is nested too deeply, or a date or a number cannot be."""
    if _depth_at_most(text) > DEEPEST and _depth(text) > DEEPEST:
        raise yaml.YAMLError(TOO_DEEP)
    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except RecursionError:
        raise yaml.YAMLError(TOO_DEEP) from None
    except ValueError as error:  # 2026-13-45, or more digits than Python reads
        raise yaml.YAMLError(f"a date or a number in it cannot be read: {error}") from None


def _depth_at_most(text: str) -> int:
    """Bound the levels without parsing: what opens in a line, and what a line is indented by."""
    indented = (len(line) - len(line.lstrip(" -?:")) for line in text.splitlines())
    return text.count("[") + text.count("{") + max(indented, default=0)


def _depth(text: str) -> int:
    """Count the levels, by events; up to the place where it is no YAML."""
    now = deepest = 0
    with contextlib.suppress(yaml.YAMLError):
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            now += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            deepest = max(deepest, now)
    return deepest
