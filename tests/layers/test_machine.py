"""Counters of the machine: what comes, goes or falls in mid-run empties cells and never lies."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.probes import machine

INTERRUPTS = """\
           CPU0       CPU1
  7:         10         20  IO-APIC 5-edge  disk
LOC:        100        200  Local timer interrupts
"""
VMSTAT = "pgfault 100\npgfree 50\n"


@pytest.fixture
def between(tmp_path):
    """Open a file that says one thing before a run and another after it."""
    opened = []

    def open_(name, first, columns):
        path = tmp_path / name
        path.write_text(first)
        prefix, parse = {"interrupts": ("irq.", machine.parse_interrupts), "vmstat": ("vm.", machine.parse_vmstat)}[
            name
        ]
        part = machine.CounterFile(
            machine.MachineFile(str(path), (prefix,), parse, "another kernel", head=name == "interrupts"), columns
        )
        opened.append(part)

        def run(text):
            part.before()
            path.write_text(text)
            part.after()
            return part.values()

        return part, run

    yield open_
    for part in opened:
        part.close()


def test_a_cpu_that_goes_or_comes_empties_the_cells_of_that_run_alone(between):
    part, run = between("interrupts", INTERRUPTS, ["irq.device", "irq.LOC"])
    one = INTERRUPTS.replace("       CPU1", "").replace("         20", "").replace("        200", "")
    assert run(one) == {}
    assert run(one.replace(" 10 ", " 13 ")) == {"irq.device": 3.0, "irq.LOC": 0.0}
    assert run(INTERRUPTS) == {}
    assert part.absent() == {}


def test_an_interrupt_line_that_appears_is_counted_from_its_first_interrupt_on(between):
    part, run = between("interrupts", INTERRUPTS, ["irq.device", "irq.MCE"])
    assert list(part.absent()) == ["irq.MCE"]
    more = INTERRUPTS + "  9:          1          1  IO-APIC 9-edge  net\nMCE:          1          1  Machine checks\n"
    assert run(more) == {"irq.device": 2.0, "irq.MCE": 2.0}
    assert part.absent() == {}


def test_an_interrupt_line_that_goes_empties_the_cells_for_it_takes_its_counts_along(between):
    _, run = between("interrupts", INTERRUPTS + "  9:  0  2  IO-APIC 9-edge  net\n", ["irq.device"])
    assert run(INTERRUPTS.replace(" 10 ", " 15 ")) == {}
    assert run(INTERRUPTS.replace(" 10 ", " 16 ")) == {"irq.device": 1.0}


def test_a_counter_that_falls_empties_its_cell_and_no_other(between):
    part, run = between("vmstat", VMSTAT, ["vm.pgfault", "vm.pgfree"])
    assert run("pgfault 7\npgfree 55\n") == {"vm.pgfree": 5.0}
    assert run("pgfault 9\npgfree 55\n") == {"vm.pgfault": 2.0, "vm.pgfree": 0.0}
    assert part.absent() == {}


def test_a_counter_that_stays_away_is_named(between):
    part, run = between("vmstat", VMSTAT, ["vm.pgfault", "vm.pgfree"])
    assert run("pgfault 103\n") == {"vm.pgfault": 3.0}
    assert run("pgfault 104\n") == {"vm.pgfault": 1.0}
    assert list(part.absent()) == ["vm.pgfree"]
    # Back again with its whole past, which is not what this run added.
    assert run(VMSTAT.replace("100", "110")) == {"vm.pgfault": 6.0}
    assert part.absent() == {}
    assert run(VMSTAT.replace("100", "110")) == {"vm.pgfault": 0.0, "vm.pgfree": 0.0}


@settings(derandomize=True, deadline=None)
@given(*[st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1e15))] * 2)
def test_growth_is_never_negative_and_only_of_what_was_there_both_times(was, now):
    grown = machine.growth(was, now)
    assert grown.keys() == {name for name in was.keys() & now.keys() if now[name] >= was[name]}
    assert all(value >= 0 for value in grown.values())
    assert machine.growth(now, now) == dict.fromkeys(now, 0.0)
