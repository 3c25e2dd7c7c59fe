"""A function whose symbols were taken out of its file has the name that was kept for debuggers."""

import lzma
import platform
import shutil
import subprocess

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.layers.probes.base import SpawnCommand
from vgo_agent.layers.probes.elf_symbols import SPINNING, UNNAMED, function_at, functions, source_name
from vgo_agent.layers.probes.opened import OpenedRun
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

WAITS = """
static __attribute__((noinline)) void waits_for(volatile int *late) { while (*late) %s; }
int main(int count, char **words) { waits_for(&(volatile int){count - 1}); return !words; }
"""
LOOP = """
namespace work { struct Loop { int sum = 0; __attribute__((noinline)) void spins(int more) { sum += more; } }; }
int main(int count, char **) { work::Loop own; for (int i = 0; i < 3; i++) own.spins(count); return own.sum != 3; }
"""
PAUSE = {"x86_64": "__builtin_ia32_pause()", "aarch64": '__asm__ volatile("yield")'}


@pytest.fixture
def compiled(tmp_path):
    """A program, and where in its file a function waits."""
    if platform.machine() not in PAUSE or not shutil.which("gcc") or not shutil.which("objcopy"):
        pytest.skip("no gcc and objcopy that make code of this machine")
    source, program = tmp_path / "waits.c", tmp_path / "waits"
    source.write_text(WAITS % PAUSE[platform.machine()])
    subprocess.run(["gcc", "-O1", "-Wl,--build-id=0xabcdef", "-o", program, source], check=True)
    (at,) = [one for one in functions(str(program)) if one.name == "waits_for"]
    return program, at


def stripped(program, *words):
    """A new file of the same program, without symbols."""
    to = program.with_name(f"stripped {len(list(program.parent.iterdir()))}")
    subprocess.run(["objcopy", "--strip-all", *words, program, to], check=True)
    return str(to)


def test_a_loop_that_waits_is_told_and_no_name_is_made_up(compiled):
    program, at = compiled
    assert function_at(str(program), at.start) == f"waits_for{SPINNING}"
    assert function_at(stripped(program), at.start) == f"{UNNAMED}{SPINNING}"


def test_symbols_that_were_kept_in_the_file_or_beside_it_name_the_function(compiled):
    program, at = compiled
    beside, within = program.with_name("debug") / "ab" / "cdef.debug", program.with_name("symbols.xz")
    beside.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, beside], check=True)
    within.write_bytes(lzma.compress(beside.read_bytes()))
    assert at in functions(stripped(program), beside.parents[1])
    assert at in functions(stripped(program, "--add-section", f".gnu_debugdata={within}"), program)
    assert at not in functions(stripped(program), program)


CALLS = """
static volatile long sum;
static __attribute__((noinline)) void adds(long count) { sum += count; }
static __attribute__((noinline)) void works(long count) { while (count--) adds(count); }
static __attribute__((noinline)) void asks_for_it(void) { works(30000000); sum++; }
int main(void) { asks_for_it(); return 0; }
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_who_called_what_ran_is_told_of_code_with_frame_pointers(spawner, opened, tmp_path):
    (tmp_path / "calls.c").write_text(CALLS)
    words = ("-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", tmp_path / "calls")
    subprocess.run(["gcc", *words, tmp_path / "calls.c"], check=True)
    probe = opened("stacks")
    assert spawner.run(Launch((str(tmp_path / "calls"),)), [probe]).exit_code == 0
    run = OpenedRun.read(probe.split(None)["stacks.opened"])
    worked = sum(one.samples for one in run.samples if one.function in ("adds in calls", "works in calls"))
    assert worked > 0 and run.under["asks_for_it in calls"] >= 0.7 * worked  # a function sets its frame up first


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN4node5Realm19ExecuteBootstrapperEPKc", "node::Realm::ExecuteBootstrapper"),
        ("_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work"),
        ("_ZNK4workclEi", "work::operator()"),
        ("_ZSt4sortIPiEvT_S1_", "void std::sort<int*>"),
        ("_Zzz", "_Zzz"),
        ("work", "work"),
    ],
)
def test_functions_of_cpp_are_called_as_in_their_source(symbol, name):
    if source_name("_Z4workv") != "work":
        pytest.skip("no library of C++ that knows the names")
    assert source_name(symbol) == name


def test_a_function_of_cpp_is_named_and_counted_by_the_name_that_it_has_in_its_source(tmp_path):
    if not shutil.which("g++") or source_name("_Z4workv") != "work":
        pytest.skip("no g++, or no library of C++ that knows the names")
    source, program = tmp_path / "loop.cc", str(tmp_path / "loop")
    source.write_text(LOOP)
    subprocess.run(["g++", "-O1", "-o", program, source], check=True)
    (at,) = [one for one in functions(program) if one.name == "_ZN4work4Loop5spinsEi"]
    assert function_at(program, at.start) == "work::Loop::spins"
    probe = open_probe(find_layer(f"calls:function=work::Loop::spins,binary={program}"))
    try:
        if why := next(iter(probe.absent().values()), ""):
            pytest.skip(why)
        with Spawner() as spawner:
            spawner.run(Launch(probe.wrap(SpawnCommand((program,), {})).argv), [probe])
        assert [*probe.values().values()] == [3]
    finally:
        probe.close()


def test_functions_that_the_kernel_maps_into_each_process_have_names():
    names = {one.name for one in functions("[vdso]")}
    assert any("clock_gettime" in name or "gettimeofday" in name for name in names)
