"""The recommended setting as lines for a shell and for Slurm."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ...knowledge.shape import Frozen
from .design import StudyDesign
from .setting import StudySetting

NOT_INHERITED = "Give --cpus-per-task on the srun line too: since Slurm 22.05 a step does not inherit it from the job."
_ABSTRACT = {1: "cores", 2: "threads"}


class Advice(Frozen):
    """How to run the program so."""

    setting: str
    shell: tuple[str, ...]
    """Lines before the program."""
    slurm: tuple[str, ...]
    """Lines of a job script; places are named, not numbered, since a job may get other CPUs."""
    notes: tuple[str, ...]


def advice(setting: StudySetting, design: StudyDesign, command: Sequence[str]) -> Advice:
    """Write down a setting; `command` in words, the program first."""
    unset = [f"unset {name}" for name in setting.unset if name not in setting.environment]
    exported = [f"export {name}={shlex.quote(value)}" for name, value in setting.environment.items()]
    program = shlex.join([setting.program or command[0], *command[1:]])
    start = f"taskset -c {','.join(map(str, setting.affinity))} {program}" if setting.affinity else program
    return Advice(
        setting=setting.name,
        shell=(*unset, *exported, start),
        slurm=tuple(_slurm(setting, unset, program)),
        notes=tuple(_notes(setting, design)),
    )


def _slurm(setting: StudySetting, unset: list[str], program: str) -> list[str]:
    deep = 2 if setting.threads > setting.cores else 1
    cpus = (setting.cores + setting.spare) * deep
    bound = setting.environment.get("OMP_PROC_BIND", "false") != "false"
    hint = "--hint=multithread" if deep == 2 else "--hint=nomultithread"
    environment = {
        name: _ABSTRACT[deep] if name == "OMP_PLACES" else value for name, value in setting.environment.items()
    }
    step = f"srun --cpus-per-task={cpus} {hint} --cpu-bind={_ABSTRACT[deep] if bound else 'none'} {program}"
    return [
        "#SBATCH --nodes=1 --ntasks=1",
        f"#SBATCH --cpus-per-task={cpus}",
        f"#SBATCH {hint}",
        *unset,
        *(f"export {name}={shlex.quote(value)}" for name, value in environment.items()),
        step,
    ]


def _notes(setting: StudySetting, design: StudyDesign) -> list[str]:
    notes = [NOT_INHERITED]
    if setting.spare:
        cores = "core" if setting.spare == 1 else "cores"
        notes.append(
            f"The job asks for {setting.spare} more {cores} than it uses and leaves them to the system; where the "
            f"site allows it, --core-spec={setting.spare} with --exclusive does the same and binds the system there."
        )
    if setting.affinity:
        notes.append("The CPU numbers are those of this machine; with Slurm choose such CPUs with --cpu-bind=map_cpu.")
    notes.append(f"It was measured on a machine with {design.machine}; on another one run the study again.")
    return notes
