"""Write what `--save` and `--picture` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...knowledge.errors import VgoError
from .canvas import standalone


def save_files(folder: Path, contents: Mapping[str, str]) -> list[Path]:
    """Write texts into a folder, which is made with those that their names lie in; return the files."""
    try:
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise VgoError(f"Cannot write into {folder} ({error.strerror}); choose another folder for --save.") from error
    return [folder / name for name in contents]


def save_picture(svg: str, path: Path) -> None:
    """Write one picture as an SVG file."""
    try:
        path.write_text(standalone(svg), encoding="utf-8")
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}); choose another file for --picture.") from error
