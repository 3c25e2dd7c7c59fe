"""Where the control groups of this process lie, in the trees of version 2 and 1; light, since the watchdog loads it."""

from __future__ import annotations

import os
from pathlib import Path

MOUNT = Path("sys/fs/cgroup")
UNIFIED = "unified"
"""Where version 2 is mounted beside version 1."""


def unified(root: Path = Path("/")) -> Path | None:
    """Return the folder of the top group of version 2; None where it is not mounted."""
    tops = (root / MOUNT, root / MOUNT / UNIFIED)
    return next((top for top in tops if (top / "cgroup.controllers").exists()), None)


def own_groups(root: Path = Path("/"), process: str = "self") -> dict[str, list[Path]]:
    """Return, by controller, the folders from the group of a process up to the top; version 2 is the empty name."""
    groups: dict[str, list[Path]] = {}
    for line in own_lines(root, process):
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            top = root / MOUNT / controller if controller else unified(root)
            if top is not None and top.is_dir():
                groups[controller] = upwards(top, path)
    return groups


def own_lines(root: Path, process: str = "self") -> list[str]:
    """Return the lines of /proc/PROCESS/cgroup; none where there is no such file."""
    try:
        return (root / f"proc/{process}/cgroup").read_text().splitlines()
    except OSError:
        return []


def upwards(top: Path, path: str) -> list[Path]:
    """Return the folder of a group and those of its ancestors.

    In a container the path may be that of the host while only the container's own group is mounted, at the top.
    """
    group = Path(os.path.normpath(f"{top}/{path}"))
    if not (group.is_relative_to(top) and group.is_dir()):
        return [top]
    return [group, *group.parents[: len(group.parts) - len(top.parts)]]
