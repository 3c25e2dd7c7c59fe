"""GPUs of NVIDIA, asked through NVML, which the Python package nvidia-ml-py wraps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ..schema import Value
from .sysfs import read_once

Query = Callable[[Any, Any], Mapping[str, Any]]
"""Asks (the module pynvml, the GPU); raises its NVMLError."""
REASONS = {
    "idle": 0x1,
    "app_clocks": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "hw_power_brake": 0x80,
    "display": 0x100,
}
"""Why the clock is not higher: bits of nvmlClocksEventReasons."""
COMPUTE_MODES = ("default", "exclusive_thread", "prohibited", "exclusive_process")
VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Members of nvmlValue_t in the order of nvmlValueType_t."""


def reasons(nvml: Any, gpu: Any) -> dict[str, float]:
    """Return 0 or 1 for each reason."""
    try:
        bits = nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)
    except nvml.NVMLError_FunctionNotFound:  # Its name before driver 535.
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
    return {f"limit.{name}": float(bool(bits & bit)) for name, bit in REASONS.items()}


def use(nvml: Any, gpu: Any) -> dict[str, float]:
    """Return the share of time in which a kernel ran, and in which memory was accessed, as the driver averages it."""
    rates = nvml.nvmlDeviceGetUtilizationRates(gpu)
    return {"busy": rates.gpu / 100, "memory_busy": rates.memory / 100}


def memory(nvml: Any, gpu: Any) -> dict[str, float]:
    """Return memory in bytes."""
    found = nvml.nvmlDeviceGetMemoryInfo(gpu)
    return {"memory_used_bytes": float(found.used), "memory_free_bytes": float(found.free)}


def fields(wanted: Mapping[str, str], unit: float = 1.0) -> Query:
    """Make a query of values of fields, by what NVML calls their numbers."""

    def query(nvml: Any, gpu: Any) -> dict[str, float]:
        found = nvml.nvmlDeviceGetFieldValues(gpu, [getattr(nvml, f"NVML_FI_DEV_{name}") for name in wanted.values()])
        for field in found:
            if field.nvmlReturn != nvml.NVML_SUCCESS:
                raise nvml.NVMLError(field.nvmlReturn)
        numbers = (getattr(field.value, VALUES[field.valueType]) for field in found)
        return {name: float(number) * unit for name, number in zip(wanted, numbers, strict=True)}

    return query


def ecc(nvml: Any, gpu: Any) -> dict[str, float]:
    """Return memory errors since the driver was loaded."""
    kinds, counts = ("corrected", "uncorrected"), nvml.NVML_VOLATILE_ECC
    numbers = {kind: getattr(nvml, f"NVML_MEMORY_ERROR_TYPE_{kind.upper()}") for kind in kinds}
    return {f"ecc_{kind}": float(nvml.nvmlDeviceGetTotalEccErrors(gpu, numbers[kind], counts)) for kind in kinds}


LEVELS: dict[tuple[str, ...], Query] = {
    ("sm_mhz",): lambda nvml, gpu: {"sm_mhz": float(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM))},
    ("memory_mhz",): lambda nvml, gpu: {"memory_mhz": float(nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM))},
    ("temp_c",): lambda nvml, gpu: {"temp_c": float(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU))},
    ("power_w",): lambda nvml, gpu: {"power_w": nvml.nvmlDeviceGetPowerUsage(gpu) / 1000},
    ("busy", "memory_busy"): use,
    ("memory_used_bytes", "memory_free_bytes"): memory,
    ("pstate",): lambda nvml, gpu: {"pstate": float(nvml.nvmlDeviceGetPerformanceState(gpu))},
    ("pcie_generation",): lambda nvml, gpu: {"pcie_generation": float(nvml.nvmlDeviceGetCurrPcieLinkGeneration(gpu))},
    ("pcie_width",): lambda nvml, gpu: {"pcie_width": float(nvml.nvmlDeviceGetCurrPcieLinkWidth(gpu))},
    tuple(f"limit.{name}" for name in REASONS): reasons,
    ("others",): lambda nvml, gpu: {"processes": [one.pid for one in nvml.nvmlDeviceGetComputeRunningProcesses(gpu)]},
}
COUNTERS: dict[tuple[str, ...], Query] = {
    ("energy_j",): lambda nvml, gpu: {"energy_j": nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000},
    ("ecc_corrected", "ecc_uncorrected"): ecc,
    ("pcie_replays",): lambda nvml, gpu: {"pcie_replays": float(nvml.nvmlDeviceGetPcieReplayCounter(gpu))},
    ("pcie_tx_bytes", "pcie_rx_bytes"): fields(
        {"pcie_tx_bytes": "PCIE_COUNT_TX_BYTES", "pcie_rx_bytes": "PCIE_COUNT_RX_BYTES"}
    ),
    # The driver counts the time for which the clock was held down in ns.
    ("power_capped_us", "thermal_capped_us"): fields(
        {"power_capped_us": "PERF_POLICY_POWER", "thermal_capped_us": "PERF_POLICY_THERMAL"}, unit=1e-3
    ),
}
RATES: dict[tuple[str, ...], Query] = {
    ("pcie_tx_bytes_s",): lambda nvml, gpu: {
        "pcie_tx_bytes_s": 1e3 * nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_TX_BYTES)
    },
    ("pcie_rx_bytes_s",): lambda nvml, gpu: {
        "pcie_rx_bytes_s": 1e3 * nvml.nvmlDeviceGetPcieThroughput(gpu, nvml.NVML_PCIE_UTIL_RX_BYTES)
    },
}
"""Each call measures for 20 ms."""
SETTINGS: dict[tuple[str, ...], Query] = {
    ("model",): lambda nvml, gpu: {"model": nvml.nvmlDeviceGetName(gpu)},
    ("power_limit_w",): lambda nvml, gpu: {"power_limit_w": nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000},
    ("persistence",): lambda nvml, gpu: {"persistence": float(nvml.nvmlDeviceGetPersistenceMode(gpu))},
    ("compute_mode",): lambda nvml, gpu: {"compute_mode": COMPUTE_MODES[nvml.nvmlDeviceGetComputeMode(gpu)]},
    ("mig",): lambda nvml, gpu: {"mig": float(nvml.nvmlDeviceGetMigMode(gpu)[0])},
}


NO_PACKAGE = "the Python package nvidia-ml-py is not installed: pip install 'vgo-agent[gpu]'"
NO_DRIVER = (
    "there is no GPU driver here (neither libnvidia-ml.so.1 nor a card of amdgpu in /sys/class/drm): "
    "install the driver, or start the container with its GPUs (--gpus all)"
)
NOT_LOADED = "the NVIDIA driver is not loaded: modprobe nvidia, or start the container with its GPUs (--gpus all)"
RATES_OFF = "it is off, for each sample of it takes 40 ms: ask for it with --layer gpu:pcie_rates=true"
LOST = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_RESET_REQUIRED")


class Nvidia:
    """The library, and the GPUs that it shows."""

    def __init__(self, rates: bool) -> None:
        """Load it; where that fails, `why_none` says why and what cures it."""
        self.cards: list[NvidiaCard] = []
        self.why_none = ""
        self._nvml: Any = None
        try:
            nvml = import_module("pynvml")
        except ImportError:
            self.why_none = NO_PACKAGE
            return
        try:
            nvml.nvmlInit()
            self._nvml = nvml
            self.cards = [NvidiaCard(nvml, number, rates) for number in range(nvml.nvmlDeviceGetCount())]
        except nvml.NVMLError as error:
            self.why_none = refusal(nvml, error)
        else:
            self.why_none = "" if self.cards else "the NVIDIA driver shows no GPU: see what nvidia-smi says"

    def close(self) -> None:
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = None


class NvidiaCard:
    """One GPU; what it cannot tell is found out once, when it is opened."""

    def __init__(self, nvml: Any, number: int, rates: bool) -> None:
        self.name = str(number)
        self._unknown: dict[str, str] = {} if rates else {name: RATES_OFF for names in RATES for name in names}
        self._nvml = nvml
        self._lost = {getattr(nvml, name) for name in LOST}
        self.loss = ""
        try:
            self._handle = nvml.nvmlDeviceGetHandleByIndex(number)
        except nvml.NVMLError as error:
            self._handle = None
            self._lose(error)
        self._levels = self._known(LEVELS | (RATES if rates else {}))
        self._counters = self._known(COUNTERS)
        self._settings = self._known(SETTINGS)

    def levels(self, pid: int) -> dict[str, float] | None:
        found = self._ask(self._levels)
        if found is not None and "processes" in found:
            found["others"] = float(sum(not descends(one, pid) for one in found.pop("processes")))
        return found

    def counters(self) -> dict[str, float] | None:
        return self._ask(self._counters)

    def settings(self) -> Mapping[str, Value]:
        return self._ask(self._settings) or {}

    def unknown(self, name: str) -> str:
        return self._unknown.get(name, "")

    def _known(self, queries: Mapping[tuple[str, ...], Query]) -> list[Query]:
        """Keep the queries that it answers."""
        known = []
        for names, query in queries.items():
            try:
                query(self._nvml, self._handle)
            except self._nvml.NVMLError as error:
                if error.value not in self._lost:
                    self._unknown |= dict.fromkeys(
                        names, f"GPU {self.name} does not tell it ({error}): no cure is known"
                    )
                    continue
            known.append(query)
        return known

    def _ask(self, queries: list[Query]) -> dict[str, Any] | None:
        """Gather the answers; one that fails once is missing."""
        if self._handle is None:
            return None
        found: dict[str, Any] = {}
        for query in queries:
            try:
                found |= query(self._nvml, self._handle)
            except self._nvml.NVMLError as error:
                if error.value in self._lost:
                    self._lose(error)
                    return None
        self.loss = ""
        return found

    def _lose(self, error: Exception) -> None:
        self.loss = (
            f"GPU {self.name} fell off ({error}): see dmesg for its Xid error, then reset it or start the machine anew"
        )


def refusal(nvml: Any, error: Any) -> str:
    """Say why the library does not serve, and the cure."""
    known = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: NO_DRIVER,
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: NOT_LOADED,
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "the NVIDIA driver was updated under way (its library and its kernel "
        "module differ): start the machine anew",
    }
    return known.get(error.value, f"the NVIDIA driver does not answer ({error}): see what nvidia-smi says")


def descends(pid: int, ancestor: int) -> bool:
    """Tell whether a process is another one or comes from it."""
    while pid > 1 and pid != ancestor:
        stat = read_once(f"/proc/{pid}/stat")
        pid = int(stat.rpartition(b")")[2].split()[1]) if stat else 0
    return pid == ancestor and pid > 0
