"""Settings of GPUs through the real nvidia-ml-py, behind which stands a driver's library that a test made."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vgo_agent.knowledge.actions import Gpu
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.mitigation.gpu_clocks import GpuClockHistory, Sample, gpu_knobs, gpu_switchable
from vgo_agent.tools.mitigation.gpu_values import gpu_values, untold, visible
from vgo_agent.tools.mitigation.journal import Journal
from vgo_agent.tools.mitigation.permanent_system import gpu_commands

from ...forking import Forking, forking

SOURCE = Path(__file__).parents[2] / "layers/nvml/fake_nvml.c"
CARD = {
    "uuid": 11,
    "name": 200,
    "persistence": 0,
    "compute_mode": 0,
    "power_limit_mw": 600_000,
    "power_least_mw": 200_000,
    "power_most_mw": 700_000,
    "sm_mhz": 345,
    "sm_least_mhz": 345,
    "sm_most_mhz": 1980,
    "memory_mhz": 3201,
    "memory_most_mhz": 3201,
    "locked_sm": 0,
    "locked_sm_least": 0,
    "locked_memory": 0,
    "reasons": 0,
    "fans": 2,
    "fan_0": 0,
    "fan_1": 40,
    "temp_c": 40,
}
OTHER = CARD | {"uuid": 22}
CLOCKS = ("sm_mhz", "memory_mhz")
"""What a driver lets go by itself."""
BEGINNING = """
import json, os, sys, time
from pathlib import Path
from vgo_agent.knowledge.actions import Gpu
from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
from vgo_agent.tools.mitigation.gpu_clocks import gpu_switchable
from vgo_agent.tools.mitigation.journal import Journal, journal_folder
from vgo_agent.tools.mitigation.restore import restore
NOW = Path(os.environ["FAKE_NVML"])
journal = Journal(journal_folder())

def cards():
    found = {}
    for number, key, value in map(str.split, NOW.read_text().splitlines()):
        found.setdefault(number, {})[key] = value
    return [found[number] for number in sorted(found) if number != "-"]

def change(key, value, gpu=0):
    lines = [line for line in NOW.read_text().splitlines() if not line.startswith(f"{gpu} {key} ")]
    Path(f"{NOW}.new").write_text("\\n".join([*lines, f"{gpu} {key} {value}"]) + "\\n")
    os.rename(f"{NOW}.new", NOW)

def switchable(action, **environment):
    return gpu_switchable("some", Gpu(**action), environment, journal)

def said(checks):
    return [[check.what, check.expected, check.seen, check.passed] for check in checks]

def entries():
    return [path.name for path in journal.folder.glob("*.json")]

def held():
    signs = Path(f"{NOW}.held").read_text()
    return signs.count("+") - signs.count("-")

def tell(thing):
    print(json.dumps(thing), flush=True)
"""
A, B = "nvml:GPU-00000011-fake", "nvml:GPU-00000022-fake"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pynvml", reason="the Python package nvidia-ml-py is not installed")
    if shutil.which("gcc") is None:
        pytest.skip("the package gcc is not installed")
    folder = tmp_path_factory.mktemp("nvml")
    words = ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(folder / "libnvidia-ml.so.1"), str(SOURCE)]
    subprocess.run(words, check=True)
    return folder


@pytest.fixture(scope="module")
def beside_gpus(library: Path) -> Iterator[Forking]:
    """What forks processes that see the library of the driver."""
    modules = re.findall(r"^from (vgo_agent\S+)", BEGINNING, re.MULTILINE)
    with forking([*modules, "pynvml", "vgo_agent.tools.mitigation.engine"], {"LD_LIBRARY_PATH": str(library)}) as forks:
        yield forks


def machine_with(folder: Path, cards: tuple[dict[str, Any], ...] = (CARD,)) -> dict[str, str]:
    """Write down what the GPUs are; give the variables by which the library finds it."""
    lines = [f"- count {len(cards)}"]
    lines += [f"{number} {key} {value}" for number, card in enumerate(cards) for key, value in card.items()]
    (folder / "now").write_text("\n".join(lines) + "\n")
    (folder / "journal").mkdir(exist_ok=True)
    return {"FAKE_NVML": str(folder / "now"), "VGO_AGENT_JOURNAL": str(folder / "journal")}


@pytest.fixture
def run(beside_gpus: Forking, tmp_path: Path) -> Run:
    """What runs Python code beside GPUs and gives what it told."""

    def to_its_end(code: str, *cards: dict[str, Any]) -> Any:
        ended = beside_gpus.run(tmp_path, BEGINNING + code, **machine_with(tmp_path, cards or (CARD,)))
        assert (ended.code, ended.error) == (0, "")
        return json.loads(ended.out)

    return to_its_end


ON_AND_OFF = """
action, before, steps = %s, cards(), []
with switchable(action) as settings:
    for _ in range(2):
        steps.append([said(settings.on()), cards(), entries(), said(settings.off()), cards()])
    settings.on()
tell([before, steps, cards(), entries(), settings.notices, held()])
"""


@pytest.mark.parametrize(
    ("action", "set_to"),
    [
        ({"persistence": True}, {"persistence": "1"}),
        ({"exclusive": True}, {"compute_mode": "3"}),
        ({"power_limit": "max"}, {"power_limit_mw": "700000"}),
        ({"lock_clocks": "max"}, {"locked_sm": "1980", "sm_mhz": "1980"}),
        ({"lock_clocks": "base"}, {"locked_sm": str(0xFFFFFF01), "sm_mhz": "1500"}),
        ({"clock_cap_mhz": "1410"}, {"locked_sm_least": "345", "locked_sm": "1410"}),
        ({"clock_cap_mhz": "max-2"}, {"locked_sm_least": "345", "locked_sm": "1950"}),
        ({"lock_memory_clock": True}, {"locked_memory": "3201"}),
        ({"fan_percent": 70}, {"fan_0": "70", "fan_1": "70"}),
        (
            {"persistence": True, "lock_clocks": "max", "exclusive": True},
            {"persistence": "1", "locked_sm": "1980", "compute_mode": "3"},
        ),
    ],
)
def test_a_setting_is_set_read_back_and_put_back(run: Run, action: dict[str, Any], set_to: dict[str, str]) -> None:
    before, steps, after, left, told, held = run(ON_AND_OFF % action, CARD, OTHER)
    for on, during, entries, off, between in steps:
        assert on and all(passed for *_, passed in (*on, *off)), (on, off)
        assert [card | set_to for card in during] == during
        assert len(entries) == 1
        assert without_clocks(between) == without_clocks(before)
    assert without_clocks(after) == without_clocks(before)
    assert (left, held) == ([], 0)
    locks = [said for said in told if "NVML does not tell whether it was locked before" in said]
    assert len(locks) == len(told) == (2 if {"lock_clocks", "clock_cap_mhz", "lock_memory_clock"} & set(action) else 0)


def without_clocks(cards: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{key: value for key, value in card.items() if key not in CLOCKS} for card in cards]


def test_only_what_would_end_with_the_driver_holds_it(run: Run) -> None:
    """Whoever holds the driver keeps the GPU initialised, so that persistence mode would change nothing."""
    alone, locked = run(
        """
counts = []
for action in ({"persistence": True}, {"persistence": True, "lock_clocks": "max"}):
    with switchable(action) as settings:
        settings.on()
        counts.append(held())
        settings.off()
        counts.append(held())
tell([counts[:2], counts[2:]])
"""
    )
    assert (alone, locked) == ([0, 0], [1, 0])


@pytest.mark.parametrize(
    ("environment", "changed"),
    [
        ({}, [True, True]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [False, True]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-00000011"}, [True, False]),
        ({"CUDA_VISIBLE_DEVICES": "1,7,0"}, [False, True]),
    ],
)
def test_only_the_gpus_that_the_program_may_use_are_set(run: Run, environment: dict[str, str], changed: object) -> None:
    code = f"""
with switchable({{"persistence": True}}, **{environment}) as settings:
    settings.on()
    tell([card["persistence"] == "1" for card in cards()])
"""
    assert run(code, CARD, OTHER) == changed


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "names no GPU"),
        ("-1", "names no GPU"),
        ("9", "names no GPU"),
        ("GPU-", "names no GPU"),
        ("MIG-12", "a part of a GPU"),
        ("0", "CUDA_DEVICE_ORDER=PCI_BUS_ID"),
    ],
)
def test_a_choice_that_cannot_be_followed_is_refused_with_the_cure(said: str, why: str) -> None:
    with pytest.raises(VgoError, match=why):
        visible({"GPU-a": "H200", "GPU-b": "T4"}, {"CUDA_VISIBLE_DEVICES": said})


def test_numbers_are_the_drivers_where_cuda_is_told_to_count_like_it() -> None:
    gpus = {"GPU-a": "H200", "GPU-b": "T4"}
    assert visible(gpus, {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == ("GPU-b",)


REFUSED = """
before, why = cards(), ""
try:
    with switchable(%s) as settings:
        settings.on()
except VgoError as error:
    why = str(error)
tell([before, cards(), why, entries(), held()])
"""


@pytest.mark.parametrize(
    ("action", "rule", "said"),
    [
        (
            {"lock_clocks": "max"},
            {"set_locked_sm": "!4"},
            "does not permit setting its graphics clock to 1980: run vgo",
        ),
        ({"lock_clocks": "max"}, {"locked_sm": "!3"}, "does not support setting its graphics clock to 1980"),
        (
            {"power_limit": "max"},
            {"set_power_limit_mw": "!4"},
            "does not permit setting its power limit in mW to 700000",
        ),
        ({"clock_cap_mhz": "1410"}, {"sm_most_mhz": 1987}, "has no clock of 1410 MHz: choose 1402 or 1417"),
        ({"clock_cap_mhz": "max-1"}, {"sm_least_mhz": "!3"}, "does not support nvmlDeviceGetSupportedGraphicsClocks"),
        ({"exclusive": True}, {"set_compute_mode": "!999"}, "refuses setting its compute mode .*nvidia-smi"),
        ({"fan_percent": 50}, {"fans": 0}, "has no fan of its own"),
        ({"fan_percent": 50}, {"fans": "!3"}, "does not support nvmlDeviceGetNumFans"),
        ({"persistence": True}, {"all": "!15"}, "fell off .*dmesg"),
    ],
)
def test_what_the_second_gpu_refuses_leaves_the_first_as_it_was(
    run: Run, action: dict[str, Any], rule: dict[str, Any], said: str
) -> None:
    second = OTHER | rule
    before, after, why, left, held = run(REFUSED % (action | {"exclusive": True}), CARD, second)
    if "all" in rule:  # it has no UUID any more, so that the other one alone is there
        assert why == ""
    else:
        assert re.search(said, why), why
        assert B.removeprefix("nvml:") in why
    assert without_clocks(before) == without_clocks(after)
    assert (left, held) == ([], 0)


def test_a_gpu_that_gives_no_uuid_is_told_in_a_sentence(run: Run) -> None:
    before, after, why, left, held = run(REFUSED % {"persistence": True}, CARD, OTHER | {"uuid": "!999"})
    assert "GPU 1 refuses telling its UUID" in why and why.endswith(".")
    assert (without_clocks(before), left, held) == (without_clocks(after), [], 0)


def test_what_the_gpu_rounds_counts_and_is_put_back(run: Run) -> None:
    card = CARD | {"step_power_limit_mw": 7_000, "power_limit_mw": 595_000}
    before, steps, after, left, _, _ = run(ON_AND_OFF % {"power_limit": "max"}, card | {"power_most_mw": 699_999})
    assert steps[0][0] == [[f"{A}/power_limit_mw", "699999", "693000", True]]
    assert (after, left) == (before, [])


def test_a_change_by_someone_else_is_told_and_left(run: Run) -> None:
    why, power, left, told = run(
        """
why = ""
try:
    with switchable({"power_limit": "max"}) as settings:
        settings.on()
        change("power_limit_mw", 300000)
        settings.off()
except VgoError as error:
    why = str(error)
tell([why, cards()[0]["power_limit_mw"], entries(), settings.notices])
"""
    )
    assert "Someone else set" in why and "to 300000" in why and "nvidia-smi?" in why
    assert (power, left) == ("300000", [])
    assert told == [
        f"{A}/power_limit_mw: left at 300000, because someone else changed it; it was 600000 before vgo-agent"
    ]


def test_a_change_by_someone_else_while_it_is_off_is_not_overwritten(run: Run) -> None:
    why, mode = run(
        """
why = ""
try:
    with switchable({"exclusive": True}) as settings:
        settings.on()
        settings.off()
        change("compute_mode", 2)
        settings.on()
except VgoError as error:
    why = str(error)
tell([why, cards()[0]["compute_mode"]])
"""
    )
    assert "to prohibited during the measurement (it was default, and exclusive_process for the mitigation)" in why
    assert mode == "2"


def test_a_gpu_that_falls_off_is_told_and_forgotten(run: Run) -> None:
    why, left, told = run(
        """
why = ""
try:
    with switchable({"power_limit": "max"}) as settings:
        settings.on()
        change("all", "!15")
        settings.off()
except VgoError as error:
    why = str(error)
tell([why, entries(), settings.notices])
"""
    )
    assert "fell off" in why and "dmesg" in why
    assert left == []
    assert told == [f"{A}/power_limit_mw: gone, so that there is nothing to put back"]


def test_what_a_killed_agent_left_is_put_back(library: Path, run: Run, tmp_path: Path) -> None:
    action = {"persistence": True, "lock_clocks": "max", "lock_memory_clock": True, "fan_percent": 60}
    code = f"""
with switchable({action}) as settings:
    settings.on()
    tell(cards())
    time.sleep(60)
"""
    words = [sys.executable, "-c", BEGINNING + code]
    environment = os.environ | machine_with(tmp_path) | {"LD_LIBRARY_PATH": str(library)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        (during,) = json.loads(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
    assert (during["locked_sm"], during["locked_memory"], during["fan_0"]) == ("1980", "3201", "60")
    now = {key: value for key, value in during.items() if key not in ("name",)} | {"name": "200"}
    told, (after,), left, again = run("tell([restore(), cards(), entries(), restore()])", now)
    assert {key: after[key] for key in CARD if key not in CLOCKS} == {
        key: str(value) for key, value in CARD.items() if key not in CLOCKS
    }
    assert f"{A}/graphics_clock: not told -> unlocked" in told
    assert f"{A}/persistence: 1 -> 0" in told
    assert (left, again) == ([], [])


PROVED = """
import threading
action = %s
with Spawner() as spawner, switchable(action) as settings:
    settings.on()
    %s
    tell(said(settings.prove(Launch(("/bin/sleep", "0.2")), spawner)))
"""


def test_locked_clocks_are_watched_while_the_program_runs(run: Run) -> None:
    both = {"lock_clocks": "max", "lock_memory_clock": True}
    assert run(PROVED % (both, "")) == [
        ["GPU-00000011-fake/graphics clock while the program ran", "1980 MHz", "1980 MHz", True],
        ["GPU-00000011-fake/memory clock while the program ran", "3201 MHz", "3201 MHz", True],
    ]
    assert run(PROVED % ({"lock_clocks": "base"}, ""))[0][1:] == ["one clock", "1500 MHz", True]
    assert run(PROVED % ({"persistence": True}, "")) == []


def test_a_lock_that_power_overrides_does_not_hold(run: Run) -> None:
    ((_, expected, seen, passed),) = run(
        PROVED % ({"lock_clocks": "max"}, 'change("sm_mhz", 1410); change("reasons", 4)')
    )
    assert (expected, passed) == ("1980 MHz", False)
    assert seen == "1410 MHz, held down by sw_power_cap in 100% of the samples"


@pytest.mark.parametrize(("mhz", "passed"), [(345, True), (1410, True), (1425, False), (1980, False)])
def test_a_cap_holds_where_the_clock_stays_at_it_or_below(run: Run, mhz: int, passed: bool) -> None:
    (check,) = run(PROVED % ({"clock_cap_mhz": "1410"}, f'change("sm_mhz", {mhz})'))
    what = "GPU-00000011-fake/graphics clock while the program ran"
    assert check == [what, "at most 1410 MHz", f"{mhz} MHz", passed]


def test_a_program_without_work_for_the_gpu_proves_nothing(run: Run) -> None:
    ((*_, seen, passed),) = run(PROVED % ({"lock_clocks": "max"}, 'change("reasons", 1)'))
    assert (seen, passed) == ("the GPU had no work while the program ran", False)


def test_a_gpu_lost_in_mid_run_fails_the_proof(run: Run) -> None:
    lose = 'threading.Timer(0.05, lambda: change("all", "!15")).start()'
    ((*_, seen, passed),) = run(PROVED % ({"lock_clocks": "max"}, lose))
    assert "fell off" in seen
    assert not passed


def test_a_clock_is_held_where_nine_of_ten_samples_are_at_it() -> None:
    busy = frozenset[str]()
    assert GpuClockHistory([Sample(1980, busy)] * 9 + [Sample(345, busy)]).held(1980)
    assert not GpuClockHistory([Sample(1980, busy)] * 8 + [Sample(345, busy)] * 2).held(1980)
    assert GpuClockHistory([Sample(1500, busy), Sample(1485, busy)]).held(None)
    assert not GpuClockHistory([Sample(1500, busy), Sample(1200, busy)]).held(None)
    assert GpuClockHistory([Sample(1500, busy), Sample(345, frozenset({"idle"}))]).held(1500)


def test_without_the_package_or_the_driver_it_says_what_to_install(run: Run) -> None:
    code = """
sys.modules["pynvml"] = None
try:
    with switchable({"persistence": True}):
        pass
except VgoError as error:
    tell(str(error))
"""
    assert run(code).endswith("pip install 'vgo-agent[gpu]'.")
    if not Path("/dev/nvidiactl").exists():
        with pytest.raises(VgoError, match="No GPU can be set: there is no GPU driver here"):
            gpu_knobs(Gpu(persistence=True), {})


TUNED = """
import contextlib
from vgo_agent.agent.cli import main
before, search = cards(), ["gpu_clock_cap", "--search", %r, "--allow", "system", "--json", *%r]
with open(%r, "w") as answer, contextlib.redirect_stdout(answer), contextlib.redirect_stderr(answer):
    code = main(["try", *search, "--", "sleep", "0.01"])
tell([before, code, cards(), entries()])
"""


@pytest.mark.slow
def test_the_clock_of_a_gpu_is_searched_as_in_the_paper(run: Run, tmp_path: Path) -> None:
    few = ["--pairs", "10", "--min-runs", "10", "--max-runs", "20", "--budget", "900", "--out", str(tmp_path / "out")]
    answer = tmp_path / "answer"
    before, code, after, left = run(TUNED % ("mhz=1410,1440", few, str(answer)), CARD | {"sm_most_mhz": 1440})
    assert code == 0, answer.read_text()
    assert (without_clocks(after), left) == (without_clocks(before), [])
    assert all(f'"{mhz}"' in answer.read_text() for mhz in (1410, 1440))


def test_the_clock_of_a_gpu_has_levels_from_the_highest_down(run: Run, tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    before, code, after, left = run(TUNED % ("mhz", ["--dry-run"], str(answer)))
    assert (code, after, left) == (0, before, []), answer.read_text()
    assert list(json.loads(answer.read_text())["levels"]) == ["max-1", "max-2", "max-3", "max-5", "max-10", "max-20"]


NVIDIA_SMI = """#!/bin/sh
echo "$*" >> "$0.asked"
case "$*" in
*query-gpu=index*) printf '0\\n1\\n' ;;
*query-supported-clocks=gr*) printf '1395\\n1440\\n345\\n1410\\n1440\\n' ;;
esac
"""


@pytest.mark.parametrize(("cap", "most"), [("1410", 1410), ("max", 1440), ("max-1", 1410), ("max-2", 1395)])
def test_a_cap_is_kept_by_the_command_of_the_driver(cap: str, most: int, tmp_path: Path) -> None:
    """Its words were looked up; that they are its words is not seen here."""
    program = tmp_path / "nvidia-smi"
    program.write_text(NVIDIA_SMI)
    program.chmod(0o755)
    (command,) = gpu_commands(Gpu(clock_cap_mhz=cap))
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", command], env={"PATH": path}, check=True)
    set_to = [line for line in Path(f"{program}.asked").read_text().splitlines() if "-lgc" in line]
    assert set_to == [f"-i 0 -lgc 345,{most}", f"-i 1 -lgc 345,{most}"]


KNOWN = load().mitigations
OF_GPUS = [key for key, mitigation in KNOWN.items() if mitigation.apply and mitigation.apply.gpu != Gpu()]


@pytest.mark.parametrize("key", OF_GPUS)
def test_each_known_mitigation_of_gpus_is_applied_proved_and_put_back(run: Run, key: str) -> None:
    before, checks, between, after, left, told = run(
        f"""
from vgo_agent.knowledge.loader import load
from vgo_agent.tools.machine import Machine
from vgo_agent.tools.mitigation.engine import applied
from vgo_agent.tools.subject import Subject
before = cards()
subject = Subject(command=("sleep", "0.1"), argv=("/bin/sleep", "0.1"), directory="/")
known, base = load().mitigations["{key}"], Launch(subject.argv, environment=dict(os.environ))
with Spawner() as spawner, applied(known, base, subject, Machine(root=True, gpus=1)) as change:
    checks = said(change.prove(spawner, 10))
    between = cards()
    change.on()
tell([before, checks, between, cards(), entries(), change.notices])
"""
    )
    assert checks and all(passed for *_, passed in checks), checks
    assert any("while the program ran" in what for what, *_ in checks) == ("lock" in key)
    assert without_clocks(before) == without_clocks(between) == without_clocks(after)
    assert (left, bool(told)) == ([], "lock" in key)


def test_a_cool_down_waits_for_the_gpu_too(run: Run) -> None:
    code = """
from vgo_agent.knowledge.actions import CoolDown
from vgo_agent.tools.mitigation.cool_down import cooling
now = 0
def sleep(seconds):
    global now
    now += seconds
    change("temp_c", max(40, int(cards()[0]["temp_c"]) - 10))
cooling = cooling(CoolDown(), {}, Path("/nowhere"), lambda: now, sleep)
cooling.on()
change("temp_c", 80)
tell([said(cooling.on()), now, held()])
"""
    ((what, expected, seen, passed),), _, held = run(code)
    assert (expected, seen, passed) == ("at most 43.0 degrees", "40.0 degrees after 2.0 s", True)
    assert what == "temperature of GPU-00000011-fake before the run"
    assert held == 0


REAL = (
    {"persistence": True},
    {"exclusive": True},
    {"power_limit": "max"},
    {"persistence": True, "lock_clocks": "base"},
    {"persistence": True, "clock_cap_mhz": "max-1"},
    {"persistence": True, "lock_clocks": "max", "lock_memory_clock": True},
    {"fan_percent": 60},
)


@pytest.mark.skipif(os.geteuid() != 0, reason="settings of a GPU can be written by root only")
@pytest.mark.parametrize("action", REAL, ids=str)
def test_a_real_gpu_takes_it_and_gives_it_back(action: dict[str, Any], tmp_path: Path) -> None:
    asked = Gpu.model_validate(action)
    try:
        knobs = gpu_knobs(asked, os.environ)
    except VgoError as error:
        pytest.skip(f"NVML sees no GPU that can do it ({error})")
    values, told = gpu_values(), [path for path in knobs if not untold(path)]
    with values.opened():
        before = {path: values.read(path) for path in told}
    with Journal(tmp_path).locked(), gpu_switchable("real", asked, os.environ, Journal(tmp_path)) as settings:
        for _ in range(2):
            assert all(check.passed for check in settings.on())
            assert all(check.passed for check in settings.off())
    with values.opened():
        assert {path: values.read(path) for path in told} == before
    assert not list(tmp_path.glob("*.json"))
