"""The layer `gpu` asks the real nvidia-ml-py, behind which stands a driver's library that a test made."""

import json
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner

from ..forking import forking

pytest.importorskip("pynvml", reason="the Python package nvidia-ml-py is not installed")
if shutil.which("gcc") is None:
    pytest.skip("the package gcc is not installed", allow_module_level=True)

SOURCE = Path(__file__).parent / "nvml" / "fake_nvml.c"
CALM = {
    # As an H200 with driver 580 said while idle; made up where it was not written down.
    "name": 200,
    "sm_mhz": 345,
    "memory_mhz": 3201,
    "temp_c": 30,
    "power_mw": 75_000,
    "power_limit_mw": 700_000,
    "busy": 0,
    "memory_busy": 0,
    "memory_used": 1 << 20,
    "memory_free": 143_000 << 20,
    "pstate": 0,
    "pcie_generation": 5,
    "pcie_width": 16,
    "reasons": 1,
    "process": 0,
    "energy_mj": 1_000_000,
    "ecc_corrected": 3,
    "ecc_uncorrected": 0,
    "pcie_replays": 0,
    "field_197": 1_000,
    "field_198": 2_000,
    "field_74": 0,
    "field_75": 0,
    "persistence": 1,
    "compute_mode": 0,
    "mig": 0,
}
BUSY = CALM | {
    "sm_mhz": 1980,
    "temp_c": 80,
    "power_mw": 690_000,
    "busy": 97,
    "memory_busy": 40,
    "reasons": 0x4 | 0x40,
    "energy_mj": 1_069_000,
    "ecc_corrected": 5,
    "pcie_replays": 2,
    "field_197": 51_000,
    "field_198": 102_000,
    "field_74": 3_000_000,
    "field_75": 5_000,
    "memory_used": 100 << 30,
    "memory_free": 5 << 30,
}
PROGRAM = """
import json, sys
from vgo_agent.layers.loader import find_layer, open_probe
from vgo_agent.tools.execution.launch import Launch
from vgo_agent.tools.execution.spawn import Spawner
asked = json.loads(sys.argv[1])
layer = find_layer("gpu")
assert "pynvml" not in sys.modules
probe = open_probe(layer.model_copy(update={"parameters": layer.parameters | asked["parameters"]}))
said = []
with Spawner() as spawner:
    for command in asked["commands"]:
        run = spawner.run(Launch(("/bin/sh", "-c", command)), [probe])
        seen = {name: value for name, value in run.counters.items() if name.startswith("gpu.")}
        said.append({"seen": seen, "absent": dict(probe.absent()), "exit": run.exit_code, "pid": run.survivors})
probe.close()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Compile the library, as of now and as of an old driver."""
    folders = {}
    for kind, flags in (("new", []), ("old", ["-DOLD_DRIVER"])):
        folders[kind] = tmp_path_factory.mktemp(kind)
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-Wall", "-Werror", *flags, "-o", folders[kind] / "libnvidia-ml.so.1", SOURCE],
            check=True,
        )
    return folders


@pytest.fixture(scope="module")
def drivers(libraries):
    """Start what forks processes that see the library of each driver."""
    modules = re.findall(r"^from (vgo_agent\S+)", PROGRAM, re.MULTILINE)
    with ExitStack() as open_:
        yield {
            kind: open_.enter_context(forking(modules, {"LD_LIBRARY_PATH": str(folder)}))
            for kind, folder in libraries.items()
        }


@pytest.fixture
def gpus(drivers, tmp_path):
    """Return what runs commands beside GPUs: each of them may put another state in force with `cp`."""

    def run(states, commands, driver="new", parameters=None, library=()):
        for name, cards in states.items():
            lines = [*library, f"- count {len(cards)}"]
            lines += [f"{number} {key} {value}" for number, card in enumerate(cards) for key, value in card.items()]
            (tmp_path / name).write_text("\n".join(lines) + "\n")
        shutil.copy(tmp_path / next(iter(states)), tmp_path / "now")
        asked = json.dumps({"commands": commands, "parameters": parameters or {}})
        done = drivers[driver].run(tmp_path, PROGRAM, asked, FAKE_NVML=str(tmp_path / "now"), HERE=str(tmp_path))
        assert (done.code, done.error) == (0, "")
        return json.loads(done.out)

    return run


def change_to(state):
    """Put another state in force at once, so that no reading falls into the copying."""
    return f"cp $HERE/{state} $HERE/next.$$ && mv $HERE/next.$$ $HERE/now"


def test_what_a_gpu_does_during_a_run_is_in_its_columns(gpus):
    (said,) = gpus({"calm": [CALM], "busy": [BUSY]}, [change_to("busy")])
    seen = said["seen"]
    assert seen["gpu.0.temp_start_c"] == 30
    assert seen["gpu.0.temp_max_c"] == 80
    assert 345 <= seen["gpu.0.sm_min_mhz"] <= seen["gpu.0.sm_mhz"] <= 1980
    assert seen["gpu.0.memory_used_bytes"] == 100 << 30
    assert seen["gpu.0.memory_free_bytes"] == 5 << 30
    assert seen["gpu.0.energy_j"] == 69.0
    assert (seen["gpu.0.ecc_corrected"], seen["gpu.0.ecc_uncorrected"], seen["gpu.0.pcie_replays"]) == (2, 0, 2)
    assert (seen["gpu.0.pcie_tx_bytes"], seen["gpu.0.pcie_rx_bytes"]) == (50_000, 100_000)
    assert (seen["gpu.0.power_capped_us"], seen["gpu.0.thermal_capped_us"]) == (3_000, 5)
    assert (seen["gpu.0.model"], seen["gpu.0.compute_mode"]) == ("NVIDIA H200", "default")
    assert (seen["gpu.0.power_limit_w"], seen["gpu.0.persistence"], seen["gpu.0.mig"]) == (700, 1, 0)
    assert "gpu.energy_j" not in seen


def test_what_holds_the_clock_down_is_told_apart_as_shares_of_the_samples(gpus):
    """The first run stays in one state, so that every one of its samples says the same."""
    busy, calm = gpus({"busy": [BUSY], "calm": [CALM]}, ["true", change_to("calm")])
    limits = {name.removeprefix("gpu.0.limit."): share for name, share in busy["seen"].items() if ".limit." in name}
    assert {name for name, share in limits.items() if share == 1} == {"sw_power_cap", "hw_thermal"}
    assert {name for name, share in limits.items() if share == 0} == {
        "idle", "app_clocks", "hw_slowdown", "sync_boost", "sw_thermal", "hw_power_brake", "display",
    }  # fmt: skip
    assert busy["seen"]["gpu.0.sm_mhz"] == 1980
    assert busy["seen"]["gpu.0.busy"] == 0.97
    assert 0 < calm["seen"]["gpu.0.limit.idle"] <= 1


def test_counters_that_go_back_are_missing(gpus):
    (said,) = gpus({"busy": [BUSY], "calm": [CALM]}, [change_to("calm")])
    grown = {"energy_j", "ecc_corrected", "pcie_replays", "pcie_tx_bytes", "pcie_rx_bytes", "power_capped_us"}
    assert not {f"gpu.0.{name}" for name in grown} & set(said["seen"])
    assert said["seen"]["gpu.0.ecc_uncorrected"] == 0


def test_an_old_driver_tells_the_reasons_by_their_old_name(gpus):
    (said,) = gpus({"busy": [BUSY]}, ["true"], driver="old")
    assert said["seen"]["gpu.0.limit.hw_thermal"] == 1


def test_what_a_gpu_does_not_support_is_absent_with_the_reason_and_the_rest_is_there(gpus):
    lesser = {key: value for key, value in CALM.items() if key not in ("ecc_corrected", "pstate", "field_198")}
    (said,) = gpus({"lesser": [lesser | {"power_mw": "!4"}]}, ["true"])
    for name in ("ecc_corrected", "ecc_uncorrected", "pstate", "pcie_tx_bytes", "pcie_rx_bytes", "power_w"):
        assert f"gpu.0.{name}" not in said["seen"]
        assert said["absent"][f"gpu.*.{name}"].startswith("GPU 0 does not tell it")
    assert "Insufficient Permissions" in said["absent"]["gpu.*.power_w"]
    assert "Not Supported" in said["absent"]["gpu.*.pstate"]
    assert said["seen"]["gpu.0.sm_mhz"] == 345


def test_what_is_declared_is_what_is_given_or_absent(gpus):
    (said,) = gpus({"calm": [CALM]}, ["true"])
    declared = {column.name for column in find_layer("gpu").columns}
    given = {name.replace("gpu.0.", "gpu.*.") for name in said["seen"]}
    assert given <= declared
    assert declared - given == set(said["absent"])
    assert all(len(reason) > 20 and ": " in reason for reason in said["absent"].values())


def test_several_gpus_have_columns_of_their_own_and_sums(gpus):
    lesser = {key: value for key, value in BUSY.items() if key != "energy_mj"}
    (two,) = gpus({"calm": [CALM, BUSY]}, ["true"])
    assert two["seen"]["gpu.0.power_w"] == 75
    assert two["seen"]["gpu.power_w"] == 75 + 690
    assert two["seen"]["gpu.energy_j"] == 0
    (uneven,) = gpus({"calm": [CALM, lesser]}, ["true"])
    assert "gpu.energy_j" not in uneven["seen"]
    assert list(name for name in uneven["absent"] if "energy" in name) == ["gpu.1.energy_j"]


def test_a_gpu_that_falls_off_in_mid_run_leaves_its_cells_empty_and_says_so_until_it_is_back(gpus):
    lost = {"all": "!15"}
    runs = gpus(
        {"calm": [CALM, CALM], "half": [CALM, lost]},
        ["true", change_to("half"), "true", change_to("calm"), "true"],
    )
    there, falls, gone, returns, back = runs
    assert [run["exit"] for run in runs] == [0] * 5
    for run in runs:
        assert run["seen"]["gpu.0.sm_mhz"] == 345
    assert there["seen"]["gpu.1.sm_mhz"] == back["seen"]["gpu.1.sm_mhz"] == 345
    for run in (falls, gone, returns):
        assert not [name for name in run["seen"] if name.startswith("gpu.1.")]
        assert "gpu.power_w" not in run["seen"]
    for run in (falls, gone):
        assert run["absent"]["gpu.1.sm_mhz"].startswith("GPU 1 fell off (GPU is lost): see dmesg")
    assert "gpu.1.sm_mhz" not in back["absent"]


def test_a_gpu_that_is_gone_for_a_part_of_a_run_has_no_cells_in_it(gpus):
    wait = "until [ -e $HERE/now.seen ]; do sleep 0.01; done"
    commands = [f"{change_to('lost')}; {wait}; {change_to('calm')}", "true"]
    states = {"calm": [CALM], "lost": [{"all": "!15"}]}
    partly, wholly = gpus(states, commands, parameters={"interval_ms": 1})
    assert partly["seen"] == {}
    assert wholly["seen"]["gpu.0.sm_mhz"] == 345


def test_a_gpu_that_is_gone_from_the_beginning_does_not_hide_the_other(gpus):
    (said,) = gpus({"half": [CALM | {"handle": "!15"}, CALM]}, ["true"])
    assert said["seen"]["gpu.1.sm_mhz"] == 345
    assert "GPU 0 fell off" in said["absent"]["gpu.0.sm_mhz"]


def test_a_query_that_fails_once_is_missing_and_the_next_run_has_it(gpus):
    faulty = CALM | {"temp_c": "!999"}
    first, second = gpus({"faulty": [CALM], "bad": [faulty], "calm": [CALM]}, [change_to("bad"), change_to("calm")])
    assert first["seen"]["gpu.0.temp_start_c"] == 30
    assert "gpu.0.temp_start_c" not in second["seen"]
    assert second["seen"]["gpu.0.temp_max_c"] == 30
    assert first["seen"]["gpu.0.sm_mhz"] == 345


def test_processes_of_others_are_counted_and_those_of_the_run_are_not(gpus):
    stranger = CALM | {"process": 1}
    (said,) = gpus({"busy": [stranger]}, ["true"])
    assert said["seen"]["gpu.0.others"] == 1
    own = (
        'sed "s/^0 process .*/0 process $$/" $HERE/calm > $HERE/next && mv $HERE/next $HERE/now; '
        "sed -n 's/^0 process //p' $HERE/now | grep -qx $$"
    )
    (said,) = gpus({"calm": [CALM]}, [own])
    assert said["exit"] == 0
    assert said["seen"]["gpu.0.others"] == 0


def test_pcie_rates_are_off_unless_asked_for(gpus):
    rated = CALM | {"pcie_tx_kb_s": 5, "pcie_rx_kb_s": 7}
    (off,) = gpus({"rated": [rated]}, ["true"])
    assert "pcie_rates=true" in off["absent"]["gpu.*.pcie_tx_bytes_s"]
    (on,) = gpus({"rated": [rated]}, ["true"], parameters={"pcie_rates": True})
    assert (on["seen"]["gpu.0.pcie_tx_bytes_s"], on["seen"]["gpu.0.pcie_rx_bytes_s"]) == (5000, 7000)


@pytest.mark.parametrize(
    ("library", "cards", "reason"),
    [
        (["- init !9"], [CALM], "the NVIDIA driver is not loaded: modprobe nvidia"),
        (["- init !18"], [CALM], "was updated under way"),
        (["- init !4"], [CALM], r"does not answer (Insufficient Permissions): see"),
        ([], [], "shows no GPU: see what nvidia-smi says"),
    ],
)
def test_a_driver_that_does_not_answer_makes_every_column_absent(gpus, library, cards, reason):
    (said,) = gpus({"state": cards}, ["true"], library=library)
    assert said["seen"] == {}
    assert set(said["absent"]) == {column.name for column in find_layer("gpu").columns}
    assert all(reason in one for one in said["absent"].values())


def test_a_gpu_of_amd_is_read_from_sys_into_the_same_columns(tmp_path):
    device = tmp_path / "sys/class/drm/card1/device"
    (device / "hwmon/hwmon4").mkdir(parents=True)
    (tmp_path / "sys/class/drm/card1-DP-1").mkdir()
    for name, said in {
        "gpu_busy_percent": "87",
        "mem_info_vram_used": "1024",
        "pp_dpm_sclk": "0: 500Mhz\n1: 1300Mhz *\n2: 2100Mhz",
        "hwmon/hwmon4/temp1_input": "61000",
        "hwmon/hwmon4/power1_average": "150000000",
    }.items():
        (device / name).write_text(f"{said}\n")
    probe = open_probe(find_layer("gpu"), tmp_path)
    try:
        with Spawner() as spawner:
            seen = spawner.run(Launch(("/bin/true",)), [probe]).counters
            assert (seen["gpu.card1.busy"], seen["gpu.card1.sm_mhz"], seen["gpu.card1.power_w"]) == (0.87, 1300, 150)
            assert (seen["gpu.card1.temp_c"], seen["gpu.card1.memory_used_bytes"]) == (61, 1024)
            # Beside a GPU of NVIDIA, if this machine has one, it is absent under its own name.
            assert any("of AMD does not tell it" in reason for reason in probe.absent().values())
            for path in [path for path in device.rglob("*") if path.is_file()]:
                path.write_text("")
            gone = spawner.run(Launch(("/bin/true",)), [probe]).counters
        assert not [name for name in gone if name.startswith("gpu.card1.")]
        assert any("card1 fell off" in reason for reason in probe.absent().values())
    finally:
        probe.close()
