"""Find the program of a command and say what is wrong with it before the first run."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ...knowledge.errors import VgoError

BINFMT = Path("/proc/sys/fs/binfmt_misc")


def resolve(argv: Sequence[str], shell: bool = False) -> tuple[str, ...]:
    """Return the command with the absolute path of its program first; with `shell`, as a line for /bin/sh."""
    if not argv or not argv[0]:
        raise VgoError("No command was given: name the program to run after the options.")
    if shell:
        return ("/bin/sh", "-c", " ".join(argv))
    program = find(argv[0])
    refuse_broken(program)
    return (str(program), *argv[1:])


def find(name: str) -> Path:
    """Return the executable that a shell would start under this name."""
    if "/" in name or name in (".", ".."):
        path = Path(name).absolute()
    elif found := shutil.which(name):
        return Path(found).absolute()
    else:
        raise VgoError(not_on_path(name))
    if not path.exists():
        raise VgoError(f"There is no program {name}: check the path{words_in(name)}.")
    if path.is_dir():
        raise VgoError(f"{name} is a directory: name the program in it.")
    if not os.access(path, os.X_OK):
        raise VgoError(f"{name} is not executable: chmod +x {name}.")
    return path


def not_on_path(name: str) -> str:
    """Say why a bare name was not found, with the likeliest cure."""
    here = Path(name)
    if here.is_file() and os.access(here, os.X_OK):
        return f"The command {name} is not on PATH: did you mean ./{name}?"
    if here.is_file():
        return f"The command {name} is not on PATH, but a file of that name is here: chmod +x {name}, then ./{name}."
    return f"The command {name} is not on PATH: install it or give its path{words_in(name)}."


def words_in(name: str) -> str:
    """Add the cure for a whole command given as one quoted word."""
    return ", and leave the quotes away or ask for a shell, if this is a whole command line" if " " in name else ""


def refuse_broken(program: Path) -> None:
    """Refuse a file that the kernel could not start."""
    try:
        with program.open("rb") as file:
            start = file.read(256)
    except PermissionError:
        return  # Executable yet unreadable is allowed; then the kernel decides.
    if start.startswith(b"#!"):
        refuse_without_interpreter(program, start)
    elif not start.startswith(b"\x7fELF") and not other_formats():
        raise VgoError(no_format(program))


def refuse_without_interpreter(program: Path, start: bytes) -> None:
    """Refuse a script whose first line names an interpreter that is not there."""
    line = os.fsdecode(start.splitlines()[0][2:])
    if start.split(b"\n", 1)[0].endswith(b"\r"):
        raise VgoError(
            f"{program} has Windows line ends, so its interpreter is not found: sed -i 's/\\r$//' {program}."
        )
    words = line.split()
    if not words or not os.access(words[0], os.X_OK):
        named = words[0] if words else "none"
        raise VgoError(f"The interpreter that {program} names in its first line is missing ({named}): mend that line.")


def no_format(program: Path | str) -> str:
    """Say that the kernel knows no way to start this file."""
    return (
        f"{program} is neither a binary for this machine nor a script: put `#!/bin/sh` or the like in its first line."
    )


def other_formats() -> bool:
    """Tell whether the kernel was taught further formats (Java, Wine, another architecture)."""
    return any(entry.name not in ("register", "status") for entry in BINFMT.glob("*"))


def start_failure(program: str, error: OSError) -> VgoError:
    """Turn a failed posix_spawn into a sentence with a cure."""
    if error.errno == errno.ENOEXEC:
        return VgoError(no_format(program))
    if error.errno == errno.ENOENT and os.path.exists(program):
        return VgoError(f"{program} names an interpreter or loader that is missing: install it or mend the file.")
    if error.errno == errno.E2BIG:
        return VgoError(f"{program} was given too many arguments or too large an environment: shorten them.")
    return VgoError(f"{program} cannot be started ({error.strerror}): check that you can start it by hand.")
