"""Change one setting in the settings file; comments and the order of what stands there are kept."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from ..knowledge.errors import VgoError
from .settings import config_file


def set_in_file(key: str, value: str) -> Path:
    """Write a setting, or take it out when its value is empty; return the file. It is written whole or not at all."""
    path = config_file().resolve()  # a link to a file elsewhere stays a link
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
        if value:
            document[key] = value
        elif key in document:
            del document[key]
        _write(path, tomlkit.dumps(document))
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise VgoError(f"{path} is not TOML ({error}); correct it there.") from error
    except OSError as error:
        raise VgoError(f"{path} cannot be written ({error.strerror}); set XDG_CONFIG_HOME, or use --model.") from error
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode if path.exists() else 0o600
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode & 0o777)
    try:
        os.replace(file.name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(file.name)
        raise
