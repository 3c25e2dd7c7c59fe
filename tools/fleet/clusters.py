"""Reach a Dask cluster, or start one, and wait until its hosts are there; every wait has an end."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ipaddress
import logging
import signal
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from multiprocessing import resource_tracker
from typing import Any

import dask
from distributed import Client
from distributed.comm.core import CommClosedError
from distributed.security import Security
from distributed.utils import LoopRunner

from ...knowledge.errors import VgoError
from .link import BENCH, Link, Worker
from .where import Where, one_line

CONNECT_S = 10.0
FIRST_S = 10.0
"""For the first worker of a scheduler that runs already."""
PAUSE_S = 0.2
QUEUES = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "lsf": "LSFCluster"}
HEALTH = "127.0.0.1:0"
"""Where Dask answers HTTP about its health, with or without a dashboard."""
WORKER = ("--resources", f"{BENCH}=1", "--no-dashboard", "--dashboard-address", HEALTH)
AT_ONCE = {"distributed.scheduler.allowed-failures": 0}
"""Of a scheduler that we start: what a lost worker did is told, and we say where it is made again."""


@contextlib.contextmanager
def linked(where: Where) -> Iterator[Link]:
    """Give the link to a cluster that runs, or that is started and ended again."""
    silence()
    with dask.config.set(AT_ONCE), contextlib.ExitStack() as stack:
        address: Any = where.scheduler
        if where.cluster:
            address = stack.enter_context(contextlib.closing(start(where)))
        try:
            client = Client(address, security=security_of(where), timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, CommClosedError, ValueError) as error:
            raise VgoError(unreached(where, error)) from error
        stack.callback(_close, client)
        yield Link(client, where)


def silence() -> None:
    """Have no library tell what goes wrong in its own way: it is told in one sentence."""
    for name in ("asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("asyncio", "distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _close(client: Client) -> None:
    with contextlib.suppress(TimeoutError, asyncio.CancelledError, OSError, CommClosedError):
        client.close(timeout=CONNECT_S)


def unreached(where: Where, error: Exception) -> str:
    """Say why there is no line to a scheduler, and what to look at."""
    said = one_line(error)
    if "TLS" in said or "SSL" in said or "ssl" in said:
        return f"The scheduler at {where.name} refuses our TLS ({said}): give it the files `tls` of its own authority."
    return (
        f"No Dask scheduler answers at {where.name} within {CONNECT_S:g} s: start one with `dask scheduler`, or see "
        "whether the address, TLS and the firewall between are right."
    )


def security_of(where: Where) -> Security | None:
    """Dask's TLS, with nothing sent in the clear."""
    if where.tls is None:
        return None
    ca, cert, key = str(where.tls.ca), str(where.tls.cert), str(where.tls.key)
    named = {
        f"tls_{role}_{what}": file
        for role in ("client", "scheduler", "worker")
        for what, file in (("cert", cert), ("key", key))
    }
    return Security(tls_ca_file=ca, require_encryption=True, **named)


def start(where: Where) -> Any:
    """Start what the file names; raise VgoError where that fails."""
    try:
        return STARTS[str(where.cluster)](where)
    except (OSError, RuntimeError, ValueError, TypeError, TimeoutError) as error:
        raise VgoError(
            f"The {where.cluster} cluster cannot be started ({_said(error)}): correct `options`, `host` and `nodes`."
        ) from error


def _local(where: Where) -> Any:
    from distributed import LocalCluster

    with _deaf_loop() as loop:
        return LocalCluster(
            n_workers=where.nodes,
            threads_per_worker=1,
            host=where.host,
            scheduler_port=where.port,
            dashboard_address=None,
            security=security_of(where),
            protocol="tls://" if where.tls else None,
            resources={BENCH: 1},
            loop=loop,
            **{"silence_logs": logging.CRITICAL, **where.options},
        )


@contextlib.contextmanager
def _deaf_loop() -> Iterator[Any]:
    """Give a loop in a thread that hears no terminal, nor do the processes that it starts: they are ended by us."""
    runner = LoopRunner()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        resource_tracker.ensure_running()  # which lets its starter hear Ctrl-C again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield runner.loop
    finally:
        runner.stop()  # in truth when the cluster has done with it, too


def _scheduler(where: Where) -> dict[str, Any]:
    return {"host": where.host, "port": where.port, "dashboard": False, "dashboard_address": HEALTH}


def _ssh(where: Where) -> Any:
    from distributed import SSHCluster

    options = dict(where.options)
    scheduler = {**_scheduler(where), **options.pop("scheduler_options", {})}
    listen = {"host": where.host} if loopback(where.host) else {}
    worker = {"nthreads": 1, "resources": {BENCH: 1}, "dashboard_address": HEALTH, **listen}
    worker |= options.pop("worker_options", {})
    return SSHCluster([where.host, *where.hosts], scheduler_options=scheduler, worker_options=worker, **options)


def _queue(where: Where) -> Any:
    options = {"cores": 1, "processes": 1, "memory": "1GiB", **where.options}
    listen = ("--host", where.host) if loopback(where.host) else ()
    extra = [*WORKER, *listen, *options.pop("worker_extra_args", [])]
    cluster = getattr(import_module("dask_jobqueue"), QUEUES[str(where.cluster)])(
        scheduler_options=_scheduler(where),
        worker_extra_args=extra,
        security=security_of(where),
        protocol="tls://" if where.tls else "tcp://",
        **options,
    )
    while len(cluster.worker_spec) < where.nodes:
        cluster.worker_spec.update(cluster.new_worker_spec())
    try:
        cluster.sync(cluster._correct_state_internal)  # `scale` would not tell of a job that is refused
    except RuntimeError:
        for job in [job for job in cluster._created if job.status.name == "created"]:  # refused: nothing to end
            cluster._created.discard(job)
        cluster.worker_spec.clear()
        cluster.close()
        raise
    return cluster


def _kubernetes(where: Where) -> Any:
    made = import_module("dask_kubernetes.operator.kubecluster.kubecluster")
    try:
        return made.KubeCluster(
            n_workers=where.nodes,
            worker_command=["dask-worker", "--nthreads", "1", *WORKER],
            **{"name": "vgo-agent", **where.options},
        )
    except (OSError, RuntimeError, ValueError, TypeError, TimeoutError):
        atexit.unregister(
            made.reap_clusters
        )  # what was begun is ended here; at exit the same would fail with a traceback
        for begun in list(made.KubeCluster._instances):
            with contextlib.suppress(OSError, RuntimeError, ValueError, TimeoutError):
                begun.close(timeout=CONNECT_S)
        raise


def _said(error: Exception) -> str:
    """What a batch system said, where it is in the error, in one line."""
    return one_line(str(error).rpartition("stderr:")[2] or error)


STARTS = {"local": _local, "ssh": _ssh, **dict.fromkeys(QUEUES, _queue), "kubernetes": _kubernetes}


def loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def come(link: Link) -> Mapping[str, Worker]:
    """Wait for the workers that were asked for, or for the first of a scheduler that runs already."""
    where = link.where
    wanted, limit_s = (where.nodes, where.start_s) if where.cluster else (1, FIRST_S)
    until_s = time.monotonic() + limit_s
    while len(there := link.workers()) < wanted and time.monotonic() < until_s:
        time.sleep(PAUSE_S)
    if not there:
        raise VgoError(
            f"{where.name[0].upper()}{where.name[1:]} has no worker after {limit_s:g} s: start one on each host with "
            f"`dask worker ADDRESS --nthreads 1 --resources {BENCH}=1`, or see the logs of the jobs."
        )
    return there
