"""`vgo-agent measure --save` writes where its user means, or nothing."""

from pathlib import Path

import pytest


@pytest.mark.parametrize("layers", [(), ("--layer", "process")])
@pytest.mark.parametrize("name", ["x.csv/", "x.parquet/"])
def test_a_file_that_ends_as_a_folder_is_refused_before_the_first_run(vgo, tmp_path: Path, layers, name) -> None:
    done = vgo("measure", *layers, "--save", name, "true")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"--save {name} ends as a folder and is named as a file" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("made", [False, True])
def test_a_folder_may_end_in_a_slash(vgo, tmp_path: Path, made) -> None:
    name = "x.csv" if made else "x"
    if made:
        (tmp_path / name).mkdir()
    done = vgo("measure", "--stop", "count", "--stop-at", "10", "--save", f"{name}/", "true")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name / "runs.csv").is_file()


def test_every_run_has_the_environment_as_given_and_nothing_that_our_libraries_set(
    vgo, script, tmp_path, monkeypatch
) -> None:
    ours = ("KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "_RJEM_MALLOC_CONF")
    for name in ours:  # the process of this test has loaded them too
        monkeypatch.delenv(name, raising=False)
    program = script("says", "import os\nprint(sorted(os.environ.items()), file=open('seen', 'a'))\n")
    done = vgo("measure", "--stop", "count", "--stop-at", "10", str(program), env={"GIVEN": "1"})
    assert done.returncode == 0, done.stderr
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) > 10 and "('GIVEN', '1')" in seen[0]
    assert len(set(seen)) == 1
    assert not any(name in seen[-1] for name in ours)
