"""The one renderer of templates: an undefined variable is an error, and what comes from outside is escaped.

The suffix before `.j2` says how: `html` escapes for HTML, `md` keeps Markdown from reading text as markup, `txt` is
plain.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateSyntaxError
from markupsafe import Markup, escape

FOLDER = Path(__file__).parent
_VERSION = re.compile(r"\{# version ([0-9]+) #\}\n")
VERSIONED = "model"
"""Folder whose templates say their version in their first line: what a model is told is part of the record."""
_SPAN = re.compile(r"`([^`\n]+)`")
_MARKDOWN = re.compile(r"([\\*_\[\]|<>])")


def render(name: str, **values: Any) -> str:
    """Fill a template, such as `report.html.j2`."""
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


def markdown(value: object) -> object:
    """Escape what Markdown would read as markup; code spans of the text itself stay code."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    parts = re.split(r"(`[^`\n]+`)", value)
    return "".join(part if index % 2 else _MARKDOWN.sub(r"\\\1", part) for index, part in enumerate(parts))


def fence(text: str, language: str = "") -> Markup:
    """Put text in a Markdown block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return Markup(f"{mark}{language}\n{text}\n{mark}")


def code(text: str) -> Markup:
    """Put text in a Markdown code span that nothing in it can end, safe inside a table."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark, pad = "`" * (longest + 1), " " if longest else ""
    line = " ".join(text.split("\n")).replace("|", "\\|")
    return Markup(f"{mark}{pad}{line}{pad}{mark}")


def ticks(text: str) -> Markup:
    """Escape for HTML, and turn `code spans` into elements."""
    return Markup(_SPAN.sub(r"<code>\1</code>", str(escape(text))))


@cache
def _environment(kind: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=kind == "html",
        finalize=_FINALIZERS.get(kind),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"ticks": ticks, "fence": fence, "code": code}
    return environment


def _kind(name: str) -> str:
    parts = name.split(".")
    if len(parts) < 3 or parts[-2] not in _KINDS:
        raise ValueError(f"prompts/{name}: name it *.html.j2, *.md.j2 or *.txt.j2, which says how it is escaped.")
    return parts[-2]


_KINDS = ("html", "md", "txt")
_FINALIZERS: dict[str, Callable[[object], object]] = {"md": markdown}
