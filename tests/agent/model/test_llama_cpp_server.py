"""A real server on loopback, `python -m llama_cpp.server`, writes under our grammar, and decides recorded moments."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vgo_agent.agent.model.language_model import ModelFailed
from vgo_agent.agent.model.server import ModelServer
from vgo_agent.agent.record import bodies
from vgo_agent.agent.transcript import Decision, read

from ...conftest import Vgo
from ...tiny_gguf import tiny

LIMITS = ("--max-runs", "40", "--budget", "600", "--max-mitigations", "2", "--json")
pytest.importorskip("llama_cpp.server.app", reason="the server of llama-cpp-python is not installed")
QUESTION = {
    "messages": [{"role": "user", "content": "Which?"}],
    "schema": None,
    "most": 20,
    "temperature": 0.0,
    "seed": 1,
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    model = tiny(folder / "tiny.gguf", context=16384)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--model", str(model), "--host", "127.0.0.1", "--port", str(port), "--n_ctx", "16384"]
    words += ["--n_threads", "1", "--n_threads_batch", "1"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", *words], stdout=log, stderr=log)
    try:
        _until_it_answers(f"http://127.0.0.1:{port}", server, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _until_it_answers(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert server.poll() is None, log.read_text()
        try:
            ModelServer(address).describe()
            return
        except ModelFailed:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_it_is_known_for_what_it_is(address: str) -> None:
    told = ModelServer(address).describe()
    assert (told["name"], told["kind"], told["library"]) == ("tiny.gguf", "server", "llama_cpp.server")


def test_it_writes_what_the_grammar_allows_and_the_same_again(address: str) -> None:
    model = ModelServer(address)
    request = QUESTION | {"grammar": 'root ::= "yes" | "no" | "maybe so"'}
    first, again = model.ask(request, 60.0), model.ask(request, 60.0)
    assert first["text"] in ("yes", "no", "maybe so")
    assert first["ended"] == "stop"
    assert first["prompt_tokens"] > 5
    assert again["text"] == first["text"]


def test_its_decisions_on_recorded_moments_are_legal(address: str, vgo: Vgo, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    shown = vgo("model", "check", address, "--json", env=env)
    told = json.loads(shown.stdout)
    assert (shown.returncode, told["decisions"], told["taken"]) == (0, 20, 20), shown.stdout
    assert told["framed"] == ["llama_cpp.server"]


def test_it_plans_a_whole_diagnosis_that_is_replayed_without_it(address: str, vgo: Vgo, tmp_path: Path) -> None:
    program = tmp_path / "sums.py"
    program.write_text(
        f"#!{sys.executable} -IS\nimport os\nprint(sum(range(20_000 + 9_000 * (os.urandom(1)[0] % 3))))\n"
    )
    program.chmod(0o755)
    done = vgo("diagnose", "--model", address, *LIMITS, str(program))
    assert done.returncode in (0, 1), done.stderr
    run = Path(json.loads(done.stdout)["run_dir"])
    decisions = bodies(read(run / "transcript.jsonl"), Decision)
    said = [one.said for one in decisions if one.said]
    assert said and not [one.passed_over for one in said if "server" in one.passed_over]
    assert any(one.origin == "llama" and one.said for one in decisions)
    assert address not in (run / "transcript.jsonl").read_text()
    again = json.loads(vgo("verify", "--recompute", "--json", str(run)).stdout)
    assert again["ok"] and again["note"].startswith("what the model wrote was read from the record")
