"""`layers --on`: what can be measured on each host of a cluster, told before anything else runs there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .options import Answering

if TYPE_CHECKING:
    from ...tools.document import Block
    from ...tools.fleet.bench import Checked
    from ...tools.fleet.host import Host
    from ...tools.subject import Subject

HEADER = ("host", "workers", "Python", "kernel", "CPU", "clock", "rights", "trial")


def checked_hosts(command: Answering, subject: Subject, layers: Sequence[str]) -> int:
    """Look at every host; 1 where some cannot be used, or differ and may not."""
    from ...tools.fleet.where import read_where, refuse_missing

    refuse_missing(read_where(subject.on))
    from ...tools.fleet.bench import checked

    with checked(subject, layers) as found:
        command.answer(summary(found), tuple(summary_blocks(found)))
        usable = bool(found.usable) and (subject.mixed or not (found.problems or found.unlike))
        return 0 if usable else 1


def summary(found: Checked) -> dict[str, Any]:
    """Give the object that `--json` prints."""
    return {
        "hosts": [_json(host) for host in found.hosts],
        "problems": list(found.problems),
        "differences": list(found.unlike),
    }


def _json(host: Host) -> dict[str, Any]:
    sight = host.sight
    return {
        "host": host.name,
        "workers": host.workers,
        "python": host.first.python,
        "versions": host.first.versions,
        "kernel": host.first.kernel,
        "clock_offset_s": host.offset_s,
        "clock_error_s": host.error_s,
        "exclusive": host.exclusive,
        "problems": host.problems,
        "trial_s": sight.wall_s if sight else None,
        "files": sight.files if sight else {},
        "absent": sight.layers if sight else {},
        "machine": sight.machine.model_dump(mode="json") if sight else None,
    }


def summary_blocks(found: Checked) -> Iterator[Block]:
    """Give the same as blocks."""
    from ...tools.document import Facts, Listing, Section, Table

    yield Table(HEADER, [_row(host) for host in found.hosts])
    yield Section("Layers", (Facts(tuple(_layers(found.usable))),))
    yield Section("Not usable", (Listing(tuple(found.problems)),))
    yield Section("The hosts differ in", (Listing(tuple(found.unlike)),))
    if found.usable and not found.problems and not found.unlike:
        hosts = len(found.hosts)
        yield f"All {hosts} hosts can be used, and are alike." if hosts > 1 else "The host can be used."


def _row(host: Host) -> tuple[str, ...]:
    sight = host.sight
    clock = f"{1e3 * host.offset_s:+.1f} ms ±{1e3 * host.error_s:.1f}"
    first = (host.name, str(len(host.workers)), host.first.python, host.first.kernel)
    if sight is None:
        return (*first, "", clock, "", "")
    machine = sight.machine
    rights = "root" if machine.root else ", ".join(machine.capabilities) or "user"
    return (*first, f"{len(machine.cpus)} x {machine.cpu[:30]}", clock, rights, f"{sight.wall_s:.4g} s")


def _layers(hosts: Sequence[Host]) -> list[tuple[str, str]]:
    specs = dict.fromkeys(spec for host in hosts if host.sight for spec in host.sight.layers)
    return [(spec, _shown(spec, hosts)) for spec in specs]


def _shown(spec: str, hosts: Sequence[Host]) -> str:
    absent = {host.name: host.sight.layers[spec] for host in hosts if host.sight}
    none = {name: its[""] for name, its in absent.items() if "" in its}
    partly = {name: len(its) for name, its in absent.items() if its and "" not in its}
    full = len(absent) - len(none) - len(partly)
    said = [f"all columns on {full} of {len(absent)} hosts"] if full else []
    said += [f"{next(iter(partly.values()))} columns missing on {', '.join(partly)}"] if partly else []
    said += [f"nothing on {', '.join(none)} ({next(iter(none.values())).rstrip('.')})"] if none else []
    return "; ".join(said)
