"""What is asked of an NVIDIA GPU: the names of the answers, and the call of NVML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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


def fields(nvml: Any, gpu: Any, wanted: Mapping[str, int], unit: float = 1.0) -> dict[str, float]:
    """Return values of fields by their numbers."""
    found = nvml.nvmlDeviceGetFieldValues(gpu, list(wanted.values()))
    for field in found:
        if field.nvmlReturn != nvml.NVML_SUCCESS:
            raise nvml.NVMLError(field.nvmlReturn)
    numbers = (getattr(field.value, VALUES[field.valueType]) for field in found)
    return {name: float(number) * unit for name, number in zip(wanted, numbers, strict=True)}


def ecc(nvml: Any, gpu: Any) -> dict[str, float]:
    """Return memory errors since the driver was loaded."""
    kinds = {
        "ecc_corrected": nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED,
        "ecc_uncorrected": nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
    }
    counts = nvml.NVML_VOLATILE_ECC
    return {name: float(nvml.nvmlDeviceGetTotalEccErrors(gpu, kind, counts)) for name, kind in kinds.items()}


def traffic(nvml: Any, gpu: Any) -> dict[str, float]:
    """Return bytes over PCIe since the driver was loaded."""
    return fields(
        nvml,
        gpu,
        {"pcie_tx_bytes": nvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, "pcie_rx_bytes": nvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES},
    )


def capped(nvml: Any, gpu: Any) -> dict[str, float]:
    """Return the time, counted in ns by the driver, for which the clock was held down."""
    policies = {
        "power_capped_us": nvml.NVML_FI_DEV_PERF_POLICY_POWER,
        "thermal_capped_us": nvml.NVML_FI_DEV_PERF_POLICY_THERMAL,
    }
    return fields(nvml, gpu, policies, unit=1e-3)


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
    ("pcie_tx_bytes", "pcie_rx_bytes"): traffic,
    ("power_capped_us", "thermal_capped_us"): capped,
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
