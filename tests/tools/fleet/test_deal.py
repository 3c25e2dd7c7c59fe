"""Dealing blocks to hosts: every run is made once, in equal shares, whatever is lost."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as some

from vgo_agent.tools.execution.series import BARRIER, Block
from vgo_agent.tools.fleet.host import Dealer, runs_in

HOSTS = ("a", "b", "c", "d")


def blocks_of(count: int) -> list[Block]:
    return [Block(pair, ("baseline", "other")) for pair in range(count)]


@settings(deadline=None)
@given(
    count=some.integers(0, 60),
    hosts=some.integers(1, 4),
    most=some.integers(1, 9),
    seed=some.integers(0, 1000),
    losses=some.integers(0, 6),
)
def test_every_block_is_made_once_whatever_is_lost(count, hosts, most, seed, losses):
    chance, made, left = random.Random(seed), Counter[Block](), losses
    dealer = Dealer.of(blocks_of(count), HOSTS[:hosts], str(seed))
    while not dealer.ended:
        for host, given_ in dealer.deal(most):
            assert dealer.flying[host] == given_ and given_
        landing = chance.choice(sorted(dealer.flying)) if dealer.flying else None
        if landing and left and chance.random() < 0.3:
            left -= 1
            dealer.lose(landing)
            dealer.join(landing)
        elif landing:
            made.update(dealer.flying[landing])
            dealer.finish(landing)
    assert made == Counter(blocks_of(count))


@settings(deadline=None)
@given(hosts=some.integers(2, 4), most=some.integers(1, 9), seed=some.integers(0, 1000))
def test_no_host_is_ahead_of_another_by_more_than_a_message(hosts, most, seed):
    chance = random.Random(seed)
    dealer = Dealer.of(blocks_of(100), HOSTS[:hosts], str(seed))
    while not dealer.ended:
        for _ in dealer.deal(most):
            assert max(dealer.done.values()) - min(dealer.done.values()) <= most + 1 + most
        if dealer.flying:
            dealer.finish(chance.choice(sorted(dealer.flying)))
    assert max(dealer.done.values()) - min(dealer.done.values()) <= 2 * (most + 1)


def test_a_barrier_waits_for_all_before_it():
    first, second = blocks_of(3), [Block(9, ("late",))]
    dealer = Dealer.of([*first, BARRIER, *second], HOSTS[:2], "seed")
    seen: list[Block] = []
    while not dealer.ended:
        for _, given_ in dealer.deal(1):
            if second[0] in given_:
                assert seen == first or sorted(seen, key=str) == sorted(first, key=str)
                assert given_ == (second[0],)
        for host in sorted(dealer.flying):
            seen += dealer.flying[host]
            dealer.finish(host)
    assert Counter(seen) == Counter([*first, *second])


def test_once_it_is_enough_nothing_is_dealt_and_nothing_made_again():
    dealer = Dealer.of(blocks_of(50), HOSTS[:2], "seed")
    assert len(list(dealer.deal(2))) == 2
    dealer.stop()
    assert dealer.lose("a") == runs_in(blocks_of(1))
    assert not list(dealer.deal(2))
    assert not dealer.ended
    dealer.finish("b")
    assert dealer.ended


def test_who_begins_differs_from_round_to_round():
    first = {next(iter(Dealer.of(blocks_of(4), HOSTS, str(seed)).deal(1)))[0] for seed in range(40)}
    assert first == set(HOSTS)
