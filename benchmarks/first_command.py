"""The first command of the README, as a newcomer types it: a fresh clone, an empty package cache and no compiler.

python benchmarks/first_command.py                                # with this Python
python benchmarks/first_command.py --python /usr/bin/python3.11   # repeatable
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates forky /tmp/forky
python benchmarks/first_command.py --root /tmp/forky              # with the Python of another root; needs root
python benchmarks/first_command.py --way 'uv tool' --way pipx     # the wheel, installed as a tool

What is reached is a PATH of the few programs of `NEEDED`, so no compiler, whatever the machine has. The commands that
the demo tells to type next are typed. Fails where one of them fails, or the demo does not end with MITIGATED. The
package registry has to be reached.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).parents[1]
NEEDED = ("sh", "env", "cat", "ls", "uname", "taskset", "git")
COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "cmake", "ninja", "make", "rustc", "gfortran")
VENV = "python3 -m venv ../venv && pip install -q uv"
"""Its programs come first on the PATH, as where it is activated."""
WHEEL = "uv build -q --wheel -o ../dist"


class Way(NamedTuple):
    """A way to install and to start it."""

    prepare: str
    install: str
    start: str
    place: str
    """Where what was installed lies, beside the clone."""


WAYS = {
    "uv run": Way(VENV, "uv sync -q", "uv run -q vgo-agent demo", "clone/.venv"),
    "uv tool": Way(
        f"{VENV} && {WHEEL}", "uv tool install -q --python python3 ../dist/*.whl", "vgo-agent demo", "tools/vgo-agent"
    ),
    "pipx": Way(
        f"{VENV} pipx && {WHEEL}", "pipx install --quiet ../dist/*.whl", "vgo-agent demo", "pipx/venvs/vgo-agent"
    ),
}
LENT = ("proc", "sys", "dev", "etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt")
"""Of this machine, to another root: the kernel, and the way to the registry."""
KEPT = ("PIP_CERT", "SSL_CERT_FILE", "LANG")


class Shown(NamedTuple):
    """What one Python did."""

    way: str
    python: str
    pip_s: float
    """Until the installer was there, and the wheel, where one is installed."""
    install_s: float
    installed_mb: float
    """On the disk before the first start; the cache of uv has the same files, linked."""
    tells_s: float
    """From the start to the first line of the demo."""
    demo_s: float
    """From that line to the end."""
    started_mb: float
    """On the disk, once Python has compiled what it started."""
    compilers: str
    verdict: str
    next: str
    """How the commands ended that the demo tells to type next."""


def main() -> int:
    """Show the first command with every Python, as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], help="an interpreter of this machine")
    parser.add_argument("--root", action="append", default=[], type=Path, help="the root of another system")
    parser.add_argument("--way", action="append", default=[], choices=WAYS, help="how it is installed; else `uv run`")
    asked = parser.parse_args()
    pythons = asked.python or ([] if asked.root else [sys.executable])
    shown = []
    for way in asked.way or ["uv run"]:
        shown += [show(Path(python).resolve(), way) for python in pythons] + [show_in(root, way) for root in asked.root]
    print("| " + " | ".join(Shown._fields) + " |\n" + "|---" * len(Shown._fields) + "|")
    for one in shown:
        print("| " + " | ".join(f"{value:.1f}" if isinstance(value, float) else value for value in one) + " |")
    return int(any(one.verdict != "MITIGATED" or one.compilers or one.next.strip("0 ") for one in shown))


def show(python: Path, way: str) -> Shown:
    """Show it on this machine, with a PATH in which nothing is but what is needed."""
    with tempfile.TemporaryDirectory(prefix="vgo-first-") as kept:
        folder = Path(kept)
        (folder / "bin").mkdir()
        (folder / "bin" / "python3").symlink_to(python)
        for name in NEEDED:
            if found := shutil.which(name):
                (folder / "bin" / name).symlink_to(found)
        return carried_out(way, folder, folder, str(folder / "bin"), [])


def show_in(root: Path, way: str) -> Shown:
    """Show it in another root, which is lent some places of this machine for as long as it lasts."""
    places = " ".join(f"mount --rbind /{name} {root}/{name};" for name in LENT)
    (root / "etc/resolv.conf").touch()
    enter = ["unshare", "--mount", "sh", "-c", f'{places} exec chroot {root} "$@"', "sh"]
    with tempfile.TemporaryDirectory(prefix="vgo-first-", dir=root / "tmp") as kept:
        return carried_out(way, Path(kept), Path("/", Path(kept).relative_to(root)), "/usr/bin:/bin", enter)


def carried_out(way: str, folder: Path, seen: Path, path: str, enter: list[str]) -> Shown:
    """Clone, install and run below `folder`, which the commands see as `seen`."""
    subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(folder / "clone")], check=True)
    given = {"PATH": f"{seen}/venv/bin:{seen}/.local/bin:{path}", "HOME": str(seen), "UV_LINK_MODE": "hardlink"}
    given |= {"UV_CACHE_DIR": f"{seen}/cache", "UV_TOOL_DIR": f"{seen}/tools", "PIPX_HOME": f"{seen}/pipx"}
    environment = given | {name: os.environ[name] for name in KEPT if name in os.environ}

    def sh(line: str) -> subprocess.Popen[str]:
        words = [*enter, "env", "-i", *(f"{name}={value}" for name, value in environment.items())]
        words += ["sh", "-c", f"cd {seen}/clone && {line}"]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(words, text=True, **streams)  # type: ignore[call-overload, no-any-return]

    def took_s(line: str) -> float:
        began = time.monotonic()
        process = sh(line)
        said = process.communicate()[0]
        if process.returncode:
            raise SystemExit(f"{line}: {said}")
        return time.monotonic() - began

    version = sh("python3 --version").communicate()[0].strip()
    compilers = sh(f"command -v {' '.join(COMPILERS)}; true").communicate()[0].split()
    steps, place = WAYS[way], folder / WAYS[way].place
    pip_s, install_s = took_s(steps.prepare), took_s(steps.install)
    installed_mb, began = megabytes(place), time.monotonic()
    first, lines = 0.0, []
    with sh(steps.start) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            print(line, end="", file=sys.stderr)
            lines.append(line.rstrip())
            first = first or (time.monotonic() if line.startswith("A demo:") else 0.0)
    demo_s = time.monotonic() - first
    ended = []
    for line in next_commands(lines):
        with sh(line) as process:
            print(f"$ {line}", *process.communicate()[0].splitlines(), sep="\n", file=sys.stderr)
        ended.append(str(process.returncode))
    return Shown(
        way,
        version,
        pip_s,
        install_s,
        installed_mb,
        first - began,
        demo_s,
        megabytes(place),
        " ".join(compilers),
        next((line for line in lines if line.isupper()), lines[-1] if lines else "nothing was said"),
        " ".join(ended),
    )


def next_commands(lines: list[str]) -> list[str]:
    """Give the lines that the demo tells to type: what each is for stands below it, further to the right."""
    after = lines[lines.index("What to try next:") + 1 :] if "What to try next:" in lines else []
    return [line.strip() for line in after if line.startswith("  ") and not line.startswith("   ")]


def megabytes(folder: Path) -> float:
    """Give what it takes on the disk."""
    said = subprocess.run(["du", "-sm", str(folder)], capture_output=True, text=True, check=True)
    return float(said.stdout.split()[0])


if __name__ == "__main__":
    sys.exit(main())
