"""Put back what a dead agent left: settings from the journal, folders, control groups. Safe to repeat."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from ...knowledge.errors import VgoError
from ...layers.probes.cgroup_leaf import remove_leaves
from .guard import TOLD, note
from .journal import Journal, JournalEntry, journal_folder, put_back
from .owned_folder import SHARED_MEMORY, boot_id, stale_folders, temporary_place, this_process
from .run_group import remove_run_groups


def restore(
    *,
    force: bool = False,
    folder: Path | None = None,
    shared_memory: Path = SHARED_MEMORY,
    temporary: Path | None = None,
) -> list[str]:
    """Put back what was left behind and say what was done; with `force` also the settings of a living agent.

    To be called by every command that measures, before it does.
    """
    journal = Journal(folder or journal_folder())
    told = _removed(shared_memory, "the working copy")
    told += _removed(temporary or temporary_place(), "the temporary folder")
    told += [f"{leaf}: removed, the control group of an agent that died" for leaf in remove_leaves()]
    told += remove_run_groups()
    entries = journal.entries()
    journal.remove_drafts()
    if not any(force or entry.left_behind for entry in entries):
        return told + journal.take_told()
    # A living agent holds the lock: who forces means to override it.
    with contextlib.nullcontext() if force else journal.locked():
        return told + restore_entries(journal, force=force)


def restore_own() -> None:
    """Put back what this process has changed, where a signal came while that was being done."""
    journal = Journal(journal_folder())
    with journal.locked():
        for entry in journal.entries():
            if (entry.pid, entry.start) == this_process():
                _restore(journal, entry)


def restore_and_note(folder: str) -> None:
    """Put back what the watchdog alone could not, for the next agent to tell."""
    told = restore(folder=Path(folder))
    if told:
        note(Path(folder) / f"{os.getpid()}{TOLD}", told)


def restore_entries(journal: Journal, *, force: bool = False) -> list[str]:
    """Go through the entries; the caller holds the lock. One that cannot be put back does not keep the others."""
    told, failed = journal.take_told(), list[VgoError]()
    for entry in journal.entries():
        if force or entry.left_behind:
            try:
                told += _restore(journal, entry)
            except VgoError as error:
                failed.append(error)
    if failed:
        raise failed[0]
    return told


def _restore(journal: Journal, entry: JournalEntry) -> list[str]:
    if entry.boot_id != boot_id():
        told = [f"{entry.mitigation}: forgotten, because its settings ended with the boot that they were made in"]
    else:
        told = [returned.said for returned in put_back(entry)]
        if entry.revert:
            from .scripts import ran  # it loads the knowledge base

            ran(entry.revert)
            told.append(f"{entry.mitigation}: reverted by `{' '.join(entry.revert)}`")
    journal.remove(entry)
    return told


def _removed(place: Path, what: str) -> list[str]:
    told = []
    for left in stale_folders(place):
        with contextlib.suppress(FileNotFoundError):  # another agent may be at it, too
            shutil.rmtree(left)
        told.append(f"{left}: removed, {what} of an agent that died")
    return told
