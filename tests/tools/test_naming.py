"""A factor is named and looked up by columns whose names the machine completes."""

import numpy as np
import pytest

from vgo_agent.knowledge.loader import load
from vgo_agent.layers.loader import load_layers
from vgo_agent.layers.schema import Layer
from vgo_agent.tools.results import LookUpResult

from .profiles import Profiled, layer, outcomes

SHIPPED = {column.name: column for one in load_layers().values() for column in one.columns}


def scoped(made: Layer) -> Layer:
    """Let what a shipped layer counts be the run's own or the machine's as it is there."""
    columns = [
        column.model_copy(update={"scope": SHIPPED[column.name].scope, "innate": SHIPPED[column.name].innate})
        if column.name in SHIPPED
        else column
        for column in made.columns
    ]
    return made.model_copy(update={"columns": tuple(columns)})


def profiled(names, texts=(), seed=5, runs=120):
    """A diagnosis so far, in which all of the columns say together which runs are slow."""
    outcome, slow = outcomes(seed, runs)
    counts = np.random.default_rng(seed).integers(1, 9, runs) + np.where(slow, 100, 10)
    made = Profiled({"some": scoped(layer("some", names, texts=texts))}, knowledge=load())
    cells = [
        {name: ("powersave" if late else "performance") if name in texts else float(count) for name in names}
        for late, count in zip(slow, counts, strict=True)
    ]
    made.profile([(("some",), time, row) for time, row in zip(outcome, cells, strict=True)])
    return made


@pytest.mark.parametrize(
    ("names", "column", "factor"),
    [
        (["unheard_of", "disk.sda.read_bytes"], "disk.sda.read_bytes", "page_cache_misses"),
        (["disk.sda.busy_share", "disk.sda.read_wait_ms"], "disk.sda.read_wait_ms", "io_wait"),
        (["gpu.0.sm_mhz", "gpu.0.limit.sw_power_cap"], "gpu.0.limit.sw_power_cap", "gpu_throttling"),
        (["strace.munmap.calls", "strace.getpid.calls"], "strace.munmap.calls", "page_faults"),
        # What one factor makes is named by it; what has another cause beside it is not, nor what others make.
        (["perf.migrations", "minor_faults", "stat.processes"], "stat.processes", "process_creation"),
        (["perf.context_switches", "stat.processes"], "perf.context_switches", "context_switches"),
        (["run_delay_ms", "minor_faults", "stat.processes"], "run_delay_ms", "run_queue_wait"),
    ],
)
def test_columns_that_rise_together_are_named_after_the_most_actionable_factor(names, column, factor):
    for order in (names, names[::-1]):
        first = profiled(order).ranked().factors[0]
        assert (first.factor, first.column, set(first.members)) == (factor, column, set(names))


def test_one_value_of_a_text_is_named_after_the_factor_of_its_column():
    first = profiled(["freq.governor"], texts=["freq.governor"]).ranked().factors[0]
    assert first.factor == "cpu_frequency"
    assert first.column.startswith("freq.governor=")


@pytest.mark.parametrize(
    ("asked", "factor"),
    [("disk.nvme0n1.flush_ms", "synchronous_writes"), ("interference.top_command=cc1plus", "other_processes")],
)
def test_a_column_is_looked_up_by_the_pattern_that_it_fits(asked, factor):
    found = profiled(["unheard_of"]).call("look_up", factor=asked)
    assert isinstance(found, LookUpResult)
    assert (found.factor, found.found_by) == (factor, "column")


@pytest.mark.parametrize(
    ("metric", "longest", "aside"), [("x (.*)", 20, True), ("x (.*)", 4000, False), (None, 20, False)]
)
def test_the_digits_of_a_printed_metric_do_not_explain_it(metric, longest, aside):
    outcome, slow = outcomes(3, 120)
    made = Profiled({"process": load_layers()["process"]}, knowledge=load(), metric=metric)
    made.profile(
        [
            (("process",), time, {"write_chars": longest if late else 15})
            for time, late in zip(outcome, slow, strict=True)
        ]
    )
    ranked = made.ranked()
    assert ("as what is printed does" in ranked.set_aside.get("write_chars", "")) == aside
    assert aside or "write_chars" in {*ranked.set_aside, *(factor.column for factor in ranked.factors)}
