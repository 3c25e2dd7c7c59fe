"""Conditions on settings, such as `record <= size and mode != 'read'`: parsed into a tree, and only known nodes run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...knowledge.errors import VgoError

LONGEST, DEEPEST = 1000, 20
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_PLAIN = (ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Compare, ast.Tuple, ast.List)
_KNOWN = (*_PLAIN, ast.Name, ast.Load, ast.Constant, *_ARITHMETIC, *_COMPARED)


class WhereRefusal(VgoError):
    """A condition that is not understood."""


@dataclass(frozen=True)
class WhereClause:
    """One condition."""

    text: str
    tree: ast.expr
    given: str
    """Where it was given, as refusals say it."""

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Tell whether it holds of these numbers and words; raises VgoError where its parts do not fit together."""
        try:
            if not isinstance(found := _value(self.tree, values), bool):
                raise TypeError("it compares nothing")
            return found
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise WhereRefusal(
                f"{self.given}: {self.text!r} cannot be computed ({error}): compare what is of one kind."
            ) from error


def condition(text: str, names: Collection[str], given: str = "where") -> WhereClause:
    """Parse a condition over these names; raises WhereRefusal for anything but arithmetic, comparison and logic."""
    if len(text) > LONGEST:
        raise WhereRefusal(f"{given}: a condition has more than {LONGEST} characters: shorten it.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WhereRefusal(f"{given}: {text!r} is no condition: write one such as a <= b.") from error
    if why := next(_refusals(tree, names, 0), ""):
        raise WhereRefusal(f"{given}: {text!r} {why}.")
    return WhereClause(text, tree, given)


def _refusals(node: ast.AST, names: Collection[str], depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        yield "is nested too deeply: shorten it"
    if not isinstance(node, _KNOWN):
        yield "has more than names, numbers, words, + - * / // %, comparison, and, or, not, in: write it with those"
    if isinstance(node, ast.Name) and node.id not in names:
        yield f"names {node.id}, which is not known here: use {', '.join(names)}"
    if isinstance(node, ast.Constant) and type(node.value) not in (int, float, str):
        yield f"has {node.value!r}: use numbers and words"
    for child in ast.iter_child_nodes(node):
        yield from _refusals(child, names, depth + 1)


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return values[node.id]
        case ast.Tuple() | ast.List():
            return [_value(one, values) for one in node.elts]
        case ast.BinOp():
            return _arithmetic(node, values)
        case ast.Compare():
            return _compared(node, values)
        case _:
            return _logic(node, values)


def _arithmetic(node: ast.BinOp, values: Mapping[str, Any]) -> Any:
    """Compute with numbers only: a word times a number could fill the memory."""
    left, right = _value(node.left, values), _value(node.right, values)
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        raise TypeError("arithmetic is for numbers")
    return _ARITHMETIC[type(node.op)](left, right)


def _compared(node: ast.Compare, values: Mapping[str, Any]) -> bool:
    left = _value(node.left, values)
    for operation, right in zip(node.ops, node.comparators, strict=True):
        value = _value(right, values)
        if not _COMPARED[type(operation)](left, value):
            return False
        left = value
    return True


def _logic(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BoolOp):
        wanted = all if isinstance(node.op, ast.And) else any
        return wanted(_value(one, values) for one in node.values)
    assert isinstance(node, ast.UnaryOp)
    value = _value(node.operand, values)
    return not value if isinstance(node.op, ast.Not) else -value
