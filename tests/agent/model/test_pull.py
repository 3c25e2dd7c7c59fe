"""`vgo-agent model pull`: whole, or not at all; it goes on where it stopped, and the hash is checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from huggingface_hub.constants import DOWNLOAD_CHUNK_SIZE

from ...conftest import Vgo
from ...tiny_gguf import tiny
from .stand_in import Request, Response, standing_in

FILE = "tiny-Q4_K_M.gguf"
SPEC = f"maker/tiny-GGUF:{FILE}"
Pull = Callable[..., CompletedProcess[str]]


class Hub:
    """What the Hub says of one file."""

    def __init__(self, content: bytes, promised: bytes | None = None, cuts: int = 0) -> None:
        self.content, self.promised, self.cuts = content, content if promised is None else promised, cuts

    def __call__(self, request: Request) -> Response:
        repo, _, file = request.path.partition("/resolve/main/")
        if repo != "/maker/tiny-GGUF":
            gated = repo == "/maker/gated"
            return Response(
                status=403 if gated else 404, headers={"X-Error-Code": "GatedRepo" if gated else "RepoNotFound"}
            )
        if file != FILE:
            return Response(status=404, headers={"X-Error-Code": "EntryNotFound"})
        if request.method == "HEAD":
            return Response(headers=self.facts() | {"Content-Length": str(len(self.content))})
        return self.part(int(request.headers.get("range", "bytes=0-")[6:-1]))

    def facts(self) -> dict[str, str]:
        return {
            "X-Repo-Commit": "0" * 40,
            "ETag": '"0123"',
            "X-Linked-ETag": f'"{hashlib.sha256(self.promised).hexdigest()}"',
            "X-Linked-Size": str(len(self.content)),
        }

    def part(self, begin: int) -> Response:
        rest, whole = self.content[begin:], len(self.content)
        headers = self.facts() | ({"Content-Range": f"bytes {begin}-{whole - 1}/{whole}"} if begin else {})
        self.cuts -= 1
        cut = len(rest) * 3 // 4 if self.cuts >= 0 else None
        return Response(status=206 if begin else 200, body=rest, headers=headers, cut_after=cut)


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    return tiny(tmp_path / "source.gguf", width=64, feed=256).read_bytes()


@pytest.fixture
def pull(vgo: Vgo, tmp_path: Path) -> Pull:
    def run(address: str, *words: str, **more: str) -> CompletedProcess[str]:
        env = {
            "TQDM_POSITION": "-1",
            "HF_ENDPOINT": address,
            "HF_HOME": str(tmp_path / "hf"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        env |= {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        return vgo("model", "pull", *words, env=env | more)

    return run


def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "vgo-agent" / "models"


def gets(requests: list[Request]) -> list[str]:
    return [
        request.headers.get("range", "") for request in requests if request.method == "GET" and FILE in request.path
    ]


def test_a_file_is_fetched_once_and_can_be_used(pull: Pull, tmp_path: Path, content: bytes) -> None:
    with standing_in(Hub(content)) as hub:
        first, again = pull(hub.address, SPEC, "--json"), pull(hub.address, SPEC)
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["sha256"] == hashlib.sha256(content).hexdigest()
    assert (folder(tmp_path) / FILE).read_bytes() == content
    assert "was here already" in again.stdout
    assert gets(hub.requests) == [""]
    assert FILE in first.stderr  # the progress bar
    assert not list((folder(tmp_path) / ".parts").iterdir())


def test_a_cut_connection_is_taken_up_where_it_broke(pull: Pull, tmp_path: Path) -> None:
    content = tiny(tmp_path / "large.gguf", width=320, feed=1280, layers=3).read_bytes()
    with standing_in(Hub(content, cuts=1)) as hub:
        shown = pull(hub.address, SPEC, "--quiet")
    assert shown.returncode == 0, shown.stderr
    assert (folder(tmp_path) / FILE).read_bytes() == content
    assert len(content) * 3 // 4 > DOWNLOAD_CHUNK_SIZE
    assert gets(hub.requests) == ["", f"bytes={DOWNLOAD_CHUNK_SIZE}-"]  # what is less than a chunk is lost


def test_what_an_earlier_process_fetched_is_not_fetched_again(pull: Pull, tmp_path: Path, content: bytes) -> None:
    part = folder(tmp_path) / ".parts" / hashlib.sha256(content).hexdigest()
    part.parent.mkdir(parents=True)
    part.write_bytes(content[:1000])
    with standing_in(Hub(content)) as hub:
        shown = pull(hub.address, SPEC)
    assert shown.returncode == 0, shown.stderr
    assert gets(hub.requests) == ["bytes=1000-"]
    assert (folder(tmp_path) / FILE).read_bytes() == content


def refused(shown: CompletedProcess[str], tmp_path: Path) -> str:
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "Traceback" not in shown.stderr
    assert not (folder(tmp_path) / FILE).exists()
    return shown.stderr.strip().splitlines()[-1]


def test_a_wrong_hash_is_refused_and_thrown_away(pull: Pull, tmp_path: Path, content: bytes) -> None:
    with standing_in(Hub(content, promised=b"something else")) as hub:
        assert "has another hash than maker/tiny-GGUF says" in refused(pull(hub.address, SPEC), tmp_path)
    assert not list((folder(tmp_path) / ".parts").iterdir())


def test_a_file_that_was_no_model_is_told(pull: Pull, tmp_path: Path) -> None:
    with standing_in(Hub(b"hello")) as hub:
        shown = pull(hub.address, SPEC)
    assert "is not a GGUF file" in shown.stderr


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("maker/nothing:x.gguf", "has no repository maker/nothing that you may read"),
        ("maker/tiny-GGUF:other.gguf", "maker/tiny-GGUF has no file other.gguf"),
        ("maker/gated:x.gguf", "asks for a licence to be accepted"),
        ("maker/tiny-GGUF", "is no OWNER/REPO:FILE.gguf"),
        ("maker/tiny-GGUF:../../x.gguf", "is no OWNER/REPO:FILE.gguf"),
        ("maker/tiny-GGUF:model.bin", "is no OWNER/REPO:FILE.gguf"),
        ("tiny:x.gguf", "is no OWNER/REPO:FILE.gguf"),
    ],
)
@pytest.mark.cells(3)
def test_what_cannot_be_had_is_told(pull: Pull, tmp_path: Path, content: bytes, spec: str, says: str) -> None:
    with standing_in(Hub(content)) as hub:
        assert says in refused(pull(hub.address, spec), tmp_path)


def test_no_network_and_a_hub_that_says_no_hash_are_told(pull: Pull, tmp_path: Path, content: bytes) -> None:
    assert "could not be fetched" in refused(pull("http://127.0.0.1:9", SPEC), tmp_path)
    with standing_in(lambda _: Response(headers={"X-Repo-Commit": "0" * 40, "ETag": '"abc"'})) as hub:
        assert "says no SHA-256" in refused(pull(hub.address, SPEC), tmp_path)
    with standing_in(lambda _: Response(status=503)) as hub:
        assert "answers 503" in refused(pull(hub.address, SPEC), tmp_path)


def test_another_file_of_that_name_is_left_alone(pull: Pull, tmp_path: Path, content: bytes) -> None:
    folder(tmp_path).mkdir(parents=True)
    (folder(tmp_path) / FILE).write_bytes(b"mine")
    with standing_in(Hub(content)) as hub:
        shown = pull(hub.address, SPEC)
    assert (shown.returncode, (folder(tmp_path) / FILE).read_bytes()) == (1, b"mine")
    assert "is another file of that name" in shown.stderr


def test_the_token_goes_to_the_hub_and_not_to_whom_it_redirects(pull: Pull, tmp_path: Path, content: bytes) -> None:
    with standing_in(Hub(content)) as storage:

        def redirect(request: Request) -> Response:
            return Response(status=302, headers=Hub(content).facts() | {"Location": storage.address + request.path})

        with standing_in(redirect) as hub:
            shown = pull(hub.address, SPEC, HF_TOKEN="hf_secret")
    assert shown.returncode == 0, shown.stderr
    assert {request.headers.get("authorization") for request in hub.requests} == {"Bearer hf_secret"}
    assert {request.headers.get("authorization") for request in storage.requests} == {None}
    assert (folder(tmp_path) / FILE).read_bytes() == content
