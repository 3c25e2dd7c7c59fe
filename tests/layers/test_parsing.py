"""Kernel files are read as they are written, and what did not change is zero."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgo_agent.layers.probes import machine, process

counts = st.integers(0, 2**63 - 1)
names = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
vmstats = st.dictionaries(names, counts, min_size=1, max_size=30)
numbered = st.integers(0, 400).map(str)
lettered = st.sampled_from(["NMI", "LOC", "RES", "CAL", "TLB", "TRM", "ERR"])


@st.composite
def interrupt_tables(draw):
    """Return counts by line and CPU."""
    labels = draw(st.lists(numbered | lettered, unique=True, min_size=1, max_size=12))
    cpus = draw(st.integers(1, 5))
    small = st.integers(0, 2**31)
    return {label: draw(st.lists(small, min_size=cpus, max_size=cpus)) for label in labels}


def render_vmstat(values):
    return "".join(f"{name} {count}\n" for name, count in values.items()).encode()


def render_interrupts(table):
    cpus = len(next(iter(table.values())))
    lines = ["      " + "".join(f"CPU{cpu:<8}" for cpu in range(cpus))]
    for label, row in table.items():
        what = "IO-APIC 5-edge ACPI:Ged" if label.isdigit() else "Some kind of interrupts"
        lines.append(f"{label:>4}: " + "".join(f"{count:>10} " for count in row) + f"  {what}")
    return "\n".join(lines).encode() + b"\n"


def sums(table):
    totals = {"irq.device": 0.0}
    for label, row in table.items():
        name = "irq.device" if label.isdigit() else f"irq.{label}"
        totals[name] = totals.get(name, 0.0) + sum(row)
    return totals


@given(vmstats)
def test_vmstat_is_read_as_it_was_written(values):
    parsed = machine.parse_vmstat(render_vmstat(values).splitlines())
    assert parsed == {f"vm.{name}": float(count) for name, count in values.items()}


@given(interrupt_tables())
def test_interrupts_are_summed_over_cpus_by_type(table):
    assert machine.parse_interrupts(render_interrupts(table).splitlines()) == sums(table)


@given(interrupt_tables(), st.data())
def test_the_difference_is_the_same_whichever_lines_changed_or_came_or_went(table, data):
    later = {label: row for label, row in table.items() if data.draw(st.booleans(), label="stays")} or table
    later = {label: [n + data.draw(st.integers(0, 3), label="more") for n in row] for label, row in later.items()}
    change = machine.difference(render_interrupts(table), render_interrupts(later), machine.parse_interrupts)
    was, now = sums(table), sums(later)
    for name in was | now:
        assert change.get(name, 0.0) == now.get(name, 0.0) - was.get(name, 0.0)


@given(interrupt_tables() | vmstats)
def test_identical_readings_differ_by_nothing(table):
    rows = all(isinstance(row, list) for row in table.values())
    text, parse = (
        (render_interrupts(table), machine.parse_interrupts) if rows else (render_vmstat(table), machine.parse_vmstat)
    )
    assert machine.difference(text, bytes(bytearray(text)), parse) == {}


@given(st.lists(st.integers(0, 2**40), min_size=8, max_size=10), st.lists(counts, min_size=10, max_size=10), counts)
def test_stat_gives_seconds_and_names_softirqs_by_place(ticks, softirqs, switches):
    text = "\n".join(
        [
            "cpu  " + " ".join(map(str, ticks)),
            "cpu0 " + " ".join(map(str, ticks)),
            "intr 99 1 2 3",
            f"ctxt {switches}",
            "btime 1",
            "processes 7",
            "softirq 12 " + " ".join(map(str, softirqs)),
        ]
    ).encode()
    parsed = machine.parse_stat(text.splitlines())
    times = [parsed[f"cpu.{field}"] for field in machine.CPU_FIELDS]
    assert times == [tick / machine.ticks_per_second() for tick in ticks[:8]]
    assert [parsed[f"softirq.{name}"] for name in machine.SOFTIRQS] == [float(count) for count in softirqs]
    assert (parsed["stat.intr"], parsed["stat.ctxt"], parsed["stat.processes"]) == (99.0, float(switches), 7.0)


def test_softirqs_stand_in_the_order_of_this_kernel():
    with open("/proc/softirqs") as file:
        assert [line.split(":")[0].strip() for line in file][1:] == list(machine.SOFTIRQS)


def test_changes_of_time_are_free_of_binary_noise():
    change = machine.difference(b"cpu  14179 0\n", b"cpu  14185 0\n", machine.parse_stat)
    assert change["cpu.user"] == 6 / machine.ticks_per_second()


def test_pressure_totals():
    text = b"some avg10=0.43 avg60=0.36 avg300=0.52 total=12311271\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"
    parse = partial(machine.parse_pressure, "io")
    assert parse(text.splitlines()) == {"psi.io_some_us": 12311271.0, "psi.io_full_us": 5.0}


def test_arm64_names_its_timer_and_its_ipis_in_words():
    text = b"""\
           CPU0       CPU1
 11:      28572      41859     GICv3  27 Level     arch_timer
 14:          1          2     GICv3  78 Edge      virtio0
IPI0:      8143       4860       Rescheduling interrupts
IPI1:        50         27       Function call interrupts
IPI2:         0          0       CPU stop interrupts
Err:          0
"""
    assert machine.parse_interrupts(text.splitlines()) == {
        "irq.LOC": 28572.0 + 41859,
        "irq.device": 3.0,
        "irq.RES": 8143.0 + 4860,
        "irq.CAL": 77.0,
        "irq.IPI2": 0.0,
        "irq.Err": 0.0,
    }


@given(st.binary(max_size=15).filter(lambda name: b"\0" not in name), st.integers(0, 1023), st.integers(0, 2**40))
def test_the_stat_of_a_process_is_read_past_any_name(name, cpu, ticks):
    fields = [b"0"] * 50
    fields[39 - 3], fields[42 - 3] = str(cpu).encode(), str(ticks).encode()
    parsed = process.parse_stat(b"4711 (" + name + b") " + b" ".join(fields) + b"\n")
    assert parsed == {"last_cpu": float(cpu), "blkio_delay_ms": ticks * 1000 / machine.ticks_per_second()}


@given(st.integers(1, 2**50), counts, counts)
def test_schedstat_is_in_milliseconds(on_cpu, delay, slices):
    parsed = process.parse_schedstat(f"{on_cpu} {delay} {slices}\n".encode())
    assert parsed == {"on_cpu_ms": on_cpu / 1e6, "run_delay_ms": delay / 1e6, "timeslices": float(slices)}


def test_a_kernel_without_scheduler_accounts_gives_nothing_rather_than_zero():
    assert process.parse_schedstat(b"0 0 0\n") == {}


@pytest.mark.parametrize("prefix", [b"se.", b""])
def test_sched_gives_migrations_and_switches_of_old_and_new_kernels(prefix):
    text = prefix + b"nr_migrations  :     12\nnr_switches   :    34\nnr_voluntary_switches  :   9\n"
    assert process.parse_sched(text) == {"migrations": 12.0, "switches": 34.0}


@given(st.lists(counts, min_size=6, max_size=6))
def test_io_is_read_as_it_was_written(values):
    pairs = dict(zip(process.IO_COLUMNS, values, strict=True))
    text = b"".join(b"%s: %d\n" % pair for pair in pairs.items()) + b"cancelled_write_bytes: 3\n"
    assert process.parse_io(text) == {process.IO_COLUMNS[name]: float(count) for name, count in pairs.items()}
