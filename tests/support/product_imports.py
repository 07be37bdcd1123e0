"""Imports of the product's modules, read from their source.

A name imported from a room counts as an import of the module that defines it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import parquetry.errors

ROOT = Path(parquetry.errors.__file__).parent


@functools.cache
def modules() -> dict[str, tuple[Path, ast.Module]]:
    """Return each module of the package by its name: `parquetry.x.y`, or `parquetry.x.__init__`."""
    return {
        ".".join(["parquetry", *path.relative_to(ROOT).with_suffix("").parts]): (
            path,
            ast.parse(path.read_text()),
        )
        for path in sorted(ROOT.rglob("*.py"))
    }


@functools.cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree. Walking through the trees of all modules takes a second."""
    return tuple(ast.walk(tree))


@functools.cache
def imports() -> tuple[tuple[str, str], ...]:
    """Return each module with each module that it imports, anywhere in it, in any form.

    A package is its `__init__`.

    The imports of a room's door are the ones that type checkers see. So what a door hands out counts as its
    own need.
    """
    return tuple((name, wanted) for name, (_, tree) in modules().items() for wanted in _wanted(tree))


def defining(package: str, name: str) -> str:
    """Return the module that defines a package's name; the package and the name, if the package lacks it.

    >>> defining("parquetry.metastore", "TableSnapshot"), defining("parquetry.metastore", "versions")
    ('parquetry.metastore.versions.snapshot', 'parquetry.metastore.versions')
    """
    while f"{package}.__init__" in modules() and name in handed_on(package):
        package, name = handed_on(package)[name]
    return package if package in modules() else f"{package}.{name}"


@functools.cache
def handed_on(package: str) -> dict[str, tuple[str, str]]:
    """Return what a package has from modules of ours: name to module, and the name there."""
    _, tree = modules()[f"{package}.__init__"]
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in nodes(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "parquetry"
        for alias in node.names
        if node.module
    }


def _wanted(tree: ast.Module) -> Iterator[str]:
    for node in nodes(tree):
        match node:
            case ast.ImportFrom(module=str(package), names=names):
                yield from {
                    _module(f"{package}.{alias.name}", defining(package, alias.name), package)
                    for alias in names
                }
            case ast.Import(names=names):
                yield from (_module(alias.name) for alias in names)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield _module(name)


def _module(*names: str) -> str:
    """Return the first of the names that is a module's or a package's of ours; or else the last."""
    for name in names:
        for module in (name, f"{name}.__init__"):
            if module in modules():
                return module
    return names[-1]
