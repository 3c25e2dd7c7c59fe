"""Files that outlast a loss of power: what has been written is on the disk, whole, or is not there."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, content: bytes, draft: Path | None = None) -> None:
    """Write a file whole or not at all, by way of a draft beside it; raises OSError, and leaves no draft then."""
    draft = draft or path.with_name(f"{path.name}.tmp")
    try:
        draft.write_bytes(content)
        sync(draft)
        draft.replace(path)
        sync(path.parent)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """See a file, or the names in a folder, through to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
