"""GPUs of NVIDIA, asked through NVML, which the Python package nvidia-ml-py wraps."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..schema import Value
from .nvml_queries import COUNTERS, LEVELS, RATES, SETTINGS, Query
from .sysfs import read_once

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
        """Leave the library."""
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
        """Return clocks, heat, power, limits, use; None where it has fallen off."""
        found = self._ask(self._levels)
        if found is not None and "processes" in found:
            found["others"] = float(sum(not descends(one, pid) for one in found.pop("processes")))
        return found

    def counters(self) -> dict[str, float] | None:
        """Return energy, errors, traffic; None where it has fallen off."""
        return self._ask(self._counters)

    def settings(self) -> Mapping[str, Value]:
        """Return its model, limit and modes."""
        return self._ask(self._settings) or {}

    def unknown(self, name: str) -> str:
        """Say why it does not tell a level, a counter or a setting; empty where it does."""
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
