"""An option that would not count beside the others is refused: it would seem to."""

import pytest

from vgo_agent.agent.commands import COMMANDS
from vgo_agent.agent.parser import parser_of


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("analyze x.csv --node host", "--by node"),
        ("analyze x.csv --by rank --margin 0.02", "--by node"),
        ("analyze x.csv --by rank --condition a=1,2", "--by node"),
        ("chat --port 80", "--web"),
        ("compare x.csv --kind tail", "--plan"),
        ("compare x.csv --power 0.8", "--plan"),
        ("diagnose --mixed true", "--on"),
        ("eval --mixed", "--on"),
        ("eval record page-faults --metric x", "COMMAND"),
        ("eval record page-faults --launcher local", "COMMAND"),
        ("layers -- true", "--on"),
        ("layers --mixed", "--on"),
        ("layers --metric x", "--on"),
        ("layers --timeout 3", "--on"),
        ("layers --on-failure stop", "--on"),
        ("machine profile --beside x.json", "--quota"),
        ("measure --runs 9 true", "--layer or --ledger"),
        ("mitigations --param a=1", "--keep"),
        ("mitigations --metric x", "COMMAND"),
        ("surface best x --save y", "ACTION fit"),
        ("surface show x --keep-out 0.2", "ACTION fit"),
        ("surface fit x a=1", "ACTION predict"),
        ("surface predict x --minimise sd", "ACTION best"),
        ("surface show x --subject-to mean<1", "ACTION best"),
        ("surface best x --axes a", "ACTION show"),
        ("surface best x --at a=1", "ACTION show"),
        ("surface fit x --picture y.svg", "ACTION best or show"),
        ("try pin_to_cpu --minimise mean true", "--search"),
        ("verify RUN --without-model", "--recompute"),
    ],
)
def test_what_counts_only_with_another_is_refused_without_it(called_here, words, what):
    code, out, err = called_here(*words.split())
    assert (code, out) == (1, "")
    stranger = err.partition(" counts")[0].removeprefix("vgo-agent: ")
    assert err == f"vgo-agent: {stranger} counts only with {what}: give that, or leave {stranger} out.\n"
    if stranger.startswith("--"):
        assert stranger in words


@pytest.mark.parametrize(
    ("words", "one", "other"),
    [
        *((f"analyze x.csv --by rank --{one} y", f"--{one}", "--by") for one in ("group", "settings", "levels")),
        ("analyze x.csv --by node --order none", "--order", "--by"),
        ("analyze x.csv --by node --cut p90", "--cut", "--by"),
        ("analyze x.csv --by node --steady-cv 0.01", "--steady-cv", "--by"),
        ("analyze x.csv --by rank --exclude y", "--exclude", "--by rank"),
        ("analyze x.csv --read-only --by node", "--by", "--read-only"),
        ("analyze x.csv --read-only --outcome y", "--outcome", "--read-only"),
        ("analyze x.csv --read-only --exclude y", "--exclude", "--read-only"),
        ("analyze x.csv --read-only --alpha 0.05", "--alpha", "--read-only"),
        ("analyze x.csv --read-only --seed 1", "--seed", "--read-only"),
        ("analyze x.csv --read-only --lower-is-better", "--lower-is-better", "--read-only"),
        ("analyze x.csv --read-only --higher-is-better", "--higher-is-better", "--read-only"),
        ("chat --plain --web true", "--web", "--plain"),
        ("compare x.csv --by y --picture z.svg", "--picture", "--by"),
        ("compare x.csv --plan 0.6 --by y", "--by", "--plan"),
        ("compare x.csv --plan 0.6 --where a=1", "--where", "--plan"),
        ("compare x.csv --plan 0.6 --lower-is-better", "--lower-is-better", "--plan"),
        ("layers --on x.yaml --trust y.yaml -- true", "--trust", "--on"),
        ("layers --on x.yaml --root / -- true", "--root", "--on"),
        ("layers --on x.yaml --no-cost -- true", "--no-cost", "--on"),
        ("layers --trust y.yaml process", "NAME", "--trust"),
        *(
            (f"measure --layer perf --{one} 9 true", f"--{one}", "--layer")
            for one in ("min-runs", "max-runs", "stop-at")
        ),
        ("mitigations nice --keep all --factor page_faults", "--factor", "--keep"),
        ("mitigations nice --keep all --scope process", "--scope", "--keep"),
        ("mitigations nice --trust mine.yaml", "NAME", "--trust"),
        ("try omp_threads --search threads --after RUN true", "--after", "--search"),
    ],
)
def test_what_does_not_count_beside_another_is_refused(called_here, words, one, other):
    said = f"vgo-agent: {one} does not count with {other}: leave one of them out.\n"
    assert called_here(*words.split()) == (1, "", said)


@pytest.mark.parametrize("name", COMMANDS)
def test_rules_name_what_the_command_takes(name):
    parser = parser_of(COMMANDS[name])
    known = {action.dest for action in parser.declared}
    for rules in (parser.command.REQUIRES, parser.command.CONFLICTS):
        for what, names in rules.items():
            assert {what.partition("=")[0], *names.split()} <= known
    assert set(parser.command.WORDS) <= {
        word.lstrip("-") for action in parser.declared for word in action.option_strings or [action.dest]
    }
