"""Which layers are on in which run: the laws of the rotation."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.tools.experiment.schedules import BARE, LEAST_BARE, layer_sets, rotated, without_included

LAYERS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=8, unique=True)
law = settings(derandomize=True, deadline=None)


@law
@given(LAYERS, st.sets(st.sampled_from("abcdefghij")))
def test_two_heavy_layers_at_most_are_on_together_and_each_has_its_turn(layers, heavy):
    sets = layer_sets(layers, heavy)
    dear = [layer for layer in layers if layer in heavy]
    assert all(sum(layer in heavy for layer in one) <= 2 for one in sets)
    assert Counter(layer for one in sets for layer in one if layer in heavy) == Counter(dear)


@law
@given(LAYERS, st.sets(st.sampled_from("abcdefghij")))
def test_light_layers_are_on_in_every_profiled_run_and_once_alone(layers, heavy):
    light = tuple(layer for layer in layers if layer not in heavy)
    sets = layer_sets(layers, heavy)
    assert all(set(light) <= set(one) for one in sets)
    assert not light or sets[0] == light
    assert all(list(one) == [layer for layer in layers if layer in one] for one in sets)


@law
@given(LAYERS, st.sets(st.sampled_from("abcdefghij")), st.integers(2, 90), st.integers(0, 9))
def test_each_set_has_its_share_of_every_stretch_and_bare_runs_lie_between(layers, heavy, runs, seed):
    sets = layer_sets(layers, heavy)
    order = rotated(sets, runs, seed)
    assert order == rotated(sets, runs, seed)
    counts = Counter(order)
    assert all(counts[one] == runs for one in sets)
    assert counts[BARE] == min(max(LEAST_BARE, -(-len(sets) * runs // 3)), runs)
    for end in range(len(order)):
        shares = Counter(order[:end])
        profiled = [shares[one] for one in sets]
        assert max(profiled) - min(profiled) <= 3
        assert abs(shares[BARE] - counts[BARE] * end / len(order)) <= 2


def test_a_layer_that_is_included_in_a_heavy_one_is_off_beside_it():
    sets = layer_sets(["process", "ledger", "stacks"], {"stacks"}, (), {"stacks": ["ledger"]})
    assert sets == (("process", "ledger"), ("process", "stacks"))
    assert layer_sets(["ledger", "stacks"], {"stacks"}, (), {"stacks": ["ledger"]}) == (("ledger",), ("stacks",))


def test_few_runs_are_not_cut_in_two_by_layers_of_which_one_includes_the_other():
    included = {"stacks": ["ledger"]}
    sets = layer_sets(["process", "ledger", "stacks"], {"stacks"}, (), included)
    assert without_included(sets, included, 20) == (("process", "stacks"),)
    assert without_included(sets, included, 100) == sets
    apart = layer_sets(["process", "strace"], {"strace"}, {"strace"})
    assert without_included(apart, {}, 20) == apart


def test_another_seed_gives_another_order():
    sets = layer_sets(["process", "strace"], {"strace"})
    assert rotated(sets, 50, 1) != rotated(sets, 50, 2)


@law
@given(st.integers(2, 120), st.integers(1, 60), st.integers(1, 200), st.integers(0, 9))
def test_a_set_of_which_few_are_made_has_its_share_of_the_runs_that_fit_into_the_time(runs, most, fit, seed):
    light, heavy = sets = (("process", "ledger"), ("process", "stacks"))
    order = rotated(sets, runs, seed, {heavy: most}, fit)
    counts, first = Counter(order), Counter(order[:fit])
    assert (counts[light], counts[heavy]) == (runs, min(runs, most))
    assert first[heavy] >= min(counts[heavy], first[light]) - 2
    assert Counter(rotated(sets, runs, seed, {heavy: most})) == counts
