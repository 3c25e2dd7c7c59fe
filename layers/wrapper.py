"""The probe of layers that need no code: a command around the program, variables for it, and what both then say.

The program, files and parameters are put into the words of a command, so that nothing is parsed twice.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..knowledge.errors import VgoError
from .extract import Collector
from .pid_namespace import told_start
from .probes.base import Probe, SpawnCommand
from .schema import Layer, Value

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
        return NAMES.sub(lambda match: self._quoted(template, match), template)

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


READY_S = 5.0
"""A service of this machine that has not answered by then does not."""


def refusal(layer: Layer, environment: Mapping[str, str] = os.environ) -> str:
    """Run the commands that must succeed for a launcher and say which does not, and the cure; empty when all do."""
    for command, cure in layer.asks.items():
        try:
            done = answer(shlex.split(command), environment, READY_S)
        except subprocess.TimeoutExpired:
            return f"`{command}` did not answer within {READY_S:g} s: {cure}"
        except OSError as error:
            return f"`{command}` cannot be started ({error.strerror}): {cure}"
        if done.returncode != 0:
            said = one_line(done.stderr)
            return f"`{command}` ended with {done.returncode}{f' and said {said!r}' if said else ''}: {cure}"
    return ""


def answer(argv: Sequence[str], environment: Mapping[str, str], limit_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input; raise OSError or TimeoutExpired where it cannot be started or takes too long."""
    return subprocess.run(
        argv, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False
    )


def one_line(said: bytes) -> str:
    """Return the beginning of a message, in one line that can be printed."""
    lines = said.decode(errors="replace").splitlines()
    words = " ".join(line.strip() for line in lines if any(map(str.isalpha, line)))
    return shortened("".join(c if c.isprintable() else " " for c in words))


def shortened(words: str, most: int = 200) -> str:
    """Cut a long message between two words, and show that it goes on."""
    if len(words) <= most:
        return words
    return f"{words[:most].rpartition(' ')[0] or words[:most]} ..."


def own_folder(what: str) -> tempfile.TemporaryDirectory[str]:
    """Make an empty folder; its name tells the process, as `Owner` of the tools knows it."""
    start = told_start(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    prefix = f"vgo-agent-{os.getpid()}-{start}-{what}-"
    return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


MOST_BYTES = 64 << 20
"""So much of what a wrapper wrote is read."""


class WrapperProbe(Probe):
    """Puts the program into a layer's command and environment, and reads the layer's columns from what was said."""

    def __init__(self, layer: Layer, root: Path) -> None:
        """Make the folder for the wrapper's files; a wrapper that is not installed leaves its columns absent.

        Raises VgoError where the layer has no columns, since then it is there only for its command.
        """
        self._layer = layer
        self.prints = bool(layer.run or layer.environment)
        self._missing = missing(layer) or refusal(layer)
        if self._missing and not (layer.columns and layer.kind == "metric"):
            raise VgoError(f"T{layer.named[1:]} cannot be used: {self._missing}.")
        self._made = own_folder(layer.key)
        self._folder = Path(self._made.name)
        self._collector = Collector(layer, {"FILE": f"{self._folder}/out", "FOLDER": str(self._folder)})
        self.reads_output = not self._missing and bool(self._collector.sources & {"output", "error", "both"})
        self._output = self._error = b""

    def wrap(self, command: SpawnCommand) -> SpawnCommand:
        """Put the words of the command where the layer has `$CMD $ARGS`, and merge the environment."""
        if self._missing:
            return command
        words = Words(self._layer, command.argv, str(self._folder))
        environment = {
            name: words.text(text, {name: command.environment.get(name, "")})
            for name, text in self._layer.environment.items()
        }
        return SpawnCommand(
            words.argv(self._layer) if self._layer.run else command.argv, {**command.environment, **environment}
        )

    def before(self) -> None:
        """Empty the folder of the wrapper's files, or make it anew where the last run removed it."""
        self._output = self._error = b""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for entry in os.scandir(self._folder):
            with suppress(OSError):
                shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)

    def said(self, output: bytes, error: bytes) -> None:
        """Keep what the run said."""
        self._output, self._error = output, error

    def values(self) -> Mapping[str, Value]:
        """Extract the columns."""
        if self._missing:
            return {}
        output, error = (text.decode(errors="replace") for text in (self._output, self._error))
        written = self._written() if "file" in self._collector.sources else ""
        return self._collector.collect({"output": output, "error": error, "both": output + error, "file": written})

    def absent(self) -> Mapping[str, str]:
        """Name every column when the wrapper is not installed, else those that no run gave."""
        if self._missing:
            return dict.fromkeys((column.name for column in self._layer.columns), self._missing)
        return self._collector.absent()

    def close(self) -> None:
        """Remove the folder, and end what reads the columns."""
        self._collector.close()
        self._made.cleanup()

    def _written(self) -> str:
        """Read all files that the wrapper wrote, in the order of their names: one for each rank, say."""
        parts, left = [], MOST_BYTES
        for path in sorted(path for path in self._folder.rglob("*") if path.is_file()):
            with suppress(OSError), path.open("rb") as file:
                parts.append(file.read(left).decode(errors="replace"))
                left -= len(parts[-1])
        return "".join(parts)


def missing(layer: Layer) -> str:
    """Say which program of a layer is not installed, and the cure; empty when all are."""
    first = split(layer.run)[0] if layer.run and not layer.shell else ""
    for name in ("" if NAMES.search(first) else first, *layer.needs):
        if name and shutil.which(name) is None:
            return f"{name}{layer.place} is not installed: {layer.cure or f'put {name} on PATH'}"
    return ""
