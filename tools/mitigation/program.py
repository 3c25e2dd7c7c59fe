"""What kind of program a command runs: followed through shebangs and `env` to the ELF file that the kernel loads."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB = 1, 5
_MOST_HEADERS = 1024
_LARGEST_TABLE = 1 << 20
_MACHINES = {3: "x86", 8: "MIPS", 20: "PowerPC", 21: "PowerPC 64", 40: "Arm", 62: "x86-64", 183: "Arm 64"}
_BITS = {1: 32, 2: 64}
_PYTHON = re.compile(r"(python|pypy)[0-9.]*t?$")
_INTERPRETER = re.compile(r"((python|pypy|perl|ruby|node|Rscript|lua)[0-9.]*t?|sh|bash|dash|zsh|ksh)$")
_OPENMP = re.compile(r"lib(gomp|omp|iomp5)\.so")
_STARTS_RANKS = re.compile(r"(?:^|[\s/;&|(])(?:mpirun|mpiexec|orterun|prterun|srun)(?:[.\w]*)(?=\s|$)", re.M)
_LONGEST_SCRIPT = 64 << 10
_LARGEST_HASHED = 256 << 20
_MOST_SHEBANGS = 4
_MOST_INPUTS = 16


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True)
class Elf:
    """An executable or a shared library."""

    machine: tuple[int, int]
    """Word size class (1: 32 bit, 2: 64 bit) and e_machine; a preloaded library must agree with the program."""
    dynamic: bool
    """It asks for a dynamic loader (PT_INTERP)."""
    needed: tuple[str, ...]
    """Sonames of the libraries it links directly."""


_MACHINES |= {22: "S390", 243: "RISC-V", 258: "LoongArch"}


def kind_of_machine(elf: Elf) -> str:
    """Name the machine that a file is built for: `32-bit x86`."""
    word, machine = elf.machine
    return f"{_BITS.get(word, '?')}-bit {_MACHINES.get(machine, f'machine {machine}')}"


def read_elf(path: Path) -> Elf | None:
    """Read the headers of `path`; None when it is no ELF file that can be read."""
    try:
        with path.open("rb") as file:
            ident = file.read(16)
            return _read(file, ident) if ident[:4] == b"\x7fELF" else None
    except (OSError, struct.error, LookupError, ValueError, OverflowError):  # cut short, or its numbers are nonsense
        return None


def _read(file: BinaryIO, ident: bytes) -> Elf:
    wide = ident[4] == 2
    order = "<" if ident[5] == 1 else ">"
    layout = order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH")
    header = struct.unpack(layout, file.read(struct.calcsize(layout)))
    machine, table, entry_size, count = header[1], header[4], header[8], header[9]
    segments = [_segment(file, order, wide, table + i * entry_size) for i in range(min(count, _MOST_HEADERS))]
    dynamic = any(segment.kind == _PT_INTERP for segment in segments)
    return Elf((ident[4], machine), dynamic, _needed(file, order, wide, segments))


def _segment(file: BinaryIO, order: str, wide: bool, at: int) -> _Segment:
    file.seek(at)
    if wide:
        kind, _, offset, address, _, size = struct.unpack(order + "IIQQQQ", file.read(40))
    else:
        kind, offset, address, _, size = struct.unpack(order + "IIIII", file.read(20))
    return _Segment(kind, offset, address, size)


def _needed(file: BinaryIO, order: str, wide: bool, segments: list[_Segment]) -> tuple[str, ...]:
    table = next((segment for segment in segments if segment.kind == _PT_DYNAMIC), None)
    if table is None:
        return ()
    file.seek(table.offset)
    raw = file.read(min(table.size, _LARGEST_TABLE))
    layout = order + ("qQ" if wide else "iI")
    entries = list(struct.iter_unpack(layout, raw[: len(raw) - len(raw) % struct.calcsize(layout)]))
    strings = _file_offset(segments, dict(entries)[_DT_STRTAB])
    return tuple(_string(file, strings + value) for tag, value in entries if tag == _DT_NEEDED)


def _file_offset(segments: list[_Segment], address: int) -> int:
    for segment in segments:
        if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.offset
    raise KeyError(address)


def _string(file: BinaryIO, at: int) -> str:
    file.seek(at)
    return file.read(256).split(b"\0", 1)[0].decode(errors="replace")


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


class ProcessObservation(NamedTuple):
    """One observation of a process."""

    expected: str
    seen: str
    passed: bool


class Process:
    """The files of one process; a file that is gone or empty raises ProcessLookupError."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self.pid = pid
        self.proc = proc
        self.folder = proc / str(pid)

    def text(self, name: str) -> str:
        """Read a file of the process; those of a process that has ended are empty."""
        text = (self.folder / name).read_text(errors="replace")
        if not text:
            raise ProcessLookupError(name)
        return text

    def status(self, key: str) -> str:
        """Read one line of the status file."""
        found = re.search(rf"^{key}:\s*(.*)$", self.text("status"), re.M)
        return found.group(1).strip() if found else "not shown by this kernel"

    def stat(self, field: int) -> int:
        """Read a field of the stat file, numbered from 1 as in proc(5); not the first two."""
        return int(self.text("stat").rpartition(")")[2].split()[field - 3])

    def environment(self) -> dict[str, str]:
        """Read the environment that the program was started with."""
        words = self.text("environ").split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word)

    def family(self) -> Iterator[Process]:
        """The process and all below it, whichever of its threads started them: a script's work is done by those."""
        yield self
        for children in self.folder.glob("task/*/children"):
            with suppress(OSError):  # the thread has ended
                for child in children.read_text().split():
                    yield from Process(int(child), self.proc).family()
