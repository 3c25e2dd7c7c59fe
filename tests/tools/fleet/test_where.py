"""What --on names: an address, or a file; whatever is wrong with it is one sentence with its cure."""

from __future__ import annotations

import pytest

from vgo_agent.knowledge.errors import VgoError
from vgo_agent.tools.fleet.where import read_where


def refused(tmp_path, text: str) -> str:
    path = tmp_path / "on.yaml"
    path.write_text(text)
    with pytest.raises(VgoError) as error:
        read_where(str(path))
    said = str(error.value)
    assert str(path) in said and "\n" not in said
    return said


def test_an_address_is_taken_as_it_is():
    assert read_where("tcp://10.0.0.1:8786").scheduler == "tcp://10.0.0.1:8786"


def test_nothing_listens_beyond_loopback_unless_the_file_says_so(tmp_path):
    path = tmp_path / "on.yaml"
    path.write_text("cluster: slurm\nnodes: 4\n")
    assert read_where(str(path)).host == "127.0.0.1"
    path.write_text("cluster: slurm\nnodes: 4\nhost: 10.0.0.1\n")
    assert read_where(str(path)).host == "10.0.0.1"


def test_files_of_tls_lie_beside_the_file(tmp_path):
    for name in ("ca", "me", "key"):
        (tmp_path / f"{name}.pem").write_text("")
    path = tmp_path / "on.yaml"
    path.write_text("scheduler: tls://h:1\ntls: {ca: ca.pem, cert: me.pem, key: key.pem}\n")
    found = read_where(str(path)).tls
    assert found is not None and found.cert == tmp_path / "me.pem"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cluster: slurm\nscheduler: tcp://h:1\n", "either `scheduler` or `cluster`"),
        ("{}\n", "either `scheduler` or `cluster`"),
        ("cluster: sge\n", "cluster"),
        ("cluster: local\nnodes: 0\n", "nodes"),
        ("cluster: local\nnodess: 2\n", "nodess"),
        ("cluster: ssh\n", "ssh needs `hosts`"),
        ("scheduler: tls://h:1\n", "needs `tls`"),
        ("scheduler: tls://h:1\ntls: {ca: a.pem, cert: b.pem}\n", "tls.key"),
        ("scheduler: tls://h:1\ntls: {ca: a.pem, cert: b.pem, key: c.pem}\n", "there is no file"),
        ("scheduler: h:1\n", "tcp://10.0.0.1:8786"),
        ("scheduler: [\n", "not YAML"),
        ("- a\n", "the file: is no mapping; write `key: value` lines"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, told):
    assert told in refused(tmp_path, text)


def test_a_word_that_is_neither_is_refused():
    for word in ("nothing.yaml", "host:8786", "tls://h:1"):
        with pytest.raises(VgoError) as error:
            read_where(word)
        assert word in str(error.value)
