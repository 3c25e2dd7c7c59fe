"""The command line shows the clocks and sensors of a machine that this one is not, and what they do to a program."""

import json

import pytest

from .fake_root import CPU, CPUS, FakeRoot

SLOW = """\
#!/bin/sh
# Every other run is slow: the clock is low and the package is hot.
echo >> {folder}/turns
if [ $(($(wc -l < {folder}/turns) % 2)) = 0 ]; then khz=800000 heat=95000 s=0.15; else khz=2000000 heat=50000 s=0.02; fi
for cpu in {cpus}; do echo $khz > {root}/{cpu}/cpufreq/policy$cpu/scaling_cur_freq; done
echo $heat > {root}/sys/class/thermal/thermal_zone0/temp
sleep $s
"""


@pytest.fixture
def fake(tmp_path):
    return FakeRoot(tmp_path)


def test_the_layers_of_a_machine_that_has_clocks_and_sensors_are_there(vgo, fake):
    done = vgo("layers", "frequency", "thermal", "--root", str(fake.root), "--no-cost", "--json")
    assert done.returncode == 0, done.stderr
    layers = {layer["layer"]: layer for layer in json.loads(done.stdout)["layers"]}
    assert layers["thermal"]["why"] == {}
    assert set(layers["frequency"]["why"]) == {"freq.effective_mhz", "freq.cpu*.mhz"}


def test_a_profile_shows_that_slow_runs_had_a_low_clock_and_a_hot_package(vgo, fake, tmp_path):
    program = tmp_path / "program"
    cpus = " ".join(map(str, CPUS))
    program.write_text(SLOW.format(folder=tmp_path, root=fake.root, cpu=CPU, cpus=cpus))
    program.chmod(0o755)
    layers = ["--layer", "frequency:cpus=all", "--layer", "thermal"]
    done = vgo("measure", "--root", str(fake.root), *layers, "--runs", "6", "--json", "--", str(program))
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout)["rows"] if row.get("freq.mean_mhz") is not None]
    assert len(rows) == 6
    for row in rows:
        # A run is slow for 0.15 s at least, and its last sample sees what it set itself.
        if row["wall_s"] < 0.15:
            assert row["freq.max_mhz"] == 2000
        if row["freq.max_mhz"] == 800:
            assert row["wall_s"] >= 0.15 and row["temp.x86_pkg_temp0.max_c"] == 95
        assert (row["temp.x86_pkg_temp1.max_c"], row["freq.governor"]) == (41, "powersave")
    assert 800 in [row["freq.min_mhz"] for row in rows]
    assert 2000 in [row["freq.max_mhz"] for row in rows]
