"""A public class has a name of its own, and none of the words that name nothing."""

from __future__ import annotations

import ast
import re
from collections import Counter

from .sources import ROOT, parsed, sources

RIDDLES = "Asked Wanted Wish Told Here There Place Piece Turn Take Treated Walk told one found"

ALIAS = re.compile("[A-Z][A-Za-z]*[a-z][A-Za-z]*")
TWICE = """
Block Cell Change Event Evidence Floats Found Given Key Kind Level Mode Need Nodes Number Origin
Parser Rate Reading Response Role Row Sample Search Series Share Shown Standing State Status Term
Texts Way Where Words
"""
"""Aliases of types that had the name of another one, or of a class, when this was first asked: no other may come."""


def test_public_names_are_unique_and_say_what_they_name() -> None:
    top = [node for tree in parsed().values() for node in tree.body]
    classes = Counter(node.name for node in top if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    functions = {node.name for node in top if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assigned = [
        name.id for node in top if isinstance(node, ast.Assign) for name in node.targets if isinstance(name, ast.Name)
    ]
    named = [name for name in assigned if ALIAS.fullmatch(name)]
    assert {name for name, uses in (Counter(named) + classes).items() if uses > 1} <= {*TWICE.split()}
    doubled = {name for name, uses in classes.items() if uses > 1}
    public = {name.lstrip("_") for name in (*classes, *functions, *assigned)}
    assert not doubled | {*RIDDLES.split()} & public


READS = re.compile(r"\.read\([A-Z]\w*Result\b|\bcall\.read\(|\.(succeeded|latest)\(")


def test_only_findings_reads_what_calls_have_given() -> None:
    reading = [str(file.relative_to(ROOT)) for file, text in sources().items() if READS.search(text)]
    assert reading == ["tools/findings.py"]
