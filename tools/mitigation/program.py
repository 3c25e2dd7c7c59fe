"""What kind of program a command runs: followed through shebangs and `env` to the ELF file that the kernel loads."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .elf import Elf, read_elf

_PYTHON = re.compile(r"(python|pypy)[0-9.]*t?$")
_INTERPRETER = re.compile(r"((python|pypy|perl|ruby|node|Rscript|lua)[0-9.]*t?|sh|bash|dash|zsh|ksh)$")
_OPENMP = re.compile(r"lib(gomp|omp|iomp5)\.so")
_STARTS_RANKS = re.compile(r"(?:^|[\s/;&|(])(?:mpirun|mpiexec|orterun|prterun|srun)(?:[.\w]*)(?=\s|$)", re.M)
_LONGEST_SCRIPT = 64 << 10
_LARGEST_HASHED = 256 << 20
_MOST_SHEBANGS = 4
_MOST_INPUTS = 16


@dataclass(frozen=True)
class Program:
    """Facts that preconditions ask for."""

    sha256: str
    """Of the file named by the command; empty when it is larger than 256 MB or cannot be read."""
    elf: Elf | None
    python: bool

    @property
    def dynamic(self) -> bool:
        """The loader honours LD_PRELOAD and GLIBC_TUNABLES for it."""
        return self.elf is not None and self.elf.dynamic

    @property
    def openmp(self) -> bool:
        """It links an OpenMP runtime directly."""
        return self.elf is not None and any(_OPENMP.match(name) for name in self.elf.needed)


def inspect(argv: tuple[str, ...]) -> Program:
    """Look at the files that a command starts, without starting them."""
    path = _located(argv[0])
    if path is None:
        return Program("", None, False)
    chain = list(_interpreters(path))
    inner = _located(_words_of_shell(argv)[0]) if _words_of_shell(argv) else None
    named = chain + (list(_interpreters(inner)) if inner else [])
    return Program(_sha256(path), read_elf(chain[-1]), any(_PYTHON.match(file.name) for file in named))


def input_files(argv: tuple[str, ...], directory: Path, named: tuple[str, ...] = ()) -> tuple[str, ...]:
    """List the regular files that a command is given, those that the user named first; at most 16, absolute.

    The program is left out, and the script that an interpreter is given: a run reads them first thing, and they
    stay in the page cache.
    """
    words = _words_of_shell(argv)[1:] if _words_of_shell(argv) else _arguments(argv)
    found: dict[str, None] = {}
    for word in (*named, *words):
        # `dd if=FILE` and `--input=FILE` name a file after the sign.
        for candidate in (word, word.partition("=")[2]):
            path = directory / candidate
            if candidate and path.is_file():
                found.setdefault(str(path.absolute()))
    return tuple(found)[:_MOST_INPUTS]


def starts_ranks(argv: tuple[str, ...]) -> bool:
    """Say whether mpirun, mpiexec or srun is a word of the command, or of the script that it starts."""
    if any(_STARTS_RANKS.search(word) for word in argv):
        return True
    path = _located(argv[0])
    if path is None or _shebang(path) is None:
        return False
    with path.open(errors="replace") as script:
        lines = (line for line in script.read(_LONGEST_SCRIPT).splitlines() if not line.lstrip().startswith("#"))
        return any(_STARTS_RANKS.search(line) for line in lines)


def _arguments(argv: tuple[str, ...]) -> tuple[str, ...]:
    if not _INTERPRETER.match(Path(argv[0]).name):
        return argv[1:]
    for at, word in enumerate(argv[1:], start=1):
        if word in ("-m", "-c"):
            return argv[at + 2 :]
        if not word.startswith("-"):
            return argv[at + 1 :]
    return ()


def _words_of_shell(argv: tuple[str, ...]) -> list[str]:
    """Split the line of `sh -c LINE`; empty when the command is not of that form."""
    if len(argv) < 3 or argv[1] != "-c" or not re.match(r"(ba|da|z|k)?sh$", Path(argv[0]).name):
        return []
    lexer = shlex.shlex(argv[2], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # an unclosed quote: the shell will say so itself
        return []


def _interpreters(path: Path) -> Iterator[Path]:
    """The file and, after it, what its shebang leads to."""
    for _ in range(_MOST_SHEBANGS):
        yield path
        following = _shebang(path)
        if following is None:
            return
        path = following


def _shebang(path: Path) -> Path | None:
    try:
        with path.open("rb") as file:
            line = file.readline(256)
    except OSError:
        return None
    words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return _located(words[0]) if words else None


def _located(name: str) -> Path | None:
    found = shutil.which(name)
    return Path(found) if found else None


def _sha256(path: Path) -> str:
    try:
        if path.stat().st_size >= _LARGEST_HASHED:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
