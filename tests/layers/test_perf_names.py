"""What the names of events mean: in sysfs, in perf's own words, in the processor's manual."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgo_agent.layers.probes.perf_names import (
    CACHES,
    HARDWARE_EVENTS,
    OPERATIONS,
    SOFTWARE_EVENTS,
    PerfTarget,
    find_event,
)
from vgo_agent.layers.probes.perf_open import (
    EXCLUDE_HV,
    EXCLUDE_KERNEL,
    EXCLUDE_USER,
    TIMES,
    Attr,
    NoEvent,
    Pmu,
    packed,
)

law = settings(derandomize=True, deadline=None)
DEVICES = "sys/bus/event_source/devices"


def pmu(root, name, kind, layout=None, events=None, **files):
    """Write a PMU as the kernel shows it."""
    folder = root / DEVICES / name
    for part in ("format", "events"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "type").write_text(f"{kind}\n")
    for part, texts in (("format", layout or {}), ("events", events or {}), (".", files)):
        for file, text in texts.items():
            (folder / part / file).write_text(f"{text}\n")
    return folder


CPU = {
    "event": "config:0-7",
    "umask": "config:8-15",
    "edge": "config:18",
    "cmask": "config:24-31",
    "ldlat": "config1:0-15",
}


def attr(text, root):
    (target,) = find_event(text, root).targets
    return target.attr


# Terms of sysfs.


@st.composite
def layouts(draw):
    """Draw terms that share the words config .. config3 without overlap, and a value that fits each."""
    spots = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 63)), min_size=1, max_size=60, unique=True))
    cuts = sorted(draw(st.sets(st.integers(1, len(spots)), max_size=4)) | {len(spots)})
    terms, start = {}, 0
    for end in cuts:
        for word in range(4):
            if bits := sorted(bit for field, bit in spots[start:end] if field == word):
                terms[f"t{start}w{word}"] = (word, bits, draw(st.integers(0, (1 << len(bits)) - 1)))
        start = end
    return terms


def ranges(bits):
    """Write bits as the kernel does, in whatever pieces."""
    return ",".join(f"{bit}-{bit}" if bit % 2 else str(bit) for bit in bits)


@law
@given(layouts())
def test_any_layout_of_terms_packs_into_the_right_bits(tmp_path_factory, terms):
    root = tmp_path_factory.mktemp("root")
    words = ("config", "config1", "config2", "config3")
    layout = {name: f"{words[word]}:{ranges(bits)}" for name, (word, bits, _) in terms.items()}
    pmu(root, "odd", 77, layout)
    found = attr(f"odd/{','.join(f'{name}={value:#x}' for name, (_, _, value) in terms.items())}/", root)
    assert found.type == 77
    got = (found.config, found.config1, found.config2, found.config3)
    for word, bits, value in terms.values():
        assert sum((got[word] >> bit & 1) << place for place, bit in enumerate(bits)) == value
    taken = [sum(1 << bit for word, bits, _ in terms.values() if word == number for bit in bits) for number in range(4)]
    assert [mine & ~theirs for mine, theirs in zip(got, taken, strict=True)] == [0, 0, 0, 0]


@law
@given(st.lists(st.integers(0, 63), min_size=1, max_size=63, unique=True), st.integers(0, 1 << 70))
def test_a_number_that_does_not_fit_is_refused_and_one_that_fits_is_not(bits, value):
    if value >> len(bits):
        with pytest.raises(NoEvent, match=f"does not fit into the {len(bits)} bits"):
            packed(value, sorted(bits), "it")
    else:
        assert packed(value, sorted(bits), "it").bit_count() == value.bit_count()


@law
@given(st.tuples(*[st.integers(0, (1 << 64) - 1)] * 4), st.integers(0, (1 << 32) - 1))
def test_the_kernel_finds_each_word_where_it_looks_for_it(words, kind):
    # Offsets of perf_event_attr: type 0, size 4, config 8, read_format 32, flags 40, config1 56, 2 64, 3 128.
    raw = Attr(kind, *words).packed(flags=5, read_format=TIMES)

    def at(offset, size):
        return int.from_bytes(raw[offset : offset + size], sys.byteorder)

    assert (at(0, 4), at(8, 8), at(56, 8), at(64, 8)) == (kind, *words[:3])
    assert (at(4, 4), at(32, 8), at(40, 8)) == (len(raw), TIMES, 5)
    assert len(raw) == (136 if words[3] else 112)
    assert not words[3] or at(128, 8) == words[3]


def test_terms_names_and_bare_names_are_the_same_event(tmp_path):
    pmu(tmp_path, "cpu", 4, CPU, {"mem-loads": "event=0xcd,umask=0x1,ldlat=3"})
    expected = Attr(4, 0x1CD, 3)
    assert attr("cpu/event=0xcd,umask=1,ldlat=0x3/", tmp_path) == expected
    assert (
        attr("cpu/event=0xcd;umask=1;ldlat=3/", tmp_path) == expected
    )  # For the command line, which splits at commas.
    assert attr("cpu/mem-loads/", tmp_path) == expected
    assert attr("mem-loads", tmp_path) == expected
    assert attr("cpu/config=0x1cd,config1=3/", tmp_path) == expected


def test_a_term_without_a_number_is_a_flag_and_terms_add_to_a_name(tmp_path):
    pmu(tmp_path, "cpu", 4, CPU, {"stalls": "event=0x0e", "of-core": "event=0x1,umask=?"})
    assert attr("cpu/stalls,edge,cmask=2/", tmp_path).config == 0x0E | 1 << 18 | 2 << 24
    assert attr("cpu/of-core,umask=7/", tmp_path).config == 0x701


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cpu/nonsense=1/", "name one of these: cmask, edge, event, ldlat"),
        ("cpu/event=ten/", "is not NAME=NUMBER"),
        ("cpu/event=0x100/", "does not fit into the 8 bits of cpu/event"),
        ("gpu/event=1/", "there is no PMU gpu: cpu"),
        ("page-faults if x == 1", "takes no filter"),
    ],
)
def test_what_is_wrong_with_an_event_is_named_with_the_cure(tmp_path, text, said):
    pmu(tmp_path, "cpu", 4, CPU)
    with pytest.raises(NoEvent, match=re.escape(said)):
        find_event(text, tmp_path)


def test_uncore_pmus_of_a_name_are_opened_on_the_cpus_of_their_masks_and_summed(tmp_path):
    for number in range(2):
        events = {"cas_count_read": "event=0x04,umask=0x03", "cas_count_read.scale": "6.103515625e-5"}
        pmu(tmp_path, f"uncore_imc_{number}", 20 + number, CPU, events, cpumask="0,36")
    pmu(tmp_path, "uncore_imc_free_running", 40, CPU)
    event = find_event("uncore_imc/cas_count_read/", tmp_path)
    assert event.targets == (PerfTarget(Attr(20, 0x304), (0, 36)), PerfTarget(Attr(21, 0x304), (0, 36)))
    assert event.scale == 6.103515625e-5
    assert find_event("uncore_imc_1/event=4/", tmp_path).targets == (PerfTarget(Attr(21, 4), (0, 36)),)


def test_where_cores_differ_a_generalized_event_is_opened_for_each_kind(tmp_path):
    pmu(tmp_path, "cpu_core", 4, CPU, cpus="0-7")
    pmu(tmp_path, "cpu_atom", 10, CPU, cpus="8-15")
    pmu(tmp_path, "msr", 9, {"event": "config:0-63"})
    assert [target.attr for target in find_event("instructions", tmp_path).targets] == [
        Attr(0, 10 << 32 | 1),
        Attr(0, 4 << 32 | 1),
    ]
    assert [target.attr for target in find_event("LLC-load-misses:u", tmp_path).targets] == [
        Attr(3, 10 << 32 | 0x10002, flags=EXCLUDE_KERNEL | EXCLUDE_HV),
        Attr(3, 4 << 32 | 0x10002, flags=EXCLUDE_KERNEL | EXCLUDE_HV),
    ]
    assert all(target.cpus == () for target in find_event("cycles", tmp_path).targets)


def test_modes_are_left_out_as_perf_does(tmp_path):
    assert attr("cycles:u", tmp_path).flags == EXCLUDE_KERNEL | EXCLUDE_HV
    assert attr("cycles:k", tmp_path).flags == EXCLUDE_USER | EXCLUDE_HV
    assert attr("cycles:uk", tmp_path).flags == EXCLUDE_HV
    assert attr("cycles", tmp_path).flags == 0


def test_a_broken_folder_of_sysfs_is_no_pmu(tmp_path):
    pmu(tmp_path, "broken", "not a number")
    (tmp_path / DEVICES / "empty").mkdir()
    with pytest.raises(NoEvent, match="there is no PMU broken"):
        find_event("broken/event=1/", tmp_path)
    with pytest.raises(ValueError, match="invalid literal"):
        Pmu(tmp_path / DEVICES / "broken")


# Against the tools that know these names.


def perf_words(name):
    """Ask perf how it would open an event."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed: apt-get install linux-perf")
    done = subprocess.run(["perf", "stat", "-vv", "-e", name, "true"], capture_output=True, text=True)
    head = done.stderr.partition("perf_event_attr:")[2].partition("sys_perf_event_open")[0]
    if not head:
        pytest.skip(f"this perf does not know {name}: {done.stderr.strip()[:100]}")
    said = dict(line.split(None, 1) for line in head.splitlines() if len(line.split()) == 2)
    # What is zero is not printed.
    return int(said.get("type", "0").split()[0]), int(said.get("config", "0").split()[0], 0)


CACHE_NAMES = [f"{cache}-{operation}{end}" for cache in CACHES for operation in OPERATIONS for end in ("s", "-misses")]


@pytest.mark.parametrize(
    "name",
    [*SOFTWARE_EVENTS, *HARDWARE_EVENTS, "LLC-load-misses", "dTLB-store-misses", "L1-icache-load-misses", "node-loads"]
    + ["iTLB-loads", "branch-load-misses", "L1-dcache-prefetches", "r01c2", "rFFFF", "LLC-stores"],
)
def test_a_name_means_what_it_means_to_perf(name, tmp_path):
    if len(list(Path("/sys/bus/event_source/devices").glob("cpu_*"))) > 1:
        pytest.skip("perf opens one event for each kind of core here")
    found = attr(name, tmp_path)
    assert (found.type, found.config) == perf_words(name)


def test_every_cache_event_has_a_number_of_its_own(tmp_path):
    names = [name.replace("prefetchs", "prefetches") for name in CACHE_NAMES]
    assert len({attr(name, tmp_path).config for name in names}) == len(names)


LIBPFM = """
from vgo_agent.layers.probes.perf_names import encoded, libpfm
from vgo_agent.layers.probes.perf_open import NoEvent
import sys
if libpfm() is None: sys.exit(3)
for name in sys.argv[1:]:
    try: print(*encoded(name))
    except NoEvent as error: print(error)
"""


def test_names_of_the_manual_are_encoded_by_libpfm():
    names = ["skx::LONGEST_LAT_CACHE:MISS", "skx::INST_RETIRED:ANY_P:u", "skx::NO_SUCH_EVENT"]
    environment = {"LIBPFM_FORCE_PMU": "skx", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", LIBPFM, *names], capture_output=True, text=True, env=environment)
    if done.returncode == 3:
        pytest.skip("libpfm4 is not installed: apt-get install libpfm4")
    miss, retired, unknown = done.stdout.splitlines()
    # Event 0x2e with umask 0x41, and event 0xc0 without the kernel: Intel's manual, volume 3B, chapter 20.
    assert miss.split() == ["4", str(0x412E), "0", "0", "0", "0"]
    assert retired.split() == ["4", str(0xC0), "0", "0", "0", str(EXCLUDE_KERNEL)]
    assert "does not know skx::NO_SUCH_EVENT" in unknown


def test_a_name_that_nobody_knows_says_what_would_help(tmp_path):
    with pytest.raises(NoEvent, match="NO_SUCH_EVENT.*(install libpfm4|perf list)"):
        find_event("NO_SUCH_EVENT", tmp_path)
