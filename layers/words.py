"""Put the program, files and parameters of a layer into the words of a command, so that nothing is parsed twice."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence

from .schema import Layer

SHELL = "/bin/sh"
NAMES = re.compile(r"\$(\$|[A-Za-z_][A-Za-z0-9_]*)")
"""A name, or the two dollars that stand for one."""
WHOLE = ("CMD", "ARGS", "LINE")
FILES = ("FILE", "FOLDER")
FURTHER = ("PROGRAM",)
"""The name of the program without its folder."""
LAUNCHING = ("FLAGS", "VARIABLES", "DIRECTORY")
"""What only launchers have."""
_BLANK = (" ", "\t", "\n", "")


def own_names(name: str) -> bool:
    """Tell whether a name has a meaning in every layer."""
    return name == "$" or name.upper() in (*WHOLE, *FILES, *FURTHER)


class Words:
    """What every name stands for in one command: a list of words."""

    def __init__(self, layer: Layer, argv: Sequence[str], folder: str) -> None:
        self._lists: dict[str, list[str]] = {"CMD": [argv[0]], "ARGS": list(argv[1:])}
        self._texts = {
            "LINE": shlex.join(argv),
            "PROGRAM": argv[0].rpartition("/")[2],
            "FILE": f"{folder}/out",
            "FOLDER": folder,
            "$": "$",
        }
        for name, value in layer.parameters.items():
            self._texts[name.upper()] = spelt(value)
            self._lists[name.upper()] = split(spelt(value))

    def fill(self, **names: str | list[str]) -> None:
        """Give further names, or other meanings: a text is one word, a list is so many."""
        for name, meaning in names.items():
            self._texts.pop(name, None)
            self._lists.pop(name, None)
            if isinstance(meaning, str):
                self._texts[name] = meaning
            else:
                self._lists[name] = meaning

    def argv(self, layer: Layer) -> tuple[str, ...]:
        """Fill in the command of a layer: its program as PATH has it, or a shell with all of it."""
        if layer.shell:
            return (SHELL, "-c", self.script(layer.run))
        program, *rest = self.of(layer.run)
        return (shutil.which(program) or program, *rest)

    def of(self, template: str) -> list[str]:
        """Split a template into words, then fill each in: a name alone may give several words or none."""
        words: list[str] = []
        for word in shlex.split(template):
            name = word[1:]
            if word.startswith("$") and name in self._lists:
                words += self._lists[name]
            else:
                words.append(self.text(word))
        return words

    def text(self, template: str, before: Mapping[str, str] | None = None) -> str:
        """Fill in the names of one word; unknown ones are looked up in `before`, and else stay."""
        return NAMES.sub(lambda match: self._text(match[1], match[0], before or {}), template)

    def _text(self, name: str, as_written: str, before: Mapping[str, str]) -> str:
        if name in self._texts:
            return self._texts[name]
        if name in self._lists:
            return shlex.join(self._lists[name])
        return before.get(name, as_written)

    def script(self, template: str) -> str:
        """Fill in the names of a shell script, quoted for the place where each stands."""
        parts, end = [], 0
        for match in NAMES.finditer(template):
            parts.append(template[end : match.start()])
            parts.append(self._quoted(template, match))
            end = match.end()
        return "".join([*parts, template[end:]])

    def _quoted(self, template: str, match: re.Match[str]) -> str:
        name = match[1]
        if name == "$" or (name not in self._lists and name not in self._texts):
            return match[0]  # The shell's own: its process number, its variables.
        place = quotes_at(template, match.start())
        alone = not place and template[match.start() - 1 : match.start()] in _BLANK
        alone = alone and template[match.end() : match.end() + 1] in _BLANK
        if name in WHOLE[:2] or (alone and name in self._lists):
            return escaped(shlex.join(self._lists[name]), place)
        text = self._texts[name]
        return escaped(text, place) if place else shlex.quote(text)


def spelt(value: str | float | bool) -> str:
    """Write a parameter as a command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def split(text: str) -> list[str]:
    """Split as a shell does; text with a quote that does not end is one word."""
    try:
        return shlex.split(text)
    except ValueError:
        return [text]


def quotes_at(script: str, position: int) -> str:
    """Return the quote that is open at a position of a shell script; empty outside quotes."""
    open_quote, escape = "", False
    for char in re.sub(r"(?m)(^|\s)#.*", lambda note: " " * len(note[0]), script[:position]):
        if escape:
            escape = False
        elif char == "\\" and open_quote != "'":
            escape = True
        elif open_quote:
            open_quote = "" if char == open_quote else open_quote
        elif char in "'\"":
            open_quote = char
    return open_quote


def escaped(text: str, place: str) -> str:
    """Write text into a quoted part of a shell script."""
    if place == "'":
        return text.replace("'", "'\\''")
    return re.sub(r'([\\"$`])', r"\\\1", text) if place else text
