"""The reader of the `gguf` package, held to the bytes that are there.

By itself it maps the whole file, makes an array of each word of the vocabulary (16 s for 150,000), and goes on with
empty arrays behind the end of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, GGUFValueType
from numpy.typing import DTypeLike, NDArray


class CutOff(Exception):
    """The file ends before what it claims to hold; the words say where."""


class GgufHead(GGUFReader):  # type: ignore[misc]  # mypy does not follow the package
    """What stands before the weights, and where they are; lists of texts are passed over, and only counted."""

    def __init__(self, path: Path) -> None:
        """Map the file; raises FloatingPointError where a place in it is beyond what 64 bits can say."""
        with np.errstate(over="raise"):
            super().__init__(path)

    def _get(self, offset: int, dtype: DTypeLike, count: int = 1, override_order: object = None) -> NDArray[Any]:
        """Files of the other byte order are refused before."""
        kind = np.dtype(dtype)
        end = offset + int(count) * kind.itemsize
        if end > self.data.size:
            raise CutOff(f"it has {self.data.size:,} of {end:,} bytes")
        return np.frombuffer(self.data, kind, int(count), offset)

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> tuple[int, list[NDArray[Any]], list[int], list[Any]]:
        if raw_type != GGUFValueType.ARRAY:
            field: tuple[int, list[NDArray[Any]], list[int], list[Any]] = super()._get_field_parts(orig_offs, raw_type)
            return field
        kind, length, end = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64), orig_offs + 12
        types = [GGUFValueType.ARRAY, GGUFValueType(kind[0])]
        if types[1] == GGUFValueType.STRING:
            for _ in range(length[0]):
                end += 8 + int(self._get(end, np.uint64)[0])
            return end - orig_offs, [kind, length], [], types
        values = self._get(end, self.gguf_scalar_to_np[types[1]], length[0])
        return end + values.nbytes - orig_offs, [kind, length, values], [2], types
