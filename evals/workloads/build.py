"""Compile the C of a workload once, into the user's cache."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

from platformdirs import user_cache_path

from ...knowledge.errors import VgoError

FLAGS = ("-O2",)
OPENMP = "-fopenmp"


def compiler() -> str | None:
    """Return the C compiler of this machine: $CC, or the first of cc, gcc, clang on PATH."""
    names = (os.environ.get("CC") or "cc", "gcc", "clang")
    return next((path for name in names if (path := shutil.which(name))), None)


def openmp() -> bool:
    """Say whether the compiler of this machine knows OpenMP and has its header."""
    cc = compiler()
    command = [cc or "", OPENMP, "-include", "omp.h", "-E", "-x", "c", os.devnull]
    return cc is not None and subprocess.run(command, capture_output=True).returncode == 0


def build(source: Path, cc: str | None = None) -> Path:
    """Return the program built from one C file; it is built again when the source, compiler or machine changed.

    `cc`: the path of a compiler; None: that of this machine.
    """
    cc = cc or compiler()
    if cc is None:
        raise VgoError(
            f"No C compiler was found to build {source.name}; install one (such as gcc) or set CC to its path."
        )
    flags = (*FLAGS, *((OPENMP,) if "#pragma omp" in source.read_text() else ()))
    identity = "\0".join((source.read_text(), cc, *flags, platform.machine()))
    folder = user_cache_path("vgo-agent") / "workloads"
    program = folder / f"{source.stem}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    if not program.exists():
        make_folder(folder)
        compile_to(program, source, cc, flags)
    return program


def make_folder(folder: Path) -> None:
    """Make a folder below that of the user's cache."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VgoError(
            f"{folder} cannot be made ({error.strerror}); set XDG_CACHE_HOME to a folder of yours."
        ) from error


def compile_to(program: Path, source: Path, cc: str, flags: tuple[str, ...] = FLAGS) -> None:
    """Build one C file; raises VgoError where the compiler refuses it."""
    # Under another name first: a program that is there is always whole, also with two builds at once.
    unfinished = program.with_suffix(f".{os.getpid()}")
    done = subprocess.run([cc, *flags, "-o", unfinished, source], capture_output=True, text=True)
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        first = done.stderr.strip().partition("\n")[0]
        raise VgoError(
            f"{cc} could not build {source.name} ({first}); install a working C compiler or set CC to its path."
        )
    unfinished.replace(program)
