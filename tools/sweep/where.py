"""Conditions on a cell, such as `record <= size and mode != 'read'`: parsed into a tree, and only known nodes run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ...knowledge.errors import VgoError
from .level import Level

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

    def holds(self, values: Mapping[str, Level]) -> bool:
        """Tell whether it holds of a cell; raises VgoError where its parts do not fit together."""
        try:
            return bool(_value(self.tree, values))
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise WhereRefusal(
                f"where: {self.text!r} cannot be computed ({error}): compare what is of one kind."
            ) from error


def condition(text: str, names: Collection[str]) -> WhereClause:
    """Parse a condition over these parameters."""
    if len(text) > LONGEST:
        raise WhereRefusal(f"where: a condition has more than {LONGEST} characters: make several of it.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WhereRefusal(f"where: {text!r} is no condition: write one such as a <= b.") from error
    _refuse(tree, text, names, 0)
    return WhereClause(text, tree)


def _refuse(node: ast.AST, text: str, names: Collection[str], depth: int) -> None:
    """Refuse what is not a name, a number, a word, or arithmetic and comparison of those."""
    if depth > DEEPEST:
        raise WhereRefusal(f"where: {text!r} is nested too deeply: make several of it.")
    if not isinstance(node, _KNOWN):
        raise WhereRefusal(
            f"where: {text!r} has more than names, numbers, words, + - * / // %, comparison, and, or, not, in."
        )
    if isinstance(node, ast.Name) and node.id not in names:
        raise WhereRefusal(f"where: {text!r} names {node.id}, which is no parameter: there are {', '.join(names)}.")
    if isinstance(node, ast.Constant) and type(node.value) not in (int, float, str):
        raise WhereRefusal(f"where: {text!r} has {node.value!r}, which is no number and no word.")
    for child in ast.iter_child_nodes(node):
        _refuse(child, text, names, depth + 1)


def _value(node: ast.expr, values: Mapping[str, Level]) -> Any:
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


def _arithmetic(node: ast.BinOp, values: Mapping[str, Level]) -> Any:
    """Compute with numbers only: a word times a number could fill the memory."""
    left, right = _value(node.left, values), _value(node.right, values)
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        raise TypeError("arithmetic is for numbers")
    return _ARITHMETIC[type(node.op)](left, right)


def _compared(node: ast.Compare, values: Mapping[str, Level]) -> bool:
    left = _value(node.left, values)
    for operation, right in zip(node.ops, node.comparators, strict=True):
        value = _value(right, values)
        if not _COMPARED[type(operation)](left, value):
            return False
        left = value
    return True


def _logic(node: ast.expr, values: Mapping[str, Level]) -> Any:
    if isinstance(node, ast.BoolOp):
        wanted = all if isinstance(node.op, ast.And) else any
        return wanted(_value(one, values) for one in node.values)
    assert isinstance(node, ast.UnaryOp)
    value = _value(node.operand, values)
    return not value if isinstance(node.op, ast.Not) else -value
