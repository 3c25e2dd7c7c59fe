"""The SHA-256 of a model file, worked out once for each state of the file: gigabytes take many seconds."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from ...knowledge.errors import VgoError
from ...tools import durable

MOST = 200
"""Files that are remembered; the oldest go first."""


def sha256_of(path: Path) -> str:
    """Give the hash in hexadecimal."""
    place, known = user_cache_path("vgo-agent") / "model-hashes.json", {}
    with suppress(OSError, ValueError):
        known = _table(json.loads(place.read_text()))
    key = str(path.resolve())
    try:
        stat = path.stat()
        state = [stat.st_size, stat.st_mtime_ns]
        if known.get(key, [])[:-1] == state:
            return str(known[key][-1])
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}); give a GGUF file.") from error
    kept = {name: row for name, row in known.items() if name != key} | {key: [*state, found]}
    with suppress(OSError):  # it is worked out again next time
        place.parent.mkdir(parents=True, exist_ok=True)
        table = json.dumps(dict(list(kept.items())[-MOST:])).encode()
        durable.write(place, table, draft=place.with_name(f"{place.name}.{os.getpid()}"))
    return found


def _table(said: Any) -> dict[str, list[Any]]:
    """Take the rows that have the right form: the file is only a cache."""
    rows = said.items() if isinstance(said, dict) else ()
    return {key: row for key, row in rows if isinstance(row, list) and len(row) == 3}
