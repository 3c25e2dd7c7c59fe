"""The layer `osnoise` on a made-up tracefs: few kernels have the tracer, and where it is, it takes CPU time."""

import time

import pytest

from vgo_agent.layers.loader import find_layer, open_probe

HEAD = """# tracer: osnoise
#
#       TASK-PID   CPU# ||||   TIMESTAMP    IN US    IN US   AVAILABLE IN US    HW    NMI   IRQ  SIRQ THREAD
"""
COLUMNS = {column.name for column in find_layer("osnoise").columns}


@pytest.fixture
def tracefs(tmp_path):
    """Make the files that the probe reads and writes; the instance is there as if the kernel had made it."""
    folder = tmp_path / "sys/kernel/tracing"
    (folder / "instances/vgo_agent").mkdir(parents=True)
    (folder / "osnoise").mkdir()
    (folder / "available_tracers").write_text("timerlat osnoise hwlat blk function nop\n")
    (folder / "osnoise/runtime_us").write_text("1000000\n")
    (folder / "osnoise/period_us").write_text("1000000\n")
    for name in ("trace", "trace_clock", "current_tracer"):
        (folder / "instances/vgo_agent" / name).write_text("")
    return folder


def line(cpu, at_s, noise, most, *causes):
    numbers = "  ".join(map(str, causes))
    return (
        f"  osnoise/{cpu}-859  [{cpu:03}] d..h1  {at_s:.6f}: 5000  {noise}  {100 - noise / 50:.5f}  {most}  {numbers}\n"
    )


def test_the_periods_that_end_in_the_run_are_summed_over_cpus(tracefs, tmp_path):
    probe = open_probe(find_layer("osnoise"), tmp_path)
    trace = tracefs / "instances/vgo_agent/trace"
    earlier = time.monotonic() - 1
    probe.before()
    time.sleep(0.01)  # The trace says microseconds: the run must be longer than its rounding.
    now = time.monotonic()
    time.sleep(0.01)
    probe.after()
    inside = [line(0, now, 190, 9, 18, 0, 7, 3, 1), line(1, now, 10, 6, 0, 1, 2, 0, 4)]
    trace.write_text(HEAD + line(0, earlier, 4000, 999, 5, 5, 5, 5, 5) + "".join(inside))
    assert probe.values() == {
        "osnoise.share": 200 / 10000,
        "osnoise.max_us": 9,
        "osnoise.hw": 18,
        "osnoise.nmi": 1,
        "osnoise.irq": 9,
        "osnoise.softirq": 3,
        "osnoise.thread": 5,
    }
    assert set(probe.values()) == set()  # What was read is cleared: the next run starts anew.
    assert trace.read_text() == ""
    probe.close()


def test_the_tracer_is_on_for_the_session_and_everything_is_put_back(tracefs, tmp_path):
    probe = open_probe(find_layer("osnoise:runtime_us=2000,period_us=50000"), tmp_path)
    instance = tracefs / "instances/vgo_agent"
    assert (instance / "current_tracer").read_text() == "osnoise"
    assert (instance / "trace_clock").read_text() == "mono"
    assert (tracefs / "osnoise/runtime_us").read_text() == "2000"
    assert (tracefs / "osnoise/period_us").read_text() == "50000"
    probe.close()
    assert (instance / "current_tracer").read_text() == "nop"
    assert (tracefs / "osnoise/runtime_us").read_text() == "1000000"
    assert (tracefs / "osnoise/period_us").read_text() == "1000000"


def test_a_trace_that_vanishes_makes_the_cells_missing_and_says_so(tracefs, tmp_path):
    probe = open_probe(find_layer("osnoise"), tmp_path)
    (tracefs / "instances/vgo_agent/trace").unlink()
    probe.before()
    probe.after()
    assert probe.values() == {}
    assert set(probe.absent()) == COLUMNS
    assert "cannot be read any more" in probe.absent()["osnoise.hw"]
    probe.close()


@pytest.mark.parametrize(("there", "said"), [(False, "mount -t tracefs"), (True, "CONFIG_OSNOISE_TRACER")])
def test_without_the_tracer_it_says_what_is_needed(tracefs, tmp_path, there, said):
    if there:
        (tracefs / "available_tracers").write_text("function nop\n")
    else:
        (tracefs / "available_tracers").unlink()
    probe = open_probe(find_layer("osnoise"), tmp_path)
    assert set(probe.absent()) == COLUMNS
    assert said in probe.absent()["osnoise.share"]
    assert probe.values() == {}
    probe.close()
