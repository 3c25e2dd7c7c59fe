"""Libraries that a cluster needs, told before they are imported."""

from __future__ import annotations

from importlib.util import find_spec

from ...knowledge.errors import VgoError
from .where import Where

QUEUED = ("slurm", "pbs", "lsf")


def refuse_missing(where: Where) -> None:
    """Raise VgoError where a library is not installed."""
    needed = {"distributed": "cluster"}
    if where.cluster == "ssh":
        needed["asyncssh"] = "cluster"
    if where.cluster in QUEUED:
        needed["dask_jobqueue"] = "cluster"
    if where.cluster == "kubernetes":
        needed["dask_kubernetes"] = "kubernetes"
    for name, extra in needed.items():
        if find_spec(name) is None:
            raise VgoError(f"--on needs {name.replace('_', '-')}: pip install 'vgo-agent[{extra}]'.")
