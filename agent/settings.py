"""Settings: flags before environment variables before the settings file before defaults."""

from __future__ import annotations

import difflib
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import tomlkit
from platformdirs import user_config_path
from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from tomlkit.exceptions import TOMLKitError

from ..knowledge.errors import VgoError
from ..knowledge.files import regular
from ..tools.amount import LONGEST
from ..tools.subject import LOCAL, Limits, OnFailure

Origin = Literal["default", "file", "environment", "flag"]
PREFIX = "VGO_AGENT_"
NO_MODEL = "none"
"""Lets a flag or a variable take back what the settings file says."""


class UserSettings(Limits):
    """The limits of a diagnosis and what surrounds them; `budget_s` is written `budget`, as its flag is."""

    model_config = ConfigDict(alias_generator=lambda name: name.removesuffix("_s"), allow_inf_nan=False)

    layers: tuple[str, ...] = ("default",)
    """What a user means who names none; whoever makes limits in a program names them one by one."""
    timeout_s: Annotated[float, Field(gt=0, le=LONGEST)] | None = None
    on_failure: OnFailure = "count"
    planner: Literal["", "rules", "llama"] = ""
    """Empty: a language model where one is named, else the rules."""
    model: Annotated[str, AfterValidator(lambda spec: "" if spec == NO_MODEL else spec)] = ""
    """A GGUF file, a name in the folder of models, the address of a server, or `shipped`; empty: none."""
    decision_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    think: bool = False
    model_context: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    """Tokens; 0: as many as a decision needs, and memory allows."""
    model_threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """0: one for a small file, else as many as there are physical cores."""
    model_temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """0: the likeliest token each time."""
    model_seed: Annotated[int, Field(ge=1, lt=1 << 31)] = 1
    """Of what is drawn above temperature 0."""
    out: Annotated[Path, AfterValidator(Path.expanduser)] = Path("vgo-runs")
    """The parent of run folders."""
    launcher: Annotated[str, Field(min_length=1)] = LOCAL
    """Spec of the launcher that starts the program; local: started directly."""
    root: Annotated[Path, AfterValidator(Path.expanduser)] = Path("/")
    """Where the machine's /proc and /sys are looked for."""
    quiet: bool = False

    def limits(self) -> Limits:
        """Those that are recorded with a run."""
        return Limits.model_validate({name: getattr(self, name) for name in Limits.model_fields})


KEYS = tuple(field.alias or name for name, field in UserSettings.model_fields.items())
"""As the file names them."""
_LISTS = ("layers", "accept")


class SettingValue(NamedTuple):
    """A value and who gave it."""

    value: Any
    origin: Origin
    place: str
    """As an error names it."""


def effective(flags: Mapping[str, Any]) -> tuple[UserSettings, dict[str, Origin]]:
    """Return the settings in force and where each comes from; of `flags`, those that are settings count."""
    given = dict(_from_file(config_file()))
    given |= _from_environment(os.environ)
    spelt = {"layers": "--layer"} | {key: f"--{key.replace('_', '-')}" for key in KEYS if key != "layers"}
    given |= {key: SettingValue(flags[key], "flag", spelt[key]) for key in KEYS if key in flags}
    try:
        settings = UserSettings.model_validate({key: source.value for key, source in given.items()})
    except ValidationError as error:
        raise _refusal(given, error) from error
    return settings, {key: given[key].origin if key in given else "default" for key in KEYS}


def config_file() -> Path:
    """Where the settings file is looked for."""
    return user_config_path("vgo-agent") / "config.toml"


def _from_file(path: Path) -> Iterator[tuple[str, SettingValue]]:
    try:
        values = tomllib.loads(regular(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise VgoError(f"{path} cannot be read ({error.strerror}); mend it or take it away.") from error
    except ValueError as error:
        raise VgoError(f"{path} is not TOML ({error}); correct it there.") from error
    for key, value in values.items():
        if key not in KEYS:
            meant = _meant(key)
            hint = f"did you mean {meant}?" if meant else f"known are {', '.join(KEYS)}."
            raise VgoError(f"{path} has the unknown key {key}; {hint}")
        yield key, SettingValue(value, "file", f"{key} in {path}")


def _from_environment(environment: Mapping[str, str]) -> dict[str, SettingValue]:
    """Read one variable a setting; one that looks like a misspelt setting is refused, since it would do nothing."""
    given = {}
    for name, value in environment.items():
        key = name.removeprefix(PREFIX).lower()
        if not name.startswith(PREFIX) or not value:
            continue
        if key in KEYS:
            given[key] = SettingValue(value.split(",") if key in _LISTS else value, "environment", name)
        elif meant := _meant(key):
            raise VgoError(f"{name} is no setting; did you mean {PREFIX}{meant.upper()}?")
    return given


def _meant(key: str) -> str:
    """Find the setting that a misspelt one is close to; empty when none is."""
    return next(iter(difflib.get_close_matches(key, KEYS, n=1, cutoff=0.75)), "")


def _refusal(given: Mapping[str, SettingValue], error: ValidationError) -> VgoError:
    """Name the first wrong value and whoever gave it."""
    first = error.errors()[0]
    source = given[str(first["loc"][0])]
    should = first["msg"].replace("Input should", "it should", 1).replace("a valid tuple", "a list")
    there = "" if source.place.startswith("--") else "; correct it there"
    return VgoError(f"{source.place} is {source.value!r}, but {should}{there}.")


def set_in_file(key: str, value: str) -> Path:
    """Write a setting, or take it out when its value is empty; return the file. It is written whole or not at all."""
    path = config_file().resolve()  # a link to a file elsewhere stays a link
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
        if value:
            document[key] = value
        elif key in document:
            del document[key]
        _write(path, tomlkit.dumps(document))
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise VgoError(f"{path} is not TOML ({error}); correct it there.") from error
    except OSError as error:
        raise VgoError(f"{path} cannot be written ({error.strerror}); set XDG_CONFIG_HOME, or use --model.") from error
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode if path.exists() else 0o600
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode & 0o777)
    try:
        os.replace(file.name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(file.name)
        raise
