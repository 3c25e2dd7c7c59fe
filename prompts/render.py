"""The one renderer of templates: an undefined variable is an error, and what comes from outside is escaped.

The suffix before `.j2` says how: `html` escapes for HTML, `txt` is plain.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateSyntaxError

FOLDER = Path(__file__).parent
_VERSION = re.compile(r"\{# version ([0-9]+) #\}\n")
VERSIONED = "model"
"""Folder whose templates say their version in their first line: what a model is told is part of the record."""
_KINDS = ("html", "txt")


def render(name: str, **values: Any) -> str:
    """Fill a template, such as `page.html.j2`."""
    return _environment(_kind(name)).get_template(name).render(**values)


def versions(folder: str = VERSIONED) -> dict[str, str]:
    """Give version and SHA-256 of each template of a folder, by name."""
    found = {}
    for path in sorted((FOLDER / folder).glob("*.j2")):
        said = _VERSION.match(path.read_text(encoding="utf-8"))
        found[path.name] = f"{said[1] if said else 0} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found


def check() -> list[str]:
    """List every template that does not parse, one sentence each; empty means sound."""
    problems = []
    for path in sorted(FOLDER.rglob("*.j2")):
        name = path.relative_to(FOLDER).as_posix()
        try:
            _environment(_kind(name)).parse(path.read_text(encoding="utf-8"), name)
        except TemplateSyntaxError as error:
            problems.append(f"prompts/{name}, line {error.lineno}: {error.message}; mend it.")
        except ValueError as error:
            problems.append(str(error))
    unversioned = [name for name, said in versions().items() if said.startswith("0 ")]
    problems += [f"prompts/{VERSIONED}/{name}: begin it with {{# version 1 #}}." for name in unversioned]
    return problems


@cache
def _environment(kind: str) -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=kind == "html",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _kind(name: str) -> str:
    parts = name.split(".")
    if len(parts) < 3 or parts[-2] not in _KINDS:
        raise ValueError(f"prompts/{name}: name it *.html.j2 or *.txt.j2, which says how it is escaped.")
    return parts[-2]
