"""The settings of GPUs as knobs of the journal: `nvml:GPU-UUID/NAME`, read and written as words through NVML."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ...knowledge.errors import VgoError
from ...layers.probes.nvidia import COMPUTE_MODES, LOST, NO_PACKAGE, refusal
from .kernel_file import GPU, UNTOLD, Gone, KernelFiles, KernelRefusal

UNLOCKED = "unlocked"
BASE = "base"
AUTOMATIC = "automatic"


class GpuGone(Gone):
    """A GPU that fell off, or is no longer there: its settings ended with it."""


class GpuKnob(NamedTuple):
    """How one setting is read and written, each with (the module pynvml, the GPU)."""

    read: Callable[[Any, Any], str]
    write: Callable[[Any, Any, str], None]


def knob_of(path: str) -> GpuKnob:
    """Find a setting by its path; each fan is one of its own."""
    name = path.rpartition("/")[2]
    return fan(int(name[3:])) if name.startswith("fan") else KNOBS[name]


def fan(number: int) -> GpuKnob:
    """Describe a fan: `automatic`, or percent."""

    def read(nvml: Any, gpu: Any) -> str:
        if nvml.nvmlDeviceGetFanControlPolicy_v2(gpu, number) != nvml.NVML_FAN_POLICY_MANUAL:
            return AUTOMATIC
        return str(nvml.nvmlDeviceGetTargetFanSpeed(gpu, number))

    def write(nvml: Any, gpu: Any, value: str) -> None:
        if value == AUTOMATIC:
            nvml.nvmlDeviceSetDefaultFanSpeed_v2(gpu, number)
        else:
            nvml.nvmlDeviceSetFanSpeed_v2(gpu, number, int(value))

    return GpuKnob(read, write)


def _untold(nvml: Any, gpu: Any) -> str:
    nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)  # raises where the GPU has fallen off
    return UNTOLD


def _lock_graphics(nvml: Any, gpu: Any, value: str) -> None:
    """Lock to one clock, `1980`, or keep within two, `345-1410`."""
    if value == UNLOCKED:
        nvml.nvmlDeviceResetGpuLockedClocks(gpu)
        return
    least, _, most = value.partition("-")
    first, last = (nvml.NVML_CLOCK_LIMIT_ID_TDP if mhz == BASE else int(mhz) for mhz in (least, most or least))
    nvml.nvmlDeviceSetGpuLockedClocks(gpu, first, last)


def _lock_memory(nvml: Any, gpu: Any, value: str) -> None:
    if value == UNLOCKED:
        nvml.nvmlDeviceResetMemoryLockedClocks(gpu)
    else:
        nvml.nvmlDeviceSetMemoryLockedClocks(gpu, int(value), int(value))


KNOBS: Mapping[str, GpuKnob] = {
    "persistence": GpuKnob(
        lambda nvml, gpu: str(nvml.nvmlDeviceGetPersistenceMode(gpu)),
        lambda nvml, gpu, value: nvml.nvmlDeviceSetPersistenceMode(gpu, int(value)),
    ),
    "compute_mode": GpuKnob(
        lambda nvml, gpu: COMPUTE_MODES[nvml.nvmlDeviceGetComputeMode(gpu)],
        lambda nvml, gpu, value: nvml.nvmlDeviceSetComputeMode(gpu, COMPUTE_MODES.index(value)),
    ),
    "power_limit_mw": GpuKnob(
        lambda nvml, gpu: str(nvml.nvmlDeviceGetPowerManagementLimit(gpu)),
        lambda nvml, gpu, value: nvml.nvmlDeviceSetPowerManagementLimit(gpu, int(value)),
    ),
    "graphics_clock": GpuKnob(_untold, _lock_graphics),
    "memory_clock": GpuKnob(_untold, _lock_memory),
}


def untold(path: str) -> bool:
    """Tell whether NVML does not say what a knob is set to."""
    return path.rpartition("/")[2] in ("graphics_clock", "memory_clock")


class GpuValues(KernelFiles):
    """Reads and writes knobs of GPUs as `KernelFiles` does those of the kernel.

    NVML is open for the time of a call, and as long as something set here would end with the driver: a GPU that
    nobody holds goes back to its defaults, unless persistence mode is on, and who holds it does what that mode does.
    """

    def __init__(self) -> None:
        super().__init__()
        self._nvml: Any = None
        self._gpus: dict[str, Any] = {}
        self._users = 0
        self._kept: set[str] = set()
        """Knobs that were set here and are not back."""
        self._locks: dict[str, str] = {}
        """What the clocks were locked to here; those of another process are not told."""

    @contextlib.contextmanager
    def opened(self) -> Iterator[Mapping[str, Any]]:
        """Hold NVML; gives the GPUs by UUID, in the order of the driver. VgoError with the cure where there is none."""
        self._users += 1
        try:
            if self._nvml is None:
                self._open()
            yield self._gpus
        finally:
            self._users -= 1
            if self._nvml is not None and not self._users and not self._kept:
                self._nvml.nvmlShutdown()
                self._nvml, self._gpus = None, {}

    def take_as_unlocked(self, path: str) -> None:
        """Assume that a clock is not locked before it is locked here: NVML does not tell."""
        self._locks.setdefault(path, UNLOCKED)

    def read(self, path: str) -> str:
        """Read a knob."""
        knob = knob_of(path)
        said: str = self.ask(path, knob.read, f"reading its {_name(path)}")
        return self._locks.get(path, said)

    def write(self, path: str, value: str) -> None:
        """Set a knob; a refusal is told with its cure."""
        knob = knob_of(path)
        with self.opened():
            self.ask(path, lambda nvml, gpu: knob.write(nvml, gpu, value), f"setting its {_name(path)} to {value}")
            if untold(path):
                self._locks[path] = value
            if not path.endswith("/persistence"):
                self._kept.add(path)

    def put_back(self, saved: Mapping[str, str]) -> tuple[str, ...]:
        """Set knobs to what they were; name those that still differ."""
        with self.opened():
            differing = super().put_back(saved)
            self._kept -= set(saved) - set(differing)
        return differing

    def ask(self, path: str, call: Callable[[Any, Any], Any], doing: str) -> Any:
        """Call NVML with the GPU of a path, and make a sentence of its error, which says what it was `doing`."""
        uuid = path.removeprefix(GPU).partition("/")[0]
        with self.opened() as gpus:
            if uuid not in gpus:
                raise GpuGone(f"{uuid} is not there any more: what was set on it ended with its driver.")
            try:
                return call(self._nvml, gpus[uuid])
            except self._nvml.NVMLError as error:
                raise self._refused(error, uuid, doing) from error

    def query(self, uuid: str, call: str, *words: int) -> Any:
        """Ask with a call of NVML by its name."""
        return self.ask(f"{GPU}{uuid}/{call}", lambda nvml, gpu: getattr(nvml, call)(gpu, *words), call)

    def models(self) -> dict[str, str]:
        """Give the model of each GPU, by UUID."""
        with self.opened() as gpus:
            return {uuid: self.query(uuid, "nvmlDeviceGetName") for uuid in gpus}

    def _open(self) -> None:
        try:
            nvml = import_module("pynvml")
        except ImportError as error:
            raise VgoError(f"No GPU can be set: {NO_PACKAGE}.") from error
        try:
            nvml.nvmlInit()
            self._nvml, self._gpus = nvml, {}
            count = int(nvml.nvmlDeviceGetCount())
        except nvml.NVMLError as error:
            raise VgoError(f"No GPU can be set: {refusal(nvml, error)}.") from error
        for number in range(count):
            try:
                gpu = nvml.nvmlDeviceGetHandleByIndex(number)
                self._gpus[nvml.nvmlDeviceGetUUID(gpu)] = gpu
            except nvml.NVMLError as error:
                if error.value not in self._lost():  # one that fell off has no UUID any more
                    raise self._refused(error, f"GPU {number}", "telling its UUID") from error

    def _lost(self) -> set[int]:
        return {getattr(self._nvml, name) for name in LOST}

    def _refused(self, error: Any, uuid: str, doing: str) -> VgoError:
        if error.value in self._lost():
            return GpuGone(
                f"{uuid} fell off ({error}): see dmesg for its Xid error, then reset it or start the machine anew."
            )
        if error.value == self._nvml.NVML_ERROR_NO_PERMISSION:
            return KernelRefusal(f"{uuid} does not permit {doing}: run vgo-agent as root, or use --allow process.")
        if error.value == self._nvml.NVML_ERROR_NOT_SUPPORTED:
            return KernelRefusal(f"{uuid} does not support {doing}: leave out the mitigation that needs it.")
        return KernelRefusal(
            f"{uuid} refuses {doing} ({error}): see what nvidia-smi says, or leave the mitigation out."
        )


def _name(path: str) -> str:
    return path.rpartition("/")[2].replace("_mw", " in mW").replace("_", " ")


@cache
def gpu_values() -> GpuValues:
    """Give the one of this process: what it has set, it holds."""
    return GpuValues()


def visible(gpus: Mapping[str, str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Choose the UUIDs that a program with this environment may use; `gpus`: the model by UUID, in the driver's order.

    CUDA counts the fastest first unless CUDA_DEVICE_ORDER says PCI_BUS_ID, so that its numbers are the driver's only
    where that is set or all GPUs are of one model.
    """
    said = environment.get("CUDA_VISIBLE_DEVICES")
    if said is None:
        return tuple(gpus)
    sure = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len(set(gpus.values())) == 1
    chosen: list[str] = []
    for word in (word.strip() for word in said.split(",")):
        found = _named(word, tuple(gpus), sure)
        if not found:  # CUDA takes no notice of what follows a name that it does not know
            break
        chosen.append(found)
    if not chosen:
        raise VgoError(f"CUDA_VISIBLE_DEVICES={said} names no GPU that is here: name one as nvidia-smi -L does.")
    return tuple(dict.fromkeys(chosen))


def _named(word: str, uuids: tuple[str, ...], sure: bool) -> str:
    if word.startswith("MIG-"):
        raise VgoError("The program uses a part of a GPU (MIG), whose settings are those of the whole: leave them out.")
    if not word.isdigit():
        same = [uuid for uuid in uuids if word.startswith("GPU-") and uuid.startswith(word)]
        return same[0] if len(same) == 1 else ""
    if int(word) >= len(uuids):
        return ""
    if not sure:
        raise VgoError(
            "CUDA_VISIBLE_DEVICES counts GPUs of several models in an order of its own: "
            "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name them by UUID (nvidia-smi -L)."
        )
    return uuids[int(word)]
