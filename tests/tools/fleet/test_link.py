"""The line to a scheduler: many answers are fetched at once, and one that fails takes no other with it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from distributed import Client, LocalCluster  # noqa: E402 - needs the extra

from vgo_agent.tools.fleet.clusters import silence  # noqa: E402
from vgo_agent.tools.fleet.link import BENCH, Landed, Link  # noqa: E402
from vgo_agent.tools.fleet.where import Where  # noqa: E402

WORKERS = 6


@pytest.fixture(scope="module")
def link() -> Iterator[Link]:
    silence()
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "resources": {BENCH: 1}}
    with (
        LocalCluster(n_workers=WORKERS, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(WORKERS, timeout=60)
        yield Link(client, Where(cluster="local", nodes=WORKERS))


def landed_of(link: Link, count: int) -> list[Landed]:
    found: list[Landed] = []
    until_s = time.monotonic() + 30
    while len(found) < count and time.monotonic() < until_s:
        if landed := link.landed(0.5):
            found.append(landed)
    return found


def answer(place: int) -> str:
    if place == 0:
        raise RuntimeError("this host is broken")
    return f"answer {place}"


def test_each_host_gives_its_own_answer_and_the_one_that_fails_says_why(link):
    workers = list(link.workers(now=True))
    for _ in range(5):
        for place, worker in enumerate(workers):
            link.send(worker, answer, place)
        found = {workers.index(one.worker): one for one in landed_of(link, WORKERS)}
        assert {place: one.value for place, one in found.items() if place} == {
            place: f"answer {place}" for place in range(1, WORKERS)
        }
        assert "this host is broken" in found[0].lost and found[0].value is None
        assert all(not one.lost and one.sent_s <= one.landed_s for place, one in found.items() if place)


def test_what_was_given_up_is_not_heard_of_again(link):
    workers = list(link.workers(now=True))
    link.send(workers[1], time.sleep, 0.3)
    link.forget(workers[1])
    link.send(workers[2], answer, 2)
    assert [one.worker for one in landed_of(link, 1)] == [workers[2]]
    link.send(workers[1], answer, 1)
    assert [one.value for one in landed_of(link, 1)] == ["answer 1"]
    assert link.landed(0.5) is None
