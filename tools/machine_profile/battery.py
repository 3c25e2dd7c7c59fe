"""The battery: which stressors of stress-ng are run, in which group; named so that profiles of two machines meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Group = Literal["cpu", "memory", "cache", "string", "matrix"]
GROUPS: tuple[Group, ...] = ("cpu", "memory", "cache", "string", "matrix")
METHOD_OPTIONS: dict[Group, str] = {"cpu": "cpu", "string": "str", "matrix": "matrix"}
"""Groups that consist of the methods of one stressor, and its option."""
_OTHERS: dict[Group, dict[str, str]] = {
    "memory": {
        "memcpy": "--memcpy 1 --memcpy-method libc",
        "stream": "--stream 1",
        "malloc": "--malloc 1",
        "vm-read64": "--vm 1 --vm-bytes 64M --vm-method read64",
        "vm-write64": "--vm 1 --vm-bytes 64M --vm-method write64",
    },
    "cache": {
        "cache": "--cache 1",
        "l1cache": "--l1cache 1",
        "icache": "--icache 1",
        "bsearch": "--bsearch 1",
        "hsearch": "--hsearch 1",
    },
}
_QUICK: dict[Group, frozenset[str]] = {
    "memory": frozenset(("memcpy", "stream", "malloc", "vm-write64")),
    "cache": frozenset(("cache", "l1cache", "bsearch")),
    "string": frozenset(("str-strlen", "str-strchr", "str-strcmp", "str-strlcpy")),
    "matrix": frozenset(("matrix-prod", "matrix-add", "matrix-trans", "matrix-copy")),
}
"""What the quick form takes of the groups beside the CPU's, of which it takes all."""


class Stressor(NamedTuple):
    """One micro-benchmark: a name that is the same on every machine, its group and the options of stress-ng."""

    name: str
    group: Group
    options: tuple[str, ...]


def battery(methods: dict[Group, tuple[str, ...]], quick: bool = False) -> tuple[Stressor, ...]:
    """List every stressor, of the methods that this version of stress-ng has; a worker each."""
    found = [_of_method(group, method) for group, named in methods.items() for method in named if method != "all"]
    found += [
        Stressor(name, group, tuple(options.split()))
        for group, named in _OTHERS.items()
        for name, options in named.items()
    ]
    return tuple(one for one in found if not quick or one.name in _QUICK.get(one.group, {one.name}))


def unknown(stressors: tuple[Stressor, ...], names: Iterable[str]) -> dict[str, Stressor]:
    """Make a stressor of each name that this version does not list: it is run, and fails with its own reason."""
    known = {one.name for one in stressors}
    return {name: _named(name) for name in names if name not in known}


def _of_method(group: Group, method: str) -> Stressor:
    option = METHOD_OPTIONS[group]
    return Stressor(f"{option}-{method}", group, (f"--{option}", "1", f"--{option}-method", method))


def _named(name: str) -> Stressor:
    option, sign, method = name.partition("-")
    group = next((group for group, known in METHOD_OPTIONS.items() if known == option), None)
    if group is not None and sign:
        return _of_method(group, method)
    return Stressor(name, "cpu", (f"--{name}", "1"))
