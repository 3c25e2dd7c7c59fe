"""A machine that is not this one: /proc and /sys of two packages, four CPUs, their clocks, sensors and counters.

    fake = FakeRoot(tmp_path)
    probe = open_probe(find_layer("frequency"), fake.root)
    fake.clock(1800)

A file is rewritten in place, as the kernel's are, so that what holds it open reads the new text.
"""

import os
import subprocess
from pathlib import Path

CPUS = (0, 1, 2, 3)
PACKAGE = {0: 0, 1: 0, 2: 1, 3: 1}
"""CPU: its package and NUMA node; each CPU is a core of its own."""
STATES = (("POLL", 0), ("C1", 2), ("C6", 133))
"""Idle states, with the time in microseconds that leaving them takes."""
ENERGY_RANGE_UJ = 262_143_328_850
CPU = "sys/devices/system/cpu"
CPUINFO = """\
processor\t: {cpu}
vendor_id\t: GenuineIntel
model name\t: Fake CPU @ 2.00GHz
cpu MHz\t\t: {mhz}
physical id\t: {package}
flags\t\t: fpu tsc msr constant_tsc aperfmperf

"""

MEMINFO = """\
MemTotal:           2048 kB
MemFree:             512 kB
MemAvailable:       1024 kB
Cached:              256 kB
Dirty:                64 kB
Slab:                128 kB
HugePages_Free:        3
"""
BUDDYINFO = """\
Node 0, zone   Normal     24      0      2      0      0      0      0      0      0      1      1
Node 1, zone   Normal   1024      0      0      0      0      0      0      0      0      0      0
"""
"""Free blocks of 1, 2, 4 .. 1024 pages: node 1 has as many pages as one block of node 0, and all of them alone."""
ZONEINFO = """\
Node 0, zone   Normal
  per-node stats
      nr_inactive_anon 1
  pages free     1568
        boost    0
        min      16
        low      32
        high     48
Node 1, zone   Normal
  pages free     1024
        min      256
        low      512
        high     768
"""


class FakeRoot:
    """The tree, with functions that let time pass on the machine."""

    def __init__(self, folder: Path) -> None:
        """Build everything; take away with `remove` what a test wants missing."""
        self.root = folder / "root"
        self.write(
            "proc/cpuinfo", "".join(CPUINFO.format(cpu=cpu, mhz="2000.000", package=PACKAGE[cpu]) for cpu in CPUS)
        )
        self.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n")
        self.write(f"{CPU}/online", "0-3")
        self._memory()
        self._nodes()
        self._cpufreq()
        self._cpuidle()
        self._sensors()
        self._throttling()
        self._energy()

    def write(self, name: str, said: str | float) -> None:
        """Let a file say something."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{said}\n" if not str(said).endswith("\n") else str(said))

    def number(self, name: str) -> int:
        """Read a file that says one number."""
        return int((self.root / name).read_text())

    def add(self, name: str, amount: int) -> None:
        """Let a counter go on."""
        self.write(name, self.number(name) + amount)

    def remove(self, pattern: str) -> None:
        """Take files away; folders with all that is in them."""
        for path in sorted(self.root.glob(pattern), reverse=True):
            for inner in sorted(path.rglob("*"), reverse=True) if path.is_dir() and not path.is_symlink() else ():
                inner.rmdir() if inner.is_dir() and not inner.is_symlink() else inner.unlink()
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    def lend(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Let a file live as long as a process: then it vanishes, also for those who hold it open, as in sysfs.

        It says 0 until then. A number of the kernel that any process may write takes its place.
        """
        (self.root / name).unlink(missing_ok=True)
        os.symlink(f"/proc/{process.pid}/oom_score_adj", self.root / name)

    def clock(self, mhz: float, cpus: tuple[int, ...] = CPUS) -> None:
        """Let CPUs run at a frequency."""
        for cpu in cpus:
            self.write(f"{CPU}/cpufreq/policy{cpu}/scaling_cur_freq", int(mhz * 1000))

    def govern(self, **settings: str | int) -> None:
        """Change files of cpufreq on all CPUs: `scaling_governor="performance"`."""
        for cpu in CPUS:
            for name, said in settings.items():
                self.write(f"{CPU}/cpufreq/policy{cpu}/{name}", said)

    def sleep(self, cpu: int, state: int, us: int, entries: int = 1) -> None:
        """Let a CPU be in an idle state for a time."""
        self.add(f"{CPU}/cpu{cpu}/cpuidle/state{state}/time", us)
        self.add(f"{CPU}/cpu{cpu}/cpuidle/state{state}/usage", entries)

    def heat(self, celsius: float, sensor: str = "sys/class/thermal/thermal_zone0/temp") -> None:
        """Let a sensor show a temperature."""
        self.write(sensor, int(celsius * 1000))

    def throttle(self, package: int, core_ms: int, package_ms: int) -> None:
        """Slow the CPUs of a package down once: each of them counts it."""
        for cpu in (cpu for cpu in CPUS if PACKAGE[cpu] == package):
            folder = f"{CPU}/cpu{cpu}/thermal_throttle"
            for name, ms in (("core", core_ms), ("package", package_ms)):
                self.add(f"{folder}/{name}_throttle_count", 1)
                self.add(f"{folder}/{name}_throttle_total_time_ms", ms)

    def spend(self, joules: float, zone: str = "intel-rapl:0") -> None:
        """Let a part use energy; its counter begins anew after its range."""
        name = f"sys/class/powercap/{zone}/energy_uj"
        self.write(name, (self.number(name) + int(joules * 1e6)) % ENERGY_RANGE_UJ)

    def allocate(self, pages: int, node: int, asked_by: int) -> None:
        """Let pages be given on a node to a CPU of another one, or of the same, that preferred its own."""
        kinds = ("numa_hit", "local_node") if node == asked_by else ("numa_miss", "other_node")
        for of, names in ((node, kinds), *(() if node == asked_by else ((asked_by, ("numa_foreign",)),))):
            path = self.root / f"sys/devices/system/node/node{of}/numastat"
            lines = (line.split() for line in path.read_text().splitlines())
            path.write_text("".join(f"{name} {int(count) + pages * (name in names)}\n" for name, count in lines))

    def _memory(self) -> None:
        self.write("proc/meminfo", MEMINFO)
        self.write("proc/buddyinfo", BUDDYINFO)
        self.write("proc/zoneinfo", ZONEINFO)
        self.write("proc/vmstat", "nr_free_pages 1000\npgfault 500\npgscan_anon 0\nnuma_interleave 7\nthp_swpout 3\n")

    def _nodes(self) -> None:
        for node in (0, 1):
            folder = f"sys/devices/system/node/node{node}"
            self.write(f"{folder}/cpulist", ",".join(str(cpu) for cpu in CPUS if PACKAGE[cpu] == node))
            self.write(f"{folder}/distance", "10 21" if node == 0 else "21 10")
            self.write(
                f"{folder}/numastat", "numa_hit 1000\nnuma_miss 0\nnuma_foreign 0\nlocal_node 1000\nother_node 0"
            )
            self.write(f"{folder}/meminfo", f"Node {node} MemTotal:        1024 kB\nNode {node} MemFree:  512 kB")
        for cpu in CPUS:
            self.write(f"{CPU}/cpu{cpu}/topology/physical_package_id", PACKAGE[cpu])
            self.write(f"{CPU}/cpu{cpu}/topology/core_id", cpu)
            self.write(f"{CPU}/cpu{cpu}/topology/thread_siblings_list", cpu)

    def _cpufreq(self) -> None:
        self.govern(
            scaling_driver="intel_pstate",
            scaling_governor="powersave",
            energy_performance_preference="balance_performance",
            scaling_min_freq=800_000,
            scaling_max_freq=3_600_000,
        )
        self.clock(2000)
        self.write(f"{CPU}/intel_pstate/no_turbo", 0)
        for cpu in CPUS:
            (self.root / CPU / f"cpu{cpu}/cpufreq").symlink_to(f"../cpufreq/policy{cpu}")

    def _cpuidle(self) -> None:
        for cpu in CPUS:
            for number, (name, latency) in enumerate(STATES):
                for file, said in (("name", name), ("latency", latency), ("time", 0), ("usage", 0), ("disable", 0)):
                    self.write(f"{CPU}/cpu{cpu}/cpuidle/state{number}/{file}", said)

    def _sensors(self) -> None:
        for zone, (kind, celsius) in enumerate((("x86_pkg_temp", 40), ("x86_pkg_temp", 41), ("acpitz", 30))):
            self.write(f"sys/class/thermal/thermal_zone{zone}/type", kind)
            self.heat(celsius, f"sys/class/thermal/thermal_zone{zone}/temp")
        for cpu in CPUS:
            self.write(f"sys/class/thermal/cooling_device{cpu}/type", "Processor")
            self.write(f"sys/class/thermal/cooling_device{cpu}/cur_state", 0)
        for chip, name in enumerate(("acpitz", "coretemp", "nvme", "nct6775")):
            self.write(f"sys/class/hwmon/hwmon{chip}/name", name)
            self.heat(35 + chip, f"sys/class/hwmon/hwmon{chip}/temp1_input")
        self.heat(44, "sys/class/hwmon/hwmon1/temp2_input")
        self.write("sys/class/hwmon/hwmon3/fan1_input", 1200)

    def _throttling(self) -> None:
        for cpu in CPUS:
            for name in ("core", "package"):
                self.write(f"{CPU}/cpu{cpu}/thermal_throttle/{name}_throttle_count", 5)
                self.write(f"{CPU}/cpu{cpu}/thermal_throttle/{name}_throttle_total_time_ms", 70)

    def _energy(self) -> None:
        zones = {
            "intel-rapl:0": "package-0",
            "intel-rapl:1": "package-1",
            "intel-rapl:0:0": "core",
            "intel-rapl:1:0": "core",
        }
        for zone, name in zones.items():
            # The kernel shows a part both beside its package and within it.
            self.write(f"sys/class/powercap/{zone}/name", name)
            self.write(f"sys/class/powercap/{zone}/energy_uj", 1_000_000)
            self.write(f"sys/class/powercap/{zone}/max_energy_range_uj", ENERGY_RANGE_UJ)
