"""What the first command installs: nothing that has to be built, on every Python that is promised."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

CHECKOUT = Path(__file__).parents[1]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
PACKAGES: list[dict[str, Any]] = tomllib.loads((CHECKOUT / "uv.lock").read_text())["package"]
MINORS = (11, 12, 13, 14)
GLIBC = range(5, 29)
"""Up to that of RHEL 8 and Debian 11."""


def environment(minor: int, machine: str) -> dict[str, str]:
    return {
        "python_version": f"3.{minor}",
        "python_full_version": f"3.{minor}.1",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
    }


def holds(markers: list[str], here: dict[str, str]) -> bool:
    return not markers or any(Marker(marker).evaluate(here) for marker in markers)


def installed(here: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Give what `uv run` installs without a group or an extra."""
    waiting, seen = [("vgo-agent", "")], set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        (package,) = (one for one in PACKAGES if one["name"] == name and holds(one.get("resolution-markers", []), here))
        wanted = package["optional-dependencies"][extra] if extra else package.get("dependencies", [])
        for one in wanted:
            if holds([one["marker"]] if "marker" in one else [], here):
                waiting += [(one["name"], part) for part in ("", *one.get("extra", []))]
        if not extra and name != "vgo-agent":
            yield package


def tags(minor: int, machine: str) -> set[Tag]:
    old = [f"manylinux{name}_{machine}" for name in ("1", "2010", "2014")]
    platforms = [*(f"manylinux_2_{glibc}_{machine}" for glibc in GLIBC), *old, f"linux_{machine}"]
    python = (3, minor)
    return {*cpython_tags(python, platforms=platforms), *compatible_tags(python, f"cp3{minor}", platforms)}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("minor", MINORS)
def test_everything_that_is_installed_by_default_comes_as_a_wheel(minor: int, machine: str) -> None:
    found, fitting = list(installed(environment(minor, machine))), tags(minor, machine)
    assert {"chromadb", "langgraph", "numpy"} <= {package["name"] for package in found}
    to_build = [
        package["name"]
        for package in found
        if not any(
            fitting & parse_wheel_filename(wheel["url"].rsplit("/", 1)[1])[3] for wheel in package.get("wheels", [])
        )
    ]
    assert to_build == []


def test_no_group_is_installed_by_default() -> None:
    assert PROJECT["tool"]["uv"]["default-groups"] == []
    assert "llama-cpp-python" not in {package["name"] for package in installed(environment(11, "x86_64"))}


def test_the_promised_pythons_are_the_tried_ones() -> None:
    promised = SpecifierSet(PROJECT["project"]["requires-python"])
    assert [minor for minor in range(30) if f"3.{minor}.1" in promised] == list(MINORS)
    classifiers = [one for one in PROJECT["project"]["classifiers"] if "Python :: 3." in one]
    assert classifiers == [f"Programming Language :: Python :: 3.{minor}" for minor in MINORS]


def test_what_is_left_out_of_chromadb_is_left_out_of_the_version_that_is_installed() -> None:
    (said,) = PROJECT["tool"]["uv"]["dependency-metadata"]
    here = {package["name"]: package["version"] for package in installed(environment(11, "x86_64"))}
    assert here[said["name"]] == said["version"]
    assert not here.keys() & {"kubernetes", "onnxruntime", "tokenizers"}


def test_the_checks_are_run_by_the_command_of_the_readme() -> None:
    line = (CHECKOUT / ".ci/run").read_text().rstrip().split("\n")[-1]
    assert f"\n{line}\n" in (CHECKOUT / "README.md").read_text()
