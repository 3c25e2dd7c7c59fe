"""`vgo-agent model`, --model and its settings: what a person sees, and what is refused before a program is run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from vgo_agent.agent.model.chosen import who_decides
from vgo_agent.agent.model.gguf_file import SMALL, threads_for
from vgo_agent.agent.model.pull import recommended
from vgo_agent.agent.model.trial import states
from vgo_agent.agent.planners.base import Rules, calls, menu
from vgo_agent.agent.settings import effective

from ...conftest import Vgo
from ...tiny_gguf import huge, tiny
from .stand_in import Request, Response, standing_in

AtHome = Callable[..., CompletedProcess[str]]


@pytest.fixture
def home(vgo: Vgo, tmp_path: Path) -> AtHome:
    """Run vgo-agent with folders of its own."""

    def run(*words: str, env: dict[str, str] | None = None) -> CompletedProcess[str]:
        own = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        return vgo(*words, env=own | (env or {}))

    return run


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "vgo-agent" / "models"
    folder.mkdir(parents=True)
    return folder


def told(shown: CompletedProcess[str]) -> Any:
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def refused(shown: CompletedProcess[str]) -> str:
    assert shown.returncode == 1, shown.stdout
    assert "Traceback" not in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1
    return shown.stderr


def config(tmp_path: Path) -> Path:
    return tmp_path / "config" / "vgo-agent" / "config.toml"


def test_the_list_shows_what_is_there_and_what_could_be(home: AtHome, models: Path) -> None:
    tiny(models / "mine.gguf")
    (models / "broken.gguf").write_bytes(b"GGUF")
    shown = home("model")
    assert shown.returncode == 0, shown.stderr
    assert str(models) in shown.stdout
    for one in recommended():
        assert one.pull in shown.stdout
    listed = {one["name"]: one for one in told(home("model", "list", "--json"))["models"]}
    assert listed["mine"]["context"] == 4096
    assert "is cut off" in listed["broken"]["error"]


def test_the_docs_list_the_same_models() -> None:
    page = (Path(__file__).parents[3] / "docs/guide/models.md").read_text()
    for one in recommended():
        row = f"| {one.name} | {one.gigabytes:.2f} GB | {one.memory_gb:.1f} GB | {one.licence} | `{one.pull}` |"
        assert row in page
    assert page.count("-GGUF:") == len(recommended())


def test_a_model_is_used_from_then_on_and_comments_stay(home: AtHome, models: Path, tmp_path: Path) -> None:
    tiny(models / "mine.gguf")
    config(tmp_path).parent.mkdir(parents=True)
    config(tmp_path).write_text("# mine\nbudget = 30 # short\n")
    assert told(home("model", "use", "mine", "--json"))["model"] == "mine"
    assert config(tmp_path).read_text() == '# mine\nbudget = 30 # short\nmodel = "mine"\n'
    assert told(home("config", "--json"))["settings"]["model"] == {"value": "mine", "origin": "file"}
    assert told(home("config", "--json", "--model", "none"))["settings"]["model"] == {"value": "", "origin": "flag"}
    assert told(home("model", "use", "none", "--json"))["model"] == ""
    assert config(tmp_path).read_text() == "# mine\nbudget = 30 # short\n"


def test_a_file_anywhere_is_written_with_its_whole_path(home: AtHome, tmp_path: Path) -> None:
    tiny(tmp_path / "here.gguf")
    home("model", "use", "./here.gguf")
    assert config(tmp_path).read_text() == f'model = "{tmp_path}/here.gguf"\n'


def test_a_small_model_gets_one_thread_unless_more_are_asked_for(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf")
    assert told(home("model", "info", str(path), "--json"))["threads"] == 1
    more = home("model", "info", str(path), "--json", env={"VGO_AGENT_MODEL_THREADS": "3"})
    assert told(more)["threads"] == 3
    os.truncate(path, SMALL + 1)
    assert told(home("model", "info", str(path), "--json"))["threads"] == threads_for(0, SMALL + 1)


def test_a_model_is_described_with_what_it_needs(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf", context=1024, template=None)
    shown = told(home("model", "info", str(path), "--json"))
    assert (shown["architecture"], shown["weights"], shown["context"]) == ("llama", "F32", 1024)
    assert shown["fits"] is True
    assert shown["chat_template"].startswith("none:")
    assert "a decision may take 2000 tokens" in shown["note"]
    words = home("model", "info", str(path)).stdout
    assert "sha256:" in words
    assert "memory free:" in words


def test_a_random_model_decides_legally(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf", context=16384)
    shown = told(home("model", "check", str(path), "--json"))
    assert (shown["decisions"], shown["taken"]) == (20, 20)
    assert shown["framed"] == ["chat template"]
    assert 0 < shown["median_s"] <= shown["longest_s"]


def test_a_check_says_where_the_model_was_trained_on_its_cases(home: AtHome, tmp_path: Path) -> None:
    shown = home("model", "check", "shipped")
    assert "was trained on these very cases" in shown.stdout
    other = tiny(tmp_path / "x.gguf", context=256)
    assert "trained on" not in home("model", "check", str(other)).stdout


def test_without_a_template_that_works_the_prompt_is_plain(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf", context=16384, template="{{ raise_exception('not so') }}")
    shown = told(home("model", "check", str(path), "--json"))
    assert shown["taken"] == 20
    assert [one.partition(":")[0] for one in shown["framed"]] == ["its chat template fails"]


def test_a_tiny_context_costs_steps_and_says_so(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf", context=256)
    shown = home("model", "check", str(path))
    assert shown.returncode == 1
    assert "not usable: the prompt has" in shown.stdout
    assert "0 of 20 answers were legal calls" in shown.stdout


def test_recorded_moments_have_something_to_choose() -> None:
    moments = states()
    assert len(moments) == 20
    assert len({moment.case for moment in moments}) == 5
    for moment in moments:
        assert calls(menu(moment.view)) > 1
        choice = Rules().choose(moment.view)
        moment.view.legal.check(choice.tool, choice.arguments)
    assert len({Rules().choose(moment.view).tool for moment in moments}) >= 5


MARK = "open('ran', 'w').close()\n"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("bad.gguf", "is not a GGUF file"),
        ("cut.gguf", "is cut off"),
        ("huge.gguf", "GB of memory with a context of"),
        ("nowhere.gguf", "There is no model nowhere.gguf"),
        ("./nowhere.gguf", "give the path of a GGUF file that exists"),
        ("min", "did you mean mine?"),
        ("shiped", "did you mean shipped?"),
        ("http://me:word@127.0.0.1", "holds a user, a password"),
        ("http://", "is no address"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_before_the_program_runs(
    home: AtHome, models: Path, tmp_path: Path, script: Callable[[str, str], Path], spec: str, says: str
) -> None:
    tiny(models / "mine.gguf")
    whole = tiny(tmp_path / "whole.gguf").read_bytes()
    (tmp_path / "bad.gguf").write_bytes(b"hello")
    (tmp_path / "cut.gguf").write_bytes(whole[:-10])
    huge(tmp_path / "huge.gguf", 1 << 41)
    program = script("program.py", MARK)
    assert says in refused(home("diagnose", "--model", spec, str(program)))
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "vgo-runs").exists()


def test_how_a_model_is_asked_stands_in_the_settings(tmp_path: Path) -> None:
    flags = {"model": str(tiny(tmp_path / "x.gguf")), "model_temperature": 0.5, "model_seed": 7}
    request = who_decides(effective(flags)[0])[1]
    assert request is not None and (request.temperature, request.seed) == (0.5, 7)


def test_options_may_stand_anywhere(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf")
    for words in (("info", "--json", str(path)), ("--json", "info", str(path)), ("info", str(path), "--json")):
        assert told(home("model", *words))["name"] == "tiny"
    assert told(home("model", "--json"))["used"] == ""
    waited = home("model", "check", "--decision-timeout", "9", "--json", "shipped")
    assert told(waited)["model"]["decision_timeout_s"] == 9


def test_an_architecture_that_llama_cpp_does_not_know_is_named(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf", architecture="starfish")
    said = refused(home("model", "use", str(path)))
    assert "starfish" in said
    assert "cannot be used: llama-cpp-python" in said
    assert "^" not in said and "File" not in said
    assert not config(tmp_path).exists()


def test_without_llama_cpp_the_extra_is_named(home: AtHome, tmp_path: Path) -> None:
    path = tiny(tmp_path / "x.gguf")
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text("import sys\nsys.modules['llama_cpp'] = None\n")
    without = {"PYTHONPATH": str(tmp_path / "without")}
    for words in (("diagnose", "--model", str(path), sys.executable, "-c", "1"), ("model", "check", str(path))):
        assert "pip install 'vgo-agent[llm]'" in refused(home(*words, env=without))
    assert home("model", "info", str(path), env=without).returncode == 0


def test_a_server_that_is_not_there_is_not_taken(home: AtHome, tmp_path: Path) -> None:
    assert "the server cannot be talked to" in refused(home("model", "use", "http://127.0.0.1:9"))
    assert not config(tmp_path).exists()


def test_a_server_is_used_by_its_address_and_its_key_is_written_nowhere(home: AtHome, tmp_path: Path) -> None:
    def answer(request: Request) -> Response:
        listed = {"data": [{"id": "big", "owned_by": "vllm", "max_model_len": 9000}]}
        return Response(body=json.dumps(listed).encode())

    with standing_in(answer) as place:
        key = {"VGO_AGENT_API_KEY": "sk-secret"}
        shown = home("model", "use", f"{place.address}/v1/", env=key)
        assert shown.returncode == 0, shown.stderr
        told_of = told(home("model", "info", "--json", env=key))
    assert config(tmp_path).read_text() == f'model = "{place.address}"\n'
    assert (told_of["name"], told_of["context"]) == ("big", 9000)
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"sk-secret" in content for content in written)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("model", "use"), "needs to know which one"),
        (("model", "pull"), "needs to know which one"),
        (("model", "list", "mine"), "takes no mine"),
        (("config", "--decision-timeout", "0"), "--decision-timeout is 0.0, but it should be greater than 0"),
    ],
)
def test_what_is_not_understood_is_told(home: AtHome, words: tuple[str, ...], says: str) -> None:
    assert says in refused(home(*words))


def test_a_broken_settings_file_is_left_as_it_is(home: AtHome, tmp_path: Path) -> None:
    config(tmp_path).parent.mkdir(parents=True)
    config(tmp_path).write_text("budget")
    assert "is not TOML" in refused(home("model", "use", "none"))
    assert config(tmp_path).read_text() == "budget"
