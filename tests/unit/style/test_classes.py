"""Objects are whole from the beginning: what a class keeps is named where an object of it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.product_imports import ROOT, modules, nodes

MAKING = ("__init__", "__post_init__", "__enter__")


def test_attributes_are_set_when_an_object_is_made() -> None:
    """No method gives an object a new attribute.

    Each attribute is set in `__init__`, or declared in the class.
    """
    classes = [
        (path, node)
        for path, tree in modules().values()
        for node in nodes(tree)
        if isinstance(node, ast.ClassDef)
    ]
    by_name: dict[str, list[ast.ClassDef]] = {}
    for _, node in classes:
        by_name.setdefault(node.name, []).append(node)
    late = {
        f"{path.relative_to(ROOT)}: {node.name}.{method} sets {name}"
        for path, node in classes
        for method, name in _set_in_methods(node)
        if method not in MAKING and name not in _attributes(node, by_name)
    }
    assert late == set()


def test_late_attributes_are_seen() -> None:
    """An attribute that only a method sets is found, in any form of assignment.

    An attribute that a base class sets is not late.
    """
    tree = ast.parse(
        "class A:\n"
        "    def __init__(self): self.a = 0\n"
        "class B(A):\n"
        "    c: int\n"
        "    def f(self):\n"
        "        self.a, self.b = 1, 2\n"
        "        self.c = 3\n"
        "        with open('x') as self.d: self.e: int = 4\n"
    )
    nodes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    known = _attributes(nodes[1], {node.name: [node] for node in nodes})
    assert {name for _, name in _set_in_methods(nodes[1])} - known == {"b", "d", "e"}


def _set_in_methods(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the methods of a class with each attribute that they set."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.args.args:
            this = method.args.args[0].arg
            for each in ast.walk(method):
                match each:
                    case ast.Attribute(attr=name, value=ast.Name(id=owner), ctx=ast.Store()) if owner == this:
                        yield method.name, name


def _attributes(node: ast.ClassDef, by_name: dict[str, list[ast.ClassDef]]) -> set[str]:
    """Return the attributes of a finished object of a class, including the attributes of its bases.

    If several classes have a base's name, the attributes of all count.
    """
    found = {name for method, name in _set_in_methods(node) if method in MAKING}
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
    for base in node.bases:
        name = base.value.id if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name) else None
        name = base.id if isinstance(base, ast.Name) else name
        for parent in by_name.get(name or "", []):
            if parent is not node:
                found |= _attributes(parent, by_name)
    return found
