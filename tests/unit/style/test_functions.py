"""Functions stay small: one can be read in one go, and called without counting arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.product_imports import ROOT, modules, nodes

MAX_LINES = 60
"""Lines of a function, including its docstring."""
MAX_PARAMETERS = 7
"""Beside the object itself."""


def test_functions_are_short() -> None:
    """No function is longer than what a screen shows."""
    long = {
        f"{name}: {(node.end_lineno or 0) - node.lineno + 1} lines"
        for name, node in _functions()
        if _is_long(node)
    }
    assert long == set()


def test_functions_take_few_parameters() -> None:
    """A function takes few parameters; values that belong together are one object.

    Only an operation has a parameter for each of its arguments.
    """
    many = {
        f"{name}: {_parameters(node)} parameters"
        for name, node in _functions()
        if _parameters(node) > MAX_PARAMETERS and not _is_operation(node)
    }
    assert many == set()


def _functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path, tree in modules().values():
        for node in nodes(tree):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.relative_to(ROOT)}: {node.name}", node


def _is_operation(node: ast.FunctionDef) -> bool:
    """Return whether a command is derived from a function; see `operations.operation`."""
    calls = [each.func for each in node.decorator_list if isinstance(each, ast.Call)]
    return any(isinstance(call, ast.Name) and call.id == "operation" for call in calls)


def _is_long(node: ast.FunctionDef) -> bool:
    return (node.end_lineno or 0) - node.lineno >= MAX_LINES


def _parameters(node: ast.FunctionDef) -> int:
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))
