"""Put back what a dead agent left: settings from the journal, folders, control groups. Safe to repeat."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from ...layers.probes.cgroup_leaf import remove_leaves
from .journal import Entry, Journal, journal_folder, put_back
from .owned_folder import stale_folders, temporary_place
from .owner import boot_id
from .working_copy import SHARED_MEMORY


def restore(
    *,
    force: bool = False,
    folder: Path | None = None,
    shared_memory: Path = SHARED_MEMORY,
    temporary: Path | None = None,
) -> list[str]:
    """Put back what was left behind and say what was done; with `force` also the settings of a living agent."""
    journal = Journal(folder or journal_folder())
    told = _removed(shared_memory, "the working copy")
    told += _removed(temporary or temporary_place(), "the temporary folder")
    told += [f"{leaf}: removed, the control group of an agent that died" for leaf in remove_leaves()]
    if not any(force or entry.left_behind for entry in journal.entries()):
        return told
    # A living agent holds the lock: who forces means to override it.
    with contextlib.nullcontext() if force else journal.locked():
        return told + restore_entries(journal, force=force)


def restore_entries(journal: Journal, *, force: bool = False) -> list[str]:
    """Go through the entries; the caller holds the lock."""
    journal.remove_drafts()
    entries = [entry for entry in journal.entries() if force or entry.left_behind]
    return [said for entry in entries for said in _restore(journal, entry)]


def _restore(journal: Journal, entry: Entry) -> list[str]:
    if entry.boot_id != boot_id():
        told = [f"{entry.mitigation}: forgotten, because its settings ended with the boot that they were made in"]
    else:
        told = [returned.said for returned in put_back(entry)]
    journal.remove(entry)
    return told


def _removed(place: Path, what: str) -> list[str]:
    told = []
    for left in stale_folders(place):
        with contextlib.suppress(FileNotFoundError):  # another agent may be at it, too
            shutil.rmtree(left)
        told.append(f"{left}: removed, {what} of an agent that died")
    return told
