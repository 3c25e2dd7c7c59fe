"""What the user asks of a configuration, such as `mean<=1.05*best and threads<64`: read as an expression, never run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...knowledge.errors import VgoError
from ..recorded.columns import listed
from ..statistics.values import BoolArray

LONGEST = 1000
_ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARED: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FORM = "write comparisons such as mean<=1.05*best, joined by `and` or `or`"


@dataclass(frozen=True)
class Constraint:
    """An expression whose names were checked."""

    text: str
    body: ast.expr

    def holds(self, values: Mapping[str, Any], size: int) -> BoolArray:
        """Say for each of `size` configurations whether it holds; `values` has an array or number for each name."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = _value(self.body, values)
        return np.broadcast_to(np.asarray(found, dtype=np.bool_), (size,))


def constraint(text: str, names: Collection[str]) -> Constraint:
    """Read an expression over these names; raises VgoError for anything but arithmetic, comparisons, `and` and `or`."""
    if len(text) > LONGEST:
        raise VgoError(f"--subject-to is longer than {LONGEST} characters: shorten it.")
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise VgoError(f"--subject-to {text!r} cannot be read: {_FORM}.") from error
    if not isinstance(body, ast.Compare | ast.BoolOp):
        raise VgoError(f"--subject-to {text!r} compares nothing: {_FORM}.")
    _check(body, text, names)
    return Constraint(text, body)


def _check(node: ast.expr, text: str, names: Collection[str]) -> None:
    """Refuse all that is not known, by name."""
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise VgoError(
                f"--subject-to speaks of {node.id}, which is not known here: use {listed(sorted(names), 20)}."
            )
    elif not (isinstance(node, ast.Constant) and type(node.value) in (int, float, str)):
        parts = _parts(node)
        if not parts:
            raise VgoError(f"--subject-to {text!r} holds more than arithmetic and comparisons: {_FORM}.")
        for part in parts:
            _check(part, text, names)


def _parts(node: ast.expr) -> list[ast.expr]:
    """Give the parts of an expression of a kind that is allowed; [] of any other."""
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [node.operand]
    if isinstance(node, ast.Compare) and all(type(op) in _COMPARED for op in node.ops):
        return [node.left, *node.comparators]
    return []


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp):
        return _ARITHMETIC[type(node.op)](_number(node.left, values), _number(node.right, values))
    if isinstance(node, ast.UnaryOp):
        return -_number(node.operand, values)
    if isinstance(node, ast.BoolOp):
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return join.reduce(np.broadcast_arrays(*(_value(part, values) for part in node.values)))
    assert isinstance(node, ast.Compare)
    return _compared(node, values)


def _compared(node: ast.Compare, values: Mapping[str, Any]) -> Any:
    sides = [_value(side, values) for side in (node.left, *node.comparators)]
    found: Any = True
    for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
        words = [np.asarray(side).dtype.kind in "UO" for side in (left, right)]
        if words[0] != words[1] or (words[0] and type(op) not in (ast.Eq, ast.NotEq)):
            raise VgoError("--subject-to compares a name with a number: put names in quotes, as in host=='a'.")
        found = np.logical_and(found, _COMPARED[type(op)](left, right))
    return found


def _number(node: ast.expr, values: Mapping[str, Any]) -> Any:
    value = _value(node, values)
    if np.asarray(value).dtype.kind in "UO":
        raise VgoError("--subject-to calculates with a name: use settings that are numbers, mean and best.")
    return value
