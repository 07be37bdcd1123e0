"""The names that a package hands out, each loaded when somebody takes it.

A package's `__init__` runs before any module in the package. If it imported what it hands out, whoever needs one small module would
load them all, PyArrow included. So type checkers and editors read imports that never run, and Python asks a function:

    if FOR_TYPE_CHECKERS:
        from parquetry.store.base import Store as Store

    lazy_exports(__name__, {".base": ["Store"]})
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

FOR_TYPE_CHECKERS: bool = False
"""Never true. `TYPE_CHECKING` does not serve in a door: mypy does not follow imports below it when it chooses the order in which it
checks modules, and then finds constants whose types it does not know yet."""


def lazy_exports(package: str, exports: Mapping[str, Sequence[str]]) -> None:
    """Give a package `__getattr__`, `__dir__` and `__all__`, so that it hands out names of modules.

    Type checkers must not see `__getattr__`, because it would let any name pass. Nothing is cached: a name always stands for what its
    module has now, so that a test can replace it there.

    Args:
        package: its name.
        exports: names by the modules that define them; a module of the package begins with a dot. A name that is also a module of
            the package cannot be handed out: once loaded, the module stands there.

    >>> from parquetry import layout
    >>> layout.SkewMap.__module__, "PLAIN" in dir(layout), "PLAIN" in layout.__all__
    ('parquetry.layout.arrangement', True, True)
    >>> layout.Plain
    Traceback (most recent call last):
        ...
    AttributeError: module 'parquetry.layout' has no attribute 'Plain'
    """
    door = vars(sys.modules[package])
    modules = {name: module for module, names in exports.items() for name in names}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name], package), name)

    def names() -> list[str]:
        return sorted({*door, *modules})

    door.update(__getattr__=load, __dir__=names, __all__=sorted(modules))
