"""Settings that outlive a run: journalled for the whole batch, switched on and off around each run."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..stop import held
from .checks import Check
from .journal import Journal, JournalEntry, SavedKnob, new_entry, put_back
from .kernel_file import KernelFiles, KernelRefusal, in_force
from .knobs import Knob, rounded, same
from .put_back import as_before
from .switching import changed_meanwhile, checked, unset

CULPRITS = "tuned? sysctl?"


class MitigationKnobs:
    """The knobs of one mitigation; the entry stands in the journal as long as this lives."""

    def __init__(self, knobs: Iterable[Knob], entry: JournalEntry, journal: Journal) -> None:
        """Change nothing yet."""
        self._knobs = {knob.path: knob for knob in knobs}
        self._entry = entry
        self._journal = journal
        self._files = KernelFiles(Path(entry.root))
        self._touched = self._set = False
        self.told: list[str] = []
        """What a user should hear: settings left out, rounded, or changed by someone else."""

    def on(self) -> tuple[Check, ...]:
        """Set the values and read each back (level 1); a knob that someone else changed is left alone and told."""
        if not self._set:
            self._refuse_foreign()
            self._touched = self._set = True
            for group in self._entry.groups:
                self._write(group)
        if not self._entry.applied:
            self._confirm()
        return tuple(self._check(group) for group in self._entry.groups)

    def off(self) -> tuple[Check, ...]:
        """Put the old values back and check them (level 1)."""
        checks = tuple(self._unset(group) for group in reversed(self._entry.groups))
        self._set = False
        return checks

    def _refuse_foreign(self) -> None:
        """The entry says what to go back to, so all must still be like that."""
        for group in self._entry.groups:
            if not as_before(self._files, group):
                raise changed_meanwhile(group, self._files.read(group.path), CULPRITS)

    def _write(self, group: SavedKnob) -> None:
        knob = self._knobs[group.path]
        if same(knob.value, self._files.read(knob.path)):
            return  # a managed interrupt refuses even what it has
        try:
            self._files.write(knob.path, knob.value)
        except KernelRefusal as refused:
            if not knob.optional or self._entry.applied:
                raise
            self._leave_out(group, str(refused))

    def _leave_out(self, group: SavedKnob, why: str) -> None:
        """Go on without a knob that refuses; at least one must hold."""
        self.told.append(f"{group.path}: left out ({why})")
        del self._knobs[group.path]
        if not self._knobs:
            raise KernelRefusal(f"Nothing of {self._entry.mitigation} can be set here ({why}).")

    def _check(self, group: SavedKnob) -> Check:
        return checked(self._files, group, in_force(self._knobs[group.path].value), CULPRITS)

    def _unset(self, group: SavedKnob) -> Check:
        return unset(self._files, group, self._entry.applied, self._touched, CULPRITS)

    def _confirm(self) -> None:
        """Journal what the kernel made of the values: from now on any other one is someone else's."""
        groups = list[SavedKnob]()
        for group in self._entry.groups:
            if group.path in self._knobs:
                asked, seen = in_force(self._knobs[group.path].value), self._files.read(group.path)
                groups.append(group.model_copy(update={"wanted": seen}))
                if not same(asked, seen) and rounded(asked, seen):
                    self.told.append(f"{group.path}: the kernel made {seen} of {asked}")
        self._entry = self._entry.model_copy(update={"groups": tuple(groups), "applied": True})
        self._journal.record(self._entry)

    def close(self) -> None:
        """Put everything back, and only then forget it."""
        if self._touched:
            self.told.extend(returned.said for returned in put_back(self._entry) if returned.foreign)
        self._journal.remove(self._entry)


@contextlib.contextmanager
def switchable(
    mitigation: str, knobs: Sequence[Knob], journal: Journal, root: Path = Path("/")
) -> Iterator[MitigationKnobs]:
    """Journal the old values, and put them back at the end whatever happens; the caller holds the journal's lock."""
    entry = new_entry(mitigation, _groups(knobs, KernelFiles(root)), root)
    journal.record(entry)
    settings = MitigationKnobs(knobs, entry, journal)
    try:
        yield settings
    finally:
        with held():
            settings.close()


def _groups(knobs: Sequence[Knob], files: KernelFiles) -> tuple[SavedKnob, ...]:
    shared = Counter(path for knob in knobs for path in {knob.path, *knob.siblings})
    return tuple(
        SavedKnob(
            path=knob.path,
            wanted=in_force(knob.value),
            saved={path: files.read(path) for path in (knob.path, *knob.siblings)},
            coupled=any(shared[path] > 1 for path in (knob.path, *knob.siblings)),
        )
        for knob in knobs
    )
