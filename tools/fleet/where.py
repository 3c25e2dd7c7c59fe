"""Where to run: what `--on` names, an address or a file."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ...knowledge.errors import VgoError
from ...knowledge.files import read_model
from ...knowledge.shape import Frozen

ADDRESS = re.compile(r"^[a-z]+://\S+$")
LOOPBACK = "127.0.0.1"
GO_ON = "then go on with `vgo-agent resume RUN` (a sweep by the same command, a study by --resume), or begin again"
"""What to do once there are hosts again."""
Kind = Literal["local", "ssh", "slurm", "pbs", "lsf", "kubernetes"]
QUEUED = ("slurm", "pbs", "lsf")


class Tls(Frozen):
    """Files that prove who we are to the cluster, and it to us."""

    ca: Path
    cert: Path
    key: Path


class Where(Frozen):
    """A scheduler that runs, or a cluster to start and to end again."""

    scheduler: str = ""
    """Address of a scheduler that runs: tcp://HOST:PORT or tls://HOST:PORT."""
    cluster: Kind | None = None
    """Or what starts one."""
    nodes: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Hosts to ask for."""
    hosts: tuple[str, ...] = ()
    """Of ssh: their names."""
    host: str = LOOPBACK
    """Address on which the scheduler and, where it is loopback, its workers listen."""
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Of that scheduler; 0: any."""
    tls: Tls | None = None
    options: dict[str, Any] = {}
    """Passed on to the library that starts the cluster, as they are."""
    start_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 300.0
    """Seconds for the hosts to come up; then those that are there are told."""
    silent_s: Annotated[float, Field(ge=2, allow_inf_nan=False)] = 30.0
    """Seconds without a sign of life after which a host, or the scheduler, is given up."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Where:
        if bool(self.scheduler) == bool(self.cluster):
            raise ValueError("name either `scheduler` or `cluster`")
        if self.scheduler and not ADDRESS.match(self.scheduler):
            raise ValueError("`scheduler` is an address such as tcp://10.0.0.1:8786")
        if self.cluster == "ssh" and not self.hosts:
            raise ValueError("ssh needs `hosts`, a list of names")
        if self.scheduler.startswith("tls") and self.tls is None:
            raise ValueError("a tls:// address needs `tls` with ca, cert and key")
        return self

    @property
    def name(self) -> str:
        """As messages name it."""
        return self.scheduler or f"the {self.cluster} cluster"


def read_where(on: str) -> Where:
    """Read what `--on` names; raise VgoError for what is neither an address nor such a file."""
    if ADDRESS.match(on):
        if on.startswith("tls:"):
            raise VgoError(
                f"--on {on} needs the files of TLS: write a YAML file with `scheduler: {on}` and `tls:` with ca, cert "
                "and key, and give that with --on."
            )
        return Where(scheduler=on)
    path = Path(on)
    if not os.path.exists(path):  # False for a word that is too long for a name
        raise VgoError(f"--on {on} is neither an address such as tcp://10.0.0.1:8786 nor a file; correct it.")
    where = read_model(path, Where)
    if where.tls is None:
        return where
    beside = {name: path.parent / file for name, file in where.tls.model_dump().items()}
    for name, file in beside.items():
        if not file.is_file():
            raise VgoError(f"{path}, tls.{name}: there is no file {file}; correct it there.")
    return where.model_copy(update={"tls": Tls.model_validate(beside)})


def one_line(error: object) -> str:
    """Say an error in one line."""
    return " ".join(str(error).split())[:200]


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
