"""What people say of an entry who do not know its name: `wording.yaml`, searched beside the entry itself."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from .errors import VgoError

SHAPE = TypeAdapter(dict[str, list[str]])
FILE = "wording.yaml"


def read_wording(folder: Path, identities: Collection[str]) -> dict[str, str]:
    """Give the words by the identity of the entry; none where there is no file. VgoError when it is broken."""
    path = folder / FILE
    try:
        said = SHAPE.validate_python(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise VgoError(f"{path}: cannot be read ({error}). Restore the file.") from error
    except ValidationError as error:
        raise VgoError(f"{path}: {error.errors()[0]['msg']}. Write `key:` and below it a list of texts.") from error
    found = {}
    for key, texts in said.items():
        entry = next((f"{kind}:{key}" for kind in ("factor", "mitigation") if f"{kind}:{key}" in identities), None)
        if entry is None:
            raise VgoError(f"{path}: {key} is neither a factor nor a mitigation. Correct the key or remove it.")
        found[entry] = " . ".join(texts)
    return found
