"""The names that a package hands out, each loaded when somebody takes it.

A package's `__init__` runs before any module in the package. If it imported what it hands out, whoever needs one small module would
load them all, PyArrow included. So its imports are for type checkers and editors, and Python reads them when a name is asked for:

    if FOR_TYPE_CHECKERS:
        from parquetry.store.base import Store

    lazy_exports(__name__)

`lazy_loader.attach_stub` of Scientific Python does the same with a stub file beside each `__init__`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from importlib import import_module
from typing import Any

FOR_TYPE_CHECKERS: bool = False
"""Never true. `TYPE_CHECKING` does not serve in a door: mypy does not follow imports below it when it chooses the order in which it
checks modules, and then finds constants whose types it does not know yet."""


def lazy_exports(package: str) -> None:
    """Give a package `__getattr__` and `__dir__`, so that it hands out the names that its `__init__` imports for type checkers.

    Type checkers must not see `__getattr__`, because it would let any name pass. No value is cached: a name always stands for what
    its module has now, so that a test can replace it there.

    Args:
        package: its name. A name that is also a module of the package cannot be handed out: once loaded, the module stands there.

    >>> from parquetry import layout
    >>> layout.SkewMap.__module__, "PLAIN" in dir(layout), "PLAIN" in layout.__all__
    ('parquetry.layout.arrangement', True, True)
    >>> layout.Plain
    Traceback (most recent call last):
        ...
    AttributeError: module 'parquetry.layout' has no attribute 'Plain'
    """
    door = sys.modules[package]

    @functools.cache
    def modules() -> dict[str, str]:
        """Return the modules of the names."""
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
