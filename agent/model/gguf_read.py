"""Read the head of a GGUF file forwards; what it claims is held against what is there.

The reader of the `gguf` package maps the whole file, makes an array of each word of the vocabulary, and ends in some
exception on a damaged file. Here long lists are passed over, and a file costs at most what its own bytes do.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...knowledge.errors import VgoError
from .tensor_types import TYPES

MAGIC = b"GGUF"
VERSIONS = (2, 3)
LONGEST_TEXT = 1 << 20
"""Bytes that are kept of one text: chat templates have some tens of thousands."""
LONGEST_LIST = 1024
"""Numbers of a list that are kept: one for each layer."""
MOST_DIMENSIONS = 4
ALIGNMENT = 32
TEXT, LIST = 8, 9
NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""How the kinds of numbers are packed."""


class Damaged(Exception):
    """The head of the file makes no sense; the words say where."""


class Tensor(NamedTuple):
    """One array of weights."""

    name: str
    values: int
    type: int
    offset: int
    """From the start of the weights."""

    @property
    def bytes(self) -> int:
        """Its size; 0 where the type is not known."""
        known = TYPES.get(self.type)
        return self.values // known.block * known.bytes if known else 0


class Head(NamedTuple):
    """What stands before the weights."""

    metadata: dict[str, Any]
    """Numbers, texts and short lists of numbers."""
    lengths: dict[str, int]
    """Of every list."""
    tensors: list[Tensor]
    weights_at: int
    """Where the weights begin."""


def read_head(path: Path) -> tuple[Head, int]:
    """Read the head and the size of a file; raises VgoError for one that is no GGUF, or damaged."""
    if path.exists() and not path.is_file():
        raise VgoError(f"{path} is not a file; give a GGUF file.")
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            return _Reader(file, size, path).head(), size
    except Damaged as error:
        raise VgoError(f"{path} is damaged ({error}); fetch it again.") from error
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}); give a GGUF file.") from error


class _Reader:
    """Goes forward through a file and never beyond its end."""

    def __init__(self, file: BinaryIO, size: int, path: Path) -> None:
        self._file, self._size, self._path = file, size, path
        self._at = 0

    def head(self) -> Head:
        version, tensors, keys = self._begin()
        metadata: dict[str, Any] = {}
        lengths: dict[str, int] = {}
        for _ in range(self._counted(keys, 13)):
            name = self._name()
            kind = self._number("<I")
            if kind == LIST:
                lengths[name], kept = self._list(name)
                metadata |= {name: kept} if kept else {}
            else:
                metadata[name] = self._value(kind, name)
        listed = list(self._tensors(self._counted(tensors, 24)))
        alignment = metadata.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0:
            raise Damaged(f"its alignment is {alignment!r:.40}")
        return Head(metadata, lengths, listed, -(-self._at // alignment) * alignment)

    def _begin(self) -> tuple[int, int, int]:
        start = self._take(min(4, self._size))
        if start != MAGIC:
            pointer = start == b"vers"  # "version https://git-lfs.github.com/spec/v1"
            cure = "it is a pointer of git-lfs: `git lfs pull` fetches the model" if pointer else "give one"
            raise VgoError(f"{self._path} is not a GGUF file; {cure}.")
        version: int = self._number("<I")
        if version not in VERSIONS:
            raise VgoError(
                f"{self._path} is a GGUF file of version {version if version < 1 << 16 else 'unknown'}, and versions "
                f"{' and '.join(map(str, VERSIONS))} are read; convert it anew."
            )
        return version, self._number("<Q"), self._number("<Q")

    def _tensors(self, count: int) -> Iterator[Tensor]:
        for _ in range(count):
            name = self._name()
            dimensions = self._number("<I")
            if not 1 <= dimensions <= MOST_DIMENSIONS:
                raise Damaged(f"{name:.40} has {dimensions} dimensions")
            values = 1
            for _ in range(dimensions):
                values *= self._number("<Q")
            yield Tensor(name, values, self._number("<I"), self._number("<Q"))

    def _value(self, kind: int, name: str) -> Any:
        if kind == TEXT:
            return self._text()
        if kind not in NUMBERS:
            raise Damaged(f"{name:.40} is of the unknown kind {kind}")
        return self._number(NUMBERS[kind])

    def _list(self, name: str) -> tuple[int, list[Any]]:
        """Pass over a list; keep a short one of numbers."""
        kind, count = self._number("<I"), self._number("<Q")
        if kind == TEXT:
            for _ in range(self._counted(count, 8)):
                self._skip(self._number("<Q"))
            return count, []
        if kind not in NUMBERS:
            raise Damaged(f"{name:.40} is a list of the unknown kind {kind}")
        if count <= LONGEST_LIST:
            return count, [self._number(NUMBERS[kind]) for _ in range(count)]
        self._skip(count * struct.calcsize(NUMBERS[kind]))
        return count, []

    def _counted(self, count: int, least: int) -> int:
        """Refuse a number of things that the rest of the file has no room for."""
        if count * least > self._size - self._at:
            raise Damaged("it ends too early, or claims more than it has room for")
        return count

    def _name(self) -> str:
        return self._text().encode("ascii", "replace").decode()

    def _text(self) -> str:
        length = self._number("<Q")
        kept = self._take(min(length, LONGEST_TEXT))
        self._skip(length - len(kept))
        return kept.decode("utf-8", "replace")

    def _number(self, packed: str) -> Any:
        return struct.unpack(packed, self._take(struct.calcsize(packed)))[0]

    def _take(self, count: int) -> bytes:
        self._counted(count, 1)
        self._at += count
        found = self._file.read(count)
        if len(found) < count:
            raise Damaged("it became shorter while it was read")
        return found

    def _skip(self, count: int) -> None:
        self._counted(count, 1)
        self._at += count
        self._file.seek(count, 1)
