"""`vgo-agent explain` ranks what is known for a question, with a source and the next command."""

import json

import pytest


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def search(vgo, cache):
    def run(*words, status=0):
        done = vgo("explain", *words, env={"XDG_CACHE_HOME": cache, "VGO_AGENT_EMBEDDING": ""})
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr if status and not done.stdout else done.stdout

    return run


def test_a_symptom_is_answered_with_what_it_may_be_and_what_to_type_next(search):
    text = search("why", "do", "my", "runs", "get", "slower", "over", "time")
    assert "(factor run_order)" in text
    assert "vgo-agent explain run_order" in text
    assert text.count("Source: ") == 5
    assert max(map(len, text.splitlines())) <= 130  # a web address is not broken


def test_json_says_the_same_in_as_many_answers_as_asked(search):
    said = json.loads(search("which paper measured reserved cores on Zen2", "--top", "3", "--json"))
    assert len(said["found"]) == 3
    assert said["found"][0]["kind"] == "note"
    assert "#" in said["found"][0]["key"]
    assert said["found"][0]["source"]
    scores = [one["score"] for one in said["found"]]
    assert scores == sorted(scores, reverse=True)
    for one in said["found"]:
        assert one["next"] == ("" if one["kind"] == "note" else f"vgo-agent explain {one['key']}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([""], "Nothing is asked for"),
        (["  "], "Nothing is asked for"),
        (["x", "--top", "0"], "give 1 to 100"),
        (["x", "--top", "-3"], "give 1 to 100"),
        (["x", "--embedding", "/nonexistent.gguf"], "--embedding"),
        (["x", "--embedding", "/bin/true"], "not a GGUF file"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_cure(search, words, told):
    assert told in search(*words, status=1)


@pytest.mark.cells(2)
@pytest.mark.parametrize("words", ["なぜ遅いのですか", "???", "the of and", "\x01\x02\x7f"])
def test_a_question_that_shares_no_word_gets_a_hint(search, words):
    assert "Nothing that is known" in search(words, status=1)


def test_a_very_long_question_is_read_at_its_start(search):
    text = search("migrations between cores " * 4000)
    assert "cpu_migrations" in text
    assert "characters of the question were read" in text


def test_control_characters_do_not_reach_the_terminal(search):
    assert "\x1b" not in search("\x1b]0;title\x07 page faults")
