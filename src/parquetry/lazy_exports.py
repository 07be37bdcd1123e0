"""The names that a package exports, each loaded on first use.

A package's `__init__` runs before any module in the package. If it imported its exports, an import of one
small module would load all of them, PyArrow included. So the imports there are for type checkers and editors,
and `lazy_exports` reads them as text when a program first uses a name:

    if FOR_TYPE_CHECKERS:
        from parquetry.store.base import Store

    lazy_exports(__name__)

`lazy_loader.attach_stub` of Scientific Python does the same, with a stub file beside each `__init__`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from importlib import import_module
from typing import Any

FOR_TYPE_CHECKERS: bool = False
"""Never true. `TYPE_CHECKING` does not do here: mypy ignores imports below it when it orders the modules.

It would then check a module that uses a constant before it knows the constant's type.
"""


def lazy_exports(package: str) -> None:
    """Give a package `__getattr__` and `__dir__` for the names that its `__init__` imports for type checkers.

    Type checkers must not see `__getattr__`, because it would let any name pass. No value is cached: each use
    reads the name from its module, so that a test can replace it there.

    Args:
        package: name of the package. An export must not have the name of one of the package's modules: once
            loaded, the module is the attribute of that name.

    >>> from parquetry import layout
    >>> layout.SkewMap.__module__, "PLAIN" in dir(layout), "PLAIN" in layout.__all__
    ('parquetry.layout.skew_map', True, True)
    >>> layout.Unknown
    Traceback (most recent call last):
        ...
    AttributeError: module 'parquetry.layout' has no attribute 'Unknown'
    """
    door = sys.modules[package]

    @functools.cache
    def modules() -> dict[str, str]:
        """Return the module of each exported name."""
        imports = [
            node for node in ast.walk(ast.parse(inspect.getsource(door))) if isinstance(node, ast.ImportFrom)
        ]
        return {
            name.name: node.module or "" for node in imports for name in node.names if node.module != __name__
        }

    def load(name: str) -> Any:
        if name == "__all__":
            return sorted(modules())
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules()[name]), name)

    def names() -> list[str]:
        return sorted({*vars(door), *modules()})

    vars(door).update(__getattr__=load, __dir__=names)
