"""Why slow runs are longer on a CPU: other code, more of some function, more events, a neighbour, or none of that."""

import numpy as np
import pytest

from vgo_agent.knowledge.time_states import TimeState
from vgo_agent.layers.probes.opened import CpuSamples, OpenedPart, OpenedRun, overlap
from vgo_agent.layers.probes.region import FoundBy
from vgo_agent.layers.probes.shared_lines import LineSamples, SharedLine
from vgo_agent.tools.ledger.causes import causes
from vgo_agent.tools.ledger.ledger import ledger_of_split
from vgo_agent.tools.ledger.split import SplitRuns, by_function, on_cpu

RUNS = 30
SLOW = np.arange(RUNS) % 3 == 0
F, G = "f in prog", "g in libg.so"


def ledger(ms, seed=1, started=None, faults=None, beside=None, same_core=True, lines=(), calls=None, files=()):
    """The ledger of runs that are on a CPU alone, `ms` (runs,) in each function, sampled at 1 kHz."""
    chance = np.random.default_rng(seed)
    time = np.sum(list(ms.values()), axis=0)
    opened = tuple(
        OpenedRun(
            (OpenedPart(TimeState.ON_CPU, TimeState.ON_CPU, "prog", "", float(time[at]), 1, ()),),
            tuple(CpuSamples("prog", "", "user", name, int(chance.poisson(each[at]))) for name, each in ms.items()),
            {"openat ENOENT": 7},
            0 if started is None else int(started[at]),
            int(time[at]),
            0.0 if beside is None else float(beside[at] * time[at]),
            same_core,
            files=files,
        )
        for at in range(RUNS)
    )
    events = {} if faults is None else {"minor_faults": np.asarray(faults, dtype=np.float64)}
    events |= {} if calls is None else {"calls.f": np.asarray(calls, dtype=np.float64)}
    split = SplitRuns(
        time, {"user": time}, opened, found_by=FoundBy.RUN, fits=True, left_out=0, lines=lines, events=events
    )
    return ledger_of_split("stacks", split, seed)


def on_cpu_alone(time_ms, runs):
    return SplitRuns(time_ms, {"user": time_ms}, tuple(runs), found_by=FoundBy.RUN, fits=True, left_out=0)


def told(**runs):
    """Evidence on the time on a CPU; what the verdict says of it is said of that state alone."""
    found = ledger(**runs)
    assert found is not None and found.on_cpu is not None
    assert found.why("user") == found.on_cpu.short and not found.why("sleep")
    return found.on_cpu


def noise(seed, scale=1.0):
    return np.random.default_rng(seed).normal(0, scale, RUNS)


def test_code_that_fast_runs_hardly_execute_is_named():
    found = told(ms={F: 60 + noise(1), G: np.where(SLOW, 40.0, 0.1) + abs(noise(2, 0.1))})
    assert found.reading == "other code" and [one.function for one in found.functions] == [G]
    assert found.short == f"slow runs execute {G}, which fast ones hardly do" and "other work" in found.sentence


def test_a_gap_that_lies_in_one_function_is_more_calls_of_it_or_longer_ones():
    found = told(ms={F: 60 + noise(1), G: np.where(SLOW, 80.0, 30.0) + noise(2)})
    assert found.reading == "concentrated" and [one.function for one in found.functions] == [G]
    assert found.short == f"more calls of {G}, or longer ones" and "other functions take as long" in found.sentence
    both = told(ms={F: np.where(SLOW, 120.0, 60.0) + noise(1), G: np.where(SLOW, 80.0, 10.0) + noise(2)})
    assert both.reading == "unequal" and [one.function for one in both.functions] == [G]


def test_functions_that_are_alike_leave_other_work_where_times_have_no_levels_and_layout_where_they_do():
    size = np.random.default_rng(7).uniform(1, 3, RUNS)
    found = told(ms={F: 60 * size, G: 30 * size})
    assert found.reading == "alike" and found.ratio > 1.5 and found.levels == 1 and not found.functions
    assert "fix the input and the seed" in found.sentence and found.short.endswith("another speed of the CPU, unproved")
    levels = np.where(SLOW, 1.2, 1.0) + noise(3, 0.005)
    found = told(ms={F: 600 * levels, G: 300 * levels})
    assert found.reading == "alike" and found.levels == 2
    assert "randomisation_off" in found.sentence and "unproved" in found.sentence and "layout" in found.short


def test_a_gap_that_a_few_samples_could_not_show_is_not_said_to_be_alike():
    found = told(ms={F: 3 + 0.3 * SLOW + noise(1, 0.01), G: 2 + 0.2 * SLOW + noise(2, 0.01)})
    assert found.reading == "few samples" and not found.short and "do not tell" in found.sentence
    assert found.runs_needed > RUNS and f"some {found.runs_needed} runs would tell" in found.sentence


def test_events_that_grow_with_the_time_are_more_work_and_those_that_do_not_or_hardly_are_not():
    size = np.random.default_rng(7).uniform(1, 3, RUNS)
    ms = {F: 60 * size, G: 30 * size}
    found = told(ms=ms, faults=300 * size + 2000, started=np.round(5 * size))
    assert [one.what for one in found.events] == ["minor_faults", "threads and processes started"]
    assert "more work" in found.sentence and "unproved" not in found.sentence and "minor_faults" in found.short
    assert not told(ms=ms, faults=np.round(2500 + size), started=noise(4, 3) + 20).events


@pytest.mark.parametrize("same_core", [True, False])
def test_a_busy_neighbour_is_told_only_where_the_time_goes_with_it(same_core):
    share = np.random.default_rng(5).uniform(0, 1, RUNS)
    size = 1 + 0.3 * share + noise(6, 0.01)
    found = told(ms={F: 300 * size, G: 100 * size}, beside=share, same_core=same_core)
    assert found.neighbour is not None and found.neighbour.slow > found.neighbour.fast
    assert ("of the core" in found.sentence) == same_core == ("of the core" in found.short)
    assert told(ms={F: 300 * size, G: 100 * size}, beside=1 - share).neighbour is None
    for of_no_matter in (np.full(RUNS, 0.5), 0.9 + 0.04 * share):
        assert told(ms={F: 300 * size, G: 100 * size}, beside=of_no_matter).neighbour is None


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_shared_cache_line_is_named_and_is_the_reason_only_where_slow_runs_have_more_of_it(everywhere):
    share = np.where(SLOW | everywhere, 60, 0)
    line = SharedLine("a+0x0 and b+0x0 in prog", ("f in prog",), 2, 2, True, False, 0)
    lines = tuple(LineSamples(100, (line._replace(samples=int(each)),) if each else ()) for each in share)
    found = told(ms={F: 60 + 60 * SLOW + noise(1)}, lines=lines)
    assert "a+0x0 and b+0x0 in prog" in found.sentence and "false sharing" in found.sentence
    assert found.lines[0].grows != everywhere and found.short.startswith("threads on two CPUs write") != everywhere
    assert ("pin_to_cpu" in found.sentence) == everywhere
    few = tuple(run._replace(samples=2000) for run in lines)
    assert not told(ms={F: 60 + 60 * SLOW + noise(1)}, lines=few).lines


def test_of_calls_that_were_counted_more_and_as_many_are_told_apart_and_else_nothing_is_said():
    ms = {F: 60 + 60 * SLOW + noise(1)}
    more = told(ms=ms, calls=20 + 20 * SLOW)
    assert more.calls[0].more and "f is called 40 times a slow run, 20 a fast one: more work" in more.sentence
    assert more.short == "slow runs call f more often" and "unproved" not in more.sentence
    alike = told(ms=ms, calls=np.full(RUNS, 20))
    assert alike.calls[0].alike and alike.short == "f is called as often, and each call takes longer"
    unsure = told(ms=ms, calls=np.round(20 + noise(4, 8)))
    assert not (unsure.calls[0].more or unsure.calls[0].alike) and "more work" not in unsure.sentence


def test_what_would_count_the_calls_is_told_where_nothing_tells_more_work_and_the_function_has_a_symbol():
    ms, files = {F: 60 + 60 * SLOW + noise(1), G: 20 + noise(2)}, ("/opt/prog", "/lib/libg.so")
    assert told(ms=ms, files=files).to_count == "calls:function=f,binary=/opt/prog"
    assert not told(ms=ms).to_count and not told(ms=ms, files=files, calls=20 + SLOW).to_count
    for name in ("code without a symbol", "main", "_start", "start_thread", "__clone3", "__libc_start_call_main"):
        assert not told(ms={f"{name} in prog": ms[F]}, files=files).to_count
    assert not told(ms=ms, files=files, faults=300 + 300 * SLOW).to_count


def test_functions_with_few_samples_are_together_so_that_parts_add_up_and_first_where_they_hold_the_gap():
    many = {f"f{place} in libmany.so": np.where(SLOW, 1.2, 0.05) for place in range(20)}
    found = ledger(ms={F: 60 + noise(1), **many})
    assert found is not None
    first = found.cause_of("user")
    assert first is not None and first.pooled and first.gap_interval.low > 10
    assert first.what.startswith("other functions in libmany.so (fewer than 20 samples each")
    assert sum(one.gap_ms for one in found.causes) == pytest.approx(found.shares.gap_ms, abs=3)


def test_the_caller_is_named_below_which_the_gap_lies_not_one_that_calls_everything():
    more, chance = 30.0 * SLOW, np.random.default_rng(5)
    runs = [
        OpenedRun(
            (OpenedPart(TimeState.ON_CPU, TimeState.ON_CPU, "prog", "", 60 + more[at], 1, ()),),
            tuple(CpuSamples("prog", "", "user", f"f{place} in p", int(60 + more[at]) // 3) for place in range(3)),
            *({}, 0, 0, 0.0, True, {}),
            {"main in p": int(60 + more[at]), "collects in p": int(more[at] + chance.integers(5)), "works in p": 50},
        )
        for at in range(RUNS)
    ]
    found = causes(on_cpu_alone(60 + more + noise(2, 0.1), runs), "user", SLOW, (), seed=1)
    assert found[0].caller == "collects in p" and "below collects in p" in found[0].words
    everything = [run._replace(under={"main in p": run.under["main in p"]}) for run in runs]
    assert not causes(on_cpu_alone(60 + more, everything), "user", SLOW, (), seed=1)[0].caller


@pytest.mark.parametrize("mean_ms", [0.4, 1.5, 6.0])
def test_parts_never_hold_more_than_their_state_however_few_samples_there_are(mean_ms):
    ms = {F: mean_ms * (1 + SLOW + abs(noise(1, 0.1))), G: np.full(RUNS, mean_ms)}
    found = ledger(ms=ms)
    assert found is not None and found.causes
    assert sum(one.gap_ms for one in found.causes) == pytest.approx(found.shares.gap_ms)


def test_time_on_a_cpu_with_hardly_a_sample_is_not_divided():
    sample = CpuSamples("prog", "", "user", F, 1)
    part = OpenedPart(TimeState.ON_CPU, TimeState.ON_CPU, "prog", "", 0.5, 1, ())
    runs = [OpenedRun((part,), (sample,) if at < 15 else (), {}, 0, 0) for at in range(RUNS)]
    time = 0.5 + 0.5 * SLOW
    assert [*on_cpu(time, runs)] == [TimeState.ON_CPU] and on_cpu(time, runs)[TimeState.ON_CPU].tolist() == [*time]
    assert sum(on_cpu(time, [runs[0]] * RUNS).values()) == pytest.approx(time)


def test_every_sample_of_the_program_is_counted_once():
    run = OpenedRun((), tuple(CpuSamples("p", "", "user", f"f{at} in l{at % 3}.so", at) for at in range(40)), {}, 0, 0)
    found = by_function((run, run), lambda one: (one.kind,))
    assert sum(each.sum() for each in found.values()) == 2 * sum(range(40))
    assert ("f30 in l0.so", "user") in found and ("other functions in l0.so", "user") in found


def test_an_older_table_has_nothing_beside():
    assert OpenedRun.read('[[],[],{"read EAGAIN":3},1,2]') == OpenedRun((), (), {"read EAGAIN": 3}, 1, 2)
    run = OpenedRun((), (), {}, 1, 2, 0.25, True, {"b": 7}, {"main in p": 3}, ("/opt/p",), 4)
    assert OpenedRun.read(run.text()) == run


def test_time_with_any_of_some_intervals_is_counted_once():
    assert overlap([(0, 10), (5, 20), (30, 40)], [(8, 12), (15, 35)]) == 4 + 5 + 5
    assert overlap([], [(0, 9)]) == overlap([(0, 9)], []) == overlap([(0, 9)], [(9, 12)]) == 0
