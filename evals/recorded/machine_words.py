"""The machine of a measurement in words."""

from __future__ import annotations

import os

from ...tools.machine import Machine

GIGABYTE = 1e9


def machine_words(machine: Machine) -> str:
    """Describe it for a reader: hardware, kernel, what it is shared with as far as that shows, how busy it was.

    To be called when all is measured: the load at the end is that of now.
    """
    allowed = f"{len(machine.cpus)} of {machine.online} CPUs" if machine.online else f"{len(machine.cpus)} CPUs"
    words = [
        f"{machine.cpu} ({machine.architecture}), {allowed}, {machine.memory_bytes / GIGABYTE:.0f} GB",
        f"virtual ({machine.virtual})" if machine.virtual else "no hypervisor seen",
        f"Linux {machine.kernel}, {machine.distribution}",
        f"{'root' if machine.root else 'not root'}, load {machine.load_1min:.2f} when it began, "
        f"{os.getloadavg()[0]:.2f} when it ended",
    ]
    return "; ".join(words)
